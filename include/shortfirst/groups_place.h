/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which group a flow with packets is in, its place there, and its place among those that are to
 * lose a packet: groups.h has the rules.
 */
#ifndef _SF_GROUPS_PLACE_H
#define _SF_GROUPS_PLACE_H

#include <linux/bits.h>
#include <linux/minmax.h>
#include <linux/rbtree.h>
#include <net/codel.h>
#include <net/codel_impl.h>
#include "bands.h"
#include "groups_state.h"

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

/* Bytes that wait of flows that are not long */
static inline u64 sf_groups_waiting_others(const struct sf_lists *l)
{
	return sf_groups_waiting_new(l) + l->waiting[SF_SHORT_FLOWS];
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

#endif
