/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who loses a packet if there is no room
 */
#ifndef _SF_GROUPS_LOSS_H
#define _SF_GROUPS_LOSS_H

#include <linux/minmax.h>
#include "groups_place.h"

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

/*
 * Percent of the bytes that long flows are owed: long_share, or once they are overdue what fair
 * queueing would give as many flows, up to SF_LATE_MOST.
 */
static inline u32 sf_groups_long_share(const struct sf_groups *g, const struct sf_lists *l)
{
	u32 longs = l->queues[SF_LONG_FLOWS];
	u32 others = l->queues[SF_SHORT_FLOWS] + min(l->newcomers, longs);

	if (!l->late || !longs || !g->long_share)
		return g->long_share;
	return max(g->long_share, min(longs * 100 / (longs + others), SF_LATE_MOST));
}

/*
 * Does more wait beyond `buffer` than the first windows of new and short flows may explain? Flows
 * of a host that is over its share are long ones in these lists.
 */
static noinline bool sf_groups_over_spared(const struct sf_groups *g, u32 backlog)
{
	const struct sf_lists *l = &g->top;
	u64 waiting = sf_groups_waiting_others(l);
	u64 flows = l->newcomers + l->queues[SF_SHORT_FLOWS];
	u64 most = g->s.link.room / SF_SPARED_PART;

	return backlog - g->s.link.room > min3(waiting, flows * SF_SPARED, most);
}

/* For sf_kind.over */
static inline bool sf_groups_over(struct Qdisc *sch, unsigned int gone)
{
	return unlikely(sf_over_buffer(sch, gone)) &&
	       sf_groups_over_spared(qdisc_priv(sch), sch->qstats.backlog);
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
	u64 others = sf_groups_waiting_others(l);
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

#endif
