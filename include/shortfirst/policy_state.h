/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the policy of las and sqf knows (policy.h): its numbers, its state, and how a qdisc orders
 * flows in it
 */
#ifndef _SF_POLICY_STATE_H
#define _SF_POLICY_STATE_H

#include <linux/bits.h>
#include <linux/if_ether.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/rbtree.h>
#include <linux/skbuff.h>
#include <net/codel.h>
#include "compat.h"
#include "flow_heap.h"
#include "hosts.h"
#include "link_rate.h"
#include "lists.h"
#include "sched.h"

/*
 * The numbers of the policy. docs/design.md has what was measured for each.
 *
 * Classes. A flow is bulk from SF_BULK_FROM bytes attained on, or what the link sends in half of
 * `buffer`, but never with less than a first window. It attains no more than SF_BULK_MARGIN beyond
 * that, so that it can soon be short again.
 */
#define SF_BULK_FROM		(256 << 10)	/* bytes */
#define SF_BULK_MARGIN		(SF_BULK_FROM / 4)
#define SF_FIRST_WINDOW		(16U << 10)	/* bytes */
#define SF_NEVER		BIT_ULL(62)	/* bytes: no flow is bulk */
#define SF_SMALL		512		/* bytes: what a call has waiting at most */
#define SF_NEW_MAX		256		/* new flows */

/* The rank of a short flow: see sf_policy_rank_of_size(). */
#define SF_PATIENCE		256		/* bytes of the link for each byte of size */
#define SF_ATTAINED_PART	4
#define SF_HEAD_START		(8 * SF_MEASURE)	/* jiffies */

/* Shares, in percent */
#define SF_HALF			50
#define SF_BULK_SHARE		12		/* of bulk flows, and of overdue short flows */
#define SF_SHORT_SHARE		SF_HALF		/* of short flows, beside new ones */
#define SF_OVERDUE_SHARE	SF_HALF		/* of bulk flows that are overdue, at most */
#define SF_DECAY_SHARE		SF_HALF		/* of an equal part of the link */

/* Times */
#define SF_DEBT			(3 * HZ)	/* jiffies: bulk flows that lack it are overdue */
#define SF_OVERDUE_WAIT		MS2TIME(1500)	/* a short flow is overdue */
#define SF_OVERLOAD_WAIT	MS2TIME(200)	/* the same in overload */
#define SF_EPOCH		HZ		/* an epoch without a measurement */
#define SF_EXPIRE		4		/* times `buffer`: a packet is of no use */

/* Short flows are in overload if this many hold half of what may wait. */
#define SF_OVERLOAD		(SF_NEW_MAX / SF_SUBCLASSES)

/*
 * Activity. A flow is old once it was seen in SF_AGE epochs. It has a standing queue if it was
 * backlogged in SF_STANDING more of the last epochs than not. Up to SF_FEW sparse flows may send
 * all of the link's rate without becoming bulk.
 */
#define SF_AGE			12
#define SF_STANDING		4
#define SF_FEW			8U

/* The most that is looked at for one packet: flows that are overdue, equal, or in another order */
#define SF_LAST_RANKED		16
#define SF_EQUAL_MAX		16
#define SF_DROP_HEAP_FIXES	128

/* Fixed points; the credit with which an overdue flow is sought, in hundredths of bytes */
#define SF_DECAY_SHIFT		16
#define SF_SMOOTH_SHIFT		8
#define SF_OVERDUE_PRICE	(100 * ETH_FRAME_LEN)
#define SF_SCAN_PAUSE_SHIFT	8	/* of debt_max: until the next search if there is none */

#define SF_ROOM_MIN		(64 << 10)	/* bytes that may wait on the slowest link */
#define SF_HOST_FLOWS		32		/* flow records for each host record */
#define SF_ANY_HOST		U32_MAX

/* Bits of a new flow's subclass: its first packet is large, it is not TCP */
#define SF_LARGE		1
#define SF_NOT_TCP		2

struct sf_policy {
	struct sf_sched	s;
	struct sf_lists	top;		/* flows of hosts within their share, and all hosts' bulk */
	struct sf_hosts	hosts;
	struct sf_heap	drop_heap;	/* queues that have had two packets: drop candidates */
	struct sf_flow	overflow;	/* the flow of queue SF_OVERFLOW */
	u32		short_share;	/* percent; 0: none is guaranteed */
	u32		bulk_share;	/* percent */
	s64		debt_max;	/* bytes * percent that bulk flows lack in SF_DEBT */
	u32		tick;		/* jiffies when a packet came last */
	codel_time_t	tick_time;	/* when the first packet of that jiffy came */
	u32		scan;		/* queue that was examined last for an overdue flow */
	u32		scan_last;	/* highest queue used since the qdisc was empty */
	struct codel_params codel;
	struct codel_stats codel_stats;
	u64		bulk_most;	/* bytes attained: SF_BULK_FROM */
	u64		bulk_from;	/* the same on this link */
	u64		sparse_decay;	/* bytes per jiffy << SF_DECAY_SHIFT, of a sparse flow */
	u64		decay;		/* the same of other flows */
	u64		sent;		/* bytes of all flows so far */
	u64		expire_bytes;	/* a packet expires after so much of `sent` */
	u64		sparse_bytes;	/* bytes of sparse flows that came in this epoch */
	u64		modest_bytes;	/* those of them from flows below fair_level */
	u64		fair_level;	/* bytes per SF_MEASURE that a greedy flow may have */
	u64		head_start;	/* bytes that the link sends in SF_HEAD_START */
	u64		drop_new;	/* packets of new flows that were refused */
	u32		decay_share;	/* of the link's rate << SF_DECAY_SHIFT; 0: no decay */
	u32		sparse_share;	/* the same of sparse flows, before it is divided */
	u32		parts;		/* flows among which these are divided */
	u32		fair_share;	/* fair_level as a part of the link << SF_DECAY_SHIFT */
	u32		active;		/* old flows seen in this epoch */
	u32		greedy;		/* those of them that are not modest */
	u32		active_smoothed;	/* flows << SF_SMOOTH_SHIFT */
	u32		greedy_smoothed;	/* the same */
	u32		sparse_smoothed;	/* part of the link << SF_DECAY_SHIFT */
	u32		modest_smoothed;	/* the same */
	u32		epoch_from;	/* jiffies when the epoch began */
	u8		epoch;		/* its number; wraps */
	u32		new_max;	/* new flows that may wait; U32_MAX: no bound */
	u32		quantum;	/* bytes that a bulk flow sends in its turn */
	u32		to_sort;	/* backlogged queues in t.spare while options change */
	codel_time_t	expire_time;
	bool		aqm;		/* CoDel is on */
	bool		visible;	/* las: short flows rank by visible size */
	bool		drop_head;	/* a queue drops its first packet */
};

/*
 * How a qdisc orders flows; constant, so that nothing is called by pointer. What a rank depends on
 * changes only when packets come to the queue or leave it, with options, or with a measurement,
 * which waiting queues need not follow.
 */
struct sf_order {
	/* The rank of a short flow */
	u64 (*rank)(const struct sf_policy *p, const struct sf_flow *f,
		    const struct sf_queue *queue);
	/* Is there a class of new flows? */
	bool (*has_new)(const struct sf_policy *p);
	/*
	 * The rank of a queue that is not bulk as a drop candidate; the least drops first. It is
	 * more than U32_MAX, and does not become less while packets leave.
	 */
	u64 (*drop_rank)(const struct sf_policy *p, const struct sf_queue *queue);
	/* Which of @count drop candidates of equal rank; NULL: the newest */
	u32 (*pick)(struct sf_policy *p, u32 count);
	/* Can a queue drop the only packet that it has had? NULL: no */
	bool (*drops_singles)(const struct sf_policy *p);
	/*
	 * The drop victim if it is no bulk flow, of the first drop candidate, the last by rank and
	 * the newest new flow; any may be NULL. NULL: by shares, and so if it returns NULL
	 */
	struct sf_queue *(*victim)(const struct sf_policy *p, struct sf_queue *candidate,
				   struct sf_queue *ranked, struct sf_queue *newest);
};

static inline u32 sf_policy_number(const struct sf_policy *p, const struct sf_queue *queue)
{
	return queue - p->s.table.queues;
}

static inline struct sf_flow *sf_policy_flow(struct sf_policy *p, const struct sf_queue *queue)
{
	return sf_is_overflow(queue) ? &p->overflow : &p->s.table.flows[queue->flow];
}

/* An old flow; without decay all are. */
static __always_inline bool sf_policy_is_old(const struct sf_policy *p, const struct sf_flow *f)
{
	return f->age == SF_AGE && p->decay_share;
}

/* What the link had sent when the first packet of a queue came; not of the overflow queue */
static inline u64 sf_policy_sent_before(const struct sf_queue *queue)
{
	return sf_cb(queue->head)->rank;
}

/*
 * The same for a rank. An old flow with little waiting has a head start, or a call would wait for
 * all the small flows of a flood that came before.
 */
static inline u64 sf_policy_waits_from(const struct sf_policy *p, const struct sf_flow *f,
				       const struct sf_queue *queue)
{
	u64 sent = sf_policy_sent_before(queue);

	if (queue->backlog <= SF_SMALL && sf_policy_is_old(p, f))
		sent -= min(sent, p->head_start);
	return sent;
}

/* The visible size of a flow in bytes: what tells best how much it has left to send */
static inline u64 sf_policy_visible_size(const struct sf_flow *f, const struct sf_queue *queue)
{
	return queue->backlog + f->attained / SF_ATTAINED_PART;
}

/*
 * The rank of a flow by a size. A flow that comes after the link has sent SF_PATIENCE times that
 * size goes behind it, however short it is: or among many streams that are too much together those
 * that have attained most would starve.
 */
static inline u64 sf_policy_rank_of_size(const struct sf_policy *p, const struct sf_flow *f,
					 const struct sf_queue *queue, u64 size)
{
	return sf_policy_waits_from(p, f, queue) + size * SF_PATIENCE;
}

/* The set of the table that had no record for a packet in the overflow queue */
static inline u32 sf_policy_overflow_set(const struct sk_buff *skb)
{
	return sf_cb(skb)->rank;
}

static inline struct sf_queue *sf_policy_queue_of(const struct rb_node *node)
{
	return rb_entry(node, struct sf_queue, node);
}

static inline bool sf_policy_less(struct rb_node *a, const struct rb_node *b)
{
	const struct sf_queue *x = sf_policy_queue_of(a), *y = sf_policy_queue_of(b);

	if (x->rank != y->rank)
		return x->rank < y->rank;
	return sf_earlier(x->head, y->head);
}

/* The subclass of a new flow. A sender can choose it, and gains other company by that. */
static inline u8 sf_policy_subclass(const struct sf_flow_key *key, const struct sk_buff *skb)
{
	return (key->proto == IPPROTO_TCP ? 0 : SF_NOT_TCP) |
	       (qdisc_pkt_len(skb) > SF_SMALL ? SF_LARGE : 0);
}

#endif
