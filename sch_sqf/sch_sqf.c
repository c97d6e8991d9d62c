// SPDX-License-Identifier: GPL-2.0
/*
 * sch_sqf - Shortest Queue First, Longest Queue First and Fair Queueing
 *
 * G. Carofiglio, L. Muscariello: On the impact of TCP and per-flow scheduling on
 * Internet performance, 2009, sections 2 and 3.3.
 *
 * Each flow has a queue of its own; all share one buffer. When that is full, the
 * flow with the longest queue loses a packet (longest queue drop), so that flows
 * with little in the queue are not hit by what the greedy ones do. What `policy`
 * chooses is the queue that is served next:
 *
 * - sqf: the shortest. A flow that sends less than the link takes has a short queue
 *   and so hardly waits: streams, calls and the first packets of all flows. Of the
 *   flows that take what they get, one at a time has the link.
 * - lqf: the longest.
 * - fq: each in turn. Time goes in rounds, in each of which a flow sends `quantum`
 *   bytes: the round of its first packet is the number of whole quanta it has sent
 *   since it was the newest flow. It is that of start-time fair queueing (Goyal,
 *   Vin, Cheng 1996), rounded down to quanta.
 *
 * Of queues equally long, the one that has been so for longest is served, and of
 * those of one round, the one that came into it first. Of the longest, the newcomer's
 * or not, one at random loses a packet. If that were always the newcomer's, sqf could
 * serve one flow for ever: of N flows with packets all alike and N * k + N - 1 of
 * them in the buffer, N - 1 have k + 1 and wait, and the one that is served never
 * gets as long as they are.
 *
 * Lengths are in bytes, and change at each packet. Most queues are short: they are
 * in lists, one for each length (sqf_lists.h). The long ones are in a heap with the
 * longest first (flow_heap.h), for sqf also in one with the shortest first, and for
 * fq all queues are also in lists by their rounds.
 *
 *	lengths:  60: A, D	  1514: C	    3028: E, B
 *	longest:  G: 90000	  F: 9000
 *	shortest: F: 9000	  G: 90000
 *	turns:	  round 7: C, G	  round 8: A, B, F  round 9: D, E
 *
 * The records of the flows are in a table of fixed size (flow_table.h). A packet
 * for which it has no room joins the overflow queue, which is served when all others
 * are empty, and loses packets like them.
 *
 * All of this is under the root qdisc's lock; sched.h says what a dump reads without.
 */

/* The name, as tc, modprobe and what is refused tell it */
#define SF_KIND "sqf"

#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/netlink.h>
#include <shortfirst/compat.h>
#include <shortfirst/flow_heap.h>
#include <shortfirst/sched.h>
#include "sqf_lists.h"
#include "pkt_sqf.h"

/* A queue of so many bytes is no longer short. */
#define SQF_LONG		SQF_LISTS

/* If there are more of the longest queues, the draw is between so many of them. */
#define SQF_DRAW		16

/* Which of the links of a queue is for which lists */
#define SQF_LENGTHS		0
#define SQF_TURNS		1

struct sqf_sched {
	struct sf_sched	s;
	struct sqf_lists lengths;	/* the short queues by their bytes */
	struct sf_heap	longest;	/* the long ones, the longest first, */
	struct sf_heap	shortest;	/* and the shortest first, if sqf */
	struct sqf_lists turns;		/* all queues by their rounds, if fq */
	u64		round;		/* of the packet served last */
	u32		moves;		/* of queues, to order equals; wraps */
	struct rnd_state random;
	u32		opt[TCA_SQF_MAX + 1];	/* by attribute */
};

/*
 * A flow's record: `finish` is the round of its first packet in the queue or of the
 * next to come, `attained` the bytes it has sent in that round.
 */
static struct sf_flow *sqf_flow(const struct sqf_sched *q, u32 i)
{
	return &q->s.table.flows[q->s.table.queues[i].flow];
}

/*
 * The rounds of queues are less than SQF_LISTS apart: a packet takes less, and one
 * that comes to an empty queue has the round of now or a later one it had before.
 */
static u32 sqf_turn(u64 round)
{
	return round % SQF_LISTS;
}

static struct sf_heap_node sqf_by_most(const struct sqf_sched *q, u32 i)
{
	u64 bytes = q->s.table.queues[i].backlog;

	return (struct sf_heap_node) { U32_MAX - bytes, q->moves, i };
}

static struct sf_heap_node sqf_by_least(const struct sqf_sched *q, u32 i)
{
	return (struct sf_heap_node) { q->s.table.queues[i].backlog, q->moves, i };
}

static void sqf_long_add(struct sqf_sched *q, u32 i)
{
	sf_heap_add(&q->longest, sqf_by_most(q, i));
	if (q->opt[TCA_SQF_POLICY] == TC_SQF_POLICY_SQF)
		sf_heap_add(&q->shortest, sqf_by_least(q, i));
}

static void sqf_long_del(struct sqf_sched *q, u32 i)
{
	sf_heap_remove(&q->longest, i);
	if (q->opt[TCA_SQF_POLICY] == TC_SQF_POLICY_SQF)
		sf_heap_remove(&q->shortest, i);
}

static __always_inline void sqf_long_move(struct sqf_sched *q, u32 i, bool longer)
{
	if (longer)
		sf_heap_raise(&q->longest, sqf_by_most(q, i));
	else
		sf_heap_lower(&q->longest, sqf_by_most(q, i));
	if (q->opt[TCA_SQF_POLICY] != TC_SQF_POLICY_SQF)
		return;
	if (longer)
		sf_heap_lower(&q->shortest, sqf_by_least(q, i));
	else
		sf_heap_raise(&q->shortest, sqf_by_least(q, i));
}

/*
 * Queue @i, which held @packets of @bytes, has got one more and become @longer, or
 * has lost one or all.
 */
static __always_inline void sqf_sort(struct sqf_sched *q, u32 i, u32 packets,
				     u32 bytes, bool longer)
{
	struct sf_queue *queues = q->s.table.queues;
	u32 now = queues[i].backlog;

	if (unlikely(i == SF_ELSEWHERE))
		return;
	q->moves++;
	if (packets && queues[i].qlen && bytes >= SQF_LONG && now >= SQF_LONG) {
		sqf_long_move(q, i, longer);
		return;
	}
	if (packets && bytes < SQF_LONG)
		sqf_list_del(&q->lengths, bytes, queues, i, SQF_LENGTHS);
	else if (packets)
		sqf_long_del(q, i);
	if (queues[i].qlen && now < SQF_LONG)
		sqf_list_add(&q->lengths, now, queues, i, SQF_LENGTHS);
	else if (queues[i].qlen)
		sqf_long_add(q, i);
}

/* The queue to be served; there is one. */
static __always_inline u32 sqf_first(const struct sqf_sched *q)
{
	const struct sqf_lists *lists = &q->lengths;
	const struct sf_heap *heap = &q->shortest;
	u32 n;

	if (q->opt[TCA_SQF_POLICY] == TC_SQF_POLICY_FQ) {
		lists = &q->turns;
		n = sqf_lists_from(lists, sqf_turn(q->round));
	} else if (q->opt[TCA_SQF_POLICY] == TC_SQF_POLICY_LQF) {
		heap = &q->longest;
		n = heap->size ? SQF_NO_LIST : sqf_lists_most(lists);
	} else {
		n = sqf_lists_least(lists);
	}
	if (n != SQF_NO_LIST)
		return lists->first[n];
	return heap->size ? heap->node[0].queue : SF_ELSEWHERE;
}

static u32 sqf_random(struct sqf_sched *q, u32 below)
{
	return reciprocal_scale(prandom_u32_state(&q->random), below);
}

/* One of the first of a heap that are equal; they are below each other. */
static u32 sqf_draw_long(struct sqf_sched *q)
{
	const struct sf_heap_node *node = q->longest.node;
	u32 equal[SQF_DRAW] = { 0 }, count = 1, i, child, end;

	for (i = 0; i < count; i++) {
		child = equal[i] * SF_HEAP_CHILDREN + 1;
		end = min(child + SF_HEAP_CHILDREN, q->longest.size);
		for (; child < end && count < SQF_DRAW; child++)
			if (node[child].rank == node[0].rank)
				equal[count++] = child;
	}
	return node[equal[sqf_random(q, count)]].queue;
}

/* One of the last of a list of @lengths */
static u32 sqf_draw_short(struct sqf_sched *q, u32 n)
{
	const struct sf_queue *queues = q->s.table.queues;
	u32 first = q->lengths.first[n], i = first, count = 0;

	do {
		i = queues[i].link[SQF_LENGTHS].prev;
		count++;
	} while (i != first && count < SQF_DRAW);
	for (count = sqf_random(q, count); count; count--)
		i = queues[i].link[SQF_LENGTHS].next;
	return i;
}

/* One of the longest queues at random; there is one. */
static u32 sqf_draw(struct sqf_sched *q)
{
	const struct sf_queue *queues = q->s.table.queues;
	u32 n = sqf_lists_most(&q->lengths), i = SF_ELSEWHERE;

	if (q->longest.size)
		i = sqf_draw_long(q);
	else if (n != SQF_NO_LIST)
		i = sqf_draw_short(q, n);
	return queues[SF_ELSEWHERE].backlog > queues[i].backlog ? SF_ELSEWHERE : i;
}

/* Queue @i has become empty. */
static void sqf_emptied(struct sqf_sched *q, u32 i)
{
	if (unlikely(i == SF_ELSEWHERE))
		return;
	if (q->opt[TCA_SQF_POLICY] == TC_SQF_POLICY_FQ)
		sqf_list_del(&q->turns, sqf_turn(sqf_flow(q, i)->finish),
			     q->s.table.queues, i, SQF_TURNS);
	sf_queue_release(&q->s.table, &q->s.table.queues[i]);
}

/* A flow without packets has got one. */
static __always_inline u32 sqf_begin(struct sqf_sched *q, struct sf_flow *f)
{
	u32 i = sf_queue_take(&q->s.table, f);

	if (f->finish < q->round) {
		f->finish = q->round;
		f->attained = 0;
	}
	if (q->opt[TCA_SQF_POLICY] == TC_SQF_POLICY_FQ)
		sqf_list_add(&q->turns, sqf_turn(f->finish), q->s.table.queues, i,
			     SQF_TURNS);
	return i;
}

static __always_inline bool sqf_insert(struct Qdisc *sch, struct sk_buff *skb,
				       struct sf_place *to)
{
	struct sqf_sched *q = qdisc_priv(sch);
	struct sf_skb_cb *cb = sf_cb(skb);
	struct sf_queue *queue;
	u32 i = SF_ELSEWHERE;

	cb->arrival = q->s.arrivals++;
	cb->truesize = skb->truesize;
	if (likely(to->flow)) {
		i = to->flow->queue ?: sqf_begin(q, to->flow);
	} else {
		cb->rank = sf_table_set(&q->s.table, to->hash);
		sf_elsewhere_add(&q->s.table, cb->rank);
	}

	queue = &q->s.table.queues[i];
	sf_append(sch, queue, skb);
	sqf_sort(q, i, queue->qlen - 1, queue->backlog - qdisc_pkt_len(skb), true);
	return true;
}

/* Queue @i has lost @skb, its first or its last. */
static __always_inline void sqf_lost(struct sqf_sched *q, u32 i,
				     const struct sk_buff *skb)
{
	const struct sf_queue *queue = &q->s.table.queues[i];

	if (unlikely(i == SF_ELSEWHERE))
		sf_elsewhere_del(&q->s.table, sf_cb(skb)->rank);
	sqf_sort(q, i, queue->qlen + 1, queue->backlog + qdisc_pkt_len(skb), false);
	if (!queue->qlen)
		sqf_emptied(q, i);
}

/* @skb, which has been taken from queue @i, goes on account of its flow's round. */
static void sqf_served(struct sqf_sched *q, u32 i, const struct sk_buff *skb)
{
	struct sf_queue *queues = q->s.table.queues;
	struct sf_flow *f = sqf_flow(q, i);
	u32 quantum = q->opt[TCA_SQF_QUANTUM];

	q->round = f->finish;
	/* When all are served, nobody has had more than others any longer. */
	if (!q->s.held)
		q->round += SQF_LISTS;
	f->attained += qdisc_pkt_len(skb);
	if (f->attained < quantum)
		return;
	sqf_list_del(&q->turns, sqf_turn(f->finish), queues, i, SQF_TURNS);
	f->finish += min_t(u32, (u32)f->attained / quantum, SQF_LISTS - 1);
	f->attained = (u32)f->attained % quantum;
	sqf_list_add(&q->turns, sqf_turn(f->finish), queues, i, SQF_TURNS);
}

/* Take a packet of a longest queue and count it as dropped; there is one. */
static noinline struct sk_buff *sqf_take_victim(struct Qdisc *sch)
{
	struct sqf_sched *q = qdisc_priv(sch);
	struct sf_queue *queues = q->s.table.queues;
	u32 i = sqf_draw(q);
	struct sk_buff *skb;

	q->s.victim = queues[i].flow;
	sf_count_drop(&q->s);
	if (q->opt[TCA_SQF_DROP_HEAD])
		skb = sf_take_first(sch, &queues[i]);
	else
		skb = sf_take_last(sch, &queues[i]);
	sqf_lost(q, i, skb);
	sf_set_drop_reason(skb, SF_DROP_OVERLIMIT);
	return skb;
}

static const struct sf_kind sqf_kind = {
	.insert		= sqf_insert,
	.take_victim	= sqf_take_victim,
};

static int sqf_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free)
{
	struct sqf_sched *q = qdisc_priv(sch);
	struct sf_place to;

	sf_find(&q->s, skb, jiffies, &to);
	return sf_enqueue(skb, sch, &to, to_free, &sqf_kind);
}

static struct sk_buff *sqf_dequeue(struct Qdisc *sch)
{
	struct sqf_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;
	u32 i;

	if (!q->s.held)
		return NULL;
	i = sqf_first(q);
	skb = sf_take_first(sch, &q->s.table.queues[i]);
	if (q->opt[TCA_SQF_POLICY] == TC_SQF_POLICY_FQ && likely(i != SF_ELSEWHERE))
		sqf_served(q, i, skb);
	sqf_lost(q, i, skb);
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void sqf_reset(struct Qdisc *sch)
{
	struct sqf_sched *q = qdisc_priv(sch);
	struct sf_queue *queue;
	u32 i, packets, bytes;

	while (q->s.held) {
		i = sqf_first(q);
		queue = &q->s.table.queues[i];
		packets = queue->qlen;
		bytes = queue->backlog;
		q->s.held -= packets;
		queue->qlen = 0;
		queue->backlog = 0;
		rtnl_kfree_skbs(queue->head, queue->tail);
		sqf_sort(q, i, packets, bytes, false);
		sqf_emptied(q, i);
	}
	q->s.memory = 0;
	q->round = 0;
	sf_table_clear(&q->s.table);
}

static const struct sf_option sqf_rows[] = {
	SF_LIMIT(SQF, 1000),
	SF_MEMORY_LIMIT(SQF),
	SF_FLOWS(SQF),
	SF_IDLE(SQF),
	SF_SPLIT_GSO(SQF),
	{
		SF_OPTION(SQF, POLICY, TC_SQF_POLICY_SQF),
		SF_OTHER(0, TC_SQF_POLICY_MAX, "policy must be 0 (sqf), 1 (lqf) or 2 (fq)")
	}, {
		SF_OPTION(SQF, QUANTUM, 1514),
		SF_RANGE("quantum", TC_SQF_QUANTUM_MIN, TC_SQF_QUANTUM_MAX, " bytes")
	}, {
		SF_OPTION(SQF, DROP_HEAD, 0),
		SF_SWITCH("drop_head")
	}
};

static const struct sf_options sqf_options = SF_OPTIONS(SQF, sqf);

static void sqf_apply_options(struct sqf_sched *q, const u32 *opt)
{
	sf_options_apply(&sqf_options, q->opt, opt);
	sf_set_options(&q->s, opt[TCA_SQF_LIMIT], opt[TCA_SQF_MEMORY_LIMIT],
		       opt[TCA_SQF_IDLE], opt[TCA_SQF_SPLIT_GSO]);
}

/*
 * The policy has changed: the queues are the same, their order is not. Those of one
 * round of fq are to go by arrival.
 */
static void sqf_sort_again(struct sqf_sched *q)
{
	struct sf_queue *queues = q->s.table.queues;
	struct sf_heap_node node;
	u32 i;

	q->shortest.size = 0;
	q->turns.words = 0;
	memset(q->turns.used, 0, sizeof(q->turns.used));
	if (q->opt[TCA_SQF_POLICY] == TC_SQF_POLICY_SQF) {
		for (i = 0; i < q->longest.size; i++) {
			node = q->longest.node[i];
			node.rank = U32_MAX - node.rank;
			sf_heap_add(&q->shortest, node);
		}
	} else if (q->opt[TCA_SQF_POLICY] == TC_SQF_POLICY_FQ) {
		for (i = SF_FIRST_QUEUE; i < sf_table_queues(q->opt[TCA_SQF_FLOWS]); i++) {
			if (!queues[i].qlen)
				continue;
			node.rank = 0;
			node.arrival = sf_cb(queues[i].head)->arrival;
			node.queue = i;
			sf_heap_add(&q->shortest, node);
		}
		while (q->shortest.size) {
			i = q->shortest.node[0].queue;
			sf_heap_remove(&q->shortest, i);
			sqf_list_add(&q->turns, sqf_turn(sqf_flow(q, i)->finish),
				     queues, i, SQF_TURNS);
		}
	}
}

static int sqf_change(struct Qdisc *sch, struct nlattr *nla,
		      struct netlink_ext_ack *extack)
{
	struct sqf_sched *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_SQF_MAX + 1];
	u32 opt[TCA_SQF_MAX + 1];
	u32 policy = q->opt[TCA_SQF_POLICY];
	int err;

	err = sf_options_parse(&sqf_options, nla, tb, q->opt, opt, extack);
	if (err)
		return err;

	sch_tree_lock(sch);
	sqf_apply_options(q, opt);
	if (opt[TCA_SQF_POLICY] != policy)
		sqf_sort_again(q);
	sf_trim(sch, &sqf_kind);
	sch_tree_unlock(sch);
	return 0;
}

static int sqf_init(struct Qdisc *sch, struct nlattr *nla,
		    struct netlink_ext_ack *extack)
{
	struct sqf_sched *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_SQF_MAX + 1];
	u32 opt[TCA_SQF_MAX + 1];
	u32 queues;
	int err;

	err = sf_options_parse(&sqf_options, nla, tb, NULL, opt, extack);
	if (err)
		return err;
	sqf_apply_options(q, opt);
	prandom_seed_state(&q->random, get_random_u64());
	/* On failure the core calls sqf_destroy(), if not sqf_reset() too */
	queues = sf_table_queues(opt[TCA_SQF_FLOWS]);
	return sf_table_init(&q->s.table, opt[TCA_SQF_FLOWS], queues) ?:
	       sqf_lists_init(&q->lengths) ?:
	       sqf_lists_init(&q->turns) ?:
	       sf_heap_init(&q->shortest, queues) ?:
	       sf_heap_init(&q->longest, queues);
}

static void sqf_destroy(struct Qdisc *sch)
{
	struct sqf_sched *q = qdisc_priv(sch);

	sf_heap_free(&q->longest);
	sf_heap_free(&q->shortest);
	sqf_lists_free(&q->turns);
	sqf_lists_free(&q->lengths);
	sf_table_free(&q->s.table);
}

static int sqf_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct sqf_sched *q = qdisc_priv(sch);

	return sf_options_dump(&sqf_options, q->opt, skb);
}

static int sqf_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct sqf_sched *q = qdisc_priv(sch);
	struct tc_sqf_xstats st;

	sch_tree_lock(sch);
	st = (struct tc_sqf_xstats) {
		.type		= TC_SQF_XSTATS_QDISC,
		.memory		= q->s.memory,
		.drop_limit	= q->s.drop_limit,
		.drop_memory	= q->s.drop_memory,
		.flows_seen	= q->s.table.assigned,
		.evictions	= q->s.table.evictions,
		.overflow	= q->s.overflow,
		.gso_split	= q->s.gso_split,
		.flows_queued	= sf_table_queued(&q->s.table) +
				  !!q->s.table.elsewhere,
		.records	= q->s.table.used,
		.memory_peak	= q->s.memory_peak,
	};
	st.longest = q->s.table.queues[sqf_draw(q)].backlog;
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static int sqf_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				struct gnet_dump *d)
{
	struct gnet_stats_queue qs;

	sf_class_queue(sch, cl, &qs);
	return gnet_stats_copy_queue(d, NULL, &qs, qs.qlen);
}

static const struct Qdisc_class_ops sqf_class_ops = {
	.leaf		=	sf_class_leaf,
	.find		=	sf_class_find,
	.dump		=	sf_class_dump,
	.dump_stats	=	sqf_dump_class_stats,
	.walk		=	sf_class_walk,
};

static struct Qdisc_ops sqf_qdisc_ops __read_mostly = {
	.cl_ops		=	&sqf_class_ops,
	.id		=	SF_KIND,
	.priv_size	=	sizeof(struct sqf_sched),
	.enqueue	=	sqf_enqueue,
	.dequeue	=	sqf_dequeue,
	.peek		=	qdisc_peek_dequeued,
	.init		=	sqf_init,
	.reset		=	sqf_reset,
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
