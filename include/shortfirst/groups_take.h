/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose packet is sent next, and what is dropped instead of being sent
 */
#ifndef _SF_GROUPS_TAKE_H
#define _SF_GROUPS_TAKE_H

#include <linux/minmax.h>
#include <net/codel.h>
#include <net/codel_impl.h>
#include "groups_forgive.h"
#include "groups_loss.h"
#include "groups_place.h"

/* The queue has become empty. */
static __always_inline void sf_groups_emptied(struct sf_groups *g, struct sf_queue *queue)
{
	struct sf_flow *f;

	sf_groups_leave(g, queue);
	if (queue->heaped) {
		queue->heaped = false;
		sf_heap_remove(&g->losers, sf_groups_number(g, queue));
	}
	if (unlikely(queue->host))
		sf_host_release(&g->hosts, queue->host);
	if (unlikely(sf_is_elsewhere(queue)))
		return;
	f = &g->s.table.flows[queue->flow];
	if (f->stream)
		sf_groups_forgive_last(g, f);
	sf_queue_release(&g->s.table, queue);
}

/* The first packet of a queue, which may become empty */
static __always_inline struct sk_buff *sf_groups_take(struct Qdisc *sch,
						      struct sf_queue *queue)
{
	struct sf_groups *g = qdisc_priv(sch);
	struct sk_buff *skb = sf_take_first(sch, queue);

	sf_groups_uncount(g, queue, qdisc_pkt_len(skb));
	if (unlikely(sf_is_elsewhere(queue)))
		sf_elsewhere_del(&g->s.table, sf_groups_overflow_set(skb));
	return skb;
}

/* So many packets CoDel has dropped, and so many marked. */
static inline u32 sf_groups_codel_drops(const struct sf_groups *g)
{
	return g->codel_stats.drop_count;
}

static inline u32 sf_groups_codel_marks(const struct sf_groups *g)
{
	return g->codel_stats.ecn_mark + g->codel_stats.ce_mark;
}

/* Count a packet of a long flow, which is sent, and what CoDel has done to others before it. */
static inline void sf_groups_sum_long(struct sf_sums *sums, const struct sk_buff *skb, u32 drops,
				      u32 marks)
{
	sf_sum_sent(sums, skb);
	sums->drops += drops;
	sums->marks += marks;
}

static struct sk_buff *sf_groups_codel_take(struct codel_vars *vars, void *ctx)
{
	struct sf_queue *queue = container_of(vars, struct sf_queue, codel);

	return queue->qlen ? sf_groups_take(ctx, queue) : NULL;
}

/* CoDel drops none if that leaves nothing: so the parent is told of no empty class. */
static void sf_groups_codel_drop(struct sk_buff *skb, void *ctx)
{
	struct Qdisc *sch = ctx;
	struct sf_sched *s = qdisc_priv(sch);

	qdisc_qstats_drop(sch);
	sf_shaper_dropped(&s->shaper, skb);
	qdisc_tree_reduce_backlog(sch, 1, qdisc_pkt_len(skb));
	sf_dequeue_drop(sch, skb, SF_DROP_CONGESTED);
}

static codel_time_t sf_groups_codel_time(const struct sk_buff *skb)
{
	return sf_cb(skb)->flow;
}

/* A packet is dropped of a flow, or SF_NO_FLOW, and of a host, if it is not 0. */
static __always_inline void sf_groups_count_drop(struct sf_groups *g, u32 flow, u32 host)
{
	sf_sums_of(&g->s.table, flow)->drops++;
	if (unlikely(host))
		sf_host_sums(&g->hosts, host)->drops++;
}

static noinline void sf_groups_drop_stale(struct Qdisc *sch, struct sf_queue *queue)
{
	struct sf_groups *g = qdisc_priv(sch);
	struct sf_flow *f = sf_groups_flow(g, queue);
	codel_time_t now = codel_get_time();
	struct sk_buff *skb;
	u32 i;

	for (i = 0; i < SF_SOUGHT && queue->qlen > 1; i++) {
		if (g->sent - sf_groups_sent_before(queue) <= g->stale ||
		    now - sf_groups_codel_time(queue->head) <= g->stale_time)
			break;
		skb = sf_groups_take(sch, queue);
		if (queue->group != SF_LONG_FLOWS)
			f->attained -= min_t(u64, f->attained, qdisc_pkt_len(skb));
		g->s.drop_buffer++;
		sf_groups_count_drop(g, queue->flow, queue->host);
		sf_groups_codel_drop(skb, sch);
	}
}

/*
 * It is this queue's turn: what has waited for too long is dropped first. No more than SF_SOUGHT
 * packets at a time, and not the last one, so that the parent is told of no empty class. When what
 * has no record came is not known.
 */
static __always_inline void sf_groups_begin_turn(struct Qdisc *sch, struct sf_queue *queue)
{
	struct sf_groups *g = qdisc_priv(sch);

	if (unlikely(g->sent - sf_groups_sent_before(queue) > g->stale) && !sf_is_elsewhere(queue))
		sf_groups_drop_stale(sch, queue);
}

static noinline struct sk_buff *sf_groups_take_long(struct Qdisc *sch, struct sf_lists *l)
{
	struct sf_groups *g = qdisc_priv(sch);
	s32 quantum = g->quantum;
	s32 least = -SF_TURNS_OWED * quantum;
	u32 drops = sf_groups_codel_drops(g), marks = sf_groups_codel_marks(g);
	struct sf_queue *queue, *owes_least = NULL;
	struct sk_buff *skb;
	struct sf_flow *f;
	u32 passed;

	for (passed = 0; passed < SF_TURNS_PASSED; passed++) {
		queue = sf_groups_first_of(g, l, SF_LONG_FLOWS);
		f = sf_groups_flow(g, queue);
		if (f->deficit > 0)
			break;
		/* The quantum may have been larger. */
		f->deficit = max(f->deficit, least) + quantum;
		l->first[SF_LONG_FLOWS] = queue->listed.next;
		if (!owes_least || f->deficit > sf_groups_flow(g, owes_least)->deficit)
			owes_least = queue;
	}
	if (unlikely(passed == SF_TURNS_PASSED)) {
		queue = owes_least;
		f = sf_groups_flow(g, queue);
	}
	sf_groups_begin_turn(sch, queue);
	if (g->aqm)
		skb = codel_dequeue(sch, &queue->backlog, &g->codel, &queue->codel,
				    &g->codel_stats, qdisc_pkt_len, sf_groups_codel_time,
				    sf_groups_codel_drop, sf_groups_codel_take);
	else
		skb = sf_groups_take(sch, queue);
	f->known = true;
	f->deficit = max_t(s64, (s64)f->deficit - qdisc_pkt_len(skb), least);
	drops = sf_groups_codel_drops(g) - drops;
	marks = sf_groups_codel_marks(g) - marks;
	sf_groups_sum_long(sf_sums_of(&g->s.table, queue->flow), skb, drops, marks);
	if (unlikely(queue->host))
		sf_groups_sum_long(sf_host_sums(&g->hosts, queue->host), skb, drops, marks);
	if (!queue->qlen)
		sf_groups_emptied(g, queue);
	return skb;
}

static __always_inline struct sk_buff *sf_groups_take_short(struct Qdisc *sch,
							    struct sf_lists *l,
							    struct sf_queue *queue,
							    const struct sf_order *order)
{
	struct sf_groups *g = qdisc_priv(sch);
	struct sk_buff *skb;
	struct sf_host *h;

	sf_groups_begin_turn(sch, queue);
	skb = sf_take_first(sch, queue);
	sf_groups_count(g, queue, -qdisc_pkt_len(skb));
	if (unlikely(sf_groups_sorts_meet(l)) && sf_groups_is_new(queue->group)) {
		l->had_last = l->had[queue->group];
		l->had[queue->group] += qdisc_pkt_len(skb);
	}
	g->s.table.flows[queue->flow].known = true;
	sf_sum_sent(&g->s.table.sums[queue->flow], skb);
	if (unlikely(queue->host)) {
		sf_sum_sent(sf_host_sums(&g->hosts, queue->host), skb);
		h = &g->hosts.host[queue->host];
		h->backlog -= qdisc_pkt_len(skb);
		sf_host_attain(&g->hosts, h, qdisc_pkt_len(skb));
	}
	if (!queue->qlen)
		sf_groups_emptied(g, queue);
	else
		sf_groups_place(g, queue, order);
	return skb;
}

/* The newcomer or short flow that is next; there is one */
static __always_inline struct sf_queue *sf_groups_next_short(struct sf_groups *g,
							     struct sf_lists *l)
{
	struct sf_queue *fresh = sf_groups_next_new(g, l), *ranked;
	const struct rb_node *node = rb_first_cached(&l->ranked);

	if (!node) {
		l->known_credit = 0;
		sf_lists_let_ahead(l, qdisc_pkt_len(fresh->head));
		return fresh;
	}
	ranked = sf_groups_queue_of(node);
	/* Without a share they are in one order: newcomers have rank 0. */
	if (!g->known_share && !ranked->rank && fresh->qlen &&
	    sf_earlier(ranked->head, fresh->head))
		return ranked;
	if (sf_bands_next(&l->known_credit, g->known_share, fresh, ranked) == SF_LOW)
		return ranked;
	sf_lists_let_ahead(l, qdisc_pkt_len(fresh->head));
	return fresh;
}

/* Of the queues in turn the next one of a short flow that has waited for too long, or NULL */
static struct sf_queue *sf_groups_seek(struct sf_groups *g, codel_time_t now,
				       codel_time_t long_ago)
{
	struct sf_queue *queue;
	u32 i;

	for (i = 0; i < SF_SOUGHT; i++) {
		if (++g->hand > g->last)
			g->hand = SF_FIRST_QUEUE;
		queue = &g->s.table.queues[g->hand];
		if (queue->group == SF_SHORT_FLOWS && !queue->own &&
		    now - sf_groups_codel_time(queue->head) > long_ago)
			return queue;
	}
	return NULL;
}

/* SF_DEBT of the part of the rate that these lists have while as many hosts wait */
static inline s64 sf_groups_debt_of(const struct sf_groups *g, const struct sf_lists *l)
{
	return l == &g->top ? g->debt_max : div_u64(g->debt_max, g->hosts.turns.size);
}

/*
 * A packet is owed to a short flow that has waited for too long: to the next in turn, so that
 * none is passed over for ever, or else to one of the last, before which most may go. Else NULL,
 * and there is a pause. Before the rate is known, nobody has waited.
 */
static noinline struct sf_queue *sf_groups_overdue(struct sf_groups *g, struct sf_lists *l)
{
	codel_time_t now, long_ago = sf_groups_crowded(g, l) ? SF_CROWDED : SF_OVERDUE;
	struct sf_queue *queue, *found = NULL;
	struct rb_node *node;
	u32 i;

	if (g->debt_max && l->queues[SF_SHORT_FLOWS]) {
		now = codel_get_time();
		queue = l == &g->top ? sf_groups_seek(g, now, long_ago) : NULL;
		if (queue)
			return queue;
		node = rb_last(&l->ranked.rb_root);
		for (i = 0; node && i < SF_LAST; i++, node = rb_prev(node)) {
			queue = sf_groups_queue_of(node);
			if (!found || sf_earlier(queue->head, found->head))
				found = queue;
		}
		if (found && now - sf_groups_codel_time(found->head) > long_ago)
			return found;
	}
	l->overdue = -(sf_groups_debt_of(g, l) >> SF_LOOK_SHIFT);
	return NULL;
}

/*
 * The first of the short flows if it has so little waiting that it goes ahead of newcomers, long
 * flows and who has waited for too long, whatever these are owed, or NULL. Without `known_share`
 * nobody does.
 */
static __always_inline struct sf_queue *sf_groups_ahead(const struct sf_groups *g,
							const struct sf_lists *l)
{
	struct sf_queue *queue;

	if (!(l->busy & BIT(SF_SHORT_FLOWS)) || l->ahead <= 0 || !g->known_share ||
	    (l->busy == BIT(SF_SHORT_FLOWS) && l->overdue < SF_OWED))
		return NULL;
	queue = sf_groups_queue_of(rb_first_cached(&l->ranked));
	return queue->backlog <= SF_SMALL ? queue : NULL;
}

static noinline struct sk_buff *sf_groups_take_host(struct Qdisc *sch,
						    const struct sf_order *order);

/*
 * Take the next packet out of these lists; there is one. For the @top ones all that is in hosts'
 * own lists is of long flows.
 */
static __always_inline struct sk_buff *sf_groups_take_from(struct Qdisc *sch,
							   struct sf_lists *l, bool top,
							   const struct sf_order *order)
{
	struct sf_groups *g = qdisc_priv(sch);
	struct sf_queue *queue, *owed, *ahead;
	struct sk_buff *skb;
	u32 share, moved;
	bool alone, due;

	for (moved = 0;; moved++) {
		alone = l->busy == BIT(SF_LONG_FLOWS);
		share = sf_groups_long_share(g, l);
		due = l->queues[SF_LONG_FLOWS] && (l->credit > 0 || alone);
		ahead = sf_groups_ahead(g, l);
		if (due && !ahead) {
			l->late = !alone;
			skb = top && unlikely(g->hosts.by) ? sf_groups_take_host(sch, order) :
							     sf_groups_take_long(sch, l);
			l->credit = max(l->credit, -g->debt_max) -
				    (s64)(100 - share) * qdisc_pkt_len(skb);
			sf_lists_let_ahead(l, qdisc_pkt_len(skb));
			return skb;
		}
		owed = NULL;
		if (unlikely(l->overdue >= SF_OWED && !due && !ahead))
			owed = sf_groups_overdue(g, l);
		queue = ahead ?: owed ?: sf_groups_next_short(g, l);
		if (!top || likely(!queue->host) || moved == SF_MOVED ||
		    !sf_host_over(&g->hosts, &g->hosts.host[queue->host]))
			break;
		/* Its host has come to be over its share since it was put here. */
		sf_groups_move(g, queue, queue->group, true, order);
	}
	skb = sf_groups_take_short(sch, l, queue, order);
	/* Late downloads have small windows: it is no gain of theirs that none of them waits. */
	if (!l->queues[SF_LONG_FLOWS] && !l->late)
		l->credit -= (s64)share * qdisc_pkt_len(skb);
	/* What goes ahead is not owed a share of, else what is owed might grow without bound. */
	if (queue == ahead) {
		l->ahead -= SF_AHEAD_PART * min_t(u32, qdisc_pkt_len(skb), SF_SMALL);
		return skb;
	}
	if (l->queues[SF_LONG_FLOWS])
		l->credit += (s64)share * qdisc_pkt_len(skb);
	if (owed)
		sf_lists_let_ahead(l, qdisc_pkt_len(skb));
	share = sf_groups_crowded(g, l) ? max(g->known_share, g->long_share) : g->long_share;
	l->overdue += (s64)qdisc_pkt_len(skb) * (s32)(owed ? share - 100 : share);
	return skb;
}

/* Take the next packet of the host whose turn it is. */
static noinline struct sk_buff *sf_groups_take_host(struct Qdisc *sch,
						    const struct sf_order *order)
{
	struct sf_groups *g = qdisc_priv(sch);
	u32 n = sf_host_next(&g->hosts);
	struct sf_lists *l = &g->hosts.own[n];
	struct sk_buff *skb;

	/*
	 * What the last packet cost is not forgiven where this is less, else long flows would have
	 * half; of a GSO packet that is not split it may be more, and some of that is.
	 */
	sf_lists_bound_debt(l, sf_groups_debt_of(g, l) + SF_OWED);
	skb = sf_groups_take_from(sch, l, false, order);
	sf_host_sent(&g->hosts, n, qdisc_pkt_len(skb), g->s.arrivals);
	return skb;
}

#endif
