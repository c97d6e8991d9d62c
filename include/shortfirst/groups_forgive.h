/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What flows are forgiven of what they have attained: by the rate of the link, and by what all have
 * done in the last measurement of it.
 */
#ifndef _SF_GROUPS_FORGIVE_H
#define _SF_GROUPS_FORGIVE_H

#include <linux/if_ether.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include "groups_state.h"

static inline void sf_groups_begin_epoch(struct sf_groups *g)
{
	g->active = 0;
	g->greedy = 0;
	g->streamed = 0;
	g->modest_bytes = 0;
	g->epoch++;
}

/* A measurement ends: how many have parts of the link's rate, and what is a stream's? */
static inline void sf_groups_share_out(struct sf_groups *g)
{
	u64 measured = g->s.link.measured, left;
	u32 rest = (1 << SF_LEAK_SHIFT) - g->share;

	g->parts = max(g->active, 1U);
	g->stream_share = g->share + rest * SF_FEW / max(g->active, SF_FEW);
	if (g->streamed * 2 <= measured && g->active > 1)
		g->stream_share *= 2;
	g->level_share = 0;
	if (g->streamed < measured / 4 * 3)
		g->level_share = SF_LEVEL_MOST;
	/* If nobody is greedy there is no other limit. */
	if (g->level_share && g->greedy) {
		left = div_u64((measured - g->modest_bytes) << SF_LEAK_SHIFT, g->greedy);
		g->level_share = min_t(u64, div64_u64(left, measured), SF_LEVEL_MOST);
	}
	sf_groups_begin_epoch(g);
}

/* What link.measured tells is sent in so many jiffies: all that depends on the rate of the link */
static void sf_groups_use_rate(struct sf_groups *g, u32 elapsed)
{
	u64 bytes = g->s.link.measured, parts = (u64)elapsed * g->parts;
	u32 room = g->s.link.room;

	g->stale = room == SF_ROOM_UNKNOWN ? U64_MAX : (u64)room * SF_STALE;
	g->debt_max = div_u64(bytes * g->long_share * SF_DEBT, elapsed);
	g->top.credit = max(g->top.credit, -g->debt_max);
	g->top.overdue = max(g->top.overdue, -g->debt_max);
	g->level = mul_u64_u32_div(mul_u64_u32_shr(bytes, g->level_share, SF_LEAK_SHIFT),
				   SF_MEASURE, elapsed);
	if (g->share) {
		g->leak = max3(g->leak_min, div64_u64(bytes * g->stream_share, parts),
			       div_u64(bytes * g->level_share, elapsed));
		g->leak_part = max(g->leak_min, div64_u64(bytes * g->share, parts));
	}
	/* Else a flow would be short for seconds on a slow link. */
	if (g->fair != SF_NEVER)
		g->fair_from = min_t(u64, g->fair, max(g->s.link.sends / 2, SF_FAIR_LEAST));
}

static noinline void sf_groups_measured(struct sf_groups *g, u32 elapsed)
{
	sf_groups_share_out(g);
	sf_groups_use_rate(g, elapsed);
	if (g->hosts.by)
		sf_hosts_measured(&g->hosts, g->s.link.measured, elapsed);
}

/*
 * Nothing is known of the link, but its rate if that is set. While nothing ever waits for long,
 * all is forgiven.
 */
static inline void sf_groups_forget_link(struct sf_groups *g)
{
	g->leak = g->share ? U64_MAX : g->leak_min;
	g->leak_part = g->leak;
	g->fair_from = g->fair;
	g->level = 0;
	g->level_share = 0;
	sf_groups_begin_epoch(g);
	g->stale = U64_MAX;
	g->debt_max = 0;
	sf_lists_forget_debt(&g->top, 0);
	sf_hosts_forget_link(&g->hosts);
	sf_link_forget(&g->s.link);
	if (g->s.link.set)
		sf_groups_measured(g, SF_MEASURE);
}

/* The rate that is set is another one, or none; it was @was, as in link.set. */
static inline void sf_groups_set_rate(struct sf_groups *g, u64 was)
{
	u64 set = g->s.link.set;

	if (set == was)
		return;
	if (!set || !was) {
		sf_groups_forget_link(g);
		return;
	}
	sf_groups_use_rate(g, SF_MEASURE);
	sf_hosts_scale(&g->hosts, set, was);
}

/* A packet of @len bytes is on its way. */
static inline void sf_groups_sent(struct sf_groups *g, u32 len)
{
	u32 elapsed = sf_link_sent(&g->s.link, len);

	g->sent += len;
	if (unlikely(elapsed))
		sf_groups_measured(g, elapsed);
}

/* A flow is seen for the first time in this measurement. */
static __always_inline void sf_groups_seen(struct sf_groups *g, struct sf_flow *f)
{
	f->epoch = g->epoch;
	f->age = min(f->age + 1, SF_AGE);
	g->active += f->age == SF_AGE;
	if (f->queue)
		f->standing += f->standing < 2 * SF_STANDS;
	else if (f->standing)
		f->standing--;
	f->stream = f->age == SF_AGE && f->standing < SF_STANDS;
	f->modest = f->stream;
	g->greedy += f->age == SF_AGE && !f->modest;
}

/* A packet of a stream has come. */
static __always_inline void sf_groups_streamed(struct sf_groups *g, struct sf_flow *f, u32 len)
{
	g->streamed += len;
	if (!f->modest)
		return;
	/* What a long flow has attained is bounded (sf_groups_place()), and the level is not. */
	if (f->attained <= max_t(u64, g->level, ETH_FRAME_LEN) && f->attained < g->fair_from) {
		g->modest_bytes += len;
	} else {
		f->modest = false;
		g->greedy++;
	}
}

/*
 * Forgive a flow to which a packet comes what it is to be forgiven, but not what waits. Ranks
 * depend on that: what is refused forgives nothing.
 */
static __always_inline void sf_groups_forgive(struct sf_groups *g, struct sf_flow *f, u32 now)
{
	u32 waiting = f->queue ? g->s.table.queues[f->queue].backlog : 0;
	u32 elapsed = now - f->seen;
	u64 leak, most;

	if (f->epoch != g->epoch)
		sf_groups_seen(g, f);
	if (!elapsed || (f->queue && g->not_waiting))
		return;
	leak = f->stream ? g->leak : f->queue ? g->leak_min : g->leak_part;
	if (leak != U64_MAX)
		leak = mul_u64_u32_shr(leak, elapsed, SF_LEAK_SHIFT);
	else if (f->queue)
		leak = 0;
	most = f->attained - min_t(u64, f->attained, waiting);
	f->attained -= min(most, leak);
	WRITE_ONCE(f->seen, now);
}

#endif
