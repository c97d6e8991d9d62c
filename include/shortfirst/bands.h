/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two bands, each first in, first out. The high one goes first; but while both have
 * packets, `guarantee` percent of the bytes are the low one's. Where they share a buffer,
 * the last packet of the low one goes when it is full, or that of the high one if the low
 * one has no more than these percent of the buffer, or has a share and a single packet
 * while the high one has more: it could not use its share otherwise.
 */
#ifndef _SF_BANDS_H
#define _SF_BANDS_H

#include "sched.h"

enum { SF_HIGH, SF_LOW, SF_BANDS };

struct sf_band {
	struct sf_queue	queue;
	u64		bytes;		/* sent */
	u32		packets;
	u32		drops;
};

/* The low band's claim: bytes * percent */
struct sf_guarantee {
	u64	credit;
	u32	percent;
};

/* sf_bands_next - the band that is served next; one of the two has packets */
static __always_inline u32 sf_bands_next(struct sf_guarantee *g, const struct sf_queue *high,
					 const struct sf_queue *low)
{
	u64 price;

	if (!low->qlen) {
		g->credit = 0;
		return SF_HIGH;
	}
	if (!high->qlen)
		return SF_LOW;
	if (!g->percent)
		return SF_HIGH;
	price = (u64)qdisc_pkt_len(low->head) * (100 - g->percent);
	if (g->credit >= price) {
		g->credit -= price;
		return SF_LOW;
	}
	g->credit += (u64)qdisc_pkt_len(high->head) * g->percent;
	return SF_HIGH;
}

/* sf_bands_victim - the band that is to lose a packet of a buffer that both share */
static __always_inline u32 sf_bands_victim(const struct sf_guarantee *g,
					   const struct sf_queue *high,
					   const struct sf_queue *low)
{
	/* By packets, since bytes may have wrapped around to 0 (tc-stab(8)) */
	if (!high->qlen)
		return SF_LOW;
	if (!low->qlen)
		return SF_HIGH;
	/* Without a packet the low band could not use its share, however little that is. */
	if (g->percent && low->qlen == 1 && high->qlen > 1)
		return SF_HIGH;
	if ((u64)low->backlog * (100 - g->percent) > (u64)high->backlog * g->percent)
		return SF_LOW;
	return SF_HIGH;
}

/* A packet of @band is on its way. */
static __always_inline void sf_band_sent(struct sf_band *band, const struct sk_buff *skb)
{
	band->packets++;
	band->bytes += qdisc_pkt_len(skb);
}

#endif
