/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For kinds in which not every packet belongs to a record (flow_table.h), and packets of
 * a record wait in queues that are not its own. sf_flow.queue says how many do.
 *
 * A flag (RST, the SYN of the next, or FIN) says that a flow has ended. Anybody can set
 * it, so it makes the record closing only: the flow begins anew if nothing comes for
 * `linger`, and if something does it goes on. A SYN begins it anew if it has been silent
 * for that long. With a linger of 0 flags are believed at once.
 *
 * A record also goes when its flow has been silent for longer than the idle time, or
 * when another flow wants it and no other of its set has been silent for longer. But it
 * never goes while packets wait: without a linger it then goes with the last of them.
 */
#ifndef _SF_FLOW_RECENT_H
#define _SF_FLOW_RECENT_H

#include "classes.h"
#include "sched.h"

struct sf_recent {
	u32	linger;		/* jiffies */
	/* statistics */
	u32	peak;		/* the most records that were used */
	u32	queued;		/* flows with packets */
};

/* Forget a flow that has no packets. */
static inline void sf_recent_forget(struct sf_table *t, const struct sf_flow *f)
{
	u32 i = f - t->flows;

	WRITE_ONCE(t->tags[i / SF_WAYS], t->tags[i / SF_WAYS] & ~sf_tag_at(0xff, i % SF_WAYS));
	t->used--;
}

/*
 * sf_recent_assign - a record for the flow of sf_sched.key that has none; @hash is of it
 *
 * Return: the record, or NULL if all that it may have hold packets.
 */
static noinline struct sf_flow *sf_recent_assign(struct sf_sched *s, struct sf_recent *r,
						 u32 hash)
{
	struct sf_table *t = &s->table;
	u32 set = sf_table_set(t, hash), now = jiffies, way = SF_WAYS, i;
	struct sf_flow *f = &t->flows[set * SF_WAYS];
	u64 unused = sf_tags_match(t->tags[set], 0);
	u32 silent, longest = 0;

	if (unused) {
		way = __ffs64(unused) / 8;
		t->used++;
	}
	for (i = 0; i < SF_WAYS && !unused; i++) {
		silent = now - f[i].seen;
		if (f[i].closing && silent >= r->linger)
			silent = U32_MAX;
		if (f[i].queue || (way < SF_WAYS && silent <= longest))
			continue;
		longest = silent;
		way = i;
	}
	if (way == SF_WAYS) {
		s->overflow++;
		return NULL;
	}
	if (!unused && longest <= t->idle)
		t->evictions++;
	r->peak = max(r->peak, t->used);
	return sf_table_assign(t, &s->key, hash, way, now);
}

/* A flag has said that the flow of @f has ended. Without linger that is so. */
static inline void sf_recent_close(struct sf_table *t, const struct sf_recent *r,
				   struct sf_flow *f)
{
	f->closing = true;
	if (!r->linger && !f->queue)
		sf_recent_forget(t, f);
}

/*
 * What comes to the flow of @f, a segment with @flags, is of another one, though of the
 * same ports.
 */
static inline bool sf_recent_begins(const struct sf_table *t, const struct sf_recent *r,
				    const struct sf_flow *f, u8 flags)
{
	u32 silent = (u32)jiffies - f->seen;

	if (silent > t->idle)
		return true;
	return (flags & SF_TCP_SYN || f->closing) && silent >= r->linger &&
	       !(r->linger && f->strayed);
}

/**
 * sf_recent_find - the record of the flow of sf_sched.key
 * @s: the qdisc
 * @r: its records
 * @hash: of the key
 * @flags: of the TCP segment that has come, or 0
 *
 * Return: the record, which may be closing, or NULL.
 */
static __always_inline struct sf_flow *sf_recent_find(struct sf_sched *s,
						      const struct sf_recent *r,
						      u32 hash, u8 flags)
{
	struct sf_flow *f = sf_table_find(&s->table, &s->key, hash);
	bool begins;

	if (!f)
		return NULL;
	begins = sf_recent_begins(&s->table, r, f, flags);
	if (begins && !f->queue) {
		sf_recent_forget(&s->table, f);
		return NULL;
	}
	if (r->linger)
		f->closing = flags & SF_TCP_SYN;
	else if (begins)
		f->closing = true;
	return f;
}

/*
 * Is @f, which the segment before belonged to, forgotten? It is if its last packet had
 * to make room for that segment.
 */
static inline bool sf_recent_gone(const struct sf_recent *r, const struct sf_flow *f)
{
	return !r->linger && f->closing && !f->queue;
}

/* A packet of @f waits: count it, and say in the packet whose it is. */
static __always_inline void sf_recent_add(struct sf_sched *s, struct sf_recent *r,
					  struct sf_flow *f, struct sk_buff *skb)
{
	sf_cb(skb)->flow = f - s->table.flows;
	f->backlog += qdisc_pkt_len(skb);
	if (!f->queue)
		r->queued++;
	WRITE_ONCE(f->queue, f->queue + 1);
}

/*
 * A packet of @f, which may be NULL, has come and is kept. It is counted as sent at once, since
 * those that go first do not know whose they are when they leave.
 */
static __always_inline void sf_recent_sum(struct sf_sched *s, const struct sf_flow *f,
					  const struct sk_buff *skb)
{
	if (f)
		sf_sum_sent(sf_flow_sums(&s->table, f), skb);
}

/* For sf_kind.dropped */
static inline void sf_recent_refused(struct Qdisc *sch, const struct sf_place *to)
{
	struct sf_sched *s = qdisc_priv(sch);

	if (to->flow)
		sf_flow_sums(&s->table, to->flow)->drops++;
}

/*
 * A packet that waited is dropped, before sf_recent_del(): it was not sent. If its flow has begun
 * anew since, it is not in the sums.
 */
static inline void sf_recent_dropped(struct sf_sched *s, const struct sk_buff *skb)
{
	struct sf_sums *sums;

	if (sf_cb(skb)->flow == SF_NO_FLOW)
		return;
	sums = &s->table.sums[sf_cb(skb)->flow];
	sums->bytes -= min_t(u64, sums->bytes, qdisc_pkt_len(skb));
	sums->packets -= min_t(u64, sums->packets, sf_pkt_segs(skb));
	sums->drops++;
}

/* A packet has left, for whatever reason. */
static __always_inline void sf_recent_del(struct sf_sched *s, struct sf_recent *r,
					  const struct sk_buff *skb)
{
	struct sf_flow *f;

	if (sf_cb(skb)->flow == SF_NO_FLOW)
		return;
	f = &s->table.flows[sf_cb(skb)->flow];
	f->backlog -= qdisc_pkt_len(skb);
	WRITE_ONCE(f->queue, f->queue - 1);
	if (f->queue)
		return;
	r->queued--;
	if (f->closing && !r->linger)
		sf_recent_forget(&s->table, f);
}

/* Tell of the flow that class @cl is, whose record is returned; under the lock */
static inline const struct sf_flow *sf_recent_tell(struct Qdisc *sch, unsigned long cl)
{
	struct sf_sched *s = qdisc_priv(sch);
	const struct sf_flow *f = &s->table.flows[cl - SF_PLACE_0];

	sf_tell_flow(sch, cl - SF_PLACE_0);
	s->told.attained = 0;
	s->told.qlen = f->queue;
	s->told.backlog = f->queue ? f->backlog : 0;
	return f;
}

#endif
