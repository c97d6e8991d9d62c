/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All backlogged queues, for when options change or the qdisc is reset. Each is in a list, or in
 * the tree, of its class. Their numbers are written behind those of the free queues:
 *
 *	spare:	[free] ... [free] [backlogged] ... [backlogged] [ ] ... [ ]
 *		0	 spares - 1		spares + count - 1
 *
 * There is room for that, as a queue is free or backlogged. So the time under the lock depends on
 * the backlogged queues, and not on the size of the table.
 */
#ifndef _SF_POLICY_BACKLOGGED_H
#define _SF_POLICY_BACKLOGGED_H

#include <linux/rbtree.h>
#include "examined.h"
#include "policy_class.h"

/* Write the numbers of the queues in these lists; returns where the next one belongs. */
static u32 *sf_policy_write_lists(const struct sf_policy *p, const struct sf_lists *l, u32 *to)
{
	const struct sf_queue *queues = p->s.table.queues;
	const struct rb_node *node;
	u32 list, i;

	for (list = SF_NEW; list <= SF_BULK; list++) {
		for (i = l->first[list]; i; i = queues[i].listed.next) {
			sf_examined(0);
			*to++ = i;
			if (queues[i].listed.next == l->first[list])
				break;
		}
	}
	for (node = rb_first_cached(&l->ranked); node; node = rb_next(node)) {
		sf_examined(0);
		*to++ = sf_policy_number(p, sf_policy_queue_of(node));
	}
	return to;
}

/*
 * Write the numbers of all backlogged queues, in the order of their lists; how many. They stay
 * there until a queue is taken or released.
 */
static u32 sf_policy_write_backlogged(struct sf_policy *p)
{
	struct sf_table *t = &p->s.table;
	const struct sf_heap *hosts = &p->hosts.turns;
	u32 *to, i;

	/* There is no table yet if init calls. */
	if (!p->s.held)
		return 0;
	to = sf_policy_write_lists(p, &p->top, &t->spare[t->spares]);
	for (i = 0; i < hosts->size; i++)
		to = sf_policy_write_lists(p, &p->hosts.own[hosts->node[i].queue], to);
	return to - &t->spare[t->spares];
}

#endif
