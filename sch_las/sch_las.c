// SPDX-License-Identifier: GPL-2.0
/*
 * sch_las - Least Attained Service
 *
 * I. A. Rai, E. W. Biersack, G. Urvoy-Keller: Size-based Scheduling to Improve
 * the Performance of Short TCP Flows, 2004, sections 2.2 and 7.
 *
 * The next packet is from the flow that has received least service so far. So a
 * short flow, which never receives much, passes by the long ones, and nobody has
 * to know beforehand how long a flow will be.
 *
 * A packet's rank is the number of bytes its flow has attained when it arrives,
 * those still waiting included; packets of equal rank go by arrival. When the
 * queue is full, the newcomer is put in its place and then the packet at the end
 * of the order is dropped, which gives its bytes back to its flow: only what is
 * served counts.
 *
 * Within a flow ranks grow with arrival, so its packets stay in order and only
 * its first can be the next to go, only its last the next to be dropped. It is
 * flows that are sorted, not packets: by their first packet in an rbtree, and by
 * their last, if they have more than one, in a heap (flow_heap.h). A flow that had
 * no packets and gets one of rank 0 is in a list instead of the tree: until that
 * packet is served, it goes by arrival.
 *
 *	fresh: flow A: [0]  flow B: [0][1500]  flow C: [0]
 *
 *	heads: flow D: [3000]				next out
 *	       flow E: [90000] ... [97500]
 *
 *	tails: flow E: [90000] ... [97500]		next dropped
 *	       flow B: [0][1500]
 *
 * The records of the flows, with packets or without, and the queues of those with
 * packets are in a table of fixed size (flow_table.h). A packet for which it has no
 * room joins the overflow queue, which ranks behind all flows and goes by arrival.
 *
 * Two additions keep old flows from starving; `plain` is without them, and without
 * the next.
 *
 * - fair: flows that have attained more than this are not told apart any more.
 *   They rank behind all others and share what those leave fairly, by start-time
 *   fair queueing (Goyal, Vin, Cheng 1996): a packet's rank is the later of the
 *   virtual time, which is the rank of the one served last, and the end of the
 *   flow's previous packet. So the order and the drops remain those of one
 *   queue, and drops hit the longest of the long flows.
 *
 *	rank: 0 ........ attained ........ 2^62 ... virtual time ... overflow
 *	      short flows, least first          long flows, in turn
 *
 * - forgive: what a flow has attained leaks at this rate while it has no packets
 *   here, or if that is more, at a share of the link's. A call or a VPN stays near
 *   0 however long it lasts, and what has been a bulk transfer is a short flow
 *   again soon after. A transfer that takes what it gets has always packets here.
 *
 * The limits are what 10 Gbit/s need. On slower links `buffer` bounds what waits to
 * what the link sends in that time (link_rate.h).
 *
 * LAS-log(K), section 6: flows of the priority class (X:2, chosen by a tc filter
 * or by skb->priority) rank by (log2 x)^(1/K) instead of x. See las_log.h.
 *
 * All of this is under the root qdisc's lock; sched.h says what a dump reads without. No
 * packet may bypass the queue (TCQ_F_CAN_BYPASS): it would not be attained.
 */

/* The name, as tc, modprobe and what is refused tell it */
#define SF_KIND "las"

#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/rbtree.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>
#include <shortfirst/compat.h>
#include <shortfirst/filter.h>
#include <shortfirst/flow_heap.h>
#include <shortfirst/link_rate.h>
#include <shortfirst/sched.h>
#include "las_log.h"
#include "pkt_las.h"

#define LAS_ROOM_MIN		(64 << 10)	/* bytes */

/*
 * A long flow attains no more than this beyond fair, so that it comes back soon,
 * and no less, so that one faster than forgive does not change sides each time
 * its queue is empty.
 */
#define LAS_FAIR_MARGIN		(64 << 10)	/* bytes */

#define LAS_LEAK_SHIFT		16

/*
 * Ranks from here on are virtual time, whatever fair is or was. LAS_RANK_OVERFLOW
 * is the overflow queue's; what is added tells the set of the table.
 */
#define LAS_RANK_LONG		BIT_ULL(62)
#define LAS_RANK_OVERFLOW	(U64_MAX - TC_LAS_FLOWS_MAX)

struct las_sched {
	struct sf_sched	s;
	/* Queues are in the list of the table if their first packet is fresh, */
	struct rb_root_cached heads;	/* else here: first packet, lowest first */
	struct sf_heap	tails;		/* and if they have had two packets here too:
					 * last packet, highest first
					 */
	u64		fair_from;	/* what a long flow has attained */
	u64		virtual_time;	/* from LAS_RANK_LONG on */
	u64		leak;		/* bytes per jiffy << LAS_LEAK_SHIFT */
	u64		leak_min;
	u32		share;		/* of the link's rate << LAS_LEAK_SHIFT */
	u32		log_factor;
	u32		opt[TCA_LAS_MAX + 1];	/* by attribute */
};

static_assert(SF_CLASS_2 == (u32)TC_LAS_CLASS_PRIORITY);
static_assert(SF_CLASS_FLOWS == (u32)TC_LAS_CLASS_FLOWS);

static bool las_before(const struct sk_buff *a, const struct sk_buff *b)
{
	const struct sf_skb_cb *x = sf_cb(a), *y = sf_cb(b);

	return sf_before(x->rank, x->arrival, y->rank, y->arrival);
}

/* For a packet of the overflow queue: the set that had no record for it */
static u32 las_overflow_set(const struct sk_buff *skb)
{
	return sf_cb(skb)->rank - LAS_RANK_OVERFLOW;
}

static struct sf_queue *las_queue_of(const struct rb_node *node)
{
	return rb_entry(node, struct sf_queue, node);
}

static bool las_head_less(struct rb_node *a, const struct rb_node *b)
{
	const struct sf_queue *x = las_queue_of(a), *y = las_queue_of(b);

	/* sf_before() would read both packets to compare the ranks of queues */
	if (x->rank != y->rank)
		return x->rank < y->rank;
	return sf_earlier(x->head, y->head);
}

static void las_sort_in(struct las_sched *q, struct sf_queue *queue)
{
	queue->rank = sf_cb(queue->head)->rank;
	rb_add_cached(&queue->node, &q->heads, las_head_less);
}

/* The queue's first packet has changed: later than before, never earlier. */
static void las_sort_again(struct las_sched *q, struct sf_queue *queue)
{
	struct rb_node *next = rb_next(&queue->node);

	queue->rank = sf_cb(queue->head)->rank;
	if (!next || las_head_less(&queue->node, next))
		return;
	rb_erase_cached(&queue->node, &q->heads);
	rb_add_cached(&queue->node, &q->heads, las_head_less);
}

/* What a queue is in the heap of tails: the root is to be the highest. */
static struct sf_heap_node las_tail(const struct las_sched *q, u32 i)
{
	const struct sf_skb_cb *cb = sf_cb(q->s.table.queues[i].tail);

	return (struct sf_heap_node) { ~cb->rank, ~cb->arrival, i };
}

/* The queue with the first packet of the order; there is one. */
static __always_inline struct sf_queue *las_first(const struct las_sched *q)
{
	const struct rb_node *node = rb_first_cached(&q->heads);
	struct sf_queue *queues = q->s.table.queues, *sorted;
	u32 fresh = queues[SF_LIST].link[0].next;

	if (!node)
		return &queues[fresh];
	sorted = las_queue_of(node);
	if (fresh != SF_LIST && las_before(queues[fresh].head, sorted->head))
		return &queues[fresh];
	return sorted;
}

/*
 * The queue with the last one; there is one. It is that with the last of the last
 * packets, if it has more than one, else with the last of the first packets.
 */
static struct sf_queue *las_last(const struct las_sched *q)
{
	const struct rb_node *node = rb_last(&q->heads.rb_root);
	struct sf_queue *queues = q->s.table.queues, *last = NULL, *other;

	if (q->tails.size)
		last = &queues[q->tails.node[0].queue];
	if (node) {
		other = las_queue_of(node);
		if (!last || las_before(last->tail, other->tail))
			last = other;
	}
	if (queues[SF_LIST].link[0].prev != SF_LIST) {
		other = &queues[queues[SF_LIST].link[0].prev];
		if (!last || las_before(last->tail, other->tail))
			last = other;
	}
	return last;
}

/* Nothing is known of the link. While nothing ever waits for long, all is forgiven. */
static void las_forget_link(struct las_sched *q)
{
	q->leak = q->share ? U64_MAX : q->leak_min;
	sf_link_forget(&q->s.link);
}

/* A packet of @len bytes is on its way. */
static void las_sent(struct las_sched *q, u32 len)
{
	u32 elapsed = sf_link_sent(&q->s.link, len);

	if (elapsed)
		q->leak = max(q->leak_min,
			      div_u64(q->s.link.measured * q->share, elapsed));
}

static noinline void las_leave_heap(struct las_sched *q, struct sf_queue *queue)
{
	queue->heaped = false;
	sf_heap_remove(&q->tails, queue - q->s.table.queues);
}

/* The queue has become empty. */
static __always_inline void las_emptied(struct las_sched *q,
					struct sf_queue *queue)
{
	if (queue->listed)
		sf_list_del(&q->s.table, queue);
	else
		rb_erase_cached(&queue->node, &q->heads);
	if (queue->heaped)
		las_leave_heap(q, queue);
	if (likely(!sf_is_elsewhere(queue)))
		sf_queue_release(&q->s.table, queue);
}

/* Take the first packet of the order off the queue; there is one. */
static __always_inline struct sk_buff *las_take_first(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sf_queue *queue = las_first(q);
	struct sk_buff *skb = sf_take_first(sch, queue);

	if (unlikely(sf_is_elsewhere(queue)))
		sf_elsewhere_del(&q->s.table, las_overflow_set(skb));
	else if (sf_cb(skb)->rank >= LAS_RANK_LONG)
		q->virtual_time = sf_cb(skb)->rank;
	if (!queue->qlen) {
		las_emptied(q, queue);
	} else if (queue->listed) {
		sf_list_del(&q->s.table, queue);
		las_sort_in(q, queue);
	} else {
		las_sort_again(q, queue);
	}
	return skb;
}

/* Take the last one, for which there is no room, and count it as dropped. */
static noinline struct sk_buff *las_take_last(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sf_queue *queue = las_last(q);
	struct sk_buff *skb;
	struct sf_flow *f;
	u64 rank;

	sf_count_drop(&q->s);
	skb = sf_take_last(sch, queue);
	rank = sf_cb(skb)->rank;
	if (unlikely(sf_is_elsewhere(queue))) {
		sf_elsewhere_del(&q->s.table, las_overflow_set(skb));
	} else {
		f = &q->s.table.flows[queue->flow];
		if (rank < LAS_RANK_LONG)
			f->attained -= min_t(u64, f->attained, qdisc_pkt_len(skb));
		else if (!queue->qlen || sf_cb(queue->tail)->rank < rank)
			/* What it attains is capped: nothing is given back. */
			f->finish = rank;
	}
	if (!queue->qlen)
		las_emptied(q, queue);
	else
		sf_heap_lower(&q->tails,
			      las_tail(q, queue - q->s.table.queues));
	sf_set_drop_reason(skb, SF_DROP_OVERLIMIT);
	return skb;
}

/* The flow of @skb, forgiven what it is to be forgiven */
static __always_inline void las_find_flow(struct las_sched *q,
					  const struct sk_buff *skb,
					  struct sf_place *to)
{
	u32 now = jiffies;
	u8 flags = sf_find(&q->s, skb, now, to);
	struct sf_flow *f = to->flow;
	u64 leak;

	if (likely(f) && !f->queue) {
		leak = mul_u64_u32_shr(q->leak, now - f->seen,
				       LAS_LEAK_SHIFT);
		f->attained -= min(f->attained, leak);
		/* A port used again soon: the new flow does not inherit. */
		if (flags & SF_TCP_SYN)
			f->attained = 0;
		f->seen = now;
	}
}

/* The rank of a packet of @len bytes, which are counted as attained */
static __always_inline u64 las_rank(struct las_sched *q, struct sf_flow *f,
				    u32 queue, int class, u32 len)
{
	u64 rank = f->attained, last = 0;

	if (queue)
		last = sf_cb(q->s.table.queues[queue].tail)->rank;
	f->attained += len;
	if (class == TC_LAS_CLASS_PRIORITY) {
		/* Never among the long flows, which go by virtual time */
		rank = min(las_log_rank(rank, q->log_factor), LAS_RANK_LONG - 1);
	} else if (rank >= q->fair_from || last >= LAS_RANK_LONG) {
		f->attained = min(f->attained, q->fair_from + LAS_FAIR_MARGIN);
		rank = max(q->virtual_time, f->finish);
		f->finish = rank + len;
	}
	/* Drops, or a change of options, must not put it before the others. */
	return max(rank, last);
}

/* Put a packet in its place. */
static __always_inline bool las_insert(struct Qdisc *sch, struct sk_buff *skb,
				       struct sf_place *to)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sf_table *t = &q->s.table;
	struct sf_skb_cb *cb = sf_cb(skb);
	struct sf_queue *queue;
	u32 i = SF_ELSEWHERE, set;

	cb->arrival = q->s.arrivals++;
	cb->truesize = skb->truesize;
	if (likely(to->flow)) {
		i = to->flow->queue;
		cb->rank = las_rank(q, to->flow, i, to->class, qdisc_pkt_len(skb));
		if (!i)
			i = sf_queue_take(t, to->flow);
	} else {
		set = sf_table_set(t, to->hash);
		cb->rank = LAS_RANK_OVERFLOW + set;
		sf_elsewhere_add(t, set);
	}

	queue = &t->queues[i];
	sf_append(sch, queue, skb);
	if (queue->qlen == 1) {
		if (!cb->rank)
			sf_list_add_tail(t, i);
		else
			las_sort_in(q, queue);
	} else if (queue->heaped) {
		sf_heap_raise(&q->tails, las_tail(q, i));
	} else {
		queue->heaped = true;
		sf_heap_add(&q->tails, las_tail(q, i));
	}
	if (q->s.held == 1)
		sf_link_forget(&q->s.link);
	return true;
}

static const struct sf_kind las_kind = {
	.insert		= las_insert,
	.take_victim	= las_take_last,
	.over		= sf_over_buffer,
};

static int las_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sf_place to;

	to.class = sf_class(skb, sch);
	if (unlikely(to.class < 0))
		return sf_filtered(skb, sch, to_free, to.class);
	las_find_flow(q, skb, &to);
	return sf_enqueue(skb, sch, &to, to_free, &las_kind);
}

static struct sk_buff *las_dequeue(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;

	if (!q->s.held)
		return NULL;
	skb = las_take_first(sch);
	las_sent(q, qdisc_pkt_len(skb));
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void las_reset(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sf_queue *queue;

	while (q->s.held) {
		queue = las_first(q);
		q->s.held -= queue->qlen;
		queue->qlen = 0;
		queue->backlog = 0;
		rtnl_kfree_skbs(queue->head, queue->tail);
		las_emptied(q, queue);
	}
	q->s.memory = 0;
	las_forget_link(q);
	sf_table_clear(&q->s.table);
}

static const struct sf_option las_rows[] = {
	SF_LIMIT(LAS, 10000),
	SF_MEMORY_LIMIT(LAS),
	SF_FLOWS(LAS),
	SF_IDLE(LAS),
	SF_SPLIT_GSO(LAS),
	{
		SF_OPTION(LAS, FAIR, 256 << 10),
		SF_ZERO_OR("fair", TC_LAS_FAIR_MIN, TC_LAS_FAIR_MAX, " bytes")
	}, {
		SF_OPTION(LAS, FORGIVE, 32000),
		SF_RANGE("forgive", 0, TC_LAS_FORGIVE_MAX, " bytes per second")
	}, {
		SF_OPTION(LAS, LOG, 500),
		SF_OTHER(TC_LAS_LOG_MIN, TC_LAS_LOG_MAX, "log must be 0.25 to 4")
	}, {
		SF_OPTION(LAS, BUFFER, 500),
		SF_ZERO_OR("buffer", TC_LAS_BUFFER_MIN, TC_LAS_BUFFER_MAX, " ms")
	}, {
		SF_OPTION(LAS, FORGIVE_SHARE, 25),
		SF_RANGE("forgive_share", 0, TC_LAS_FORGIVE_SHARE_MAX, " percent")
	}
};

static const struct sf_options las_options = SF_OPTIONS(LAS, las);

static void las_apply_options(struct las_sched *q, const u32 *opt)
{
	sf_options_apply(&las_options, q->opt, opt);
	sf_set_options(&q->s, opt[TCA_LAS_LIMIT], opt[TCA_LAS_MEMORY_LIMIT],
		       opt[TCA_LAS_IDLE], opt[TCA_LAS_SPLIT_GSO]);
	q->fair_from = opt[TCA_LAS_FAIR] ?: LAS_RANK_LONG;
	q->log_factor = las_log_factor(opt[TCA_LAS_LOG]);
	q->leak_min = div_u64((u64)opt[TCA_LAS_FORGIVE] << LAS_LEAK_SHIFT, HZ);
	q->share = (opt[TCA_LAS_FORGIVE_SHARE] << LAS_LEAK_SHIFT) / 100;
	q->s.link.buffer = msecs_to_jiffies(opt[TCA_LAS_BUFFER]);
	q->s.link.least = LAS_ROOM_MIN;
	las_forget_link(q);
}

static int las_change(struct Qdisc *sch, struct nlattr *nla,
		      struct netlink_ext_ack *extack)
{
	struct las_sched *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_LAS_MAX + 1];
	u32 opt[TCA_LAS_MAX + 1];
	int err;

	err = sf_options_parse(&las_options, nla, tb, q->opt, opt, extack);
	if (err)
		return err;

	sch_tree_lock(sch);
	las_apply_options(q, opt);
	sf_trim(sch, &las_kind);
	sch_tree_unlock(sch);
	return 0;
}

static int las_init(struct Qdisc *sch, struct nlattr *nla,
		    struct netlink_ext_ack *extack)
{
	struct las_sched *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_LAS_MAX + 1];
	u32 opt[TCA_LAS_MAX + 1];
	u32 queues;
	int err;

	q->virtual_time = LAS_RANK_LONG;
	q->s.victim = SF_NO_FLOW;
	err = sf_options_parse(&las_options, nla, tb, NULL, opt, extack);
	if (err)
		return err;
	las_apply_options(q, opt);
	err = sf_filters_init(sch, extack);
	if (err)
		return err;
	/* On failure the core calls las_destroy(), if not las_reset() too */
	queues = sf_table_queues(opt[TCA_LAS_FLOWS]);
	return sf_table_init(&q->s.table, opt[TCA_LAS_FLOWS], queues) ?:
	       sf_heap_init(&q->tails, queues);
}

static void las_destroy(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);

	tcf_block_put(q->s.block);
	sf_heap_free(&q->tails);
	sf_table_free(&q->s.table);
}

static int las_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct las_sched *q = qdisc_priv(sch);

	return sf_options_dump(&las_options, q->opt, skb);
}

static int las_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct las_sched *q = qdisc_priv(sch);
	struct tc_las_xstats st;

	sch_tree_lock(sch);
	st = (struct tc_las_xstats) {
		.type		= TC_LAS_XSTATS_QDISC,
		.drop_limit	= q->s.drop_limit,
		.drop_memory	= q->s.drop_memory,
		.drop_buffer	= q->s.drop_buffer,
		.flows_seen	= q->s.table.assigned,
		.evictions	= q->s.table.evictions,
		.overflow	= q->s.overflow,
		.gso_split	= q->s.gso_split,
		.flows_queued	= sf_table_queued(&q->s.table) +
				  !!q->s.table.elsewhere,
		.records	= q->s.table.used,
		.memory		= q->s.memory,
		.memory_peak	= q->s.memory_peak,
		.room		= sf_link_room(&q->s.link),
	};
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static int las_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				struct gnet_dump *d)
{
	struct tc_las_flow_xstats st = { .type = TC_LAS_XSTATS_FLOW };
	struct gnet_stats_queue qs;

	st.attained = sf_class_queue(sch, cl, &qs);
	if (gnet_stats_copy_queue(d, NULL, &qs, qs.qlen) < 0)
		return -1;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static const struct Qdisc_class_ops las_class_ops = {
	.leaf		=	sf_class_leaf,
	.find		=	sf_class_find,
	.tcf_block	=	sf_tcf_block,
	.bind_tcf	=	sf_class_bind,
	.unbind_tcf	=	sf_class_unbind,
	.dump		=	sf_class_dump,
	.dump_stats	=	las_dump_class_stats,
	.walk		=	sf_class_walk,
};

static struct Qdisc_ops las_qdisc_ops __read_mostly = {
	.cl_ops		=	&las_class_ops,
	.id		=	SF_KIND,
	.priv_size	=	sizeof(struct las_sched),
	.enqueue	=	las_enqueue,
	.dequeue	=	las_dequeue,
	.peek		=	qdisc_peek_dequeued,
	.init		=	las_init,
	.reset		=	las_reset,
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
