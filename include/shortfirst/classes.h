/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Classes: what a kind tells of its flows and hosts (pkt_class.h). There is nothing inside to
 * graft, change or find; X:1 and X:2, which filters may name, are not listed.
 *
 *	place		class			is
 *	0 ...		X:8000 ...		the flow with that record, if one is remembered
 *	flows		the one after these	all flows without a record, if there were any
 *	flows + 1 ...	X:4001 ...		a host, by its number: policy.h
 *
 * A dump may be of a million flows. It comes in parts, each of which begins at the place where the
 * one before has ended. Which class is told next is found without the qdisc's lock: by single reads
 * of what others write, so that one that just comes or goes may be told or not. What is told of it
 * is copied under the lock, for one class at a time, by the operation dump; dump_stats, which the
 * core calls next, adds the rest of that. Both are under RTNL.
 *
 * Classes are listed only for CAP_NET_ADMIN. Their order is that of the records, and a record's
 * number is part of a keyed hash: with some of those numbers a sender could choose flows that meet
 * in one set of the table. Both the process that reads the dump and the opener of its socket need
 * the capability. The operation walk knows the process, and dump the socket. An unprivileged opener
 * could otherwise have a privileged program read from the socket, and get the parts that this
 * program did not take.
 */
#ifndef _SF_CLASSES_H
#define _SF_CLASSES_H

#include <linux/capability.h>
#include <linux/if_ether.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <net/gen_stats.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <net/sock.h>
#include <shortfirst/pkt_class.h>
#include "compat.h"
#include "sched.h"

#define SF_CLASS_HOSTS	0x4000
#define SF_CLASS_FLOWS	0x8000
#define SF_CLASS_LAST	0xffff

/* Classes are told as unsigned long, of which 0 is none. */
#define SF_PLACE_0	1UL

/* Others may run after so many places that were passed over. */
#define SF_PASSED	4096

static inline struct Qdisc *sf_class_leaf(struct Qdisc *sch, unsigned long cl)
{
	return NULL;
}

static inline unsigned long sf_class_find(struct Qdisc *sch, u32 classid)
{
	return 0;
}

static inline u32 sf_class_flows(const struct sf_sched *s)
{
	return s->table.sets * SF_WAYS;
}

/* Is record @i of a table that of a flow, or host, that is remembered? */
static inline bool sf_class_known(const struct sf_table *t, u32 i)
{
	const struct sf_flow *f = &t->flows[i];

	if (!(READ_ONCE(t->tags[i / SF_WAYS]) & sf_tag_at(0xff, i % SF_WAYS)))
		return false;
	/* It may have been seen after the jiffies that are read here. */
	return READ_ONCE(f->queue) ||
	       (u32)jiffies + HZ - READ_ONCE(f->seen) <= READ_ONCE(t->idle) + HZ;
}

/* Is there something to tell of those who have no record? */
static inline bool sf_class_rest(const struct sf_table *t)
{
	const struct sf_sums *rest = sf_sums_of(t, SF_NO_FLOW);

	if (READ_ONCE(t->overflow))
		return true;
	/*
	 * Sums are counted by plain writes, as each packet needs some. What is read meanwhile is
	 * only compared with 0: at worst it is not told this time.
	 */
	return data_race(rest->bytes | rest->drops);
}

/* May the present process see everybody's packets? A no is no offence. */
static inline bool sf_process_may_know(const struct net *net)
{
	return ns_capable_noaudit(net->user_ns, CAP_NET_ADMIN);
}

/* May the process that reads the answer, and the opener of its socket? */
static inline bool sf_may_know(const struct sk_buff *skb)
{
	return skb->sk && sf_process_may_know(sock_net(skb->sk)) &&
	       sk_net_capable(skb->sk, CAP_NET_ADMIN);
}

/* List the class at @arg->count if it is @known. Returns whether the walk goes on. */
static inline bool sf_class_tell(struct Qdisc *sch, struct qdisc_walker *arg, bool known)
{
	struct sf_sched *s = qdisc_priv(sch);

	if (!known) {
		if (!(++arg->count % SF_PASSED))
			cond_resched();
		return true;
	}
	s->told.hidden = false;
	if (tc_qdisc_stats_dump(sch, arg->count + SF_PLACE_0, arg))
		return true;
	/* The part of the dump is not full: the next qdisc's classes follow. */
	if (s->told.hidden)
		arg->stop = 0;
	return false;
}

/* List flows, if the process may know them. Returns whether the walk goes on. */
static inline bool sf_class_tell_flows(struct Qdisc *sch, struct qdisc_walker *arg)
{
	struct sf_sched *s = qdisc_priv(sch);
	u32 flows = sf_class_flows(s);

	if (arg->stop || !sf_process_may_know(dev_net(qdisc_dev(sch))))
		return false;
	/* What was told in the parts before is not even looked at. */
	arg->count = max(arg->count, arg->skip);
	while (arg->count < flows)
		if (!sf_class_tell(sch, arg, sf_class_known(&s->table, arg->count)))
			return false;
	return true;
}

/* Qdisc_class_ops.walk of kinds that list flows only */
static inline void sf_class_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	sf_class_tell_flows(sch, arg);
}

/* Tell what every kind does of the flow in record @i; under the lock. */
static inline void sf_tell_flow(struct Qdisc *sch, u32 i)
{
	struct sf_sched *s = qdisc_priv(sch);
	const struct sf_flow *f = &s->table.flows[i];

	sf_assert_locked(sch);
	s->told = (struct sf_told) {
		.type		= TC_SF_CLASS_FLOW,
		.number		= i,
		.source		= true,
		.dest		= true,
		.key		= f->key,
		.sums		= s->table.sums[i],
		.attained	= f->attained,
		.is_silent	= !f->queue,
		.silent		= jiffies_to_msecs((u32)jiffies - f->seen),
	};
}

/* Addresses and ports, or what is there instead of ports */
static inline int sf_put_addresses(struct sk_buff *skb, const struct sf_told *told)
{
	const struct sf_flow_key *key = &told->key;
	bool ip6 = key->ethertype == htons(ETH_P_IPV6);
	const __be32 *src = ip6 ? key->v6.src : &key->v4.src;
	const __be32 *dst = ip6 ? key->v6.dst : &key->v4.dst;
	int len = ip6 ? sizeof(key->v6.src) : sizeof(key->v4.src);
	__be16 ports[2];

	if (told->type == TC_SF_CLASS_HOST && !key->ethertype && key->v4.src)
		return nla_put_u32(skb, TCA_SF_CLASS_NAMED, ntohl(key->v4.src));
	if (!ip6 && key->ethertype != htons(ETH_P_IP))
		return 0;
	if ((told->source && nla_put(skb, TCA_SF_CLASS_SRC, len, src)) ||
	    (told->dest && nla_put(skb, TCA_SF_CLASS_DST, len, dst)))
		return -EMSGSIZE;
	if (key->inner)
		return nla_put_u32(skb, TCA_SF_CLASS_INNER, (__force u32)key->ports);
	if (!key->ports)
		return 0;
	memcpy(ports, &key->ports, sizeof(ports));
	return nla_put_be16(skb, TCA_SF_CLASS_SPORT, ports[0]) ?:
	       nla_put_be16(skb, TCA_SF_CLASS_DPORT, ports[1]);
}

static inline int sf_put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, TCA_SF_CLASS_PAD);
}

/* What a flow is and a host is not, and what is told of flows without a record */
static inline int sf_put_flow(struct sk_buff *skb, const struct sf_told *told)
{
	const struct sf_flow_key *key = &told->key;

	if (told->type == TC_SF_CLASS_FLOW &&
	    (nla_put_u32(skb, TCA_SF_CLASS_RECORD, told->number) ||
	     nla_put_be16(skb, TCA_SF_CLASS_ETHERTYPE, key->ethertype) ||
	     (key->proto && nla_put_u8(skb, TCA_SF_CLASS_PROTO, key->proto)) ||
	     (told->attained && sf_put_u64(skb, TCA_SF_CLASS_ATTAINED, told->attained))))
		return -EMSGSIZE;
	if ((told->host && nla_put_u32(skb, TCA_SF_CLASS_HOST, told->host)) ||
	    (told->timed && nla_put_u32(skb, TCA_SF_CLASS_WAITED, told->waited)))
		return -EMSGSIZE;
	return 0;
}

static inline int sf_put_host(struct sk_buff *skb, const struct sf_told *told)
{
	if (nla_put_u32(skb, TCA_SF_CLASS_HOST, told->number) ||
	    nla_put_u32(skb, TCA_SF_CLASS_FLOWS, told->flows) ||
	    (told->level != U32_MAX && nla_put_u32(skb, TCA_SF_CLASS_LEVEL, told->level)) ||
	    nla_put_u32(skb, TCA_SF_CLASS_OVER, told->over))
		return -EMSGSIZE;
	return 0;
}

static inline int sf_put_all(struct sk_buff *skb, const struct sf_told *told)
{
	if ((told->type == TC_SF_CLASS_HOST ? sf_put_host(skb, told) : sf_put_flow(skb, told)) ||
	    sf_put_addresses(skb, told) ||
	    sf_put_u64(skb, TCA_SF_CLASS_BYTES, told->sums.bytes) ||
	    sf_put_u64(skb, TCA_SF_CLASS_PACKETS, told->sums.packets) ||
	    nla_put_u32(skb, TCA_SF_CLASS_DROPS, told->sums.drops) ||
	    nla_put_u32(skb, TCA_SF_CLASS_MARKS, told->sums.marks) ||
	    (told->is_silent && nla_put_u32(skb, TCA_SF_CLASS_SILENT, told->silent)))
		return -EMSGSIZE;
	return 0;
}

/* The minor number of a class: the last one if its own would be beyond */
static inline u32 sf_class_minor(const struct sf_sched *s)
{
	const struct sf_told *told = &s->told;

	if (told->type == TC_SF_CLASS_HOST)
		return min_t(u32, SF_CLASS_HOSTS + told->number, SF_CLASS_FLOWS - 1);
	if (told->type == TC_SF_CLASS_OVERFLOW)
		return min_t(u32, SF_CLASS_FLOWS + sf_class_flows(s), SF_CLASS_LAST);
	return min_t(u32, SF_CLASS_FLOWS + told->number, SF_CLASS_LAST);
}

/**
 * sf_class_put - for the end of the class operation dump
 * @sch: the qdisc, whose sf_sched.told is what the kind tells of the class
 * @skb: a part of the answer, of which the socket that asks is the owner
 * @tcm: its head
 *
 * Return: 0; -EMSGSIZE: the next part begins with this class; -EPERM: no class is listed.
 */
static inline int sf_class_put(struct Qdisc *sch, struct sk_buff *skb, struct tcmsg *tcm)
{
	struct sf_sched *s = qdisc_priv(sch);
	struct sf_told *told = &s->told;
	struct nlattr *nest;

	told->hidden = !sf_may_know(skb);
	if (told->hidden)
		return -EPERM;
	tcm->tcm_handle |= sf_class_minor(s);
	nest = nla_nest_start(skb, TCA_OPTIONS);
	if (!nest || nla_put_u32(skb, TCA_SF_CLASS_TYPE, told->type) ||
	    (told->sort && nla_put_u32(skb, TCA_SF_CLASS_SORT, told->sort)) ||
	    sf_put_all(skb, told))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/**
 * sf_class_put_stats - for the class operation dump_stats: what is common to all qdiscs
 * @sch: the qdisc, after sf_class_put() of the same class
 * @d: the statistics
 *
 * Return: less than 0 if there is no room; 0 if that is all; 1 if the kind may tell more of a flow.
 */
static inline int sf_class_put_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	const struct sf_sched *s = qdisc_priv(sch);
	const struct sf_told *told = &s->told;
	struct gnet_stats_queue qs = {
		.qlen		= told->qlen,
		.backlog	= told->backlog,
		.drops		= told->sums.drops,
		.overlimits	= told->sums.marks,
	};

	if (sf_copy_basic(d, told->sums.bytes, told->sums.packets) < 0 ||
	    gnet_stats_copy_queue(d, NULL, &qs, qs.qlen) < 0)
		return -1;
	return told->type == TC_SF_CLASS_FLOW;
}

#endif
