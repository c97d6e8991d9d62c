/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The groups that flows with packets are in (groups.h), and the lists and the tree of those that
 * are served in one order.
 */
#ifndef _SF_LISTS_H
#define _SF_LISTS_H

#include <linux/bits.h>
#include <linux/if_ether.h>
#include <linux/minmax.h>
#include <linux/rbtree.h>
#include <linux/string.h>
#include "flow_table.h"

/* Of newcomers */
#define SF_SORTS		4

/* So many queues, or hosts, are looked at when one is sought. */
#define SF_SOUGHT		64

/*
 * A small flow goes ahead of others for one of so many bytes that these send, and no more than
 * a full packet at a time.
 */
#define SF_AHEAD_PART		8
#define SF_AHEAD		(SF_AHEAD_PART * ETH_FRAME_LEN)

/* Which of the orders a queue is in; the first are lists */
enum {
	SF_NOBODYS,
	SF_NEW_FLOWS,		/* and SF_SORTS in all: nothing was served yet: by arrival */
	SF_LONG_FLOWS = SF_NEW_FLOWS + SF_SORTS,	/* in turn */
	SF_SHORT_FLOWS,		/* by rank */
	SF_GROUPS,
};

#define SF_ALL_NEW_FLOWS	GENMASK(SF_LONG_FLOWS - 1, SF_NEW_FLOWS)

/* Flows that are served in one order */
struct sf_lists {
	struct rb_root_cached ranked;	/* the queues of known short flows */
	u32		first[SF_LONG_FLOWS + 1];	/* of newcomers, by group, and long flows */
	u32		busy;		/* a bit for each group that has queues */
	u32		queues[SF_GROUPS];	/* with packets; a flow's but for overflow */
	u32		waiting[SF_GROUPS];	/* their bytes, wrapping as backlog does */
	u32		newcomers;	/* of all sorts */
	s32		ahead;		/* bytes * SF_AHEAD_PART that small ones may go ahead */
	bool		crowd;		/* too many short flows have waited, since there were any */
	bool		late;		/* the long flows are owed a fair share */
	s64		overdue;	/* what short flows owe those that wait for long */
	u64		known_credit;	/* of those whose first packet has left: bands.h */
	s64		credit;		/* what long flows have not had, in hundredths */
	u64		had[SF_LONG_FLOWS];	/* bytes, by each sort of newcomers */
	u64		had_last;	/* by the one that was served last, before it was */
};

static inline bool sf_groups_is_new(u8 group)
{
	return (u8)(group - SF_NEW_FLOWS) < SF_SORTS;
}

/* A queue comes to a group; @debt_max is what its long flows may have had too much. */
static __always_inline void sf_lists_count(struct sf_lists *l, u8 group, s64 debt_max)
{
	if (l->queues[group]++)
		return;
	l->busy |= BIT(group);
	/* What long flows were owed while there were none counts up to here. */
	if (group == SF_LONG_FLOWS)
		l->credit = max(l->credit, -debt_max);
	/* What a sort has not had while it had nothing to send is not owed. */
	else if (sf_groups_is_new(group))
		l->had[group] = max(l->had[group], l->had_last);
}

/* The same when it goes */
static __always_inline void sf_lists_uncount(struct sf_lists *l, u8 group)
{
	if (--l->queues[group])
		return;
	l->busy &= ~BIT(group);
	if (group == SF_SHORT_FLOWS)
		l->crowd = false;
}

/* Others than a small flow send @len bytes: newcomers, long flows, or who has waited. */
static __always_inline void sf_lists_let_ahead(struct sf_lists *l, u32 len)
{
	if (l->ahead < SF_AHEAD)
		l->ahead = min_t(s64, (s64)l->ahead + len, SF_AHEAD);
}

/* All sorts of newcomers have had the same, and nobody may go ahead. */
static inline void sf_lists_forget_turns(struct sf_lists *l)
{
	l->ahead = 0;
	l->had_last = 0;
	memset(l->had, 0, sizeof(l->had));
}

/* What long flows, and who has waited, may do without is no more than @debt_max now. */
static inline void sf_lists_bound_debt(struct sf_lists *l, s64 debt_max)
{
	l->credit = max(l->credit, -debt_max);
	l->overdue = max(l->overdue, -debt_max);
}

/* Nobody has waited, and long flows have had no more than is theirs. */
static inline void sf_lists_forget_debt(struct sf_lists *l, s64 debt_max)
{
	l->credit = -debt_max;
	l->overdue = 0;
	l->late = false;
}

#endif
