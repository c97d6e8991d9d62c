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
 * When there is no room for a newcomer the last packet of the low band goes, or if that
 * is empty, or has no more than it is guaranteed, the last one of the high band.
 *
 * - learn: for hosts that do not play along, the number that a connection begins with is
 *   remembered (flow_recent.h), and a rank is the distance to it. A connection that finds
 *   no room among these records has the rank that its number tells. It is forgotten when
 *   it is reset or silent for `idle`, or when another wants its record. A SYN of none
 *   that is known has the lowest rank. Neither it nor a RST leaves a record.
 *
 * - order: RuN, section II-A. Not two bands, but one queue by rank; of equal ranks
 *   the first to come goes first. The highest rank goes when there is no room.
 *
 * - other: what is not TCP has no rank. It counts as the lowest, or as the highest.
 *
 * A segment that is sent again has the rank it had, and so may pass by later ones, as
 * it should. Otherwise a flow is reordered only where its ranks begin anew while it has
 * low packets: without a record when its number comes to the next multiple of `span`,
 * when there is room for a record at last, when more than a window of it took another
 * way, and when options or filters change. Also `guarantee` may let the first low
 * packets of a flow pass by its last high ones, and of a fragmented segment only the
 * first fragment has a rank.
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
#include <shortfirst/bands.h>
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

struct run2c_sched {
	struct sf_sched	s;
	struct sf_band	band[SF_BANDS];
	struct rb_root_cached sorted;	/* with order: the packets of the low band */
	struct sf_guarantee guarantee;
	struct sf_recent recent;
	u32		opt[TCA_RUN2C_MAX + 1];	/* by attribute */
	u64		tcp;
	u64		other;
};

static_assert(SF_CLASS_1 == (u32)TC_RUN2C_CLASS_HIGH);
static_assert(SF_CLASS_2 == (u32)TC_RUN2C_CLASS_LOW);
static_assert(SF_CLASS_FLOWS == (u32)TC_RUN2C_CLASS_FLOWS);

/* The rank of f->last, the number of the newest segment of @f */
static u64 run2c_last(const struct sf_flow *f)
{
	return (u64)f->wraps << 32 | (f->last - f->first);
}

/* The rank of @seq: the highest, if it is further than a window from the newest so far */
static __always_inline u64 run2c_learned(struct sf_flow *f, u32 seq)
{
	u32 from = seq - f->last + RUN2C_WINDOW;
	u64 last = run2c_last(f);

	/* Not of this connection, or of a part of it that took another way: no sign of life */
	if (unlikely(from > 2 * RUN2C_WINDOW))
		return RUN2C_RANK_MAX;
	f->seen = jiffies;
	if (from > RUN2C_WINDOW) {
		last += from - RUN2C_WINDOW;
		f->last = seq;
		f->wraps = min_t(u64, last >> 32, U16_MAX);
		return last;
	}
	/* Older than the first that was seen: as the first */
	return last - min_t(u64, last, RUN2C_WINDOW - from);
}

static __always_inline u64 run2c_rank(struct run2c_sched *q, const struct sk_buff *skb,
				      struct sf_place *to)
{
	struct sf_tcp tcp = sf_tcp_read(skb);

	if (!tcp.found) {
		q->other++;
		return q->opt[TCA_RUN2C_OTHER] == TC_RUN2C_OTHER_HIGH ? 0 : RUN2C_RANK_MAX;
	}
	q->tcp++;
	if (!to->flow && tcp.syn && q->opt[TCA_RUN2C_LEARN])
		return 0;
	if (!to->flow)
		return tcp.seq & (q->opt[TCA_RUN2C_SPAN] - 1);
	return run2c_learned(to->flow, tcp.seq);
}

/* Take a packet out again. */
static noinline struct sk_buff *run2c_unsort(struct Qdisc *sch, struct sk_buff *skb)
{
	struct run2c_sched *q = qdisc_priv(sch);

	sf_unsort(&q->sorted, skb, sch);
	sf_uncount(sch, &q->band[SF_LOW].queue, skb);
	q->band[SF_LOW].queue.qlen--;
	return skb;
}

static __always_inline bool run2c_insert(struct Qdisc *sch, struct sk_buff *skb,
					 struct sf_place *to)
{
	struct run2c_sched *q = qdisc_priv(sch);
	struct sf_skb_cb *cb = sf_cb(skb);
	u32 i = SF_LOW;

	if (to->flow && unlikely(sf_recent_gone(to->flow)))
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
	if (i == SF_LOW && to->flow)
		sf_recent_add(&q->s, &q->recent, to->flow, skb);
	if (q->opt[TCA_RUN2C_ORDER]) {
		sf_sort(&q->sorted, skb);
		sf_count_in(sch, &q->band[SF_LOW].queue, skb);
	} else {
		sf_append(sch, &q->band[i].queue, skb);
	}
	if (q->s.held == 1)
		sf_link_forget(&q->s.link);
	return true;
}

/* Take the packet that has to make room, and count it as dropped. */
static noinline struct sk_buff *run2c_take_victim(struct Qdisc *sch)
{
	struct run2c_sched *q = qdisc_priv(sch);
	struct sf_band *band = &q->band[SF_LOW];
	struct sk_buff *skb;

	sf_count_drop(&q->s);
	if (q->opt[TCA_RUN2C_ORDER]) {
		skb = run2c_unsort(sch, sf_sorted_last(&q->sorted));
	} else {
		band = &q->band[sf_bands_victim(&q->guarantee, &q->band[SF_HIGH].queue,
						&q->band[SF_LOW].queue)];
		skb = sf_take_last(sch, &band->queue);
	}
	band->drops++;
	q->s.victim = sf_cb(skb)->flow;
	sf_recent_del(&q->s, &q->recent, skb);
	sf_set_drop_reason(skb, SF_DROP_OVERLIMIT);
	return skb;
}

static const struct sf_kind run2c_kind = {
	.insert		= run2c_insert,
	.take_victim	= run2c_take_victim,
	.over		= sf_over_buffer,
};

/*
 * A record for the flow in q->s.key, which begins with @seq: @f if it has one, where
 * packets of the connection before still wait, or NULL if there is no room.
 */
static noinline struct sf_flow *run2c_begin(struct run2c_sched *q, u32 seq, u32 hash,
					    struct sf_flow *f)
{
	f = f ?: sf_recent_assign(&q->s, &q->recent, hash);
	if (f) {
		f->first = seq;
		f->last = f->first;
		f->wraps = 0;
		f->closing = false;
	}
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

	if (tcp.found) {
		flags = sf_flow_key_read(skb, &q->s.key);
		to.hash = sf_flow_key_hash(&q->s.key, &q->s.table.secret);
	}
	/* None are of fragments: all between two hosts have the same key, without ports. */
	if (flags) {
		f = sf_recent_find(&q->s, to.hash, flags);
		/* A flow that ends keeps its ranks until its last low packet has left. */
		if (f ? flags & SF_TCP_SYN : !(flags & (SF_TCP_SYN | SF_TCP_RST)))
			f = run2c_begin(q, tcp.seq, to.hash, f);
		to.flow = f;
	}
	ret = sf_enqueue(skb, sch, &to, to_free, &run2c_kind);
	/* A FIN is not the last: whoever sends it has the other's to acknowledge. */
	if (flags & SF_TCP_RST && ret != NET_XMIT_DROP) {
		/* It may have been forgotten meanwhile. */
		f = sf_table_find(&q->s.table, &q->s.key, to.hash);
		if (f)
			sf_recent_close(&q->s.table, f);
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
	if (q->opt[TCA_RUN2C_LEARN] && !to.class)
		return run2c_enqueue_learning(skb, sch, to_free);
	return sf_enqueue(skb, sch, &to, to_free, &run2c_kind);
}

/* The next packet, if there is one, out of its queue */
static __always_inline struct sk_buff *run2c_take(struct Qdisc *sch, struct sf_band **from)
{
	struct run2c_sched *q = qdisc_priv(sch);
	struct sf_band *band = &q->band[SF_LOW];
	struct sk_buff *skb;

	if (!q->s.held)
		return NULL;
	if (q->opt[TCA_RUN2C_ORDER]) {
		skb = run2c_unsort(sch, sf_sorted_first(&q->sorted));
	} else {
		band = &q->band[sf_bands_next(&q->guarantee, &q->band[SF_HIGH].queue,
					      &q->band[SF_LOW].queue)];
		skb = sf_take_first(sch, &band->queue);
	}
	*from = band;
	return skb;
}

static struct sk_buff *run2c_dequeue(struct Qdisc *sch)
{
	struct run2c_sched *q = qdisc_priv(sch);
	struct sf_band *band;
	struct sk_buff *skb = run2c_take(sch, &band);

	if (!skb)
		return NULL;
	sf_recent_del(&q->s, &q->recent, skb);
	sf_link_sent(&q->s.link, qdisc_pkt_len(skb));
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
	q->guarantee.credit = 0;
	sf_link_forget(&q->s.link);
	sf_table_clear(&q->s.table);
}

static const struct sf_option run2c_rows[] = {
	SF_LIMIT(RUN2C, 10000),
	SF_MEMORY_LIMIT(RUN2C),
	SF_FLOWS(RUN2C),
	SF_IDLE(RUN2C),
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
		SF_OPTION(RUN2C, OTHER, 0),
		SF_OTHER(0, TC_RUN2C_OTHER_LOW, "other must be 0 (high) or 1 (low)")
	}, {
		SF_OPTION(RUN2C, GUARANTEE, 0),
		SF_RANGE("guarantee", 0, TC_RUN2C_GUARANTEE_MAX, " percent")
	}, {
		SF_OPTION(RUN2C, BUFFER, 30),
		SF_ZERO_OR("buffer", TC_RUN2C_BUFFER_MIN, TC_RUN2C_BUFFER_MAX, " ms")
	}
};

static const struct sf_options run2c_options = SF_OPTIONS(RUN2C, run2c);

/* sf_options_parse(), and what no single option can tell */
static int run2c_parse(struct nlattr *nla, const u32 *live, u32 *opt,
		       struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_RUN2C_MAX + 1];
	int err;

	err = sf_options_parse(&run2c_options, nla, tb, live, opt, extack);
	if (err)
		return err;
	if (opt[TCA_RUN2C_THRESHOLD] >= opt[TCA_RUN2C_SPAN]) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_RUN2C_THRESHOLD] ?: tb[TCA_RUN2C_SPAN],
				    SF_KIND ": threshold must be less than span");
		return -EINVAL;
	}
	if (opt[TCA_RUN2C_ORDER] && opt[TCA_RUN2C_GUARANTEE]) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_RUN2C_GUARANTEE] ?: tb[TCA_RUN2C_ORDER],
				    SF_KIND ": guarantee is for two bands, not with order");
		return -EINVAL;
	}
	return 0;
}

static void run2c_apply_options(struct run2c_sched *q, const u32 *opt)
{
	sf_options_apply(&run2c_options, q->opt, opt);
	sf_set_options(&q->s, opt[TCA_RUN2C_LIMIT], opt[TCA_RUN2C_MEMORY_LIMIT],
		       opt[TCA_RUN2C_IDLE], opt[TCA_RUN2C_SPLIT_GSO]);
	q->guarantee.percent = opt[TCA_RUN2C_GUARANTEE];
	q->s.link.buffer = msecs_to_jiffies(opt[TCA_RUN2C_BUFFER]);
	q->s.link.least = RUN2C_ROOM_MIN;
	sf_link_forget(&q->s.link);
}

/* Records for `learn` in a table that has none */
static int run2c_make_table(struct sf_table *t, const u32 *opt)
{
	int err;

	if (!opt[TCA_RUN2C_LEARN])
		return 0;
	err = sf_table_init(t, opt[TCA_RUN2C_FLOWS], SF_FIRST_QUEUE);
	if (err) {
		sf_table_free(t);
		memset(t, 0, sizeof(*t));
	}
	return err;
}

/*
 * Queue by rank, or no longer: each packet has its rank since it came. No limit is
 * concerned, but this does walk all that waits, while nothing is sent.
 */
static void run2c_sort_again(struct Qdisc *sch, bool order)
{
	struct run2c_sched *q = qdisc_priv(sch);
	struct sf_queue old[SF_BANDS];
	struct sk_buff *skb;
	u32 i;

	for (i = 0; i < SF_BANDS; i++) {
		old[i] = q->band[i].queue;
		q->band[i].queue = (struct sf_queue) {};
	}
	for (i = 0; i < SF_BANDS && order; i++) {
		for (; old[i].qlen; old[i].qlen--) {
			skb = old[i].head;
			old[i].head = skb->next;
			sf_sort(&q->sorted, skb);
			q->band[SF_LOW].queue.qlen++;
			q->band[SF_LOW].queue.backlog += qdisc_pkt_len(skb);
		}
	}
	while (!order && (skb = sf_sorted_first(&q->sorted))) {
		sf_unsort(&q->sorted, skb, sch);
		i = sf_cb(skb)->rank < q->opt[TCA_RUN2C_THRESHOLD] ? SF_HIGH : SF_LOW;
		sf_link_skb(&q->band[i].queue, skb);
		q->band[i].queue.qlen++;
		q->band[i].queue.backlog += qdisc_pkt_len(skb);
	}
}

static int run2c_change(struct Qdisc *sch, struct nlattr *nla,
			struct netlink_ext_ack *extack)
{
	struct run2c_sched *q = qdisc_priv(sch);
	u32 opt[TCA_RUN2C_MAX + 1];
	struct sf_table table = {};
	bool order = q->opt[TCA_RUN2C_ORDER];
	int err;

	err = run2c_parse(nla, q->opt, opt, extack);
	if (!err && !q->s.table.flows)
		err = run2c_make_table(&table, opt);
	if (err)
		return err;

	sch_tree_lock(sch);
	if (table.flows)
		q->s.table = table;
	run2c_apply_options(q, opt);
	if (opt[TCA_RUN2C_ORDER] != order)
		run2c_sort_again(sch, opt[TCA_RUN2C_ORDER]);
	sf_trim(sch, &run2c_kind);
	sch_tree_unlock(sch);
	return 0;
}

static int run2c_init(struct Qdisc *sch, struct nlattr *nla,
		      struct netlink_ext_ack *extack)
{
	struct run2c_sched *q = qdisc_priv(sch);
	u32 opt[TCA_RUN2C_MAX + 1];
	int err;

	q->s.victim = SF_NO_FLOW;
	q->sorted = RB_ROOT_CACHED;
	err = run2c_parse(nla, NULL, opt, extack);
	if (err)
		return err;
	run2c_apply_options(q, opt);
	err = sf_filters_init(sch, extack);
	if (err)
		return err;
	/* On failure the core calls run2c_destroy(), if not run2c_reset() too */
	return run2c_make_table(&q->s.table, opt);
}

static void run2c_destroy(struct Qdisc *sch)
{
	struct run2c_sched *q = qdisc_priv(sch);

	tcf_block_put(q->s.block);
	sf_table_free(&q->s.table);
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
		.backlog	= band->queue.backlog,
		.qlen		= band->queue.qlen,
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
	};
	st.high = run2c_dump_band(&q->band[SF_HIGH]);
	st.low = run2c_dump_band(&q->band[SF_LOW]);
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static int run2c_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				  struct gnet_dump *d)
{
	struct run2c_sched *q = qdisc_priv(sch);
	struct tc_run2c_flow_xstats st = { .type = TC_RUN2C_XSTATS_FLOW };
	const struct sf_flow *f = &q->s.table.flows[cl - SF_CLASS_FLOWS];
	struct gnet_stats_queue qs = {};

	sch_tree_lock(sch);
	sf_recent_backlog(f, &qs);
	st.rank = run2c_last(f);
	sch_tree_unlock(sch);
	if (gnet_stats_copy_queue(d, NULL, &qs, qs.qlen) < 0)
		return -1;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static const struct Qdisc_class_ops run2c_class_ops = {
	.leaf		=	sf_class_leaf,
	.find		=	sf_class_find,
	.tcf_block	=	sf_tcf_block,
	.bind_tcf	=	sf_class_bind,
	.unbind_tcf	=	sf_class_unbind,
	.dump		=	sf_class_dump,
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
