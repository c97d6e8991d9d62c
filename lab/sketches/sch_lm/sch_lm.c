// SPDX-License-Identifier: GPL-2.0
/*
 * A sketch of the next policy of las and sqf: docs/design.md says how it fares.
 *
 * Fair queueing is emulated. A packet's deadline is when the emulation would have sent the last
 * packet that its flow has waiting, and later by half of what the flow has attained. It is not
 * later than when the emulation would have sent the packet itself by more than the patience of the
 * queue, divided among the flows in the emulation. The packet with the earliest deadline is sent.
 *
 *	first	flow A: [ ]  flow B: [ ]		within their share: at once
 *	short	flow C: [ ][ ]   flow D: [ ][ ][ ]	by deadline
 *	bulk	flow E: [ ][ ]...[ ]			by deadline: as late as allowed
 *	drop	E, D, C					the latest deadline of a last packet
 *
 * The emulation:
 *
 *	V:	what a flow has been sent so far, if it always had something
 *	finish:	V at which a flow's last packet is sent
 *	ends:	| 3 |   | 1 |   |   | 2 |	the sum of the weights of the flows that
 *		  ^ V		  ^ finish	finish there, for each 1 kB of V
 *
 * The sketch has no options, hosts or changes; it is there to be compared with others:
 *
 *	cp -r lab/sketches/sch_lm . &&
 *	make scoreboard QDISCS="lm=lm" ONLY=d1-long,impolite,stream,many
 *
 * A variant is a copy in a folder sch_NAME, as sch_NAME.c, with another SF_KIND.
 */
#define SF_KIND "lm"

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <net/codel.h>
#include <net/codel_impl.h>
#include <shortfirst/compat.h>
#include <shortfirst/flow_heap.h>
#include <shortfirst/sched.h>

#define SF_V_SHIFT	8		/* V is in bytes << SF_V_SHIFT */
#define SF_ENDS_SHIFT	(SF_V_SHIFT + 10)
#define SF_ENDS		32768
#define SF_WEIGHT_SHIFT	12
#define SF_WEIGHT	BIT(SF_WEIGHT_SHIFT)	/* full weight */

struct sf_emulation {
	u64	v;
	u64	left;		/* bytes << SF_V_SHIFT + SF_WEIGHT_SHIFT not yet divided */
	u32	weight;		/* the sum of those that have something */
	u32	*ends;
};

/* A flow there */
struct sf_emulated {
	u64	finish;
	u32	end;		/* its entry of `ends`, not wrapped */
	u32	weight;
	bool	counted;	/* in `ends` and the sum */
};

/* How much V grows while a flow of a weight is sent @bytes */
static __always_inline u64 sf_in_v(u64 bytes, u32 weight)
{
	if (likely(weight == SF_WEIGHT))
		return bytes << SF_V_SHIFT;
	return div_u64(bytes << (SF_V_SHIFT + SF_WEIGHT_SHIFT), weight);
}

/* The opposite, in bytes << SF_V_SHIFT */
static __always_inline u64 sf_of_v(u64 v, u32 weight)
{
	return mul_u64_u32_shr(v, weight, SF_WEIGHT_SHIFT);
}

/* What the emulation has of a flow, in V */
static __always_inline u64 sf_emulated_v(const struct sf_emulation *em,
					 const struct sf_emulated *e)
{
	return e->finish > em->v ? e->finish - em->v : 0;
}

static __always_inline void sf_emulation_forget(struct sf_emulation *em, struct sf_emulated *e)
{
	if (e->counted && (s32)(e->end - (u32)(em->v >> SF_ENDS_SHIFT)) >= 0) {
		em->ends[e->end % SF_ENDS] -= e->weight;
		em->weight -= e->weight;
	}
	e->counted = false;
}

/* It has that much of a flow now: @bytes << SF_V_SHIFT. */
static inline void sf_emulation_set(struct sf_emulation *em, struct sf_emulated *e, u64 bytes,
				    u32 weight)
{
	u64 v = weight == SF_WEIGHT ? bytes : div_u64(bytes << SF_WEIGHT_SHIFT, weight);

	sf_emulation_forget(em, e);
	v = min_t(u64, v, (u64)(SF_ENDS - 2) << SF_ENDS_SHIFT);
	if (!v) {
		e->finish = min(e->finish, em->v);
		return;
	}
	e->finish = em->v + v;
	e->weight = weight;
	e->counted = true;
	e->end = e->finish >> SF_ENDS_SHIFT;
	em->ends[e->end % SF_ENDS] += weight;
	em->weight += weight;
}

/* Bytes << SF_V_SHIFT that it has of a flow */
static __always_inline u64 sf_emulation_has(const struct sf_emulation *em,
					    const struct sf_emulated *e)
{
	return sf_of_v(sf_emulated_v(em, e), e->weight ?: SF_WEIGHT);
}

/* @len bytes of a flow are not there any more: they were dropped. */
static inline void sf_emulation_cut(struct sf_emulation *em, struct sf_emulated *e, u32 len)
{
	u64 has = sf_emulation_has(em, e);

	sf_emulation_set(em, e, has - min(has, (u64)len << SF_V_SHIFT), e->weight ?: SF_WEIGHT);
}

static inline void sf_emulation_pass(struct sf_emulation *em, u64 v)
{
	u32 i, end = v >> SF_ENDS_SHIFT;

	for (i = em->v >> SF_ENDS_SHIFT; i != end && em->weight; i++) {
		em->weight -= em->ends[i % SF_ENDS];
		em->ends[i % SF_ENDS] = 0;
	}
	em->v = v;
}

/* The link has sent @len bytes; if it has nothing more, the emulation has not, either. */
static inline void sf_emulation_sent(struct sf_emulation *em, u32 len, bool more)
{
	u64 step;

	em->left += (u64)len << (SF_V_SHIFT + SF_WEIGHT_SHIFT);
	while (em->weight) {
		step = div_u64(em->left, em->weight);
		if (!step)
			break;
		step = min(step, (((em->v >> SF_ENDS_SHIFT) + 1) << SF_ENDS_SHIFT) - em->v);
		em->left -= step * em->weight;
		sf_emulation_pass(em, em->v + step);
	}
	while (!more && em->weight)
		sf_emulation_pass(em, ((em->v >> SF_ENDS_SHIFT) + 1) << SF_ENDS_SHIFT);
	if (!em->weight)
		em->left = 0;
}

/* 0 or -ENOMEM */
static inline int sf_emulation_init(struct sf_emulation *em)
{
	em->ends = kvcalloc(SF_ENDS, sizeof(*em->ends), SF_GFP_TABLE);
	return em->ends ? 0 : -ENOMEM;
}

static inline void sf_emulation_free(struct sf_emulation *em)
{
	kvfree(em->ends);
}

#define SF_ROOM_MIN	(64 << 10)	/* bytes that may wait on the slowest link */
#define SF_ROOM_GUESS	(512 << 10)	/* the same before the rate is known */

/* The patience, in times of what may wait. While bulk flows wait, half of what others send goes. */
#define SF_PATIENCE	24
#define SF_WEAR		2

#define SF_BULK		BIT(20)		/* bytes attained: a bulk flow */
#define SF_AQM_FROM	(256 << 10)	/* bytes sent: CoDel looks after a flow from then on */
#define SF_YOUNG	(16 << 10)	/* bytes attained that do not count against `buffer` */
#define SF_OWN_FROM	4096		/* bytes: flows of two hosts that sent less are one */
#define SF_NEW_FLOWS	256		/* new flows that may wait, */
#define SF_NEW_PART	4		/* and such a part of what may wait: */
#define SF_PAIRS	64		/* beyond it those of a pair of hosts a part of that */
#define SF_PAIR_MOST	(4 * SF_BULK)	/* bytes that such a pair may have attained */
#define SF_NEW_SHARE	4		/* a pair weighs no more than such a part of all */
#define SF_SILENCE	HZ		/* a SYN begins a new flow after so long */

/* A sparse flow: nothing of it has waited for SF_CALM ms in SF_CALM_EPOCHS epochs with packets. */
#define SF_CALM		20
#define SF_CALM_EPOCHS	8
#define SF_SPARE_PART	50		/* sparse flows may send 10 ms of the link at once */
#define SF_EPOCH	(HZ / 8)

enum { SF_UNUSED, SF_FIRST, SF_SHORT, SF_BULKS, SF_GROUPS };

/* Bits of a packet's rank, below its finish in the emulation */
#define SF_IS_YOUNG	1
#define SF_IS_FIRST	2
#define SF_IS_OUTSIDE	4		/* it is not in the emulation */
#define SF_RANK_BITS	7ULL

/* What is known of a flow beside its record */
struct sf_account {
	struct sf_emulated emulated;
	u64		since;		/* V when its last packet left */
	u32		came;		/* bytes, until it is a flow of its own in the emulation */
	u32		bulk;		/* bytes of it that wait as a bulk flow's */
	u16		epoch;		/* when it sent something last */
	u8		calm;		/* epochs since a packet waited for long */
	u8		pair;		/* in sf_deadlines.pairs, until it is a flow of its own */
	bool		known;		/* something of it was sent */
	bool		own;		/* it is a flow of its own in the emulation */
	struct codel_vars codel;
};

/* New flows between two hosts, one flow in the emulation */
struct sf_pair {
	struct sf_emulated emulated;
	u64		attained;	/* bytes beyond half of the link, sent or refused */
	u64		at;		/* what the link had sent then */
	u32		bytes;		/* that wait, of flows of which nothing was sent */
	u32		flows;		/* these */
};

struct sf_deadlines {
	struct sf_sched	s;
	struct Qdisc	*sch;
	struct sf_emulation emulation;
	struct sf_account *accounts;	/* by record; one more for all without */
	struct sf_pair	pairs[SF_PAIRS];	/* by a hash of the addresses */
	struct sf_heap	waiting[SF_GROUPS];	/* by group, the next to send first */
	struct sf_heap	drop_candidates;
	struct sf_queue	*taking;	/* CoDel takes packets of it */
	u64		patience;	/* bytes */
	u64		sent;		/* bytes */
	u32		spare;		/* bytes that sparse flows may send first */
	u32		spared;		/* bytes that do not count against `buffer` */
	u32		new_bytes;	/* of flows of which nothing was sent */
	u32		new_flows;
	struct codel_params codel;
	struct codel_stats codel_stats;
	u32		bulk;		/* bytes of bulk flows that wait */
};

static inline u32 sf_number(const struct sf_deadlines *q, const struct sf_queue *queue)
{
	return queue - q->s.table.queues;
}

static inline u32 sf_records(const struct sf_deadlines *q)
{
	return q->s.table.sets * SF_WAYS;
}

static inline struct sf_account *sf_account_of(const struct sf_deadlines *q,
					       const struct sf_queue *queue)
{
	return &q->accounts[min(queue->flow, sf_records(q))];
}

/* What a flow's packets count for in the emulation: the new flows of a pair of hosts are one */
static inline struct sf_emulated *sf_emulated_of(struct sf_deadlines *q, struct sf_account *a)
{
	return a->own ? &a->emulated : &q->pairs[a->pair].emulated;
}

/* Count packets of a flow of which nothing was sent. */
static inline void sf_count_new(struct sf_deadlines *q, const struct sf_account *a, u32 bytes,
				u32 flows)
{
	q->new_bytes += bytes;
	q->new_flows += flows;
	q->pairs[a->pair].bytes += bytes;
	q->pairs[a->pair].flows += flows;
}

/* The new flows of a pair attain what comes beyond half of what the link sends. */
static inline void sf_pair_attains(struct sf_deadlines *q, struct sf_pair *pair, u32 len)
{
	u64 share = (q->sent - pair->at) / 2;

	pair->at = q->sent;
	pair->attained = min_t(u64, pair->attained - min(pair->attained, share) + len,
			       SF_PAIR_MOST);
}

/* The pair of hosts that s->key is of */
static noinline u8 sf_find_pair(struct sf_deadlines *q)
{
	struct sf_flow_key pair = q->s.key;

	pair.ports = 0;
	pair.proto = 0;
	return sf_flow_key_hash(&pair, &q->s.table.secret) % SF_PAIRS;
}

/* What a flow has attained, or a pair's new flows together */
static inline u64 sf_attained(const struct sf_deadlines *q, const struct sf_queue *queue)
{
	const struct sf_account *a = sf_account_of(q, queue);

	if (sf_is_elsewhere(queue))
		return 0;
	if (!a->own)
		return q->pairs[a->pair].attained;
	return q->s.table.flows[queue->flow].attained;
}

/* Bytes that may wait */
static inline u32 sf_room(const struct sf_deadlines *q)
{
	return q->s.link.room == SF_ROOM_UNKNOWN ? SF_ROOM_GUESS : q->s.link.room;
}

/* Bytes attained: a bulk flow */
static inline u32 sf_bulk_from(const struct sf_deadlines *q)
{
	return min_t(u32, SF_BULK, 2 * sf_room(q));
}

static inline u64 sf_most_patience(const struct sf_deadlines *q)
{
	return (u64)SF_PATIENCE * sf_room(q);
}

/* By how much of V a packet may be later than in the emulation: less if much waits */
static inline u64 sf_late(const struct sf_deadlines *q, u64 patience)
{
	u32 room = sf_room(q), left = room - min(room, q->sch->qstats.backlog - q->bulk);

	left = min(room, left + left / 2);
	patience = mul_u64_u32_div(patience, left, room);
	return div_u64(patience << (SF_V_SHIFT + SF_WEIGHT_SHIFT),
		       max_t(u32, q->emulation.weight, SF_WEIGHT));
}

static inline u16 sf_epoch_now(void)
{
	return (u32)jiffies / SF_EPOCH;
}

static inline u32 sf_aqm_from(const struct sf_deadlines *q)
{
	return q->s.shaper.opt.ingress ? SF_YOUNG : min_t(u32, SF_AQM_FROM, sf_room(q) / 2);
}

static inline bool sf_is_outside(const struct sf_queue *queue, const struct sk_buff *skb)
{
	return sf_cb(skb)->rank & SF_IS_OUTSIDE && !sf_is_elsewhere(queue);
}

/*
 * May a packet of a sparse flow go first, whatever the emulation has? Such flows together send no
 * more than all others.
 */
static inline bool sf_may_go_first(struct sf_deadlines *q, const struct sf_account *a,
				   u64 attained, u32 len)
{
	if (q->s.link.room == SF_ROOM_UNKNOWN || a->calm < SF_CALM_EPOCHS ||
	    attained >= sf_aqm_from(q) || q->spare < len)
		return false;
	q->spare -= len;
	return true;
}

/* The weight of a flow in the emulation */
static inline u32 sf_weight(const struct sf_deadlines *q, const struct sf_account *a)
{
	if (a->own)
		return SF_WEIGHT;
	return clamp_t(u32, q->pairs[a->pair].flows << SF_WEIGHT_SHIFT, SF_WEIGHT,
		       max_t(u32, q->emulation.weight / SF_NEW_SHARE, SF_WEIGHT));
}

static inline u8 sf_group(const struct sf_deadlines *q, const struct sf_queue *queue)
{
	u64 attained = sf_attained(q, queue);

	if (sf_is_elsewhere(queue))
		return SF_BULKS;
	if (sf_cb(queue->head)->rank & SF_IS_FIRST)
		return SF_FIRST;
	attained -= min_t(u64, attained, queue->backlog);
	return attained >= sf_bulk_from(q) ? SF_BULKS : SF_SHORT;
}

/* V when the emulation has sent the first packet of a queue */
static inline u64 sf_head_finish(const struct sf_deadlines *q, const struct sf_queue *queue)
{
	const struct sf_emulated *e = &sf_account_of(q, queue)->emulated;
	u32 behind = queue->backlog - qdisc_pkt_len(queue->head);

	if (sf_is_elsewhere(queue))
		return U64_MAX / 2;
	if (!sf_account_of(q, queue)->own)
		return sf_cb(queue->head)->rank & ~SF_RANK_BITS;
	return e->finish - min(e->finish, sf_in_v(behind, e->weight ?: SF_WEIGHT));
}

/* V by which a flow's deadline is later than the emulation has it, if its patience allows */
static __always_inline u64 sf_slack(const struct sf_deadlines *q, const struct sf_queue *queue)
{
	return sf_in_v(sf_attained(q, queue) / 2, SF_WEIGHT);
}

/* The deadline of a queue; of bulk flows without the patience, which is the same for all */
static __always_inline u64 sf_deadline(const struct sf_deadlines *q, const struct sf_queue *queue,
				       u8 group)
{
	const struct sf_account *a = sf_account_of(q, queue);
	u64 head;

	if (group == SF_FIRST)
		return sf_cb(queue->head)->rank;
	head = sf_head_finish(q, queue);
	if (group == SF_BULKS)
		return head;
	return min((a->own ? a->emulated.finish : head) + sf_slack(q, queue),
		   head + sf_late(q, sf_most_patience(q)));
}

/* The deadline of the last packet of a queue */
static __always_inline u64 sf_last_deadline(const struct sf_deadlines *q,
					    const struct sf_queue *queue)
{
	const struct sf_account *a = sf_account_of(q, queue);
	u64 late = sf_late(q, queue->group == SF_BULKS ? q->patience : sf_most_patience(q));

	if (sf_is_elsewhere(queue))
		return U64_MAX / 2;
	if (queue->group == SF_BULKS)
		return a->emulated.finish + late;
	return (a->own ? a->emulated.finish : sf_cb(queue->tail)->rank & ~SF_RANK_BITS) +
	       min(sf_slack(q, queue), late);
}

/* The latest deadline loses, but for flows that have attained next to nothing. */
static __always_inline u64 sf_drop_rank(const struct sf_deadlines *q, const struct sf_queue *queue)
{
	u64 most = sf_last_deadline(q, queue);

	if (!sf_is_elsewhere(queue) && sf_attained(q, queue) <= SF_YOUNG)
		most >>= 16;
	return U64_MAX - most;
}

static inline void sf_count_bulk(struct sf_deadlines *q, const struct sf_queue *queue, u32 bytes)
{
	struct sf_account *a = sf_account_of(q, queue);

	q->bulk += bytes - a->bulk;
	a->bulk = bytes;
}

/* A queue with packets has got or lost one: put it where it belongs. */
static __always_inline void sf_sort(struct sf_deadlines *q, struct sf_queue *queue)
{
	u8 group = sf_group(q, queue), was = queue->group;
	u32 i = sf_number(q, queue);
	struct sf_heap_node next = {
		sf_deadline(q, queue, group), sf_cb(queue->head)->arrival, i
	}, drop = { 0, ~sf_cb(queue->tail)->arrival, i };

	queue->group = group;
	sf_count_bulk(q, queue, group == SF_BULKS ? queue->backlog : 0);
	if (was && was != group)
		sf_heap_remove(&q->waiting[was], i);
	if (was == group)
		sf_heap_move(&q->waiting[group], next);
	else
		sf_heap_add(&q->waiting[group], next);
	drop.rank = sf_drop_rank(q, queue);
	if (was)
		sf_heap_move(&q->drop_candidates, drop);
	else
		sf_heap_add(&q->drop_candidates, drop);
}

/* What does not count against `buffer` */
static inline void sf_spare(struct sf_deadlines *q, const struct sf_queue *queue,
			    const struct sk_buff *skb, s32 sign)
{
	if (sf_cb(skb)->rank & SF_IS_YOUNG && !sf_is_elsewhere(queue))
		q->spared += sign * (s32)qdisc_pkt_len(skb);
}

/* What a flow has attained decays by half of a fair share while it has no packets. */
static inline void sf_decay(struct sf_deadlines *q, struct sf_flow *f, const struct sf_account *a)
{
	u64 part = sf_of_v(q->emulation.v - a->since, a->emulated.weight ?: SF_WEIGHT);

	f->attained -= min(f->attained, part >> (SF_V_SHIFT + 1));
}

/* The account of a packet's flow. Its record may have been another flow's. */
static inline struct sf_account *sf_open_account(struct sf_deadlines *q, struct sf_flow *f)
{
	struct sf_account *a = &q->accounts[f - q->s.table.flows];

	if (f->rest)
		return a;
	sf_emulation_forget(&q->emulation, &a->emulated);
	*a = (struct sf_account) { .since = q->emulation.v, .pair = sf_find_pair(q) };
	codel_vars_init(&a->codel);
	f->rest = 1;
	return a;
}

/* The flow has sent enough to be one of its own in the emulation. */
static inline void sf_make_own(struct sf_deadlines *q, struct sf_account *a,
			       const struct sf_queue *queue)
{
	a->own = true;
	sf_emulation_cut(&q->emulation, &q->pairs[a->pair].emulated, queue->backlog);
	sf_emulation_set(&q->emulation, &a->emulated, (u64)queue->backlog << SF_V_SHIFT,
			 sf_weight(q, a));
}

/* V that passes while a sparse flow's packet may wait: SF_CALM ms, or a packet of each flow */
static inline u64 sf_calm_v(const struct sf_deadlines *q)
{
	u64 v = ((u64)(sf_room(q) / (500 / SF_CALM)) << (SF_V_SHIFT + SF_WEIGHT_SHIFT)) /
		max_t(u32, q->emulation.weight, SF_WEIGHT);

	return max_t(u64, v, (u64)q->codel.mtu << (SF_V_SHIFT - 1));
}

/* A flow whose packets would wait for long in the emulation is not sparse. */
static inline void sf_note_wait(struct sf_deadlines *q, struct sf_account *a)
{
	if (q->s.link.room != SF_ROOM_UNKNOWN &&
	    sf_emulated_v(&q->emulation, sf_emulated_of(q, a)) > sf_calm_v(q))
		a->calm = 0;
}

/* The same in CoDel's units of time */
static inline u32 sf_calm_time(const struct sf_deadlines *q)
{
	return max_t(u64, MS2TIME(SF_CALM), (u64)MS2TIME(250) * q->codel.mtu *
		     (q->emulation.weight >> SF_WEIGHT_SHIFT) / sf_room(q));
}

/* The rank of a packet that comes; what is late in the emulation counts as attained. */
static inline u64 sf_rank_arrival(struct sf_deadlines *q, struct sf_account *a,
				  struct sf_queue *queue, struct sf_flow *f, u32 len)
{
	struct sf_emulated *e = sf_emulated_of(q, a);
	u64 has = sf_emulation_has(&q->emulation, e), rank;
	bool after_first = queue->qlen && !(sf_cb(queue->tail)->rank & SF_IS_FIRST);

	sf_note_wait(q, a);
	if (a->own && !after_first && sf_may_go_first(q, a, f->attained, len))
		return ((q->emulation.v + ((u64)len << SF_V_SHIFT)) & ~SF_RANK_BITS) |
		       SF_IS_FIRST | SF_IS_OUTSIDE;
	if (has || !a->own)
		f->attained += len;
	if (!a->own)
		sf_pair_attains(q, &q->pairs[a->pair], len);
	sf_emulation_set(&q->emulation, e, has + ((u64)len << SF_V_SHIFT), sf_weight(q, a));
	rank = e->finish & ~SF_RANK_BITS;
	if (f->attained <= SF_YOUNG)
		rank |= SF_IS_YOUNG;
	if (!has && !queue->qlen)
		rank |= SF_IS_FIRST;
	return rank;
}

/* For sf_kind.insert: a packet of a flow that has a record */
static inline struct sf_queue *sf_insert_known(struct sf_deadlines *q, struct sk_buff *skb,
					       struct sf_place *to)
{
	struct sf_flow *f = to->flow;
	struct sf_account *a = sf_open_account(q, f);
	struct sf_queue *queue;
	u32 i = f->queue, len = qdisc_pkt_len(skb);

	WRITE_ONCE(f->seen, (u32)jiffies);
	if (!i)
		i = sf_queue_take(&q->s.table, f);
	queue = &q->s.table.queues[i];
	if (!queue->qlen)
		sf_decay(q, f, a);
	a->came += a->own ? 0 : len;
	if (!a->own && a->known && a->came > SF_OWN_FROM)
		sf_make_own(q, a, queue);
	sf_cb(skb)->rank = sf_rank_arrival(q, a, queue, f, len);
	if (!a->known)
		sf_count_new(q, a, len, !queue->qlen);
	return queue;
}

/* For sf_kind.insert: one of those without a record, which are one bulk flow */
static inline struct sf_queue *sf_insert_overflow(struct sf_deadlines *q, struct sk_buff *skb,
						  const struct sf_place *to)
{
	struct sf_account *a = &q->accounts[sf_records(q)];
	struct sf_queue *queue = &q->s.table.queues[SF_ELSEWHERE];
	u64 has = sf_emulation_has(&q->emulation, &a->emulated);
	u32 set = sf_table_set(&q->s.table, to->hash);

	a->known = true;
	a->own = true;
	sf_elsewhere_add(&q->s.table, set);
	sf_cb(skb)->rank = set;
	sf_emulation_set(&q->emulation, &a->emulated,
			 has + ((u64)qdisc_pkt_len(skb) << SF_V_SHIFT), SF_WEIGHT);
	return queue;
}

/* For sf_kind.insert: put a packet in its place. */
static __always_inline bool sf_deadlines_insert(struct Qdisc *sch, struct sk_buff *skb,
						struct sf_place *to)
{
	struct sf_deadlines *q = qdisc_priv(sch);
	struct sf_skb_cb *cb = sf_cb(skb);
	struct sf_queue *queue;

	cb->arrival = q->s.arrivals++;
	cb->truesize = skb->truesize;
	cb->flow = codel_get_time();
	queue = likely(to->flow) ? sf_insert_known(q, skb, to) : sf_insert_overflow(q, skb, to);
	sf_spare(q, queue, skb, 1);
	sf_append(sch, queue, skb);
	/* A busy period begins. */
	if (q->s.held == 1) {
		sf_link_restart(&q->s.link);
		q->patience = sf_most_patience(q);
	}
	sf_sort(q, queue);
	return true;
}

/* A packet has left its queue. */
static inline void sf_uncount_left(struct sf_deadlines *q, struct sf_queue *queue,
				   const struct sk_buff *skb)
{
	if (sf_is_elsewhere(queue))
		sf_elsewhere_del(&q->s.table, sf_cb(skb)->rank);
	sf_spare(q, queue, skb, -1);
	if (!sf_account_of(q, queue)->known)
		sf_count_new(q, sf_account_of(q, queue), -qdisc_pkt_len(skb), -!queue->qlen);
}

/* A queue has lost packets: it is sorted again, or released if it is empty. */
static __always_inline void sf_sort_left(struct sf_deadlines *q, struct sf_queue *queue)
{
	u32 i = sf_number(q, queue);

	if (queue->qlen) {
		sf_sort(q, queue);
		return;
	}
	sf_heap_remove(&q->drop_candidates, i);
	sf_heap_remove(&q->waiting[queue->group], i);
	sf_count_bulk(q, queue, 0);
	queue->group = SF_UNUSED;
	sf_account_of(q, queue)->since = q->emulation.v;
	if (!sf_is_elsewhere(queue))
		sf_queue_release(&q->s.table, queue);
}

/* The emulation does not send what is dropped, either. */
static inline void sf_lose(struct sf_deadlines *q, struct sf_queue *queue,
			   const struct sk_buff *skb)
{
	sf_sums_of(&q->s.table, queue->flow)->drops++;
	if (!sf_is_outside(queue, skb))
		sf_emulation_cut(&q->emulation, sf_emulated_of(q, sf_account_of(q, queue)),
				 qdisc_pkt_len(skb));
}

/* For sf_kind.take_victim */
static __always_inline struct sk_buff *sf_deadlines_victim(struct Qdisc *sch)
{
	struct sf_deadlines *q = qdisc_priv(sch);
	struct sf_queue *queue = &q->s.table.queues[q->drop_candidates.node[0].queue];
	struct sk_buff *skb;
	struct sf_flow *f;

	q->s.victim = queue->flow;
	sf_count_drop(&q->s);
	skb = sf_take_first(sch, queue);
	sf_uncount_left(q, queue, skb);
	sf_lose(q, queue, skb);
	if (!sf_is_elsewhere(queue)) {
		f = &q->s.table.flows[queue->flow];
		f->attained -= min_t(u64, f->attained, qdisc_pkt_len(skb));
	}
	sf_sort_left(q, queue);
	sf_set_drop_reason(skb, SF_DROP_OVERLIMIT);
	return skb;
}

/* A SYN begins a new flow of the same ports, but not soon after: not each packet is to be one. */
static inline bool sf_begins(const struct sf_flow *f, u8 flags, u32 now)
{
	return flags & SF_TCP_SYN && !f->queue && now - f->seen >= SF_SILENCE;
}

/* Is there no room for a packet of a new flow? */
static inline bool sf_no_room_for_new(struct sf_deadlines *q, u32 len)
{
	u32 most = max_t(u32, sf_room(q) / SF_NEW_PART, SF_YOUNG);
	struct sf_pair *pair;

	if (q->s.held <= 1 || q->s.link.room == SF_ROOM_UNKNOWN ||
	    (q->new_flows < SF_NEW_FLOWS && q->new_bytes + len <= most))
		return false;
	pair = &q->pairs[sf_find_pair(q)];
	if (pair->flows < SF_NEW_FLOWS / SF_PAIRS && pair->bytes + len <= most / SF_PAIRS)
		return false;
	sf_pair_attains(q, pair, len);
	return true;
}

static inline bool sf_is_new(const struct sf_deadlines *q, const struct sf_flow *f)
{
	return !f || (!f->queue && !(f->rest && q->accounts[f - q->s.table.flows].known));
}

/* What enqueue is to return */
static __always_inline int sf_deadlines_enqueue(struct sk_buff *skb, struct Qdisc *sch,
						struct sf_place *to, struct sk_buff **to_free,
						const struct sf_kind *kind)
{
	struct sf_deadlines *q = qdisc_priv(sch);
	u8 flags = sf_read(&q->s, skb, to);
	struct sf_flow *f = sf_find(&q->s, to);
	u32 now = jiffies;

	if (sf_is_new(q, f) && unlikely(sf_no_room_for_new(q, qdisc_pkt_len(skb)))) {
		sf_drop(skb, sch, to_free, SF_DROP_OVERLIMIT);
		return NET_XMIT_DROP;
	}
	sf_get(&q->s, f, now, to);
	if (to->flow && unlikely(sf_begins(to->flow, flags, now)))
		sf_flow_forget(&q->s.table, to->flow);
	return sf_enqueue(skb, sch, to, to_free, kind);
}

/* The first packet of the queue that is served */
static inline struct sk_buff *sf_take(struct Qdisc *sch, struct sf_queue *queue)
{
	struct sf_deadlines *q = qdisc_priv(sch);
	struct sf_account *a = sf_account_of(q, queue);
	struct sk_buff *skb = sf_take_first(sch, queue);

	sf_uncount_left(q, queue, skb);
	if (!a->known && queue->qlen)
		sf_count_new(q, a, -queue->backlog, -1);
	a->known = true;
	if (codel_get_time() - (u32)sf_cb(skb)->flow > sf_calm_time(q) || a->codel.dropping)
		a->calm = 0;
	else if (a->epoch != sf_epoch_now() && a->calm < SF_CALM_EPOCHS)
		a->calm++;
	a->epoch = sf_epoch_now();
	return skb;
}

static struct sk_buff *sf_codel_take(struct codel_vars *vars, void *ctx)
{
	struct Qdisc *sch = ctx;
	struct sf_deadlines *q = qdisc_priv(sch);

	return q->taking->qlen ? sf_take(sch, q->taking) : NULL;
}

static void sf_codel_drop(struct sk_buff *skb, void *ctx)
{
	struct Qdisc *sch = ctx;
	struct sf_deadlines *q = qdisc_priv(sch);

	sf_lose(q, q->taking, skb);
	qdisc_qstats_drop(sch);
	sf_shaper_dropped(&q->s.shaper, skb);
	qdisc_tree_reduce_backlog(sch, 1, qdisc_pkt_len(skb));
	sf_dequeue_drop(sch, skb, SF_DROP_CONGESTED);
}

static codel_time_t sf_codel_time(const struct sk_buff *skb)
{
	return sf_cb(skb)->flow;
}

/* The queue to serve; one has packets */
static inline struct sf_queue *sf_next(const struct sf_deadlines *q)
{
	const struct sf_heap *first = &q->waiting[SF_FIRST], *shorts = &q->waiting[SF_SHORT];
	const struct sf_heap *bulks = &q->waiting[SF_BULKS], *next = bulks;

	if (first->size)
		next = first;
	else if (!bulks->size || (shorts->size && shorts->node[0].rank <=
				  bulks->node[0].rank + sf_late(q, q->patience)))
		next = shorts;
	return &q->s.table.queues[next->node[0].queue];
}

/* @len bytes of a group are sent: the patience wears, or if bulk flows are alone is restored. */
static inline void sf_wear(struct sf_deadlines *q, u8 group, u32 len)
{
	bool alone = !q->waiting[SF_FIRST].size && !q->waiting[SF_SHORT].size;

	if (group != SF_BULKS && q->waiting[SF_BULKS].size)
		q->patience -= min_t(u64, q->patience, len / SF_WEAR);
	else if (alone)
		q->patience += len;
	q->patience = min(q->patience, sf_most_patience(q));
}

static inline struct sk_buff *sf_take_next(struct Qdisc *sch, struct sf_queue *queue)
{
	struct sf_deadlines *q = qdisc_priv(sch);
	struct sf_sums *sums = sf_sums_of(&q->s.table, queue->flow);
	u32 marks = q->codel_stats.ecn_mark + q->codel_stats.ce_mark;
	struct sk_buff *skb;

	if (queue->group != SF_BULKS && sums->bytes < sf_aqm_from(q))
		return sf_take(sch, queue);
	q->taking = queue;
	skb = codel_dequeue(sch, &queue->backlog, &q->codel, &sf_account_of(q, queue)->codel,
			    &q->codel_stats, qdisc_pkt_len, sf_codel_time, sf_codel_drop,
			    sf_codel_take);
	sums->marks += q->codel_stats.ecn_mark + q->codel_stats.ce_mark - marks;
	return skb;
}

static __always_inline struct sk_buff *sf_deadlines_dequeue(struct Qdisc *sch)
{
	struct sf_deadlines *q = qdisc_priv(sch);
	struct sf_queue *queue;
	struct sk_buff *skb;
	bool outside;
	u32 len;

	if (!q->s.held || sf_shaper_waits(sch, &q->s.shaper))
		return NULL;
	queue = sf_next(q);
	skb = sf_take_next(sch, queue);
	len = qdisc_pkt_len(skb);
	sf_sum_sent(sf_sums_of(&q->s.table, queue->flow), skb);
	outside = sf_is_outside(queue, skb);
	sf_wear(q, queue->group, len);
	if (!outside)
		q->spare = min(q->spare + len, sf_room(q) / SF_SPARE_PART);
	sf_sort_left(q, queue);
	sf_emulation_sent(&q->emulation, outside ? 0 : len, q->s.held);
	q->sent += len;
	sf_link_sent(&q->s.link, len);
	sf_shaper_sent(&q->s.shaper, skb, q->s.held);
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void sf_deadlines_reset(struct Qdisc *sch)
{
	struct sf_deadlines *q = qdisc_priv(sch);
	u32 i, queues = sf_table_queues(sf_records(q));
	struct sf_queue *queue;

	for (i = SF_ELSEWHERE; q->s.held && i < queues; i++) {
		queue = &q->s.table.queues[i];
		if (!queue->qlen)
			continue;
		q->s.held -= queue->qlen;
		queue->qlen = 0;
		queue->backlog = 0;
		queue->group = SF_UNUSED;
		rtnl_kfree_skbs(queue->head, queue->tail);
		if (!sf_is_elsewhere(queue))
			sf_queue_release(&q->s.table, queue);
	}
	for (i = SF_FIRST; i < SF_GROUPS; i++)
		q->waiting[i].size = 0;
	q->drop_candidates.size = 0;
	q->s.memory = 0;
	q->spared = 0;
	q->new_bytes = 0;
	q->new_flows = 0;
	q->bulk = 0;
	memset(q->pairs, 0, sizeof(q->pairs));
	q->spare = 0;
	if (q->emulation.ends) {
		memset(q->emulation.ends, 0, SF_ENDS * sizeof(*q->emulation.ends));
		memset(q->accounts, 0, (sf_records(q) + 1) * sizeof(*q->accounts));
	}
	q->emulation.weight = 0;
	q->emulation.left = 0;
	sf_shaper_reset(&q->s.shaper);
	sf_link_forget(&q->s.link);
	sf_table_clear(&q->s.table);
}

/* For init, before anything can fail */
static inline void sf_deadlines_begin(struct Qdisc *sch)
{
	struct sf_deadlines *q = qdisc_priv(sch);

	sch->flags |= SF_DEQUEUE_DROPS;
	q->sch = sch;
	sf_begin(sch);
	codel_params_init(&q->codel);
	codel_stats_init(&q->codel_stats);
	q->codel.mtu = psched_mtu(qdisc_dev(sch));
	sf_link_begin(&q->s.link, SF_ROOM_MIN);
}

/* Allocate for that many flows; on failure the core calls destroy, if not reset, too. */
static inline int sf_deadlines_init(struct sf_deadlines *q, u32 flows)
{
	u32 i, queues = sf_table_queues(flows);
	int err;

	q->accounts = kvcalloc(flows + 1, sizeof(*q->accounts), SF_GFP_TABLE);
	if (!q->accounts)
		return -ENOMEM;
	for (i = SF_FIRST; i < SF_GROUPS; i++) {
		err = sf_heap_init(&q->waiting[i], queues);
		if (err)
			return err;
	}
	return sf_table_init(&q->s.table, flows, queues) ?:
	       sf_heap_init(&q->drop_candidates, queues) ?:
	       sf_emulation_init(&q->emulation);
}

static inline void sf_deadlines_free(struct sf_deadlines *q)
{
	u32 i;

	sf_emulation_free(&q->emulation);
	sf_heap_free(&q->drop_candidates);
	for (i = SF_FIRST; i < SF_GROUPS; i++)
		sf_heap_free(&q->waiting[i]);
	sf_table_free(&q->s.table);
	kvfree(q->accounts);
}

/* Does more wait than `buffer` allows, beyond the first bytes of each flow? */
static bool lm_over(struct Qdisc *sch, unsigned int gone)
{
	const struct sf_deadlines *q = qdisc_priv(sch);
	u32 spared = min3(q->spared, q->s.link.room / 2, 4U << 20);

	return sf_over_buffer(sch, gone) && sch->qstats.backlog - q->s.link.room > spared;
}

static void lm_dropped(struct Qdisc *sch, const struct sf_place *to)
{
	struct sf_deadlines *q = qdisc_priv(sch);

	sf_sums_of(&q->s.table, to->flow ? to->flow - q->s.table.flows : SF_NO_FLOW)->drops++;
}

static const struct sf_kind lm_kind = {
	.insert		= sf_deadlines_insert,
	.take_victim	= sf_deadlines_victim,
	.dropped	= lm_dropped,
	.over		= lm_over,
};

static int lm_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct sf_place to = { .class = 1 };

	return sf_deadlines_enqueue(skb, sch, &to, to_free, &lm_kind);
}

static int lm_init(struct Qdisc *sch, struct nlattr *nla, struct netlink_ext_ack *extack)
{
	struct sf_deadlines *q = qdisc_priv(sch);
	struct sf_shaping shaping = { .rate = U64_MAX };

	sf_deadlines_begin(sch);
	q->codel.ecn = true;
	q->s.limit = 10000;
	q->s.memory_limit = 32 << 20;
	q->s.table.idle = 60 * HZ;
	q->s.split_from = 0;
	sf_link_set(&q->s.link, U64_MAX, HZ / 2);
	sf_shaper_set(&q->s.shaper, &shaping, 0);
	return sf_deadlines_init(q, 4096);
}

static void lm_destroy(struct Qdisc *sch)
{
	struct sf_deadlines *q = qdisc_priv(sch);

	sf_end(&q->s);
	sf_deadlines_free(q);
}

static struct Qdisc_ops lm_qdisc_ops __read_mostly = {
	.id		=	SF_KIND,
	.priv_size	=	sizeof(struct sf_deadlines),
	.enqueue	=	lm_enqueue,
	.dequeue	=	sf_deadlines_dequeue,
	.peek		=	qdisc_peek_dequeued,
	.init		=	lm_init,
	.reset		=	sf_deadlines_reset,
	.destroy	=	lm_destroy,
	.owner		=	THIS_MODULE,
};
MODULE_ALIAS_NET_SCH(SF_KIND);

static int __init lm_module_init(void)
{
	return register_qdisc(&lm_qdisc_ops);
}

static void __exit lm_module_exit(void)
{
	unregister_qdisc(&lm_qdisc_ops);
}

module_init(lm_module_init)
module_exit(lm_module_exit)
MODULE_AUTHOR("shortfirst contributors");
MODULE_DESCRIPTION("sketch");
MODULE_LICENSE("GPL");
