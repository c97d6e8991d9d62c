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
 * `plain` is that: a packet's rank is the number of bytes its flow has attained when it
 * arrives, those still waiting included, and packets of equal rank go by arrival. When the
 * queue is full, the newcomer is put in its place and then the packet at the end of the
 * order is dropped, which gives its bytes back to its flow: only what is served counts.
 * All that is needed of it is kept of flows, not of packets: the rank of a flow's first
 * packet is what the flow has attained less what waits.
 *
 * Flows may be many and last for years, and not all of them mean well. So those with
 * packets are in three groups:
 *
 *	new	flow A: [ ]  flow B: [ ][ ]  flow C: [ ]	by arrival: a list
 *
 *	short	flow D: [ ][ ]		  rank 3750		by rank: an rbtree
 *		flow E: [ ][ ]...[ ]	  rank 97500
 *
 *	long	flow F: [ ][ ]...[ ]				in turn: a list
 *		all that have no record: [ ]...[ ]
 *
 * - A newcomer has had nothing served yet. Newcomers go first, but while there are any, the
 *   short flows are owed `known_share` of the bytes (bands.h), and there are no more than
 *   `newcomers` of them: what is one too many is dropped and not remembered. Ever new
 *   tuples are the cheapest of attacks: they hurt newcomers only.
 * - A short flow's rank is its visible size: what waits, and a part of what it has
 *   attained. Who has little left to send goes first, as far as that can be seen.
 * - A long flow has attained more than `fair`. Long flows are served in turn, `quantum`
 *   bytes each, after all others, but they are owed `long_share` of the bytes. What they
 *   have had beyond it counts for LAS_DEBT, so that what is owed costs the short flows
 *   nothing as long as the long ones fare well. While there are none, the last of the
 *   short flows is owed it, once it has waited for LAS_OVERDUE. A long flow's own queue
 *   is held short by CoDel (codel.h). Short flows are left alone: a drop would cost them
 *   a timeout.
 *
 * What a flow has attained leaks, but never what waits: `forgive` in any case, or a share
 * of the link divided among the flows with packets that have attained LAS_HEAVY, if that
 * is more. So a call or a VPN stays a short flow however long it lasts, and what has been
 * a bulk transfer is one again soon after. Those between which it is divided are forgiven
 * no more than this share together, or `forgive` each. Any other flow is forgiven as much
 * as one of them, so what all flows are forgiven has no bound.
 *
 * A full buffer takes from the longest queue of a long flow (a heap, flow_heap.h) if long
 * flows have more than their share waiting, else as las_victim() says. The records of the
 * flows, with packets or without, and the queues of those with packets are in a table of
 * fixed size (flow_table.h). What finds no room in it waits in one queue, that of a long
 * flow.
 *
 * The limits are what 10 Gbit/s need. On slower links `buffer` bounds what waits to
 * what the link sends in that time (link_rate.h).
 *
 * LAS-log(K), section 6: flows of the priority class (X:2, chosen by a tc filter
 * or by skb->priority) rank by (log2 x)^(1/K) instead of x. See las_log.h. They are never
 * long.
 *
 * All of this is under the root qdisc's lock; sched.h says what a dump reads without. No
 * packet may bypass the queue (TCQ_F_CAN_BYPASS): it would not be attained.
 */

/* The name, as tc, modprobe and what is refused tell it */
#define SF_KIND "las"

#include <linux/bits.h>
#include <linux/if_ether.h>
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
#include <net/codel.h>
#include <net/codel_impl.h>
#include <shortfirst/bands.h>
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

/* So much of what a flow has attained is a part of its visible size. */
#define LAS_PART		4

/* A flow that has attained so much is one of those between which forgiving is divided. */
#define LAS_HEAVY		(32 << 10)	/* bytes */

/* For so long short flows may keep long ones waiting that have had their part before. */
#define LAS_DEBT		(HZ / 5)

/*
 * While no long flow has packets, each time a full packet is owed, in hundredths of bytes,
 * it is a short flow's that has waited for so long.
 */
#define LAS_OWED		(100 * ETH_FRAME_LEN)
#define LAS_OVERDUE		MS2TIME(500)

/* A SYN begins a new flow if nothing of the old one was seen for so long. */
#define LAS_SILENCE		HZ

/* What a long flow has sent beyond its turn counts up to so many quanta. */
#define LAS_TURNS		64

/* Which of the orders a queue is in */
enum {
	LAS_NONE,		/* it is nobody's */
	LAS_NEW,		/* nothing of the flow was served yet: by arrival */
	LAS_SHORT,		/* by rank */
	LAS_LONG,		/* in turn */
	LAS_GROUPS,
};

struct las_sched {
	struct sf_sched	s;
	struct rb_root_cached ranked;	/* the queues of known short flows */
	struct sf_heap	losers;		/* of the queues that have had two packets: who
					 * is to lose one
					 */
	struct sf_flow	overflow;	/* whose queue SF_ELSEWHERE is */
	struct sf_guarantee known;	/* of those whose first packet has left */
	u32		long_share;	/* percent of the bytes that are the long ones' */
	s64		credit;		/* what they have not had of it, in hundredths */
	s64		debt_max;	/* or have had beyond it */
	u32		waiting[LAS_GROUPS];	/* bytes, wrapping as backlog does */
	struct codel_params codel;
	struct codel_stats codel_stats;
	u64		fair_from;	/* what a long flow has attained */
	u64		leak;		/* bytes per jiffy << LAS_LEAK_SHIFT, for all */
	u64		leak_min;	/* for each */
	u64		drop_new;
	u32		share;		/* of the link's rate << LAS_LEAK_SHIFT */
	u32		heavy;		/* flows with packets that have attained much */
	u32		newcomers;	/* flows with packets of which none was served */
	u32		newcomers_max;
	u32		longs;		/* queues of long flows */
	u32		log_factor;
	bool		visible;
	u32		opt[TCA_LAS_MAX + 1];	/* by attribute */
};

static_assert(SF_CLASS_2 == (u32)TC_LAS_CLASS_PRIORITY);
static_assert(SF_CLASS_FLOWS == (u32)TC_LAS_CLASS_FLOWS);

static u32 las_number(const struct las_sched *q, const struct sf_queue *queue)
{
	return queue - q->s.table.queues;
}

static struct sf_flow *las_flow(struct las_sched *q, const struct sf_queue *queue)
{
	return sf_is_elsewhere(queue) ? &q->overflow : &q->s.table.flows[queue->flow];
}

/*
 * By its rank a short flow goes: by what it has attained of service, or by its visible
 * size, which is what waits and a part of what it has attained.
 */
static u64 las_rank(const struct las_sched *q, const struct sf_flow *f,
		    const struct sf_queue *queue)
{
	u64 served = f->attained - min_t(u64, f->attained, queue->backlog);
	u64 rank = q->visible ? queue->backlog + f->attained / LAS_PART : served;

	return f->priority ? las_log_rank(rank, q->log_factor) : rank;
}

/* The set that had no record for a packet that waits elsewhere */
static u32 las_overflow_set(const struct sk_buff *skb)
{
	return sf_cb(skb)->rank;
}

static struct sf_queue *las_queue_of(const struct rb_node *node)
{
	return rb_entry(node, struct sf_queue, node);
}

static bool las_less(struct rb_node *a, const struct rb_node *b)
{
	const struct sf_queue *x = las_queue_of(a), *y = las_queue_of(b);

	if (x->rank != y->rank)
		return x->rank < y->rank;
	return sf_earlier(x->head, y->head);
}

/* The first of a list, or what has no packets if it is empty */
static struct sf_queue *las_first_of(const struct las_sched *q, u32 list)
{
	return &q->s.table.queues[q->s.table.queues[list].link[0].next];
}

/* The last of a list, NULL if it is empty */
static struct sf_queue *las_end_of(const struct las_sched *q, u32 list)
{
	u32 last = q->s.table.queues[list].link[0].prev;

	return last == list ? NULL : &q->s.table.queues[last];
}

static void las_enter(struct las_sched *q, struct sf_queue *queue, u8 group)
{
	struct sf_flow *f = las_flow(q, queue);

	queue->group = group;
	q->waiting[group] += queue->backlog;
	switch (group) {
	case LAS_NEW:
		q->newcomers++;
		sf_list_add_tail(&q->s.table, SF_LIST, las_number(q, queue));
		break;
	case LAS_SHORT:
		queue->rank = las_rank(q, f, queue);
		rb_add_cached(&queue->node, &q->ranked, las_less);
		break;
	case LAS_LONG:
		q->longs++;
		codel_vars_init(&queue->codel);
		/* What it has sent beyond its turn is not forgotten. */
		f->deficit = min(f->deficit, 0) + (s32)q->opt[TCA_LAS_QUANTUM];
		sf_list_add_tail(&q->s.table, SF_LONG, las_number(q, queue));
		break;
	}
}

static void las_leave(struct las_sched *q, struct sf_queue *queue)
{
	q->waiting[queue->group] -= queue->backlog;
	switch (queue->group) {
	case LAS_NEW:
		q->newcomers--;
		sf_list_del(&q->s.table, queue);
		break;
	case LAS_LONG:
		q->longs--;
		sf_list_del(&q->s.table, queue);
		break;
	case LAS_SHORT:
		rb_erase_cached(&queue->node, &q->ranked);
		break;
	}
	queue->group = LAS_NONE;
}

/* Which order a queue with packets belongs to */
static __always_inline u8 las_group(const struct las_sched *q, const struct sf_queue *queue,
				    const struct sf_flow *f)
{
	if (unlikely(sf_is_elsewhere(queue)))
		return LAS_LONG;
	if (!f->known)
		return LAS_NEW;
	return f->attained >= q->fair_from && !f->priority ? LAS_LONG : LAS_SHORT;
}

/* As published: the rank of a queue's last packet is what its flow had attained then. */
static u64 las_tail_rank(struct las_sched *q, const struct sf_queue *queue)
{
	const struct sf_flow *f = las_flow(q, queue);
	u64 before = f->attained - min_t(u64, f->attained, qdisc_pkt_len(queue->tail));

	return f->priority ? las_log_rank(before, q->log_factor) : before;
}

/*
 * What a queue is in the heap of losers, whose root is the first to lose a packet: of the
 * long flows the longest queue; then as published the last of the order, or by visible
 * size the longest queue.
 */
static struct sf_heap_node las_loser(struct las_sched *q, const struct sf_queue *queue)
{
	u64 rank = U32_MAX - queue->backlog;

	if (queue->group != LAS_LONG)
		rank = q->visible ? rank | BIT_ULL(32) : ~las_tail_rank(q, queue);
	return (struct sf_heap_node) { rank, ~sf_cb(queue->tail)->arrival,
				       las_number(q, queue) };
}

static void las_loser_moved(struct las_sched *q, const struct sf_queue *queue)
{
	struct sf_heap_node node = las_loser(q, queue);

	if (sf_heap_less(node, q->losers.node[q->losers.at[node.queue]]))
		sf_heap_raise(&q->losers, node);
	else
		sf_heap_lower(&q->losers, node);
}

/* Put a queue with packets where it belongs, now that something has changed. */
static __always_inline void las_place(struct las_sched *q, struct sf_queue *queue)
{
	struct sf_flow *f = las_flow(q, queue);
	u8 group = las_group(q, queue, f);
	struct rb_node *next, *prev;
	bool heavy;

	if (group == LAS_LONG)
		f->attained = min(f->attained, q->fair_from + LAS_FAIR_MARGIN);
	heavy = f->attained >= LAS_HEAVY;
	if (queue->heavy != heavy) {
		queue->heavy = heavy;
		q->heavy += heavy ? 1 : -1;
	}
	if (group != queue->group) {
		las_leave(q, queue);
		las_enter(q, queue, group);
		/* In another group it may be more of a loser than it was. */
		if (queue->heaped)
			las_loser_moved(q, queue);
	} else if (group == LAS_SHORT) {
		queue->rank = las_rank(q, f, queue);
		next = rb_next(&queue->node);
		prev = rb_prev(&queue->node);
		if ((next && las_less(next, &queue->node)) ||
		    (prev && las_less(&queue->node, prev))) {
			rb_erase_cached(&queue->node, &q->ranked);
			rb_add_cached(&queue->node, &q->ranked, las_less);
		}
	}
}

/*
 * The first of the losers; none if no queue has had two packets. As they send, queues
 * become less of losers than they were when they were put there, never more.
 */
static struct sf_queue *las_first_loser(struct las_sched *q)
{
	struct sf_heap_node node;
	struct sf_queue *queue;

	while (q->losers.size) {
		queue = &q->s.table.queues[q->losers.node[0].queue];
		node = las_loser(q, queue);
		if (node.rank == q->losers.node[0].rank)
			return queue;
		sf_heap_lower(&q->losers, node);
	}
	return NULL;
}

/* As published: the queue with the last packet of the order */
static struct sf_queue *las_last(struct las_sched *q, struct sf_queue *loser,
				 struct sf_queue *ranked, struct sf_queue *newest)
{
	struct sf_queue *found[] = { loser, ranked, newest }, *last = NULL;
	u64 rank, most = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(found); i++) {
		if (!found[i])
			continue;
		rank = las_tail_rank(q, found[i]);
		if (last && sf_before(rank, sf_cb(found[i]->tail)->arrival, most,
				      sf_cb(last->tail)->arrival))
			continue;
		last = found[i];
		most = rank;
	}
	return last;
}

/*
 * Who loses a packet; there is one. A group that has more than its share of what waits
 * does: the long flows, the newcomers. Else it is the longest queue, but for those of long
 * flows, and if no queue has had two packets, the last of the order.
 */
static struct sf_queue *las_victim(struct las_sched *q)
{
	struct rb_node *node = rb_last(&q->ranked.rb_root);
	struct sf_queue *ranked = node ? las_queue_of(node) : NULL;
	struct sf_queue *newest = las_end_of(q, SF_LIST);
	struct sf_queue *loser = las_first_loser(q);
	u64 fresh = q->waiting[LAS_NEW];
	u64 others = fresh + q->waiting[LAS_SHORT];
	u64 longs = q->waiting[LAS_LONG];

	/* By flows too, since bytes may have wrapped around to 0 (tc-stab(8)) */
	if (q->longs && ((!ranked && !newest) ||
			 longs * 100 > (others + longs) * q->long_share))
		return loser && loser->group == LAS_LONG ? loser : las_end_of(q, SF_LONG);
	/* Of those behind it nothing is known: the heap sorts long flows first. */
	if (loser && loser->group == LAS_LONG)
		loser = NULL;
	if (!q->visible)
		return las_last(q, loser, ranked, newest);
	if (newest && fresh * 100 > others * (100 - q->known.percent))
		return loser && loser->group == LAS_NEW ? loser : newest;
	return loser ?: ranked ?: newest;
}

/* Nothing is known of the link. While nothing ever waits for long, all is forgiven. */
static void las_forget_link(struct las_sched *q)
{
	q->leak = q->share ? U64_MAX : 0;
	sf_link_forget(&q->s.link);
}

/* A packet of @len bytes is on its way. */
static void las_sent(struct las_sched *q, u32 len)
{
	u32 elapsed = sf_link_sent(&q->s.link, len);

	if (!elapsed)
		return;
	q->debt_max = div_u64(q->s.link.measured * q->long_share * LAS_DEBT, elapsed);
	q->credit = max(q->credit, -q->debt_max);
	if (q->share)
		q->leak = div_u64(q->s.link.measured * q->share, elapsed);
}

/* The queue has become empty. */
static __always_inline void las_emptied(struct las_sched *q, struct sf_queue *queue)
{
	las_leave(q, queue);
	if (queue->heaped) {
		queue->heaped = false;
		sf_heap_remove(&q->losers, las_number(q, queue));
	}
	q->heavy -= queue->heavy;
	queue->heavy = false;
	if (likely(!sf_is_elsewhere(queue)))
		sf_queue_release(&q->s.table, queue);
}

/* The first packet of a queue, which may become empty */
static __always_inline struct sk_buff *las_take(struct Qdisc *sch, struct sf_queue *queue)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = sf_take_first(sch, queue);

	q->waiting[queue->group] -= qdisc_pkt_len(skb);
	if (unlikely(sf_is_elsewhere(queue)))
		sf_elsewhere_del(&q->s.table, las_overflow_set(skb));
	return skb;
}

static struct sk_buff *las_codel_take(struct codel_vars *vars, void *ctx)
{
	struct sf_queue *queue = container_of(vars, struct sf_queue, codel);

	return queue->qlen ? las_take(ctx, queue) : NULL;
}

/* CoDel drops none if that leaves nothing: so the parent is told of no empty class. */
static void las_codel_drop(struct sk_buff *skb, void *ctx)
{
	struct Qdisc *sch = ctx;

	qdisc_qstats_drop(sch);
	qdisc_tree_reduce_backlog(sch, 1, qdisc_pkt_len(skb));
	sf_dequeue_drop(sch, skb, SF_DROP_CONGESTED);
}

static codel_time_t las_codel_time(const struct sk_buff *skb)
{
	return sf_cb(skb)->flow;
}

static noinline struct sk_buff *las_take_long(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);
	s32 quantum = q->opt[TCA_LAS_QUANTUM];
	s32 least = -LAS_TURNS * quantum;
	struct sf_table *t = &q->s.table;
	struct sf_queue *queue;
	struct sk_buff *skb;
	struct sf_flow *f;

	while (queue = las_first_of(q, SF_LONG), f = las_flow(q, queue), f->deficit <= 0) {
		/* The quantum may have been larger. */
		f->deficit = max(f->deficit, least) + quantum;
		sf_list_del(t, queue);
		sf_list_add_tail(t, SF_LONG, las_number(q, queue));
	}
	if (q->opt[TCA_LAS_TARGET])
		skb = codel_dequeue(sch, &queue->backlog, &q->codel, &queue->codel,
				    &q->codel_stats, qdisc_pkt_len, las_codel_time,
				    las_codel_drop, las_codel_take);
	else
		skb = las_take(sch, queue);
	f->deficit = max_t(s64, (s64)f->deficit - qdisc_pkt_len(skb), least);
	if (!queue->qlen)
		las_emptied(q, queue);
	return skb;
}

static __always_inline struct sk_buff *las_take_short(struct Qdisc *sch,
						      struct sf_queue *queue)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = las_take(sch, queue);

	las_flow(q, queue)->known = true;
	if (!queue->qlen)
		las_emptied(q, queue);
	else
		las_place(q, queue);
	return skb;
}

/* The newcomer or short flow that is next; there is one */
static __always_inline struct sf_queue *las_next_short(struct las_sched *q)
{
	struct sf_queue *fresh = las_first_of(q, SF_LIST), *ranked;
	const struct rb_node *node = rb_first_cached(&q->ranked);

	if (!node) {
		q->known.credit = 0;
		return fresh;
	}
	ranked = las_queue_of(node);
	/* As published, they are in one order: newcomers have rank 0. */
	if (!q->known.percent && !ranked->rank && fresh->qlen &&
	    sf_earlier(ranked->head, fresh->head))
		return ranked;
	return sf_bands_next(&q->known, fresh, ranked) == SF_LOW ? ranked : fresh;
}

/*
 * A packet is owed that no long flow can send: to the last of the short flows if it has
 * waited for too long. Else NULL, and it is no longer owed.
 */
static noinline struct sf_queue *las_overdue(struct las_sched *q)
{
	struct rb_node *node = rb_last(&q->ranked.rb_root);
	struct sf_queue *queue = node ? las_queue_of(node) : NULL;

	if (queue && codel_get_time() - las_codel_time(queue->head) > LAS_OVERDUE)
		return queue;
	q->credit = 0;
	return NULL;
}

/* Take the next packet off the queue; there is one. */
static __always_inline struct sk_buff *las_take_next(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sf_queue *queue = NULL;
	struct sk_buff *skb;
	bool paid = true;

	if (q->longs && (q->credit > 0 ||
			 (!q->newcomers && RB_EMPTY_ROOT(&q->ranked.rb_root)))) {
		skb = las_take_long(sch);
	} else {
		if (unlikely(q->credit >= LAS_OWED))
			queue = las_overdue(q);
		paid = queue;
		skb = las_take_short(sch, queue ?: las_next_short(q));
	}
	if (paid)
		q->credit = max(q->credit, -q->debt_max) - 100LL * qdisc_pkt_len(skb);
	q->credit += (s64)q->long_share * qdisc_pkt_len(skb);
	return skb;
}

/* Take the packet that goes if there is no room, and count it as dropped. */
static noinline struct sk_buff *las_take_last(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sf_queue *queue = las_victim(q);
	struct sk_buff *skb;
	struct sf_flow *f;

	sf_count_drop(&q->s);
	skb = sf_take_last(sch, queue);
	q->waiting[queue->group] -= qdisc_pkt_len(skb);
	if (unlikely(sf_is_elsewhere(queue))) {
		sf_elsewhere_del(&q->s.table, las_overflow_set(skb));
	} else {
		f = las_flow(q, queue);
		if (queue->group != LAS_LONG)
			f->attained -= min_t(u64, f->attained, qdisc_pkt_len(skb));
	}
	if (!queue->qlen) {
		las_emptied(q, queue);
	} else {
		las_place(q, queue);
		if (queue->heaped)
			las_loser_moved(q, queue);
	}
	sf_set_drop_reason(skb, SF_DROP_OVERLIMIT);
	return skb;
}

/* Forgive a flow what it is to be forgiven, but not what waits. */
static __always_inline void las_forgive(struct las_sched *q, struct sf_flow *f, u32 now)
{
	u32 waiting = f->queue ? q->s.table.queues[f->queue].backlog : 0;
	u32 elapsed = now - f->seen;
	u64 leak, most;

	if (!elapsed)
		return;
	if (f->queue && (!q->visible || q->leak == U64_MAX))
		return;
	leak = U64_MAX;
	if (q->leak != U64_MAX) {
		leak = max(q->leak_min, div_u64(q->leak, q->heavy + 1));
		leak = mul_u64_u32_shr(leak, elapsed, LAS_LEAK_SHIFT);
	}
	most = f->attained - min_t(u64, f->attained, waiting);
	f->attained -= min(most, leak);
	f->seen = now;
}

/*
 * Does a packet with these flags of TCP begin another flow, though of the same ports? Not
 * one that comes soon: else a SYN in each packet would make each a newcomer's.
 */
static __always_inline bool las_begins(const struct sf_flow *f, u8 flags, u32 now)
{
	return flags & SF_TCP_SYN && !f->queue && now - f->seen >= LAS_SILENCE;
}

/* The flow of @skb, forgiven what it is to be forgiven */
static __always_inline void las_find_flow(struct las_sched *q,
					  const struct sk_buff *skb,
					  struct sf_place *to)
{
	u32 now = jiffies;
	u8 flags = sf_find(&q->s, skb, now, to);
	struct sf_flow *f = to->flow;

	if (unlikely(!f))
		return;
	if (unlikely(las_begins(f, flags, now)))
		sf_flow_forget(f);
	las_forgive(q, f, now);
	if (!f->queue)
		f->seen = now;
}

/* Put a packet in its place. */
static __always_inline bool las_insert(struct Qdisc *sch, struct sk_buff *skb,
				       struct sf_place *to)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sf_table *t = &q->s.table;
	struct sf_skb_cb *cb = sf_cb(skb);
	struct sf_queue *queue;
	u32 i = SF_ELSEWHERE;

	cb->arrival = q->s.arrivals++;
	cb->truesize = skb->truesize;
	cb->flow = codel_get_time();
	if (likely(to->flow)) {
		i = to->flow->queue;
		if (!i)
			i = sf_queue_take(t, to->flow);
		to->flow->priority = to->class == TC_LAS_CLASS_PRIORITY;
		to->flow->attained += qdisc_pkt_len(skb);
	} else {
		cb->rank = sf_table_set(t, to->hash);
		sf_elsewhere_add(t, cb->rank);
	}

	queue = &t->queues[i];
	sf_append(sch, queue, skb);
	q->waiting[queue->group] += qdisc_pkt_len(skb);
	las_place(q, queue);
	if (queue->heaped) {
		las_loser_moved(q, queue);
	} else if (queue->qlen > 1) {
		queue->heaped = true;
		sf_heap_add(&q->losers, las_loser(q, queue));
	}
	/* A busy period begins: nobody has waited or had too much in it. */
	if (q->s.held == 1) {
		sf_link_restart(&q->s.link);
		q->credit = 0;
	}
	return true;
}

static const struct sf_kind las_kind = {
	.insert		= las_insert,
	.take_victim	= las_take_last,
	.over		= sf_over_buffer,
};

/*
 * There are too many newcomers for one more. Would @skb be one's? It is not remembered
 * then, either.
 */
static noinline bool las_refused(struct las_sched *q, const struct sk_buff *skb)
{
	u8 flags = sf_flow_key_read(skb, &q->s.key);
	u32 hash = sf_flow_key_hash(&q->s.key, &q->s.table.secret);
	const struct sf_flow *f = sf_table_find(&q->s.table, &q->s.key, hash);
	u32 now = jiffies;

	if (!f || f->queue)
		return !f;
	return !f->known || now - f->seen > q->s.table.idle || las_begins(f, flags, now);
}

static int las_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sf_place to;

	to.class = sf_class(skb, sch);
	if (unlikely(to.class < 0))
		return sf_filtered(skb, sch, to_free, to.class);
	if (unlikely(q->newcomers >= q->newcomers_max &&
		     to.class != TC_LAS_CLASS_PRIORITY && las_refused(q, skb))) {
		q->drop_new++;
		sf_drop(skb, sch, to_free, SF_DROP_OVERLIMIT);
		return NET_XMIT_DROP;
	}
	las_find_flow(q, skb, &to);
	return sf_enqueue(skb, sch, &to, to_free, &las_kind);
}

static struct sk_buff *las_dequeue(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;

	if (!q->s.held)
		return NULL;
	skb = las_take_next(sch);
	las_sent(q, qdisc_pkt_len(skb));
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void las_reset(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sf_queue *queue;
	u32 i, queues = sf_table_queues(q->s.table.sets * SF_WAYS);

	for (i = SF_ELSEWHERE; q->s.held && i < queues; i++) {
		queue = &q->s.table.queues[i];
		if (!queue->qlen)
			continue;
		las_emptied(q, queue);
		q->s.held -= queue->qlen;
		queue->qlen = 0;
		queue->backlog = 0;
		rtnl_kfree_skbs(queue->head, queue->tail);
	}
	q->s.memory = 0;
	q->credit = 0;
	q->overflow.deficit = 0;
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
		SF_OPTION(LAS, FORGIVE_SHARE, 50),
		SF_RANGE("forgive_share", 0, TC_LAS_FORGIVE_SHARE_MAX, " percent")
	}, {
		SF_OPTION(LAS, RANK, TC_LAS_RANK_VISIBLE),
		SF_OTHER(0, TC_LAS_RANK_VISIBLE, "rank must be 0 (attained) or 1 (visible)")
	}, {
		SF_OPTION(LAS, NEWCOMERS, 256),
		SF_RANGE("newcomers", 0, TC_LAS_NEWCOMERS_MAX, "")
	}, {
		SF_OPTION(LAS, KNOWN_SHARE, 50),
		SF_RANGE("known_share", 0, TC_LAS_SHARE_MAX, " percent")
	}, {
		SF_OPTION(LAS, LONG_SHARE, 12),
		SF_RANGE("long_share", 0, TC_LAS_SHARE_MAX, " percent")
	}, {
		SF_OPTION(LAS, QUANTUM, 1514),
		SF_RANGE("quantum", TC_LAS_QUANTUM_MIN, TC_LAS_QUANTUM_MAX, " bytes")
	}, {
		SF_OPTION(LAS, TARGET, 5000),
		SF_RANGE("target", 0, TC_LAS_TARGET_MAX, " us")
	}, {
		SF_OPTION(LAS, INTERVAL, 100000),
		SF_RANGE("interval", TC_LAS_INTERVAL_MIN, TC_LAS_INTERVAL_MAX, " us")
	}, {
		SF_OPTION(LAS, CE_THRESHOLD, 0),
		SF_RANGE("ce_threshold", 0, TC_LAS_CE_THRESHOLD_MAX, " us")
	}, {
		SF_OPTION(LAS, ECN, 1),
		SF_SWITCH("ecn")
	}
};

static const struct sf_options las_options = SF_OPTIONS(LAS, las);

/* In units of codel.h */
static codel_time_t las_codel_us(u32 us)
{
	return (u64)us * NSEC_PER_USEC >> CODEL_SHIFT;
}

static void las_apply_options(struct las_sched *q, const u32 *opt)
{
	sf_options_apply(&las_options, q->opt, opt);
	sf_set_options(&q->s, opt[TCA_LAS_LIMIT], opt[TCA_LAS_MEMORY_LIMIT],
		       opt[TCA_LAS_IDLE], opt[TCA_LAS_SPLIT_GSO]);
	q->visible = opt[TCA_LAS_RANK] == TC_LAS_RANK_VISIBLE;
	q->fair_from = opt[TCA_LAS_FAIR] ?: BIT_ULL(62);
	q->log_factor = las_log_factor(opt[TCA_LAS_LOG]);
	q->leak_min = div_u64((u64)opt[TCA_LAS_FORGIVE] << LAS_LEAK_SHIFT, HZ);
	q->share = (opt[TCA_LAS_FORGIVE_SHARE] << LAS_LEAK_SHIFT) / 100;
	q->newcomers_max = opt[TCA_LAS_NEWCOMERS] ?: U32_MAX;
	q->known.percent = opt[TCA_LAS_KNOWN_SHARE];
	q->long_share = opt[TCA_LAS_LONG_SHARE];
	q->codel.target = las_codel_us(opt[TCA_LAS_TARGET]);
	q->codel.interval = las_codel_us(opt[TCA_LAS_INTERVAL]);
	q->codel.ecn = opt[TCA_LAS_ECN];
	q->codel.ce_threshold = opt[TCA_LAS_CE_THRESHOLD] ?
				las_codel_us(opt[TCA_LAS_CE_THRESHOLD]) :
				CODEL_DISABLED_THRESHOLD;
	q->s.link.buffer = msecs_to_jiffies(opt[TCA_LAS_BUFFER]);
	q->s.link.least = LAS_ROOM_MIN;
	las_forget_link(q);
}

/* The options have changed: the order may be another one. */
static void las_sort_again(struct las_sched *q)
{
	u32 i, queues = sf_table_queues(q->s.table.sets * SF_WAYS);
	struct sf_queue *queue;

	for (i = SF_ELSEWHERE; i < queues; i++) {
		queue = &q->s.table.queues[i];
		if (!queue->qlen)
			continue;
		las_place(q, queue);
		if (queue->heaped)
			las_loser_moved(q, queue);
	}
	q->credit = 0;
	q->debt_max = 0;
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
	las_sort_again(q);
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

	sch->flags |= SF_DEQUEUE_DROPS;
	q->ranked = RB_ROOT_CACHED;
	codel_params_init(&q->codel);
	codel_stats_init(&q->codel_stats);
	q->codel.mtu = psched_mtu(qdisc_dev(sch));
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
	       sf_heap_init(&q->losers, queues);
}

static void las_destroy(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);

	tcf_block_put(q->s.block);
	sf_heap_free(&q->losers);
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
		.drop_new	= q->drop_new,
		.drop_codel	= q->codel_stats.drop_count,
		.marked		= (u64)q->codel_stats.ecn_mark + q->codel_stats.ce_mark,
		.flows_new	= q->newcomers,
		.flows_long	= q->longs,
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
