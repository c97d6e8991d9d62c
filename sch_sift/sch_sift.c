// SPDX-License-Identifier: GPL-2.0
/*
 * sch_sift - sampling sifts the long flows from the short ones
 *
 * K. Psounis, A. Ghosh, B. Prabhakar: SIFT, a low-complexity scheduler for reducing
 * flow delays in the Internet, 2004, sections 2, 4 and 5.
 *
 * Each packet, or byte, is sampled with the same probability, and a flow of which one has
 * been is long from that packet on (or from the T-th sample on): most flows are short
 * and few of them are sampled, and those that are have most of the bytes. There are two
 * bands, and the high one, where flows begin, goes first. A long flow's packets go to
 * the low band, unless it is slow.
 *
 *	packet --> sampled? --> record of its flow --> samples >= T? --yes--> [low ]
 *		      |no		|none			|no	      ^
 *		      +-----------------+-----------------------+--> [high]   | last
 *							     first ^
 *
 * Only sampled flows have a record (flow_recent.h): a flow that is not leaves no trace.
 * As long as a flow has packets in the low band, its record stays and what comes joins
 * them, whatever else has changed. So no flow is reordered: what is in the high band
 * leaves before what came later and is in the low one. Only `guarantee` may let a flow's
 * first low packets pass by its last high ones.
 *
 * Both bands share one buffer. When it is full the low band loses a packet, if it has
 * any, since its flows are the ones that fill it, and if it has more than what it is
 * guaranteed; if not, the high one does. The same goes when more waits than the link
 * sends in `buffer` (link_rate.h). `high` and `low` bound each band by itself, and with
 * `red` a band drops before it is full, or marks.
 *
 * Nobody is starved, whatever others send:
 *
 * - queues: inside a band flows take turns, and the longest queue loses (band_queues.h).
 *   In the article a band is a FIFO.
 *
 * - guarantee, section 4.2: while both bands have packets, this part of the bytes is
 *   the low one's, so that what only pretends to be short cannot have all.
 *
 * - linger: a flag does not make a long flow short (flow_recent.h).
 *
 * - slow, section 4.4: a long flow goes high again as long as it is slower than this,
 *   as a call or a shell is however long it lasts. A bucket tells, which leaks at this
 *   rate: a flow is slow from when its bucket is empty until it holds what leaks in a
 *   second. The bucket holds four times that, so that a long flow which the others
 *   keep waiting does not become slow by that at once.
 *
 * All of this is under the root qdisc's lock; sched.h says what a dump reads without.
 */

/* The name, as tc, modprobe and what is refused tell it */
#define SF_KIND "sift"

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>
#include <net/red.h>
#include <shortfirst/band_queues.h>
#include <shortfirst/compat.h>
#include <shortfirst/filter.h>
#include <shortfirst/flow_recent.h>
#include <shortfirst/link_rate.h>
#include <shortfirst/sched.h>
#include "sift_sample.h"
#include "pkt_sift.h"

#define SIFT_ROOM_MIN		(16 << 10)	/* bytes */
#define SIFT_RED_PACKET		1000		/* bytes, as in section 4 */
#define SIFT_LEAK_SHIFT		16
#define SIFT_FAST_SECONDS	4

/* What a band has beside its queues */
struct sift_band {
	struct red_vars	red;
	u32		limit;		/* packets */
	u32		early;
	u32		marked;
};

struct sift_sched {
	struct sf_sched	s;
	struct sf_bands	bands;
	struct sift_band own[SF_BANDS];
	struct sf_recent recent;
	struct sift_sampler sampler;
	struct red_parms red;
	u64		leak;		/* bytes per jiffy << SIFT_LEAK_SHIFT */
	u64		opt[SF_OPTION_VALUES(SIFT)];	/* by attribute */
	u64		drop_band;
	u64		samples;
};

static_assert(SIFT_ONE == TC_SIFT_ONE);
static_assert(SF_CLASS_1 == (u32)TC_SIFT_CLASS_HIGH);
static_assert(SF_CLASS_2 == (u32)TC_SIFT_CLASS_LOW);
static_assert(SF_CLASS_FLOWS == (u32)TC_SIFT_CLASS_FLOWS);

/* How fast is the flow, now that @len bytes more have come? */
static void sift_rate(struct sift_sched *q, struct sf_flow *f, u32 len)
{
	u32 now = jiffies, most = q->opt[TCA_SIFT_SLOW] * SIFT_FAST_SECONDS;
	u64 leak = mul_u64_u32_shr(q->leak, now - f->seen, SIFT_LEAK_SHIFT);

	WRITE_ONCE(f->seen, now);
	f->level = min(f->level, most);
	if (leak >= f->level) {
		f->level = 0;
		f->fast = false;
	} else {
		f->level -= leak;
	}
	f->level += min(len, most - f->level);
	if (f->level >= q->opt[TCA_SIFT_SLOW])
		f->fast = true;
}

/* Does a flow that has a record go to the second band? It does as long as it has packets there. */
static __always_inline bool sift_is_long(const struct sift_sched *q, const struct sf_flow *f)
{
	return f->queue || (f->samples >= q->opt[TCA_SIFT_SAMPLES] && f->fast);
}

/* The band of a packet that no filter has chosen */
static __always_inline u32 sift_choose(struct sift_sched *q, const struct sk_buff *skb,
				       struct sf_place *to)
{
	u32 len = qdisc_pkt_len(skb), samples;
	struct sf_flow *f;

	if (to->flow && sf_recent_gone(&q->recent, to->flow))
		to->flow = NULL;
	f = to->flow;
	samples = sift_samples(&q->sampler, q->opt[TCA_SIFT_BYTES] ? len : sf_gso_count(skb));
	if (unlikely(samples)) {
		q->samples += samples;
		if (!f)
			f = sf_recent_assign(&q->s, &q->recent, to->hash);
		if (f) {
			/* What ended is not what is sampled now. */
			if (f->closing && !q->recent.linger) {
				f->samples = 0;
				f->level = 0;
				f->fast = false;
				f->closing = false;
				sf_sums_clear(&q->s.table, f);
			}
			f->samples = min_t(u32, f->samples + samples, TC_SIFT_SAMPLES_MAX);
		}
		to->flow = f;
	}
	if (!f)
		return SF_HIGH;
	sift_rate(q, f, len);
	return sift_is_long(q, f) ? SF_LOW : SF_HIGH;
}

/* Whether RED lets a packet into a band; it may mark it instead of dropping it. */
static noinline bool sift_red(struct Qdisc *sch, u32 i, struct sk_buff *skb)
{
	struct sift_sched *q = qdisc_priv(sch);
	struct sift_band *own = &q->own[i];
	struct red_vars *red = &own->red;
	u32 qlen = q->bands.band[i].qlen;

	red->qavg = red_calc_qavg(&q->red, red, qlen);
	if (red_is_idling(red))
		red_end_of_idle_period(red);
	if (red_action(&q->red, red, red->qavg) == RED_DONT_MARK)
		return true;
	qdisc_qstats_overlimit(sch);
	if (q->opt[TCA_SIFT_ECN] && INET_ECN_set_ce(skb)) {
		own->marked++;
		return true;
	}
	own->early++;
	/* The band stays empty, so it goes on being idle. */
	if (!qlen)
		red_start_of_idle_period(red);
	return false;
}

static __always_inline bool sift_insert(struct Qdisc *sch, struct sk_buff *skb,
					struct sf_place *to)
{
	struct sift_sched *q = qdisc_priv(sch);
	struct sf_skb_cb *cb = sf_cb(skb);
	u32 i;

	i = to->class ? to->class - SF_CLASS_1 : sift_choose(q, skb, to);
	if (q->opt[TCA_SIFT_RED] & BIT(i) && !sift_red(sch, i, skb))
		return false;
	cb->arrival = q->s.arrivals++;
	cb->truesize = skb->truesize;
	cb->flow = SF_NO_FLOW;
	sf_recent_sum(&q->s, to->flow, skb);
	if (i == SF_LOW && to->flow)
		sf_recent_add(&q->s, &q->recent, to->flow, skb);
	sf_band_append(sch, &q->bands.band[i], sf_bands_queue(&q->bands, to->hash), skb);
	if (q->s.held == 1)
		sf_link_restart(&q->s.link);
	return true;
}

/* @skb has left @band, for whatever reason. */
static __always_inline void sift_left(struct sift_sched *q, const struct sf_band *band,
				      const struct sk_buff *skb)
{
	if (q->opt[TCA_SIFT_RED] && !band->qlen)
		red_start_of_idle_period(&q->own[band - q->bands.band].red);
	sf_recent_del(&q->s, &q->recent, skb);
}

static bool sift_over_band(const struct sift_sched *q, u32 i)
{
	return q->bands.band[i].qlen > q->own[i].limit;
}

static bool sift_over_bands(const struct sift_sched *q)
{
	return sift_over_band(q, SF_LOW) || sift_over_band(q, SF_HIGH);
}

static bool sift_over(struct Qdisc *sch, unsigned int gone)
{
	const struct sift_sched *q = qdisc_priv(sch);

	return sift_over_bands(q) || sf_over_buffer(sch, gone);
}

/* Take a packet of the band that has to make room, and count it as dropped. */
static noinline struct sk_buff *sift_take_victim(struct Qdisc *sch)
{
	struct sift_sched *q = qdisc_priv(sch);
	u32 reason = SF_DROP_OVERLIMIT;
	struct sf_band *band;
	struct sk_buff *skb;

	/* The bands first: nothing goes for a packet that cannot stay. */
	if (sift_over_bands(q)) {
		q->drop_band++;
		reason = SF_DROP_BAND_LIMIT;
		band = &q->bands.band[sift_over_band(q, SF_LOW) ? SF_LOW : SF_HIGH];
	} else {
		sf_count_drop(&q->s);
		band = sf_bands_victim(&q->bands);
	}
	skb = sf_band_drop(sch, &q->bands, band);
	sf_recent_dropped(&q->s, skb);
	sift_left(q, band, skb);
	sf_set_drop_reason(skb, reason);
	return skb;
}

static const struct sf_kind sift_kind = {
	.insert		= sift_insert,
	.take_victim	= sift_take_victim,
	.dropped	= sf_recent_refused,
	.over		= sift_over,
};

static int sift_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			struct sk_buff **to_free)
{
	struct sift_sched *q = qdisc_priv(sch);
	struct sf_place to = {};
	struct sf_flow *f;
	u8 flags;
	int ret;

	to.class = sf_class(skb, sch);
	if (unlikely(to.class < 0))
		return sf_filtered(skb, sch, to_free, to.class);
	if (unlikely(to.class && !sf_bands_hashed(&q->bands)))
		return sf_enqueue(skb, sch, &to, to_free, &sift_kind);

	flags = sf_flow_key_read(skb, &q->s.key);
	to.hash = sf_flow_key_hash(&q->s.key, &q->s.table.secret);
	if (unlikely(to.class))
		return sf_enqueue(skb, sch, &to, to_free, &sift_kind);
	to.flow = sf_recent_find(&q->s, &q->recent, to.hash, flags);
	ret = sf_enqueue(skb, sch, &to, to_free, &sift_kind);
	/* Even if only the segment of a bundle with the FIN was dropped */
	if (flags & (SF_TCP_FIN | SF_TCP_RST) && ret != NET_XMIT_DROP) {
		/* It may have been sampled or forgotten meanwhile. */
		f = sf_table_find(&q->s.table, &q->s.key, to.hash);
		if (f)
			sf_recent_close(&q->s.table, &q->recent, f);
	}
	return ret;
}

static struct sk_buff *sift_dequeue(struct Qdisc *sch)
{
	struct sift_sched *q = qdisc_priv(sch);
	struct sf_band *band;
	struct sk_buff *skb;

	if (!q->s.held || sf_shaper_waits(sch, &q->s.shaper))
		return NULL;
	band = sf_bands_turn(&q->bands);
	skb = sf_band_take(sch, &q->bands, band);
	sift_left(q, band, skb);
	sf_link_sent(&q->s.link, qdisc_pkt_len(skb));
	sf_shaper_sent(&q->s.shaper, skb, q->s.held);
	sf_band_sent(band, skb);
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void sift_reset(struct Qdisc *sch)
{
	struct sift_sched *q = qdisc_priv(sch);
	struct sf_band *band;
	struct sk_buff *skb;
	u32 i;

	for (i = 0; i < SF_BANDS; i++) {
		band = &q->bands.band[i];
		while (band->qlen) {
			skb = sf_band_take(sch, &q->bands, band);
			sift_left(q, band, skb);
			rtnl_kfree_skbs(skb, skb);
		}
		red_restart(&q->own[i].red);
	}
	sf_bands_restart(&q->bands);
	sf_shaper_reset(&q->s.shaper);
	sf_link_forget(&q->s.link);
	sf_table_clear(&q->s.table);
}

static const struct sf_option sift_rows[] = {
	SF_LIMIT(SIFT, 10000),
	SF_MEMORY_LIMIT(SIFT),
	SF_FLOWS(SIFT),
	SF_SPLIT_GSO(SIFT),
	{
		SF_OPTION(SIFT, PROBABILITY, SIFT_ONE / 10 * 3),
		SF_OTHER(0, TC_SIFT_ONE, "probability must be 0 to 1")
	}, {
		SF_OPTION(SIFT, EVERY, 0),
		SF_RANGE("every", 0, TC_SIFT_EVERY_MAX, " packets")
	}, {
		SF_OPTION(SIFT, SAMPLES, 1),
		SF_RANGE("samples", TC_SIFT_SAMPLES_MIN, TC_SIFT_SAMPLES_MAX, "")
	}, {
		SF_OPTION(SIFT, BYTES, 1),
		SF_SWITCH("bytes")
	}, {
		SF_OPTION(SIFT, SLOW, 18000),
		SF_ZERO_OR("slow", TC_SIFT_SLOW_MIN, TC_SIFT_SLOW_MAX, " bytes per second")
	}, {
		SF_OPTION(SIFT, GUARANTEE, 10),
		SF_RANGE("guarantee", 0, TC_SIFT_GUARANTEE_MAX, " percent")
	}, {
		SF_OPTION(SIFT, HIGH, 0),
		SF_RANGE("high", 0, TC_SIFT_LIMIT_MAX, " packets")
	}, {
		SF_OPTION(SIFT, LOW, 0),
		SF_RANGE("low", 0, TC_SIFT_LIMIT_MAX, " packets")
	}, {
		SF_OPTION(SIFT, RED, 0),
		SF_OTHER(0, TC_SIFT_HIGH | TC_SIFT_LOW,
			 "red must be 0, 1 (high), 2 (low) or 3 (both)")
	}, {
		/* The defaults of RED are those of ns-2 */
		SF_OPTION(SIFT, RED_MIN, 5),
		SF_RANGE("red_min", 1, TC_SIFT_RED_MAX, " packets")
	}, {
		SF_OPTION(SIFT, RED_MAX, 15),
		SF_RANGE("red_max", 1, TC_SIFT_RED_MAX, " packets")
	}, {
		SF_OPTION(SIFT, RED_PROBABILITY, SIFT_ONE / 10),
		SF_OTHER(1, TC_SIFT_ONE, "red_probability must be 0.000000001 to 1")
	}, {
		SF_OPTION(SIFT, RED_WEIGHT, 9),
		SF_RANGE("red_weight", TC_SIFT_WEIGHT_MIN, TC_SIFT_WEIGHT_MAX, "")
	}, {
		SF_OPTION(SIFT, RED_BANDWIDTH, 1250000),
		SF_RANGE("red_bandwidth", TC_SIFT_SLOW_MIN, 4294967295, " bytes per second")
	}, {
		SF_OPTION(SIFT, ECN, 0),
		SF_SWITCH("ecn")
	}, {
		SF_OPTION(SIFT, SEED, 0),
		SF_OTHER(0, U32_MAX, "seed must be 0 to 4294967295")
	}, {
		SF_OPTION(SIFT, BUFFER, 30),
		SF_ZERO_OR("buffer", TC_SIFT_BUFFER_MIN, TC_SIFT_BUFFER_MAX, " ms")
	},
	SF_QUEUES(SIFT, 256),
	SF_QUANTUM(SIFT),
	SF_LINGER(SIFT),
	SF_RATE(SIFT),
	SF_OVERHEAD(SIFT),
	SF_MPU(SIFT),
	SF_FRAMING(SIFT),
	SF_INGRESS(SIFT),
#ifdef SF_TEST
#define SF_TEST_LAST	TCA_SIFT_MAX
#include <shortfirst/test_rows.h>
#endif
};

static const struct sf_options sift_options = SF_OPTIONS(SIFT, sift);
static const struct sf_common sift_common = SF_COMMON(SIFT);

/* What a request changes, beyond the options; all false before sift_parse() */
struct sift_request {
	bool	sampling;
	bool	seed;
	bool	red;
};

/* sf_options_parse(), what no single option can tell, and what is to be made anew */
static int sift_parse(struct nlattr *nla, const u64 *live, u64 *opt,
		      struct sift_request *request, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[SF_OPTION_VALUES(SIFT)];
	int err, i;

	err = sf_options_parse(&sift_options, nla, tb, live, opt, extack);
	if (err)
		return err;
	if (tb[TCA_SIFT_PROBABILITY] && !tb[TCA_SIFT_EVERY])
		opt[TCA_SIFT_EVERY] = 0;
	if (opt[TCA_SIFT_RED_MIN] >= opt[TCA_SIFT_RED_MAX]) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_SIFT_RED_MAX] ?: tb[TCA_SIFT_RED_MIN],
				    SF_KIND ": red_min must be less than red_max");
		return -EINVAL;
	}
	request->seed = tb[TCA_SIFT_SEED];
	request->sampling = tb[TCA_SIFT_SEED] || tb[TCA_SIFT_PROBABILITY] ||
			    tb[TCA_SIFT_EVERY] || tb[TCA_SIFT_BYTES];
	for (i = TCA_SIFT_RED; i <= TCA_SIFT_RED_BANDWIDTH; i++)
		request->red |= !!tb[i];
	return 0;
}

/*
 * An average declines by half in 2^weight * ln 2 packets that find nothing. RED wants
 * to know by how many halves in each 2^log us, up to 31, when it is gone. In the first
 * 2^log us it lets the average decline evenly, to 0 at their end, so these are to be
 * about 2^weight packets.
 */
static void sift_set_red(struct sift_sched *q, const u64 *opt)
{
	u64 gone, max_p = mul_u64_u32_div(U32_MAX, opt[TCA_SIFT_RED_PROBABILITY], SIFT_ONE);
	u8 stab[RED_STAB_SIZE];
	u8 log = 0;
	u32 i;

	gone = div_u64(SIFT_RED_PACKET * (u64)NSEC_PER_SEC, opt[TCA_SIFT_RED_BANDWIDTH]);
	/* us: 31 halves of ln 2 each */
	gone = div_u64((gone << opt[TCA_SIFT_RED_WEIGHT]) * (31 * 693), 1000 * NSEC_PER_USEC) + 1;
	while (gone >> log >= 32 && log < 22)
		log++;
	for (i = 0; i < RED_STAB_SIZE; i++)
		stab[i] = min_t(u64, 31, div64_u64(31ULL * i << log, gone));
	stab[RED_STAB_SIZE - 1] = 31;
	red_set_parms(&q->red, opt[TCA_SIFT_RED_MIN], opt[TCA_SIFT_RED_MAX],
		      opt[TCA_SIFT_RED_WEIGHT], 0, log, stab, max_t(u32, max_p, 1));
	for (i = 0; i < SF_BANDS; i++) {
		red_set_vars(&q->own[i].red);
		red_end_of_idle_period(&q->own[i].red);
		if (!q->bands.band[i].qlen)
			red_start_of_idle_period(&q->own[i].red);
	}
}

/* Returns whether something else may wait now. */
static bool sift_apply_options(struct sift_sched *q, const u64 *opt,
			       const struct sift_request *request)
{
	bool others = sf_others_change(&sift_options, &sift_common, q->opt, opt);

	sf_options_apply(&sift_options, q->opt, opt);
	sf_set_options(&q->s, &sift_common, opt, q->s.held);
	q->own[SF_HIGH].limit = opt[TCA_SIFT_HIGH] ?: U32_MAX;
	q->own[SF_LOW].limit = opt[TCA_SIFT_LOW] ?: U32_MAX;
	q->bands.guarantee.percent = opt[TCA_SIFT_GUARANTEE];
	q->bands.quantum = opt[TCA_SIFT_QUANTUM];
	q->recent.linger = msecs_to_jiffies(opt[TCA_SIFT_LINGER]);
	q->leak = div_u64(opt[TCA_SIFT_SLOW] << SIFT_LEAK_SHIFT, HZ);
	if (request->red)
		sift_set_red(q, opt);
	if (request->seed)
		sift_seed(&q->sampler, opt[TCA_SIFT_SEED]);
	if (request->sampling)
		sift_set(&q->sampler, opt[TCA_SIFT_PROBABILITY], opt[TCA_SIFT_EVERY],
			 opt[TCA_SIFT_BYTES]);
	return others;
}

static int sift_change(struct Qdisc *sch, struct nlattr *nla,
		       struct netlink_ext_ack *extack)
{
	struct sift_sched *q = qdisc_priv(sch);
	struct sift_request request = {};
	u64 opt[SF_OPTION_VALUES(SIFT)];
	int err;

	err = sift_parse(nla, q->opt, opt, &request, extack);
	if (err)
		return err;

	sch_tree_lock(sch);
	if (sift_apply_options(q, opt, &request))
		sf_trim(sch, &sift_kind);
	sch_tree_unlock(sch);
	return 0;
}

static int sift_init(struct Qdisc *sch, struct nlattr *nla,
		     struct netlink_ext_ack *extack)
{
	struct sift_sched *q = qdisc_priv(sch);
	struct sift_request request = {};
	u64 opt[SF_OPTION_VALUES(SIFT)];
	int err;

	sf_begin(sch);
	sf_link_begin(&q->s.link, SIFT_ROOM_MIN);
	err = sift_parse(nla, NULL, opt, &request, extack);
	if (err)
		return err;
	request.seed = true;
	request.sampling = true;
	request.red = true;
	sift_apply_options(q, opt, &request);
	err = sf_filters_init(sch, extack);
	if (err)
		return err;
	/* On failure the core calls sift_destroy(), if not sift_reset() too */
	err = sf_bands_init(&q->bands, opt[TCA_SIFT_QUEUES]);
	if (err)
		return err;
	return sf_table_init(&q->s.table, opt[TCA_SIFT_FLOWS], SF_FIRST_QUEUE);
}

static void sift_destroy(struct Qdisc *sch)
{
	struct sift_sched *q = qdisc_priv(sch);

	sf_end(&q->s);
	sf_table_free(&q->s.table);
	sf_bands_free(&q->bands);
}

static int sift_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct sift_sched *q = qdisc_priv(sch);

	return sf_options_dump(&sift_options, q->opt, skb);
}

static struct tc_sift_band sift_dump_band(const struct sift_sched *q, u32 i)
{
	const struct sf_band *band = &q->bands.band[i];

	return (struct tc_sift_band) {
		.bytes		= band->bytes,
		.packets	= band->packets,
		.backlog	= band->backlog,
		.qlen		= band->qlen,
		.drops		= band->drops,
		.early		= q->own[i].early,
		.marked		= q->own[i].marked,
	};
}

static int sift_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct sift_sched *q = qdisc_priv(sch);
	struct tc_sift_xstats st;

	sch_tree_lock(sch);
	st = (struct tc_sift_xstats) {
		.type		= TC_SIFT_XSTATS_QDISC,
		.memory		= q->s.memory,
		.drop_limit	= q->s.drop_limit,
		.drop_memory	= q->s.drop_memory,
		.drop_band	= q->drop_band,
		.drop_buffer	= q->s.drop_buffer,
		.samples	= q->samples,
		.flows_sampled	= q->s.table.assigned,
		.evictions	= q->s.table.evictions,
		.overflow	= q->s.overflow,
		.gso_split	= q->s.gso_split,
		.records	= q->s.table.used,
		.records_peak	= q->recent.peak,
		.flows_queued	= q->recent.queued,
		.memory_peak	= q->s.memory_peak,
		.room		= sf_link_room(&q->s.link),
		.high_queues	= q->bands.band[SF_HIGH].used,
		.low_queues	= q->bands.band[SF_LOW].used,
	};
	st.high = sift_dump_band(q, SF_HIGH);
	st.low = sift_dump_band(q, SF_LOW);
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static int sift_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb,
			   struct tcmsg *tcm)
{
	struct sift_sched *q = qdisc_priv(sch);
	const struct sf_flow *f;

	sch_tree_lock(sch);
	f = sf_recent_tell(sch, cl);
	q->s.told.samples = f->samples;
	q->s.told.sort = sift_is_long(q, f) ? TC_SF_SORT_LONG : TC_SF_SORT_SHORT;
	sch_tree_unlock(sch);
	return sf_class_put(sch, skb, tcm);
}

static int sift_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				 struct gnet_dump *d)
{
	struct tc_sift_flow_xstats st = { .type = TC_SIFT_XSTATS_FLOW };
	const struct sift_sched *q = qdisc_priv(sch);
	int more = sf_class_put_stats(sch, d);

	if (more <= 0)
		return more;
	st.samples = q->s.told.samples;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static const struct Qdisc_class_ops sift_class_ops = {
	.leaf		=	sf_class_leaf,
	.find		=	sf_class_find,
	.tcf_block	=	sf_tcf_block,
	.bind_tcf	=	sf_class_bind,
	.unbind_tcf	=	sf_class_unbind,
	.dump		=	sift_dump_class,
	.dump_stats	=	sift_dump_class_stats,
	.walk		=	sf_class_walk,
};

static struct Qdisc_ops sift_qdisc_ops __read_mostly = {
	.cl_ops		=	&sift_class_ops,
	.id		=	SF_KIND,
	.priv_size	=	sizeof(struct sift_sched),
	.enqueue	=	sift_enqueue,
	.dequeue	=	sift_dequeue,
	.peek		=	qdisc_peek_dequeued,
	.init		=	sift_init,
	.reset		=	sift_reset,
	.destroy	=	sift_destroy,
	.change		=	sift_change,
	.dump		=	sift_dump,
	.dump_stats	=	sift_dump_stats,
	.owner		=	THIS_MODULE,
};
MODULE_ALIAS_NET_SCH(SF_KIND);

static int __init sift_module_init(void)
{
	return register_qdisc(&sift_qdisc_ops);
}

static void __exit sift_module_exit(void)
{
	unregister_qdisc(&sift_qdisc_ops);
}

module_init(sift_module_init)
module_exit(sift_module_exit)
MODULE_AUTHOR("shortfirst contributors");
MODULE_DESCRIPTION("SIFT packet scheduler: sampling sends long flows to the second band");
MODULE_LICENSE("GPL");
