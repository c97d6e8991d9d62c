/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The class of a backlogged flow, its place there, and its place among drop candidates
 */
#ifndef _SF_POLICY_CLASS_H
#define _SF_POLICY_CLASS_H

#include <linux/bits.h>
#include <linux/minmax.h>
#include <linux/rbtree.h>
#include <net/codel.h>
#include <net/codel_impl.h>
#include "bands.h"
#include "examined.h"
#include "policy_state.h"

/* The queue of a list that is served next; an empty one if there is none */
static inline struct sf_queue *sf_policy_first_of(const struct sf_policy *p,
						  const struct sf_lists *l, u32 list)
{
	return &p->s.table.queues[l->first[list]];
}

static inline struct sf_lists *sf_policy_lists(struct sf_policy *p, const struct sf_queue *queue)
{
	return queue->in_host_lists ? &p->hosts.own[queue->host] : &p->top;
}

/* Several subclasses of new flows are backlogged. Only then their service counts. */
static inline bool sf_policy_subclasses_meet(const struct sf_lists *l)
{
	u32 subclasses = l->busy & SF_ALL_NEW;

	return subclasses & (subclasses - 1);
}

/*
 * The new flow that is served next, or an empty queue: of the subclass that was served least.
 * Without short_share there are no subclasses, and it is the first by arrival.
 */
static inline struct sf_queue *sf_policy_next_new(const struct sf_policy *p,
						  const struct sf_lists *l)
{
	u32 subclass = __ffs(l->busy | BIT(SF_BULK - 1));
	struct sf_queue *found = sf_policy_first_of(p, l, subclass), *queue;

	if (likely(!sf_policy_subclasses_meet(l)))
		return found;
	for (subclass++; subclass < SF_BULK; subclass++) {
		if (!l->queues[subclass])
			continue;
		queue = sf_policy_first_of(p, l, subclass);
		if (p->short_share ? l->served[subclass] < l->served[found->class] :
				       sf_earlier(queue->head, found->head))
			found = queue;
	}
	return found;
}

/* The last queue of a list, or NULL */
static inline struct sf_queue *sf_policy_end_of(const struct sf_policy *p,
						const struct sf_lists *l, u32 list)
{
	struct sf_queue *queues = p->s.table.queues;

	return l->first[list] ? &queues[queues[l->first[list]].listed.prev] : NULL;
}

/* The same of a host, among the last SF_SEARCH_MAX */
static inline struct sf_queue *sf_policy_end_of_host(const struct sf_policy *p,
						     const struct sf_lists *l, u32 list, u32 host)
{
	struct sf_queue *queue = sf_policy_end_of(p, l, list);
	u32 i = queue ? min_t(u32, l->queues[list], SF_SEARCH_MAX) : 0;

	for (; i; i--, queue = &p->s.table.queues[queue->listed.prev]) {
		sf_examined(i - 1);
		if (queue->host == host || host == SF_ANY_HOST)
			return queue;
	}
	return NULL;
}

/*
 * The newest new flow of a host, of the subclass with the most flows. Without short_share there
 * are no subclasses.
 */
static inline struct sf_queue *sf_policy_newest(const struct sf_policy *p,
						const struct sf_lists *l, u32 host)
{
	struct sf_queue *found = NULL, *queue;
	u32 subclass;

	for (subclass = SF_NEW; subclass < SF_BULK; subclass++) {
		queue = sf_policy_end_of_host(p, l, subclass, host);
		if (queue && (!found || (p->short_share ?
					 l->queues[subclass] > l->queues[found->class] :
					 sf_earlier(found->head, queue->head))))
			found = queue;
	}
	return found;
}

/* The last short flow of a host by rank, among the last SF_SEARCH_MAX */
static inline struct sf_queue *sf_policy_last_ranked(const struct sf_lists *l, u32 host)
{
	struct rb_node *node = rb_last(&l->ranked.rb_root);
	struct sf_queue *queue;
	u32 i;

	for (i = 0; node && i < SF_SEARCH_MAX; i++, node = rb_prev(node)) {
		sf_examined(i);
		queue = sf_policy_queue_of(node);
		if (queue->host == host || host == SF_ANY_HOST)
			return queue;
	}
	return NULL;
}

/* The backlog of new flows */
static inline u64 sf_policy_waiting_new(const struct sf_lists *l)
{
	u64 bytes = 0;
	u32 subclass;

	for (subclass = SF_NEW; subclass < SF_BULK; subclass++)
		bytes += l->backlog[subclass];
	return bytes;
}

/* The backlog of new and short flows */
static inline u64 sf_policy_waiting_others(const struct sf_lists *l)
{
	return sf_policy_waiting_new(l) + l->backlog[SF_SHORT];
}

/*
 * Count bytes that come to a queue. In the top lists all that hosts have in lists of their own is
 * bulk.
 */
static __always_inline void sf_policy_count(struct sf_policy *p, const struct sf_queue *queue,
					    u32 bytes)
{
	u8 class = queue->class;

	if (unlikely(queue->in_host_lists)) {
		p->hosts.own[queue->host].backlog[class] += bytes;
		class = SF_BULK;
	}
	p->top.backlog[class] += bytes;
}

/* Count bytes that leave it. */
static __always_inline void sf_policy_uncount(struct sf_policy *p, const struct sf_queue *queue,
					      u32 bytes)
{
	sf_policy_count(p, queue, -bytes);
	if (unlikely(queue->host))
		p->hosts.host[queue->host].backlog -= bytes;
}

/* Insert a queue into the list or tree of its class. */
static __always_inline void sf_policy_add(struct sf_policy *p, struct sf_lists *l,
					  struct sf_queue *queue, const struct sf_order *order)
{
	struct sf_flow *f = sf_policy_flow(p, queue);
	u8 class = queue->class;

	sf_lists_count(l, class, p->debt_max);
	if (class == SF_SHORT) {
		l->overload |= l->queues[class] >= p->new_max ||
			    (l->queues[class] >= SF_OVERLOAD &&
			     l->backlog[class] > p->s.link.room / 2);
		queue->rank = order->rank(p, f, queue);
		rb_add_cached(&queue->node, &l->ranked, sf_policy_less);
		return;
	}
	sf_list_add(p->s.table.queues, &l->first[class], sf_policy_number(p, queue));
	if (class == SF_BULK) {
		codel_vars_init(&queue->codel);
		/* A deficit is kept. */
		f->deficit = min(f->deficit, 0) + (s32)p->quantum;
		return;
	}
	l->new_flows++;
}

/* Remove it. */
static __always_inline void sf_policy_del(struct sf_policy *p, struct sf_lists *l,
					  struct sf_queue *queue)
{
	u8 class = queue->class;

	sf_lists_uncount(l, class);
	if (sf_policy_is_new(class))
		l->new_flows--;
	if (class == SF_SHORT)
		rb_erase_cached(&queue->node, &l->ranked);
	else
		sf_list_del(p->s.table.queues, &l->first[class], sf_policy_number(p, queue));
}

/* Let a queue enter a class, in its host's own lists or in the top ones. */
static __always_inline void sf_policy_enter(struct sf_policy *p, struct sf_queue *queue,
					    u8 class, bool own, const struct sf_order *order)
{
	struct sf_lists *l = &p->top;

	queue->class = class;
	queue->in_host_lists = own;
	sf_policy_count(p, queue, queue->backlog);
	if (unlikely(own)) {
		l = &p->hosts.own[queue->host];
		if (!l->busy) {
			sf_lists_forget_turns(l);
			sf_lists_forget_debt(l, p->debt_max);
			sf_host_begin(&p->hosts, queue->host, p->s.arrivals);
		}
		sf_lists_count(&p->top, SF_BULK, p->debt_max);
	}
	sf_policy_add(p, l, queue, order);
}

static noinline void sf_policy_leave_own(struct sf_policy *p, struct sf_queue *queue)
{
	struct sf_lists *l = &p->hosts.own[queue->host];

	sf_policy_del(p, l, queue);
	sf_lists_uncount(&p->top, SF_BULK);
	if (!l->busy)
		sf_host_end(&p->hosts, queue->host);
}

/* Let it leave its class. Its backlog is the caller's to count. */
static __always_inline void sf_policy_leave(struct sf_policy *p, struct sf_queue *queue)
{
	if (unlikely(queue->in_host_lists))
		sf_policy_leave_own(p, queue);
	else
		sf_policy_del(p, &p->top, queue);
	queue->class = SF_UNASSIGNED;
}

/* The lists for a backlogged queue that is not bulk */
static __always_inline const struct sf_lists *sf_policy_lists_for(const struct sf_policy *p,
								  const struct sf_queue *queue)
{
	if (unlikely(queue->host) && sf_host_over(&p->hosts, &p->hosts.host[queue->host]))
		return &p->hosts.own[queue->host];
	return &p->top;
}

/* Short flows are in overload. */
static __always_inline bool sf_policy_overloaded(const struct sf_policy *p,
						 const struct sf_lists *l)
{
	return unlikely(l->overload) && p->short_share;
}

/* In overload, a young flow enters the new class again. */
static __always_inline bool sf_policy_crowds_out(const struct sf_policy *p,
						 const struct sf_lists *l,
						 const struct sf_flow *f)
{
	return sf_policy_overloaded(p, l) && !sf_policy_is_old(p, f) && !f->priority;
}

/* The class of a backlogged queue. This is the only place that decides it. */
static __always_inline u8 sf_policy_class(const struct sf_policy *p,
					  const struct sf_queue *queue,
					  const struct sf_flow *f,
					  const struct sf_order *order)
{
	bool fresh = !f->established && order->has_new(p);

	if (unlikely(sf_is_overflow(queue)))
		return SF_BULK;
	if (!fresh && f->attained >= p->bulk_from && !f->priority)
		return SF_BULK;
	if (!fresh && (queue->class == SF_SHORT ||
		       !sf_policy_crowds_out(p, sf_policy_lists_for(p, queue), f)))
		return SF_SHORT;
	return sf_policy_is_new(queue->class) ? queue->class :
		SF_NEW + sf_policy_subclass(&f->key, queue->head);
}

/*
 * A queue as a drop candidate: the longest bulk queue is first, then what the qdisc says, and of
 * equals the newest.
 */
static struct sf_heap_node sf_policy_drop_node(const struct sf_policy *p,
					       const struct sf_queue *queue,
					       const struct sf_order *order)
{
	u64 rank = U32_MAX - queue->backlog;

	if (queue->class != SF_BULK)
		rank = order->drop_rank(p, queue);
	return (struct sf_heap_node) { rank, ~sf_cb(queue->tail)->arrival,
				       sf_policy_number(p, queue) };
}

static void sf_policy_drop_node_moved(struct sf_policy *p, const struct sf_queue *queue,
				      const struct sf_order *order)
{
	sf_heap_move(&p->drop_heap, sf_policy_drop_node(p, queue, order));
}

/* Insert a queue into the drop heap once it has had two packets, or move it there. */
static __always_inline void sf_policy_update_drop_heap(struct sf_policy *p, struct sf_queue *queue,
						       const struct sf_order *order)
{
	if (queue->on_drop_heap) {
		sf_policy_drop_node_moved(p, queue, order);
	} else if (queue->qlen > 1 || (order->drops_singles && order->drops_singles(p))) {
		queue->on_drop_heap = true;
		sf_heap_add(&p->drop_heap, sf_policy_drop_node(p, queue, order));
	}
}

/* A queue of a host is backlogged now. Its flow remembers the host. */
static inline void sf_policy_take_host_of(struct sf_policy *p, const struct sf_queue *queue)
{
	sf_host_take(&p->hosts, queue->host);
	if (!sf_is_overflow(queue))
		p->hosts.of_flow[queue->flow] = queue->host;
}

/* Move a backlogged queue to another class, or to its first one. */
static noinline void sf_policy_move(struct sf_policy *p, struct sf_queue *queue, u8 class,
				    bool own, const struct sf_order *order)
{
	if (queue->class != SF_UNASSIGNED) {
		sf_policy_count(p, queue, -queue->backlog);
		sf_policy_leave(p, queue);
	} else if (queue->host) {
		sf_policy_take_host_of(p, queue);
	}
	sf_policy_enter(p, queue, class, own, order);
	/* It may be a better drop candidate there. */
	if (queue->on_drop_heap)
		sf_policy_drop_node_moved(p, queue, order);
}

/*
 * The rank of a short flow has changed. Its first packet is the same or a later one, so it comes
 * forward only by a lower rank.
 */
static noinline void sf_policy_rank_again(struct sf_policy *p, struct sf_queue *queue,
					  const struct sf_order *order)
{
	struct sf_lists *l = sf_policy_lists(p, queue);
	struct rb_node *beside;
	u64 was = queue->rank;
	bool moves;

	queue->rank = order->rank(p, sf_policy_flow(p, queue), queue);
	if (queue->rank < was) {
		beside = rb_prev(&queue->node);
		moves = beside && sf_policy_less(&queue->node, beside);
	} else {
		beside = rb_next(&queue->node);
		moves = beside && sf_policy_less(beside, &queue->node);
	}
	if (moves) {
		rb_erase_cached(&queue->node, &l->ranked);
		rb_add_cached(&queue->node, &l->ranked, sf_policy_less);
	}
}

static __always_inline void sf_policy_place_host(struct sf_policy *p, struct sf_queue *queue,
						 u8 class, const struct sf_order *order)
{
	bool own = class == SF_BULK || sf_host_over(&p->hosts, &p->hosts.host[queue->host]);

	if (class != queue->class || own != queue->in_host_lists)
		sf_policy_move(p, queue, class, own, order);
	else if (class == SF_SHORT)
		sf_policy_rank_again(p, queue, order);
}

/* Put a backlogged queue where it belongs after something has changed. */
static __always_inline void sf_policy_place(struct sf_policy *p, struct sf_queue *queue,
					    const struct sf_order *order)
{
	struct sf_flow *f = sf_policy_flow(p, queue);
	u8 class = sf_policy_class(p, queue, f, order);

	if (class == SF_BULK)
		f->attained = min(f->attained, p->bulk_from + SF_BULK_MARGIN);
	if (unlikely(queue->host))
		sf_policy_place_host(p, queue, class, order);
	else if (class != queue->class)
		sf_policy_move(p, queue, class, false, order);
	else if (class == SF_SHORT)
		sf_policy_rank_again(p, queue, order);
}

#endif
