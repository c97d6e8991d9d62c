/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A heap of queues, the one with the least rank first; equal ranks go by arrival.
 *
 *	node:	[0]
 *		[1]       [2]       [3]        [4]		four children each
 *		[5 6 7 8] [9 10 11 12] ...
 *	at:	where each queue's node is
 *
 * Ranks are in the nodes, so that no packet is touched to compare. A queue whose
 * rank changes a little stays where it is after one or two comparisons; an rbtree
 * takes 200 instructions to move it past its neighbour.
 */
#ifndef _SF_FLOW_HEAP_H
#define _SF_FLOW_HEAP_H

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/types.h>
#include "alloc.h"

#define SF_HEAP_CHILDREN	4

struct sf_heap_node {
	u64	rank;
	u32	arrival;	/* wraps */
	u32	queue;
};

struct sf_heap {
	struct sf_heap_node *node;
	u32	*at;
	u32	size;
};

/* Whether something of this rank and arrival goes before another */
static inline bool sf_before(u64 rank, u32 arrival, u64 other_rank,
			     u32 other_arrival)
{
	return rank < other_rank ||
	       (rank == other_rank && (s32)(arrival - other_arrival) < 0);
}

static inline bool sf_heap_less(struct sf_heap_node a, struct sf_heap_node b)
{
	return sf_before(a.rank, a.arrival, b.rank, b.arrival);
}

/* sf_heap_init - allocate a heap for queues 0 to @queues - 1; 0 or -ENOMEM */
static inline int sf_heap_init(struct sf_heap *heap, u32 queues)
{
	heap->node = kvcalloc(queues, sizeof(*heap->node), SF_GFP_TABLE);
	heap->at = kvcalloc(queues, sizeof(*heap->at), SF_GFP_TABLE);
	return heap->node && heap->at ? 0 : -ENOMEM;
}

static inline void sf_heap_free(struct sf_heap *heap)
{
	kvfree(heap->node);
	kvfree(heap->at);
}

/* Put @node where it belongs, somewhere between @i, which is free, and the root. */
static inline void sf_heap_up(struct sf_heap *heap, u32 i,
			      struct sf_heap_node node)
{
	struct sf_heap_node *nodes = heap->node;
	u32 *at = heap->at;

	while (i) {
		u32 parent = (i - 1) / SF_HEAP_CHILDREN;

		if (!sf_heap_less(node, nodes[parent]))
			break;
		nodes[i] = nodes[parent];
		at[nodes[i].queue] = i;
		i = parent;
	}
	nodes[i] = node;
	at[node.queue] = i;
}

/* The same between @i and the leaves */
static inline void sf_heap_down(struct sf_heap *heap, u32 i,
				struct sf_heap_node node)
{
	struct sf_heap_node *nodes = heap->node;
	u32 size = heap->size, *at = heap->at;
	u32 child, end, least, arrival;
	u64 rank;

	while ((child = i * SF_HEAP_CHILDREN + 1) < size) {
		end = min(child + SF_HEAP_CHILDREN, size);
		least = i;
		rank = node.rank;
		arrival = node.arrival;
		for (; child < end; child++) {
			if (!sf_before(nodes[child].rank, nodes[child].arrival,
				       rank, arrival))
				continue;
			least = child;
			rank = nodes[child].rank;
			arrival = nodes[child].arrival;
		}
		if (least == i)
			break;
		nodes[i] = nodes[least];
		at[nodes[i].queue] = i;
		i = least;
	}
	nodes[i] = node;
	at[node.queue] = i;
}

/* sf_heap_add - take in a queue that is not in the heap */
static inline void sf_heap_add(struct sf_heap *heap, struct sf_heap_node node)
{
	sf_heap_up(heap, heap->size++, node);
}

/* Put @node in the place of what is at @i, and then where it belongs. */
static inline void sf_heap_put(struct sf_heap *heap, u32 i, struct sf_heap_node node)
{
	if (sf_heap_less(node, heap->node[i]))
		sf_heap_up(heap, i, node);
	else
		sf_heap_down(heap, i, node);
}

/* sf_heap_move - give a queue that is in the heap another rank */
static inline void sf_heap_move(struct sf_heap *heap, struct sf_heap_node node)
{
	sf_heap_put(heap, heap->at[node.queue], node);
}

/* sf_heap_lower - the same with a rank that goes after its own */
static inline void sf_heap_lower(struct sf_heap *heap, struct sf_heap_node node)
{
	sf_heap_down(heap, heap->at[node.queue], node);
}

/* sf_heap_remove - take a queue that is in the heap out of it */
static inline void sf_heap_remove(struct sf_heap *heap, u32 queue)
{
	struct sf_heap_node last = heap->node[--heap->size];
	u32 i = heap->at[queue];

	if (last.queue != queue)
		sf_heap_put(heap, i, last);
}

#endif
