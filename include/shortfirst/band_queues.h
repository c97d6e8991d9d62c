/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queues of two bands, so that inside a band no flow can hold the others back.
 *
 * Each band has `queues` of them, and a flow's packets go to the one that the first bits
 * of its hash name. Those with packets are a ring, and are served in turn, `quantum`
 * bytes each (deficit round robin):
 *
 *	band --> first --> [packet][packet]	whose turn it is, as long as deficit > 0
 *		   |
 *		 [packet]			then it goes to the end of the ring,
 *		   |				with a quantum more
 *		 [packet][packet][packet]
 *
 * A queue that gets its first packet joins at the end, so it gains nothing by having been
 * empty: what it has sent beyond a turn it still owes. With one queue a band is first
 * in, first out.
 *
 * Where both bands share a buffer that is full, the low one loses a packet, or the high
 * one if the low one has no more than its guarantee of the buffer, or has a share and a
 * single packet while the high one has more: it could not use its share otherwise. It
 * is the last packet of the band's longest queue. Lengths are in bytes, but none counts as
 * less than two quanta: or else a flood of tiny packets, one or two in each queue, would
 * push out every full one. Of equal ones one is drawn, or the same flow might lose each
 * time. But a queue that has few packets, where the others have many, counts as what it is:
 * drawn as often as a queue with eight, the one with a call's packet would lose as many. Few
 * are less than a third of the average, which hashing alone leaves to less than a fifth of them.
 */
#ifndef _SF_BAND_QUEUES_H
#define _SF_BAND_QUEUES_H

#include <linux/log2.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "alloc.h"
#include "bands.h"
#include "examined.h"

/* In quanta: no queue counts as shorter, */
#define SF_TURNS_ALIKE		2

/* but if it has less than this part of the packets that the queues have on average. */
#define SF_FEW_PART		3

/* So many queues are compared at a time to find the longest. */
#define SF_QUEUES_COMPARED	128

struct sf_band {
	struct sf_queue	*queues;
	u32		qlen;		/* packets and bytes in all of them */
	u32		backlog;
	u32		used;		/* queues with packets: the ring */
	u32		first;		/* of the ring, if there is one */
	u32		longest;	/* that was found last, */
	u32		hand;		/* and where the next search begins */
	/* statistics */
	u64		bytes;		/* sent */
	u32		packets;
	u32		drops;
};

struct sf_bands {
	struct sf_band	band[SF_BANDS];
	struct sf_guarantee guarantee;
	u32		queues;		/* in each band, a power of two */
	u32		shift;		/* a hash's first bits are its queue */
	u32		quantum;	/* bytes */
	u32		draw;		/* the last random number */
};

/* The row of the option of kinds that have such bands; SF_QUANTUM() is another */
#define SF_QUEUES(KIND, number)						\
	{								\
		SF_OPTION(KIND, QUEUES, number),			\
		SF_POWER("queues", TC_ ## KIND ## _QUEUES_MIN,		\
			 TC_ ## KIND ## _QUEUES_MAX),			\
		SF_FIXED("queues")					\
	}

/* All queues are empty: let none owe anything. */
static inline void sf_bands_restart(struct sf_bands *b)
{
	u32 i;

	b->guarantee.credit = 0;
	for (i = 0; b->band[SF_HIGH].queues && i < SF_BANDS * b->queues; i++)
		b->band[SF_HIGH].queues[i].deficit = b->quantum;
}

/**
 * sf_bands_init - allocate the queues
 * @b: the bands, zeroed but for the quantum
 * @queues: how many each band has, a power of two
 *
 * Return: 0 or -ENOMEM. Either way sf_bands_free() may follow.
 */
static inline int sf_bands_init(struct sf_bands *b, u32 queues)
{
	struct sf_queue *both = kvcalloc(SF_BANDS * queues, sizeof(*both), SF_GFP_TABLE);

	if (!both)
		return -ENOMEM;
	b->queues = queues;
	b->shift = 32 - ilog2(queues);
	b->draw = get_random_u32();
	b->band[SF_HIGH].queues = both;
	b->band[SF_LOW].queues = both + queues;
	sf_bands_restart(b);
	return 0;
}

static inline void sf_bands_free(struct sf_bands *b)
{
	kvfree(b->band[SF_HIGH].queues);
}

/* Whether it matters which flow a packet is of */
static inline bool sf_bands_hashed(const struct sf_bands *b)
{
	return b->queues > 1;
}

/* The queue of each band for the flows of a hash */
static inline u32 sf_bands_queue(const struct sf_bands *b, u32 hash)
{
	return (u64)hash >> b->shift;
}

/* Whose turn it is; a queue without packets if the band has none */
static inline struct sf_queue *sf_band_turn(const struct sf_band *band)
{
	return &band->queues[band->first];
}

/* Queue @i has got its first packet. */
static inline void sf_band_join(struct sf_band *band, u32 i)
{
	struct sf_queue *queues = band->queues;

	if (!band->used++) {
		queues[i].listed.next = i;
		queues[i].listed.prev = i;
		band->first = i;
		return;
	}
	sf_ring_add(queues, band->first, i);
}

/* It has lost its last one. */
static inline void sf_band_leave(struct sf_band *band, u32 i)
{
	band->used--;
	sf_ring_del(band->queues, i);
	if (band->first == i)
		band->first = band->queues[i].listed.next;
}

/* sf_band_append - put @skb at the end of queue @i of @band, and count it */
static __always_inline void sf_band_append(struct Qdisc *sch, struct sf_band *band, u32 i,
					   struct sk_buff *skb)
{
	if (!band->queues[i].qlen)
		sf_band_join(band, i);
	sf_append(sch, &band->queues[i], skb);
	band->qlen++;
	band->backlog += qdisc_pkt_len(skb);
}

/* @skb has left @band. */
static inline void sf_band_uncount(struct sf_band *band, const struct sk_buff *skb)
{
	band->qlen--;
	band->backlog -= qdisc_pkt_len(skb);
}

/* Let the turn go to the next of those that owe nothing; the ring has two queues or more. */
static noinline void sf_band_pass(const struct sf_bands *b, struct sf_band *band)
{
	struct sf_queue *queue;
	u32 passed;

	for (passed = 0; passed < SF_TURNS_PASSED; passed++) {
		sf_examined(passed);
		queue = sf_band_turn(band);
		if (queue->deficit > 0)
			return;
		queue->deficit += b->quantum;
		band->first = queue->listed.next;
	}
}

/* Queue @i has sent @len bytes: is its turn over? */
static __always_inline void sf_band_served(const struct sf_bands *b, struct sf_band *band,
					   u32 i, u32 len)
{
	struct sf_queue *queue = &band->queues[i];
	s32 most = SF_TURNS_OWED * b->quantum;

	queue->deficit = max(queue->deficit - (s32)min_t(u32, len, most), -most);
	if (!queue->qlen) {
		sf_band_leave(band, i);
		if (queue->deficit <= 0)
			queue->deficit += b->quantum;
	}
	queue = sf_band_turn(band);
	if (queue->deficit > 0)
		return;
	if (band->used > 1)
		sf_band_pass(b, band);
	else	/* Nobody waits for it: it owes nothing, though it may be empty now. */
		queue->deficit = b->quantum;
}

/* sf_band_take - take the packet of @band, which has one, that is to be sent */
static __always_inline struct sk_buff *sf_band_take(struct Qdisc *sch,
						    const struct sf_bands *b,
						    struct sf_band *band)
{
	u32 i = band->first;
	struct sk_buff *skb = sf_take_first(sch, &band->queues[i]);

	sf_band_uncount(band, skb);
	sf_band_served(b, band, i, qdisc_pkt_len(skb));
	return skb;
}

/* A packet of @band is on its way. */
static __always_inline void sf_band_sent(struct sf_band *band, const struct sk_buff *skb)
{
	band->packets++;
	band->bytes += qdisc_pkt_len(skb);
}

/* sf_bands_turn - the band that is served next; one of the two has packets */
static __always_inline struct sf_band *sf_bands_turn(struct sf_bands *b)
{
	return &b->band[sf_bands_next(&b->guarantee.credit, b->guarantee.percent,
				      sf_band_turn(&b->band[SF_HIGH]),
				      sf_band_turn(&b->band[SF_LOW]))];
}

/* sf_bands_victim - the band that is to lose a packet of a buffer that both share */
static inline struct sf_band *sf_bands_victim(struct sf_bands *b)
{
	struct sf_band *high = &b->band[SF_HIGH], *low = &b->band[SF_LOW];
	u32 percent = b->guarantee.percent;

	/* By packets, since bytes may have wrapped around to 0 (tc-stab(8)) */
	if (!high->qlen)
		return low;
	if (!low->qlen)
		return high;
	/* Without a packet the low band could not use its share, however little that is. */
	if (percent && low->qlen == 1 && high->qlen > 1)
		return high;
	if ((u64)low->backlog * (100 - percent) > (u64)high->backlog * percent)
		return low;
	return high;
}

static inline u32 sf_bands_random(struct sf_bands *b)
{
	b->draw = b->draw * 1664525 + 1013904223;
	return b->draw;
}

/* How long a queue counts: no less than @least, unless it has fewer than @few packets */
static __always_inline u64 sf_queue_length(const struct sf_queue *queue, u32 least, u32 few)
{
	return queue->qlen < few ? queue->backlog : max(queue->backlog, least);
}

/*
 * The longest queue of @band, which has packets. In a ring of more than can be compared at
 * a time it is the longest of some of them and of those that were compared before.
 */
static noinline u32 sf_band_longest(struct sf_bands *b, struct sf_band *band)
{
	u32 factor = sf_bands_random(b) | 1, add = sf_bands_random(b);
	u32 least = SF_TURNS_ALIKE * b->quantum;
	u32 few = DIV_ROUND_UP(band->qlen, SF_FEW_PART * band->used);
	const struct sf_queue *queues = band->queues;
	u32 count = min_t(u32, band->used, SF_QUEUES_COMPARED);
	u64 rank, most = 0;
	u32 i = band->first;

	if (queues[band->longest].qlen)
		most = sf_queue_length(&queues[band->longest], least, few) << 32;
	if (queues[band->hand].qlen)
		i = band->hand;
	for (; count; count--, i = queues[i].listed.next) {
		sf_examined(count - 1);
		/* What is behind the length is another number for each queue. */
		rank = sf_queue_length(&queues[i], least, few) << 32 |
		       (u32)(i * factor + add);
		if (rank >= most) {
			most = rank;
			band->longest = i;
		}
	}
	band->hand = i;
	return band->longest;
}

/* sf_band_drop - take the packet of @band, which has one, that is to be dropped */
static inline struct sk_buff *sf_band_drop(struct Qdisc *sch, struct sf_bands *b,
					   struct sf_band *band)
{
	u32 i = band->used > 1 ? sf_band_longest(b, band) : band->first;
	struct sk_buff *skb = sf_take_last(sch, &band->queues[i]);

	sf_band_uncount(band, skb);
	if (!band->queues[i].qlen)
		sf_band_leave(band, i);
	band->drops++;
	return skb;
}

#endif
