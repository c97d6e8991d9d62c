/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two bands. The high one goes first; but while both have packets, `guarantee` percent of
 * the bytes are the low one's. What is inside a band is told by band_queues.h.
 */
#ifndef _SF_BANDS_H
#define _SF_BANDS_H

#include "sched.h"

/* What a queue has sent beyond its turn counts up to so many quanta. */
#define SF_TURNS_OWED		64

/* So many queues are passed over at a time, since they owe. */
#define SF_TURNS_PASSED		64

enum { SF_HIGH, SF_LOW, SF_BANDS };

/* The low band's claim: bytes * percent */
struct sf_guarantee {
	u64	credit;
	u32	percent;
};

/*
 * sf_bands_next - the band that is served next; one of the two has packets
 *
 * @credit is the low band's claim and @percent its part; @high and @low are the queues from which
 * the bands would send.
 */
static __always_inline u32 sf_bands_next(u64 *credit, u32 percent, const struct sf_queue *high,
					 const struct sf_queue *low)
{
	u64 price;

	if (!low->qlen) {
		*credit = 0;
		return SF_HIGH;
	}
	if (!high->qlen)
		return SF_LOW;
	if (!percent)
		return SF_HIGH;
	price = (u64)qdisc_pkt_len(low->head) * (100 - percent);
	if (*credit >= price) {
		*credit -= price;
		return SF_LOW;
	}
	*credit += (u64)qdisc_pkt_len(high->head) * percent;
	return SF_HIGH;
}

#endif
