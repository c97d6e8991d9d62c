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
 *
 * If all have packets, the newcomer's waits elsewhere, and as long as it does, so
 * do those of all newcomers to the set: with a record, a flow would pass by its
 * own earlier packets.
 */
#ifndef _SF_FLOW_TABLE_H
#define _SF_FLOW_TABLE_H

#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "flow_key.h"

#define SF_WAYS		8

/* What each kind's record begins with; a search reads the first 64 bytes. */
struct sf_flow {
	struct sf_flow_key key;
	u64		attained;	/* bytes served or waiting */
	u32		qlen;		/* packets */
	u32		seen;		/* jiffies when it last had a packet */
	struct sk_buff	*head;		/* the packets in order of arrival, */
	struct sk_buff	*tail;		/* linked by next and prev */
	u32		backlog;	/* bytes */
};

struct sf_table {
	u32		*tags;		/* a hash for each record, 0: unused */
	u32		*outside;	/* for each set: packets that wait
					 * elsewhere for want of a record
					 */
	void		*records;
	size_t		record_size;	/* bytes; a struct sf_flow comes first */
	u32		sets;
	u32		set_shift;	/* a hash's first bits are its set */
	u32		idle;		/* jiffies */
	struct sf_flow_secret secret;
	/* what a dump reads */
	u32		used;		/* records that hold a flow */
	u64		assigned;	/* times a flow was given a record */
	u64		evictions;	/* times another had to go for that */
};

/* Count in a field that a dump reads without the qdisc's lock. */
#define sf_count(field, n)			\
	do {					\
		typeof(field) *__f = &(field);	\
						\
		WRITE_ONCE(*__f, *__f + (n));	\
	} while (0)

static inline struct sf_flow *sf_table_at(const struct sf_table *t, u32 i)
{
	return t->records + i * t->record_size;
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
	t->sets = flows / SF_WAYS;
	t->set_shift = 32 - ilog2(t->sets);
	sf_flow_secret_init(&t->secret);
	t->tags = kvcalloc(flows, sizeof(*t->tags), GFP_KERNEL_ACCOUNT);
	t->outside = kvcalloc(flows / SF_WAYS, sizeof(*t->outside),
			      GFP_KERNEL_ACCOUNT);
	t->records = kvcalloc(flows, record_size, GFP_KERNEL_ACCOUNT);
	return t->tags && t->outside && t->records ? 0 : -ENOMEM;
}

/* sf_table_free - free the records; the table may never have got any */
static inline void sf_table_free(struct sf_table *t)
{
	kvfree(t->records);
	kvfree(t->outside);
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
		memset(t->tags, 0, t->sets * SF_WAYS * sizeof(*t->tags));
	if (t->outside)
		memset(t->outside, 0, t->sets * sizeof(*t->outside));
	WRITE_ONCE(t->used, 0);
}

/**
 * sf_table_get - the record of a flow, a fresh one if it has none
 * @t: the table
 * @key: the flow
 * @now: jiffies
 * @set: where the number of the flow's set goes
 *
 * Return: the record, whose time is the caller's to update, or NULL
 * if there is none to be had. Then the packet waits elsewhere, and for as long as
 * it does the caller has it counted in t->outside[set].
 */
static inline struct sf_flow *sf_table_get(struct sf_table *t,
					   const struct sf_flow_key *key,
					   u32 now, u32 *set)
{
	u32 hash = sf_flow_key_hash(key, &t->secret) ?: 1;
	u32 first, i, slot;
	struct sf_flow *f, *victim = NULL;

	*set = (u64)hash >> t->set_shift;
	first = *set * SF_WAYS;
	slot = first;
	for (i = first; i < first + SF_WAYS; i++) {
		if (t->tags[i] != hash)
			continue;
		f = sf_table_at(t, i);
		if (!sf_flow_key_equal(&f->key, key))
			continue;
		if (unlikely(!f->qlen && now - f->seen > t->idle)) {
			f->attained = 0;
			sf_count(t->assigned, 1);
		}
		return f;
	}
	if (unlikely(t->outside[*set]))
		return NULL;

	for (i = first; i < first + SF_WAYS; i++) {
		f = sf_table_at(t, i);
		if (!t->tags[i]) {
			sf_count(t->used, 1);
			goto take;
		}
		if (f->qlen)
			continue;
		if (now - f->seen > t->idle)
			goto take;
		if (!victim || f->attained < victim->attained) {
			victim = f;
			slot = i;
		}
	}
	if (!victim)
		return NULL;
	sf_count(t->evictions, 1);
	f = victim;
	i = slot;
take:
	sf_count(t->assigned, 1);
	t->tags[i] = hash;
	f->key = *key;
	f->attained = 0;
	f->seen = now;
	return f;
}

#endif
