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
 * what the link sends in that time. The rate of the link is known from what has
 * left while the queue was not empty.
 *
 * LAS-log(K), section 6: flows of the priority class (X:2, chosen by a tc filter
 * or by skb->priority) rank by (log2 x)^(1/K) instead of x. See las_log.h.
 *
 * All of this is under the root qdisc's lock, but for what a dump reads. No
 * packet may bypass the queue (TCQ_F_CAN_BYPASS): it would not be attained.
 */

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
#include "compat.h"
#include "flow_heap.h"
#include "flow_table.h"
#include "gso.h"
#include "las_log.h"
#include "options.h"
#include "uapi/pkt_las.h"

#define LAS_DEFAULT_LIMIT	10000		/* packets */
#define LAS_DEFAULT_MEMORY	(32 << 20)	/* bytes */
#define LAS_DEFAULT_FLOWS	4096
#define LAS_DEFAULT_IDLE	60000		/* ms */
#define LAS_DEFAULT_FAIR	(256 << 10)	/* bytes */
#define LAS_DEFAULT_FORGIVE	32000		/* bytes per second */
#define LAS_DEFAULT_SHARE	25		/* percent */
#define LAS_DEFAULT_LOG		500		/* K in thousandths */
#define LAS_DEFAULT_BUFFER	500		/* ms */

/*
 * A long flow attains no more than this beyond fair, so that it comes back soon,
 * and no less, so that one faster than forgive does not change sides each time
 * its queue is empty.
 */
#define LAS_FAIR_MARGIN		(64 << 10)	/* bytes */

#define LAS_LEAK_SHIFT		16

/*
 * How long the rate of the link is measured, what may wait however low it is, and
 * the mark of not knowing it
 */
#define LAS_MEASURE		(HZ / 8)
#define LAS_ROOM_MIN		(64 << 10)	/* bytes */
#define LAS_ROOM_UNKNOWN	U32_MAX

/*
 * Ranks from here on are virtual time, whatever fair is or was. LAS_RANK_OVERFLOW
 * is the overflow queue's; what is added tells the set of the table.
 */
#define LAS_RANK_LONG		BIT_ULL(62)
#define LAS_RANK_OVERFLOW	(U64_MAX - TC_LAS_FLOWS_MAX)

struct las_options {
	u32	limit;
	u32	memory_limit;
	u32	flows;
	u32	idle;			/* ms */
	u32	fair;			/* bytes */
	u32	forgive;		/* bytes per second */
	u32	share;			/* percent of the link's rate */
	u32	buffer;			/* ms */
	u32	log;			/* K in thousandths */
	u32	split_gso;
};

struct las_sched {
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
	u32		buffer;		/* jiffies */
	u32		log_factor;
	u32		memory;		/* truesize of what the flows hold */
	u32		held;		/* packets that the flows hold */
	u32		room;		/* bytes that buffer lets wait */
	u32		measured_from;	/* jiffies: what has been sent since */
	u64		sent;
	u32		arrivals;	/* packets so far, to order equal ranks */
	struct las_options opt;
	struct sf_table	table;
	struct sf_flow_key key;		/* of the packet that comes; on the stack it
					 * would have to be zeroed and guarded
					 */
	struct tcf_proto __rcu *filter_list;
	struct tcf_block *block;

	/* what a dump reads, like memory and the options */
	u64		drop_limit;
	u64		drop_memory;
	u64		drop_buffer;
	u64		overflow_packets;
	u64		gso_split;
	u32		memory_peak;
};

struct las_skb_cb {
	u64	rank;
	u32	arrival;
	u32	truesize;	/* as it was counted in las_sched.memory */
};

static_assert(sizeof(struct las_skb_cb) <= QDISC_CB_PRIV_LEN);

static struct las_skb_cb *las_cb(const struct sk_buff *skb)
{
	return (struct las_skb_cb *)qdisc_skb_cb(skb)->data;
}

static bool las_before(const struct sk_buff *a, const struct sk_buff *b)
{
	const struct las_skb_cb *x = las_cb(a), *y = las_cb(b);

	return sf_before(x->rank, x->arrival, y->rank, y->arrival);
}

/* For a packet of the overflow queue: the set that had no record for it */
static u32 las_overflow_set(const struct sk_buff *skb)
{
	return las_cb(skb)->rank - LAS_RANK_OVERFLOW;
}

static bool las_is_overflow(const struct las_sched *q,
			    const struct sf_queue *queue)
{
	return queue == &q->table.queues[SF_ELSEWHERE];
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
	return (s32)(las_cb(x->head)->arrival - las_cb(y->head)->arrival) < 0;
}

static void las_sort_in(struct las_sched *q, struct sf_queue *queue)
{
	queue->rank = las_cb(queue->head)->rank;
	rb_add_cached(&queue->node, &q->heads, las_head_less);
}

/* The queue's first packet has changed: later than before, never earlier. */
static void las_sort_again(struct las_sched *q, struct sf_queue *queue)
{
	struct rb_node *next = rb_next(&queue->node);

	queue->rank = las_cb(queue->head)->rank;
	if (!next || las_head_less(&queue->node, next))
		return;
	rb_erase_cached(&queue->node, &q->heads);
	rb_add_cached(&queue->node, &q->heads, las_head_less);
}

/* What a queue is in the heap of tails: the root is to be the highest. */
static struct sf_heap_node las_tail(const struct las_sched *q, u32 i)
{
	const struct las_skb_cb *cb = las_cb(q->table.queues[i].tail);

	return (struct sf_heap_node) { ~cb->rank, ~cb->arrival, i };
}

/* The queue with the first packet of the order; there is one. */
static __always_inline struct sf_queue *las_first(const struct las_sched *q)
{
	const struct rb_node *node = rb_first_cached(&q->heads);
	struct sf_queue *queues = q->table.queues, *sorted;
	u32 fresh = queues[SF_LIST].next;

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
	struct sf_queue *queues = q->table.queues, *last = NULL, *other;

	if (q->tails.size)
		last = &queues[q->tails.node[0].queue];
	if (node) {
		other = las_queue_of(node);
		if (!last || las_before(last->tail, other->tail))
			last = other;
	}
	if (queues[SF_LIST].prev != SF_LIST) {
		other = &queues[queues[SF_LIST].prev];
		if (!last || las_before(last->tail, other->tail))
			last = other;
	}
	return last;
}

/* Begin to measure the rate; until it is known, @room is what may wait. */
static void las_measure(struct las_sched *q, u32 room)
{
	WRITE_ONCE(q->room, room);
	q->measured_from = jiffies;
	q->sent = 0;
}

/* Nothing is known of the link. While nothing ever waits for long, all is forgiven. */
static void las_forget_link(struct las_sched *q)
{
	q->leak = q->share ? U64_MAX : q->leak_min;
	las_measure(q, LAS_ROOM_UNKNOWN);
}

/* A packet of @len bytes is on its way. */
static void las_sent(struct las_sched *q, u32 len)
{
	u32 elapsed = (u32)jiffies - q->measured_from;
	u64 room = LAS_ROOM_UNKNOWN;

	q->sent += len;
	if (elapsed < LAS_MEASURE)
		return;
	if (q->buffer)
		room = clamp_t(u64, div_u64(q->sent * q->buffer, elapsed),
			       LAS_ROOM_MIN, LAS_ROOM_UNKNOWN);
	q->leak = max(q->leak_min, div_u64(q->sent * q->share, elapsed));
	las_measure(q, room);
}

/* Queue @skb as the last packet of queue @i. */
static __always_inline void las_append(struct Qdisc *sch, u32 i,
				       struct sk_buff *skb)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sf_queue *queue = &q->table.queues[i];

	skb->next = NULL;
	if (!queue->qlen) {
		skb->prev = NULL;
		queue->head = skb;
		queue->tail = skb;
		if (!las_cb(skb)->rank)
			sf_list_add_tail(&q->table, i);
		else
			las_sort_in(q, queue);
	} else {
		skb->prev = queue->tail;
		queue->tail->next = skb;
		queue->tail = skb;
		if (queue->heaped) {
			sf_heap_raise(&q->tails, las_tail(q, i));
		} else {
			queue->heaped = true;
			sf_heap_add(&q->tails, las_tail(q, i));
		}
	}
	queue->qlen++;
	queue->backlog += qdisc_pkt_len(skb);
	if (!q->held++)
		las_measure(q, LAS_ROOM_UNKNOWN);
	sf_count(q->memory, las_cb(skb)->truesize);
	sf_count(sch->q.qlen, 1);
	qdisc_qstats_backlog_inc(sch, skb);
}

static noinline void las_leave_heap(struct las_sched *q, struct sf_queue *queue)
{
	queue->heaped = false;
	sf_heap_remove(&q->tails, queue - q->table.queues);
}

/* The queue has become empty. */
static __always_inline void las_emptied(struct las_sched *q,
					struct sf_queue *queue)
{
	if (queue->listed)
		sf_list_del(&q->table, queue);
	else
		rb_erase_cached(&queue->node, &q->heads);
	if (queue->heaped)
		las_leave_heap(q, queue);
	if (likely(!las_is_overflow(q, queue)))
		sf_queue_release(&q->table, queue);
}

/* Count @skb, of @queue, as taken off. */
static __always_inline void las_uncount(struct Qdisc *sch,
					struct sf_queue *queue,
					const struct sk_buff *skb)
{
	struct las_sched *q = qdisc_priv(sch);

	if (unlikely(las_is_overflow(q, queue)))
		sf_elsewhere_del(&q->table, las_overflow_set(skb));
	queue->backlog -= qdisc_pkt_len(skb);
	q->held--;
	sf_count(q->memory, -las_cb(skb)->truesize);
	sf_count(sch->q.qlen, -1);
	qdisc_qstats_backlog_dec(sch, skb);
}

/* Take the first packet of @queue. */
static struct sk_buff *las_take_first(struct Qdisc *sch, struct sf_queue *queue)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = queue->head;

	las_uncount(sch, queue, skb);
	if (!--queue->qlen) {
		las_emptied(q, queue);
		return skb;
	}
	queue->head = skb->next;
	queue->head->prev = NULL;
	skb->next = NULL;
	if (queue->listed) {
		sf_list_del(&q->table, queue);
		las_sort_in(q, queue);
	} else {
		las_sort_again(q, queue);
	}
	return skb;
}

/* The same with the last packet */
static struct sk_buff *las_take_last(struct Qdisc *sch, struct sf_queue *queue)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = queue->tail;

	las_uncount(sch, queue, skb);
	if (!--queue->qlen) {
		las_emptied(q, queue);
		return skb;
	}
	queue->tail = skb->prev;
	queue->tail->next = NULL;
	skb->prev = NULL;
	sf_heap_lower(&q->tails, las_tail(q, queue - q->table.queues));
	return skb;
}

/*
 * Limits are on what the flows hold. qlen may be more: what has been peeked at,
 * or has come back from the driver, perhaps in many segments, is counted there,
 * but has left the flows and cannot be dropped.
 */
static bool las_over_limit(const struct las_sched *q)
{
	return q->held > q->opt.limit || q->memory > q->opt.memory_limit;
}

static bool las_over_room(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);

	return sch->qstats.backlog > q->room && q->held > 1;
}

static void las_note_peak(struct las_sched *q)
{
	if (q->memory > q->memory_peak)
		WRITE_ONCE(q->memory_peak, q->memory);
}

/*
 * Take the packet at the end of the order off the queue, which has no room for it
 * and so holds one, and count it as dropped.
 */
static noinline struct sk_buff *las_drop_last(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sf_queue *queue = las_last(q);
	struct sf_flow *f = &q->table.flows[queue->flow];
	struct sk_buff *skb;
	u64 rank;

	if (q->held > q->opt.limit)
		sf_count(q->drop_limit, 1);
	else if (q->memory > q->opt.memory_limit)
		sf_count(q->drop_memory, 1);
	else
		sf_count(q->drop_buffer, 1);
	skb = las_take_last(sch, queue);
	qdisc_qstats_drop(sch);
	if (unlikely(las_is_overflow(q, queue)))
		return skb;
	/* What a long flow attains is capped, so that nothing is given back. */
	rank = las_cb(skb)->rank;
	if (rank < LAS_RANK_LONG)
		f->attained -= min_t(u64, f->attained, qdisc_pkt_len(skb));
	else if (!queue->qlen || las_cb(queue->tail)->rank < rank)
		f->finish = rank;
	return skb;
}

/*
 * The class of @skb by tc filter. If a filter's action wants it dropped or has taken
 * it, -n or 0, where n is what enqueue has to return.
 */
static noinline int las_classify(struct sk_buff *skb, struct tcf_proto *filter)
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
	if (result >= 0 && TC_H_MIN(res.classid) == TC_LAS_CLASS_PRIORITY)
		return TC_LAS_CLASS_PRIORITY;
	return TC_LAS_CLASS_ORDINARY;
}

/* The class by skb->priority, else the same */
static int las_class(struct sk_buff *skb, struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);
	struct tcf_proto *filter = rcu_dereference_bh(q->filter_list);
	u32 minor = skb->priority ^ sch->handle;

	/* A qdisc by default has no handle: then priorities name no class. */
	if (unlikely((minor == TC_LAS_CLASS_ORDINARY ||
		      minor == TC_LAS_CLASS_PRIORITY) && sch->handle))
		return minor;
	return filter ? las_classify(skb, filter) : TC_LAS_CLASS_ORDINARY;
}

/* Where a packet that has arrived belongs */
struct las_place {
	struct sf_flow	*flow;	/* NULL: the overflow queue */
	u32		set;	/* of the table */
	int		class;
};

/* The flow of @skb, forgiven what it is to be forgiven */
static __always_inline void las_find_flow(struct las_sched *q,
					  const struct sk_buff *skb,
					  struct las_place *to)
{
	bool begins = sf_flow_key_read(skb, &q->key);
	u32 now = jiffies;
	struct sf_flow *f;
	u64 leak;

	f = sf_table_get(&q->table, &q->key, now, &to->set);
	to->flow = f;
	if (unlikely(!f)) {
		sf_count(q->overflow_packets, 1);
		return;
	}
	if (!f->queue) {
		leak = mul_u64_u32_shr(q->leak, now - f->seen,
				       LAS_LEAK_SHIFT);
		f->attained -= min(f->attained, leak);
		/* A port used again soon: the new flow does not inherit. */
		if (begins)
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
		last = las_cb(q->table.queues[queue].tail)->rank;
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
static __always_inline void las_insert(struct sk_buff *skb, struct Qdisc *sch,
				       struct las_place to)
{
	struct las_sched *q = qdisc_priv(sch);
	struct las_skb_cb *cb = las_cb(skb);
	u32 i;

	cb->arrival = q->arrivals++;
	cb->truesize = skb->truesize;
	if (likely(to.flow)) {
		i = to.flow->queue;
		cb->rank = las_rank(q, to.flow, i, to.class, qdisc_pkt_len(skb));
		if (!i)
			i = sf_queue_take(&q->table, to.flow);
	} else {
		i = SF_ELSEWHERE;
		cb->rank = LAS_RANK_OVERFLOW + to.set;
		sf_elsewhere_add(&q->table, to.set);
	}
	las_append(sch, i, skb);
}

/*
 * Drop from the end what is over a limit: one packet for limit; for memory_limit, as
 * many small ones as fit in the newcomer; for buffer two, since there may be much too
 * many if the link has become slower. Returns how many of the packets that came no
 * earlier than @first are gone.
 */
static noinline unsigned int las_drop_excess(struct Qdisc *sch, u32 first,
					     struct sk_buff **to_free)
{
	struct las_sched *q = qdisc_priv(sch);
	unsigned int gone = 0, excess = 0;
	struct sk_buff *last;

	while (las_over_limit(q) || (las_over_room(sch) && excess++ < 2)) {
		last = las_drop_last(sch);
		if ((s32)(las_cb(last)->arrival - first) >= 0)
			gone++;
		sf_drop_overlimit(last, to_free);
	}
	return gone;
}

/* It would push out all others and still not fit. */
static bool las_too_large(const struct las_sched *q, const struct sk_buff *skb)
{
	return skb->truesize > q->opt.memory_limit;
}

static noinline void las_drop_too_large(struct sk_buff *skb, struct Qdisc *sch,
					struct sk_buff **to_free)
{
	struct las_sched *q = qdisc_priv(sch);

	sf_count(q->drop_memory, 1);
	qdisc_qstats_drop(sch);
	sf_drop_overlimit(skb, to_free);
}

/*
 * What enqueue has to return when there were drops, or segments, and there were
 * @qlen packets of @backlog bytes before. @left packets are left of what came, which
 * was @len bytes. The parent is about to count what our return value says, one
 * packet of @len bytes or none: tell it how that differs from what happened.
 */
static int las_result(struct Qdisc *sch, u32 qlen, u32 backlog,
		      unsigned int left, unsigned int len)
{
	int count = sch->q.qlen - qlen;
	int bytes = sch->qstats.backlog - backlog;
	int ret = NET_XMIT_DROP;

	if (left && left == sch->q.qlen && qlen) {
		/*
		 * The newcomer has replaced all others. Taking them back before
		 * it is counted would show some ancestor an empty class, which
		 * it might put to sleep: let it count none.
		 */
		ret = NET_XMIT_CN;
	} else if (left) {
		ret = NET_XMIT_SUCCESS;
		count--;
		bytes -= len;
	}
	if (count || bytes)
		qdisc_tree_reduce_backlog(sch, -count, -bytes);
	return ret;
}

/* The same as las_enqueue() from the limits on, for the segments of a GSO packet */
static noinline int las_enqueue_segments(struct sk_buff *skb, struct Qdisc *sch,
					 struct las_place to,
					 struct sk_buff **to_free)
{
	struct sk_buff *segs = sf_gso_segments(skb, sch), *next;
	struct las_sched *q = qdisc_priv(sch);
	u32 backlog = sch->qstats.backlog;
	unsigned int len = qdisc_pkt_len(skb), left = 0;
	u32 qlen = sch->q.qlen;
	u32 first = q->arrivals;

	if (!segs) {
		qdisc_qstats_drop(sch);
		sf_drop_overlimit(skb, to_free);
		return NET_XMIT_DROP;
	}
	sf_count(q->gso_split, 1);
	skb_list_walk_safe(segs, segs, next) {
		skb_mark_not_on_list(segs);
		if (unlikely(las_too_large(q, segs))) {
			las_drop_too_large(segs, sch, to_free);
			continue;
		}
		las_insert(segs, sch, to);
		left += 1 - las_drop_excess(sch, first, to_free);
		las_note_peak(q);
	}
	consume_skb(skb);
	return las_result(sch, qlen, backlog, left, len);
}

static int las_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free)
{
	struct las_sched *q = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	struct las_place to;
	unsigned int gone;
	int ret;

	to.class = las_class(skb, sch);
	if (unlikely(to.class <= 0)) {
		ret = -to.class;
		if (ret & __NET_XMIT_BYPASS)
			qdisc_qstats_drop(sch);
		__qdisc_drop(skb, to_free);
		return ret;
	}
	las_find_flow(q, skb, &to);
	if (skb_is_gso(skb) && q->opt.split_gso)
		return las_enqueue_segments(skb, sch, to, to_free);
	if (unlikely(las_too_large(q, skb))) {
		las_drop_too_large(skb, sch, to_free);
		return NET_XMIT_DROP;
	}

	las_insert(skb, sch, to);
	ret = NET_XMIT_SUCCESS;
	if (unlikely(las_over_limit(q) || las_over_room(sch))) {
		u32 qlen = sch->q.qlen - 1;
		u32 backlog = sch->qstats.backlog - len;

		gone = las_drop_excess(sch, q->arrivals - 1, to_free);
		ret = las_result(sch, qlen, backlog, 1 - gone, len);
	}
	las_note_peak(q);
	return ret;
}

static struct sk_buff *las_dequeue(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sf_queue *queue;
	struct sk_buff *skb;
	u64 rank;

	if (!q->held)
		return NULL;
	queue = las_first(q);
	skb = las_take_first(sch, queue);
	rank = las_cb(skb)->rank;
	if (rank >= LAS_RANK_LONG && likely(!las_is_overflow(q, queue)))
		q->virtual_time = rank;
	las_sent(q, qdisc_pkt_len(skb));
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void las_reset(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sf_queue *queue;

	while (q->held) {
		queue = las_first(q);
		q->held -= queue->qlen;
		queue->qlen = 0;
		queue->backlog = 0;
		rtnl_kfree_skbs(queue->head, queue->tail);
		las_emptied(q, queue);
	}
	WRITE_ONCE(q->memory, 0);
	las_forget_link(q);
	sf_table_clear(&q->table);
}

static const struct nla_policy las_policy[TCA_LAS_MAX + 1] = {
	[TCA_LAS_LIMIT ... TCA_LAS_MAX] = { .type = NLA_U32 },
};

#define LAS_RANGE(what, min, max, unit)					\
	.refusal = "las: " what __stringify(min) " to " __stringify(max) unit

static const struct sf_option las_options[] = {
	{
		.attr	= TCA_LAS_LIMIT,
		.field	= offsetof(struct las_options, limit),
		.min	= TC_LAS_LIMIT_MIN,
		.max	= TC_LAS_LIMIT_MAX,
		LAS_RANGE("limit must be ", TC_LAS_LIMIT_MIN, TC_LAS_LIMIT_MAX, " packets")
	}, {
		.attr	= TCA_LAS_MEMORY_LIMIT,
		.field	= offsetof(struct las_options, memory_limit),
		.min	= TC_LAS_MEMORY_MIN,
		.max	= TC_LAS_MEMORY_MAX,
		LAS_RANGE("memory_limit must be ", TC_LAS_MEMORY_MIN, TC_LAS_MEMORY_MAX,
			  " bytes")
	}, {
		.attr	= TCA_LAS_FLOWS,
		.field	= offsetof(struct las_options, flows),
		.min	= TC_LAS_FLOWS_MIN,
		.max	= TC_LAS_FLOWS_MAX,
		.power	= true,
		LAS_RANGE("flows must be a power of two, ", TC_LAS_FLOWS_MIN,
			  TC_LAS_FLOWS_MAX, "")
	}, {
		.attr	= TCA_LAS_IDLE,
		.field	= offsetof(struct las_options, idle),
		.min	= TC_LAS_IDLE_MIN,
		.max	= TC_LAS_IDLE_MAX,
		LAS_RANGE("idle must be ", TC_LAS_IDLE_MIN, TC_LAS_IDLE_MAX, " ms")
	}, {
		.attr	= TCA_LAS_FAIR,
		.field	= offsetof(struct las_options, fair),
		.min	= TC_LAS_FAIR_MIN,
		.max	= TC_LAS_FAIR_MAX,
		.zero	= true,
		LAS_RANGE("fair must be 0 or ", TC_LAS_FAIR_MIN, TC_LAS_FAIR_MAX, " bytes")
	}, {
		.attr	= TCA_LAS_FORGIVE,
		.field	= offsetof(struct las_options, forgive),
		.max	= TC_LAS_FORGIVE_MAX,
		LAS_RANGE("forgive must be ", 0, TC_LAS_FORGIVE_MAX, " bytes per second")
	}, {
		.attr	= TCA_LAS_LOG,
		.field	= offsetof(struct las_options, log),
		.min	= TC_LAS_LOG_MIN,
		.max	= TC_LAS_LOG_MAX,
		.refusal = "las: log must be 0.25 to 4"
	}, {
		.attr	= TCA_LAS_SPLIT_GSO,
		.field	= offsetof(struct las_options, split_gso),
		.max	= 1,
		.refusal = "las: split_gso must be 0 or 1"
	}, {
		.attr	= TCA_LAS_BUFFER,
		.field	= offsetof(struct las_options, buffer),
		.min	= TC_LAS_BUFFER_MIN,
		.max	= TC_LAS_BUFFER_MAX,
		.zero	= true,
		LAS_RANGE("buffer must be 0 or ", TC_LAS_BUFFER_MIN, TC_LAS_BUFFER_MAX, " ms")
	}, {
		.attr	= TCA_LAS_FORGIVE_SHARE,
		.field	= offsetof(struct las_options, share),
		.max	= TC_LAS_FORGIVE_SHARE_MAX,
		LAS_RANGE("forgive_share must be ", 0, TC_LAS_FORGIVE_SHARE_MAX, " percent")
	},
};

/* Check all of @nla into @opt, which holds what is to be kept. */
static int las_parse(struct nlattr *nla, struct las_options *opt,
		     struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_LAS_MAX + 1];
	int err;

	err = nla_parse_nested(tb, TCA_LAS_MAX, nla, las_policy, extack);
	if (err)
		return err;
	return sf_options_parse(las_options, ARRAY_SIZE(las_options), tb, opt,
				extack);
}

static void las_apply_options(struct las_sched *q, struct las_options *opt)
{
	sf_options_apply(las_options, ARRAY_SIZE(las_options), &q->opt, opt);
	q->table.idle = msecs_to_jiffies(opt->idle);
	q->fair_from = opt->fair ?: LAS_RANK_LONG;
	q->log_factor = las_log_factor(opt->log);
	q->leak_min = div_u64((u64)opt->forgive << LAS_LEAK_SHIFT, HZ);
	q->share = (opt->share << LAS_LEAK_SHIFT) / 100;
	q->buffer = msecs_to_jiffies(opt->buffer);
	las_forget_link(q);
}

static int las_change(struct Qdisc *sch, struct nlattr *nla,
		      struct netlink_ext_ack *extack)
{
	unsigned int dropped = 0, dropped_bytes = 0;
	struct las_sched *q = qdisc_priv(sch);
	struct las_options opt = q->opt;
	struct sk_buff *skb;
	int err;

	err = las_parse(nla, &opt, extack);
	if (err)
		return err;
	if (opt.flows != q->opt.flows) {
		NL_SET_ERR_MSG(extack,
			       "las: flows is fixed once the qdisc exists: delete it and add it anew");
		return -EOPNOTSUPP;
	}

	sch_tree_lock(sch);
	las_apply_options(q, &opt);
	while (las_over_limit(q)) {
		skb = las_drop_last(sch);
		dropped++;
		dropped_bytes += qdisc_pkt_len(skb);
		rtnl_kfree_skbs(skb, skb);
	}
	if (dropped)
		qdisc_tree_reduce_backlog(sch, dropped, dropped_bytes);
	sch_tree_unlock(sch);
	return 0;
}

static int las_init(struct Qdisc *sch, struct nlattr *nla,
		    struct netlink_ext_ack *extack)
{
	struct las_sched *q = qdisc_priv(sch);
	struct las_options opt = {
		.limit		= LAS_DEFAULT_LIMIT,
		.memory_limit	= LAS_DEFAULT_MEMORY,
		.flows		= LAS_DEFAULT_FLOWS,
		.idle		= LAS_DEFAULT_IDLE,
		.fair		= LAS_DEFAULT_FAIR,
		.forgive	= LAS_DEFAULT_FORGIVE,
		.share		= LAS_DEFAULT_SHARE,
		.buffer		= LAS_DEFAULT_BUFFER,
		.log		= LAS_DEFAULT_LOG,
		.split_gso	= 1,
	};
	u32 queues;
	int err;

	q->virtual_time = LAS_RANK_LONG;
	if (nla) {
		err = las_parse(nla, &opt, extack);
		if (err)
			return err;
	}
	las_apply_options(q, &opt);
	err = tcf_block_get(&q->block, &q->filter_list, sch, extack);
	if (err)
		return err;
	/* On failure the core calls las_destroy(), if not las_reset() too */
	queues = sf_table_queues(opt.flows);
	return sf_table_init(&q->table, opt.flows) ?:
	       sf_heap_init(&q->tails, queues);
}

static void las_destroy(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);

	tcf_block_put(q->block);
	sf_heap_free(&q->tails);
	sf_table_free(&q->table);
}

static int las_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct las_sched *q = qdisc_priv(sch);

	return sf_options_dump(las_options, ARRAY_SIZE(las_options), &q->opt,
			       skb);
}

static int las_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct las_sched *q = qdisc_priv(sch);
	u32 room = READ_ONCE(q->room);
	struct tc_las_xstats st = {
		.type		= TC_LAS_XSTATS_QDISC,
		.drop_limit	= READ_ONCE(q->drop_limit),
		.drop_memory	= READ_ONCE(q->drop_memory),
		.drop_buffer	= READ_ONCE(q->drop_buffer),
		.flows_seen	= READ_ONCE(q->table.assigned),
		.evictions	= READ_ONCE(q->table.evictions),
		.overflow	= READ_ONCE(q->overflow_packets),
		.gso_split	= READ_ONCE(q->gso_split),
		.flows_queued	= sf_table_queued(&q->table) +
				  !!READ_ONCE(q->table.elsewhere),
		.records	= READ_ONCE(q->table.used),
		.memory		= READ_ONCE(q->memory),
		.memory_peak	= READ_ONCE(q->memory_peak),
		.room		= room == LAS_ROOM_UNKNOWN ? 0 : room,
	};

	return gnet_stats_copy_app(d, &st, sizeof(st));
}

/*
 * Classes: there is nothing inside to graft, change or find. X:1 and X:2 are
 * numbers for filters to name, the rest is for those who want to look.
 */
static struct Qdisc *las_leaf(struct Qdisc *sch, unsigned long cl)
{
	return NULL;
}

static unsigned long las_find(struct Qdisc *sch, u32 classid)
{
	return 0;
}

static unsigned long las_bind(struct Qdisc *sch, unsigned long parent,
			      u32 classid)
{
	return 0;
}

static void las_unbind(struct Qdisc *sch, unsigned long cl)
{
}

static struct tcf_block *las_tcf_block(struct Qdisc *sch, unsigned long cl,
				       struct netlink_ext_ack *extack)
{
	struct las_sched *q = qdisc_priv(sch);

	return cl ? NULL : q->block;
}

static int las_dump_class(struct Qdisc *sch, unsigned long cl,
			  struct sk_buff *skb, struct tcmsg *tcm)
{
	tcm->tcm_handle |= cl;
	return 0;
}

static int las_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				struct gnet_dump *d)
{
	struct las_sched *q = qdisc_priv(sch);
	const struct sf_flow *f = &q->table.flows[cl - TC_LAS_CLASS_FLOWS];
	struct tc_las_flow_xstats st = { .type = TC_LAS_XSTATS_FLOW };
	struct gnet_stats_queue qs = { 0 };

	sch_tree_lock(sch);
	if (f->queue) {
		qs.qlen = q->table.queues[f->queue].qlen;
		qs.backlog = q->table.queues[f->queue].backlog;
	}
	st.attained = f->attained;
	sch_tree_unlock(sch);
	if (gnet_stats_copy_queue(d, NULL, &qs, qs.qlen) < 0)
		return -1;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static void las_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	struct las_sched *q = qdisc_priv(sch);
	u32 flows = min_t(u32, q->opt.flows,
			  TC_H_MIN_MASK + 1 - TC_LAS_CLASS_FLOWS);
	u32 i;

	if (arg->stop)
		return;
	for (i = 0; i < flows; i++) {
		if (!READ_ONCE(q->table.flows[i].queue)) {
			arg->count++;
			continue;
		}
		if (!tc_qdisc_stats_dump(sch, TC_LAS_CLASS_FLOWS + i, arg))
			break;
	}
}

static const struct Qdisc_class_ops las_class_ops = {
	.leaf		=	las_leaf,
	.find		=	las_find,
	.tcf_block	=	las_tcf_block,
	.bind_tcf	=	las_bind,
	.unbind_tcf	=	las_unbind,
	.dump		=	las_dump_class,
	.dump_stats	=	las_dump_class_stats,
	.walk		=	las_walk,
};

static struct Qdisc_ops las_qdisc_ops __read_mostly = {
	.cl_ops		=	&las_class_ops,
	.id		=	"las",
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
MODULE_ALIAS_NET_SCH("las");

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
