// SPDX-License-Identifier: GPL-2.0
/*
 * sch_sqf - Shortest Queue First, Longest Queue First and Fair Queueing
 *
 * G. Carofiglio, L. Muscariello: On the impact of TCP and per-flow scheduling on
 * Internet performance, 2009, sections 2 and 3.3.
 *
 * Each flow has a queue of its own; all share one buffer. When that is full, the longest queue
 * drops a packet. `policy` chooses the queue that is served next:
 *
 * - sqf: the shortest, in bytes. A flow that sends less than the link takes has a short queue and
 *   hardly waits. Of flows that take all they get, one at a time has the link.
 * - lqf: the longest.
 * - fq: each in turn.
 *
 * `plain` is that and no more. But a flow that never queues, since it is no faster than the link,
 * goes first for ever, and a flow's own packets wait behind each other. Without `plain` the policy
 * of policy.h applies, and these are about its classes:
 *
 *			new flows	short flows		bulk flows
 *	sqf		first		by visible size		round-robin
 *	lqf		first		by length		round-robin
 *	fq		first		none			round-robin: all others
 *	sqf plain, lqf plain	none	by length: all		packets without a record
 *	fq plain	none		none			round-robin: all
 *
 * Among equal queues a random one drops a packet, not always that of the newest packet. Otherwise
 * sqf could serve one flow for ever: of N backlogged flows, all alike, and N * k + N - 1 packets in
 * the buffer, N - 1 have k + 1 and wait, and the one that is served never gets as long as they are.
 *
 * All of this is under the root qdisc's lock; sched.h has what a dump reads without.
 */

/* The name for tc, modprobe and error messages */
#define SF_KIND "sqf"

#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/skbuff.h>
#include <net/netlink.h>
#include <shortfirst/compat.h>
#include <shortfirst/filter.h>
#include <shortfirst/policy.h>
#include "pkt_sqf.h"

struct sqf_sched {
	struct sf_policy p;
	struct rnd_state random;	/* for drops among equal queues */
	u32		policy;
	u64		opt[SF_OPTION_VALUES(SQF)];	/* by attribute */
};

static_assert(SF_HOSTS_SRC == (u32)TC_SQF_HOSTS_SRC && SF_HOSTS_DST == (u32)TC_SQF_HOSTS_DST &&
	      SF_HOSTS_BOTH == (u32)TC_SQF_HOSTS_BOTH);

static const struct sqf_sched *sqf_of(const struct sf_policy *p)
{
	return container_of(p, struct sqf_sched, p);
}

/* As published, no class has a share. */
static bool sqf_without_shares(const struct sf_policy *p)
{
	return !p->short_share && !p->bulk_share;
}

static u64 sqf_rank(const struct sf_policy *p, const struct sf_flow *f,
		    const struct sf_queue *queue)
{
	if (sqf_of(p)->policy == TC_SQF_POLICY_LQF)
		return U32_MAX - queue->backlog;
	if (sqf_without_shares(p))
		return queue->backlog;
	return sf_policy_rank_of_size(p, f, queue, sf_policy_visible_size(f, queue));
}

/* sf_order.has_new */
static bool sqf_has_new(const struct sf_policy *p)
{
	return p->short_share;
}

static u32 sqf_pick(struct sf_policy *p, u32 count)
{
	struct sqf_sched *q = container_of(p, struct sqf_sched, p);

	return count > 1 ? reciprocal_scale(prandom_u32_state(&q->random), count) : 0;
}

/* sf_order.drops_singles: without shares the longest queue drops, whatever others have had. */
static bool sqf_drops_singles(const struct sf_policy *p)
{
	return sqf_without_shares(p) || sqf_of(p)->policy == TC_SQF_POLICY_LQF;
}

static const struct sf_order sqf_order = {
	.rank		= sqf_rank,
	.has_new	= sqf_has_new,
	.drop_rank	= sf_policy_longest,
	.pick		= sqf_pick,
	.drops_singles	= sqf_drops_singles,
};

static __always_inline bool sqf_insert(struct Qdisc *sch, struct sk_buff *skb,
				       struct sf_place *to)
{
	return sf_policy_insert(sch, skb, to, &sqf_order);
}

static noinline struct sk_buff *sqf_take_victim(struct Qdisc *sch)
{
	return sf_policy_take_victim(sch, &sqf_order);
}

static const struct sf_kind sqf_kind = {
	.insert		= sqf_insert,
	.take_victim	= sqf_take_victim,
	.dropped	= sf_policy_dropped,
	.over		= sf_policy_over,
};

static int sqf_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free)
{
	struct sf_place to;
	int said = sf_ask_filters(skb, sch);

	if (unlikely(said < 0))
		return sf_filtered(skb, sch, to_free, said);
	to.class = 0;
	to.named = said;
	return sf_policy_enqueue(skb, sch, &to, true, to_free, &sqf_kind);
}

static struct sk_buff *sqf_dequeue(struct Qdisc *sch)
{
	return sf_policy_dequeue(sch, &sqf_order);
}

static const struct sf_option sqf_rows[] = {
	SF_LIMIT(SQF, 10000),
	SF_MEMORY_LIMIT(SQF),
	SF_FLOWS(SQF),
	SF_SPLIT_GSO(SQF),
	{
		SF_OPTION(SQF, POLICY, TC_SQF_POLICY_SQF),
		SF_OTHER(0, TC_SQF_POLICY_MAX, "policy must be 0 (sqf), 1 (lqf) or 2 (fq)")
	},
	{
		SF_OPTION(SQF, DROP_HEAD, 0),
		SF_SWITCH("drop_head")
	},
	SF_PLAIN(SQF),
	SF_BUFFER(SQF, SF_POLICY_BUFFER),
	SF_TARGET(SQF),
	SF_ECN(SQF),
	SF_HOSTS(SQF),
	SF_NAT(SQF),
	SF_RATE(SQF),
	SF_OVERHEAD(SQF),
	SF_MPU(SQF),
	SF_FRAMING(SQF),
	SF_INGRESS(SQF),
#ifdef SF_TEST
#define SF_TEST_LAST	TCA_SQF_MAX
#include <shortfirst/test_rows.h>
#endif
};

static const struct sf_options sqf_options = SF_OPTIONS(SQF, sqf);
static const struct sf_common sqf_common = SF_COMMON(SQF);
static const struct sf_policy_attributes sqf_attributes = SF_POLICY_ATTRIBUTES(SQF);

/* Returns whether the order and the limits may have changed. */
static bool sqf_apply_options(struct sqf_sched *q, const u64 *opt)
{
	bool others = sf_others_change(&sqf_options, &sqf_common, q->opt, opt);
	u64 was = q->p.s.link.set;

	sf_options_apply(&sqf_options, q->opt, opt);
	q->p.s.counts_all = opt[TCA_SQF_PLAIN];
	sf_set_options(&q->p.s, &sqf_common, opt, q->p.s.held);
	sf_policy_set_options(&q->p, &sqf_attributes, opt, was, others);
	q->policy = opt[TCA_SQF_POLICY];
	if (q->policy == TC_SQF_POLICY_FQ) {
		q->p.bulk_most = 0;
		q->p.bulk_from = 0;
	}
	q->p.drop_head = opt[TCA_SQF_DROP_HEAD];
	return others;
}

static int sqf_change(struct Qdisc *sch, struct nlattr *nla,
		      struct netlink_ext_ack *extack)
{
	struct sqf_sched *q = qdisc_priv(sch);
	struct nlattr *tb[SF_OPTION_VALUES(SQF)];
	u64 opt[SF_OPTION_VALUES(SQF)];
	int err;

	err = sf_options_parse(&sqf_options, nla, tb, q->opt, opt, extack);
	if (err)
		return err;
	sf_policy_follow_plain(&sqf_attributes, tb, q->opt, opt);

	sch_tree_lock(sch);
	if (sqf_apply_options(q, opt)) {
		sf_policy_sort_again(&q->p, &sqf_order);
		sf_trim(sch, &sqf_kind);
	}
	sch_tree_unlock(sch);
	return 0;
}

static int sqf_init(struct Qdisc *sch, struct nlattr *nla,
		    struct netlink_ext_ack *extack)
{
	struct sqf_sched *q = qdisc_priv(sch);
	struct nlattr *tb[SF_OPTION_VALUES(SQF)];
	u64 opt[SF_OPTION_VALUES(SQF)];
	int err;

	sf_policy_begin(sch);
	err = sf_options_parse(&sqf_options, nla, tb, NULL, opt, extack);
	if (err)
		return err;
	sf_policy_follow_plain(&sqf_attributes, tb, NULL, opt);
	sqf_apply_options(q, opt);
	prandom_seed_state(&q->random, get_random_u64());
	err = sf_filters_init(sch, extack);
	if (err)
		return err;
	return sf_policy_init(&q->p, opt, TCA_SQF_MAX, opt[TCA_SQF_FLOWS]);
}

static void sqf_destroy(struct Qdisc *sch)
{
	struct sqf_sched *q = qdisc_priv(sch);

	sf_end(&q->p.s);
	sf_policy_free(&q->p);
}

static int sqf_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct sqf_sched *q = qdisc_priv(sch);

	return sf_options_dump(&sqf_options, q->opt, skb);
}

static int sqf_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct sf_policy *p = qdisc_priv(sch);
	struct tc_sqf_xstats st = { .type = TC_SQF_XSTATS_QDISC };

	sch_tree_lock(sch);
	sf_policy_dump_stats(sch, &st);
	if (p->s.held)
		st.longest = sf_policy_victim(p, sf_policy_victim_host(p), &sqf_order)->backlog;
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static int sqf_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				struct gnet_dump *d)
{
	struct tc_sqf_flow_xstats st = { .type = TC_SQF_XSTATS_FLOW };
	const struct sf_sched *s = qdisc_priv(sch);
	int more = sf_class_put_stats(sch, d);

	if (more <= 0)
		return more;
	st.attained = s->told.attained;
	st.host = s->told.host;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static const struct Qdisc_class_ops sqf_class_ops = {
	.leaf		=	sf_class_leaf,
	.find		=	sf_class_find,
	.tcf_block	=	sf_tcf_block,
	.bind_tcf	=	sf_class_bind,
	.unbind_tcf	=	sf_class_unbind,
	.dump		=	sf_policy_dump_class,
	.dump_stats	=	sqf_dump_class_stats,
	.walk		=	sf_policy_walk,
};

static struct Qdisc_ops sqf_qdisc_ops __read_mostly = {
	.cl_ops		=	&sqf_class_ops,
	.id		=	SF_KIND,
	.priv_size	=	sizeof(struct sqf_sched),
	.enqueue	=	sqf_enqueue,
	.dequeue	=	sqf_dequeue,
	.peek		=	qdisc_peek_dequeued,
	.init		=	sqf_init,
	.reset		=	sf_policy_reset,
	.destroy	=	sqf_destroy,
	.change		=	sqf_change,
	.dump		=	sqf_dump,
	.dump_stats	=	sqf_dump_stats,
	.owner		=	THIS_MODULE,
};
MODULE_ALIAS_NET_SCH(SF_KIND);

static int __init sqf_module_init(void)
{
	return register_qdisc(&sqf_qdisc_ops);
}

static void __exit sqf_module_exit(void)
{
	unregister_qdisc(&sqf_qdisc_ops);
}

module_init(sqf_module_init)
module_exit(sqf_module_exit)
MODULE_AUTHOR("shortfirst contributors");
MODULE_DESCRIPTION("Shortest Queue First, Longest Queue First and Fair Queueing");
MODULE_LICENSE("GPL");
