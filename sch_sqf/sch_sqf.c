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
 * Lengths are in bytes. They change at each packet, and so do the places of a queue
 * in the two orders, which are heaps (flow_heap.h):
 *
 *	next:		flow A: 1500	flow C: 3000	flow B: 90000
 *	longest:	flow B: 90000	flow C: 3000	flow A: 1500
 *
 * Of queues equally long, the one whose first packet came first is served, and one
 * at random is dropped from; but if the newcomer's is among the longest, that is.
 *
 * The records of the flows are in a table of fixed size (flow_table.h). A packet
 * for which it has no room joins the overflow queue, which is served last.
 *
 * All of this is under the root qdisc's lock, but for what a dump reads.
 */

#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/netlink.h>
#include "compat.h"
#include "flow_heap.h"
#include "options.h"
#include "sched.h"
#include "uapi/pkt_sqf.h"

#define SQF_DEFAULT_LIMIT	1000		/* packets */
#define SQF_DEFAULT_MEMORY	(32 << 20)	/* bytes */
#define SQF_DEFAULT_FLOWS	4096
#define SQF_DEFAULT_IDLE	60000		/* ms */
#define SQF_DEFAULT_QUANTUM	1514		/* bytes */

/* In the heap of the next, behind all others */
#define SQF_RANK_OVERFLOW	U64_MAX

struct sqf_options {
	u32	limit;
	u32	memory_limit;
	u32	flows;
	u32	idle;			/* ms */
	u32	policy;
	u32	quantum;		/* bytes */
	u32	drop_head;
	u32	split_gso;
};

struct sqf_sched {
	struct sf_sched	s;
	struct sf_heap	next;		/* the queue to be served first */
	struct sf_heap	longest;	/* the queue to be dropped from first */
	u64		round;		/* of the packet served last */
	u32		newcomer;	/* its queue; 0 if there is none */
	u32		random;
	struct sqf_options opt;
	u32		longest_bytes;	/* what a dump reads, like the options */
};

/*
 * A flow's record: `finish` is the round of its first packet in the queue or of the
 * next to come, `attained` the bytes it has sent in that round.
 */
static struct sf_flow *sqf_flow(const struct sqf_sched *q, u32 i)
{
	return &q->s.table.flows[q->s.table.queues[i].flow];
}

static struct sf_heap_node sqf_next(const struct sqf_sched *q, u32 i)
{
	const struct sf_queue *queue = &q->s.table.queues[i];
	u64 rank = queue->backlog;

	if (unlikely(i == SF_ELSEWHERE))
		rank = SQF_RANK_OVERFLOW;
	else if (q->opt.policy == TC_SQF_POLICY_LQF)
		rank = U32_MAX - rank;
	else if (q->opt.policy == TC_SQF_POLICY_FQ)
		rank = sqf_flow(q, i)->finish;
	return (struct sf_heap_node) { rank, sf_cb(queue->head)->arrival, i };
}

/* Ties are broken by a number that is not to be guessed from outside. */
static struct sf_heap_node sqf_longest(struct sqf_sched *q, u32 i)
{
	q->random = q->random * 1664525 + 1013904223;
	return (struct sf_heap_node) {
		U32_MAX - q->s.table.queues[i].backlog, q->random, i
	};
}

static void sqf_note_longest(struct sqf_sched *q)
{
	u32 bytes = 0;

	if (q->longest.size)
		bytes = U32_MAX - q->longest.node[0].rank;
	WRITE_ONCE(q->longest_bytes, bytes);
}

/* Queue @i has become empty. */
static void sqf_emptied(struct sqf_sched *q, u32 i)
{
	sf_heap_remove(&q->next, i);
	sf_heap_remove(&q->longest, i);
	if (likely(i != SF_ELSEWHERE))
		sf_queue_release(&q->s.table, &q->s.table.queues[i]);
}

/* Queue @i has lost its first packet, or its last. */
static void sqf_shrunk(struct sqf_sched *q, u32 i, const struct sk_buff *skb)
{
	if (unlikely(i == SF_ELSEWHERE))
		sf_elsewhere_del(&q->s.table, sf_cb(skb)->rank);
	if (!q->s.table.queues[i].qlen) {
		sqf_emptied(q, i);
	} else {
		if (q->opt.policy == TC_SQF_POLICY_SQF && i != SF_ELSEWHERE)
			sf_heap_raise(&q->next, sqf_next(q, i));
		else
			sf_heap_lower(&q->next, sqf_next(q, i));
		sf_heap_lower(&q->longest, sqf_longest(q, i));
	}
	sqf_note_longest(q);
}

static __always_inline void sqf_insert(struct Qdisc *sch, struct sk_buff *skb,
				       struct sf_place to)
{
	struct sqf_sched *q = qdisc_priv(sch);
	struct sf_table *t = &q->s.table;
	struct sf_skb_cb *cb = sf_cb(skb);
	struct sf_queue *queue;
	u32 i = SF_ELSEWHERE;

	cb->arrival = q->s.arrivals++;
	cb->truesize = skb->truesize;
	if (likely(to.flow)) {
		i = to.flow->queue;
		if (!i) {
			i = sf_queue_take(t, to.flow);
			if (to.flow->finish < q->round) {
				to.flow->finish = q->round;
				to.flow->attained = 0;
			}
		}
	} else {
		cb->rank = to.set;
		sf_elsewhere_add(t, to.set);
	}
	q->newcomer = i;

	queue = &t->queues[i];
	sf_append(sch, queue, skb);
	if (queue->qlen == 1) {
		sf_heap_add(&q->next, sqf_next(q, i));
		sf_heap_add(&q->longest, sqf_longest(q, i));
	} else {
		if (unlikely(i == SF_ELSEWHERE))
			;
		else if (q->opt.policy == TC_SQF_POLICY_SQF)
			sf_heap_lower(&q->next, sqf_next(q, i));
		else if (q->opt.policy == TC_SQF_POLICY_LQF)
			sf_heap_raise(&q->next, sqf_next(q, i));
		sf_heap_raise(&q->longest, sqf_longest(q, i));
	}
	sqf_note_longest(q);
}

/* Take a packet of the longest queue and count it as dropped; there is one. */
static noinline struct sk_buff *sqf_take_victim(struct Qdisc *sch)
{
	struct sqf_sched *q = qdisc_priv(sch);
	struct sf_queue *queues = q->s.table.queues;
	u32 i = q->longest.node[0].queue;
	struct sk_buff *skb;

	if (q->newcomer && queues[q->newcomer].qlen &&
	    queues[q->newcomer].backlog == queues[i].backlog)
		i = q->newcomer;
	sf_count_drop(&q->s);
	if (q->opt.drop_head)
		skb = sf_take_first(sch, &queues[i]);
	else
		skb = sf_take_last(sch, &queues[i]);
	sqf_shrunk(q, i, skb);
	return skb;
}

static bool sqf_over(struct Qdisc *sch, unsigned int dropped)
{
	return sf_over_limit(qdisc_priv(sch));
}

static const struct sf_kind sqf_kind = {
	.insert		= sqf_insert,
	.take_victim	= sqf_take_victim,
	.over		= sqf_over,
};

static int sqf_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free)
{
	struct sqf_sched *q = qdisc_priv(sch);
	struct sf_place to;

	sf_find(&q->s, skb, jiffies, &to);
	return sf_enqueue(skb, sch, to, to_free, &sqf_kind);
}

static struct sk_buff *sqf_dequeue(struct Qdisc *sch)
{
	struct sqf_sched *q = qdisc_priv(sch);
	u32 quantum = q->opt.quantum, i;
	struct sk_buff *skb;
	struct sf_flow *f;

	if (!q->s.held)
		return NULL;
	i = q->next.node[0].queue;
	skb = sf_take_first(sch, &q->s.table.queues[i]);
	if (likely(i != SF_ELSEWHERE) && q->opt.policy == TC_SQF_POLICY_FQ) {
		f = sqf_flow(q, i);
		q->round = f->finish;
		f->attained += qdisc_pkt_len(skb);
		if (f->attained >= quantum) {
			f->finish += (u32)f->attained / quantum;
			f->attained = (u32)f->attained % quantum;
		}
	}
	sqf_shrunk(q, i, skb);
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void sqf_reset(struct Qdisc *sch)
{
	struct sqf_sched *q = qdisc_priv(sch);
	struct sf_queue *queue;
	u32 i;

	while (q->s.held) {
		i = q->next.node[0].queue;
		queue = &q->s.table.queues[i];
		q->s.held -= queue->qlen;
		queue->qlen = 0;
		queue->backlog = 0;
		rtnl_kfree_skbs(queue->head, queue->tail);
		sqf_emptied(q, i);
	}
	WRITE_ONCE(q->s.memory, 0);
	WRITE_ONCE(q->longest_bytes, 0);
	q->round = 0;
	sf_table_clear(&q->s.table);
}

static const struct nla_policy sqf_policy[TCA_SQF_MAX + 1] = {
	[TCA_SQF_LIMIT ... TCA_SQF_MAX] = { .type = NLA_U32 },
};

#define SQF_RANGE(what, min, max, unit)					\
	.refusal = "sqf: " what __stringify(min) " to " __stringify(max) unit

static const struct sf_option sqf_options[] = {
	{
		.attr	= TCA_SQF_LIMIT,
		.field	= offsetof(struct sqf_options, limit),
		.min	= TC_SQF_LIMIT_MIN,
		.max	= TC_SQF_LIMIT_MAX,
		SQF_RANGE("limit must be ", TC_SQF_LIMIT_MIN, TC_SQF_LIMIT_MAX, " packets")
	}, {
		.attr	= TCA_SQF_MEMORY_LIMIT,
		.field	= offsetof(struct sqf_options, memory_limit),
		.min	= TC_SQF_MEMORY_MIN,
		.max	= TC_SQF_MEMORY_MAX,
		SQF_RANGE("memory_limit must be ", TC_SQF_MEMORY_MIN, TC_SQF_MEMORY_MAX,
			  " bytes")
	}, {
		.attr	= TCA_SQF_FLOWS,
		.field	= offsetof(struct sqf_options, flows),
		.min	= TC_SQF_FLOWS_MIN,
		.max	= TC_SQF_FLOWS_MAX,
		.power	= true,
		SQF_RANGE("flows must be a power of two, ", TC_SQF_FLOWS_MIN,
			  TC_SQF_FLOWS_MAX, "")
	}, {
		.attr	= TCA_SQF_IDLE,
		.field	= offsetof(struct sqf_options, idle),
		.min	= TC_SQF_IDLE_MIN,
		.max	= TC_SQF_IDLE_MAX,
		SQF_RANGE("idle must be ", TC_SQF_IDLE_MIN, TC_SQF_IDLE_MAX, " ms")
	}, {
		.attr	= TCA_SQF_POLICY,
		.field	= offsetof(struct sqf_options, policy),
		.max	= TC_SQF_POLICY_MAX,
		.refusal = "sqf: policy must be 0 (sqf), 1 (lqf) or 2 (fq)"
	}, {
		.attr	= TCA_SQF_QUANTUM,
		.field	= offsetof(struct sqf_options, quantum),
		.min	= TC_SQF_QUANTUM_MIN,
		.max	= TC_SQF_QUANTUM_MAX,
		SQF_RANGE("quantum must be ", TC_SQF_QUANTUM_MIN, TC_SQF_QUANTUM_MAX, " bytes")
	}, {
		.attr	= TCA_SQF_DROP_HEAD,
		.field	= offsetof(struct sqf_options, drop_head),
		.max	= 1,
		.refusal = "sqf: drop_head must be 0 or 1"
	}, {
		.attr	= TCA_SQF_SPLIT_GSO,
		.field	= offsetof(struct sqf_options, split_gso),
		.max	= 1,
		.refusal = "sqf: split_gso must be 0 or 1"
	},
};

/* Check all of @nla into @opt, which holds what is to be kept. */
static int sqf_parse(struct nlattr *nla, struct sqf_options *opt,
		     struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_SQF_MAX + 1];
	int err;

	err = nla_parse_nested(tb, TCA_SQF_MAX, nla, sqf_policy, extack);
	if (err)
		return err;
	return sf_options_parse(sqf_options, ARRAY_SIZE(sqf_options), tb, opt,
				extack);
}

static void sqf_apply_options(struct sqf_sched *q, struct sqf_options *opt)
{
	sf_options_apply(sqf_options, ARRAY_SIZE(sqf_options), &q->opt, opt);
	q->s.limit = opt->limit;
	q->s.memory_limit = opt->memory_limit;
	q->s.split_gso = opt->split_gso;
	q->s.table.idle = msecs_to_jiffies(opt->idle);
}

/* The policy has changed: the queues are the same, their order is not. */
static void sqf_sort_again(struct sqf_sched *q)
{
	u32 i;

	q->next.size = 0;
	for (i = 0; i < q->longest.size; i++)
		sf_heap_add(&q->next, sqf_next(q, q->longest.node[i].queue));
}

static int sqf_change(struct Qdisc *sch, struct nlattr *nla,
		      struct netlink_ext_ack *extack)
{
	struct sqf_sched *q = qdisc_priv(sch);
	struct sqf_options opt = q->opt;
	u32 policy = opt.policy;
	int err;

	err = sqf_parse(nla, &opt, extack);
	if (err)
		return err;
	if (opt.flows != q->opt.flows) {
		NL_SET_ERR_MSG(extack,
			       "sqf: flows is fixed once the qdisc exists: delete it and add it anew");
		return -EOPNOTSUPP;
	}

	sch_tree_lock(sch);
	sqf_apply_options(q, &opt);
	if (opt.policy != policy)
		sqf_sort_again(q);
	q->newcomer = 0;
	sf_trim(sch, &sqf_kind);
	sch_tree_unlock(sch);
	return 0;
}

static int sqf_init(struct Qdisc *sch, struct nlattr *nla,
		    struct netlink_ext_ack *extack)
{
	struct sqf_sched *q = qdisc_priv(sch);
	struct sqf_options opt = {
		.limit		= SQF_DEFAULT_LIMIT,
		.memory_limit	= SQF_DEFAULT_MEMORY,
		.flows		= SQF_DEFAULT_FLOWS,
		.idle		= SQF_DEFAULT_IDLE,
		.policy		= TC_SQF_POLICY_SQF,
		.quantum	= SQF_DEFAULT_QUANTUM,
		.split_gso	= 1,
	};
	u32 queues;
	int err;

	if (nla) {
		err = sqf_parse(nla, &opt, extack);
		if (err)
			return err;
	}
	sqf_apply_options(q, &opt);
	get_random_bytes(&q->random, sizeof(q->random));
	/* On failure the core calls sqf_destroy(), if not sqf_reset() too */
	queues = sf_table_queues(opt.flows);
	return sf_table_init(&q->s.table, opt.flows) ?:
	       sf_heap_init(&q->next, queues) ?:
	       sf_heap_init(&q->longest, queues);
}

static void sqf_destroy(struct Qdisc *sch)
{
	struct sqf_sched *q = qdisc_priv(sch);

	sf_heap_free(&q->longest);
	sf_heap_free(&q->next);
	sf_table_free(&q->s.table);
}

static int sqf_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct sqf_sched *q = qdisc_priv(sch);

	return sf_options_dump(sqf_options, ARRAY_SIZE(sqf_options), &q->opt,
			       skb);
}

static int sqf_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct sqf_sched *q = qdisc_priv(sch);
	struct tc_sqf_xstats st = {
		.type		= TC_SQF_XSTATS_QDISC,
		.memory		= READ_ONCE(q->s.memory),
		.drop_limit	= READ_ONCE(q->s.drop_limit),
		.drop_memory	= READ_ONCE(q->s.drop_memory),
		.flows_seen	= READ_ONCE(q->s.table.assigned),
		.evictions	= READ_ONCE(q->s.table.evictions),
		.overflow	= READ_ONCE(q->s.overflow),
		.gso_split	= READ_ONCE(q->s.gso_split),
		.flows_queued	= sf_table_queued(&q->s.table) +
				  !!READ_ONCE(q->s.table.elsewhere),
		.records	= READ_ONCE(q->s.table.used),
		.memory_peak	= READ_ONCE(q->s.memory_peak),
		.longest	= READ_ONCE(q->longest_bytes),
	};

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
	.id		=	"sqf",
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
MODULE_ALIAS_NET_SCH("sqf");

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
