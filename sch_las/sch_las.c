// SPDX-License-Identifier: GPL-2.0
/*
 * sch_las - Least Attained Service
 *
 * I. A. Rai, E. W. Biersack, G. Urvoy-Keller: Size-based Scheduling to Improve
 * the Performance of Short TCP Flows, 2004, sections 2.2 and 7.
 *
 * The next packet belongs to the flow that has attained least service so far. A short flow never
 * attains much, so it passes by long ones, without a threshold between the two.
 *
 * `plain` is LAS as published. The rank of a packet is what its flow had attained when it arrived,
 * its backlog included; packets of equal rank go by arrival. When the queue is full, the new packet
 * is put in its place and the last packet of the order is dropped, which does not count as service.
 * This needs state of flows only: the rank of a flow's first packet is what the flow has attained,
 * less its backlog.
 *
 * Plain LAS starves old flows. Without `plain` the policy of policy.h applies, and the rank of a
 * short flow is its visible size, which says more than attained service about what is left to send.
 *
 * LAS-log(K), section 6: flows of the priority class (X:2, chosen by a tc filter or skb->priority)
 * rank by (log2 x)^(1/K) instead of x (las_log.h). They are never bulk, nor refused as new flows.
 *
 * All of this is under the root qdisc's lock; sched.h has what a dump reads without.
 */

/* The name for tc, modprobe and error messages */
#define SF_KIND "las"

#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>
#include <shortfirst/compat.h>
#include <shortfirst/filter.h>
#include <shortfirst/policy.h>
#include "las_log.h"
#include "pkt_las.h"

struct las_sched {
	struct sf_policy p;
	u32		log_factor;
	u64		opt[SF_OPTION_VALUES(LAS)];	/* by attribute */
};

static_assert(SF_CLASS_2 == (u32)TC_LAS_CLASS_PRIORITY);
static_assert(SF_CLASS_FLOWS == (u32)TC_LAS_CLASS_FLOWS);
static_assert(SF_HOSTS_SRC == (u32)TC_LAS_HOSTS_SRC && SF_HOSTS_DST == (u32)TC_LAS_HOSTS_DST &&
	      SF_HOSTS_BOTH == (u32)TC_LAS_HOSTS_BOTH);

static const struct las_sched *las_of(const struct sf_policy *p)
{
	return container_of(p, struct las_sched, p);
}

/* The rank in the priority class; seldom called */
static noinline u64 las_priority_rank(const struct sf_policy *p, u64 rank)
{
	return las_log_rank(rank, las_of(p)->log_factor);
}

/* sf_order.rank: by visible size, or as published by attained service */
static u64 las_rank(const struct sf_policy *p, const struct sf_flow *f,
		    const struct sf_queue *queue)
{
	u64 served = f->attained - min_t(u64, f->attained, queue->backlog);
	u64 rank = p->visible ? sf_policy_visible_size(f, queue) : served;

	if (f->priority)
		rank = las_priority_rank(p, rank);
	return p->visible ? sf_policy_rank_of_size(p, f, queue, rank) : rank;
}

static bool las_has_new(const struct sf_policy *p)
{
	return true;
}

/* As published: what the flow had attained when its last packet came */
static u64 las_tail_rank(const struct sf_policy *p, const struct sf_queue *queue)
{
	const struct sf_flow *f = &p->s.table.flows[queue->flow];
	u64 before = f->attained - min_t(u64, f->attained, qdisc_pkt_len(queue->tail));

	return f->priority ? las_priority_rank(p, before) : before;
}

/* sf_order.drop_rank: the longest queue, or as published the last packet of the order */
static u64 las_drop_rank(const struct sf_policy *p, const struct sf_queue *queue)
{
	return p->visible ? sf_policy_longest(p, queue) : ~las_tail_rank(p, queue);
}

/* sf_order.victim: as published the queue with the last packet of the order */
static struct sf_queue *las_victim(const struct sf_policy *p, struct sf_queue *candidate,
				   struct sf_queue *ranked, struct sf_queue *newest)
{
	struct sf_queue *found[] = { candidate, ranked, newest }, *last = NULL;
	u64 rank, most = 0;
	u32 i;

	if (p->visible)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(found); i++) {
		if (!found[i])
			continue;
		rank = las_tail_rank(p, found[i]);
		if (last && sf_before(rank, sf_cb(found[i]->tail)->arrival, most,
				      sf_cb(last->tail)->arrival))
			continue;
		last = found[i];
		most = rank;
	}
	return last;
}

static const struct sf_order las_order = {
	.rank		= las_rank,
	.has_new	= las_has_new,
	.drop_rank	= las_drop_rank,
	.victim		= las_victim,
};

static __always_inline bool las_insert(struct Qdisc *sch, struct sk_buff *skb,
				       struct sf_place *to)
{
	if (likely(to->flow))
		to->flow->priority = to->class == TC_LAS_CLASS_PRIORITY;
	return sf_policy_insert(sch, skb, to, &las_order);
}

static noinline struct sk_buff *las_take_victim(struct Qdisc *sch)
{
	return sf_policy_take_victim(sch, &las_order);
}

static const struct sf_kind las_kind = {
	.insert		= las_insert,
	.take_victim	= las_take_victim,
	.dropped	= sf_policy_dropped,
	.over		= sf_policy_over,
};

static int las_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free)
{
	struct sf_place to;
	int said = sf_class_and_host(skb, sch);

	if (unlikely(said < 0))
		return sf_filtered(skb, sch, to_free, said);
	to.class = said & SF_CLASS_MASK;
	to.named = said;
	return sf_policy_enqueue(skb, sch, &to, to.class != TC_LAS_CLASS_PRIORITY, to_free,
				 &las_kind);
}

static struct sk_buff *las_dequeue(struct Qdisc *sch)
{
	return sf_policy_dequeue(sch, &las_order);
}

static const struct sf_option las_rows[] = {
	SF_LIMIT(LAS, 10000),
	SF_MEMORY_LIMIT(LAS),
	SF_FLOWS(LAS),
	SF_SPLIT_GSO(LAS),
	{
		SF_OPTION(LAS, LOG, 500),
		SF_OTHER(TC_LAS_LOG_MIN, TC_LAS_LOG_MAX, "log must be 0.25 to 4")
	},
	SF_PLAIN(LAS),
	SF_BUFFER(LAS, SF_POLICY_BUFFER),
	SF_TARGET(LAS),
	SF_ECN(LAS),
	SF_HOSTS(LAS),
	SF_NAT(LAS),
	SF_RATE(LAS),
	SF_OVERHEAD(LAS),
	SF_MPU(LAS),
	SF_FRAMING(LAS),
	SF_INGRESS(LAS),
#ifdef SF_TEST
#define SF_TEST_LAST	TCA_LAS_MAX
#include <shortfirst/test_rows.h>
#endif
};

static const struct sf_options las_options = SF_OPTIONS(LAS, las);
static const struct sf_common las_common = SF_COMMON(LAS);
static const struct sf_policy_attributes las_attributes = SF_POLICY_ATTRIBUTES(LAS);

/* Returns whether the order and the limits may have changed. */
static bool las_apply_options(struct las_sched *q, const u64 *opt)
{
	bool others = sf_others_change(&las_options, &las_common, q->opt, opt);
	u64 was = q->p.s.link.set;

	sf_options_apply(&las_options, q->opt, opt);
	q->p.s.counts_all = opt[TCA_LAS_PLAIN];
	sf_set_options(&q->p.s, &las_common, opt, q->p.s.held);
	sf_policy_set_options(&q->p, &las_attributes, opt, was, others);
	q->log_factor = las_log_factor(opt[TCA_LAS_LOG]);
	return others;
}

static int las_change(struct Qdisc *sch, struct nlattr *nla,
		      struct netlink_ext_ack *extack)
{
	struct las_sched *q = qdisc_priv(sch);
	struct nlattr *tb[SF_OPTION_VALUES(LAS)];
	u64 opt[SF_OPTION_VALUES(LAS)];
	int err;

	err = sf_options_parse(&las_options, nla, tb, q->opt, opt, extack);
	if (err)
		return err;
	sf_policy_follow_plain(&las_attributes, tb, q->opt, opt);

	sch_tree_lock(sch);
	if (las_apply_options(q, opt)) {
		sf_policy_sort_again(&q->p, &las_order);
		sf_trim(sch, &las_kind);
	}
	sch_tree_unlock(sch);
	return 0;
}

static int las_init(struct Qdisc *sch, struct nlattr *nla,
		    struct netlink_ext_ack *extack)
{
	struct las_sched *q = qdisc_priv(sch);
	struct nlattr *tb[SF_OPTION_VALUES(LAS)];
	u64 opt[SF_OPTION_VALUES(LAS)];
	int err;

	sf_policy_begin(sch);
	err = sf_options_parse(&las_options, nla, tb, NULL, opt, extack);
	if (err)
		return err;
	sf_policy_follow_plain(&las_attributes, tb, NULL, opt);
	las_apply_options(q, opt);
	err = sf_filters_init(sch, extack);
	if (err)
		return err;
	return sf_policy_init(&q->p, opt, TCA_LAS_MAX, opt[TCA_LAS_FLOWS]);
}

static void las_destroy(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);

	sf_end(&q->p.s);
	sf_policy_free(&q->p);
}

static int las_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct las_sched *q = qdisc_priv(sch);

	return sf_options_dump(&las_options, q->opt, skb);
}

static int las_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_las_xstats st = { .type = TC_LAS_XSTATS_QDISC };

	sch_tree_lock(sch);
	sf_policy_dump_stats(sch, &st);
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static int las_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				struct gnet_dump *d)
{
	struct tc_las_flow_xstats st = { .type = TC_LAS_XSTATS_FLOW };
	const struct sf_sched *s = qdisc_priv(sch);
	int more = sf_class_put_stats(sch, d);

	if (more <= 0)
		return more;
	st.attained = s->told.attained;
	st.host = s->told.host;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static const struct Qdisc_class_ops las_class_ops = {
	.leaf		=	sf_class_leaf,
	.find		=	sf_class_find,
	.tcf_block	=	sf_tcf_block,
	.bind_tcf	=	sf_class_bind,
	.unbind_tcf	=	sf_class_unbind,
	.dump		=	sf_policy_dump_class,
	.dump_stats	=	las_dump_class_stats,
	.walk		=	sf_policy_walk,
};

static struct Qdisc_ops las_qdisc_ops __read_mostly = {
	.cl_ops		=	&las_class_ops,
	.id		=	SF_KIND,
	.priv_size	=	sizeof(struct las_sched),
	.enqueue	=	las_enqueue,
	.dequeue	=	las_dequeue,
	.peek		=	qdisc_peek_dequeued,
	.init		=	las_init,
	.reset		=	sf_policy_reset,
	.destroy	=	las_destroy,
	.change		=	las_change,
	.dump		=	las_dump,
	.dump_stats	=	las_dump_stats,
	.owner		=	THIS_MODULE,
};
MODULE_ALIAS_NET_SCH(SF_KIND);

static int __init las_module_init(void)
{
	return register_qdisc(&las_qdisc_ops);
}

static void __exit las_module_exit(void)
{
	unregister_qdisc(&las_qdisc_ops);
}

module_init(las_module_init)
module_exit(las_module_exit)
MODULE_AUTHOR("shortfirst contributors");
MODULE_DESCRIPTION("Least Attained Service packet scheduler");
MODULE_LICENSE("GPL");
