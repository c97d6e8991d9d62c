// SPDX-License-Identifier: GPL-2.0
/*
 * sch_lp - a sketch of the next policy of las: docs/design.md says what it does and how it fares
 *
 * Shorter flows go first, and no packet is meant to be later than under fair queueing by more than
 * PATIENCE times what the link needs for its flow. It has no options, statistics, hosts or changes;
 * it is there to be compared with others in experiments that give none:
 *
 *	cp -r lab/sketches/sch_lp .
 *	make scoreboard QDISCS="lp=lp" ONLY=d1-long,impolite,stream,many
 *
 * A variant is a folder sch_NAME with a sch_NAME.c that defines SF_KIND as "NAME", and some of the
 * constants below, and includes ../sch_lp/sch_lp.c.
 */
#ifndef SF_KIND
#define SF_KIND "lp"
#endif

#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <net/codel.h>
#include <net/codel_impl.h>
#include <shortfirst/compat.h>
#include <shortfirst/flow_heap.h>
#include <shortfirst/sched.h>

#ifndef PATIENCE
#define PATIENCE 8	/* bytes that the link sends meanwhile, for each byte of a flow */
#endif
#ifndef MID
#define MID	PATIENCE	/* the same of others than bulk */
#endif
#ifndef SHARED
#define SHARED	4096	/* bytes: flows that have sent less are one in the emulation */
#endif
#ifndef CAP
#define CAP	1	/* bulk flows together are owed no more than half */
#endif
#ifndef KAPPA
#define KAPPA	4	/* bulk may be less late, the longer others wait */
#endif
#ifndef QUANT
#define QUANT	300
#endif
#ifndef SPFREE
#define SPFREE	1	/* what comes within the fair share is not counted */
#endif
#ifndef CODELSUM
#define CODELSUM 1
#endif
#ifndef CALM
#define CALM	20	/* ms */
#endif
#ifndef CALMDECAY
#define CALMDECAY 4	/* halves of a fair share */
#endif
#ifndef HELD
#define HELD	4	/* s */
#endif
#ifndef VICTIM
#define VICTIM	1
#endif
#ifndef NEWMAX
#define NEWMAX	256
#endif
#define FAIR	(256 << 10)
#define LOW	12	/* the lowest level: under 1 << LOW bytes */
#define LEVELS	10	/* 0: sparse; 1 to 8; 9: bulk */
#define BULK	(LEVELS - 1)
#define YOUNG	(16 << 10)	/* bytes of a flow that do not count against the buffer */
#define NEWPART	4	/* such a part of the buffer is for flows of which nothing was sent */
#define VS	8		/* bits of fraction */
#define BS	(VS + 8)	/* a bucket of the calendar: 256 bytes */
#define CAL	8192
#define PAST	256

struct place {
	u64	tag;		/* when the emulation has sent all of it */
	u64	attained;
	u64	since;		/* V at the last decay */
	u32	bucket;
	u32	held;		/* jiffies */
	u8	class;		/* 1: bulk */
	bool	on;
	bool	stood;
	bool	known;		/* something of it was sent */
	bool	own;		/* it is a flow of its own in the emulation */
	u32	total;		/* bytes, until it is */
	bool	dropped;
	struct codel_vars vars;
};

struct clock {
	u64	v;
	u32	n;
	u32	*cal;
	u64	then[PAST];	/* v, whenever the link had sent a step more */
};

struct lp_sched {
	struct sf_sched	s;
	struct clock clock[2];
	u64	carry;
	u32	pos;
	u32	step;
	u64	crowded;	/* bytes sent since only bulk flows waited */
	u32	first[LEVELS];
	u32	waiting[LEVELS];
	struct sf_heap due[LEVELS];
	struct place *places;	/* by record, one for the overflow queue, one for all new flows */
	s32	*deficit;
	struct sf_heap drop_candidates;
	struct codel_params codel;
	struct codel_stats stats;
	struct sf_queue *taking;
	u32	fresh;		/* bytes of flows of which nothing was sent */
	u32	freshn;		/* and how many flows */
};

static u32 qn(struct lp_sched *q, const struct sf_queue *queue)
{
	return queue - q->s.table.queues;
}

static struct place *place_of(struct lp_sched *q, const struct sf_queue *queue)
{
	return &q->places[min(queue->flow, q->s.table.sets * SF_WAYS)];
}

static struct place *new_flows(struct lp_sched *q)
{
	return &q->places[q->s.table.sets * SF_WAYS + 1];
}

/* The entry that a flow's packets count for in the emulation */
static struct place *emulated(struct lp_sched *q, struct place *p)
{
	return p->own ? p : new_flows(q);
}

static u32 buffer(const struct lp_sched *q)
{
	return q->s.link.room == SF_ROOM_UNKNOWN ? 512 << 10 : q->s.link.room;
}

static u32 fair(const struct lp_sched *q)
{
	return min_t(u32, FAIR, max_t(u32, buffer(q) / 2, YOUNG));
}

/* The emulation */
static u64 v_of(const struct lp_sched *q, const struct place *p)
{
	return q->clock[p->class].v;
}

static u64 has(const struct lp_sched *q, const struct place *p)
{
	u64 v = v_of(q, p);

	return p->tag > v ? p->tag - v : 0;
}

static void uncount(struct lp_sched *q, struct place *p)
{
	struct clock *c = &q->clock[p->class];

	if (p->on && (s32)(p->bucket - (u32)(c->v >> BS)) >= 0) {
		c->cal[p->bucket % CAL]--;
		c->n--;
	}
	p->on = false;
}

static void set_tag(struct lp_sched *q, struct place *p, u64 backlog)
{
	struct clock *c = &q->clock[p->class];

	uncount(q, p);
	backlog = min_t(u64, backlog, (u64)(CAL - 2) << BS);
	if (!backlog) {
		p->tag = min(p->tag, c->v);
		return;
	}
	p->tag = c->v + backlog;
	p->on = true;
	p->bucket = p->tag >> BS;
	c->cal[p->bucket % CAL]++;
	c->n++;
}

static void set_class(struct lp_sched *q, struct place *p, u8 class)
{
	u64 backlog = has(q, p), ago = v_of(q, p) - p->since;

	uncount(q, p);
	p->class = class;
	p->tag = 0;
	set_tag(q, p, backlog);
	p->since = v_of(q, p) - min(ago, v_of(q, p));
}

static void pass_to(struct clock *c, u64 v)
{
	u32 b, end = v >> BS;

	for (b = c->v >> BS; b != end && c->n; b++) {
		c->n -= c->cal[b % CAL];
		c->cal[b % CAL] = 0;
	}
	c->v = v;
}

static bool capped(const struct lp_sched *q)
{
	return CAP && q->clock[0].n && q->clock[1].n > q->clock[0].n;
}

/* By how many the link is divided for a flow of a class */
static u32 share(const struct lp_sched *q, u8 class)
{
	return capped(q) ? 2 * q->clock[class].n : q->clock[0].n + q->clock[1].n;
}

static void emulate(struct lp_sched *q, u32 len)
{
	struct clock *c = q->clock;
	u64 left = ((u64)len << VS) + q->carry, cost, u, end;
	u32 i, a[2];

	while (c[0].n + c[1].n) {
		a[0] = capped(q) ? c[1].n : 1;
		a[1] = capped(q) ? c[0].n : 1;
		cost = (u64)a[0] * c[0].n + (u64)a[1] * c[1].n;
		u = div64_u64(left, cost);
		if (!u)
			break;
		for (i = 0; i < 2; i++) {
			end = ((c[i].v >> BS) + 1) << BS;
			if (c[i].n)
				u = min(u, DIV_ROUND_UP_ULL(end - c[i].v, a[i]));
		}
		left -= u * cost;
		for (i = 0; i < 2; i++)
			if (c[i].n)
				pass_to(&c[i], c[i].v + u * a[i]);
	}
	q->carry = c[0].n + c[1].n ? left : 0;
	if (q->s.held)
		return;
	for (i = 0; i < 2; i++)
		while (c[i].n)
			pass_to(&c[i], ((c[i].v >> BS) + 1) << BS);
}

static void remember(struct lp_sched *q, u32 len)
{
	u32 step = max_t(u32, fair(q) / PAST * PATIENCE, 64), i, n = 0;

	for (i = 1; i < BULK; i++)
		n += q->waiting[i];
	q->crowded = n ? q->crowded + len : 0;
	for (q->step += len; q->step >= step; q->step -= step) {
		q->clock[0].then[q->pos] = q->clock[0].v;
		q->clock[1].then[q->pos] = q->clock[1].v;
		q->pos = (q->pos + 1) % PAST;
	}
}

/* What V was when the link had sent as much less as flows of a level may be late */
static u64 past(struct lp_sched *q, u32 level)
{
	const struct clock *c = &q->clock[level == BULK];
	u64 n = PAST - 1, most = (u64)fair(q) * PATIENCE * KAPPA;

	if (level < BULK)
		n = min_t(u64, n, div_u64((n << (LOW + level - 1)) * MID / PATIENCE, fair(q)));
	else if (KAPPA)
		n = div64_u64(n * (most - min(most, q->crowded)), most);
	return n ? c->then[(q->pos - n) % PAST] : c->v;
}

static void decay(struct lp_sched *q, struct place *p)
{
	u64 v = v_of(q, p) > p->since ? (v_of(q, p) - p->since) >> VS : 0;

	if (p->stood || (p->dropped && (u32)jiffies - p->held < HELD * HZ))
		v /= 2;
	else
		v = v * CALMDECAY / 2;
	p->attained -= min(p->attained, v);
	p->since = v_of(q, p);
	p->stood = false;
}

static u8 level_of(struct lp_sched *q, const struct sf_queue *queue)
{
	struct place *p = place_of(q, queue);

	if (sf_is_elsewhere(queue))
		return BULK;
	if (sf_cb(queue->head)->rank & 2)
		return 0;
	if (p->attained - min_t(u64, p->attained, queue->backlog) >= fair(q))
		return BULK;
	return 1 + min_t(u32, fls64((queue->backlog + p->attained / 4) >> LOW), BULK - 2);
}

/* When the emulation has sent its first packet */
static u64 head_tag(struct lp_sched *q, const struct sf_queue *queue)
{
	struct place *p = place_of(q, queue);
	u64 behind = (u64)(queue->backlog - qdisc_pkt_len(queue->head)) << VS;

	if (sf_is_elsewhere(queue))
		return U64_MAX;
	if (!p->own)
		return sf_cb(queue->head)->rank & ~3ULL;
	return p->tag - min(p->tag, behind);
}

static struct sf_heap_node due_node(struct lp_sched *q, struct sf_queue *queue)
{
	return (struct sf_heap_node) { head_tag(q, queue), sf_cb(queue->head)->arrival,
				       qn(q, queue) };
}

static void put(struct lp_sched *q, struct sf_queue *queue)
{
	struct place *p = place_of(q, queue);
	u8 level = level_of(q, queue), bulk;

	queue->group = level + 1;
	q->waiting[level]++;
	bulk = level == BULK;
	if (level && p->own && p->class != bulk)
		set_class(q, p, bulk);
	q->deficit[qn(q, queue)] = QUANT;
	sf_list_add(q->s.table.queues, &q->first[level], qn(q, queue));
	sf_heap_add(&q->due[level], due_node(q, queue));
}

static void take_out(struct lp_sched *q, struct sf_queue *queue)
{
	u8 level = queue->group - 1;

	q->waiting[level]--;
	sf_heap_remove(&q->due[level], qn(q, queue));
	sf_list_del(q->s.table.queues, &q->first[level], qn(q, queue));
	queue->group = 0;
}

static struct sf_heap_node drop_node(struct lp_sched *q, struct sf_queue *queue)
{
	u64 most = VICTIM ? has(q, place_of(q, queue)) : queue->backlog;

	if (VICTIM && !place_of(q, queue)->own)
		most = (u64)queue->backlog << VS;
	return (struct sf_heap_node) { U64_MAX - most, ~sf_cb(queue->tail)->arrival,
				       qn(q, queue) };
}

static void spare(struct lp_sched *q, const struct sk_buff *skb, s32 sign)
{
	if (sf_cb(skb)->rank & 1)
		q->s.spared += sign * (s32)qdisc_pkt_len(skb);
}

/* A queue with packets may belong elsewhere. */
static void replace(struct lp_sched *q, struct sf_queue *queue)
{
	sf_heap_move(&q->drop_candidates, drop_node(q, queue));
	if (level_of(q, queue) + 1 != queue->group) {
		take_out(q, queue);
		put(q, queue);
	} else {
		sf_heap_move(&q->due[queue->group - 1], due_node(q, queue));
	}
}

static void cut(struct lp_sched *q, struct place *p, u32 len)
{
	u64 backlog = has(q, p);

	set_tag(q, p, backlog - min(backlog, (u64)len << VS));
}

static bool lp_insert(struct Qdisc *sch, struct sk_buff *skb, struct sf_place *to)
{
	struct lp_sched *q = qdisc_priv(sch);
	struct sf_table *t = &q->s.table;
	struct sf_skb_cb *cb = sf_cb(skb);
	u32 i = SF_ELSEWHERE, len = qdisc_pkt_len(skb);
	struct sf_queue *queue;
	struct place *p, *e;
	bool sparse;

	cb->arrival = q->s.arrivals++;
	cb->truesize = skb->truesize;
	cb->flow = codel_get_time();
	if (to->flow) {
		i = to->flow->queue ?: sf_queue_take(t, to->flow);
		p = &q->places[to->flow - t->flows];
		if (!to->flow->attained) {	/* another flow has had this record */
			uncount(q, p);
			*p = (struct place) { .since = q->clock[0].v };
			codel_vars_init(&p->vars);
		}
		to->flow->attained = 1;
		WRITE_ONCE(to->flow->seen, (u32)jiffies);
	} else {
		sf_elsewhere_add(t, sf_table_set(t, to->hash));
		p = &q->places[t->sets * SF_WAYS];
		p->known = true;
	}
	queue = &t->queues[i];
	if (!queue->qlen)
		decay(q, p);
	if (!p->own) {
		p->total += len;
		if (!to->flow || (p->known && p->total > SHARED)) {
			p->own = true;
			cut(q, new_flows(q), queue->backlog);
			set_tag(q, p, (u64)queue->backlog << VS);
		}
	}
	e = emulated(q, p);
	sparse = !has(q, e) && !queue->qlen;
	if (!SPFREE || has(q, p) || !p->own)
		p->attained += len;
	set_tag(q, e, has(q, e) + ((u64)len << VS));
	cb->rank = to->flow ? e->tag & ~3ULL : (u64)sf_table_set(t, to->hash) << 1;
	if (to->flow && p->attained <= YOUNG)
		cb->rank |= 1;
	if (to->flow && sparse)
		cb->rank |= 2;
	spare(q, skb, 1);
	if (!p->known) {
		q->fresh += len;
		q->freshn += !queue->qlen;
	}
	sf_append(sch, queue, skb);
	if (q->s.held == 1)
		sf_link_restart(&q->s.link);
	if (queue->qlen == 1) {
		put(q, queue);
		sf_heap_add(&q->drop_candidates, drop_node(q, queue));
		return true;
	}
	replace(q, queue);
	return true;
}

/* A packet of it is gone. */
static void gone(struct lp_sched *q, struct sf_queue *queue)
{
	if (queue->qlen) {
		replace(q, queue);
		return;
	}
	sf_heap_remove(&q->drop_candidates, qn(q, queue));
	take_out(q, queue);
	if (place_of(q, queue)->stood)
		place_of(q, queue)->since = v_of(q, place_of(q, queue));
	if (!sf_is_elsewhere(queue))
		sf_queue_release(&q->s.table, queue);
}

static void uncount_elsewhere(struct lp_sched *q, struct sf_queue *queue, struct sk_buff *skb)
{
	if (sf_is_elsewhere(queue))
		sf_elsewhere_del(&q->s.table, sf_cb(skb)->rank >> 1);
	else
		spare(q, skb, -1);
}

static struct sk_buff *lp_take_victim(struct Qdisc *sch)
{
	struct lp_sched *q = qdisc_priv(sch);
	struct sf_queue *queue = &q->s.table.queues[q->drop_candidates.node[0].queue];
	struct place *p = place_of(q, queue);
	struct sk_buff *skb;
	u32 len;

	q->s.victim = queue->flow;
	sf_count_drop(&q->s);
	skb = sf_take_first(sch, queue);
	len = qdisc_pkt_len(skb);
	uncount_elsewhere(q, queue, skb);
	sf_sums_of(&q->s.table, queue->flow)->drops++;
	p->attained -= min_t(u64, p->attained, len);
	cut(q, emulated(q, p), len);
	if (!p->known) {
		q->fresh -= len;
		q->freshn -= !queue->qlen;
	}
	gone(q, queue);
	sf_set_drop_reason(skb, SF_DROP_OVERLIMIT);
	return skb;
}

static void lp_dropped(struct Qdisc *sch, const struct sf_place *to)
{
}

static const struct sf_kind lp_kind = {
	.insert		= lp_insert,
	.take_victim	= lp_take_victim,
	.dropped	= lp_dropped,
	.over		= sf_over_buffer,
};

static int lp_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct lp_sched *q = qdisc_priv(sch);
	struct sf_place to = {};
	u8 flags = sf_read(&q->s, skb, &to);
	struct sf_flow *f = sf_find(&q->s, &to);
	u32 now = jiffies;

	if ((!f || (!f->queue && !q->places[f - q->s.table.flows].known)) && q->s.held > 1 &&
	    q->s.link.room != SF_ROOM_UNKNOWN &&
	    (q->freshn >= NEWMAX ||
	     q->fresh + qdisc_pkt_len(skb) > max_t(u32, q->s.link.room / NEWPART, 16 << 10))) {
		q->s.drop_buffer++;
		sf_drop(skb, sch, to_free, SF_DROP_OVERLIMIT);
		return NET_XMIT_DROP;
	}
	sf_get(&q->s, f, now, &to);
	f = to.flow;
	if (f && flags & SF_TCP_SYN && !f->queue && now - f->seen >= HZ)
		sf_flow_forget(&q->s.table, f);
	return sf_enqueue(skb, sch, &to, to_free, &lp_kind);
}

static struct sk_buff *lp_codel_take(struct codel_vars *vars, void *ctx)
{
	struct Qdisc *sch = ctx;
	struct lp_sched *q = qdisc_priv(sch);
	struct sf_queue *queue = q->taking;
	struct place *p = place_of(q, queue);
	u32 now = codel_get_time();
	struct sk_buff *skb;
	u64 d;

	if (!queue->qlen)
		return NULL;
	skb = sf_take_first(sch, queue);
	uncount_elsewhere(q, queue, skb);
	if (now - (u32)sf_cb(skb)->flow > MS2TIME(CALM))
		p->stood = true;
	if (!p->known) {
		q->fresh -= queue->backlog + qdisc_pkt_len(skb);
		q->freshn--;
		p->known = true;
	}
	/* CoDel sees the sojourn time in the emulation. */
	if (vars && q->s.link.room != SF_ROOM_UNKNOWN) {
		d = has(q, p) >> VS;
		d = div_u64(d * max(share(q, p->class), 1U) * (MS2TIME(500) >> 4), buffer(q) >> 4);
		sf_cb(skb)->flow = now - min_t(u64, now - sf_cb(skb)->flow, d);
	}
	return skb;
}

static void lp_codel_drop(struct sk_buff *skb, void *ctx)
{
	struct Qdisc *sch = ctx;
	struct lp_sched *q = qdisc_priv(sch);

	cut(q, emulated(q, place_of(q, q->taking)), qdisc_pkt_len(skb));
	sf_sums_of(&q->s.table, q->taking->flow)->drops++;
	qdisc_qstats_drop(sch);
	qdisc_tree_reduce_backlog(sch, 1, qdisc_pkt_len(skb));
	sf_dequeue_drop(sch, skb, SF_DROP_CONGESTED);
}

static codel_time_t lp_codel_time(const struct sk_buff *skb)
{
	return sf_cb(skb)->flow;
}

static u32 next(struct lp_sched *q)
{
	struct sf_queue *queues = q->s.table.queues;
	u32 i, n, *first;

	for (i = BULK; i && !q->first[0]; i--)
		if (q->due[i].size && q->due[i].node[0].rank <= past(q, i))
			return q->due[i].node[0].queue;
	for (i = 0; !q->first[i]; i++)
		;
	first = &q->first[i];
	for (n = 0; n < 64 && q->deficit[*first] <= 0; n++) {
		q->deficit[*first] += QUANT;
		*first = queues[*first].listed.next;
	}
	return *first;
}

static struct sk_buff *lp_dequeue(struct Qdisc *sch)
{
	struct lp_sched *q = qdisc_priv(sch);
	struct sf_queue *found;
	struct sf_sums *sums;
	struct sk_buff *skb;
	struct place *p;
	u32 len;

	if (!q->s.held)
		return NULL;
	found = &q->s.table.queues[next(q)];
	q->taking = found;
	p = place_of(q, found);
	sums = sf_sums_of(&q->s.table, found->flow);
	if (found->group == LEVELS || (CODELSUM && sums->bytes >= fair(q))) {
		skb = codel_dequeue(sch, &found->backlog, &q->codel, &p->vars, &q->stats,
				    qdisc_pkt_len, lp_codel_time, lp_codel_drop, lp_codel_take);
		if (p->vars.dropping) {
			p->dropped = true;
			p->held = jiffies;
		}
	} else {
		skb = lp_codel_take(NULL, sch);
	}
	len = qdisc_pkt_len(skb);
	sf_sum_sent(sums, skb);
	q->deficit[qn(q, found)] -= len;
	gone(q, found);
	emulate(q, len);
	remember(q, len);
	sf_link_sent(&q->s.link, len);
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void lp_reset(struct Qdisc *sch)
{
	struct lp_sched *q = qdisc_priv(sch);
	u32 i, queues = sf_table_queues(q->s.table.sets * SF_WAYS);
	struct sf_queue *queue;

	for (i = SF_ELSEWHERE; q->s.held && i < queues; i++) {
		queue = &q->s.table.queues[i];
		if (!queue->qlen)
			continue;
		q->s.held -= queue->qlen;
		queue->qlen = 0;
		queue->backlog = 0;
		rtnl_kfree_skbs(queue->head, queue->tail);
		gone(q, queue);
	}
	q->s.spared = 0;
	q->fresh = 0;
	q->freshn = 0;
	q->s.memory = 0;
	sf_table_clear(&q->s.table);
}

static int lp_init(struct Qdisc *sch, struct nlattr *nla, struct netlink_ext_ack *extack)
{
	struct lp_sched *q = qdisc_priv(sch);
	u32 flows = 4096, queues = sf_table_queues(flows), i;
	int err;

	sch->flags |= SF_DEQUEUE_DROPS;
	sf_begin(sch);
	codel_params_init(&q->codel);
	codel_stats_init(&q->stats);
	q->codel.ecn = true;
	q->codel.mtu = psched_mtu(qdisc_dev(sch));
	q->s.limit = 10000;
	q->s.memory_limit = 32 << 20;
	q->s.table.idle = 60 * HZ;
	q->s.split_from = 0;
	sf_link_begin(&q->s.link, 64 << 10);
	sf_link_set(&q->s.link, U64_MAX, HZ / 2);
	q->places = kvcalloc(flows + 2, sizeof(*q->places), GFP_KERNEL);
	q->deficit = kvcalloc(queues, sizeof(*q->deficit), GFP_KERNEL);
	if (!q->places || !q->deficit)
		return -ENOMEM;
	for (i = 0; i < 2; i++) {
		q->clock[i].cal = kvcalloc(CAL, sizeof(u32), GFP_KERNEL);
		if (!q->clock[i].cal)
			return -ENOMEM;
	}
	for (i = 0; i < LEVELS; i++) {
		err = sf_heap_init(&q->due[i], queues);
		if (err)
			return err;
	}
	err = sf_table_init(&q->s.table, flows, queues);
	return err ?: sf_heap_init(&q->drop_candidates, queues);
}

static void lp_destroy(struct Qdisc *sch)
{
	struct lp_sched *q = qdisc_priv(sch);
	u32 i;

	sf_end(&q->s);
	sf_table_free(&q->s.table);
	sf_heap_free(&q->drop_candidates);
	for (i = 0; i < LEVELS; i++)
		sf_heap_free(&q->due[i]);
	kvfree(q->clock[0].cal);
	kvfree(q->clock[1].cal);
	kvfree(q->places);
	kvfree(q->deficit);
}

static struct Qdisc_ops lp_qdisc_ops __read_mostly = {
	.id		=	SF_KIND,
	.priv_size	=	sizeof(struct lp_sched),
	.enqueue	=	lp_enqueue,
	.dequeue	=	lp_dequeue,
	.peek		=	qdisc_peek_dequeued,
	.init		=	lp_init,
	.reset		=	lp_reset,
	.destroy	=	lp_destroy,
	.owner		=	THIS_MODULE,
};
MODULE_ALIAS_NET_SCH(SF_KIND);

static int __init lp_module_init(void)
{
	return register_qdisc(&lp_qdisc_ops);
}

static void __exit lp_module_exit(void)
{
	unregister_qdisc(&lp_qdisc_ops);
}

module_init(lp_module_init)
module_exit(lp_module_exit)
MODULE_AUTHOR("shortfirst contributors");
MODULE_DESCRIPTION("sketch");
MODULE_LICENSE("GPL");
