/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The packet that is sent next, and what is dropped instead
 */
#ifndef _SF_POLICY_NEXT_H
#define _SF_POLICY_NEXT_H

#include <linux/minmax.h>
#include <net/codel.h>
#include <net/codel_impl.h>
#include "examined.h"
#include "policy_decay.h"
#include "policy_drop.h"
#include "policy_class.h"

/* The last packet of a queue is gone. */
static __always_inline void sf_policy_emptied(struct sf_policy *p, struct sf_queue *queue)
{
	struct sf_flow *f;

	sf_policy_leave(p, queue);
	if (queue->on_drop_heap) {
		queue->on_drop_heap = false;
		sf_heap_remove(&p->drop_heap, sf_policy_number(p, queue));
	}
	if (unlikely(queue->host))
		sf_host_release(&p->hosts, queue->host);
	if (unlikely(sf_is_overflow(queue)))
		return;
	f = &p->s.table.flows[queue->flow];
	if (f->sparse)
		sf_policy_decay_last(p, f);
	sf_queue_release(&p->s.table, queue);
}

/* Take the first packet of a queue, which may become empty. */
static __always_inline struct sk_buff *sf_policy_take(struct Qdisc *sch,
						      struct sf_queue *queue)
{
	struct sf_policy *p = qdisc_priv(sch);
	struct sk_buff *skb = sf_take_first(sch, queue);

	sf_policy_uncount(p, queue, qdisc_pkt_len(skb));
	if (unlikely(sf_is_overflow(queue)))
		sf_overflow_del(&p->s.table, sf_policy_overflow_set(skb));
	return skb;
}

static inline u32 sf_policy_codel_drops(const struct sf_policy *p)
{
	return p->codel_stats.drop_count;
}

static inline u32 sf_policy_codel_marks(const struct sf_policy *p)
{
	return p->codel_stats.ecn_mark;
}

/* Count a bulk flow's packet that is sent, and those that CoDel dropped or marked before it. */
static inline void sf_policy_sum_bulk(struct sf_sums *sums, const struct sk_buff *skb, u32 drops,
				      u32 marks)
{
	sf_sum_sent(sums, skb);
	sums->drops += drops;
	sums->marks += marks;
}

static struct sk_buff *sf_policy_codel_take(struct codel_vars *vars, void *ctx)
{
	struct sf_queue *queue = container_of(vars, struct sf_queue, codel);

	return queue->qlen ? sf_policy_take(ctx, queue) : NULL;
}

/* CoDel never drops the last packet of the qdisc, so the parent never sees an empty class. */
static void sf_policy_codel_drop(struct sk_buff *skb, void *ctx)
{
	struct Qdisc *sch = ctx;
	struct sf_sched *s = qdisc_priv(sch);

	qdisc_qstats_drop(sch);
	sf_shaper_dropped(&s->shaper, skb);
	qdisc_tree_reduce_backlog(sch, 1, qdisc_pkt_len(skb));
	sf_dequeue_drop(sch, skb, SF_DROP_CONGESTED);
}

static codel_time_t sf_policy_codel_time(const struct sk_buff *skb)
{
	return sf_cb(skb)->flow;
}

/* Count a drop for flow @flow or SF_NO_FLOW, and for host @host unless it is 0. */
static __always_inline void sf_policy_count_drop(struct sf_policy *p, u32 flow, u32 host)
{
	sf_sums_of(&p->s.table, flow)->drops++;
	if (unlikely(host))
		sf_host_sums(&p->hosts, host)->drops++;
}

static noinline void sf_policy_drop_expired(struct Qdisc *sch, struct sf_queue *queue)
{
	struct sf_policy *p = qdisc_priv(sch);
	struct sf_flow *f = sf_policy_flow(p, queue);
	codel_time_t now = codel_get_time();
	struct sk_buff *skb;
	u32 i;

	for (i = 0; i < SF_SEARCH_MAX && queue->qlen > 1; i++) {
		sf_examined(i);
		if (p->sent - sf_policy_sent_before(queue) <= p->expire_bytes ||
		    now - sf_policy_codel_time(queue->head) <= p->expire_time)
			break;
		skb = sf_policy_take(sch, queue);
		if (queue->class != SF_BULK)
			f->attained -= min_t(u64, f->attained, qdisc_pkt_len(skb));
		p->s.drop_buffer++;
		sf_policy_count_drop(p, queue->flow, queue->host);
		sf_policy_codel_drop(skb, sch);
	}
}

/*
 * Before a queue is served, drop what has expired, but not its last packet, and no more than
 * SF_SEARCH_MAX at a time. Packets in the overflow queue do not expire.
 */
static __always_inline void sf_policy_drop_expired_first(struct Qdisc *sch, struct sf_queue *queue)
{
	struct sf_policy *p = qdisc_priv(sch);

	if (unlikely(p->sent - sf_policy_sent_before(queue) > p->expire_bytes) &&
	    !sf_is_overflow(queue))
		sf_policy_drop_expired(sch, queue);
}

static noinline struct sk_buff *sf_policy_take_bulk(struct Qdisc *sch, struct sf_lists *l)
{
	struct sf_policy *p = qdisc_priv(sch);
	s32 quantum = p->quantum;
	s32 least = -SF_TURNS_OWED * quantum;
	u32 drops = sf_policy_codel_drops(p), marks = sf_policy_codel_marks(p);
	struct sf_queue *queue, *owes_least = NULL;
	struct sk_buff *skb;
	struct sf_flow *f;
	u32 passed;

	for (passed = 0; passed < SF_TURNS_PASSED; passed++) {
		sf_examined(passed);
		queue = sf_policy_first_of(p, l, SF_BULK);
		f = sf_policy_flow(p, queue);
		if (f->deficit > 0)
			break;
		/* The quantum may have been larger before. */
		f->deficit = max(f->deficit, least) + quantum;
		l->first[SF_BULK] = queue->listed.next;
		if (!owes_least || f->deficit > sf_policy_flow(p, owes_least)->deficit)
			owes_least = queue;
	}
	if (unlikely(passed == SF_TURNS_PASSED)) {
		queue = owes_least;
		f = sf_policy_flow(p, queue);
	}
	sf_policy_drop_expired_first(sch, queue);
	if (p->aqm)
		skb = codel_dequeue(sch, &queue->backlog, &p->codel, &queue->codel,
				    &p->codel_stats, qdisc_pkt_len, sf_policy_codel_time,
				    sf_policy_codel_drop, sf_policy_codel_take);
	else
		skb = sf_policy_take(sch, queue);
	f->established = true;
	f->deficit = max_t(s64, (s64)f->deficit - qdisc_pkt_len(skb), least);
	drops = sf_policy_codel_drops(p) - drops;
	marks = sf_policy_codel_marks(p) - marks;
	sf_policy_sum_bulk(sf_sums_of(&p->s.table, queue->flow), skb, drops, marks);
	if (unlikely(queue->host))
		sf_policy_sum_bulk(sf_host_sums(&p->hosts, queue->host), skb, drops, marks);
	if (!queue->qlen)
		sf_policy_emptied(p, queue);
	return skb;
}

static __always_inline struct sk_buff *sf_policy_take_short(struct Qdisc *sch,
							    struct sf_lists *l,
							    struct sf_queue *queue,
							    const struct sf_order *order)
{
	struct sf_policy *p = qdisc_priv(sch);
	struct sk_buff *skb;
	struct sf_host *h;

	sf_policy_drop_expired_first(sch, queue);
	skb = sf_take_first(sch, queue);
	sf_policy_count(p, queue, -qdisc_pkt_len(skb));
	if (unlikely(sf_policy_subclasses_meet(l)) && sf_policy_is_new(queue->class)) {
		l->served_last = l->served[queue->class];
		l->served[queue->class] += qdisc_pkt_len(skb);
	}
	p->s.table.flows[queue->flow].established = true;
	sf_sum_sent(&p->s.table.sums[queue->flow], skb);
	if (unlikely(queue->host)) {
		sf_sum_sent(sf_host_sums(&p->hosts, queue->host), skb);
		h = &p->hosts.host[queue->host];
		h->backlog -= qdisc_pkt_len(skb);
		sf_host_attain(&p->hosts, h, qdisc_pkt_len(skb));
	}
	if (!queue->qlen) {
		sf_policy_emptied(p, queue);
		return skb;
	}
	sf_policy_place(p, queue, order);
	/* In an overload young flows take turns: those ahead may get more packets for ever. */
	if (unlikely(sf_policy_is_new(queue->class)) && sf_policy_lists(p, queue) == l)
		l->first[queue->class] = queue->listed.next;
	return skb;
}

/*
 * The new or short flow that is served next; there is one. New flows go first, but leave
 * short_share to short ones.
 */
static __always_inline struct sf_queue *sf_policy_next_short(struct sf_policy *p,
							     struct sf_lists *l)
{
	struct sf_queue *fresh = sf_policy_next_new(p, l), *ranked;
	const struct rb_node *node = rb_first_cached(&l->ranked);

	if (!node) {
		l->short_credit = 0;
		sf_lists_allow_express(l, qdisc_pkt_len(fresh->head));
		return fresh;
	}
	ranked = sf_policy_queue_of(node);
	/* Without a share all are in one order, and new flows have rank 0. */
	if (!p->short_share && !ranked->rank && fresh->qlen &&
	    sf_earlier(ranked->head, fresh->head))
		return ranked;
	if (sf_bands_next(&l->short_credit, p->short_share, fresh, ranked) == SF_LOW)
		return ranked;
	sf_lists_allow_express(l, qdisc_pkt_len(fresh->head));
	return fresh;
}

/* The next overdue short flow of the top lists, round-robin over all queues, or NULL */
static struct sf_queue *sf_policy_scan(struct sf_policy *p, codel_time_t now,
				       codel_time_t long_ago)
{
	struct sf_queue *queue;
	u32 i;

	for (i = 0; i < SF_SEARCH_MAX; i++) {
		sf_examined(i);
		if (++p->scan > p->scan_last)
			p->scan = SF_FIRST_QUEUE;
		queue = &p->s.table.queues[p->scan];
		if (queue->class == SF_SHORT && !queue->in_host_lists &&
		    now - sf_policy_codel_time(queue->head) > long_ago)
			return queue;
	}
	return NULL;
}

/* debt_max of these lists, whose host has one of that many turns */
static inline s64 sf_policy_debt_of(const struct sf_policy *p, const struct sf_lists *l)
{
	return l == &p->top ? p->debt_max : div_u64(p->debt_max, p->hosts.turns.size);
}

/*
 * The short flow that has the credit of overdue ones, or NULL: the next round-robin, so that none
 * is passed over for ever, or else the oldest of the last by rank. If there is none, the next
 * search comes after a pause. Before the rate is known no flow is overdue.
 */
static noinline struct sf_queue *sf_policy_next_overdue(struct sf_policy *p, struct sf_lists *l)
{
	codel_time_t now, long_ago = SF_OVERDUE_WAIT;
	struct sf_queue *queue, *found = NULL;
	struct rb_node *node;
	u32 i;

	if (sf_policy_overloaded(p, l))
		long_ago = SF_OVERLOAD_WAIT;
	if (p->debt_max && l->queues[SF_SHORT]) {
		now = codel_get_time();
		queue = l == &p->top ? sf_policy_scan(p, now, long_ago) : NULL;
		if (queue)
			return queue;
		node = rb_last(&l->ranked.rb_root);
		for (i = 0; node && i < SF_LAST_RANKED; i++, node = rb_prev(node)) {
			sf_examined(i);
			queue = sf_policy_queue_of(node);
			if (!found || sf_earlier(queue->head, found->head))
				found = queue;
		}
		if (found && now - sf_policy_codel_time(found->head) > long_ago)
			return found;
	}
	l->overdue_credit = -(sf_policy_debt_of(p, l) >> SF_SCAN_PAUSE_SHIFT);
	return NULL;
}

/*
 * The first short flow if it has SF_SMALL bytes at most and express flows may send, or NULL. It
 * goes before all others. Without short_share there are none.
 */
static __always_inline struct sf_queue *sf_policy_next_express(const struct sf_policy *p,
							       const struct sf_lists *l)
{
	struct sf_queue *queue;

	if (!(l->busy & BIT(SF_SHORT)) || l->express <= 0 || !p->short_share ||
	    (l->busy == BIT(SF_SHORT) && l->overdue_credit < SF_OVERDUE_PRICE))
		return NULL;
	queue = sf_policy_queue_of(rb_first_cached(&l->ranked));
	return queue->backlog <= SF_SMALL ? queue : NULL;
}

static noinline struct sk_buff *sf_policy_take_host(struct Qdisc *sch,
						    const struct sf_order *order);

/*
 * Take the next packet of these lists; there is one. This is the only place that decides which. In
 * the top lists all that hosts have in lists of their own is bulk.
 */
static __always_inline struct sk_buff *sf_policy_take_from(struct Qdisc *sch,
							   struct sf_lists *l, bool top,
							   const struct sf_order *order)
{
	struct sf_policy *p = qdisc_priv(sch);
	struct sf_queue *queue, *overdue, *express;
	struct sk_buff *skb;
	u32 share, moved;
	bool alone, due;

	for (moved = 0;; moved++) {
		sf_examined(moved);
		alone = l->busy == BIT(SF_BULK);
		share = sf_policy_bulk_share(p, l);
		due = l->queues[SF_BULK] && (l->bulk_credit > 0 || alone);
		express = sf_policy_next_express(p, l);
		if (due && !express) {
			l->bulk_overdue = !alone;
			skb = top && unlikely(p->hosts.by) ? sf_policy_take_host(sch, order) :
							     sf_policy_take_bulk(sch, l);
			l->bulk_credit = max(l->bulk_credit, -p->debt_max) -
				    (s64)(100 - share) * qdisc_pkt_len(skb);
			sf_lists_allow_express(l, qdisc_pkt_len(skb));
			return skb;
		}
		overdue = NULL;
		if (unlikely(l->overdue_credit >= SF_OVERDUE_PRICE && !due && !express))
			overdue = sf_policy_next_overdue(p, l);
		queue = express ?: overdue ?: sf_policy_next_short(p, l);
		if (!top || likely(!queue->host) || moved == SF_MOVED ||
		    !sf_host_over(&p->hosts, &p->hosts.host[queue->host]))
			break;
		/* Its host has been over its share since it was put here. */
		sf_policy_move(p, queue, queue->class, true, order);
	}
	skb = sf_policy_take_short(sch, l, queue, order);
	/* Overdue downloads have small windows, so their pauses count for nothing. */
	if (!l->queues[SF_BULK] && !l->bulk_overdue)
		l->bulk_credit -= (s64)share * qdisc_pkt_len(skb);
	/* Shares are of what is not express, or credit might grow without bound. */
	if (queue == express) {
		l->express -= SF_EIGHTH * min_t(u32, qdisc_pkt_len(skb), SF_SMALL);
		return skb;
	}
	if (l->queues[SF_BULK])
		l->bulk_credit += (s64)share * qdisc_pkt_len(skb);
	if (overdue)
		sf_lists_allow_express(l, qdisc_pkt_len(skb));
	share = sf_policy_overloaded(p, l) ? max(p->short_share, p->bulk_share) : p->bulk_share;
	l->overdue_credit += (s64)qdisc_pkt_len(skb) * (s32)(overdue ? share - 100 : share);
	return skb;
}

/* Take a packet of the next host in the round-robin. */
static noinline struct sk_buff *sf_policy_take_host(struct Qdisc *sch,
						    const struct sf_order *order)
{
	struct sf_policy *p = qdisc_priv(sch);
	u32 n = sf_host_next(&p->hosts);
	struct sf_lists *l = &p->hosts.own[n];
	struct sk_buff *skb;

	/*
	 * The price of the last packet is kept where this is less, or bulk flows would have half.
	 * A GSO packet that is not split may cost more.
	 */
	sf_lists_bound_debt(l, sf_policy_debt_of(p, l) + SF_OVERDUE_PRICE);
	skb = sf_policy_take_from(sch, l, false, order);
	sf_host_sent(&p->hosts, n, qdisc_pkt_len(skb), p->s.arrivals);
	return skb;
}

#endif
