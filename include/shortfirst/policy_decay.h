/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decay of attained service, by the rate of the link and by the activity of all flows in the last
 * second or so. An epoch ends with each measurement of the link, or if there is none with the first
 * packet after SF_EPOCH that finds the qdisc empty.
 *
 * An equal part is the link's rate over the number of old flows. A flow without backlog loses half
 * of a part (decay_share). A sparse flow, which is old and has no standing queue, loses
 *
 *	a part, also while it waits	of more than SF_FEW active flows less, down to half
 *	two parts			if all sparse flows send half of the link at most
 *	fair_level, if that is more	if they send three quarters at most
 *
 * fair_level is what modest sparse flows leave of the link, divided among the other old flows, and
 * at most half of the link. A sparse flow is modest in an epoch if it attains no more than that. So
 * sparse flows have what max-min fairness would give them.
 */
#ifndef _SF_POLICY_DECAY_H
#define _SF_POLICY_DECAY_H

#include <linux/if_ether.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include "policy_state.h"

static inline void sf_policy_begin_epoch(struct sf_policy *p)
{
	p->active = 0;
	p->greedy = 0;
	p->sparse_bytes = 0;
	p->modest_bytes = 0;
	p->epoch_from = jiffies;
	p->epoch++;
}

/*
 * An epoch of that many jiffies forgets 1 / 2^this of those before, so that counts hold for a
 * second or so. A pause of two seconds forgets all.
 */
static inline u32 sf_policy_smoothing(u32 elapsed)
{
	if (elapsed >= 2 * SF_EPOCH)
		return 0;
	return elapsed >= SF_EPOCH / 2 ? 1 : elapsed >= SF_EPOCH / 4 ? 2 : 3;
}

/* Smoothed count: the most in an epoch, which fades */
static inline u32 sf_policy_smooth_count(u32 was, u32 count, u32 shift)
{
	return max(count << SF_SMOOTH_SHIFT, was - DIV_ROUND_UP(was, BIT(shift)));
}

/* Smoothed part of the link << SF_DECAY_SHIFT: in this epoch @bytes of @could */
static inline u32 sf_policy_smooth_part(u32 was, u64 bytes, u64 could, u32 shift)
{
	u64 part = div64_u64(bytes << SF_DECAY_SHIFT, could);

	return min_t(u64, was - (was >> shift) + (part >> shift), BIT(SF_DECAY_SHIFT));
}

/*
 * An epoch ends in which the link could have sent @could bytes. Earlier epochs count, too: a burst
 * is otherwise alone in one and gone in the next. What comes in one epoch counts as @most bytes at
 * most, since the rest has hardly been sent.
 */
static inline void sf_policy_smooth(struct sf_policy *p, u64 could, u64 most, u32 shift)
{
	p->active_smoothed = sf_policy_smooth_count(p->active_smoothed, p->active, shift);
	p->greedy_smoothed = sf_policy_smooth_count(p->greedy_smoothed, p->greedy, shift);
	p->sparse_smoothed = sf_policy_smooth_part(p->sparse_smoothed, min(p->sparse_bytes, most),
						   could, shift);
	p->modest_smoothed = sf_policy_smooth_part(p->modest_smoothed, min(p->modest_bytes, most),
						   could, shift);
}

/* Divide the link's rate among old flows. */
static inline void sf_policy_share_out(struct sf_policy *p)
{
	u32 all = BIT(SF_DECAY_SHIFT), rest = all - p->decay_share;
	u32 active = DIV_ROUND_UP(p->active_smoothed, BIT(SF_SMOOTH_SHIFT));
	u32 greedy = DIV_ROUND_UP(p->greedy_smoothed, BIT(SF_SMOOTH_SHIFT));

	p->parts = max(active, 1U);
	p->sparse_share = p->decay_share + rest * SF_FEW / max(active, SF_FEW);
	if (p->sparse_smoothed <= all / 2 && active > 1)
		p->sparse_share *= 2;
	p->fair_share = 0;
	if (p->sparse_smoothed < all / 4 * 3)
		p->fair_share = BIT(SF_DECAY_SHIFT - 1);
	/* Modest flows leave the rest to greedy ones. */
	if (greedy)
		p->fair_share = min(p->fair_share, (all - p->modest_smoothed) / greedy);
}

/*
 * Set all that depends on the rate of the link. Until that is known, attained service decays at
 * once while a flow has no backlog.
 */
static void sf_policy_use_rate(struct sf_policy *p)
{
	u32 elapsed = p->s.link.elapsed, room = p->s.link.room;
	u64 bytes = p->s.link.measured, parts = (u64)elapsed * p->parts;

	p->expire_bytes = room == SF_ROOM_UNKNOWN ? U64_MAX : (u64)room * SF_EXPIRE;
	p->bulk_from = p->bulk_most;
	p->sparse_decay = 0;
	p->decay = 0;
	if (!bytes) {
		if (p->decay_share)
			p->sparse_decay = U64_MAX;
		p->decay = p->sparse_decay;
		p->debt_max = 0;
		p->fair_level = 0;
		p->head_start = 0;
		return;
	}
	p->debt_max = div_u64(bytes * p->bulk_share * SF_DEBT, elapsed);
	sf_lists_bound_debt(&p->top, p->debt_max);
	p->fair_level = mul_u64_u32_div(mul_u64_u32_shr(bytes, p->fair_share, SF_DECAY_SHIFT),
					SF_MEASURE, elapsed);
	p->head_start = mul_u64_u32_div(bytes, SF_HEAD_START, elapsed);
	if (p->decay_share) {
		p->sparse_decay = max(div64_u64(bytes * p->sparse_share, parts),
				      div_u64(bytes * p->fair_share, elapsed));
		p->decay = div64_u64(bytes * p->decay_share, parts);
	}
	/* On a slow link a flow would be short for seconds otherwise. */
	if (p->bulk_most != SF_NEVER)
		p->bulk_from = min_t(u64, p->bulk_most, max(p->s.link.sends / 2, SF_FIRST_WINDOW));
}

static inline void sf_policy_forget_activity(struct sf_policy *p)
{
	p->active_smoothed = 0;
	p->greedy_smoothed = 0;
	p->sparse_smoothed = 0;
	p->modest_smoothed = 0;
}

/*
 * An epoch of at least @least jiffies ends. What the link could have sent is that of all the time
 * since it began, as for what sparse flows have sent. A longer pause counts as SF_EPOCH.
 */
static noinline void sf_policy_end_epoch(struct sf_policy *p, u32 least)
{
	u32 elapsed = (u32)jiffies - p->epoch_from;
	u32 lasted = max(min_t(u32, elapsed, SF_EPOCH), least);
	const struct sf_link_rate *link = &p->s.link;
	u64 could, most;

	if (link->measured) {
		could = mul_u64_u32_div(link->measured, lasted, link->elapsed) ?: 1;
		most = mul_u64_u32_div(link->measured, max_t(u32, lasted, SF_EPOCH),
				       link->elapsed);
		sf_policy_smooth(p, could, most, sf_policy_smoothing(max(elapsed, lasted)));
		sf_policy_share_out(p);
		sf_policy_use_rate(p);
		if (p->hosts.by)
			sf_hosts_share_out(&p->hosts, could, lasted);
	} else {
		sf_policy_forget_activity(p);
	}
	sf_hosts_begin_epoch(&p->hosts);
	sf_policy_begin_epoch(p);
}

/* The rate of the link was measured, or set. */
static noinline void sf_policy_measured(struct sf_policy *p)
{
	if (p->hosts.by)
		sf_hosts_measured(&p->hosts, p->s.link.measured, p->s.link.elapsed);
	sf_policy_end_epoch(p, p->s.link.elapsed);
}

/* Forget the measured rate and all activity. */
static inline void sf_policy_forget_link(struct sf_policy *p)
{
	sf_policy_forget_activity(p);
	sf_policy_begin_epoch(p);
	sf_lists_forget_debt(&p->top, 0);
	sf_hosts_forget_link(&p->hosts);
	sf_link_forget(&p->s.link);
	if (p->s.link.set)
		sf_policy_measured(p);
	else
		sf_policy_use_rate(p);
}

/*
 * Options have changed; the rate that was set before is @was. Activity is kept and scaled:
 * otherwise frequent changes would let no host be over its share. A rate that is set instead of
 * measured, or the other way around, means another link.
 */
static inline void sf_policy_follow_link(struct sf_policy *p, u64 was)
{
	u64 set = p->s.link.set;

	if (!set != !was) {
		sf_policy_forget_link(p);
		return;
	}
	sf_policy_share_out(p);
	sf_policy_use_rate(p);
	if (set != was)
		sf_hosts_scale(&p->hosts, set, was);
}

/* Count @len bytes that are sent. */
static inline void sf_policy_sent(struct sf_policy *p, u32 len)
{
	p->sent += len;
	if (unlikely(sf_link_sent(&p->s.link, len)))
		sf_policy_measured(p);
}

/* A flow is seen for the first time in this epoch. */
static __always_inline void sf_policy_age(struct sf_policy *p, struct sf_flow *f, u32 silent)
{
	f->epoch = p->epoch;
	f->age = min(f->age + 1, SF_AGE);
	p->active += f->age == SF_AGE;
	if (f->queue)
		f->standing += f->standing < 2 * SF_STANDING;
	else if (silent >= SF_DEBT)
		f->standing = 0;
	else if (f->standing)
		f->standing--;
	f->sparse = f->age == SF_AGE && f->standing < SF_STANDING;
	f->modest = f->sparse;
	p->greedy += f->age == SF_AGE && !f->modest;
}

/* Count a packet of a sparse flow that arrives. */
static __always_inline void sf_policy_count_sparse(struct sf_policy *p, struct sf_flow *f, u32 len)
{
	p->sparse_bytes += len;
	if (!f->modest)
		return;
	/* What a bulk flow has attained is bounded, and the level is not. */
	if (f->attained <= max3(p->fair_level, (u64)ETH_FRAME_LEN, (u64)len) &&
	    f->attained < p->bulk_from) {
		p->modest_bytes += len;
	} else {
		f->modest = false;
		p->greedy++;
	}
}

/*
 * Decay what a flow has attained until now, but not below its backlog. Only sparse flows decay
 * while they are backlogged.
 */
static __always_inline void sf_policy_decay(struct sf_policy *p, struct sf_flow *f, u32 now)
{
	u32 waiting = f->queue ? p->s.table.queues[f->queue].backlog : 0;
	u32 elapsed = now - f->seen;
	u64 leak, most;

	if (!elapsed)
		return;
	leak = f->sparse ? p->sparse_decay : f->queue ? 0 : p->decay;
	if (leak == U64_MAX && f->queue)
		leak = 0;
	if (leak != U64_MAX)
		leak = mul_u64_u32_shr(leak, elapsed, SF_DECAY_SHIFT);
	most = f->attained - min_t(u64, f->attained, waiting);
	f->attained -= min(most, leak);
	WRITE_ONCE(f->seen, now);
}

/* The same when the queue of a sparse flow becomes empty */
static noinline void sf_policy_decay_last(struct sf_policy *p, struct sf_flow *f)
{
	sf_policy_decay(p, f, jiffies);
}

/* A packet arrives and is not refused. */
static __always_inline void sf_policy_on_arrival(struct sf_policy *p, struct sf_flow *f, u32 now)
{
	if (f->epoch != p->epoch)
		sf_policy_age(p, f, now - f->seen);
	sf_policy_decay(p, f, now);
}

#endif
