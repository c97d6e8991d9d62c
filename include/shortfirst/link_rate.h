/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rate of the link, known from what has left while the queue was not empty or from what
 * is set (shaper.h), and what may wait: no more bytes than the link sends in `buffer`. So one
 * default is right for 1 Mbit/s and for 10 Gbit/s, where a limit in packets is not.
 */
#ifndef _SF_LINK_RATE_H
#define _SF_LINK_RATE_H

#include <linux/bits.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

/* How long the rate is measured, and the mark of not knowing it */
#define SF_MEASURE		(HZ / 8)
#define SF_ROOM_UNKNOWN		U32_MAX

/*
 * A rate that is set counts as no more, bytes per second, nor what is sent in a measurement: tc's
 * stab may say that a packet has any length.
 */
#define SF_RATE_MOST		BIT_ULL(40)

struct sf_link_rate {
	u32	buffer;		/* jiffies; 0: what waits is not bounded */
	u32	least;		/* bytes that may wait however low the rate is */
	u32	room;		/* bytes that may wait now: @sends, or @least if that is more */
	u32	sends;		/* bytes that it sends in `buffer`, if that is bounded */
	u32	sends_ms;	/* bytes that it sends in a millisecond; U32_MAX: not known */
	u32	from;		/* jiffies: what has been sent since */
	u32	elapsed;	/* jiffies in which `measured` was sent */
	u64	sent;
	u64	measured;	/* bytes sent in the last whole measurement; 0: not known */
	u64	set;		/* bytes that are sent in SF_MEASURE, if a rate is set; else 0 */
};

/* Begin to measure; until the rate is known, @room is what may wait. */
static inline void sf_link_measure(struct sf_link_rate *link, u32 room)
{
	link->room = room;
	link->from = jiffies;
	link->sent = 0;
}

/* The link sends so many bytes in so many jiffies. */
static inline void sf_link_know(struct sf_link_rate *link, u64 bytes, u32 elapsed)
{
	link->measured = bytes;
	link->elapsed = elapsed;
	link->sends = SF_ROOM_UNKNOWN;
	if (link->buffer)
		link->sends = min_t(u64, div_u64(bytes * link->buffer, elapsed), SF_ROOM_UNKNOWN);
	link->room = max(link->sends, link->least);
	link->sends_ms = min_t(u64, div64_u64(bytes * HZ, (u64)elapsed * MSEC_PER_SEC), U32_MAX);
}

/* Nothing is known of the link but its rate, if that is set. */
static inline void sf_link_forget(struct sf_link_rate *link)
{
	sf_link_measure(link, SF_ROOM_UNKNOWN);
	link->measured = 0;
	link->sends_ms = U32_MAX;
	if (link->set)
		sf_link_know(link, link->set, SF_MEASURE);
}

/* Before anything is known: so much may wait however low its rate is */
static inline void sf_link_begin(struct sf_link_rate *link, u32 least)
{
	link->least = least;
	sf_link_forget(link);
}

/*
 * Its rate is set, in bytes per second; U64_MAX: it is to be measured, or has been. What waits is
 * no more than it sends in @buffer jiffies; 0: that is not bounded.
 */
static inline void sf_link_set(struct sf_link_rate *link, u64 rate, u32 buffer)
{
	u64 set = 0;

	if (rate != U64_MAX)
		set = mul_u64_u32_div(min(rate, SF_RATE_MOST), SF_MEASURE, HZ) ?: 1;
	swap(link->set, set);
	link->buffer = buffer;
	if (link->set)
		sf_link_know(link, link->set, SF_MEASURE);
	else if (set)
		sf_link_forget(link);
	else if (link->measured)
		sf_link_know(link, link->measured, link->elapsed);
}

/* The link was idle: measure anew, and believe what was measured until then. */
static inline void sf_link_restart(struct sf_link_rate *link)
{
	sf_link_measure(link, link->room);
}

/**
 * sf_link_sent - a packet is on its way
 * @link: the link
 * @len: its bytes
 *
 * Return: whether @link->measured is another one now
 */
static inline bool sf_link_sent(struct sf_link_rate *link, u32 len)
{
	u32 elapsed = (u32)jiffies - link->from;

	link->sent += len;
	if (elapsed < SF_MEASURE)
		return false;
	if (link->set) {
		/* However long nothing was asked for: what comes of it is to fit. */
		elapsed = min_t(u32, elapsed, 10 * HZ);
		sf_link_know(link, mul_u64_u32_div(link->set, elapsed, SF_MEASURE), elapsed);
	} else {
		sf_link_know(link, min(link->sent, SF_RATE_MOST), elapsed);
	}
	sf_link_measure(link, link->room);
	return true;
}

/* For a dump: the bytes that may wait, 0 if nothing is known of the link */
static inline u32 sf_link_room(const struct sf_link_rate *link)
{
	return link->room == SF_ROOM_UNKNOWN ? 0 : link->room;
}

#endif
