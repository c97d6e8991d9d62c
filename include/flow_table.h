/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A table of flow records of fixed size: exact and bounded.
 *
 *	hash(key) --> set:  | record | record | ... | record |   8 ways
 *
 * A flow may be in any record of its set. The keys themselves are compared, so
 * two flows never share a record; tags, the full hashes, spare most of the
 * comparisons. A flow silent for longer than the idle time is forgotten: not by
 * a timer, but when it comes back or its record is wanted.
 *
 * When a newcomer finds its set full, the record without packets that has
 * attained least goes, since it loses least. A record with packets never goes.
 */
#ifndef _SF_FLOW_TABLE_H
#define _SF_FLOW_TABLE_H

#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "flow_key.h"

#define SF_WAYS		8

/* What each kind's record begins with */
struct sf_flow {
	struct sf_flow_key key;
	struct sk_buff	*head;		/* the packets of the flow in order of */
	struct sk_buff	*tail;		/* arrival, linked by next and prev */
	u64		attained;	/* bytes served or waiting */
	u32		qlen;		/* packets */
	u32		backlog;	/* bytes */
	u32		seen;		/* jiffies at the last arrival */
};

struct sf_table {
	u32		*tag;		/* a hash for each record, 0: unused */
	void		*record;
	size_t		record_size;	/* bytes; a struct sf_flow comes first */
	u32		set_mask;
	u32		idle;		/* jiffies */
	hsiphash_key_t	secret;
	u32		used;		/* records that hold a flow */
	u64		seen;		/* times a flow was given a record */
	u64		evictions;	/* times another had to go for that */
};

static inline struct sf_flow *sf_table_at(const struct sf_table *t, u32 i)
{
	return t->record + i * t->record_size;
}

/**
 * sf_table_init - allocate the records
 * @t: the table, zeroed
 * @flows: number of records, a power of two, at least SF_WAYS
 * @record_size: bytes of a record
 *
 * Return: 0 or -ENOMEM. Either way sf_table_free() may follow.
 */
static inline int sf_table_init(struct sf_table *t, u32 flows,
				size_t record_size)
{
	t->record_size = record_size;
	t->set_mask = flows / SF_WAYS - 1;
	get_random_bytes(&t->secret, sizeof(t->secret));
	t->tag = kvcalloc(flows, sizeof(*t->tag), GFP_KERNEL);
	t->record = kvcalloc(flows, record_size, GFP_KERNEL);
	return t->tag && t->record ? 0 : -ENOMEM;
}

static inline u32 sf_table_size(const struct sf_table *t)
{
	return (t->set_mask + 1) * SF_WAYS;
}

static inline void sf_table_free(struct sf_table *t)
{
	kvfree(t->record);
	kvfree(t->tag);
}

/* Forget all flows; none may hold packets. */
static inline void sf_table_clear(struct sf_table *t)
{
	memset(t->tag, 0, sf_table_size(t) * sizeof(*t->tag));
	t->used = 0;
}

/**
 * sf_table_get - the record of a flow, a fresh one if it has none
 * @t: the table
 * @key: the flow
 * @now: jiffies
 *
 * Return: the record, or NULL if all records of its set hold packets.
 */
static inline struct sf_flow *sf_table_get(struct sf_table *t,
					   const struct sf_flow_key *key,
					   u32 now)
{
	u32 hash = sf_flow_key_hash(key, &t->secret) ?: 1;
	u32 first = (hash & t->set_mask) * SF_WAYS;
	u32 free = 0;
	struct sf_flow *f, *best = NULL;
	u32 i;

	for (i = first; i < first + SF_WAYS; i++) {
		if (t->tag[i] != hash)
			continue;
		f = sf_table_at(t, i);
		if (!sf_flow_key_equal(&f->key, key))
			continue;
		if (unlikely(!f->qlen && now - f->seen > t->idle)) {
			f->attained = 0;
			t->seen++;
		}
		f->seen = now;
		return f;
	}

	for (i = first; i < first + SF_WAYS; i++) {
		f = sf_table_at(t, i);
		if (!t->tag[i]) {
			best = f;
			free = i;
			t->used++;
			goto found;
		}
		if (f->qlen)
			continue;
		if (now - f->seen > t->idle) {
			best = f;
			free = i;
			goto found;
		}
		if (!best || f->attained < best->attained) {
			best = f;
			free = i;
		}
	}
	if (!best)
		return NULL;
	t->evictions++;
found:
	t->seen++;
	t->tag[free] = hash;
	best->key = *key;
	best->attained = 0;
	best->seen = now;
	return best;
}

#endif
