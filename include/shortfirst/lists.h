/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The classes of backlogged flows (policy.h): a list for each subclass of new flows and for bulk
 * flows, and a tree of short flows. There is one such set for all flows, and one for each host that
 * is over its share.
 */
#ifndef _SF_LISTS_H
#define _SF_LISTS_H

#include <linux/bits.h>
#include <linux/if_ether.h>
#include <linux/minmax.h>
#include <linux/rbtree.h>
#include <linux/string.h>
#include "flow_table.h"

#define SF_SUBCLASSES		4	/* of new flows */

/* Max queues or hosts examined in a search */
#define SF_SEARCH_MAX		64

/* Express flows send an eighth of what others do, and one full packet at a time. */
#define SF_EIGHTH		8
#define SF_EXPRESS		(SF_EIGHTH * ETH_FRAME_LEN)

/* Class of a queue */
enum {
	SF_UNASSIGNED,
	SF_NEW,					/* the first of SF_SUBCLASSES: a list by arrival */
	SF_BULK = SF_NEW + SF_SUBCLASSES,	/* a list, round-robin */
	SF_SHORT,				/* a tree by rank */
	SF_CLASSES,
};

#define SF_ALL_NEW		GENMASK(SF_BULK - 1, SF_NEW)

struct sf_lists {
	struct rb_root_cached ranked;	/* short flows */
	u32		first[SF_BULK + 1];	/* queue of each list that is served next */
	u32		busy;		/* a bit for each class with backlogged flows */
	u32		queues[SF_CLASSES];	/* backlogged flows */
	u32		backlog[SF_CLASSES];	/* bytes; wraps as qstats.backlog does */
	u32		new_flows;	/* of all subclasses */
	s32		express;	/* bytes * SF_EIGHTH that express flows may send */
	bool		overload;	/* of short flows; until there are none */
	bool		bulk_overdue;	/* bulk flows have the share of fair queueing */
	s64		overdue_credit;	/* of overdue short flows, hundredths of bytes */
	u64		short_credit;	/* of short flows against new ones: bands.h */
	s64		bulk_credit;	/* of bulk flows, hundredths of bytes */
	u64		served[SF_BULK];	/* bytes, by subclass */
	u64		served_last;	/* `served` of the subclass served last, before that */
};

static inline bool sf_policy_is_new(u8 class)
{
	return (u8)(class - SF_NEW) < SF_SUBCLASSES;
}

/* Count a queue that enters a class. Bulk flows owe at most @debt_max. */
static __always_inline void sf_lists_count(struct sf_lists *l, u8 class, s64 debt_max)
{
	if (l->queues[class]++)
		return;
	l->busy |= BIT(class);
	if (class == SF_BULK)
		l->bulk_credit = max(l->bulk_credit, -debt_max);
	/* A subclass saves up nothing while it has no packets. */
	else if (sf_policy_is_new(class))
		l->served[class] = max(l->served[class], l->served_last);
}

/* Count one that leaves it. */
static __always_inline void sf_lists_uncount(struct sf_lists *l, u8 class)
{
	if (--l->queues[class])
		return;
	l->busy &= ~BIT(class);
	if (class == SF_SHORT)
		l->overload = false;
}

/* Others than express flows have sent @len bytes. */
static __always_inline void sf_lists_allow_express(struct sf_lists *l, u32 len)
{
	if (l->express < SF_EXPRESS)
		l->express = min_t(s64, (s64)l->express + len, SF_EXPRESS);
}

static inline void sf_lists_forget_turns(struct sf_lists *l)
{
	l->express = 0;
	l->served_last = 0;
	memset(l->served, 0, sizeof(l->served));
}

/* Bulk and overdue flows owe at most @debt_max now. */
static inline void sf_lists_bound_debt(struct sf_lists *l, s64 debt_max)
{
	l->bulk_credit = max(l->bulk_credit, -debt_max);
	l->overdue_credit = max(l->overdue_credit, -debt_max);
}

/* The queue was empty: bulk flows have had what SF_DEBT allows, and are not overdue. */
static inline void sf_lists_forget_debt(struct sf_lists *l, s64 debt_max)
{
	l->bulk_credit = -debt_max;
	l->overdue_credit = 0;
	l->bulk_overdue = false;
}

#endif
