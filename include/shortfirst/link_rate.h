/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rate of the link, known from what has left while the queue was not empty, and
 * what may wait: no more bytes than the link sends in `buffer`. So one default is right
 * for 1 Mbit/s and for 10 Gbit/s, where a limit in packets is not.
 */
#ifndef _SF_LINK_RATE_H
#define _SF_LINK_RATE_H

#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

/* How long the rate is measured, and the mark of not knowing it */
#define SF_MEASURE		(HZ / 8)
#define SF_ROOM_UNKNOWN		U32_MAX

struct sf_link_rate {
	u32	buffer;		/* jiffies; 0: what waits is not bounded */
	u32	least;		/* bytes that may wait however low the rate is */
	u32	room;		/* bytes that may wait now: @sends, or @least if that is more */
	u32	sends;		/* bytes that it sends in `buffer`, if that is bounded */
	u32	from;		/* jiffies: what has been sent since */
	u64	sent;
	u64	measured;	/* bytes sent in the last whole measurement */
};

/* Begin to measure; until the rate is known, @room is what may wait. */
static inline void sf_link_measure(struct sf_link_rate *link, u32 room)
{
	link->room = room;
	link->from = jiffies;
	link->sent = 0;
}

/* Nothing is known of the link: it was idle, or is another one. */
static inline void sf_link_forget(struct sf_link_rate *link)
{
	sf_link_measure(link, SF_ROOM_UNKNOWN);
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
 * Return: 0, or the jiffies in which what is in @link->measured was sent, if that is
 * known now.
 */
static inline u32 sf_link_sent(struct sf_link_rate *link, u32 len)
{
	u32 elapsed = (u32)jiffies - link->from;

	link->sent += len;
	if (elapsed < SF_MEASURE)
		return 0;
	link->measured = link->sent;
	link->sends = SF_ROOM_UNKNOWN;
	if (link->buffer)
		link->sends = min_t(u64, div_u64(link->sent * link->buffer, elapsed),
				    SF_ROOM_UNKNOWN);
	sf_link_measure(link, max(link->sends, link->least));
	return elapsed;
}

/* For a dump: the bytes that may wait, 0 if nothing is known of the link */
static inline u32 sf_link_room(const struct sf_link_rate *link)
{
	return link->room == SF_ROOM_UNKNOWN ? 0 : link->room;
}

#endif
