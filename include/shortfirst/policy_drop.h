/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue that drops a packet when the buffer is full
 */
#ifndef _SF_POLICY_DROP_H
#define _SF_POLICY_DROP_H

#include <linux/minmax.h>
#include "examined.h"
#include "policy_class.h"

/*
 * The first drop candidate, or NULL. Queues become worse candidates as they send, never better;
 * the heap is put in order here, for SF_DROP_HEAP_FIXES queues at most. If more have sent, the
 * candidate may be shorter than others. It is still backlogged, as a queue that becomes empty
 * leaves the heap, and of the class that the heap tells, as sf_policy_move() updates that. The
 * next drops put the rest in order.
 */
static struct sf_queue *sf_policy_first_candidate(struct sf_policy *p,
						  const struct sf_order *order)
{
	struct sf_heap_node node;
	struct sf_queue *queue;
	u32 i;

	for (i = 0; p->drop_heap.size && i < SF_DROP_HEAP_FIXES; i++) {
		sf_examined(i);
		queue = &p->s.table.queues[p->drop_heap.node[0].queue];
		node = sf_policy_drop_node(p, queue, order);
		if (node.rank == p->drop_heap.node[0].rank)
			return queue;
		sf_heap_lower(&p->drop_heap, node);
	}
	return p->drop_heap.size ? &p->s.table.queues[p->drop_heap.node[0].queue] : NULL;
}

/* The first drop candidate of a host, among SF_SEARCH_MAX */
static noinline struct sf_queue *sf_policy_candidate_of(struct sf_policy *p, u32 host, bool own,
							const struct sf_order *order)
{
	struct sf_heap_node node, least = {};
	struct sf_queue *found = NULL, *queue;
	u32 i, size = min_t(u32, p->drop_heap.size, SF_SEARCH_MAX);

	for (i = 0; i < size; i++) {
		sf_examined(i);
		queue = &p->s.table.queues[p->drop_heap.node[i].queue];
		if (queue->host != host || queue->in_host_lists != own)
			continue;
		node = sf_policy_drop_node(p, queue, order);
		if (found && !sf_heap_less(node, least))
			continue;
		found = queue;
		least = node;
	}
	return found;
}

/* sf_order.drop_rank: the longest queue */
static u64 sf_policy_longest(const struct sf_policy *p, const struct sf_queue *queue)
{
	return BIT_ULL(32) | (U32_MAX - queue->backlog);
}

/*
 * One of the drop candidates that equal the first one, which belongs to @host or SF_ANY_HOST.
 * Equal ones are below each other in the heap.
 */
static __always_inline struct sf_queue *sf_policy_pick_equal(struct sf_policy *p, u32 host,
							     const struct sf_order *order)
{
	const struct sf_heap_node *node = p->drop_heap.node;
	u32 equal[SF_EQUAL_MAX] = { 0 }, count = 1, i, child, end;
	struct sf_queue *queue, *first;

	for (i = 0; i < count; i++) {
		sf_examined(i);
		child = equal[i] * SF_HEAP_CHILDREN + 1;
		end = min(child + SF_HEAP_CHILDREN, p->drop_heap.size);
		for (; child < end && count < SF_EQUAL_MAX; child++)
			if (node[child].rank == node[0].rank)
				equal[count++] = child;
	}
	i = order->pick ? order->pick(p, count) : 0;
	queue = &p->s.table.queues[node[equal[i]].queue];
	first = &p->s.table.queues[node[0].queue];
	/* It may have sent since, or be of another class. */
	if (queue->class != first->class || queue->in_host_lists != first->in_host_lists ||
	    (host != SF_ANY_HOST && queue->host != host) ||
	    sf_policy_drop_node(p, queue, order).rank != node[0].rank)
		return first;
	return queue;
}

/*
 * The share of bulk flows in percent: once they are overdue, that of fair queueing among the
 * backlogged flows, up to SF_OVERDUE_SHARE
 */
static inline u32 sf_policy_bulk_share(const struct sf_policy *p, const struct sf_lists *l)
{
	u32 longs = l->queues[SF_BULK];
	u32 others = l->queues[SF_SHORT] + min(l->new_flows, longs);

	if (!l->bulk_overdue || !longs || !p->bulk_share)
		return p->bulk_share;
	return max(p->bulk_share, min_t(u32, longs * 100 / (longs + others), SF_OVERDUE_SHARE));
}

/*
 * More waits beyond `buffer` than first windows of new and short flows explain. Flows of a host
 * over its share are bulk here.
 */
static noinline bool sf_policy_over_first_windows(const struct sf_policy *p, u32 backlog)
{
	const struct sf_lists *l = &p->top;
	u64 waiting = sf_policy_waiting_others(l);
	u64 flows = l->new_flows + l->queues[SF_SHORT];
	u64 most = p->s.link.room / SF_EIGHTH;

	return backlog - p->s.link.room > min3(waiting, flows * SF_FIRST_WINDOW, most);
}

/* sf_kind.over */
static inline bool sf_policy_over(struct Qdisc *sch, unsigned int gone)
{
	return unlikely(sf_over_buffer(sch, gone)) &&
	       sf_policy_over_first_windows(qdisc_priv(sch), sch->qstats.backlog);
}

/* The longest queue of the next SF_LAST_RANKED bulk flows */
static struct sf_queue *sf_policy_longest_bulk(const struct sf_policy *p, const struct sf_lists *l)
{
	struct sf_queue *queues = p->s.table.queues, *longest = NULL;
	u32 i = min_t(u32, l->queues[SF_BULK], SF_LAST_RANKED), at = l->first[SF_BULK];

	for (; i; i--, at = queues[at].listed.next) {
		sf_examined(i - 1);
		if (!longest || queues[at].backlog > longest->backlog)
			longest = &queues[at];
	}
	return longest;
}

/* Bulk flows hold more than their share of the backlog, or all of it. */
static bool sf_policy_bulk_over_share(const struct sf_policy *p, const struct sf_lists *l)
{
	u64 others = sf_policy_waiting_others(l);
	u64 longs = l->backlog[SF_BULK];

	/* By flows too: with tc-stab(8) bytes may wrap around to 0. */
	if (l->busy == BIT(SF_BULK))
		return true;
	return l->queues[SF_BULK] &&
	       longs * 100 > (others + longs) * sf_policy_bulk_share(p, l);
}

/*
 * The host of the drop victim: the one with the largest backlog. If none has SF_HOST_MUCH and bulk
 * flows are over their share, a host with lists of its own. Otherwise SF_ANY_HOST: a queue in the
 * top lists
 */
static u32 sf_policy_victim_host(struct sf_policy *p)
{
	u32 host = p->hosts.by ? sf_host_most(&p->hosts) : 0;

	if (!host && p->hosts.turns.size && sf_policy_bulk_over_share(p, &p->top))
		host = sf_host_not_next(&p->hosts);
	return host ?: SF_ANY_HOST;
}

/* The first drop candidate in the lists of that host or in the top ones, or NULL */
static struct sf_queue *sf_policy_candidate_in(struct sf_policy *p, u32 host, bool own,
					       const struct sf_order *order)
{
	struct sf_queue *candidate = sf_policy_first_candidate(p, order);

	if (!candidate || (candidate->in_host_lists == own &&
			   (candidate->host == host || host == SF_ANY_HOST)))
		return candidate;
	return host == SF_ANY_HOST ? NULL : sf_policy_candidate_of(p, host, own, order);
}

static struct sf_queue *sf_policy_bulk_victim(const struct sf_policy *p, const struct sf_lists *l,
					      struct sf_queue *candidate)
{
	if (candidate && candidate->class == SF_BULK)
		return candidate;
	return l == &p->top ? sf_policy_end_of(p, l, SF_BULK) : sf_policy_longest_bulk(p, l);
}

/* The drop victim among new and short flows, of that host if one is found */
static struct sf_queue *sf_policy_other_victim(const struct sf_policy *p, const struct sf_lists *l,
					       u32 host, struct sf_queue *candidate,
					       const struct sf_order *order)
{
	struct sf_queue *ranked = sf_policy_last_ranked(l, host);
	struct sf_queue *newest = sf_policy_newest(p, l, host), *last;
	u64 fresh = sf_policy_waiting_new(l);
	u64 all = fresh + l->backlog[SF_SHORT];

	/* The heap has bulk flows first, so others behind it are not known. */
	if (candidate && candidate->class == SF_BULK)
		candidate = NULL;
	if (unlikely(!candidate && !ranked && !newest)) {
		ranked = sf_policy_last_ranked(l, SF_ANY_HOST);
		newest = sf_policy_newest(p, l, SF_ANY_HOST);
	}
	last = order->victim ? order->victim(p, candidate, ranked, newest) : NULL;
	if (last)
		return last;
	if (newest && fresh * 100 > all * (100 - p->short_share))
		return candidate && candidate->class == newest->class ? candidate : newest;
	return candidate ?: ranked ?: newest;
}

/*
 * The queue that drops a packet when the buffer is full. This is the only place that decides it:
 * bulk flows if they are over their share, else new flows if they are, else the longest queue of
 * both, and if no queue has had two packets, the last by rank. With hosts it is in the lists of
 * @host.
 */
static struct sf_queue *sf_policy_victim(struct sf_policy *p, u32 host,
					 const struct sf_order *order)
{
	bool own = host != SF_ANY_HOST && p->hosts.host[host].busy;
	struct sf_lists *l = own ? &p->hosts.own[host] : &p->top;
	struct sf_queue *candidate = sf_policy_candidate_in(p, host, own, order);

	if (l->first[SF_BULK] && sf_policy_bulk_over_share(p, l))
		return sf_policy_bulk_victim(p, l, candidate);
	return sf_policy_other_victim(p, l, host, candidate, order);
}

#endif
