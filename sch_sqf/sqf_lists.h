/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lists of queues by a small number, of which the first and the last that is not
 * empty are found in a few instructions.
 *
 *	words:	1 0 0 1 ...			which words of used are not 0
 *	used:	0 0 1 .. 0 | 0 .. 0 | ...	which lists are not empty
 *	first:	. . A .. .			A <--> D <--> C <--> A
 *
 * Lists are circular, and a queue joins a list at its end. A queue has two pairs of
 * links (flow_table.h), so it can be in a list of one such set and one of another.
 */
#ifndef _SQF_LISTS_H
#define _SQF_LISTS_H

#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/types.h>
#include <shortfirst/flow_table.h>

#define SQF_LISTS	4096	/* so that one word can tell which words are 0 */
#define SQF_NO_LIST	SQF_LISTS

struct sqf_lists {
	u64	words;
	u64	used[SQF_LISTS / 64];
	u32	*first;			/* of each list, if it is not empty */
};

/* sqf_lists_init - allocate; 0 or -ENOMEM */
static inline int sqf_lists_init(struct sqf_lists *lists)
{
	lists->first = kvcalloc(SQF_LISTS, sizeof(*lists->first), GFP_KERNEL_ACCOUNT);
	return lists->first ? 0 : -ENOMEM;
}

static inline void sqf_lists_free(struct sqf_lists *lists)
{
	kvfree(lists->first);
}

static inline bool sqf_list_used(const struct sqf_lists *lists, u32 n)
{
	return lists->used[n / 64] >> n % 64 & 1;
}

/* sqf_list_add - let queue @i, which is in none of the lists, join the end of list @n */
static inline void sqf_list_add(struct sqf_lists *lists, u32 n,
				struct sf_queue *queues, u32 i, int link)
{
	u32 first = i, last = i;

	if (sqf_list_used(lists, n)) {
		first = lists->first[n];
		last = queues[first].link[link].prev;
	} else {
		lists->first[n] = i;
		lists->used[n / 64] |= 1ULL << n % 64;
		lists->words |= 1ULL << n / 64;
	}
	queues[i].link[link] = (struct sf_link) { .next = first, .prev = last };
	queues[last].link[link].next = i;
	queues[first].link[link].prev = i;
}

/* sqf_list_del - take queue @i out of list @n, where it is */
static inline void sqf_list_del(struct sqf_lists *lists, u32 n,
				struct sf_queue *queues, u32 i, int link)
{
	struct sf_link at = queues[i].link[link];

	if (at.next == i) {
		lists->used[n / 64] &= ~(1ULL << n % 64);
		if (!lists->used[n / 64])
			lists->words &= ~(1ULL << n / 64);
		return;
	}
	queues[at.prev].link[link].next = at.next;
	queues[at.next].link[link].prev = at.prev;
	if (lists->first[n] == i)
		lists->first[n] = at.next;
}

/* The three that follow return the number of a list, or SQF_NO_LIST if all are empty. */

/* sqf_lists_least - the first that is not empty */
static inline u32 sqf_lists_least(const struct sqf_lists *lists)
{
	u32 word;

	if (!lists->words)
		return SQF_NO_LIST;
	word = __ffs64(lists->words);
	return word * 64 + __ffs64(lists->used[word]);
}

/* sqf_lists_most - the last that is not empty */
static inline u32 sqf_lists_most(const struct sqf_lists *lists)
{
	u32 word;

	if (!lists->words)
		return SQF_NO_LIST;
	word = fls64(lists->words) - 1;
	return word * 64 + fls64(lists->used[word]) - 1;
}

/* sqf_lists_from - list @n or the first after it, after the last comes the first */
static inline u32 sqf_lists_from(const struct sqf_lists *lists, u32 n)
{
	u32 word = n / 64;
	u64 found = lists->used[word] & ~0ULL << n % 64;

	if (!found) {
		found = lists->words & ~0ULL << word << 1;
		if (!found)
			found = lists->words;
		if (!found)
			return SQF_NO_LIST;
		word = __ffs64(found);
		found = lists->used[word];
	}
	return word * 64 + __ffs64(found);
}

#endif
