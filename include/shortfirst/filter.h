/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For kinds with two classes, X:1 and X:2, that skb->priority and tc filters name. A filter's
 * classid of which the major number is not the qdisc's names the packet's host by it (hosts.h).
 */
#ifndef _SF_FILTER_H
#define _SF_FILTER_H

#include <linux/skbuff.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include "compat.h"
#include "sched.h"

#define SF_CLASS_1	1
#define SF_CLASS_2	2
#define SF_CLASS_MASK	3	/* what is above is the host that a filter has named */

/*
 * The class of @skb by tc filter, 0 if that names none; and its host << SF_NAMED_SHIFT. If a
 * filter's action wants it dropped or has taken it, -n, where n is what enqueue has to return.
 */
static noinline int sf_filter_class(struct sk_buff *skb, const struct Qdisc *sch,
				    const struct tcf_proto *filter)
{
	struct tcf_result res;
	int result;

	result = sf_classify(skb, filter, &res);
#ifdef CONFIG_NET_CLS_ACT
	switch (result) {
	case TC_ACT_STOLEN:
	case TC_ACT_QUEUED:
	case TC_ACT_TRAP:
		return -(NET_XMIT_SUCCESS | __NET_XMIT_STOLEN);
	case TC_ACT_SHOT:
		return -(NET_XMIT_SUCCESS | __NET_XMIT_BYPASS);
	}
#endif
	if (result < 0)
		return 0;
	result = TC_H_MIN(res.classid);
	if (result != SF_CLASS_1 && result != SF_CLASS_2)
		result = 0;
	if (TC_H_MAJ(res.classid) != sch->handle)
		result |= TC_H_MAJ(res.classid) >> 16 << SF_NAMED_SHIFT;
	return result;
}

/* What the tc filters say: as sf_filter_class(), or 0 without any */
static __always_inline int sf_ask_filters(struct sk_buff *skb, struct Qdisc *sch)
{
	struct sf_sched *s = qdisc_priv(sch);
	struct tcf_proto *filter = rcu_dereference_bh(s->filter_list);

	return filter ? sf_filter_class(skb, sch, filter) : 0;
}

/**
 * sf_class_and_host - the class of a packet: X:1, X:2 or neither; and the host that a filter names
 * @skb: the packet
 * @sch: the qdisc
 *
 * skb->priority names it, or else a filter.
 *
 * Return: SF_CLASS_1, SF_CLASS_2 or 0, and the host << SF_NAMED_SHIFT. Negative if the packet is
 * not to be queued: then sf_filtered() goes on.
 */
static __always_inline int sf_class_and_host(struct sk_buff *skb, struct Qdisc *sch)
{
	u32 minor = skb->priority ^ sch->handle;

	/* A qdisc by default has no handle: then priorities name no class. */
	if (unlikely((minor == SF_CLASS_1 || minor == SF_CLASS_2) && sch->handle))
		return minor;
	return sf_ask_filters(skb, sch);
}

/* sf_class - the same without the host, for kinds that know of none */
static __always_inline int sf_class(struct sk_buff *skb, struct Qdisc *sch)
{
	int said = sf_class_and_host(skb, sch);

	return said < 0 ? said : said & SF_CLASS_MASK;
}

/* sf_filtered - the end of a packet that filters have kept; what enqueue is to return */
static noinline int sf_filtered(struct sk_buff *skb, struct Qdisc *sch,
				struct sk_buff **to_free, int class)
{
	struct sf_sched *s = qdisc_priv(sch);
	int ret = -class;

	if (ret & __NET_XMIT_BYPASS) {
		qdisc_qstats_drop(sch);
		sf_shaper_dropped(&s->shaper, skb);
	}
	__qdisc_drop(skb, to_free);
	return ret;
}

/* The first filter is another one now, or there is none. */
static void sf_filters_changed(struct tcf_proto *first, void *priv)
{
	struct Qdisc *sch = priv;
	struct sf_sched *s = qdisc_priv(sch);

	sch_tree_lock(sch);
	rcu_assign_pointer(s->filter_list, first);
	sf_set_bypass(s);
	sch_tree_unlock(sch);
}

/* For a kind's init: filters may be given to it. Its destroy is to call tcf_block_put(). */
static inline int sf_filters_init(struct Qdisc *sch, struct netlink_ext_ack *extack)
{
	struct sf_sched *s = qdisc_priv(sch);
	struct tcf_block_ext_info info = {
		.chain_head_change = sf_filters_changed,
		.chain_head_change_priv = sch,
	};

	return tcf_block_get_ext(&s->block, sch, &info, extack);
}

static inline struct tcf_block *sf_tcf_block(struct Qdisc *sch, unsigned long cl,
					     struct netlink_ext_ack *extack)
{
	struct sf_sched *s = qdisc_priv(sch);

	return cl ? NULL : s->block;
}

/* X:1 and X:2 are numbers for filters to name. */
static inline unsigned long sf_class_bind(struct Qdisc *sch, unsigned long parent,
					  u32 classid)
{
	return 0;
}

static inline void sf_class_unbind(struct Qdisc *sch, unsigned long cl)
{
}

#endif
