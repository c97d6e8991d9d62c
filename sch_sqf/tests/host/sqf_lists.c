// SPDX-License-Identifier: GPL-2.0
/* sch_sqf/sqf_lists.h as a library, for test_sqf_lists.py */

#include "kernel.h"

/* What it needs of flow_table.h */
#define _SF_FLOW_TABLE_H

struct sf_link {
	u32	next;
	u32	prev;
};

struct sf_queue {
	struct sf_link	link[2];
};

#include "../../sqf_lists.h"

struct set {
	struct sqf_lists lists;
	struct sf_queue	*queues;
};

struct set *make(u32 queues)
{
	struct set *set = calloc(1, sizeof(*set));

	set->queues = calloc(queues, sizeof(*set->queues));
	if (sqf_lists_init(&set->lists))
		abort();
	return set;
}

void destroy(struct set *set)
{
	sqf_lists_free(&set->lists);
	free(set->queues);
	free(set);
}

void add(struct set *set, u32 list, u32 queue)
{
	sqf_list_add(&set->lists, list, set->queues, queue, 1);
}

void take_out(struct set *set, u32 list, u32 queue)
{
	sqf_list_del(&set->lists, list, set->queues, queue, 1);
}

u32 least(const struct set *set)
{
	return sqf_lists_least(&set->lists);
}

u32 most(const struct set *set)
{
	return sqf_lists_most(&set->lists);
}

u32 from(const struct set *set, u32 list)
{
	return sqf_lists_from(&set->lists, list);
}

/* The members of a list that is not empty, up to @room of them; their number */
u32 members(const struct set *set, u32 list, u32 *to, u32 room)
{
	u32 first = set->lists.first[list], i = first, count = 0;

	do {
		if (set->queues[set->queues[i].link[1].next].link[1].prev != i)
			return 0;
		if (count < room)
			to[count] = i;
		count++;
		i = set->queues[i].link[1].next;
	} while (i != first);
	return count;
}
