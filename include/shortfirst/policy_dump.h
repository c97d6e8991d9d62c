/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is dumped of flows, hosts and the qdisc: classes.h, and statistics
 */
#ifndef _SF_POLICY_DUMP_H
#define _SF_POLICY_DUMP_H

#include <linux/jiffies.h>
#include <linux/rtnetlink.h>
#include "classes.h"
#include "policy_next.h"

/* The class of a flow; without backlog that of its last packet */
static inline u32 sf_policy_dump_subclass(const struct sf_policy *p, const struct sf_flow *f,
					  const struct sf_queue *queue)
{
	bool attained = f->attained >= p->bulk_from && !f->priority;

	if (queue->class == SF_UNASSIGNED ? !f->established : sf_policy_is_new(queue->class))
		return TC_SF_SORT_NEW;
	if (queue->class == SF_UNASSIGNED ? attained : queue->class == SF_BULK)
		return TC_SF_SORT_LONG;
	return TC_SF_SORT_SHORT;
}

/*
 * The host of a flow, that of its last packet, or 0 if its record belongs to another host now.
 * With NAT only time tells.
 */
static inline u32 sf_policy_dump_host_of(const struct sf_policy *p, u32 i)
{
	const struct sf_flow *f = &p->s.table.flows[i];
	u32 n = p->hosts.of_flow[i], now = jiffies;

	if (f->queue)
		return p->s.table.queues[f->queue].host;
	if (n < SF_HOST_FIRST || sf_host_is(&p->hosts, n, &f->key))
		return n;
	if (!p->hosts.nat && sf_host_record(&p->hosts, n)->key.ethertype)
		return 0;
	return now - f->seen <= now - p->hosts.host[n].since ? n : 0;
}

static inline void sf_policy_dump_queue(const struct sf_queue *queue, struct sf_told *told)
{
	if (!queue->qlen)
		return;
	told->qlen = queue->qlen;
	told->backlog = queue->backlog;
	told->timed = true;
	told->waited = codel_time_to_us(codel_get_time() - sf_policy_codel_time(queue->head));
}

static inline void sf_policy_dump_host(const struct sf_policy *p, u32 n, struct sf_told *told)
{
	struct sf_host h = p->hosts.host[n];	/* What has leaked is not noted. */
	const struct sf_flow *f = sf_host_record(&p->hosts, n);

	*told = (struct sf_told) {
		.type		= TC_SF_CLASS_HOST,
		.number		= n,
		.sums		= *sf_host_sums(&p->hosts, n),
		.backlog	= h.backlog,
		.flows		= h.queues,
		.over		= sf_host_over(&p->hosts, &h),
		.level		= sf_host_level(&p->hosts, &h, jiffies),
	};
	if (!f)
		return;
	told->key = f->key;
	told->source = p->hosts.source;
	told->dest = p->hosts.dest;
	told->is_silent = !h.queues;
	told->silent = jiffies_to_msecs((u32)jiffies - f->seen);
}

/* Qdisc_class_ops.dump: all that is dumped of a class is of one time. */
static int sf_policy_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb,
				struct tcmsg *tcm)
{
	struct sf_policy *p = qdisc_priv(sch);
	u32 place = cl - SF_PLACE_0, flows = sf_class_flows(&p->s);
	const struct sf_queue *queue;
	const struct sf_flow *f;

	sch_tree_lock(sch);
	if (place > flows) {
		sf_policy_dump_host(p, place - flows, &p->s.told);
	} else if (place == flows) {
		p->s.told = (struct sf_told) {
			.type	= TC_SF_CLASS_OVERFLOW,
			.sort	= TC_SF_SORT_LONG,
			.host	= p->hosts.by ? SF_HOST_SHARED : 0,
			.sums	= *sf_sums_of(&p->s.table, SF_NO_FLOW),
		};
		sf_policy_dump_queue(&p->s.table.queues[SF_OVERFLOW], &p->s.told);
	} else {
		f = &p->s.table.flows[place];
		queue = &p->s.table.queues[f->queue];
		sf_tell_flow(sch, place);
		p->s.told.sort = sf_policy_dump_subclass(p, f, queue);
		p->s.told.host = sf_policy_dump_host_of(p, place);
		sf_policy_dump_queue(queue, &p->s.told);
	}
	sch_tree_unlock(sch);
	return sf_class_put(sch, skb, tcm);
}

/* How many hosts there may be, from SF_HOST_SHARED on */
static inline u32 sf_policy_hosts(const struct sf_policy *p)
{
	return p->hosts.by ? p->hosts.table.sets * SF_WAYS + SF_HOST_FIRST - 1 : 0;
}

/* Qdisc_class_ops.walk: flows, then the overflow queue, then hosts */
static void sf_policy_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	struct sf_policy *p = qdisc_priv(sch);
	u32 flows = sf_class_flows(&p->s), hosts = sf_policy_hosts(p), n;
	bool known, more = sf_class_tell_flows(sch, arg);

	while (more && arg->count <= flows + hosts) {
		n = arg->count - flows;
		if (!n)
			known = sf_class_rest(&p->s.table);
		else if (n == SF_HOST_SHARED)
			known = READ_ONCE(p->hosts.host[n].queues) ||
				sf_class_rest(&p->hosts.table);
		else
			known = sf_class_known(&p->hosts.table, n - SF_HOST_FIRST);
		more = sf_class_tell(sch, arg, known);
	}
}

/* Copy the common statistics to @st, under the lock. */
#define sf_policy_dump_stats(sch, st)							\
	do {									\
		struct Qdisc *__sch = (sch);					\
		const struct sf_policy *__p = qdisc_priv(__sch);		\
		typeof(st) __st = (st);						\
										\
		sf_assert_locked(__sch);					\
		__st->memory = __p->s.memory;					\
		__st->memory_peak = __p->s.memory_peak;				\
		__st->drop_limit = __p->s.drop_limit;				\
		__st->drop_memory = __p->s.drop_memory;				\
		__st->drop_buffer = __p->s.drop_buffer;				\
		__st->drop_new = __p->drop_new;					\
		__st->drop_codel = __p->codel_stats.drop_count;			\
		__st->marked = __p->codel_stats.ecn_mark;			\
		__st->flows_new = __p->top.new_flows;				\
		__st->flows_long = __p->top.queues[SF_BULK];		\
		__st->flows_queued = sf_table_queued(&__p->s.table) +		\
				     !!__p->s.table.overflow;			\
		__st->flows_seen = __p->s.table.assigned;			\
		__st->records = __p->s.table.used;				\
		__st->evictions = __p->s.table.evictions;			\
		__st->overflow = __p->s.overflow;				\
		__st->gso_split = __p->s.gso_split;				\
		__st->room = sf_link_room(&__p->s.link);			\
		__st->hosts_known = __p->hosts.table.used;			\
		__st->hosts_over = __p->hosts.turns.size;			\
		__st->host_evictions = __p->hosts.table.evictions;		\
	} while (0)

#endif
