/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What flows are forgiven of what they have attained: by the rate of the link, and by what all have
 * done in the last epochs. One ends with a measurement of the link, or if there is none with the
 * first packet after SF_EPOCH that finds nothing waiting.
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
	g->epoch_from = jiffies;
	g->epoch++;
}

/*
 * With an epoch of so many jiffies 1 / 2^this of what was before it is forgotten, so that it counts
 * for a second or so, and nothing of it after a pause.
 */
static inline u32 sf_groups_fades(u32 elapsed)
{
	if (elapsed >= 2 * SF_EPOCH)
		return 0;
	return elapsed >= SF_EPOCH / 2 ? 1 : elapsed >= SF_EPOCH / 4 ? 2 : 3;
}

/* How many of late: the most in an epoch, which fades */
static inline u32 sf_groups_count_lately(u32 was, u32 count, u32 shift)
{
	return max(count << SF_LATELY_SHIFT, was - DIV_ROUND_UP(was, BIT(shift)));
}

/* Which part of the link of late, << SF_LEAK_SHIFT: in this epoch @bytes of @could */
static inline u32 sf_groups_part_lately(u32 was, u64 bytes, u64 could, u32 shift)
{
	u64 part = div64_u64(bytes << SF_LEAK_SHIFT, could);

	return min_t(u64, was - (was >> shift) + (part >> shift), BIT(SF_LEAK_SHIFT));
}

/*
 * In the epoch that ends the link could have sent @could. The ones before count, too: else who
 * sends in bursts would be alone in one of them, and gone in the next. What comes in one counts as
 * no more than @most, which the link sends in SF_EPOCH or in this one: the rest has hardly been
 * sent.
 */
static inline void sf_groups_look_back(struct sf_groups *g, u64 could, u64 most, u32 shift)
{
	g->active_lately = sf_groups_count_lately(g->active_lately, g->active, shift);
	g->greedy_lately = sf_groups_count_lately(g->greedy_lately, g->greedy, shift);
	g->streamed_lately = sf_groups_part_lately(g->streamed_lately, min(g->streamed, most),
						   could, shift);
	g->modest_lately = sf_groups_part_lately(g->modest_lately, min(g->modest_bytes, most),
						 could, shift);
}

/* How many have parts of the link's rate, and what is a stream's? */
static inline void sf_groups_share_out(struct sf_groups *g)
{
	u32 all = BIT(SF_LEAK_SHIFT), rest = all - g->share;
	u32 active = DIV_ROUND_UP(g->active_lately, BIT(SF_LATELY_SHIFT));
	u32 greedy = DIV_ROUND_UP(g->greedy_lately, BIT(SF_LATELY_SHIFT));

	g->parts = max(active, 1U);
	g->stream_share = g->share + rest * SF_FEW / max(active, SF_FEW);
	if (g->streamed_lately <= all / 2 && active > 1)
		g->stream_share *= 2;
	g->level_share = 0;
	if (g->streamed_lately < all / 4 * 3)
		g->level_share = SF_LEVEL_MOST;
	/* If nobody is greedy there is no other limit. */
	if (greedy)
		g->level_share = min(g->level_share, (all - g->modest_lately) / greedy);
}

/*
 * All that depends on the rate of the link. As long as that is not known forgive_share is of any:
 * all is forgiven, but to who waits.
 */
static void sf_groups_use_rate(struct sf_groups *g)
{
	u32 elapsed = g->s.link.elapsed, room = g->s.link.room;
	u64 bytes = g->s.link.measured, parts = (u64)elapsed * g->parts;

	g->stale = room == SF_ROOM_UNKNOWN ? U64_MAX : (u64)room * SF_STALE;
	g->fair_from = g->fair;
	g->leak = 0;
	g->leak_part = 0;
	if (!bytes) {
		if (g->share)
			g->leak = U64_MAX;
		g->leak_part = g->leak;
		g->debt_max = 0;
		g->level = 0;
		g->ahead = 0;
		return;
	}
	g->debt_max = div_u64(bytes * g->long_share * SF_DEBT, elapsed);
	sf_lists_bound_debt(&g->top, g->debt_max);
	g->level = mul_u64_u32_div(mul_u64_u32_shr(bytes, g->level_share, SF_LEAK_SHIFT),
				   SF_MEASURE, elapsed);
	g->ahead = mul_u64_u32_div(bytes, SF_MEASURE * SF_AHEAD_OF, elapsed);
	if (g->share) {
		g->leak = max(div64_u64(bytes * g->stream_share, parts),
			      div_u64(bytes * g->level_share, elapsed));
		g->leak_part = div64_u64(bytes * g->share, parts);
	}
	/* Else a flow would be short for seconds on a slow link. */
	if (g->fair != SF_NEVER)
		g->fair_from = min_t(u64, g->fair, max(g->s.link.sends / 2, SF_FAIR_LEAST));
}

/* Nothing is known of what others have done. */
static inline void sf_groups_forget_others(struct sf_groups *g)
{
	g->active_lately = 0;
	g->greedy_lately = 0;
	g->streamed_lately = 0;
	g->modest_lately = 0;
}

/*
 * An epoch ends, of no less than @least jiffies. What the link could have sent in it is of all the
 * time since it began, as what streams have sent is: else a burst that is alone there for one
 * measurement would count as if streams never left anything. If nothing came for long that counts
 * as one SF_EPOCH.
 */
static noinline void sf_groups_end_epoch(struct sf_groups *g, u32 least)
{
	u32 elapsed = (u32)jiffies - g->epoch_from;
	u32 lasted = max(min_t(u32, elapsed, SF_EPOCH), least);
	const struct sf_link_rate *link = &g->s.link;
	u64 could, most;

	if (link->measured) {
		could = mul_u64_u32_div(link->measured, lasted, link->elapsed) ?: 1;
		most = mul_u64_u32_div(link->measured, max_t(u32, lasted, SF_EPOCH),
				       link->elapsed);
		sf_groups_look_back(g, could, most, sf_groups_fades(max(elapsed, lasted)));
		sf_groups_share_out(g);
		sf_groups_use_rate(g);
		if (g->hosts.by)
			sf_hosts_share_out(&g->hosts, could, lasted);
	} else {
		sf_groups_forget_others(g);
	}
	sf_hosts_begin_epoch(&g->hosts);
	sf_groups_begin_epoch(g);
}

/* The rate of the link is known anew. */
static noinline void sf_groups_measured(struct sf_groups *g)
{
	if (g->hosts.by)
		sf_hosts_measured(&g->hosts, g->s.link.measured, g->s.link.elapsed);
	sf_groups_end_epoch(g, g->s.link.elapsed);
}

/* Nothing is known of the link but its rate, if that is set, nor of who has sent what. */
static inline void sf_groups_forget_link(struct sf_groups *g)
{
	sf_groups_forget_others(g);
	sf_groups_begin_epoch(g);
	sf_lists_forget_debt(&g->top, 0);
	sf_hosts_forget_link(&g->hosts);
	sf_link_forget(&g->s.link);
	if (g->s.link.set)
		sf_groups_measured(g);
	else
		sf_groups_use_rate(g);
}

/*
 * Options have changed, perhaps the rate that is set, which was @was, as in link.set. What is known
 * is kept, and what has come in this epoch, which goes on, counts as if it were of this rate: else
 * who changes options often would let nobody be over his share. If the rate was measured, and is
 * set now, or the other way around, it is another link.
 */
static inline void sf_groups_follow_link(struct sf_groups *g, u64 was)
{
	u64 set = g->s.link.set;

	if (!set != !was) {
		sf_groups_forget_link(g);
		return;
	}
	sf_groups_share_out(g);
	sf_groups_use_rate(g);
	if (set != was)
		sf_hosts_scale(&g->hosts, set, was);
}

/* A packet of @len bytes is on its way. */
static inline void sf_groups_sent(struct sf_groups *g, u32 len)
{
	g->sent += len;
	if (unlikely(sf_link_sent(&g->s.link, len)))
		sf_groups_measured(g);
}

/* A flow is seen for the first time in this epoch. */
static __always_inline void sf_groups_seen(struct sf_groups *g, struct sf_flow *f, u32 silent)
{
	f->epoch = g->epoch;
	f->age = min(f->age + 1, SF_AGE);
	g->active += f->age == SF_AGE;
	if (f->queue)
		f->standing += f->standing < 2 * SF_STANDS;
	else if (silent >= SF_STOOD_FOR)
		f->standing = 0;
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
	if (f->attained <= max3(g->level, (u64)ETH_FRAME_LEN, (u64)len) &&
	    f->attained < g->fair_from) {
		g->modest_bytes += len;
	} else {
		f->modest = false;
		g->greedy++;
	}
}

/* Forgive a flow what it is to be forgiven until now, but not what waits. */
static __always_inline void sf_groups_forgive(struct sf_groups *g, struct sf_flow *f, u32 now)
{
	u32 waiting = f->queue ? g->s.table.queues[f->queue].backlog : 0;
	u32 elapsed = now - f->seen;
	u64 leak, most;

	if (!elapsed)
		return;
	leak = f->stream ? g->leak : f->queue ? 0 : g->leak_part;
	if (leak == U64_MAX && f->queue)
		leak = 0;
	if (leak != U64_MAX)
		leak = mul_u64_u32_shr(leak, elapsed, SF_LEAK_SHIFT);
	most = f->attained - min_t(u64, f->attained, waiting);
	f->attained -= min(most, leak);
	WRITE_ONCE(f->seen, now);
}

/*
 * The queue of a flow becomes empty, which is forgiven the time that its last packet has waited,
 * too. Kept apart, since there are several who call it.
 */
static noinline void sf_groups_forgive_last(struct sf_groups *g, struct sf_flow *f)
{
	sf_groups_forgive(g, f, jiffies);
}

/* A packet comes to a flow. What is refused does not: ranks depend on what is forgiven. */
static __always_inline void sf_groups_comes(struct sf_groups *g, struct sf_flow *f, u32 now)
{
	if (f->epoch != g->epoch)
		sf_groups_seen(g, f, now - f->seen);
	sf_groups_forgive(g, f, now);
}

#endif
