// SPDX-License-Identifier: GPL-2.0
/*
 * sch_las - Least Attained Service
 *
 * I. A. Rai, E. W. Biersack, G. Urvoy-Keller: Size-based Scheduling to Improve
 * the Performance of Short TCP Flows, 2004, sections 2.2 and 7.
 *
 * The next packet is from the flow that has received least service so far. So a
 * short flow, which never receives much, passes by the long ones, and nobody has
 * to know beforehand how long a flow will be.
 *
 * A packet's rank is the number of bytes its flow has attained when it arrives,
 * those still waiting included; packets of equal rank go by arrival. When the
 * queue is full, the newcomer is put in its place and then the packet at the end
 * of the order is dropped, which gives its bytes back to its flow: only what is
 * served counts.
 *
 * Within a flow ranks grow with arrival, so its packets stay in order and only
 * its first can be the next to go, only its last the next to be dropped. It is
 * flows that are sorted, not packets: by their first packet and by their last.
 *
 *	by_head, leftmost: next out		by_tail, leftmost: next dropped
 *	       |                                            |
 *	       v                                            v
 *	     flow A: [0][1500]            flow C: [90000] ... [97500]
 *	     flow B: [3000]               flow B: [3000]
 *	     flow C: [90000] ... [97500]  flow A: [0][1500]
 *
 * Both are rbtrees of the flows that hold packets. Most of the time a flow whose
 * first or last packet changes stays where it is, and then nothing is moved.
 *
 * The records of the flows, with packets or without, are in a table of fixed
 * size (flow_table.h). A packet for which it has no record joins the overflow
 * queue, which ranks behind all flows.
 */

#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/rbtree.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/netlink.h>
#include "compat.h"
#include "flow_table.h"
#include "uapi/pkt_las.h"

#define LAS_DEFAULT_LIMIT	400		/* packets */
#define LAS_DEFAULT_MEMORY	(32 << 20)	/* bytes */
#define LAS_DEFAULT_FLOWS	8192
#define LAS_DEFAULT_IDLE	60000		/* ms */

#define LAS_RANK_OVERFLOW	U64_MAX

struct las_flow {
	struct sf_flow	f;
	struct rb_node	by_head;	/* valid while the flow has packets */
	struct rb_node	by_tail;
};

struct las_options {
	u32	limit;
	u32	memory_limit;
	u32	flows;
	u32	idle;			/* ms */
};

struct las_sched {
	struct rb_root_cached by_head;	/* first packet, lowest first */
	struct rb_root_cached by_tail;	/* last packet, highest first */
	u64		arrivals;	/* packets so far, to order equal ranks */
	u32		memory;		/* truesize of what the flows hold */
	struct las_options opt;
	struct sf_table	table;
	struct las_flow	overflow;

	u64		drop_limit;
	u64		drop_memory;
	u64		overflow_packets;
	u32		flows_queued;
	u32		memory_peak;
};

/* cb has room for 20 bytes, no more */
struct las_skb_cb {
	u64	rank;
	u64	arrival;
	u32	truesize;	/* as it was counted in las_sched.memory */
} __packed __aligned(4);

static struct las_skb_cb *las_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct las_skb_cb));
	return (struct las_skb_cb *)qdisc_skb_cb(skb)->data;
}

static bool las_before(const struct sk_buff *a, const struct sk_buff *b)
{
	const struct las_skb_cb *x = las_cb(a), *y = las_cb(b);

	if (x->rank != y->rank)
		return x->rank < y->rank;
	return x->arrival < y->arrival;
}

static struct las_flow *las_of_head(const struct rb_node *node)
{
	return rb_entry(node, struct las_flow, by_head);
}

static struct las_flow *las_of_tail(const struct rb_node *node)
{
	return rb_entry(node, struct las_flow, by_tail);
}

static bool las_head_less(struct rb_node *a, const struct rb_node *b)
{
	return las_before(las_of_head(a)->f.head, las_of_head(b)->f.head);
}

static bool las_tail_less(struct rb_node *a, const struct rb_node *b)
{
	return las_before(las_of_tail(b)->f.tail, las_of_tail(a)->f.tail);
}

/* The flow's first packet has changed: later than before, never earlier. */
static void las_sort_head(struct las_sched *q, struct las_flow *flow)
{
	struct rb_node *next = rb_next(&flow->by_head);

	if (!next || las_head_less(&flow->by_head, next))
		return;
	rb_erase_cached(&flow->by_head, &q->by_head);
	rb_add_cached(&flow->by_head, &q->by_head, las_head_less);
}

/* The flow's last packet has changed, either way. */
static void las_sort_tail(struct las_sched *q, struct las_flow *flow)
{
	struct rb_node *prev = rb_prev(&flow->by_tail);
	struct rb_node *next = rb_next(&flow->by_tail);

	if ((!prev || las_tail_less(prev, &flow->by_tail)) &&
	    (!next || las_tail_less(&flow->by_tail, next)))
		return;
	rb_erase_cached(&flow->by_tail, &q->by_tail);
	rb_add_cached(&flow->by_tail, &q->by_tail, las_tail_less);
}

static void las_append(struct Qdisc *sch, struct las_flow *flow,
		       struct sk_buff *skb)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sf_flow *f = &flow->f;

	skb->next = NULL;
	skb->prev = f->tail;
	if (f->tail) {
		f->tail->next = skb;
		f->tail = skb;
		las_sort_tail(q, flow);
	} else {
		f->head = skb;
		f->tail = skb;
		rb_add_cached(&flow->by_head, &q->by_head, las_head_less);
		rb_add_cached(&flow->by_tail, &q->by_tail, las_tail_less);
		q->flows_queued++;
	}
	f->qlen++;
	f->backlog += qdisc_pkt_len(skb);
	q->memory += las_cb(skb)->truesize;
	sch->q.qlen++;
	qdisc_qstats_backlog_inc(sch, skb);
}

/* Take @skb, the first or the last packet of @flow, off the queue. */
static void las_unlink(struct Qdisc *sch, struct las_flow *flow,
		       struct sk_buff *skb)
{
	struct las_sched *q = qdisc_priv(sch);
	struct sf_flow *f = &flow->f;

	if (f->head == f->tail) {
		f->head = NULL;
		f->tail = NULL;
		rb_erase_cached(&flow->by_head, &q->by_head);
		rb_erase_cached(&flow->by_tail, &q->by_tail);
		q->flows_queued--;
	} else if (skb == f->head) {
		f->head = skb->next;
		f->head->prev = NULL;
		las_sort_head(q, flow);
	} else {
		f->tail = skb->prev;
		f->tail->next = NULL;
		las_sort_tail(q, flow);
	}
	skb->next = NULL;
	skb->prev = NULL;
	f->qlen--;
	f->backlog -= qdisc_pkt_len(skb);
	q->memory -= las_cb(skb)->truesize;
	sch->q.qlen--;
	qdisc_qstats_backlog_dec(sch, skb);
}

static bool las_over_limit(struct Qdisc *sch)
{
	const struct las_sched *q = qdisc_priv(sch);

	return sch->q.qlen > q->opt.limit || q->memory > q->opt.memory_limit;
}

/*
 * Take the packet at the end of the order off the queue and count it as
 * dropped. NULL if the flows hold none: what the parent has peeked at is in
 * qlen, but no longer here.
 */
static struct sk_buff *las_drop_last(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);
	struct rb_node *node = rb_first_cached(&q->by_tail);
	struct las_flow *flow;
	struct sk_buff *skb;

	if (!node)
		return NULL;
	if (sch->q.qlen > q->opt.limit)
		q->drop_limit++;
	else
		q->drop_memory++;
	flow = las_of_tail(node);
	skb = flow->f.tail;
	las_unlink(sch, flow, skb);
	flow->f.attained -= qdisc_pkt_len(skb);
	qdisc_qstats_drop(sch);
	return skb;
}

static struct las_flow *las_classify(struct las_sched *q,
				     const struct sk_buff *skb)
{
	struct sf_flow_key key;
	struct sf_flow *f;

	sf_flow_key_read(skb, &key);
	f = sf_table_get(&q->table, &key, jiffies);
	if (likely(f))
		return container_of(f, struct las_flow, f);
	q->overflow_packets++;
	return &q->overflow;
}

static int las_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free)
{
	struct las_sched *q = qdisc_priv(sch);
	unsigned int dropped = 0, dropped_bytes = 0;
	int ret = NET_XMIT_SUCCESS;
	struct las_flow *flow;
	struct sk_buff *last;

	/* Else it might push out all others and then itself */
	if (unlikely(skb->truesize > q->opt.memory_limit)) {
		q->drop_memory++;
		return qdisc_drop(skb, sch, to_free);
	}

	flow = las_classify(q, skb);
	las_cb(skb)->rank = flow == &q->overflow ? LAS_RANK_OVERFLOW :
						   flow->f.attained;
	las_cb(skb)->arrival = q->arrivals++;
	las_cb(skb)->truesize = skb->truesize;
	flow->f.attained += qdisc_pkt_len(skb);
	las_append(sch, flow, skb);

	while (unlikely(las_over_limit(sch))) {
		last = las_drop_last(sch);
		if (last == skb) {
			ret = NET_XMIT_DROP;
		} else {
			dropped++;
			dropped_bytes += qdisc_pkt_len(last);
		}
		__qdisc_drop(last, to_free);
	}
	if (q->memory > q->memory_peak)
		q->memory_peak = q->memory;
	/*
	 * The parent counts the newcomer by what we return, the others have to
	 * be taken back. At least one packet is still here, so that it will not
	 * take the class for empty.
	 */
	if (dropped)
		qdisc_tree_reduce_backlog(sch, dropped, dropped_bytes);
	return ret;
}

static struct sk_buff *las_dequeue(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);
	struct rb_node *node = rb_first_cached(&q->by_head);
	struct las_flow *flow;
	struct sk_buff *skb;

	if (!node)
		return NULL;
	flow = las_of_head(node);
	skb = flow->f.head;
	las_unlink(sch, flow, skb);
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void las_reset(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);
	struct rb_node *node;
	struct las_flow *flow;
	struct sk_buff *skb;

	while ((node = rb_first_cached(&q->by_head))) {
		flow = las_of_head(node);
		skb = flow->f.head;
		las_unlink(sch, flow, skb);
		rtnl_kfree_skbs(skb, skb);
	}
	/* Not there yet when init has failed */
	if (q->table.tag)
		sf_table_clear(&q->table);
}

static const struct nla_policy las_policy[TCA_LAS_MAX + 1] = {
	[TCA_LAS_LIMIT]		= { .type = NLA_U32 },
	[TCA_LAS_MEMORY_LIMIT]	= { .type = NLA_U32 },
	[TCA_LAS_FLOWS]		= { .type = NLA_U32 },
	[TCA_LAS_IDLE]		= { .type = NLA_U32 },
};

/* Check all of @nla into @opt, which holds what is to be kept. */
static int las_parse(struct nlattr *nla, struct las_options *opt,
		     struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_LAS_MAX + 1];
	int err;

	err = nla_parse_nested(tb, TCA_LAS_MAX, nla, las_policy, extack);
	if (err)
		return err;

	if (tb[TCA_LAS_LIMIT]) {
		opt->limit = nla_get_u32(tb[TCA_LAS_LIMIT]);
		if (opt->limit < TC_LAS_LIMIT_MIN ||
		    opt->limit > TC_LAS_LIMIT_MAX) {
			NL_SET_ERR_MSG_ATTR(extack, tb[TCA_LAS_LIMIT],
					    "las: limit must be 1 to 1000000 packets");
			return -EINVAL;
		}
	}
	if (tb[TCA_LAS_MEMORY_LIMIT]) {
		opt->memory_limit = nla_get_u32(tb[TCA_LAS_MEMORY_LIMIT]);
		if (opt->memory_limit < TC_LAS_MEMORY_MIN ||
		    opt->memory_limit > TC_LAS_MEMORY_MAX) {
			NL_SET_ERR_MSG_ATTR(extack, tb[TCA_LAS_MEMORY_LIMIT],
					    "las: memory_limit must be 4096 to 2147483647 bytes");
			return -EINVAL;
		}
	}
	if (tb[TCA_LAS_FLOWS]) {
		opt->flows = nla_get_u32(tb[TCA_LAS_FLOWS]);
		if (opt->flows < TC_LAS_FLOWS_MIN ||
		    opt->flows > TC_LAS_FLOWS_MAX ||
		    !is_power_of_2(opt->flows)) {
			NL_SET_ERR_MSG_ATTR(extack, tb[TCA_LAS_FLOWS],
					    "las: flows must be a power of two, 8 to 1048576");
			return -EINVAL;
		}
	}
	if (tb[TCA_LAS_IDLE]) {
		opt->idle = nla_get_u32(tb[TCA_LAS_IDLE]);
		if (opt->idle < TC_LAS_IDLE_MIN ||
		    opt->idle > TC_LAS_IDLE_MAX) {
			NL_SET_ERR_MSG_ATTR(extack, tb[TCA_LAS_IDLE],
					    "las: idle must be 1 to 86400000 ms");
			return -EINVAL;
		}
	}
	return 0;
}

static void las_set(struct las_sched *q, const struct las_options *opt)
{
	WRITE_ONCE(q->opt.limit, opt->limit);
	WRITE_ONCE(q->opt.memory_limit, opt->memory_limit);
	WRITE_ONCE(q->opt.flows, opt->flows);
	WRITE_ONCE(q->opt.idle, opt->idle);
	q->table.idle = msecs_to_jiffies(opt->idle);
}

static int las_change(struct Qdisc *sch, struct nlattr *nla,
		      struct netlink_ext_ack *extack)
{
	unsigned int dropped = 0, dropped_bytes = 0;
	struct las_sched *q = qdisc_priv(sch);
	struct las_options opt = q->opt;
	struct sk_buff *skb;
	int err;

	err = las_parse(nla, &opt, extack);
	if (err)
		return err;
	if (opt.flows != q->opt.flows) {
		NL_SET_ERR_MSG(extack,
			       "las: flows is fixed once the qdisc exists: delete it and add it anew");
		return -EOPNOTSUPP;
	}

	sch_tree_lock(sch);
	las_set(q, &opt);
	while (las_over_limit(sch) && (skb = las_drop_last(sch))) {
		dropped++;
		dropped_bytes += qdisc_pkt_len(skb);
		rtnl_kfree_skbs(skb, skb);
	}
	if (dropped)
		qdisc_tree_reduce_backlog(sch, dropped, dropped_bytes);
	sch_tree_unlock(sch);
	return 0;
}

static int las_init(struct Qdisc *sch, struct nlattr *nla,
		    struct netlink_ext_ack *extack)
{
	struct las_sched *q = qdisc_priv(sch);
	struct las_options opt = {
		.limit		= LAS_DEFAULT_LIMIT,
		.memory_limit	= LAS_DEFAULT_MEMORY,
		.flows		= LAS_DEFAULT_FLOWS,
		.idle		= LAS_DEFAULT_IDLE,
	};
	int err;

	q->by_head = RB_ROOT_CACHED;
	q->by_tail = RB_ROOT_CACHED;
	if (nla) {
		err = las_parse(nla, &opt, extack);
		if (err)
			return err;
	}
	las_set(q, &opt);
	/* On failure the core calls las_destroy() */
	return sf_table_init(&q->table, opt.flows, sizeof(struct las_flow));
}

static void las_destroy(struct Qdisc *sch)
{
	struct las_sched *q = qdisc_priv(sch);

	sf_table_free(&q->table);
}

static int las_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct las_sched *q = qdisc_priv(sch);
	struct nlattr *nest = nla_nest_start(skb, TCA_OPTIONS);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_LAS_LIMIT, READ_ONCE(q->opt.limit)) ||
	    nla_put_u32(skb, TCA_LAS_MEMORY_LIMIT,
			READ_ONCE(q->opt.memory_limit)) ||
	    nla_put_u32(skb, TCA_LAS_FLOWS, READ_ONCE(q->opt.flows)) ||
	    nla_put_u32(skb, TCA_LAS_IDLE, READ_ONCE(q->opt.idle))) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

static int las_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct las_sched *q = qdisc_priv(sch);
	struct tc_las_xstats st;

	sch_tree_lock(sch);
	st = (struct tc_las_xstats) {
		.drop_limit	= q->drop_limit,
		.drop_memory	= q->drop_memory,
		.flows_seen	= q->table.seen,
		.evictions	= q->table.evictions,
		.overflow	= q->overflow_packets,
		.flows_queued	= q->flows_queued,
		.records	= q->table.used,
		.memory		= q->memory,
		.memory_peak	= q->memory_peak,
	};
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static struct Qdisc_ops las_qdisc_ops __read_mostly = {
	.id		=	"las",
	.priv_size	=	sizeof(struct las_sched),
	.enqueue	=	las_enqueue,
	.dequeue	=	las_dequeue,
	.peek		=	qdisc_peek_dequeued,
	.init		=	las_init,
	.reset		=	las_reset,
	.destroy	=	las_destroy,
	.change		=	las_change,
	.dump		=	las_dump,
	.dump_stats	=	las_dump_stats,
	.owner		=	THIS_MODULE,
};
MODULE_ALIAS_NET_SCH("las");

static int __init las_module_init(void)
{
	BUILD_BUG_ON(offsetof(struct las_flow, f));
	return register_qdisc(&las_qdisc_ops);
}

static void __exit las_module_exit(void)
{
	unregister_qdisc(&las_qdisc_ops);
}

module_init(las_module_init)
module_exit(las_module_exit)
MODULE_AUTHOR("shortfirst contributors");
MODULE_DESCRIPTION("Least Attained Service packet scheduler");
MODULE_LICENSE("GPL");
