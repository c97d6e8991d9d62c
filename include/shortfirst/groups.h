/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A scheduler of flows under which nobody starves, whatever the others send. How a kind
 * ranks its short flows is its own.
 *
 * Flows with packets are in three groups:
 *
 *	new	flow A: [ ]  flow B: [ ][ ]  flow C: [ ]	by arrival: a list
 *		flow D: [ ]					of each sort, in turn
 *
 *	short	flow E: [ ][ ]		  rank 3750		by rank: an rbtree
 *		flow F: [ ][ ]...[ ]	  rank 97500
 *
 *	long	flow G: [ ][ ]...[ ]				in turn: a list
 *		all that have no record: [ ]...[ ]
 *
 *	losers	G, F, E, B					who is to lose a packet: a heap
 *
 * - A newcomer has had nothing served yet. Newcomers go first, but while there are any, the
 *   short flows are owed `known_share` of the bytes (bands.h), and there are no more than
 *   `newcomers` of them: what is one too many is dropped and not remembered. Ever new
 *   tuples are the cheapest of attacks: they hurt newcomers only, and of these only those
 *   of their own sort, by the size of the first packet and whether it is of TCP. A quarter
 *   of `newcomers` of a sort may wait, however many others do. Who sends of all sorts has
 *   to share his rate among them. Without `known_share` there are no sorts.
 * - A short flow is one of a low rank or of a high one: the lowest goes first. Of equal
 *   ranks it is the one whose first packet has waited for longest. Where it grows shorter as it
 *   waits, by 1 byte for so many that the link sends, which is the kind's patience, its rank is
 *
 *	what the link had sent when its first packet came + patience * its size
 *
 *   and whoever comes once the link has sent that much goes behind it, however short he is.
 *   Who sends more than one packet of each tuple makes them known. So short flows come to be a
 *   crowd when as many of them wait as `newcomers`, or SF_CROWD that have half of what may wait,
 *   and are one until none of them waits. A few larger ones are none: who is smaller passes by.
 *   As long as they are, who is young, which is not yet of SF_AGE, comes to the newcomers, known or
 *   not, and remains there: what waits already is served by and by, and of the others each sort
 *   has its turn, and its room. To be old takes packets in SF_AGE measurements of the link, and
 *   `forgive_share`. Without `known_share` nothing is a crowd.
 * - A long flow has attained more than `fair`, or than the link sends in half of `buffer`.
 *   Long flows are served in turn, `quantum` bytes each, after all others, but they are owed
 *   `long_share` of the bytes. Until that comes to SF_DEBT it costs short ones nothing: what long
 *   ones have had beyond it counts, as does a time in which none of them waited. Then they are
 *   late, and owed as much as fair queueing would give them, until nobody else waits.
 *   Of what newcomers and short flows send those short ones have that part, too, that have
 *   waited for SF_OVERDUE; in a crowd those who have for SF_CROWDED have `known_share`, if that is
 *   more. A short flow that is the first and has no more than SF_SMALL waiting, such as a call,
 *   goes ahead of all these, whatever they are owed, for an eighth of what they send (SF_AHEAD);
 *   they share the rest. A long flow's own queue is held short by CoDel
 *   (codel.h). Short flows are left alone: a drop would cost them a timeout.
 *
 * What a flow has attained leaks, but never what waits. A stream is a flow of SF_AGE that does not
 * stand, which is to mostly have packets waiting, or to have been held short by CoDel of late. It
 * is forgiven an equal part of the link's rate, two of them as long as all streams together send no
 * more than half of what the link does, and no less than the level as long as they send less than
 * three quarters. The level is what modest streams leave of the link, divided among the other flows
 * of SF_AGE, and no more than half of it. A stream is modest in a measurement in which it has not
 * attained more than the level, or than a packet, and is not long. So streams have what max-min
 * fairness among flows of SF_AGE would give them. They are forgiven it also for the time that they
 * wait, up to their last arrival.
 * All others are forgiven `forgive_share` of a part, and nothing for the time in which they wait:
 * else who is kept waiting for long would come to be as short as a newcomer. Of more than SF_FEW
 * flows a part becomes less, down to this share of it. `forgive` is what everybody has at least. So
 * who takes no more than he is forgiven, such as a call, a VPN or a video, stays a short flow
 * however long he does, and what has been a bulk transfer is one again soon after. Streams that are
 * seen in each measurement keep no more of the link than three quarters, or an equal part each;
 * what others are forgiven has no bound.
 *
 * Whose turn it is loses first what has waited while the link has sent SF_STALE times what may
 * wait, but for the last packet: who sent it has long sent it again, or given up.
 *
 * A full buffer takes from the longest queue of a long flow (a heap, flow_heap.h) if long
 * flows have more than their share waiting, else as sf_groups_victim() says. The records of
 * the flows, with packets or without, and the queues of those with packets are in a table of
 * fixed size (flow_table.h). What finds no room in it waits in one queue, that of a long
 * flow.
 *
 * With `hosts` long flows wait in lists of their host, which send in turn; so do all flows of a
 * host that is over its share. For those who are not, the lists of the others are one long
 * flow's (hosts.h).
 *
 * The limits are what 10 Gbit/s need. On slower links `buffer` bounds what waits to
 * what the link sends in that time (link_rate.h).
 *
 * All of this is under the root qdisc's lock; sched.h says what a dump reads without. No
 * packet may bypass the queue (TCQ_F_CAN_BYPASS): it would not be attained. struct
 * sf_groups is the first member of a kind's private data.
 */
#ifndef _SF_GROUPS_H
#define _SF_GROUPS_H

#include <linux/bits.h>
#include <linux/if_ether.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/rbtree.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/codel.h>
#include <net/codel_impl.h>
#include "bands.h"
#include "classes.h"
#include "compat.h"
#include "flow_heap.h"
#include "hosts.h"
#include "link_rate.h"
#include "lists.h"
#include "sched.h"

#define SF_ROOM_MIN		(64 << 10)	/* bytes */

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

#define SF_LEAK_SHIFT		16

/*
 * A flow seen in so many measurements of the link is one of those between which forgiving is
 * divided.
 */
#define SF_AGE			12

/*
 * As many flows of SF_AGE may be forgiven all of the link's rate. Of more it becomes less, down to
 * forgive_share of it: what they have together others wait for.
 */
#define SF_FEW			8U

/* The level of streams is no more than so much of the link: young flows have no part in it. */
#define SF_LEVEL_MOST		BIT(SF_LEAK_SHIFT - 1)

/*
 * A flow stands that had packets waiting at so many more of the last measurements than it had
 * none, of which twice as many count. So does one of whose queue CoDel has said so, until it had
 * none at as many as three seconds have: a download that CoDel holds short mostly has no queue.
 */
#define SF_STANDS		4
#define SF_STOOD		(SF_STANDS - 1 + 3 * HZ / SF_MEASURE)

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
#define SF_AHEAD_OF		4

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
	u64		leak_min;
	u64		sent;		/* bytes of all flows */
	u64		stale;		/* so many, and what waits is of no use; U64_MAX: never */
	u64		streamed;	/* bytes of streams that came in this epoch, */
	u64		modest_bytes;	/* and of those that are modest */
	u64		level;		/* bytes, in SF_MEASURE */
	u64		drop_new;
	u32		share;		/* of the link's rate << SF_LEAK_SHIFT */
	u32		stream_share;	/* the same, of streams in the last epoch, */
	u32		parts;		/* and among how many that was divided */
	u32		level_share;	/* the same, of each that is greedy */
	u32		active;		/* flows of SF_AGE that have been seen in this epoch, */
	u32		greedy;		/* and those of them that are not modest streams */
	u8		epoch;		/* measurements of the link; wraps */
	u32		newcomers_max;
	u32		quantum;
	bool		aqm;		/* long flows are held short by CoDel */
	bool		not_waiting;	/* who waits is not forgiven anything */
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
		sent -= min(sent, g->s.link.measured * SF_AHEAD_OF);
	return sent;
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

/* The first of a list, or what has no packets if it is empty */
static inline struct sf_queue *sf_groups_first_of(const struct sf_groups *g,
						  const struct sf_lists *l, u32 list)
{
	return &g->s.table.queues[l->first[list]];
}

/* Those that a queue is in */
static inline struct sf_lists *sf_groups_lists(struct sf_groups *g, const struct sf_queue *queue)
{
	return queue->own ? &g->hosts.own[queue->host] : &g->top;
}

/* Do newcomers of several sorts wait? Only then it counts what each sort has. */
static inline bool sf_groups_sorts_meet(const struct sf_lists *l)
{
	u32 sorts = l->busy & SF_ALL_NEW_FLOWS;

	return sorts & (sorts - 1);
}

/*
 * The newcomer that is served next, or what has no packets if there is none: of the sort that
 * has had least, or if newcomers are not held apart, the first.
 */
static inline struct sf_queue *sf_groups_next_new(const struct sf_groups *g,
						  const struct sf_lists *l)
{
	u32 sort = __ffs(l->busy | BIT(SF_LONG_FLOWS - 1));
	struct sf_queue *found = sf_groups_first_of(g, l, sort), *queue;

	if (likely(!sf_groups_sorts_meet(l)))
		return found;
	for (sort++; sort < SF_LONG_FLOWS; sort++) {
		if (!l->queues[sort])
			continue;
		queue = sf_groups_first_of(g, l, sort);
		if (g->known_share ? l->had[sort] < l->had[found->group] :
				       sf_earlier(queue->head, found->head))
			found = queue;
	}
	return found;
}

/* The last of a list, NULL if it is empty */
static inline struct sf_queue *sf_groups_end_of(const struct sf_groups *g,
						const struct sf_lists *l, u32 list)
{
	struct sf_queue *queues = g->s.table.queues;

	return l->first[list] ? &queues[queues[l->first[list]].listed.prev] : NULL;
}

/* The last of a list that is the host's, or NULL */
static inline struct sf_queue *sf_groups_end_of_host(const struct sf_groups *g,
						     const struct sf_lists *l, u32 list, u32 host)
{
	struct sf_queue *queue = sf_groups_end_of(g, l, list);
	u32 i = queue ? min_t(u32, l->queues[list], SF_SOUGHT) : 0;

	for (; i; i--, queue = &g->s.table.queues[queue->listed.prev])
		if (queue->host == host || host == SF_ANY_HOST)
			return queue;
	return NULL;
}

/*
 * A host's newest of that sort of which most wait, or if newcomers are not held apart, of all.
 * In lists that are not the host's own no more than SF_SOUGHT of a sort are looked at.
 */
static inline struct sf_queue *sf_groups_newest(const struct sf_groups *g,
						const struct sf_lists *l, u32 host)
{
	struct sf_queue *found = NULL, *queue;
	u32 sort;

	for (sort = SF_NEW_FLOWS; sort < SF_LONG_FLOWS; sort++) {
		queue = sf_groups_end_of_host(g, l, sort, host);
		if (queue && (!found || (g->known_share ?
					 l->queues[sort] > l->queues[found->group] :
					 sf_earlier(found->head, queue->head))))
			found = queue;
	}
	return found;
}

/* A host's last by rank, of as many */
static inline struct sf_queue *sf_groups_last_ranked(const struct sf_lists *l, u32 host)
{
	struct rb_node *node = rb_last(&l->ranked.rb_root);
	struct sf_queue *queue;
	u32 i;

	for (i = 0; node && i < SF_SOUGHT; i++, node = rb_prev(node)) {
		queue = sf_groups_queue_of(node);
		if (queue->host == host || host == SF_ANY_HOST)
			return queue;
	}
	return NULL;
}

/* The bytes of newcomers that wait */
static inline u64 sf_groups_waiting_new(const struct sf_lists *l)
{
	u64 bytes = 0;
	u32 sort;

	for (sort = SF_NEW_FLOWS; sort < SF_LONG_FLOWS; sort++)
		bytes += l->waiting[sort];
	return bytes;
}

/* Count bytes that come to a queue. For the top lists all in hosts' own are long flows'. */
static __always_inline void sf_groups_count(struct sf_groups *g, const struct sf_queue *queue,
					    u32 bytes)
{
	u8 group = queue->group;

	if (unlikely(queue->own)) {
		g->hosts.own[queue->host].waiting[group] += bytes;
		group = SF_LONG_FLOWS;
	}
	g->top.waiting[group] += bytes;
}

/* Bytes that have waited in a queue are gone. */
static __always_inline void sf_groups_uncount(struct sf_groups *g, const struct sf_queue *queue,
					      u32 bytes)
{
	sf_groups_count(g, queue, -bytes);
	if (unlikely(queue->host))
		g->hosts.host[queue->host].backlog -= bytes;
}

/* Put a queue in the order of its group there. */
static __always_inline void sf_groups_add(struct sf_groups *g, struct sf_lists *l,
					  struct sf_queue *queue, const struct sf_order *order)
{
	struct sf_flow *f = sf_groups_flow(g, queue);
	u8 group = queue->group;

	sf_lists_count(l, group, g->debt_max);
	if (group == SF_SHORT_FLOWS) {
		l->crowd |= l->queues[group] >= g->newcomers_max ||
			    (l->queues[group] >= SF_CROWD &&
			     l->waiting[group] > g->s.link.room / 2);
		queue->rank = order->rank(g, f, queue);
		rb_add_cached(&queue->node, &l->ranked, sf_groups_less);
		return;
	}
	sf_list_add(g->s.table.queues, &l->first[group], sf_groups_number(g, queue));
	if (group == SF_LONG_FLOWS) {
		codel_vars_init(&queue->codel);
		/* What it has sent beyond its turn is not forgotten. */
		f->deficit = min(f->deficit, 0) + (s32)g->quantum;
		return;
	}
	l->newcomers++;
}

/* And take it out again. */
static __always_inline void sf_groups_del(struct sf_groups *g, struct sf_lists *l,
					  struct sf_queue *queue)
{
	u8 group = queue->group;

	sf_lists_uncount(l, group);
	if (sf_groups_is_new(group))
		l->newcomers--;
	if (group == SF_SHORT_FLOWS)
		rb_erase_cached(&queue->node, &l->ranked);
	else
		sf_list_del(g->s.table.queues, &l->first[group], sf_groups_number(g, queue));
}

/* A queue comes to a group, of a host's own lists if it is to be there. */
static __always_inline void sf_groups_enter(struct sf_groups *g, struct sf_queue *queue,
					    u8 group, bool own, const struct sf_order *order)
{
	struct sf_lists *l = &g->top;

	queue->group = group;
	queue->own = own;
	sf_groups_count(g, queue, queue->backlog);
	if (unlikely(own)) {
		l = &g->hosts.own[queue->host];
		if (!l->busy) {
			sf_lists_forget_turns(l);
			sf_lists_forget_debt(l, g->debt_max);
			sf_host_begin(&g->hosts, queue->host, g->s.arrivals);
		}
		sf_lists_count(&g->top, SF_LONG_FLOWS, g->debt_max);
	}
	sf_groups_add(g, l, queue, order);
}

static noinline void sf_groups_leave_own(struct sf_groups *g, struct sf_queue *queue)
{
	struct sf_lists *l = &g->hosts.own[queue->host];

	sf_groups_del(g, l, queue);
	sf_lists_uncount(&g->top, SF_LONG_FLOWS);
	if (!l->busy)
		sf_host_end(&g->hosts, queue->host);
}

/* A queue leaves its group; what waits there of it is no longer counted. */
static __always_inline void sf_groups_leave(struct sf_groups *g, struct sf_queue *queue)
{
	if (unlikely(queue->own))
		sf_groups_leave_own(g, queue);
	else
		sf_groups_del(g, &g->top, queue);
	queue->group = SF_NOBODYS;
}

/* Those that a queue with packets is to be in, if it is no long flow's */
static __always_inline const struct sf_lists *sf_groups_lists_for(const struct sf_groups *g,
								  const struct sf_queue *queue)
{
	if (unlikely(queue->host) && sf_host_over(&g->hosts, &g->hosts.host[queue->host]))
		return &g->hosts.own[queue->host];
	return &g->top;
}

/* Are the short flows a crowd? */
static __always_inline bool sf_groups_crowded(const struct sf_groups *g, const struct sf_lists *l)
{
	return unlikely(l->crowd) && g->known_share;
}

/* Does a short flow come to the newcomers there, though it is known, since it is young? */
static __always_inline bool sf_groups_crowded_out(const struct sf_groups *g,
						  const struct sf_lists *l,
						  const struct sf_flow *f)
{
	return sf_groups_crowded(g, l) && !sf_groups_is_old(g, f) && !f->priority;
}

/* Which order a queue with packets belongs to */
static __always_inline u8 sf_groups_group(const struct sf_groups *g,
					  const struct sf_queue *queue,
					  const struct sf_flow *f,
					  const struct sf_order *order)
{
	bool fresh = !f->known && order->newcomers(g);

	if (unlikely(sf_is_elsewhere(queue)))
		return SF_LONG_FLOWS;
	if (!fresh && f->attained >= g->fair_from && !f->priority)
		return SF_LONG_FLOWS;
	if (!fresh && (queue->group == SF_SHORT_FLOWS ||
		       !sf_groups_crowded_out(g, sf_groups_lists_for(g, queue), f)))
		return SF_SHORT_FLOWS;
	return sf_groups_is_new(queue->group) ? queue->group :
		SF_NEW_FLOWS + sf_groups_sort(&f->key, queue->head);
}

/*
 * What a queue is in the heap of losers, whose root is the first to lose a packet: of the
 * long flows the longest queue, then as the kind says; of equals the newest.
 */
static struct sf_heap_node sf_groups_loser(const struct sf_groups *g,
					   const struct sf_queue *queue,
					   const struct sf_order *order)
{
	u64 rank = U32_MAX - queue->backlog;

	if (queue->group != SF_LONG_FLOWS)
		rank = order->loss(g, queue);
	return (struct sf_heap_node) { rank, ~sf_cb(queue->tail)->arrival,
				       sf_groups_number(g, queue) };
}

static void sf_groups_loser_moved(struct sf_groups *g, const struct sf_queue *queue,
				  const struct sf_order *order)
{
	sf_heap_move(&g->losers, sf_groups_loser(g, queue, order));
}

/* Put a queue with packets where it belongs in the heap, if it is to be there. */
static __always_inline void sf_groups_lose(struct sf_groups *g, struct sf_queue *queue,
					   const struct sf_order *order)
{
	if (queue->heaped) {
		sf_groups_loser_moved(g, queue, order);
	} else if (queue->qlen > 1 || (order->singles && order->singles(g))) {
		queue->heaped = true;
		sf_heap_add(&g->losers, sf_groups_loser(g, queue, order));
	}
}

/* A host's queue has packets now; its flow remembers whose it is. */
static inline void sf_groups_take_host_of(struct sf_groups *g, const struct sf_queue *queue)
{
	sf_host_take(&g->hosts, queue->host);
	if (!sf_is_elsewhere(queue))
		g->hosts.of_flow[queue->flow] = queue->host;
}

/* Put a queue with packets into another group, or its first. */
static noinline void sf_groups_move(struct sf_groups *g, struct sf_queue *queue, u8 group,
				    bool own, const struct sf_order *order)
{
	if (queue->group != SF_NOBODYS) {
		sf_groups_count(g, queue, -queue->backlog);
		sf_groups_leave(g, queue);
	} else if (queue->host) {
		sf_groups_take_host_of(g, queue);
	}
	sf_groups_enter(g, queue, group, own, order);
	/* There it may be more of a loser than it was. */
	if (queue->heaped)
		sf_groups_loser_moved(g, queue, order);
}

/*
 * The rank of a short flow's queue has changed. Its first packet is the same or a later one, so
 * that it comes forward only by a lower rank.
 */
static noinline void sf_groups_rank_again(struct sf_groups *g, struct sf_queue *queue,
					  const struct sf_order *order)
{
	struct sf_lists *l = sf_groups_lists(g, queue);
	struct rb_node *beside;
	u64 was = queue->rank;
	bool moves;

	queue->rank = order->rank(g, sf_groups_flow(g, queue), queue);
	if (queue->rank < was) {
		beside = rb_prev(&queue->node);
		moves = beside && sf_groups_less(&queue->node, beside);
	} else {
		beside = rb_next(&queue->node);
		moves = beside && sf_groups_less(beside, &queue->node);
	}
	if (moves) {
		rb_erase_cached(&queue->node, &l->ranked);
		rb_add_cached(&queue->node, &l->ranked, sf_groups_less);
	}
}

/* sf_groups_place() of a host's queue */
static __always_inline void sf_groups_place_host(struct sf_groups *g, struct sf_queue *queue,
						 u8 group, const struct sf_order *order)
{
	bool own = group == SF_LONG_FLOWS || sf_host_over(&g->hosts, &g->hosts.host[queue->host]);

	if (group != queue->group || own != queue->own)
		sf_groups_move(g, queue, group, own, order);
	else if (group == SF_SHORT_FLOWS)
		sf_groups_rank_again(g, queue, order);
}

/* Put a queue with packets where it belongs, now that something has changed. */
static __always_inline void sf_groups_place(struct sf_groups *g, struct sf_queue *queue,
					    const struct sf_order *order)
{
	struct sf_flow *f = sf_groups_flow(g, queue);
	u8 group = sf_groups_group(g, queue, f, order);

	if (group == SF_LONG_FLOWS)
		f->attained = min(f->attained, g->fair_from + SF_FAIR_MARGIN);
	if (unlikely(queue->host))
		sf_groups_place_host(g, queue, group, order);
	else if (group != queue->group)
		sf_groups_move(g, queue, group, false, order);
	else if (group == SF_SHORT_FLOWS)
		sf_groups_rank_again(g, queue, order);
}

/*
 * The first of the losers; none if no queue has had two packets. As they send, queues
 * become less of losers than they were when they were put there, never more. If very many have, it
 * may be one of them.
 */
static struct sf_queue *sf_groups_first_loser(struct sf_groups *g,
					      const struct sf_order *order)
{
	struct sf_heap_node node;
	struct sf_queue *queue;
	u32 i;

	for (i = 0; g->losers.size && i < SF_ORDERED; i++) {
		queue = &g->s.table.queues[g->losers.node[0].queue];
		node = sf_groups_loser(g, queue, order);
		if (node.rank == g->losers.node[0].rank)
			return queue;
		sf_heap_lower(&g->losers, node);
	}
	return g->losers.size ? &g->s.table.queues[g->losers.node[0].queue] : NULL;
}

/* The first of a host's own losers, or of those in the top lists, of as many as are looked at */
static noinline struct sf_queue *sf_groups_loser_of(struct sf_groups *g, u32 host, bool own,
						    const struct sf_order *order)
{
	struct sf_heap_node node, least = {};
	struct sf_queue *found = NULL, *queue;
	u32 i, size = min_t(u32, g->losers.size, SF_SOUGHT);

	for (i = 0; i < size; i++) {
		queue = &g->s.table.queues[g->losers.node[i].queue];
		if (queue->host != host || queue->own != own)
			continue;
		node = sf_groups_loser(g, queue, order);
		if (found && !sf_heap_less(node, least))
			continue;
		found = queue;
		least = node;
	}
	return found;
}

/* For sf_order.loss: the longest queue */
static u64 sf_groups_longest(const struct sf_groups *g, const struct sf_queue *queue)
{
	return BIT_ULL(32) | (U32_MAX - queue->backlog);
}

/*
 * One of those that are equal to the first of the losers, which is that of @host or SF_ANY_HOST;
 * they are below each other.
 */
static __always_inline struct sf_queue *sf_groups_draw(struct sf_groups *g, u32 host,
						       const struct sf_order *order)
{
	const struct sf_heap_node *node = g->losers.node;
	u32 equal[SF_DRAW] = { 0 }, count = 1, i, child, end;
	struct sf_queue *queue, *first;

	for (i = 0; i < count; i++) {
		child = equal[i] * SF_HEAP_CHILDREN + 1;
		end = min(child + SF_HEAP_CHILDREN, g->losers.size);
		for (; child < end && count < SF_DRAW; child++)
			if (node[child].rank == node[0].rank)
				equal[count++] = child;
	}
	i = order->draw ? order->draw(g, count) : 0;
	queue = &g->s.table.queues[node[equal[i]].queue];
	first = &g->s.table.queues[node[0].queue];
	/* It may have sent since it was put there, or be of a group that is not to lose. */
	if (queue->group != first->group || queue->own != first->own ||
	    (host != SF_ANY_HOST && queue->host != host) ||
	    sf_groups_loser(g, queue, order).rank != node[0].rank)
		return first;
	return queue;
}

/* The percent of the bytes that are the long flows' */
static inline u32 sf_groups_long_share(const struct sf_groups *g, const struct sf_lists *l)
{
	u32 longs = l->queues[SF_LONG_FLOWS];
	u32 others = l->queues[SF_SHORT_FLOWS] + min(l->newcomers, longs);

	if (!l->late || !longs)
		return g->long_share;
	return max(g->long_share, longs * 100 / (longs + others));
}

/* Of the first long flows in turn that with the longest queue */
static struct sf_queue *sf_groups_longest_of(const struct sf_groups *g, const struct sf_lists *l)
{
	struct sf_queue *queues = g->s.table.queues, *longest = NULL;
	u32 i, at = l->first[SF_LONG_FLOWS];

	for (i = min_t(u32, l->queues[SF_LONG_FLOWS], SF_LAST); i; i--, at = queues[at].listed.next)
		if (!longest || queues[at].backlog > longest->backlog)
			longest = &queues[at];
	return longest;
}

/* Have long flows more than their share of what waits there, or has nobody else anything? */
static bool sf_groups_longs_lose(const struct sf_groups *g, const struct sf_lists *l)
{
	u64 others = sf_groups_waiting_new(l) + l->waiting[SF_SHORT_FLOWS];
	u64 longs = l->waiting[SF_LONG_FLOWS];

	/* By flows too, since bytes may have wrapped around to 0 (tc-stab(8)) */
	if (l->busy == BIT(SF_LONG_FLOWS))
		return true;
	return l->queues[SF_LONG_FLOWS] &&
	       longs * 100 > (others + longs) * sf_groups_long_share(g, l);
}

/*
 * The host that is to lose a packet: the one with the most waiting. If none has SF_HOST_MUCH, one
 * with packets in lists of its own if these, which are long flows' for the top ones, are to lose.
 * Else SF_ANY_HOST: a queue in the top lists, whosever it is.
 */
static u32 sf_groups_losing_host(struct sf_groups *g)
{
	u32 host = g->hosts.by ? sf_host_most(&g->hosts) : 0;

	if (!host && g->hosts.turns.size && sf_groups_longs_lose(g, &g->top))
		host = sf_host_not_next(&g->hosts);
	return host ?: SF_ANY_HOST;
}

/* The first of the losers of that host, in lists of its own or in the top ones; NULL: none known */
static struct sf_queue *sf_groups_loser_in(struct sf_groups *g, u32 host, bool own,
					   const struct sf_order *order)
{
	struct sf_queue *loser = sf_groups_first_loser(g, order);

	/* The heap is of all hosts, and of all lists; so are the top ones of all hosts. */
	if (!loser || (loser->own == own && (loser->host == host || host == SF_ANY_HOST)))
		return loser;
	return host == SF_ANY_HOST ? NULL : sf_groups_loser_of(g, host, own, order);
}

/* Of the long flows in these lists, the first of the losers, or one that has had one packet */
static struct sf_queue *sf_groups_long_victim(const struct sf_groups *g, const struct sf_lists *l,
					      struct sf_queue *loser)
{
	if (loser && loser->group == SF_LONG_FLOWS)
		return loser;
	return l == &g->top ? sf_groups_end_of(g, l, SF_LONG_FLOWS) : sf_groups_longest_of(g, l);
}

/* Of the newcomers and short flows, the host's if any of them is found */
static struct sf_queue *sf_groups_short_victim(const struct sf_groups *g, const struct sf_lists *l,
					       u32 host, struct sf_queue *loser,
					       const struct sf_order *order)
{
	struct sf_queue *ranked = sf_groups_last_ranked(l, host);
	struct sf_queue *newest = sf_groups_newest(g, l, host), *last;
	u64 fresh = sf_groups_waiting_new(l);
	u64 all = fresh + l->waiting[SF_SHORT_FLOWS];

	/* Of those behind it nothing is known: the heap sorts long flows first. */
	if (loser && loser->group == SF_LONG_FLOWS)
		loser = NULL;
	if (unlikely(!loser && !ranked && !newest)) {
		ranked = sf_groups_last_ranked(l, SF_ANY_HOST);
		newest = sf_groups_newest(g, l, SF_ANY_HOST);
	}
	last = order->last ? order->last(g, loser, ranked, newest) : NULL;
	if (last)
		return last;
	if (newest && fresh * 100 > all * (100 - g->known_share))
		return loser && loser->group == newest->group ? loser : newest;
	return loser ?: ranked ?: newest;
}

/*
 * Who loses a packet; there is one. A group that has more than its share of what waits
 * does: the long flows, the newcomers. Else it is the longest queue, but for those of long
 * flows, and if no queue has had two packets, the last of the order.
 *
 * It is one of that host, in lists of its own if it has packets there, or in the top ones; in these
 * there are no long flows if hosts are told apart. If none of the first losers, the last and the
 * newest there is the host's, it is another one's.
 */
static struct sf_queue *sf_groups_victim(struct sf_groups *g, u32 host,
					 const struct sf_order *order)
{
	bool own = host != SF_ANY_HOST && g->hosts.host[host].busy;
	struct sf_lists *l = own ? &g->hosts.own[host] : &g->top;
	struct sf_queue *loser = sf_groups_loser_in(g, host, own, order);

	if (l->first[SF_LONG_FLOWS] && sf_groups_longs_lose(g, l))
		return sf_groups_long_victim(g, l, loser);
	return sf_groups_short_victim(g, l, host, loser, order);
}

static inline void sf_groups_begin_epoch(struct sf_groups *g)
{
	g->active = 0;
	g->greedy = 0;
	g->streamed = 0;
	g->modest_bytes = 0;
	g->epoch++;
}

/* A measurement ends: how many have parts of the link's rate, and what is a stream's? */
static inline void sf_groups_share_out(struct sf_groups *g)
{
	u64 measured = g->s.link.measured, left;
	u32 rest = (1 << SF_LEAK_SHIFT) - g->share;

	g->parts = max(g->active, 1U);
	g->stream_share = g->share + rest * SF_FEW / max(g->active, SF_FEW);
	if (g->streamed * 2 <= measured && g->active > 1)
		g->stream_share *= 2;
	g->level_share = 0;
	if (g->streamed < measured / 4 * 3)
		g->level_share = SF_LEVEL_MOST;
	/* If nobody is greedy there is no other limit. */
	if (g->level_share && g->greedy) {
		left = div_u64((measured - g->modest_bytes) << SF_LEAK_SHIFT, g->greedy);
		g->level_share = min_t(u64, div64_u64(left, measured), SF_LEVEL_MOST);
	}
	sf_groups_begin_epoch(g);
}

/* What link.measured tells is sent in so many jiffies: all that depends on the rate of the link */
static void sf_groups_use_rate(struct sf_groups *g, u32 elapsed)
{
	u64 bytes = g->s.link.measured, parts = (u64)elapsed * g->parts;
	u32 room = g->s.link.room;

	g->stale = room == SF_ROOM_UNKNOWN ? U64_MAX : (u64)room * SF_STALE;
	g->debt_max = div_u64(bytes * g->long_share * SF_DEBT, elapsed);
	g->top.credit = max(g->top.credit, -g->debt_max);
	g->top.overdue = max(g->top.overdue, -g->debt_max);
	g->level = mul_u64_u32_div(mul_u64_u32_shr(bytes, g->level_share, SF_LEAK_SHIFT),
				   SF_MEASURE, elapsed);
	if (g->share) {
		g->leak = max3(g->leak_min, div64_u64(bytes * g->stream_share, parts),
			       div_u64(bytes * g->level_share, elapsed));
		g->leak_part = max(g->leak_min, div64_u64(bytes * g->share, parts));
	}
	/* Else a flow would be short for seconds on a slow link. */
	if (g->fair != SF_NEVER)
		g->fair_from = min_t(u64, g->fair, max(g->s.link.sends / 2, SF_FAIR_LEAST));
}

static noinline void sf_groups_measured(struct sf_groups *g, u32 elapsed)
{
	sf_groups_share_out(g);
	sf_groups_use_rate(g, elapsed);
	if (g->hosts.by)
		sf_hosts_measured(&g->hosts, g->s.link.measured, elapsed);
}

/*
 * Nothing is known of the link, but its rate if that is set. While nothing ever waits for long,
 * all is forgiven.
 */
static inline void sf_groups_forget_link(struct sf_groups *g)
{
	g->leak = g->share ? U64_MAX : g->leak_min;
	g->leak_part = g->leak;
	g->fair_from = g->fair;
	g->level = 0;
	g->level_share = 0;
	sf_groups_begin_epoch(g);
	g->stale = U64_MAX;
	g->debt_max = 0;
	sf_lists_forget_debt(&g->top, 0);
	sf_hosts_forget_link(&g->hosts);
	sf_link_forget(&g->s.link);
	if (g->s.link.set)
		sf_groups_measured(g, SF_MEASURE);
}

/* The rate that is set is another one, or none; it was @was, as in link.set. */
static inline void sf_groups_set_rate(struct sf_groups *g, u64 was)
{
	u64 set = g->s.link.set;

	if (set == was)
		return;
	if (!set || !was) {
		sf_groups_forget_link(g);
		return;
	}
	sf_groups_use_rate(g, SF_MEASURE);
	sf_hosts_scale(&g->hosts, set, was);
}

/* A packet of @len bytes is on its way. */
static inline void sf_groups_sent(struct sf_groups *g, u32 len)
{
	u32 elapsed = sf_link_sent(&g->s.link, len);

	g->sent += len;
	if (unlikely(elapsed))
		sf_groups_measured(g, elapsed);
}

/* The queue has become empty. */
static __always_inline void sf_groups_emptied(struct sf_groups *g, struct sf_queue *queue)
{
	sf_groups_leave(g, queue);
	if (queue->heaped) {
		queue->heaped = false;
		sf_heap_remove(&g->losers, sf_groups_number(g, queue));
	}
	if (unlikely(queue->host))
		sf_host_release(&g->hosts, queue->host);
	if (likely(!sf_is_elsewhere(queue)))
		sf_queue_release(&g->s.table, queue);
}

/* The first packet of a queue, which may become empty */
static __always_inline struct sk_buff *sf_groups_take(struct Qdisc *sch,
						      struct sf_queue *queue)
{
	struct sf_groups *g = qdisc_priv(sch);
	struct sk_buff *skb = sf_take_first(sch, queue);

	sf_groups_uncount(g, queue, qdisc_pkt_len(skb));
	if (unlikely(sf_is_elsewhere(queue)))
		sf_elsewhere_del(&g->s.table, sf_groups_overflow_set(skb));
	return skb;
}

/* So many packets CoDel has dropped, and so many marked. */
static inline u32 sf_groups_codel_drops(const struct sf_groups *g)
{
	return g->codel_stats.drop_count;
}

static inline u32 sf_groups_codel_marks(const struct sf_groups *g)
{
	return g->codel_stats.ecn_mark + g->codel_stats.ce_mark;
}

/* Count a packet of a long flow, which is sent, and what CoDel has done to others before it. */
static inline void sf_groups_sum_long(struct sf_sums *sums, const struct sk_buff *skb, u32 drops,
				      u32 marks)
{
	sf_sum_sent(sums, skb);
	sums->drops += drops;
	sums->marks += marks;
}

static struct sk_buff *sf_groups_codel_take(struct codel_vars *vars, void *ctx)
{
	struct sf_queue *queue = container_of(vars, struct sf_queue, codel);

	return queue->qlen ? sf_groups_take(ctx, queue) : NULL;
}

/* CoDel drops none if that leaves nothing: so the parent is told of no empty class. */
static void sf_groups_codel_drop(struct sk_buff *skb, void *ctx)
{
	struct Qdisc *sch = ctx;
	struct sf_sched *s = qdisc_priv(sch);

	qdisc_qstats_drop(sch);
	sf_shaper_dropped(&s->shaper, skb);
	qdisc_tree_reduce_backlog(sch, 1, qdisc_pkt_len(skb));
	sf_dequeue_drop(sch, skb, SF_DROP_CONGESTED);
}

static codel_time_t sf_groups_codel_time(const struct sk_buff *skb)
{
	return sf_cb(skb)->flow;
}

/* A packet is dropped of a flow, or SF_NO_FLOW, and of a host, if it is not 0. */
static __always_inline void sf_groups_count_drop(struct sf_groups *g, u32 flow, u32 host)
{
	sf_sums_of(&g->s.table, flow)->drops++;
	if (unlikely(host))
		sf_host_sums(&g->hosts, host)->drops++;
}

static noinline void sf_groups_drop_stale(struct Qdisc *sch, struct sf_queue *queue)
{
	struct sf_groups *g = qdisc_priv(sch);
	struct sf_flow *f = sf_groups_flow(g, queue);
	struct sk_buff *skb;
	u32 i;

	for (i = 0; i < SF_SOUGHT && queue->qlen > 1; i++) {
		if (g->sent - sf_groups_sent_before(queue) <= g->stale)
			break;
		skb = sf_groups_take(sch, queue);
		if (queue->group != SF_LONG_FLOWS)
			f->attained -= min_t(u64, f->attained, qdisc_pkt_len(skb));
		g->s.drop_buffer++;
		sf_groups_count_drop(g, queue->flow, queue->host);
		sf_groups_codel_drop(skb, sch);
	}
}

/*
 * It is this queue's turn: what has waited for too long is dropped first. No more than SF_SOUGHT
 * packets at a time, and not the last one, so that the parent is told of no empty class. When what
 * has no record came is not known.
 */
static __always_inline void sf_groups_begin_turn(struct Qdisc *sch, struct sf_queue *queue)
{
	struct sf_groups *g = qdisc_priv(sch);

	if (unlikely(g->sent - sf_groups_sent_before(queue) > g->stale) && !sf_is_elsewhere(queue))
		sf_groups_drop_stale(sch, queue);
}

static noinline struct sk_buff *sf_groups_take_long(struct Qdisc *sch, struct sf_lists *l)
{
	struct sf_groups *g = qdisc_priv(sch);
	s32 quantum = g->quantum;
	s32 least = -SF_TURNS_OWED * quantum;
	u32 drops = sf_groups_codel_drops(g), marks = sf_groups_codel_marks(g);
	struct sf_queue *queue, *owes_least = NULL;
	struct sk_buff *skb;
	struct sf_flow *f;
	u32 passed;

	for (passed = 0; passed < SF_TURNS_PASSED; passed++) {
		queue = sf_groups_first_of(g, l, SF_LONG_FLOWS);
		f = sf_groups_flow(g, queue);
		if (f->deficit > 0)
			break;
		/* The quantum may have been larger. */
		f->deficit = max(f->deficit, least) + quantum;
		l->first[SF_LONG_FLOWS] = queue->listed.next;
		if (!owes_least || f->deficit > sf_groups_flow(g, owes_least)->deficit)
			owes_least = queue;
	}
	if (unlikely(passed == SF_TURNS_PASSED)) {
		queue = owes_least;
		f = sf_groups_flow(g, queue);
	}
	sf_groups_begin_turn(sch, queue);
	if (g->aqm)
		skb = codel_dequeue(sch, &queue->backlog, &g->codel, &queue->codel,
				    &g->codel_stats, qdisc_pkt_len, sf_groups_codel_time,
				    sf_groups_codel_drop, sf_groups_codel_take);
	else
		skb = sf_groups_take(sch, queue);
	if (g->aqm && queue->codel.dropping)
		f->standing = SF_STOOD;
	f->known = true;
	f->deficit = max_t(s64, (s64)f->deficit - qdisc_pkt_len(skb), least);
	drops = sf_groups_codel_drops(g) - drops;
	marks = sf_groups_codel_marks(g) - marks;
	sf_groups_sum_long(sf_sums_of(&g->s.table, queue->flow), skb, drops, marks);
	if (unlikely(queue->host))
		sf_groups_sum_long(sf_host_sums(&g->hosts, queue->host), skb, drops, marks);
	if (!queue->qlen)
		sf_groups_emptied(g, queue);
	return skb;
}

static __always_inline struct sk_buff *sf_groups_take_short(struct Qdisc *sch,
							    struct sf_lists *l,
							    struct sf_queue *queue,
							    const struct sf_order *order)
{
	struct sf_groups *g = qdisc_priv(sch);
	struct sk_buff *skb;
	struct sf_host *h;

	sf_groups_begin_turn(sch, queue);
	skb = sf_take_first(sch, queue);
	sf_groups_count(g, queue, -qdisc_pkt_len(skb));
	if (unlikely(sf_groups_sorts_meet(l)) && sf_groups_is_new(queue->group)) {
		l->had_last = l->had[queue->group];
		l->had[queue->group] += qdisc_pkt_len(skb);
	}
	g->s.table.flows[queue->flow].known = true;
	sf_sum_sent(&g->s.table.sums[queue->flow], skb);
	if (unlikely(queue->host)) {
		sf_sum_sent(sf_host_sums(&g->hosts, queue->host), skb);
		h = &g->hosts.host[queue->host];
		h->backlog -= qdisc_pkt_len(skb);
		sf_host_attain(&g->hosts, h, qdisc_pkt_len(skb));
	}
	if (!queue->qlen)
		sf_groups_emptied(g, queue);
	else
		sf_groups_place(g, queue, order);
	return skb;
}

/* The newcomer or short flow that is next; there is one */
static __always_inline struct sf_queue *sf_groups_next_short(struct sf_groups *g,
							     struct sf_lists *l)
{
	struct sf_queue *fresh = sf_groups_next_new(g, l), *ranked;
	const struct rb_node *node = rb_first_cached(&l->ranked);

	if (!node) {
		l->known_credit = 0;
		sf_lists_let_ahead(l, qdisc_pkt_len(fresh->head));
		return fresh;
	}
	ranked = sf_groups_queue_of(node);
	/* Without a share they are in one order: newcomers have rank 0. */
	if (!g->known_share && !ranked->rank && fresh->qlen &&
	    sf_earlier(ranked->head, fresh->head))
		return ranked;
	if (sf_bands_next(&l->known_credit, g->known_share, fresh, ranked) == SF_LOW)
		return ranked;
	sf_lists_let_ahead(l, qdisc_pkt_len(fresh->head));
	return fresh;
}

/* Of the queues in turn the next one of a short flow that has waited for too long, or NULL */
static struct sf_queue *sf_groups_seek(struct sf_groups *g, codel_time_t now,
				       codel_time_t long_ago)
{
	struct sf_queue *queue;
	u32 i;

	for (i = 0; i < SF_SOUGHT; i++) {
		if (++g->hand > g->last)
			g->hand = SF_FIRST_QUEUE;
		queue = &g->s.table.queues[g->hand];
		if (queue->group == SF_SHORT_FLOWS && !queue->own &&
		    now - sf_groups_codel_time(queue->head) > long_ago)
			return queue;
	}
	return NULL;
}

/*
 * A packet is owed to a short flow that has waited for too long: to the next in turn, so that
 * none is passed over for ever, or else to one of the last, before which most may go. Else NULL,
 * and there is a pause. Before the rate is known, nobody has waited.
 */
static noinline struct sf_queue *sf_groups_overdue(struct sf_groups *g, struct sf_lists *l)
{
	codel_time_t now, long_ago = sf_groups_crowded(g, l) ? SF_CROWDED : SF_OVERDUE;
	struct sf_queue *queue, *found = NULL;
	struct rb_node *node;
	u32 i;

	if (g->debt_max && l->queues[SF_SHORT_FLOWS]) {
		now = codel_get_time();
		queue = l == &g->top ? sf_groups_seek(g, now, long_ago) : NULL;
		if (queue)
			return queue;
		node = rb_last(&l->ranked.rb_root);
		for (i = 0; node && i < SF_LAST; i++, node = rb_prev(node)) {
			queue = sf_groups_queue_of(node);
			if (!found || sf_earlier(queue->head, found->head))
				found = queue;
		}
		if (found && now - sf_groups_codel_time(found->head) > long_ago)
			return found;
	}
	l->overdue = -(g->debt_max >> SF_LOOK_SHIFT);
	return NULL;
}

/*
 * The first of the short flows if it has so little waiting that it goes ahead of newcomers, long
 * flows and who has waited for too long, whatever these are owed, or NULL. Without `known_share`
 * nobody does.
 */
static __always_inline struct sf_queue *sf_groups_ahead(const struct sf_groups *g,
							const struct sf_lists *l)
{
	struct sf_queue *queue;

	if (!(l->busy & BIT(SF_SHORT_FLOWS)) || l->ahead <= 0 || !g->known_share ||
	    (l->busy == BIT(SF_SHORT_FLOWS) && l->overdue < SF_OWED))
		return NULL;
	queue = sf_groups_queue_of(rb_first_cached(&l->ranked));
	return queue->backlog <= SF_SMALL ? queue : NULL;
}

static noinline struct sk_buff *sf_groups_take_host(struct Qdisc *sch,
						    const struct sf_order *order);

/*
 * Take the next packet out of these lists; there is one. For the @top ones all that is in hosts'
 * own lists is of long flows.
 */
static __always_inline struct sk_buff *sf_groups_take_from(struct Qdisc *sch,
							   struct sf_lists *l, bool top,
							   const struct sf_order *order)
{
	struct sf_groups *g = qdisc_priv(sch);
	struct sf_queue *queue, *owed, *ahead;
	struct sk_buff *skb;
	u32 share, moved;
	bool alone, due;

	for (moved = 0;; moved++) {
		alone = l->busy == BIT(SF_LONG_FLOWS);
		share = sf_groups_long_share(g, l);
		due = l->queues[SF_LONG_FLOWS] && (l->credit > 0 || alone);
		ahead = sf_groups_ahead(g, l);
		if (due && !ahead) {
			l->late = !alone;
			skb = top && unlikely(g->hosts.by) ? sf_groups_take_host(sch, order) :
							     sf_groups_take_long(sch, l);
			l->credit = max(l->credit, -g->debt_max) -
				    (s64)(100 - share) * qdisc_pkt_len(skb);
			sf_lists_let_ahead(l, qdisc_pkt_len(skb));
			return skb;
		}
		owed = NULL;
		if (unlikely(l->overdue >= SF_OWED && !due && !ahead))
			owed = sf_groups_overdue(g, l);
		queue = ahead ?: owed ?: sf_groups_next_short(g, l);
		if (!top || likely(!queue->host) || moved == SF_MOVED ||
		    !sf_host_over(&g->hosts, &g->hosts.host[queue->host]))
			break;
		/* Its host has come to be over its share since it was put here. */
		sf_groups_move(g, queue, queue->group, true, order);
	}
	skb = sf_groups_take_short(sch, l, queue, order);
	if (!l->queues[SF_LONG_FLOWS])
		l->credit -= (s64)share * qdisc_pkt_len(skb);
	/* What goes ahead is not owed a share of, else what is owed might grow without bound. */
	if (queue == ahead) {
		l->ahead -= SF_AHEAD_PART * min_t(u32, qdisc_pkt_len(skb), SF_SMALL);
		return skb;
	}
	if (l->queues[SF_LONG_FLOWS])
		l->credit += (s64)share * qdisc_pkt_len(skb);
	if (owed)
		sf_lists_let_ahead(l, qdisc_pkt_len(skb));
	share = sf_groups_crowded(g, l) ? max(g->known_share, g->long_share) : g->long_share;
	l->overdue += (s64)qdisc_pkt_len(skb) * (s32)(owed ? share - 100 : share);
	return skb;
}

/* Take the next packet of the host whose turn it is. */
static noinline struct sk_buff *sf_groups_take_host(struct Qdisc *sch,
						    const struct sf_order *order)
{
	struct sf_groups *g = qdisc_priv(sch);
	u32 n = sf_host_next(&g->hosts);
	struct sk_buff *skb = sf_groups_take_from(sch, &g->hosts.own[n], false, order);

	sf_host_sent(&g->hosts, n, qdisc_pkt_len(skb), g->s.arrivals);
	return skb;
}

/* For sf_kind.take_victim: take the packet that goes if there is no room. */
static __always_inline struct sk_buff *sf_groups_take_victim(struct Qdisc *sch,
							     const struct sf_order *order)
{
	struct sf_groups *g = qdisc_priv(sch);
	u32 host = sf_groups_losing_host(g);
	struct sf_queue *queue = sf_groups_victim(g, host, order);
	struct sk_buff *skb;
	struct sf_flow *f;

	if (g->losers.size && g->losers.node[0].queue == sf_groups_number(g, queue))
		queue = sf_groups_draw(g, host, order);
	g->s.victim = queue->flow;
	sf_count_drop(&g->s);
	skb = g->drop_head ? sf_take_first(sch, queue) : sf_take_last(sch, queue);
	sf_groups_uncount(g, queue, qdisc_pkt_len(skb));
	sf_groups_count_drop(g, queue->flow, queue->host);
	if (unlikely(sf_is_elsewhere(queue))) {
		sf_elsewhere_del(&g->s.table, sf_groups_overflow_set(skb));
	} else {
		f = sf_groups_flow(g, queue);
		if (queue->group != SF_LONG_FLOWS)
			f->attained -= min_t(u64, f->attained, qdisc_pkt_len(skb));
	}
	if (!queue->qlen) {
		sf_groups_emptied(g, queue);
	} else {
		sf_groups_place(g, queue, order);
		if (queue->heaped)
			sf_groups_loser_moved(g, queue, order);
	}
	sf_set_drop_reason(skb, SF_DROP_OVERLIMIT);
	return skb;
}

/* A flow is seen for the first time in this measurement. */
static __always_inline void sf_groups_seen(struct sf_groups *g, struct sf_flow *f)
{
	f->epoch = g->epoch;
	f->age = min(f->age + 1, SF_AGE);
	g->active += f->age == SF_AGE;
	if (f->queue)
		f->standing += f->standing < 2 * SF_STANDS;
	else if (f->standing)
		f->standing--;
	f->stream = f->age == SF_AGE && f->standing < SF_STANDS;
	f->modest = f->stream;
	g->greedy += f->age == SF_AGE && !f->modest;
}

/* A packet of a stream has come. */
static __always_inline void sf_groups_streamed(struct sf_groups *g, struct sf_flow *f, u32 len)
{
	g->streamed += len;
	if (!f->modest)
		return;
	/* What a long flow has attained is bounded (sf_groups_place()), and the level is not. */
	if (f->attained <= max_t(u64, g->level, ETH_FRAME_LEN) && f->attained < g->fair_from) {
		g->modest_bytes += len;
	} else {
		f->modest = false;
		g->greedy++;
	}
}

/*
 * Forgive a flow to which a packet comes what it is to be forgiven, but not what waits. Ranks
 * depend on that: what is refused forgives nothing.
 */
static __always_inline void sf_groups_forgive(struct sf_groups *g, struct sf_flow *f, u32 now)
{
	u32 waiting = f->queue ? g->s.table.queues[f->queue].backlog : 0;
	u32 elapsed = now - f->seen;
	u64 leak, most;

	if (f->epoch != g->epoch)
		sf_groups_seen(g, f);
	if (!elapsed || (f->queue && g->not_waiting))
		return;
	leak = f->stream ? g->leak : f->queue ? g->leak_min : g->leak_part;
	if (leak != U64_MAX)
		leak = mul_u64_u32_shr(leak, elapsed, SF_LEAK_SHIFT);
	else if (f->queue)
		leak = 0;
	most = f->attained - min_t(u64, f->attained, waiting);
	f->attained -= min(most, leak);
	WRITE_ONCE(f->seen, now);
}

/*
 * Does a packet with these flags of TCP begin another flow, though of the same ports? Not
 * one that comes soon: else a SYN in each packet would make each a newcomer's.
 */
static __always_inline bool sf_groups_begins(const struct sf_flow *f, u8 flags, u32 now)
{
	return flags & SF_TCP_SYN && !f->queue && now - f->seen >= SF_SILENCE;
}

/* sf_get() of a flow, which may be another one of the same ports */
static __always_inline void sf_groups_get(struct sf_groups *g, struct sf_flow *f, u8 flags,
					  struct sf_place *to)
{
	u32 now = jiffies;

	sf_get(&g->s, f, now, to);
	f = to->flow;
	if (unlikely(!f))
		return;
	if (unlikely(sf_groups_begins(f, flags, now)))
		sf_flow_forget(&g->s.table, f);
}

/*
 * When a packet comes to a queue. CoDel has to know of those of long flows; to read the clock takes
 * 40 instructions, so that of others it is when the first one came in this jiffy. If they become a
 * long flow's, CoDel waits for an interval, but what ce_threshold marks would be too much at once.
 */
static __always_inline codel_time_t sf_groups_time(struct sf_groups *g,
						   const struct sf_queue *queue)
{
	u32 now = jiffies;

	if (queue->group == SF_LONG_FLOWS ||
	    unlikely(g->codel.ce_threshold != CODEL_DISABLED_THRESHOLD))
		return codel_get_time();
	if (g->tick != now) {
		g->tick = now;
		g->tick_time = codel_get_time();
	}
	return g->tick_time;
}

/* For sf_kind.insert: put a packet in its place. */
static __always_inline bool sf_groups_insert(struct Qdisc *sch, struct sk_buff *skb,
					     struct sf_place *to, const struct sf_order *order)
{
	struct sf_groups *g = qdisc_priv(sch);
	struct sf_table *t = &g->s.table;
	struct sf_skb_cb *cb = sf_cb(skb);
	struct sf_queue *queue;
	u32 i = SF_ELSEWHERE;

	cb->arrival = g->s.arrivals++;
	cb->truesize = skb->truesize;
	if (likely(to->flow)) {
		sf_groups_forgive(g, to->flow, jiffies);
		cb->rank = g->sent;
		i = to->flow->queue;
		if (!i) {
			i = sf_queue_take(t, to->flow);
			t->queues[i].host = to->host;
		}
		to->flow->attained += qdisc_pkt_len(skb);
	} else {
		cb->rank = sf_table_set(t, to->hash);
		sf_elsewhere_add(t, cb->rank);
		t->queues[i].host = g->hosts.by ? SF_HOST_SHARED : 0;
	}

	queue = &t->queues[i];
	sf_append(sch, queue, skb);
	if (queue->group != SF_NOBODYS)
		sf_groups_count(g, queue, qdisc_pkt_len(skb));
	sf_groups_place(g, queue, order);
	cb->flow = sf_groups_time(g, queue);
	if (unlikely(queue->host))
		sf_host_grown(&g->hosts, queue->host, qdisc_pkt_len(skb), cb->arrival);
	sf_groups_lose(g, queue, order);
	g->last = max(g->last, i);
	/* A busy period begins. */
	if (g->s.held == 1) {
		g->last = i;
		/* What hosts have done while the link was idle, too, is compared with nothing. */
		if (g->hosts.by && (u32)jiffies - g->s.link.from >= SF_MEASURE)
			sf_hosts_begin_epoch(&g->hosts);
		sf_link_restart(&g->s.link);
		/* These are of the time that is measured, who has been seen is not. */
		g->streamed = 0;
		g->modest_bytes = 0;
		sf_lists_forget_debt(&g->top, g->debt_max);
	}
	if (to->flow && to->flow->stream)
		sf_groups_streamed(g, to->flow, qdisc_pkt_len(skb));
	return true;
}

/*
 * There are too many newcomers for one more. Would @skb be one's? It is not remembered
 * then, either. @f is the record of its flow, if it has one.
 */
static noinline bool sf_groups_refused(struct sf_groups *g, const struct sf_lists *l,
				       const struct sk_buff *skb, const struct sf_flow *f, u8 flags)
{
	u32 now = jiffies, room = g->newcomers_max / SF_SORTS;
	u8 sort = sf_groups_sort(&g->s.key, skb);

	/* The segments of a bundle, all but the last of one length */
	if (sf_is_split(&g->s, skb) && skb_gso_validate_mac_len(skb, SF_SMALL))
		sort &= ~SF_LARGE;
	if (g->known_share && l->queues[SF_NEW_FLOWS + sort] < room)
		return false;
	if (!f || f->queue)
		return !f;
	return !f->known || now - f->seen > g->s.table.idle || sf_groups_begins(f, flags, now) ||
	       (f->attained < g->fair_from && sf_groups_crowded_out(g, l, f));
}

/*
 * The host of a packet of flow @f, if that has a record. If addresses alone tell who it is, that is
 * the one that it had before, as long as this has the same record. 0 if there is no room for
 * newcomers, and the host has no record.
 */
static __always_inline u32 sf_groups_find_host(struct sf_groups *g, const struct sk_buff *skb,
					       const struct sf_flow *f, u32 named, bool may_refuse)
{
	struct sf_hosts *hosts = &g->hosts;
	u32 n;

	if (f && !named && !hosts->nat) {
		n = hosts->of_flow[f - g->s.table.flows];
		if (sf_host_is(hosts, n, &g->s.key)) {
			sf_host_seen(hosts, n);
			return n;
		}
	}
	return sf_host_find(hosts, skb, &g->s.key, named,
			    !may_refuse || g->top.newcomers < g->newcomers_max);
}

/* For sf_kind.dropped */
static inline void sf_groups_dropped(struct Qdisc *sch, const struct sf_place *to)
{
	struct sf_groups *g = qdisc_priv(sch);

	sf_groups_count_drop(g, to->flow ? to->flow - g->s.table.flows : SF_NO_FLOW, to->host);
}

/* Is there no room for one more newcomer, and would @skb, that @may_refuse be, be one's? */
static __always_inline bool sf_groups_full(struct sf_groups *g, const struct sf_lists *l,
					   const struct sk_buff *skb, const struct sf_flow *f,
					   u8 flags, bool may_refuse)
{
	return unlikely(l->newcomers >= g->newcomers_max) && may_refuse &&
	       sf_groups_refused(g, l, skb, f, flags);
}

/*
 * sf_groups_host() if some lists, of all or of host @n, have no room for newcomers. Who is over his
 * share has lists of his own. Of what is refused no record is made of a host, either.
 */
static noinline u32 sf_groups_host_if_full(struct sf_groups *g, const struct sk_buff *skb,
					   const struct sf_flow *f, u8 flags, u32 named, u32 n)
{
	struct sf_host *h = &g->hosts.host[n];
	const struct sf_lists *l = &g->top;

	if (n && sf_host_over(&g->hosts, h))
		l = &g->hosts.own[n];
	if (!sf_groups_full(g, l, skb, f, flags, true))
		return n ?: sf_host_find(&g->hosts, skb, &g->s.key, named, true);
	if (n) {
		sf_host_wants(&g->hosts, h);
		sf_host_sums(&g->hosts, n)->drops++;
	}
	return SF_ANY_HOST;
}

/* The host, or SF_ANY_HOST if it may have no more newcomers and @skb would be one's */
static __always_inline u32 sf_groups_host(struct sf_groups *g, const struct sk_buff *skb,
					  const struct sf_flow *f, u8 flags, u32 named,
					  bool may_refuse)
{
	u32 n;

	/* Of what waits of a flow all is of one host. */
	if (f && f->queue) {
		n = g->s.table.queues[f->queue].host;
		sf_host_seen(&g->hosts, n);
		return n;
	}
	n = sf_groups_find_host(g, skb, f, named, may_refuse);
	if (!may_refuse ||
	    likely(g->top.newcomers < g->newcomers_max && !g->hosts.host[n].busy))
		return n;
	return sf_groups_host_if_full(g, skb, f, flags, named, n);
}

/* sf_groups_enqueue - what enqueue is to return, for a packet of class @to->class */
static __always_inline int sf_groups_enqueue(struct sk_buff *skb, struct Qdisc *sch,
					     struct sf_place *to, bool may_refuse,
					     struct sk_buff **to_free,
					     const struct sf_kind *kind)
{
	struct sf_groups *g = qdisc_priv(sch);
	u8 flags = sf_read(&g->s, skb, to);
	struct sf_flow *f = sf_find(&g->s, to);
	bool refused;

	to->host = 0;
	if (unlikely(g->hosts.by)) {
		to->host = sf_groups_host(g, skb, f, flags, to->named >> SF_NAMED_SHIFT,
					  may_refuse);
		refused = to->host == SF_ANY_HOST;
	} else {
		refused = sf_groups_full(g, &g->top, skb, f, flags, may_refuse);
	}
	if (unlikely(refused)) {
		g->drop_new++;
		if (f)
			sf_flow_sums(&g->s.table, f)->drops++;
		sf_drop(skb, sch, to_free, SF_DROP_OVERLIMIT);
		return NET_XMIT_DROP;
	}
	sf_groups_get(g, f, flags, to);
	return sf_enqueue(skb, sch, to, to_free, kind);
}

static __always_inline struct sk_buff *sf_groups_dequeue(struct Qdisc *sch,
							 const struct sf_order *order)
{
	struct sf_groups *g = qdisc_priv(sch);
	struct sk_buff *skb;

	if (!g->s.held || sf_shaper_waits(sch, &g->s.shaper))
		return NULL;
	skb = sf_groups_take_from(sch, &g->top, true, order);
	sf_groups_sent(g, qdisc_pkt_len(skb));
	sf_shaper_sent(&g->s.shaper, skb, g->s.held);
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void sf_groups_reset(struct Qdisc *sch)
{
	struct sf_groups *g = qdisc_priv(sch);
	struct sf_queue *queue;
	u32 i, queues = sf_table_queues(g->s.table.sets * SF_WAYS);

	for (i = SF_ELSEWHERE; g->s.held && i < queues; i++) {
		queue = &g->s.table.queues[i];
		if (!queue->qlen)
			continue;
		sf_groups_uncount(g, queue, queue->backlog);
		sf_groups_emptied(g, queue);
		g->s.held -= queue->qlen;
		queue->qlen = 0;
		queue->backlog = 0;
		rtnl_kfree_skbs(queue->head, queue->tail);
	}
	g->s.memory = 0;
	sf_shaper_reset(&g->s.shaper);
	sf_lists_forget_turns(&g->top);
	g->overflow.deficit = 0;
	sf_groups_forget_link(g);
	sf_table_clear(&g->s.table);
	sf_hosts_clear(&g->hosts);
}

/* The attributes of the options that every such kind has; options.h has their rows. */
struct sf_groups_attributes {
	u16	fair;
	u16	forgive;
	u16	forgive_share;
	u16	buffer;
	u16	newcomers;
	u16	known_share;
	u16	long_share;
	u16	quantum;
	u16	target;
	u16	interval;
	u16	ce_threshold;
	u16	ecn;
	u16	hosts;
	u16	nat;
};

#define SF_GROUPS_ATTRIBUTES(KIND)					\
	{								\
		.fair		= TCA_ ## KIND ## _FAIR,		\
		.forgive	= TCA_ ## KIND ## _FORGIVE,		\
		.forgive_share	= TCA_ ## KIND ## _FORGIVE_SHARE,	\
		.buffer		= TCA_ ## KIND ## _BUFFER,		\
		.newcomers	= TCA_ ## KIND ## _NEWCOMERS,		\
		.known_share	= TCA_ ## KIND ## _KNOWN_SHARE,		\
		.long_share	= TCA_ ## KIND ## _LONG_SHARE,		\
		.quantum	= TCA_ ## KIND ## _QUANTUM,		\
		.target		= TCA_ ## KIND ## _TARGET,		\
		.interval	= TCA_ ## KIND ## _INTERVAL,		\
		.ce_threshold	= TCA_ ## KIND ## _CE_THRESHOLD,	\
		.ecn		= TCA_ ## KIND ## _ECN,			\
		.hosts		= TCA_ ## KIND ## _HOSTS,		\
		.nat		= TCA_ ## KIND ## _NAT,			\
	}

/* In units of codel.h */
static inline codel_time_t sf_codel_us(u32 us)
{
	return (u64)us * NSEC_PER_USEC >> CODEL_SHIFT;
}

/* Forget all hosts, and find them anew: flows with packets are of host 1 until they have none. */
static void sf_groups_set_hosts(struct sf_groups *g, u32 by, bool nat)
{
	u32 i, queues = sf_table_queues(g->s.table.sets * SF_WAYS);
	struct sf_queue *queue;

	if (by == g->hosts.by && nat == g->hosts.nat)
		return;
	for (i = SF_ELSEWHERE; g->s.held && i < queues; i++) {
		queue = &g->s.table.queues[i];
		if (!queue->qlen)
			continue;
		sf_groups_uncount(g, queue, queue->backlog);
		sf_groups_leave(g, queue);
		if (queue->host)
			sf_host_release(&g->hosts, queue->host);
		queue->host = by ? SF_HOST_SHARED : 0;
	}
	sf_hosts_clear(&g->hosts);
	g->hosts.by = by;
	g->hosts.source = by == SF_HOSTS_DST ? 0 : ~(__force __be32)0;
	g->hosts.dest = by == SF_HOSTS_SRC ? 0 : ~(__force __be32)0;
	g->hosts.nat = nat;
}

/* Let it be as those options; @opt by attribute */
static void sf_groups_set_options(struct sf_groups *g, const struct sf_groups_attributes *at,
				  const u64 *opt)
{
	sf_groups_set_hosts(g, opt[at->hosts], opt[at->nat]);
	g->hosts.table.idle = g->s.table.idle;
	g->fair = opt[at->fair] ?: SF_NEVER;
	g->leak_min = div_u64(opt[at->forgive] << SF_LEAK_SHIFT, HZ);
	g->share = ((u32)opt[at->forgive_share] << SF_LEAK_SHIFT) / 100;
	g->newcomers_max = opt[at->newcomers] ?: U32_MAX;
	g->known_share = opt[at->known_share];
	g->long_share = opt[at->long_share];
	g->quantum = opt[at->quantum];
	g->aqm = opt[at->target];
	g->codel.target = sf_codel_us(opt[at->target]);
	g->codel.interval = sf_codel_us(opt[at->interval]);
	g->codel.ecn = opt[at->ecn];
	g->codel.ce_threshold = opt[at->ce_threshold] ? sf_codel_us(opt[at->ce_threshold]) :
							CODEL_DISABLED_THRESHOLD;
	g->s.link.buffer = msecs_to_jiffies(opt[at->buffer]);
	g->s.link.least = SF_ROOM_MIN;
	sf_lists_forget_turns(&g->top);
	sf_groups_forget_link(g);
}

/* What waits in a queue is of another host now. */
static inline void sf_groups_move_to_host(struct sf_groups *g, const struct sf_queue *queue)
{
	u32 arrival = sf_cb(queue->tail)->arrival;
	u32 grown = g->hosts.host[queue->host].grown;

	if ((s32)(arrival - grown) < 0)
		arrival = grown;
	sf_host_grown(&g->hosts, queue->host, queue->backlog, arrival);
}

/* The options have changed: the order may be another one. */
static __always_inline void sf_groups_sort_again(struct sf_groups *g,
						 const struct sf_order *order)
{
	u32 i, queues = sf_table_queues(g->s.table.sets * SF_WAYS);
	struct sf_queue *queue;

	for (i = SF_ELSEWHERE; i < queues; i++) {
		queue = &g->s.table.queues[i];
		if (!queue->qlen)
			continue;
		if (queue->host && queue->group == SF_NOBODYS)
			sf_groups_move_to_host(g, queue);
		sf_groups_place(g, queue, order);
		sf_groups_lose(g, queue, order);
	}
}

/* For init, before anything can fail */
static inline void sf_groups_begin(struct Qdisc *sch)
{
	struct sf_groups *g = qdisc_priv(sch);

	sch->flags |= SF_DEQUEUE_DROPS;
	g->top.ranked = RB_ROOT_CACHED;
	sf_begin(sch);
	codel_params_init(&g->codel);
	codel_stats_init(&g->codel_stats);
	g->codel.mtu = psched_mtu(qdisc_dev(sch));
	g->tick = jiffies - 1;
}

/* Allocate for so many flows; on failure the core calls destroy, if not reset, too. */
static inline int sf_groups_init(struct sf_groups *g, u32 flows, u32 hosts)
{
	u32 queues = sf_table_queues(flows);

	return sf_table_init(&g->s.table, flows, queues) ?: sf_heap_init(&g->losers, queues) ?:
	       sf_hosts_init(&g->hosts, hosts, flows);
}

static inline void sf_groups_free(struct sf_groups *g)
{
	sf_hosts_free(&g->hosts);
	sf_heap_free(&g->losers);
	sf_table_free(&g->s.table);
}

/* The sort of a flow; without packets by what it was when its last one left */
static inline u32 sf_groups_tell_sort(const struct sf_groups *g, const struct sf_flow *f,
				      const struct sf_queue *queue)
{
	bool attained = f->attained >= g->fair_from && !f->priority;

	if (queue->group == SF_NOBODYS ? !f->known : sf_groups_is_new(queue->group))
		return TC_SF_SORT_NEW;
	if (queue->group == SF_NOBODYS ? attained : queue->group == SF_LONG_FLOWS)
		return TC_SF_SORT_LONG;
	return TC_SF_SORT_SHORT;
}

/*
 * The host of a flow, that of its last packet; 0 if nobody knows any more, since its record is
 * another's now. By its addresses that is plain unless they are not the host's: then by time.
 */
static inline u32 sf_groups_tell_host_of(const struct sf_groups *g, u32 i)
{
	const struct sf_flow *f = &g->s.table.flows[i];
	u32 n = g->hosts.of_flow[i], now = jiffies;

	if (f->queue)
		return g->s.table.queues[f->queue].host;
	if (n < SF_HOST_FIRST || sf_host_is(&g->hosts, n, &f->key))
		return n;
	if (!g->hosts.nat && sf_host_record(&g->hosts, n)->key.ethertype)
		return 0;
	return now - f->seen <= now - g->hosts.host[n].since ? n : 0;
}

static inline void sf_groups_tell_queue(const struct sf_queue *queue, struct sf_told *told)
{
	if (!queue->qlen)
		return;
	told->qlen = queue->qlen;
	told->backlog = queue->backlog;
	told->timed = true;
	told->waited = codel_time_to_us(codel_get_time() - sf_groups_codel_time(queue->head));
}

static inline void sf_groups_tell_host(const struct sf_groups *g, u32 n, struct sf_told *told)
{
	struct sf_host h = g->hosts.host[n];	/* What has leaked is not noted. */
	const struct sf_flow *f = sf_host_record(&g->hosts, n);

	*told = (struct sf_told) {
		.type		= TC_SF_CLASS_HOST,
		.number		= n,
		.sums		= *sf_host_sums(&g->hosts, n),
		.backlog	= h.backlog,
		.flows		= h.queues,
		.over		= sf_host_over(&g->hosts, &h),
		.level		= sf_host_level(&g->hosts, &h, jiffies),
	};
	if (!f)
		return;
	told->key = f->key;
	told->source = g->hosts.source;
	told->dest = g->hosts.dest;
	told->is_silent = !h.queues;
	told->silent = jiffies_to_msecs((u32)jiffies - f->seen);
}

/* For the class operation dump: all that is told of a class is of one time. */
static int sf_groups_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb,
				struct tcmsg *tcm)
{
	struct sf_groups *g = qdisc_priv(sch);
	u32 place = cl - SF_PLACE_0, flows = sf_class_flows(&g->s);
	const struct sf_queue *queue;
	const struct sf_flow *f;

	sch_tree_lock(sch);
	if (place > flows) {
		sf_groups_tell_host(g, place - flows, &g->s.told);
	} else if (place == flows) {
		g->s.told = (struct sf_told) {
			.type	= TC_SF_CLASS_OVERFLOW,
			.sort	= TC_SF_SORT_LONG,
			.host	= g->hosts.by ? SF_HOST_SHARED : 0,
			.sums	= *sf_sums_of(&g->s.table, SF_NO_FLOW),
		};
		sf_groups_tell_queue(&g->s.table.queues[SF_ELSEWHERE], &g->s.told);
	} else {
		f = &g->s.table.flows[place];
		queue = &g->s.table.queues[f->queue];
		sf_tell_flow(&g->s, place);
		g->s.told.sort = sf_groups_tell_sort(g, f, queue);
		g->s.told.host = sf_groups_tell_host_of(g, place);
		sf_groups_tell_queue(queue, &g->s.told);
	}
	sch_tree_unlock(sch);
	return sf_class_put(sch, skb, tcm);
}

/* The numbers of hosts that there may be, from SF_HOST_SHARED on */
static inline u32 sf_groups_hosts(const struct sf_groups *g)
{
	return g->hosts.by ? g->hosts.table.sets * SF_WAYS + SF_HOST_FIRST - 1 : 0;
}

/* For the class operation walk: after flows come those without a record, and hosts. */
static void sf_groups_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	struct sf_groups *g = qdisc_priv(sch);
	u32 flows = sf_class_flows(&g->s), hosts = sf_groups_hosts(g), n;
	bool known;

	sf_class_walk(sch, arg);
	while (!arg->stop && arg->count <= flows + hosts) {
		n = arg->count - flows;
		if (!n)
			known = sf_class_rest(&g->s.table);
		else if (n == SF_HOST_SHARED)
			known = READ_ONCE(g->hosts.host[n].queues) ||
				sf_class_rest(&g->hosts.table);
		else
			known = sf_class_known(&g->hosts.table, n - SF_HOST_FIRST);
		sf_class_tell(sch, arg, known);
	}
}

/* Tell what the statistics of every such kind have, under the lock; @st is the kind's. */
#define sf_groups_tell(g, st)							\
	do {									\
		const struct sf_groups *__g = (g);				\
		typeof(st) __st = (st);						\
										\
		__st->memory = __g->s.memory;					\
		__st->memory_peak = __g->s.memory_peak;				\
		__st->drop_limit = __g->s.drop_limit;				\
		__st->drop_memory = __g->s.drop_memory;				\
		__st->drop_buffer = __g->s.drop_buffer;				\
		__st->drop_new = __g->drop_new;					\
		__st->drop_codel = __g->codel_stats.drop_count;			\
		__st->marked = (u64)__g->codel_stats.ecn_mark +			\
			       __g->codel_stats.ce_mark;			\
		__st->flows_new = __g->top.newcomers;				\
		__st->flows_long = __g->top.queues[SF_LONG_FLOWS];		\
		__st->flows_queued = sf_table_queued(&__g->s.table) +		\
				     !!__g->s.table.elsewhere;			\
		__st->flows_seen = __g->s.table.assigned;			\
		__st->records = __g->s.table.used;				\
		__st->evictions = __g->s.table.evictions;			\
		__st->overflow = __g->s.overflow;				\
		__st->gso_split = __g->s.gso_split;				\
		__st->room = sf_link_room(&__g->s.link);			\
		__st->hosts_known = __g->hosts.table.used;			\
		__st->hosts_over = __g->hosts.turns.size;			\
		__st->host_evictions = __g->hosts.table.evictions;		\
	} while (0)

#endif
