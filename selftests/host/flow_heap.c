// SPDX-License-Identifier: GPL-2.0
/* include/shortfirst/flow_heap.h as a library, for test_flow_heap.py */

#include "kernel.h"
#include <shortfirst/flow_heap.h>

struct sf_heap *make(u32 queues)
{
	struct sf_heap *heap = calloc(1, sizeof(*heap));

	if (sf_heap_init(heap, queues))
		abort();
	return heap;
}

void destroy(struct sf_heap *heap)
{
	sf_heap_free(heap);
	free(heap);
}

void add(struct sf_heap *heap, u32 queue, u64 rank, u32 arrival)
{
	sf_heap_add(heap, (struct sf_heap_node) { rank, arrival, queue });
}

void move_to(struct sf_heap *heap, u32 queue, u64 rank, u32 arrival)
{
	sf_heap_move(heap, (struct sf_heap_node) { rank, arrival, queue });
}

void lower_to(struct sf_heap *heap, u32 queue, u64 rank, u32 arrival)
{
	sf_heap_lower(heap, (struct sf_heap_node) { rank, arrival, queue });
}

void take_out(struct sf_heap *heap, u32 queue)
{
	sf_heap_remove(heap, queue);
}

/* The root, or -1 if it is empty; -2 if anything in it is not where it should be */
s32 root(const struct sf_heap *heap)
{
	u32 i;

	for (i = 0; i < heap->size; i++) {
		if (heap->at[heap->node[i].queue] != i ||
		    (i && sf_heap_less(heap->node[i], heap->node[(i - 1) / SF_HEAP_CHILDREN])))
			return -2;
	}
	return heap->size ? (s32)heap->node[0].queue : -1;
}
