// SPDX-License-Identifier: GPL-2.0
/*
 * sch_run2c - the sequence number tells how far a TCP connection has come
 *
 * K. Avrachenkov, U. Ayesta, P. Brown, E. Nyberg: Differentiation between short and long
 * TCP flows: predictability of the response time, 2004, sections II and III.
 *
 * The rank of a segment is the place of its first byte in its connection. Hosts that
 * play along (run2c_isn) begin each connection with a number from which it can be read:
 *
 *	31             span-1           threshold-1                 0
 *	+----------------+-------------------+-----------------------+
 *	| random         | 0 0 0 ... 0 0 0 0 | 0 ... 0 | random      |
 *	+----------------+-------------------+-----------------------+
 *			   0 in segments of
 *			   low rank
 *
 * Segments of a rank below `threshold` go to the high band, others to the low one. Of
 * two bands the high one goes first (bands.h). Nothing is known of any flow.
 *
 *	segment --> rank < threshold? --yes--> [high] first
 *				      --no---> [low ] last
 *
 * When there is no room for a newcomer the low band loses a packet, or if that is empty,
 * or has no more than it is guaranteed, the high band does.
 *
 * - learn: for hosts that do not play along, the number that a connection begins with is
 *   remembered (flow_recent.h), and a rank is the distance to it. A connection that finds
 *   no room among these records has the rank that its number tells. It is forgotten when
 *   it is reset or silent for `idle`, or when another wants its record. A SYN of none
 *   that is known has the lowest rank. Neither it nor a RST leaves a record, unless it
 *   has data.
 *
 * - order: RuN, section II-A. Not two bands, but one queue by rank; of equal ranks
 *   the first to come goes first. The highest rank goes when there is no room.
 *
 * - other: what is not TCP has no rank. It counts as the lowest, or as the highest, or by
 *   a bucket of its flow that leaks at `slow`: by what is in it when the packet comes.
 *
 * Numbers are the sender's to choose, so that for everybody's sake
 *
 * - queues: inside a band flows take turns, and the longest queue loses (band_queues.h).
 *
 * - resent: what a connection that was learned sends again counts in part, as if it had
 *   come that far, and no rank is less than this part of how far it has come. So whatever
 *   its numbers are it is low before long.
 *
 * - linger: a flag does not make a long connection short (flow_recent.h).
 *
 * A segment that is sent again has the rank it had, but for `resent`, and so may pass by
 * later ones, as it should. Otherwise a flow is reordered only where its ranks begin anew
 * while it has low packets: without a record when its number comes to the next multiple
 * of `span`, when there is room for a record at last, when more than a window of it took
 * another way, and when options or filters change. Also `guarantee` may let the first
 * low packets of a flow pass by its last high ones. All fragments between two hosts are
 * one flow and have no numbers, but if `other` counts nothing the first of a segment has.
 *
 * All of this is under the root qdisc's lock; sched.h says what a dump reads without.
 */

/* The name, as tc, modprobe and what is refused tell it */
#define SF_KIND "run2c"

#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>
#include <shortfirst/band_queues.h>
#include <shortfirst/compat.h>
#include <shortfirst/filter.h>
#include <shortfirst/flow_recent.h>
#include <shortfirst/link_rate.h>
#include <shortfirst/sched.h>
#include <shortfirst/sorted.h>
#include <shortfirst/tcp_seq.h>
#include "pkt_run2c.h"

#define RUN2C_ROOM_MIN		(16 << 10)	/* bytes */

#define RUN2C_RANK_MAX		U64_MAX
#define RUN2C_WINDOW		(1024U << 20)	/* bytes, the largest of TCP */

/* What a bucket holds, in thresholds, so that who is kept waiting is not slow by that */
#define RUN2C_COUNT_MAX		4
#define RUN2C_LEAK_SHIFT	16

struct run2c_sched {
	struct sf_sched	s;
	struct sf_bands	bands;
	struct rb_root_cached sorted;	/* with order: the packets of the low band */
	struct sf_recent recent;
	u64		leak;		/* bytes per jiffy << RUN2C_LEAK_SHIFT */
	u64		opt[SF_OPTION_VALUES(RUN2C)];	/* by attribute */
	u64		tcp;
	u64		other;
};

static_assert(SF_CLASS_1 == (u32)TC_RUN2C_CLASS_HIGH);
static_assert(SF_CLASS_2 == (u32)TC_RUN2C_CLASS_LOW);
static_assert(SF_CLASS_FLOWS == (u32)TC_RUN2C_CLASS_FLOWS);

/* How far the connection of @f has come: to f->last */
static u64 run2c_last(const struct sf_flow *f)
{
	return f->counted ? f->count : (u64)f->wraps << 32 | (f->last - f->first);
}

/* Let it have come to the number f->last, and to this rank. */
static void run2c_set_last(struct sf_flow *f, u64 last)
{
	f->first = f->last - (u32)last;
	f->wraps = min_t(u64, last >> 32, U16_MAX);
}

/* What is not new of a segment that ends @ahead of the newest counts in part. */
static noinline void run2c_resent(struct sf_flow *f, u32 data, s32 ahead, u32 percent)
{
	u32 again = data - clamp_t(s32, ahead, 0, data);

	run2c_set_last(f, run2c_last(f) + div_u64((u64)again * percent, 100));
}

/* The rank of a segment: the highest, if it is further than a window from the newest so far */
static __always_inline u64 run2c_learned(const struct run2c_sched *q, struct sf_flow *f,
					 struct sf_tcp tcp)
{
	u32 percent = q->opt[TCA_RUN2C_RESENT], from = tcp.seq - f->last + RUN2C_WINDOW;
	u64 last = run2c_last(f), rank;
	s32 ahead;

	/* Not of this connection, or of a part of it that took another way: no sign of life */
	if (unlikely(from > 2 * RUN2C_WINDOW)) {
		f->strayed = true;
		return RUN2C_RANK_MAX;
	}
	f->strayed = false;
	WRITE_ONCE(f->seen, jiffies);
	if (from >= RUN2C_WINDOW)
		rank = last + (from - RUN2C_WINDOW);
	else	/* Older than the first that was seen: as the first */
		rank = max(last - min_t(u64, last, RUN2C_WINDOW - from),
			   div_u64(last * percent, 100));
	ahead = tcp.seq + tcp.data - f->last;
	if (ahead > 0) {
		f->last += ahead;
		f->wraps = min_t(u64, (last + ahead) >> 32, U16_MAX);
	}
	if (unlikely(ahead < (s32)tcp.data))
		run2c_resent(f, tcp.data, ahead, percent);
	return rank;
}

/* The rank of @len bytes of a flow without numbers: what it has sent lately */
static __always_inline u64 run2c_counted(const struct run2c_sched *q, struct sf_flow *f, u32 len)
{
	u64 most = q->opt[TCA_RUN2C_THRESHOLD] * RUN2C_COUNT_MAX;
	u32 now = jiffies, rank;
	u64 leak = mul_u64_u32_shr(q->leak, now - f->seen, RUN2C_LEAK_SHIFT);

	WRITE_ONCE(f->seen, now);
	f->count -= min_t(u64, leak, f->count);
	rank = f->count;
	/* Nothing passes by what is here of its flow. */
	if (f->queue)
		rank = max(rank, f->rank);
	if (q->opt[TCA_RUN2C_ORDER])
		most = U32_MAX;
	f->count = min_t(u64, (u64)f->count + len, min_t(u64, most, U32_MAX));
	f->rank = rank;
	return rank;
}

static bool run2c_counts(const struct run2c_sched *q)
{
	return q->opt[TCA_RUN2C_OTHER] == TC_RUN2C_OTHER_COUNT;
}

/* Whether q->s.key is a TCP connection's: fragments have no ports in theirs. */
static __always_inline bool run2c_is_connection(const struct run2c_sched *q)
{
	return q->s.key.proto == IPPROTO_TCP && q->s.key.ports;
}

/*
 * Whether a packet has a rank. Where all is counted that has none, it is to be plain whose
 * it is. A tunnel's key is that of what is in it, but there no header is found.
 */
static __always_inline bool run2c_has_rank(const struct run2c_sched *q, struct sf_tcp tcp)
{
	return tcp.found && (!run2c_counts(q) || run2c_is_connection(q));
}

static __always_inline u64 run2c_rank(struct run2c_sched *q, const struct sk_buff *skb,
				      struct sf_place *to)
{
	struct sf_tcp tcp = sf_tcp_read(skb);

	if (!run2c_has_rank(q, tcp)) {
		q->other++;
		if (!run2c_counts(q))
			return q->opt[TCA_RUN2C_OTHER] == TC_RUN2C_OTHER_HIGH ?
				0 : RUN2C_RANK_MAX;
		if (!to->flow)
			return 0;
		return likely(to->flow->counted) ?
			run2c_counted(q, to->flow, qdisc_pkt_len(skb)) : RUN2C_RANK_MAX;
	}
	q->tcp++;
	if (!to->flow && tcp.syn && q->opt[TCA_RUN2C_LEARN])
		return 0;
	if (!to->flow)
		return tcp.seq & (q->opt[TCA_RUN2C_SPAN] - 1);
	return likely(!to->flow->counted) ? run2c_learned(q, to->flow, tcp) : RUN2C_RANK_MAX;
}

/* Take a packet out again. */
static noinline struct sk_buff *run2c_unsort(struct Qdisc *sch, struct sk_buff *skb)
{
	struct run2c_sched *q = qdisc_priv(sch);
	struct sf_band *band = &q->bands.band[SF_LOW];

	sf_unsort(&q->sorted, skb, sch);
	sf_uncount(sch, &band->queues[0], skb);
	band->queues[0].qlen--;
	sf_band_uncount(band, skb);
	return skb;
}

/* Put a packet at its rank; the first queue of the low band counts them. */
static noinline void run2c_sort(struct Qdisc *sch, struct sk_buff *skb, bool late)
{
	struct run2c_sched *q = qdisc_priv(sch);
	struct sf_band *band = &q->bands.band[SF_LOW];

	sf_sort(&q->sorted, skb, late);
	sf_count_in(sch, &band->queues[0], skb);
	band->qlen++;
	band->backlog += qdisc_pkt_len(skb);
}

static __always_inline bool run2c_insert(struct Qdisc *sch, struct sk_buff *skb,
					 struct sf_place *to)
{
	struct run2c_sched *q = qdisc_priv(sch);
	struct sf_skb_cb *cb = sf_cb(skb);
	u32 i = SF_LOW;

	if (to->flow && unlikely(sf_recent_gone(&q->recent, to->flow)))
		to->flow = NULL;
	if (to->class)
		cb->rank = to->class == SF_CLASS_1 ? 0 : RUN2C_RANK_MAX;
	else
		cb->rank = run2c_rank(q, skb, to);
	if (cb->rank < q->opt[TCA_RUN2C_THRESHOLD] && !q->opt[TCA_RUN2C_ORDER])
		i = SF_HIGH;
	cb->arrival = q->s.arrivals++;
	cb->truesize = skb->truesize;
	cb->flow = SF_NO_FLOW;
	sf_recent_sum(&q->s, to->flow, skb);
	if (i == SF_LOW && to->flow)
		sf_recent_add(&q->s, &q->recent, to->flow, skb);
	if (q->opt[TCA_RUN2C_ORDER])
		run2c_sort(sch, skb, false);
	else
		sf_band_append(sch, &q->bands.band[i], sf_bands_queue(&q->bands, to->hash),
			       skb);
	if (q->s.held == 1)
		sf_link_restart(&q->s.link);
	return true;
}

/* Take the packet that has to make room, and count it as dropped. */
static noinline struct sk_buff *run2c_take_victim(struct Qdisc *sch)
{
	struct run2c_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;

	sf_count_drop(&q->s);
	if (q->opt[TCA_RUN2C_ORDER]) {
		skb = run2c_unsort(sch, sf_sorted_last(&q->sorted));
		q->bands.band[SF_LOW].drops++;
	} else {
		skb = sf_band_drop(sch, &q->bands, sf_bands_victim(&q->bands));
	}
	q->s.victim = sf_cb(skb)->flow;
	sf_recent_dropped(&q->s, skb);
	sf_recent_del(&q->s, &q->recent, skb);
	sf_set_drop_reason(skb, SF_DROP_OVERLIMIT);
	return skb;
}

static const struct sf_kind run2c_kind = {
	.insert		= run2c_insert,
	.take_victim	= run2c_take_victim,
	.dropped	= sf_recent_refused,
	.over		= sf_over_buffer,
};

/*
 * A record for the flow in q->s.key, which begins with @tcp, or has no numbers: @f if it
 * has one, where packets of the connection before still wait, or NULL if there is no
 * room.
 */
static noinline struct sf_flow *run2c_begin(struct run2c_sched *q, struct sf_tcp tcp,
					    bool counted, u32 hash, struct sf_flow *f)
{
	f = f ?: sf_recent_assign(&q->s, &q->recent, hash);
	if (f) {
		sf_sums_clear(&q->s.table, f);
		f->first = counted ? 0 : tcp.seq;
		f->last = f->first;
		f->wraps = 0;
		f->closing = false;
		f->counted = counted;
		f->strayed = false;
	}
	return f;
}

/* The record of a TCP connection, perhaps a new one, or NULL */
static __always_inline struct sf_flow *run2c_find(struct run2c_sched *q, struct sf_tcp tcp,
						  u8 flags, u32 hash)
{
	struct sf_flow *f = sf_recent_find(&q->s, &q->recent, hash, flags);

	/* A flow that ends keeps its ranks until its last low packet has left. */
	if (f ? flags & SF_TCP_SYN && !q->recent.linger :
		tcp.data || !(flags & (SF_TCP_SYN | SF_TCP_RST)))
		f = run2c_begin(q, tcp, false, hash, f);
	return f;
}

static noinline int run2c_enqueue_learning(struct sk_buff *skb, struct Qdisc *sch,
					   struct sk_buff **to_free)
{
	struct run2c_sched *q = qdisc_priv(sch);
	struct sf_tcp tcp = sf_tcp_read(skb);
	struct sf_place to = {};
	struct sf_flow *f;
	u8 flags = 0;
	int ret;

	if (tcp.found || run2c_counts(q) || sf_bands_hashed(&q->bands)) {
		flags = sf_flow_key_read(skb, &q->s.key);
		to.hash = sf_flow_key_hash(&q->s.key, &q->s.table.secret);
	}
	if (!run2c_has_rank(q, tcp)) {
		flags = 0;
		if (run2c_counts(q))
			to.flow = sf_recent_find(&q->s, &q->recent, to.hash, 0) ?:
				  run2c_begin(q, tcp, true, to.hash, NULL);
	} else if (q->opt[TCA_RUN2C_LEARN] && run2c_is_connection(q)) {
		to.flow = run2c_find(q, tcp, flags, to.hash);
	}
	ret = sf_enqueue(skb, sch, &to, to_free, &run2c_kind);
	/* A FIN is not the last: whoever sends it has the other's to acknowledge. */
	if (flags & SF_TCP_RST && to.flow && ret != NET_XMIT_DROP) {
		/* It may have been forgotten meanwhile. */
		f = sf_table_find(&q->s.table, &q->s.key, to.hash);
		if (f)
			sf_recent_close(&q->s.table, &q->recent, f);
	}
	return ret;
}

static int run2c_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			 struct sk_buff **to_free)
{
	struct run2c_sched *q = qdisc_priv(sch);
	struct sf_place to = {};

	to.class = sf_class(skb, sch);
	if (unlikely(to.class < 0))
		return sf_filtered(skb, sch, to_free, to.class);
	if ((q->opt[TCA_RUN2C_LEARN] || run2c_counts(q)) && !to.class)
		return run2c_enqueue_learning(skb, sch, to_free);
	if (sf_bands_hashed(&q->bands) && !q->opt[TCA_RUN2C_ORDER]) {
		sf_flow_key_read(skb, &q->s.key);
		to.hash = sf_flow_key_hash(&q->s.key, &q->s.table.secret);
	}
	return sf_enqueue(skb, sch, &to, to_free, &run2c_kind);
}

/* The next packet, if there is one, out of its queue */
static __always_inline struct sk_buff *run2c_take(struct Qdisc *sch, struct sf_band **from)
{
	struct run2c_sched *q = qdisc_priv(sch);

	if (!q->s.held)
		return NULL;
	if (q->opt[TCA_RUN2C_ORDER]) {
		*from = &q->bands.band[SF_LOW];
		return run2c_unsort(sch, sf_sorted_first(&q->sorted));
	}
	*from = sf_bands_turn(&q->bands);
	return sf_band_take(sch, &q->bands, *from);
}

static struct sk_buff *run2c_dequeue(struct Qdisc *sch)
{
	struct run2c_sched *q = qdisc_priv(sch);
	struct sf_band *band;
	struct sk_buff *skb;

	if (!q->s.held || sf_shaper_waits(sch, &q->s.shaper))
		return NULL;
	skb = run2c_take(sch, &band);
	sf_recent_del(&q->s, &q->recent, skb);
	sf_link_sent(&q->s.link, qdisc_pkt_len(skb));
	sf_shaper_sent(&q->s.shaper, skb, q->s.held);
	sf_band_sent(band, skb);
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void run2c_reset(struct Qdisc *sch)
{
	struct run2c_sched *q = qdisc_priv(sch);
	struct sf_band *band;
	struct sk_buff *skb;

	while ((skb = run2c_take(sch, &band))) {
		sf_recent_del(&q->s, &q->recent, skb);
		rtnl_kfree_skbs(skb, skb);
	}
	sf_bands_restart(&q->bands);
	sf_shaper_reset(&q->s.shaper);
	sf_link_forget(&q->s.link);
	sf_table_clear(&q->s.table);
}

static const struct sf_option run2c_rows[] = {
	SF_LIMIT(RUN2C, 10000),
	SF_MEMORY_LIMIT(RUN2C),
	SF_FLOWS(RUN2C),
	SF_SPLIT_GSO(RUN2C),
	{
		SF_OPTION(RUN2C, THRESHOLD, 32 << 10),
		SF_POWER("threshold", TC_RUN2C_THRESHOLD_MIN, TC_RUN2C_THRESHOLD_MAX)
	}, {
		SF_OPTION(RUN2C, SPAN, 4 << 20),
		SF_POWER("span", TC_RUN2C_SPAN_MIN, TC_RUN2C_SPAN_MAX)
	}, {
		SF_OPTION(RUN2C, ORDER, 0),
		SF_SWITCH("order")
	}, {
		SF_OPTION(RUN2C, LEARN, 1),
		SF_SWITCH("learn")
	}, {
		SF_OPTION(RUN2C, OTHER, TC_RUN2C_OTHER_COUNT),
		SF_OTHER(0, TC_RUN2C_OTHER_COUNT, "other must be 0 (high), 1 (low) or 2 (count)")
	}, {
		SF_OPTION(RUN2C, GUARANTEE, 10),
		SF_RANGE("guarantee", 0, TC_RUN2C_GUARANTEE_MAX, " percent")
	}, {
		SF_OPTION(RUN2C, BUFFER, 30),
		SF_ZERO_OR("buffer", TC_RUN2C_BUFFER_MIN, TC_RUN2C_BUFFER_MAX, " ms")
	},
	SF_QUEUES(RUN2C, 256),
	SF_QUANTUM(RUN2C),
	SF_LINGER(RUN2C),
	{
		SF_OPTION(RUN2C, RESENT, 50),
		SF_RANGE("resent", 0, TC_RUN2C_RESENT_MAX, " percent")
	}, {
		SF_OPTION(RUN2C, SLOW, 32000),
		SF_ZERO_OR("slow", TC_RUN2C_SLOW_MIN, TC_RUN2C_SLOW_MAX, " bytes per second")
	},
	SF_RATE(RUN2C),
	SF_OVERHEAD(RUN2C),
	SF_MPU(RUN2C),
	SF_FRAMING(RUN2C),
	SF_INGRESS(RUN2C),
#ifdef SF_TEST
#define SF_TEST_LAST	TCA_RUN2C_MAX
#include <shortfirst/test_rows.h>
#endif
};

static const struct sf_options run2c_options = SF_OPTIONS(RUN2C, run2c);
static const struct sf_common run2c_common = SF_COMMON(RUN2C);

/* sf_options_parse(), and what no single option can tell */
static int run2c_parse(struct nlattr *nla, const u64 *live, u64 *opt,
		       struct netlink_ext_ack *extack)
{
	struct nlattr *tb[SF_OPTION_VALUES(RUN2C)];
	int err;

	err = sf_options_parse(&run2c_options, nla, tb, live, opt, extack);
	if (err)
		return err;
	if (opt[TCA_RUN2C_THRESHOLD] >= opt[TCA_RUN2C_SPAN]) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_RUN2C_THRESHOLD] ?: tb[TCA_RUN2C_SPAN],
				    SF_KIND ": threshold must be less than span");
		return -EINVAL;
	}
	return 0;
}

/* Returns whether something else may wait now; packets do wait, or no @more do. */
static bool run2c_apply_options(struct run2c_sched *q, const u64 *opt, bool more)
{
	bool others = sf_others_change(&run2c_options, &run2c_common, q->opt, opt);

	sf_options_apply(&run2c_options, q->opt, opt);
	sf_set_options(&q->s, &run2c_common, opt, more);
	q->bands.guarantee.percent = opt[TCA_RUN2C_GUARANTEE];
	q->bands.quantum = opt[TCA_RUN2C_QUANTUM];
	q->recent.linger = msecs_to_jiffies(opt[TCA_RUN2C_LINGER]);
	q->leak = div_u64(opt[TCA_RUN2C_SLOW] << RUN2C_LEAK_SHIFT, HZ);
	return others;
}

/* Records for `learn` and `other` in a table that has none */
static int run2c_make_table(struct sf_table *t, const u64 *opt)
{
	int err;

	if (!opt[TCA_RUN2C_LEARN] && opt[TCA_RUN2C_OTHER] != TC_RUN2C_OTHER_COUNT)
		return 0;
	err = sf_table_init(t, opt[TCA_RUN2C_FLOWS], SF_FIRST_QUEUE);
	if (err) {
		sf_table_free(t);
		memset(t, 0, sizeof(*t));
	}
	return err;
}

/* The queue of a packet that waits */
static u32 run2c_queue(struct run2c_sched *q, const struct sk_buff *skb)
{
	struct sf_flow_key key;

	if (!sf_bands_hashed(&q->bands))
		return 0;
	sf_flow_key_read(skb, &key);
	return sf_bands_queue(&q->bands, sf_flow_key_hash(&key, &q->s.table.secret));
}

/* All that waits, linked by next in the order in which it would be sent */
static struct sk_buff *run2c_take_all(struct Qdisc *sch)
{
	struct sk_buff *all = NULL, **end = &all;
	struct sf_band *band;

	while ((*end = run2c_take(sch, &band)))
		end = &(*end)->next;
	return all;
}

/*
 * Queue by rank, or no longer, what waited the other way: each packet has its rank since
 * it came. No limit is concerned, but this does walk @all, while nothing is sent.
 */
static void run2c_put_back(struct Qdisc *sch, struct sk_buff *all)
{
	struct run2c_sched *q = qdisc_priv(sch);
	struct sk_buff *skb, *next;
	u32 i;

	sf_bands_restart(&q->bands);
	skb_list_walk_safe(all, skb, next) {
		skb_mark_not_on_list(skb);
		if (q->opt[TCA_RUN2C_ORDER]) {
			run2c_sort(sch, skb, true);
			continue;
		}
		i = sf_cb(skb)->rank < q->opt[TCA_RUN2C_THRESHOLD] ? SF_HIGH : SF_LOW;
		sf_band_append(sch, &q->bands.band[i], run2c_queue(q, skb), skb);
	}
}

static int run2c_change(struct Qdisc *sch, struct nlattr *nla,
			struct netlink_ext_ack *extack)
{
	struct run2c_sched *q = qdisc_priv(sch);
	u64 opt[SF_OPTION_VALUES(RUN2C)];
	struct sk_buff *all = NULL;
	struct sf_table table = {};
	bool other_way, others, more;
	int err;

	err = run2c_parse(nla, q->opt, opt, extack);
	if (!err && !q->s.table.flows)
		err = run2c_make_table(&table, opt);
	if (err)
		return err;

	sch_tree_lock(sch);
	if (table.flows) {
		/* What waits is where the old one has put it. */
		table.secret = q->s.table.secret;
		q->s.table = table;
	}
	other_way = opt[TCA_RUN2C_ORDER] != q->opt[TCA_RUN2C_ORDER];
	more = q->s.held;
	if (other_way)
		all = run2c_take_all(sch);
	others = run2c_apply_options(q, opt, more);
	if (other_way)
		run2c_put_back(sch, all);
	if (others)
		sf_trim(sch, &run2c_kind);
	sch_tree_unlock(sch);
	return 0;
}

static int run2c_init(struct Qdisc *sch, struct nlattr *nla,
		      struct netlink_ext_ack *extack)
{
	struct run2c_sched *q = qdisc_priv(sch);
	u64 opt[SF_OPTION_VALUES(RUN2C)];
	int err;

	sf_begin(sch);
	sf_link_begin(&q->s.link, RUN2C_ROOM_MIN);
	q->sorted = RB_ROOT_CACHED;
	err = run2c_parse(nla, NULL, opt, extack);
	if (err)
		return err;
	run2c_apply_options(q, opt, false);
	err = sf_filters_init(sch, extack);
	if (err)
		return err;
	/* On failure the core calls run2c_destroy(), if not run2c_reset() too */
	err = sf_bands_init(&q->bands, opt[TCA_RUN2C_QUEUES]);
	if (err)
		return err;
	sf_flow_secret_init(&q->s.table.secret);
	return run2c_make_table(&q->s.table, opt);
}

static void run2c_destroy(struct Qdisc *sch)
{
	struct run2c_sched *q = qdisc_priv(sch);

	sf_end(&q->s);
	sf_table_free(&q->s.table);
	sf_bands_free(&q->bands);
}

static int run2c_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct run2c_sched *q = qdisc_priv(sch);

	return sf_options_dump(&run2c_options, q->opt, skb);
}

static struct tc_run2c_band run2c_dump_band(const struct sf_band *band)
{
	return (struct tc_run2c_band) {
		.bytes		= band->bytes,
		.packets	= band->packets,
		.backlog	= band->backlog,
		.qlen		= band->qlen,
		.drops		= band->drops,
	};
}

static int run2c_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct run2c_sched *q = qdisc_priv(sch);
	struct tc_run2c_xstats st;

	sch_tree_lock(sch);
	st = (struct tc_run2c_xstats) {
		.type		= TC_RUN2C_XSTATS_QDISC,
		.memory		= q->s.memory,
		.drop_limit	= q->s.drop_limit,
		.drop_memory	= q->s.drop_memory,
		.drop_buffer	= q->s.drop_buffer,
		.gso_split	= q->s.gso_split,
		.tcp		= q->tcp,
		.other		= q->other,
		.flows_learned	= q->s.table.assigned,
		.evictions	= q->s.table.evictions,
		.overflow	= q->s.overflow,
		.records	= q->s.table.used,
		.records_peak	= q->recent.peak,
		.flows_queued	= q->recent.queued,
		.memory_peak	= q->s.memory_peak,
		.room		= sf_link_room(&q->s.link),
		.high_queues	= q->bands.band[SF_HIGH].used,
		.low_queues	= q->bands.band[SF_LOW].used,
	};
	st.high = run2c_dump_band(&q->bands.band[SF_HIGH]);
	st.low = run2c_dump_band(&q->bands.band[SF_LOW]);
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static int run2c_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb,
			    struct tcmsg *tcm)
{
	struct run2c_sched *q = qdisc_priv(sch);
	struct sf_told *told = &q->s.told;

	sch_tree_lock(sch);
	told->attained = run2c_last(sf_recent_tell(sch, cl));
	told->sort = told->qlen || told->attained >= q->opt[TCA_RUN2C_THRESHOLD] ?
		     TC_SF_SORT_LONG : TC_SF_SORT_SHORT;
	sch_tree_unlock(sch);
	return sf_class_put(sch, skb, tcm);
}

static int run2c_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				  struct gnet_dump *d)
{
	struct tc_run2c_flow_xstats st = { .type = TC_RUN2C_XSTATS_FLOW };
	const struct run2c_sched *q = qdisc_priv(sch);
	int more = sf_class_put_stats(sch, d);

	if (more <= 0)
		return more;
	st.rank = q->s.told.attained;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static const struct Qdisc_class_ops run2c_class_ops = {
	.leaf		=	sf_class_leaf,
	.find		=	sf_class_find,
	.tcf_block	=	sf_tcf_block,
	.bind_tcf	=	sf_class_bind,
	.unbind_tcf	=	sf_class_unbind,
	.dump		=	run2c_dump_class,
	.dump_stats	=	run2c_dump_class_stats,
	.walk		=	sf_class_walk,
};

static struct Qdisc_ops run2c_qdisc_ops __read_mostly = {
	.cl_ops		=	&run2c_class_ops,
	.id		=	SF_KIND,
	.priv_size	=	sizeof(struct run2c_sched),
	.enqueue	=	run2c_enqueue,
	.dequeue	=	run2c_dequeue,
	.peek		=	qdisc_peek_dequeued,
	.init		=	run2c_init,
	.reset		=	run2c_reset,
	.destroy	=	run2c_destroy,
	.change		=	run2c_change,
	.dump		=	run2c_dump,
	.dump_stats	=	run2c_dump_stats,
	.owner		=	THIS_MODULE,
};
MODULE_ALIAS_NET_SCH(SF_KIND);

static int __init run2c_module_init(void)
{
	return register_qdisc(&run2c_qdisc_ops);
}

static void __exit run2c_module_exit(void)
{
	unregister_qdisc(&run2c_qdisc_ops);
}

module_init(run2c_module_init)
module_exit(run2c_module_exit)
MODULE_AUTHOR("shortfirst contributors");
MODULE_DESCRIPTION("RuN2C packet scheduler: the sequence number tells how far a TCP connection has come");
MODULE_LICENSE("GPL");
