/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a kind with groups of flows (groups.h) knows, and how it orders them
 */
#ifndef _SF_GROUPS_STATE_H
#define _SF_GROUPS_STATE_H

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

#define SF_ROOM_MIN		(64 << 10)	/* bytes */

/* The numbers of the rules in groups.h */
#define SF_FAIR			(256 << 10)	/* bytes */
#define SF_FORGIVE_SHARE	50		/* percent */
#define SF_NEWCOMERS		256		/* flows */
#define SF_KNOWN_SHARE		50		/* percent */
#define SF_LONG_SHARE		12		/* percent */

/* Flow records for each host record: at home a host has some tens of connections. */
#define SF_HOST_FLOWS		32

/*
 * A long flow attains no more than this beyond fair, so that it comes back soon,
 * and no less, so that one faster than forgive does not change sides each time
 * its queue is empty.
 */
#define SF_FAIR_MARGIN		(64 << 10)	/* bytes */

/* No flow is long that has attained less than a first window, however slow the link is. */
#define SF_FAIR_LEAST		(16U << 10)	/* bytes */

/* As fair: no flow is long. */
#define SF_NEVER		BIT_ULL(62)

/*
 * Bytes that may wait beyond `buffer` for each new or short flow, in all an eighth of `buffer`: a
 * web page opens many connections at once, and each sends an initial window.
 */
#define SF_SPARED		(16 << 10)
#define SF_SPARED_PART		8

/* Overdue long flows get at most this percentage of the bytes: short flows keep the rest. */
#define SF_LATE_MOST		50U

/* 1 / SF_ATTAINED_PART of what a flow has attained is a part of its visible size. */
#define SF_ATTAINED_PART	4

/*
 * In a rank a byte of the visible size counts as many bytes that the link sends. With 128 pages
 * stall a video beside them, with 512 streams starve.
 */
#define SF_PATIENCE		256

#define SF_LEAK_SHIFT		16

/*
 * An epoch ends with a measurement of the link, or if nothing has waited for as long as one takes
 * with the first packet after so long.
 */
#define SF_EPOCH		HZ

/* What is kept of counts of the last epochs has so many bits of fraction, in which it fades. */
#define SF_LATELY_SHIFT		8

/* A flow seen in so many epochs is one of those between which forgiving is divided. */
#define SF_AGE			12

/*
 * As many flows of SF_AGE may be forgiven all of the link's rate. Of more it becomes less, down to
 * forgive_share of it: what they have together others wait for.
 */
#define SF_FEW			8U

/* The level of streams is no more than so much of the link: young flows have no part in it. */
#define SF_LEVEL_MOST		BIT(SF_LEAK_SHIFT - 1)

/*
 * A flow stands that had packets waiting at so many more of the last epochs than it had none, of
 * which twice as many count, until it is silent for so long.
 */
#define SF_STANDS		4
#define SF_STOOD_FOR		(3 * HZ)

/* For so long short flows may keep long ones waiting before these are late. */
#define SF_DEBT			(3 * HZ)

/*
 * Newcomers and short flows leave long_share to those short flows, too, that have waited for so
 * long, or in a crowd for less: each time a full packet is owed, in hundredths of bytes, one of
 * them has it. SF_SOUGHT queues are looked at for one, in turn, and so many of the last by rank.
 * If there is none there is no other look until such a part of the debt is owed.
 */
#define SF_OWED			(100 * ETH_FRAME_LEN)
#define SF_OVERDUE		MS2TIME(1500)
#define SF_CROWDED		MS2TIME(200)
#define SF_LAST			16
#define SF_LOOK_SHIFT		8

/* When a packet is of no use any more: see above */
#define SF_STALE		4

/* So many short flows can be a crowd by what they have waiting. */
#define SF_CROWD		64

/* When a queue is sought, that of whatever host */
#define SF_ANY_HOST		U32_MAX

/* For so many measurements a small old flow counts as having waited. */
#define SF_AHEAD_OF		8

/* A SYN begins a new flow if nothing of the old one was seen for so long. */
#define SF_SILENCE		HZ

/* A newcomer is large if its first packet has more bytes. The bits of sorts: */
#define SF_SMALL		512
#define SF_LARGE		1
#define SF_NOT_TCP		2

/* So many queues that have sent since are put in order for one packet that is lost. */
#define SF_ORDERED		4096

/* Of so many equal queues, if there are more, one is drawn to lose a packet. */
#define SF_DRAW			16

struct sf_groups {
	struct sf_sched	s;
	struct sf_lists	top;
	struct sf_hosts	hosts;
	struct sf_heap	losers;		/* of the queues that have had two packets: who
					 * is to lose one
					 */
	struct sf_flow	overflow;	/* whose queue SF_ELSEWHERE is */
	u32		known_share;	/* percent */
	u32		long_share;	/* percent of the bytes that are the long ones' */
	s64		debt_max;	/* bytes * percent that these may do without */
	u32		tick;		/* the jiffy of the last packet, */
	codel_time_t	tick_time;	/* and when one of this jiffy came first */
	u32		hand;		/* the queue that was looked at last for who waits, */
	u32		last;		/* and the last in use since nothing waited, or after it */
	struct codel_params codel;
	struct codel_stats codel_stats;
	u64		fair;		/* what a long flow has attained, */
	u64		fair_from;	/* or sent by the link in half of buffer, if that is less */
	u64		leak;		/* bytes per jiffy << SF_LEAK_SHIFT, of each stream */
	u64		leak_part;	/* of other flows */
	u64		sent;		/* bytes of all flows */
	u64		stale;		/* as many, and what waits is of no use if it has for as
					 * long as stale_time, too; U64_MAX: never
					 */
	u64		streamed;	/* bytes of streams that came in this epoch, */
	u64		modest_bytes;	/* and of those of them that are modest */
	u64		level;		/* bytes, in SF_MEASURE */
	u64		ahead;		/* bytes that the link sends in SF_AHEAD_OF measurements */
	u64		drop_new;
	u32		share;		/* of the link's rate << SF_LEAK_SHIFT */
	u32		stream_share;	/* the same, of streams, */
	u32		parts;		/* and among how many that was divided */
	u32		level_share;	/* the same, of each that is greedy */
	u32		active;		/* flows of SF_AGE that have been seen in this epoch, */
	u32		greedy;		/* and those of them that are not modest streams */
	u32		active_lately;	/* as many of late, << SF_LATELY_SHIFT */
	u32		greedy_lately;
	u32		streamed_lately; /* the same of bytes, parts of the link << SF_LEAK_SHIFT */
	u32		modest_lately;
	u32		epoch_from;	/* jiffies when that began */
	u8		epoch;		/* its number; wraps */
	u32		newcomers_max;
	u32		quantum;
	codel_time_t	stale_time;
	bool		aqm;		/* long flows are held short by CoDel */
	bool		visible;	/* las: short flows rank by visible size */
	bool		drop_head;	/* who loses a packet loses the first */
};

/*
 * How a kind orders flows; constant, so that nothing is called by pointer. What a queue's
 * ranks depend on changes only when packets come to it or leave it, with options, or when the link
 * has been measured, which those that wait need not follow.
 */
struct sf_order {
	/* The rank of a short flow */
	u64 (*rank)(const struct sf_groups *g, const struct sf_flow *f,
		    const struct sf_queue *queue);
	/* Is a flow of which nothing was served yet one of the newcomers? Else it is known. */
	bool (*newcomers)(const struct sf_groups *g);
	/*
	 * Of the queues that are not long flows', the one of which this is least, and more
	 * than U32_MAX, is the first to lose a packet. It does not become less while packets
	 * leave.
	 */
	u64 (*loss)(const struct sf_groups *g, const struct sf_queue *queue);
	/* Which of @count that are equal in that, long flows' or not; NULL: the newest */
	u32 (*draw)(struct sf_groups *g, u32 count);
	/* Can a queue lose the only packet it has had while others have more? NULL: no */
	bool (*singles)(const struct sf_groups *g);
	/*
	 * Who loses a packet, if no long flow does: by shares if this or what it returns is
	 * NULL. The first of the losers, the last by rank and the newest are given, or NULL.
	 */
	struct sf_queue *(*last)(const struct sf_groups *g, struct sf_queue *loser,
				 struct sf_queue *ranked, struct sf_queue *newest);
};

static inline u32 sf_groups_number(const struct sf_groups *g, const struct sf_queue *queue)
{
	return queue - g->s.table.queues;
}

static inline struct sf_flow *sf_groups_flow(struct sf_groups *g,
					     const struct sf_queue *queue)
{
	return sf_is_elsewhere(queue) ? &g->overflow : &g->s.table.flows[queue->flow];
}

/* Is it not young? Without `forgive_share` all are. */
static __always_inline bool sf_groups_is_old(const struct sf_groups *g, const struct sf_flow *f)
{
	return f->age == SF_AGE && g->share;
}

/* What the link had sent when the first packet of a queue came, unless that is elsewhere */
static inline u64 sf_groups_sent_before(const struct sf_queue *queue)
{
	return sf_cb(queue->head)->rank;
}

/*
 * The same for a rank. Of an old flow with no more than SF_SMALL waiting it is less by what the
 * link sends in SF_AHEAD_OF measurements, or a call would wait for all the small flows of a flood
 * that came before.
 */
static inline u64 sf_groups_waits_from(const struct sf_groups *g, const struct sf_flow *f,
				       const struct sf_queue *queue)
{
	u64 sent = sf_groups_sent_before(queue);

	if (queue->backlog <= SF_SMALL && sf_groups_is_old(g, f))
		sent -= min(sent, g->ahead);
	return sent;
}

/*
 * The visible size of a short flow in bytes: a flow with little left to send goes first, as far as
 * that can be seen.
 */
static inline u64 sf_groups_visible_size(const struct sf_flow *f, const struct sf_queue *queue)
{
	return queue->backlog + f->attained / SF_ATTAINED_PART;
}

/*
 * Its rank by a size: the size counts less the longer the flow has waited, or of many streams that
 * are too much for the link those would starve that have attained most.
 */
static inline u64 sf_groups_rank_of_size(const struct sf_groups *g, const struct sf_flow *f,
					 const struct sf_queue *queue, u64 size)
{
	return sf_groups_waits_from(g, f, queue) + size * SF_PATIENCE;
}

/* The set that had no record for a packet that waits elsewhere */
static inline u32 sf_groups_overflow_set(const struct sk_buff *skb)
{
	return sf_cb(skb)->rank;
}

static inline struct sf_queue *sf_groups_queue_of(const struct rb_node *node)
{
	return rb_entry(node, struct sf_queue, node);
}

static inline bool sf_groups_less(struct rb_node *a, const struct rb_node *b)
{
	const struct sf_queue *x = sf_groups_queue_of(a), *y = sf_groups_queue_of(b);

	if (x->rank != y->rank)
		return x->rank < y->rank;
	return sf_earlier(x->head, y->head);
}

/*
 * Of which sort a newcomer is. That is the sender's to choose, and gains him other company,
 * but no more: each sort has its turn.
 */
static inline u8 sf_groups_sort(const struct sf_flow_key *key, const struct sk_buff *skb)
{
	return (key->proto == IPPROTO_TCP ? 0 : SF_NOT_TCP) |
	       (qdisc_pkt_len(skb) > SF_SMALL ? SF_LARGE : 0);
}

#endif
