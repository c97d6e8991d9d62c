/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A table of flow records of fixed size, exact and bounded, and the queues of
 * those flows that hold packets.
 *
 *	hash(key) --> set:  | tags: 8 bytes |  | record | record | ... | record |
 *					    |			|
 *					   none			v
 *							    queue: [packet][packet]
 *
 * A flow may be in any of the 8 records of its set. Tags, a byte of each hash, find
 * it in a few instructions; then the keys themselves are compared, so two flows
 * never share a record. A flow silent for longer than the idle time is forgotten:
 * not by a timer, but when it comes back or its record is wanted.
 *
 * When a newcomer finds its set full, the record goes that has been without packets for
 * longest, and of several the one that has attained least. A record with packets never
 * goes.
 *
 * If all have packets, the newcomer's waits elsewhere, and as long as it does, so
 * do those of all newcomers to the set: with a record, a flow would pass by its
 * own earlier packets. So do those of all flows that find no queue, and then, until
 * nothing waits elsewhere, the rule holds for flows with a record as well.
 */
#ifndef _SF_FLOW_TABLE_H
#define _SF_FLOW_TABLE_H

#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/rbtree.h>
#include <linux/slab.h>
#include <net/codel.h>
#include "alloc.h"
#include "flow_key.h"
#include "flow_tags.h"

#define SF_WAYS			8

/* A table this small has a queue for each record, a larger one for each second. */
#define SF_FEW_FLOWS		256

/* The first queues: none, which is always empty, what waits elsewhere, and the flows' */
#define SF_NO_QUEUE		0
#define SF_OVERFLOW		1
#define SF_FIRST_QUEUE		2

/* The flow of the queue SF_OVERFLOW */
#define SF_NO_FLOW		U32_MAX

/* What is kept of a flow: one line of the cache */
struct sf_flow {
	struct sf_flow_key key;
	union {			/* for the kind; 0 in a new record */
		struct {
			u64	attained;	/* bytes served or waiting */
			union {
				u64	rest;
				struct {	/* policy.h */
					s32	deficit;
					u8	established:1;	/* a packet was sent */
					u8	sparse:1;	/* old, no standing queue */
					u8	modest:1;	/* and below fair_level */
					u8	age:4;		/* epochs, up to SF_AGE */
					u8	standing;	/* epochs with backlog or not */
					bool	priority;
					u8	epoch;		/* the last it was seen in */
				};
			};
		};
		struct {		/* flow_recent.h */
			u32	backlog;	/* bytes */
			bool	closing;
			union {
				bool	fast;
				struct {
					u8 counted:1;	/* has no numbers */
					u8 strayed:1;
				};
			};
			u16	wraps;		/* of last */
			union {
				struct {
					u32	samples;
					u32	level;	/* bytes in its bucket */
				};
				struct {		/* sequence numbers */
					u32	first;
					u32	last;	/* the end of the newest */
				};
				struct {		/* if counted, bytes */
					u32	count;
					u32	rank;	/* of the newest */
				};
			};
		};
	};
	u32	seen;		/* jiffies when it last had a packet, if it has none */
	u32	queue;		/* 0: it has no packets; flow_recent.h: how many */
};

/* Links by the numbers of queues */
struct sf_link {
	u32	next;
	u32	prev;
};

struct sf_queue {
	struct sk_buff	*head;	/* the packets in order of arrival, */
	struct sk_buff	*tail;	/* linked by next and prev */
	union {
		struct {
			struct rb_node	node;
			u64		rank;
		};
		struct {
			struct sf_link	listed;
			union {
				struct codel_vars codel;
				s32	deficit;	/* band_queues.h: bytes left of
							 * its turn
							 */
			};
		};
	};
	u32	qlen;		/* packets */
	u32	backlog;	/* bytes */
	u32	flow;		/* whose it is, or SF_NO_FLOW */
	u16	host;		/* hosts.h: of the flow */
	u8	class;		/* lists.h; 0: unassigned */
	u8	on_drop_heap:1;
	u8	in_host_lists:1;	/* of its host, not in the top ones */
};

static_assert(sizeof(struct sf_queue) <= 64);

/* What has become of a flow's packets, or a host's, since the record is its own */
struct sf_sums {
	u64	bytes;		/* sent, */
	u64	packets;
	u32	drops;		/* dropped, */
	u32	marks;		/* and marked */
};

struct sf_table {
	u64		*tags;		/* for each set; byte 0: unused record */
	u32		*overflow_of;	/* for each set: packets that wait
					 * elsewhere
					 */
	struct sf_flow	*flows;
	struct sf_queue	*queues;
	struct sf_sums	*sums;		/* of each record, and of all without one */
	u32		*spare;		/* the queues that are nobody's */
	u32		spares;		/* how many */
	bool		queues_short;	/* there was none for a flow with a record,
					 * and something still waits elsewhere
					 */
	u32		sets;
	u32		set_shift;	/* a hash's first bits are its set */
	u32		idle;		/* jiffies */
	struct sf_flow_secret secret;
	/* statistics */
	u32		overflow;	/* packets in the overflow queue, the sum of those */
	u32		used;		/* records that hold a flow */
	u64		assigned;	/* times a flow was given a record */
	u64		evictions;	/* times another had to go for that */
};

static_assert(sizeof(struct sf_flow) == 64);

/* Count in a field that others read without the qdisc's lock. */
#define sf_count(field, n)			\
	do {					\
		typeof(field) *__f = &(field);	\
						\
		WRITE_ONCE(*__f, *__f + (n));	\
	} while (0)

/* sf_table_queues - the number of queues of a table with this many records, all told */
static inline u32 sf_table_queues(u32 flows)
{
	return max_t(u32, flows / 2, min_t(u32, flows, SF_FEW_FLOWS) + SF_FIRST_QUEUE);
}

/**
 * sf_table_init - allocate the records and queues
 * @t: the table, zeroed
 * @flows: number of records, a power of two, at least SF_WAYS
 * @queues: number of queues, of sf_table_queues()
 *
 * Return: 0 or -ENOMEM. Either way sf_table_free() may follow.
 */
static inline int sf_table_init(struct sf_table *t, u32 flows, u32 queues)
{
	u32 i;

	t->sets = flows / SF_WAYS;
	t->set_shift = 32 - ilog2(t->sets);
	sf_flow_secret_init(&t->secret);
	t->tags = kvcalloc(t->sets, sizeof(*t->tags), SF_GFP_TABLE);
	t->overflow_of = kvcalloc(t->sets, sizeof(*t->overflow_of), SF_GFP_TABLE);
	t->flows = kvcalloc(flows, sizeof(*t->flows), SF_GFP_TABLE);
	t->queues = kvcalloc(queues, sizeof(*t->queues), SF_GFP_TABLE);
	t->sums = kvcalloc(flows + 1, sizeof(*t->sums), SF_GFP_TABLE);
	t->spare = kvcalloc(queues, sizeof(*t->spare), SF_GFP_TABLE);
	if (!t->tags || !t->overflow_of || !t->flows || !t->queues || !t->sums ||
	    !t->spare)
		return -ENOMEM;
	t->queues[SF_OVERFLOW].flow = SF_NO_FLOW;
	for (i = queues; i > SF_FIRST_QUEUE; i--)
		t->spare[t->spares++] = i - 1;
	return 0;
}

/* sf_table_free - free all of it; the table may never have got any */
static inline void sf_table_free(struct sf_table *t)
{
	kvfree(t->spare);
	kvfree(t->sums);
	kvfree(t->queues);
	kvfree(t->flows);
	kvfree(t->overflow_of);
	kvfree(t->tags);
}

/**
 * sf_table_clear - forget all flows
 * @t: the table, whose flows hold no packets; it may have no records, since a
 *     qdisc is reset even if its init has failed
 */
static inline void sf_table_clear(struct sf_table *t)
{
	if (t->tags)
		memset(t->tags, 0, t->sets * sizeof(*t->tags));
	if (t->overflow_of)
		memset(t->overflow_of, 0, t->sets * sizeof(*t->overflow_of));
	/* Those of a record are cleared when it gets a flow. */
	if (t->sums)
		t->sums[t->sets * SF_WAYS] = (struct sf_sums) {};
	t->queues_short = false;
	t->overflow = 0;
	t->used = 0;
}

/*
 * sf_queue_take - give @f an empty queue; after sf_table_get() there is one
 *
 * Return: its number
 */
static inline u32 sf_queue_take(struct sf_table *t, struct sf_flow *f)
{
	u32 i = t->spare[t->spares - 1];

	t->spares--;
	t->queues[i].flow = f - t->flows;
	WRITE_ONCE(f->queue, i);
	return i;
}

/* sf_queue_release - its flow's last packet is gone */
static inline void sf_queue_release(struct sf_table *t, struct sf_queue *queue)
{
	struct sf_flow *f = &t->flows[queue->flow];

	t->spare[t->spares] = f->queue;
	t->spares++;
	WRITE_ONCE(f->seen, jiffies);
	WRITE_ONCE(f->queue, 0);
}

/* sf_table_queued - how many flows have a queue */
static inline u32 sf_table_queued(const struct sf_table *t)
{
	return sf_table_queues(t->sets * SF_WAYS) - SF_FIRST_QUEUE - t->spares;
}

/* The sums of the flow with record @flow, or with SF_NO_FLOW of those without one */
static __always_inline struct sf_sums *sf_sums_of(const struct sf_table *t, u32 flow)
{
	return &t->sums[min(flow, t->sets * SF_WAYS)];
}

/* The same of a flow that has a record */
static __always_inline struct sf_sums *sf_flow_sums(const struct sf_table *t,
						    const struct sf_flow *f)
{
	return &t->sums[f - t->flows];
}

/* A packet of a flow of @set has begun to wait elsewhere. */
static inline void sf_overflow_add(struct sf_table *t, u32 set)
{
	t->overflow_of[set]++;
	sf_count(t->overflow, 1);
}

/* It no longer does. */
static inline void sf_overflow_del(struct sf_table *t, u32 set)
{
	t->overflow_of[set]--;
	sf_count(t->overflow, -1);
	if (!t->overflow)
		t->queues_short = false;
}

/* Rings of queues, linked by numbers: put queue @i before @next, which is in one */
static inline void sf_ring_add(struct sf_queue *queues, u32 next, u32 i)
{
	u32 prev = queues[next].listed.prev;

	queues[i].listed.next = next;
	queues[i].listed.prev = prev;
	queues[prev].listed.next = i;
	queues[next].listed.prev = i;
}

/* and take it out again. */
static inline void sf_ring_del(struct sf_queue *queues, u32 i)
{
	struct sf_link at = queues[i].listed;

	queues[at.next].listed.prev = at.prev;
	queues[at.prev].listed.next = at.next;
}

/* Lists: rings of which the first is known, or SF_NO_QUEUE; put queue @i at the end */
static inline void sf_list_add(struct sf_queue *queues, u32 *first, u32 i)
{
	if (*first) {
		sf_ring_add(queues, *first, i);
		return;
	}
	queues[i].listed.next = i;
	queues[i].listed.prev = i;
	*first = i;
}

/* and take it out again. */
static inline void sf_list_del(struct sf_queue *queues, u32 *first, u32 i)
{
	u32 next = queues[i].listed.next;

	sf_ring_del(queues, i);
	if (*first == i)
		*first = next == i ? SF_NO_QUEUE : next;
}

/* The way of @set that is to become a newcomer's, or SF_WAYS if there is none */
static inline u32 sf_table_victim(struct sf_table *t, u32 set, u32 now)
{
	const struct sf_flow *f = &t->flows[set * SF_WAYS];
	u64 unused = sf_tags_match(t->tags[set], 0);
	u32 i, silent, longest = 0, victim = SF_WAYS;
	u64 least = U64_MAX;

	if (unused) {
		t->used++;
		return __ffs64(unused) / 8;
	}
	for (i = 0; i < SF_WAYS; i++, f++) {
		if (f->queue)
			continue;
		silent = now - f->seen;
		if (silent < longest || (silent == longest && f->attained >= least))
			continue;
		longest = silent;
		least = f->attained;
		victim = i;
	}
	if (victim < SF_WAYS && longest <= t->idle)
		t->evictions++;
	return victim;
}

/* sf_table_set - where in the table the flows of a hash are */
static inline u32 sf_table_set(const struct sf_table *t, u32 hash)
{
	return (u64)hash >> t->set_shift;
}

/* sf_table_find - the record of a flow, or NULL; @hash is of its key */
static __always_inline struct sf_flow *sf_table_find(const struct sf_table *t,
						     const struct sf_flow_key *key,
						     u32 hash)
{
	u32 set = sf_table_set(t, hash);
	struct sf_flow *f;
	u64 found;

	for (found = sf_tags_match(t->tags[set], sf_tag(hash)); found;
	     found &= found - 1) {
		f = &t->flows[set * SF_WAYS + __ffs64(found) / 8];
		if (sf_flow_key_equal(&f->key, key))
			return f;
	}
	return NULL;
}

/* Another flow begins, of the same record. */
static __always_inline void sf_sums_clear(struct sf_table *t, const struct sf_flow *f)
{
	*sf_flow_sums(t, f) = (struct sf_sums) {};
}

/* What was known of a flow is no longer. */
static __always_inline void sf_flow_forget(struct sf_table *t, struct sf_flow *f)
{
	f->attained = 0;
	f->rest = 0;
	sf_sums_clear(t, f);
}

/* sf_table_assign - make record @way of its set a flow's that has none; now jiffies */
static __always_inline struct sf_flow *sf_table_assign(struct sf_table *t,
						       const struct sf_flow_key *key,
						       u32 hash, u32 way, u32 now)
{
	u32 set = sf_table_set(t, hash);
	struct sf_flow *f = &t->flows[set * SF_WAYS + way];

	WRITE_ONCE(t->tags[set], (t->tags[set] & ~sf_tag_at(0xff, way)) |
				 sf_tag_at(sf_tag(hash), way));
	t->assigned++;
	f->key = *key;
	sf_flow_forget(t, f);
	WRITE_ONCE(f->seen, now);
	return f;
}

/**
 * sf_table_get - the record of a flow, a fresh one if it has none
 * @t: the table
 * @f: that which sf_table_find() has found
 * @key: the flow
 * @hash: of its key
 * @now: jiffies
 *
 * Return: the record, whose time is the caller's to update, or NULL if there is
 * none, or no queue, to be had. Then the packet waits elsewhere, and for as long as
 * it does the caller has it counted by sf_overflow_add() for its set.
 */
static inline struct sf_flow *sf_table_get(struct sf_table *t, struct sf_flow *f,
					   const struct sf_flow_key *key,
					   u32 hash, u32 now)
{
	u32 set = sf_table_set(t, hash), way;

	if (likely(f)) {
		if (f->queue)
			return f;
		if (unlikely(!t->spares))
			t->queues_short = true;
		if (unlikely(t->queues_short && (!t->spares || t->overflow_of[set])))
			return NULL;
		if (unlikely(now - f->seen > t->idle)) {
			sf_flow_forget(t, f);
			t->assigned++;
		}
		return f;
	}
	if (unlikely(t->overflow_of[set] || !t->spares))
		return NULL;
	way = sf_table_victim(t, set, now);
	if (way == SF_WAYS)
		return NULL;
	return sf_table_assign(t, key, hash, way, now);
}

#endif
