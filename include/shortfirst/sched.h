/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kinds with flows have in common: packets in the queues of their flows
 * (flow_table.h), limits on all of them together, and what the parent is told.
 *
 * struct sf_sched is the first member of a kind's private data. All is under the
 * root qdisc's lock, statistics too: a dump takes it (sch_tree_lock()). What options a
 * dump tells, and of which flows and hosts there is something to tell (classes.h), it
 * reads without.
 */
#ifndef _SF_SCHED_H
#define _SF_SCHED_H

#include <linux/lockdep.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include "compat.h"
#include "flow_table.h"
#include "gso.h"
#include "link_rate.h"
#include "options.h"
#include "shaper.h"

/* What is told of a class: classes.h */
struct sf_told {
	u32		type;		/* TC_SF_CLASS_* */
	bool		hidden;		/* from whoever asks for it */
	u32		number;		/* of the record, or of the host */
	u32		sort;		/* TC_SF_SORT_*, of a flow; 0: none */
	u32		host;		/* of a flow */
	bool		source;		/* Has a host such an address? A flow has both. */
	bool		dest;
	struct sf_flow_key key;
	struct sf_sums	sums;
	u64		attained;	/* of a flow, if the kind knows, */
	u32		samples;	/* or this */
	bool		timed;		/* It has packets and the kind knows, */
	u32		waited;		/* us */
	bool		is_silent;	/* It has no packets, and has a record: */
	u32		silent;		/* ms */
	u32		qlen;
	u32		backlog;
	u32		flows;		/* of a host, with packets */
	u32		level;		/* of a host that has a record */
	bool		over;
};

struct sf_sched {
	u32		held;		/* packets in the queues */
	u32		memory;		/* truesize of them */
	u32		memory_peak;	/* the most it has been */
	u32		limit;		/* of the two */
	u32		memory_limit;
	u32		arrivals;	/* packets so far, to order equals; wraps */
	u32		victim;		/* the flow that lost a packet last;
					 * SF_NO_FLOW if the kind never drops
					 * older ones of the newcomer's
					 */
	bool		own_lost;	/* it has, for what comes now */
	bool		counts_all;	/* each packet counts, as the policy was published */
	u32		split;		/* which GSO packets are split: TC_SF_SPLIT_* */
	struct sf_table	table;
	struct sf_flow_key key;		/* of the packet that comes; on the stack it
					 * would have to be zeroed and guarded
					 */
	struct sf_link_rate link;
	struct tcf_proto __rcu *filter_list; /* of kinds with filters: filter.h */
	struct tcf_block *block;
	struct sf_shaper shaper;	/* in the line of filter_list, which each packet needs */
	/* statistics */
	u64		drop_limit;
	u64		drop_memory;
	u64		drop_buffer;
	u64		overflow;	/* packets that found no room in the table */
	u64		gso_split;
	struct sf_told	told;		/* the class of which a dump has told last; under RTNL */
};

struct sf_skb_cb {
	u64	rank;			/* for the kind */
	u32	arrival;
	u32	truesize;		/* as it was counted in sf_sched.memory */
	u32	flow;			/* flow_recent.h: its record, or SF_NO_FLOW */
} __packed __aligned(4);

static_assert(sizeof(struct sf_skb_cb) <= QDISC_CB_PRIV_LEN);

/* Where a packet that has arrived belongs */
struct sf_place {
	struct sf_flow	*flow;		/* NULL: it has no record */
	u32		hash;		/* of the flow's key */
	int		class;		/* for the kind */
	u32		host;		/* hosts.h */
	u32		named;		/* << SF_NAMED_SHIFT: the host that a tc filter has named */
};

#define SF_NAMED_SHIFT	2

/* A flow that was silent for longer is forgotten, as conntrack forgets one of UDP. */
#define SF_IDLE		60000	/* ms */

/* What sf_enqueue() needs of a kind; constant, so that nothing is called by pointer */
struct sf_kind {
	/*
	 * Put a packet in its place; limits may be exceeded then. Or refuse it,
	 * which is counted as a drop, but not by its cause: congestion.
	 */
	bool (*insert)(struct Qdisc *sch, struct sk_buff *skb, struct sf_place *to);
	/*
	 * Take the packet that has to make room off the queue, count it by its cause
	 * (sf_count_drop()) and say that in it (sf_set_drop_reason()), for when a
	 * packet comes: drops by a change are not told by reasons.
	 */
	struct sk_buff *(*take_victim)(struct Qdisc *sch);
	/* A packet whose place is known is not queued: count it for whom it is. */
	void (*dropped)(struct Qdisc *sch, const struct sf_place *to);
	/*
	 * More than the kind itself allows? @gone packets had to go for that already.
	 * NULL: it allows whatever limits do.
	 */
	bool (*over)(struct Qdisc *sch, unsigned int gone);
};

/* The attributes of the options that every kind has; options.h and shaper.h have their rows. */
struct sf_common {
	u16	limit;
	u16	memory_limit;
	u16	split_gso;
	u16	buffer;
	u16	rate;		/* the first of the shaper's */
	u16	overhead;
	u16	mpu;
	u16	framing;
	u16	ingress;	/* the last of the shaper's, and of all */
};

#define SF_COMMON(KIND)							\
	{								\
		.limit		= TCA_ ## KIND ## _LIMIT,		\
		.memory_limit	= TCA_ ## KIND ## _MEMORY_LIMIT,	\
		.split_gso	= TCA_ ## KIND ## _SPLIT_GSO,		\
		.buffer		= TCA_ ## KIND ## _BUFFER,		\
		.rate		= TCA_ ## KIND ## _RATE,		\
		.overhead	= TCA_ ## KIND ## _OVERHEAD,		\
		.mpu		= TCA_ ## KIND ## _MPU,			\
		.framing	= TCA_ ## KIND ## _FRAMING,		\
		.ingress	= TCA_ ## KIND ## _INGRESS,		\
	}

/*
 * A packet that finds the root qdisc empty may be sent at once, without us, if there is nothing to
 * shape and no filter to ask. It does not count then: nobody had to wait for it.
 */
static inline void sf_set_bypass(struct sf_sched *s)
{
	struct Qdisc *sch = s->shaper.watchdog.qdisc;

	if (s->shaper.limited || s->counts_all || rcu_access_pointer(s->filter_list))
		sch->flags &= ~TCQ_F_CAN_BYPASS;
	else
		sch->flags |= TCQ_F_CAN_BYPASS;
}

/* Let it be as those of @opt, by attribute; packets wait, or no @more do. */
static inline void sf_set_options(struct sf_sched *s, const struct sf_common *at, const u64 *opt,
				  bool more)
{
	struct sf_shaping shaping = {
		.rate		= opt[at->rate],
		.overhead	= opt[at->overhead],
		.mpu		= opt[at->mpu],
		.framing	= opt[at->framing],
		.ingress	= opt[at->ingress],
	};

	s->limit = opt[at->limit];
	s->memory_limit = opt[at->memory_limit];
	s->table.idle = msecs_to_jiffies(sf_number(opt, at->ingress, SF_NUMBER_IDLE, SF_IDLE));
	s->split = opt[at->split_gso];
	sf_link_set(&s->link, shaping.rate, msecs_to_jiffies(opt[at->buffer]));
	sf_shaper_set(&s->shaper, &shaping, more);
	sf_set_bypass(s);
}

/*
 * Do others change than the options of the shaper, which alone are cheap to change? @live is what
 * was before, all 0 in init.
 */
static inline bool sf_others_change(const struct sf_options *options, const struct sf_common *at,
				    const u64 *live, const u64 *opt)
{
	return sf_options_differ(options, live, opt, at->rate, at->ingress);
}

/* For init, before anything can fail, and for destroy */
static inline void sf_begin(struct Qdisc *sch)
{
	struct sf_sched *s = qdisc_priv(sch);

	s->victim = SF_NO_FLOW;
	s->shaper.idle = true;
	qdisc_watchdog_init(&s->shaper.watchdog, sch);
}

static inline void sf_end(struct sf_sched *s)
{
	qdisc_watchdog_cancel(&s->shaper.watchdog);
	tcf_block_put(s->block);
}

/*
 * Are the segments of a packet queued one by one? With `auto` they are if they take the link longer
 * than a millisecond.
 */
static inline bool sf_is_split(const struct sf_sched *s, const struct sk_buff *skb)
{
	if (!skb_is_gso(skb) || s->split == TC_SF_SPLIT_OFF)
		return false;
	return s->split == TC_SF_SPLIT_ON || qdisc_pkt_len(skb) > s->link.sends_ms;
}

/* What a dump is about to read must not change meanwhile: the root qdisc's lock is held. */
static inline void sf_assert_locked(const struct Qdisc *sch)
{
	lockdep_assert_held(qdisc_lock(qdisc_root_sleeping(sch)));
}

static inline struct sf_skb_cb *sf_cb(const struct sk_buff *skb)
{
	return (struct sf_skb_cb *)qdisc_skb_cb(skb)->data;
}

/* Whether @a has come before @b */
static inline bool sf_earlier(const struct sk_buff *a, const struct sk_buff *b)
{
	return (s32)(sf_cb(a)->arrival - sf_cb(b)->arrival) < 0;
}

static inline bool sf_is_overflow(const struct sf_queue *queue)
{
	return queue->flow == SF_NO_FLOW;
}

/* sf_read - the flow of a packet to s->key, its hash to @to; the flags of a TCP segment */
static __always_inline u8 sf_read(struct sf_sched *s, const struct sk_buff *skb,
				  struct sf_place *to)
{
	u8 flags = sf_flow_key_read(skb, &s->key);

	to->hash = sf_flow_key_hash(&s->key, &s->table.secret);
	return flags;
}

/* sf_find - the record of the flow that sf_read() has found, NULL if it has none */
static __always_inline struct sf_flow *sf_find(const struct sf_sched *s, const struct sf_place *to)
{
	return sf_table_find(&s->table, &s->key, to->hash);
}

/* sf_get - @f, which sf_find() has found, or a fresh one, to @to */
static __always_inline void sf_get(struct sf_sched *s, struct sf_flow *f, u32 now,
				   struct sf_place *to)
{
	to->flow = sf_table_get(&s->table, f, &s->key, to->hash, now);
	if (unlikely(!to->flow))
		s->overflow++;
}

/* Count @skb, which comes to @queue, there and everywhere. */
static __always_inline void sf_count_in(struct Qdisc *sch, struct sf_queue *queue,
					const struct sk_buff *skb)
{
	struct sf_sched *s = qdisc_priv(sch);

	queue->qlen++;
	queue->backlog += qdisc_pkt_len(skb);
	s->held++;
	s->memory += sf_cb(skb)->truesize;
	sf_count(sch->q.qlen, 1);
	qdisc_qstats_backlog_inc(sch, skb);
}

/* Count @skb, which is sent, for the flow or host whose sums these are. */
static __always_inline void sf_sum_sent(struct sf_sums *sums, const struct sk_buff *skb)
{
	sums->bytes += qdisc_pkt_len(skb);
	sums->packets += sf_pkt_segs(skb);
}

/* Link @skb to the end of @queue. */
static __always_inline void sf_link_skb(struct sf_queue *queue, struct sk_buff *skb)
{
	skb->next = NULL;
	if (!queue->qlen) {
		skb->prev = NULL;
		queue->head = skb;
	} else {
		skb->prev = queue->tail;
		queue->tail->next = skb;
	}
	queue->tail = skb;
}

/* The same, and count it. */
static __always_inline void sf_append(struct Qdisc *sch, struct sf_queue *queue,
				      struct sk_buff *skb)
{
	sf_link_skb(queue, skb);
	sf_count_in(sch, queue, skb);
}

/* The opposite, but for queue->qlen */
static __always_inline void sf_uncount(struct Qdisc *sch, struct sf_queue *queue,
				       const struct sk_buff *skb)
{
	struct sf_sched *s = qdisc_priv(sch);

	queue->backlog -= qdisc_pkt_len(skb);
	s->held--;
	s->memory -= sf_cb(skb)->truesize;
	sf_count(sch->q.qlen, -1);
	qdisc_qstats_backlog_dec(sch, skb);
}

/* Take the first packet of @queue. What sorts the queues is the caller's. */
static __always_inline struct sk_buff *sf_take_first(struct Qdisc *sch,
						     struct sf_queue *queue)
{
	struct sk_buff *skb = queue->head;

	sf_uncount(sch, queue, skb);
	if (--queue->qlen) {
		queue->head = skb->next;
		queue->head->prev = NULL;
		skb->next = NULL;
	}
	return skb;
}

/* The same with the packet behind the first one, if there is one */
static __always_inline struct sk_buff *sf_take_second(struct Qdisc *sch, struct sf_queue *queue)
{
	struct sk_buff *head = queue->head, *skb;

	if (queue->qlen == 1)
		return sf_take_first(sch, queue);
	skb = head->next;
	sf_uncount(sch, queue, skb);
	queue->qlen--;
	head->next = skb->next;
	if (skb->next)
		skb->next->prev = head;
	else
		queue->tail = head;
	skb->next = NULL;
	skb->prev = NULL;
	return skb;
}

/* The same with the last packet */
static __always_inline struct sk_buff *sf_take_last(struct Qdisc *sch,
						    struct sf_queue *queue)
{
	struct sk_buff *skb = queue->tail;

	sf_uncount(sch, queue, skb);
	if (--queue->qlen) {
		queue->tail = skb->prev;
		queue->tail->next = NULL;
		skb->prev = NULL;
	}
	return skb;
}

/*
 * Limits are on what the queues hold. qlen may be more: what has been peeked at,
 * or has come back from the driver, perhaps in many segments, is counted there,
 * but has left the queues and cannot be dropped.
 */
static inline bool sf_over_limit(const struct sf_sched *s)
{
	return s->held > s->limit || s->memory > s->memory_limit;
}

/*
 * For sf_kind.over, or a part of it: does more wait than `buffer` allows? Two packets go
 * for one that comes, since there may be much too many if the link has become slower.
 */
static inline bool sf_over_buffer(struct Qdisc *sch, unsigned int gone)
{
	const struct sf_sched *s = qdisc_priv(sch);

	return sch->qstats.backlog > s->link.room && s->held > 1 && gone < 2;
}

static __always_inline bool sf_over(struct Qdisc *sch, unsigned int gone,
				    const struct sf_kind *kind)
{
	return kind->over && kind->over(sch, gone);
}

/* Count the drop that comes by its cause: one of the two limits, or else `buffer`. */
static inline void sf_count_drop(struct sf_sched *s)
{
	if (s->held > s->limit)
		s->drop_limit++;
	else if (s->memory > s->memory_limit)
		s->drop_memory++;
	else
		s->drop_buffer++;
}

static inline void sf_note_peak(struct sf_sched *s)
{
	if (unlikely(s->memory > s->memory_peak))
		s->memory_peak = s->memory;
}

/* It would push out all others and still not fit. */
static inline bool sf_too_large(const struct sf_sched *s,
				const struct sk_buff *skb)
{
	return skb->truesize > s->memory_limit;
}

static noinline void sf_drop(struct sk_buff *skb, struct Qdisc *sch,
			     struct sk_buff **to_free, u32 reason)
{
	struct sf_sched *s = qdisc_priv(sch);

	qdisc_qstats_drop(sch);
	sf_shaper_dropped(&s->shaper, skb);
	sf_set_drop_reason(skb, reason);
	__qdisc_drop(skb, to_free);
}

static noinline void sf_drop_too_large(struct sk_buff *skb, struct Qdisc *sch,
				       struct sk_buff **to_free)
{
	struct sf_sched *s = qdisc_priv(sch);

	s->drop_memory++;
	sf_drop(skb, sch, to_free, SF_DROP_OVERLIMIT);
}

/*
 * Make room. Returns how many of the packets that came no earlier than @first, all of
 * one @flow, had to go.
 */
static __always_inline unsigned int sf_make_room(struct Qdisc *sch, u32 first,
						 const struct sf_flow *flow,
						 struct sk_buff **to_free,
						 const struct sf_kind *kind)
{
	struct sf_sched *s = qdisc_priv(sch);
	unsigned int excess = 0, gone = 0;
	struct sk_buff *skb;
	bool full;

	while ((full = sf_over_limit(s)) || sf_over(sch, excess, kind)) {
		excess += !full;
		skb = kind->take_victim(sch);
		qdisc_qstats_drop(sch);
		sf_shaper_dropped(&s->shaper, skb);
		/* Not by sign: what has waited for long is not what comes now. */
		if (sf_cb(skb)->arrival - first < s->arrivals - first)
			gone++;
		else if (flow && flow - s->table.flows == s->victim)
			s->own_lost = true;
		__qdisc_drop(skb, to_free);
	}
	return gone;
}

/*
 * What enqueue has to return when there were drops, or segments, and there were
 * @qlen packets of @backlog bytes before. @left packets are left of what came, which
 * was @len bytes. The parent is about to count what our return value says, one
 * packet of @len bytes or none: tell it how that differs from what happened.
 */
static inline int sf_result(struct Qdisc *sch, u32 qlen, u32 backlog,
			    unsigned int left, unsigned int len)
{
	int count = sch->q.qlen - qlen;
	u32 bytes = sch->qstats.backlog - backlog;
	struct sf_sched *s = qdisc_priv(sch);
	int ret = NET_XMIT_DROP;

	if (left && (s->own_lost || (left == sch->q.qlen && qlen))) {
		/*
		 * The sender is to hear of congestion if its flow has lost an
		 * older packet. Or the newcomer has replaced all others: taking
		 * them back before it is counted would show some ancestor an
		 * empty class, which it might put to sleep. Let it count none.
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

static noinline int sf_enqueue_segments(struct sk_buff *skb, struct Qdisc *sch,
					struct sf_place to,
					struct sk_buff **to_free,
					const struct sf_kind *kind)
{
	struct sk_buff *segs = sf_gso_segments(skb, sch), *next;
	struct sf_sched *s = qdisc_priv(sch);
	u32 backlog = sch->qstats.backlog;
	unsigned int len = qdisc_pkt_len(skb), left = 0;
	u32 first = s->arrivals;
	u32 qlen = sch->q.qlen;

	if (!segs) {
		kind->dropped(sch, &to);
		sf_drop(skb, sch, to_free, SF_DROP_GENERIC);
		return NET_XMIT_DROP;
	}
	s->gso_split++;
	s->own_lost = false;
	skb_list_walk_safe(segs, segs, next) {
		skb_mark_not_on_list(segs);
		if (unlikely(sf_too_large(s, segs))) {
			kind->dropped(sch, &to);
			sf_drop_too_large(segs, sch, to_free);
			continue;
		}
		if (!kind->insert(sch, segs, &to)) {
			kind->dropped(sch, &to);
			sf_drop(segs, sch, to_free, SF_DROP_CONGESTED);
			continue;
		}
		left += 1 - sf_make_room(sch, first, to.flow, to_free, kind);
		sf_note_peak(s);
	}
	consume_skb(skb);
	return sf_result(sch, qlen, backlog, left, len);
}

/* sf_enqueue - queue a packet whose place is known; what enqueue is to return */
static __always_inline int sf_enqueue(struct sk_buff *skb, struct Qdisc *sch,
				      struct sf_place *to,
				      struct sk_buff **to_free,
				      const struct sf_kind *kind)
{
	struct sf_sched *s = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb), gone;
	u32 qlen, backlog;
	int ret;

	if (sf_is_split(s, skb))
		return sf_enqueue_segments(skb, sch, *to, to_free, kind);
	if (unlikely(sf_too_large(s, skb))) {
		kind->dropped(sch, to);
		sf_drop_too_large(skb, sch, to_free);
		return NET_XMIT_DROP;
	}

	if (!kind->insert(sch, skb, to)) {
		kind->dropped(sch, to);
		sf_drop(skb, sch, to_free, SF_DROP_CONGESTED);
		return NET_XMIT_DROP;
	}
	ret = NET_XMIT_SUCCESS;
	if (unlikely(sf_over_limit(s) || sf_over(sch, 0, kind))) {
		qlen = sch->q.qlen - 1;
		backlog = sch->qstats.backlog - len;
		s->own_lost = false;
		gone = sf_make_room(sch, s->arrivals - 1, to->flow, to_free, kind);
		ret = sf_result(sch, qlen, backlog, 1 - gone, len);
	}
	sf_note_peak(s);
	return ret;
}

/*
 * sf_trim - drop what new limits do not allow; under sch_tree_lock(). What is more than `buffer`
 * allows goes as packets come.
 */
static inline void sf_trim(struct Qdisc *sch, const struct sf_kind *kind)
{
	struct sf_sched *s = qdisc_priv(sch);
	unsigned int dropped = 0, bytes = 0;
	struct sk_buff *skb;

	while (sf_over_limit(s) || sf_over(sch, UINT_MAX, kind)) {
		skb = kind->take_victim(sch);
		qdisc_qstats_drop(sch);
		sf_shaper_dropped(&s->shaper, skb);
		dropped++;
		bytes += qdisc_pkt_len(skb);
		rtnl_kfree_skbs(skb, skb);
	}
	if (dropped)
		qdisc_tree_reduce_backlog(sch, dropped, bytes);
}

#endif
