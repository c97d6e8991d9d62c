// SPDX-License-Identifier: GPL-2.0
/*
 * sch_lq - a sketch of the next policy of las: docs/design.md says what it does and how it fares
 *
 * Every packet has a deadline, and the earliest one is sent. It is when fair queueing would have
 * sent the last packet that its flow has waiting, and later by half of what the flow has attained,
 * at most by LATE. It has no options, statistics, hosts or changes; it is there to be compared with
 * others in experiments that give none:
 *
 *	cp -r lab/sketches/sch_lq .
 *	make scoreboard QDISCS="lq=lq" ONLY=d1-long,impolite,stream,many
 *
 * A variant is a folder sch_NAME with a sch_NAME.c that defines SF_KIND as "NAME", and some of the
 * constants below, and includes ../sch_lq/sch_lq.c.
 */
#ifndef SF_KIND
#define SF_KIND "lq"
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

#ifndef LATE
#define LATE	12	/* times `buffer`: no deadline is later than in fair queueing by more */
#endif
#ifndef SLACK
#define SLACK	2	/* quarters of what a flow has attained, by which it is due later */
#endif
#ifndef LONG_FLOW
#define LONG_FLOW (1024 << 10)	/* bytes attained: as late as LATE, as all such flows */
#endif
#ifndef SHARED
#define SHARED	4096	/* bytes: flows that have sent less are one in the emulation */
#endif
#ifndef CALM
#define CALM	20	/* ms: no packet of a stream waits for longer */
#endif
#ifndef AGE
#define AGE	8	/* epochs with packets and without a longer wait: a stream */
#endif
#ifndef NEW_MOST
#define NEW_MOST 256	/* most new flows with packets: nothing was sent of them yet */
#endif
#define NEW_PART 4	/* new flows may fill a quarter of the buffer */
#define CODEL_FROM (256 << 10)	/* bytes sent: CoDel looks after a flow from then on */
#define YOUNG	(16 << 10)	/* bytes of a flow that do not count against the buffer */
#define LITTLE	64	/* a 64th of the link is next to nothing */
#define VS	8	/* V is in bytes << VS */
#define BS	(VS + 8)	/* V >> BS is its bucket of the calendar: 256 bytes each */
#define BUCKETS	8192

/* Values of sf_queue.group */
enum { UNUSED, FIRST, SHORT, LONG, CLASSES };

/* Bits of a packet's rank, below the tag of the emulation */
#define IS_YOUNG	1
#define IS_FIRST	2
#define IS_OUTSIDE	4	/* not in the emulation */
#define BITS		7ULL

/* A flow in the emulation, or all new ones */
struct place {
	u64	tag;		/* V when its last packet is sent there */
	u64	attained;	/* bytes */
	u64	since;		/* V when it had packets last */
	u32	bucket;		/* of its tag, if it is counted */
	u32	used;		/* bytes that went first as a stream's in this epoch */
	u16	epoch;		/* when it sent something last, in eighths of a second */
	u16	used_in;	/* the epoch of `used` */
	u16	calm;		/* epochs in which it has sent since a packet waited for CALM */
	bool	counted;	/* in the calendar */
	bool	known;		/* something of it was sent */
	bool	own;		/* it is a flow of its own in the emulation */
	u32	total;		/* bytes that have come until it is one */
	struct codel_vars vars;
};

struct lq_sched {
	struct sf_sched	s;
	struct Qdisc	*sch;
	u32	spared;		/* bytes of young flows, which come on top of `buffer` */
	u64	v;		/* bytes that each flow was sent in the emulation, << VS */
	u64	carry;		/* bytes sent that V could not be divided by, << VS */
	u32	n;		/* flows that have something in it */
	u32	*calendar;	/* by bucket: how many end there */
	s64	spare;		/* bytes that streams may send first */
	u32	new_bytes;	/* bytes of new flows in the queues */
	u32	new_flows;	/* new flows with packets */
	struct place *places;	/* by record, one for the overflow queue, one for all new flows */
	struct sf_heap waiting[CLASSES];	/* by class, the next to send first */
	struct sf_heap drop_candidates;	/* the next to lose a packet first */
	struct sf_queue *taking;
	struct codel_params codel;
	struct codel_stats stats;
};

static u32 number(const struct lq_sched *q, const struct sf_queue *queue)
{
	return queue - q->s.table.queues;
}

static struct place *place_of(const struct lq_sched *q, const struct sf_queue *queue)
{
	return &q->places[min(queue->flow, q->s.table.sets * SF_WAYS)];
}

static struct place *new_flows(const struct lq_sched *q)
{
	return &q->places[q->s.table.sets * SF_WAYS + 1];
}

/* The entry that a flow's packets count for in the emulation */
static struct place *emulated(const struct lq_sched *q, struct place *p)
{
	return p->own ? p : new_flows(q);
}

static u32 buffer(const struct lq_sched *q)
{
	return q->s.link.room == SF_ROOM_UNKNOWN ? 512 << 10 : q->s.link.room;
}

/* What the emulation has of a flow, bytes << VS */
static u64 backlog_of(const struct lq_sched *q, const struct place *p)
{
	return p->tag > q->v ? p->tag - q->v : 0;
}

static void uncount(struct lq_sched *q, struct place *p)
{
	if (p->counted && (s32)(p->bucket - (u32)(q->v >> BS)) >= 0) {
		q->calendar[p->bucket % BUCKETS]--;
		q->n--;
	}
	p->counted = false;
}

static void set_backlog(struct lq_sched *q, struct place *p, u64 backlog)
{
	uncount(q, p);
	backlog = min_t(u64, backlog, (u64)(BUCKETS - 2) << BS);
	if (!backlog) {
		p->tag = min(p->tag, q->v);
		return;
	}
	p->tag = q->v + backlog;
	p->counted = true;
	p->bucket = p->tag >> BS;
	q->calendar[p->bucket % BUCKETS]++;
	q->n++;
}

static void cut(struct lq_sched *q, struct place *p, u32 len)
{
	u64 backlog = backlog_of(q, p);

	set_backlog(q, p, backlog - min(backlog, (u64)len << VS));
}

static void pass_to(struct lq_sched *q, u64 v)
{
	u32 bucket, end = v >> BS;

	for (bucket = q->v >> BS; bucket != end && q->n; bucket++) {
		q->n -= q->calendar[bucket % BUCKETS];
		q->calendar[bucket % BUCKETS] = 0;
	}
	q->v = v;
}

/* The link has sent @len bytes; if nothing is left here, nothing is left there. */
static void emulate(struct lq_sched *q, u32 len)
{
	u64 left = ((u64)len << VS) + q->carry, step;

	while (q->n) {
		step = div_u64(left, q->n);
		if (!step)
			break;
		step = min(step, (((q->v >> BS) + 1) << BS) - q->v);
		left -= step * q->n;
		pass_to(q, q->v + step);
	}
	q->carry = q->n ? left : 0;
	while (!q->s.held && q->n)
		pass_to(q, ((q->v >> BS) + 1) << BS);
}

/* How much later than in the emulation a packet may be, in V's units: less if the buffer is full */
static u64 late(const struct lq_sched *q)
{
	u32 room = buffer(q), left = room - min(room, q->sch->qstats.backlog);

	return ((u64)LATE * min(room, left + left / 2) / max(q->n, 1U)) << VS;
}

static u16 epoch_now(void)
{
	return (u32)jiffies / (HZ / 8);
}

/* CoDel looks after a flow that has sent more, and a stream has attained less. */
static u32 codel_from(const struct lq_sched *q)
{
	return min_t(u32, CODEL_FROM, buffer(q) / 2);
}

static bool is_outside(const struct sf_queue *queue, const struct sk_buff *skb)
{
	return sf_cb(skb)->rank & IS_OUTSIDE && !sf_is_elsewhere(queue);
}

/*
 * May a packet of a stream go first? Streams together send no more than all other flows. A stream
 * that sends less than 1/LITTLE of the link may send even if the others have used that up.
 */
static bool may_go_first(struct lq_sched *q, struct place *p, u32 len)
{
	u32 each = buffer(q) / 4;	/* in an epoch */

	if (p->calm < AGE || p->attained >= codel_from(q))
		return false;
	if (p->used_in != epoch_now())
		p->used = 0;
	p->used_in = epoch_now();
	if (q->spare < (s64)len - (p->used + len <= each / LITTLE ? each : 0))
		return false;
	p->used += len;
	q->spare -= len;
	return true;
}

/* What a flow has attained decays by half a fair share while it has no packets. */
static void decay(struct lq_sched *q, struct place *p)
{
	p->attained -= min(p->attained, (q->v - p->since) >> (VS + 1));
}

static u8 class_of(const struct lq_sched *q, const struct sf_queue *queue)
{
	const struct place *p = place_of(q, queue);

	if (sf_is_elsewhere(queue))
		return LONG;
	if (sf_cb(queue->head)->rank & IS_FIRST)
		return FIRST;
	return p->attained - min_t(u64, p->attained, queue->backlog) >= LONG_FLOW ? LONG : SHORT;
}

/* V when the emulation has sent the first packet of a queue */
static u64 head_tag(const struct lq_sched *q, const struct sf_queue *queue)
{
	const struct place *p = place_of(q, queue);
	u64 behind = (u64)(queue->backlog - qdisc_pkt_len(queue->head)) << VS;

	if (sf_is_elsewhere(queue))
		return U64_MAX / 2;
	return p->own ? p->tag - min(p->tag, behind) : sf_cb(queue->head)->rank & ~BITS;
}

/* The deadline; of long flows without what they may be late, which is the same for all of them */
static u64 deadline(const struct lq_sched *q, const struct sf_queue *queue)
{
	const struct place *p = place_of(q, queue);
	u64 head = head_tag(q, queue), slack = (p->attained * SLACK / 4) << VS;

	if (queue->group != SHORT)
		return queue->group == FIRST ? sf_cb(queue->head)->rank : head;
	return min((p->own ? p->tag : head) + slack, head + late(q));
}

static struct sf_heap_node node(const struct lq_sched *q, const struct sf_queue *queue)
{
	return (struct sf_heap_node) { deadline(q, queue), sf_cb(queue->head)->arrival,
				       number(q, queue) };
}

/* The latest deadline loses a packet; flows that have attained at most YOUNG come last. */
static struct sf_heap_node drop_node(const struct lq_sched *q, const struct sf_queue *queue)
{
	u64 most = deadline(q, queue) + (queue->group == LONG ? late(q) : 0);

	if (!sf_is_elsewhere(queue) && place_of(q, queue)->attained <= YOUNG)
		most >>= 16;
	return (struct sf_heap_node) { U64_MAX - most, ~sf_cb(queue->tail)->arrival,
				       number(q, queue) };
}

/* A queue has packets, and has got or lost one. */
static void sort(struct lq_sched *q, struct sf_queue *queue)
{
	u8 class = class_of(q, queue), was = queue->group;

	queue->group = class;
	if (was == class) {
		sf_heap_move(&q->waiting[class], node(q, queue));
	} else {
		if (was)
			sf_heap_remove(&q->waiting[was], number(q, queue));
		sf_heap_add(&q->waiting[class], node(q, queue));
	}
	if (was)
		sf_heap_move(&q->drop_candidates, drop_node(q, queue));
	else
		sf_heap_add(&q->drop_candidates, drop_node(q, queue));
}

static void spare(struct lq_sched *q, const struct sk_buff *skb, s32 sign)
{
	if (sf_cb(skb)->rank & IS_YOUNG)
		q->spared += sign * (s32)qdisc_pkt_len(skb);
}

/* What is known of a packet's flow, nothing if the record was another flow's; its @queue */
static struct place *arrives(struct lq_sched *q, const struct sf_place *to, u32 *queue)
{
	struct sf_table *t = &q->s.table;
	struct place *p;

	if (!to->flow) {
		sf_elsewhere_add(t, sf_table_set(t, to->hash));
		p = &q->places[t->sets * SF_WAYS];
		p->known = true;
		*queue = SF_ELSEWHERE;
		return p;
	}
	*queue = to->flow->queue ?: sf_queue_take(t, to->flow);
	p = &q->places[to->flow - t->flows];
	if (!to->flow->attained) {	/* another flow has had this record */
		uncount(q, p);
		*p = (struct place) { .since = q->v };
		codel_vars_init(&p->vars);
	}
	to->flow->attained = 1;
	WRITE_ONCE(to->flow->seen, (u32)jiffies);
	return p;
}

/* A flow has sent enough to be one of its own in the emulation. */
static void own(struct lq_sched *q, struct place *p, u32 backlog)
{
	p->own = true;
	cut(q, new_flows(q), backlog);
	set_backlog(q, p, (u64)backlog << VS);
}

/* A flow that waits for longer than CALM in the emulation is no stream. */
static void note_wait(struct lq_sched *q, struct place *p)
{
	u64 backlog = backlog_of(q, emulated(q, p)) >> VS;

	if (q->s.link.room != SF_ROOM_UNKNOWN && backlog * q->n * (500 / CALM) > buffer(q))
		p->calm = 0;
}

static bool lq_insert(struct Qdisc *sch, struct sk_buff *skb, struct sf_place *to)
{
	struct lq_sched *q = qdisc_priv(sch);
	struct sf_skb_cb *cb = sf_cb(skb);
	u32 i, len = qdisc_pkt_len(skb);
	struct place *p = arrives(q, to, &i), *e;
	struct sf_queue *queue = &q->s.table.queues[i];
	u64 backlog;

	cb->arrival = q->s.arrivals++;
	cb->truesize = skb->truesize;
	cb->flow = codel_get_time();
	if (!queue->qlen)
		decay(q, p);
	p->total += p->own ? 0 : len;
	if (!p->own && (!to->flow || (p->known && p->total > SHARED)))
		own(q, p, queue->backlog);
	e = emulated(q, p);
	backlog = backlog_of(q, e);
	note_wait(q, p);
	if (to->flow && p->own && (!queue->qlen || sf_cb(queue->tail)->rank & IS_FIRST) &&
	    may_go_first(q, p, len)) {
		cb->rank = ((q->v + ((u64)len << VS)) & ~BITS) | IS_FIRST | IS_OUTSIDE;
	} else {
		/* A packet is within its flow's share if the emulation has none of that flow. */
		p->attained += backlog || !p->own ? len : 0;
		set_backlog(q, e, backlog + ((u64)len << VS));
		cb->rank = (e->tag & ~BITS) | (p->attained <= YOUNG ? IS_YOUNG : 0);
		cb->rank |= backlog || queue->qlen ? 0 : IS_FIRST;
		if (!to->flow)
			cb->rank = (u64)sf_table_set(&q->s.table, to->hash) << 3;
	}
	spare(q, skb, 1);
	if (!p->known) {
		q->new_bytes += len;
		q->new_flows += !queue->qlen;
	}
	sf_append(sch, queue, skb);
	if (q->s.held == 1)
		sf_link_restart(&q->s.link);
	sort(q, queue);
	return true;
}

/* @skb, the first packet of a queue, has left it. */
static void gone(struct lq_sched *q, struct sf_queue *queue, const struct sk_buff *skb)
{
	if (sf_is_elsewhere(queue))
		sf_elsewhere_del(&q->s.table, sf_cb(skb)->rank >> 3);
	spare(q, skb, -1);
	if (!place_of(q, queue)->known) {
		q->new_bytes -= qdisc_pkt_len(skb);
		q->new_flows -= !queue->qlen;
	}
}

/* A packet has left the queue: sort it again, or release it if it is empty. */
static void left(struct lq_sched *q, struct sf_queue *queue)
{
	if (queue->qlen) {
		sort(q, queue);
		return;
	}
	sf_heap_remove(&q->drop_candidates, number(q, queue));
	sf_heap_remove(&q->waiting[queue->group], number(q, queue));
	queue->group = UNUSED;
	place_of(q, queue)->since = q->v;
	if (!sf_is_elsewhere(queue))
		sf_queue_release(&q->s.table, queue);
}

/* A packet is dropped: the emulation does not have it either. */
static void lost(struct lq_sched *q, struct sf_queue *queue, const struct sk_buff *skb)
{
	struct place *p = place_of(q, queue);

	sf_sums_of(&q->s.table, queue->flow)->drops++;
	if (!is_outside(queue, skb))
		cut(q, emulated(q, p), qdisc_pkt_len(skb));
}

static struct sk_buff *lq_take_victim(struct Qdisc *sch)
{
	struct lq_sched *q = qdisc_priv(sch);
	struct sf_queue *queue = &q->s.table.queues[q->drop_candidates.node[0].queue];
	struct place *p = place_of(q, queue);
	struct sk_buff *skb;

	q->s.victim = queue->flow;
	sf_count_drop(&q->s);
	skb = sf_take_first(sch, queue);
	gone(q, queue, skb);
	lost(q, queue, skb);
	p->attained -= min_t(u64, p->attained, qdisc_pkt_len(skb));
	left(q, queue);
	sf_set_drop_reason(skb, SF_DROP_OVERLIMIT);
	return skb;
}

static void lq_dropped(struct Qdisc *sch, const struct sf_place *to)
{
}

static bool over(struct Qdisc *sch, unsigned int gone)
{
	const struct lq_sched *q = qdisc_priv(sch);
	u32 room = q->s.link.room;

	return sf_over_buffer(sch, gone) &&
	       sch->qstats.backlog - room > min3(q->spared, room / 2, 4U << 20);
}

static const struct sf_kind lq_kind = {
	.insert		= lq_insert,
	.take_victim	= lq_take_victim,
	.dropped	= lq_dropped,
	.over		= over,
};

static bool no_room_for_new(const struct lq_sched *q, u32 len)
{
	u32 most = max_t(u32, q->s.link.room / NEW_PART, YOUNG);

	return q->s.held > 1 && q->s.link.room != SF_ROOM_UNKNOWN &&
	       (q->new_flows >= NEW_MOST || q->new_bytes + len > most);
}

static int lq_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct lq_sched *q = qdisc_priv(sch);
	struct sf_place to = {};
	u8 flags = sf_read(&q->s, skb, &to);
	struct sf_flow *f = sf_find(&q->s, &to);
	u32 now = jiffies;

	if ((!f || (!f->queue && !q->places[f - q->s.table.flows].known)) &&
	    no_room_for_new(q, qdisc_pkt_len(skb))) {
		q->s.drop_buffer++;
		sf_drop(skb, sch, to_free, SF_DROP_OVERLIMIT);
		return NET_XMIT_DROP;
	}
	sf_get(&q->s, f, now, &to);
	f = to.flow;
	if (f && flags & SF_TCP_SYN && !f->queue && now - f->seen >= HZ)
		sf_flow_forget(&q->s.table, f);
	return sf_enqueue(skb, sch, &to, to_free, &lq_kind);
}

static struct sk_buff *lq_codel_take(struct codel_vars *vars, void *ctx)
{
	struct Qdisc *sch = ctx;
	struct lq_sched *q = qdisc_priv(sch);
	struct sf_queue *queue = q->taking;
	struct place *p = place_of(q, queue);
	u32 now = codel_get_time();
	struct sk_buff *skb;
	u64 wait;

	if (!queue->qlen)
		return NULL;
	skb = sf_take_first(sch, queue);
	gone(q, queue, skb);
	if (!p->known && queue->qlen) {
		q->new_bytes -= queue->backlog;
		q->new_flows--;
	}
	p->known = true;
	if (now - (u32)sf_cb(skb)->flow > MS2TIME(CALM) || p->vars.dropping)
		p->calm = 0;
	else if (p->epoch != epoch_now() && p->calm < AGE)
		p->calm++;
	p->epoch = epoch_now();
	/* CoDel sees the sojourn time in the emulation. */
	if (vars && q->s.link.room != SF_ROOM_UNKNOWN) {
		wait = (backlog_of(q, p) >> VS) * max(q->n, 1U) * (MS2TIME(500) >> 4);
		wait = div_u64(wait, buffer(q) >> 4);
		sf_cb(skb)->flow = now - min_t(u64, now - sf_cb(skb)->flow, wait);
	}
	return skb;
}

static void lq_codel_drop(struct sk_buff *skb, void *ctx)
{
	struct Qdisc *sch = ctx;
	struct lq_sched *q = qdisc_priv(sch);

	lost(q, q->taking, skb);
	qdisc_qstats_drop(sch);
	qdisc_tree_reduce_backlog(sch, 1, qdisc_pkt_len(skb));
	sf_dequeue_drop(sch, skb, SF_DROP_CONGESTED);
}

static codel_time_t lq_codel_time(const struct sk_buff *skb)
{
	return sf_cb(skb)->flow;
}

static u32 next(const struct lq_sched *q)
{
	const struct sf_heap *first = &q->waiting[FIRST], *shorts = &q->waiting[SHORT];
	const struct sf_heap *longs = &q->waiting[LONG];

	if (first->size)
		return first->node[0].queue;
	if (!longs->size ||
	    (shorts->size && shorts->node[0].rank <= longs->node[0].rank + late(q)))
		return shorts->node[0].queue;
	return longs->node[0].queue;
}

static struct sk_buff *lq_dequeue(struct Qdisc *sch)
{
	struct lq_sched *q = qdisc_priv(sch);
	struct sf_queue *queue;
	struct sf_sums *sums;
	struct sk_buff *skb;
	struct place *p;
	bool outside;
	u32 len;

	if (!q->s.held)
		return NULL;
	queue = &q->s.table.queues[next(q)];
	q->taking = queue;
	p = place_of(q, queue);
	sums = sf_sums_of(&q->s.table, queue->flow);
	if (queue->group == LONG || sums->bytes >= codel_from(q))
		skb = codel_dequeue(sch, &queue->backlog, &q->codel, &p->vars, &q->stats,
				    qdisc_pkt_len, lq_codel_time, lq_codel_drop, lq_codel_take);
	else
		skb = lq_codel_take(NULL, sch);
	len = qdisc_pkt_len(skb);
	sf_sum_sent(sums, skb);
	outside = is_outside(queue, skb);
	if (!outside)
		q->spare = min_t(s64, q->spare + len, buffer(q) / 4);
	left(q, queue);
	emulate(q, outside ? 0 : len);
	sf_link_sent(&q->s.link, len);
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void lq_reset(struct Qdisc *sch)
{
	struct lq_sched *q = qdisc_priv(sch);
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
		left(q, queue);
	}
	q->spared = 0;
	q->new_bytes = 0;
	q->new_flows = 0;
	q->s.memory = 0;
	sf_table_clear(&q->s.table);
}

static int lq_init(struct Qdisc *sch, struct nlattr *nla, struct netlink_ext_ack *extack)
{
	struct lq_sched *q = qdisc_priv(sch);
	u32 flows = 4096, queues = sf_table_queues(flows), i;
	int err;

	sch->flags |= SF_DEQUEUE_DROPS;
	sf_begin(sch);
	q->sch = sch;
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
	q->calendar = kvcalloc(BUCKETS, sizeof(*q->calendar), GFP_KERNEL);
	if (!q->places || !q->calendar)
		return -ENOMEM;
	for (i = FIRST; i < CLASSES; i++) {
		err = sf_heap_init(&q->waiting[i], queues);
		if (err)
			return err;
	}
	err = sf_table_init(&q->s.table, flows, queues);
	return err ?: sf_heap_init(&q->drop_candidates, queues);
}

static void lq_destroy(struct Qdisc *sch)
{
	struct lq_sched *q = qdisc_priv(sch);
	u32 i;

	sf_end(&q->s);
	sf_table_free(&q->s.table);
	sf_heap_free(&q->drop_candidates);
	for (i = FIRST; i < CLASSES; i++)
		sf_heap_free(&q->waiting[i]);
	kvfree(q->calendar);
	kvfree(q->places);
}

static struct Qdisc_ops lq_qdisc_ops __read_mostly = {
	.id		=	SF_KIND,
	.priv_size	=	sizeof(struct lq_sched),
	.enqueue	=	lq_enqueue,
	.dequeue	=	lq_dequeue,
	.peek		=	qdisc_peek_dequeued,
	.init		=	lq_init,
	.reset		=	lq_reset,
	.destroy	=	lq_destroy,
	.owner		=	THIS_MODULE,
};
MODULE_ALIAS_NET_SCH(SF_KIND);

static int __init lq_module_init(void)
{
	return register_qdisc(&lq_qdisc_ops);
}

static void __exit lq_module_exit(void)
{
	unregister_qdisc(&lq_qdisc_ops);
}

module_init(lq_module_init)
module_exit(lq_module_exit)
MODULE_AUTHOR("shortfirst contributors");
MODULE_DESCRIPTION("sketch");
MODULE_LICENSE("GPL");
