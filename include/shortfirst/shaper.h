/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A shaper, so that the queue is here and not in the modem behind: the wire is busy for as long as
 * a packet takes on it at `rate`, and until then the next one has to wait.
 *
 *	sent	|==== A ====|= B =|==== C ====|		|=== D ===|
 *	wire	|==== A ====|= B =|==== C ====| idle	|=== D ===|
 *					      ^ next	^ D comes: from now on
 *
 * `next` is when the wire is free, in ns and a fraction, so that nothing is rounded away. A timer
 * wakes the queue then. What the timer is late is made up for, up to SF_SHAPER_LATE: packets
 * follow each other faster until `next` is ahead of the clock again. A wire that had nothing to
 * send saves nothing up.
 *
 * What a packet takes on the wire is its length as the kernel has it, or that of IP and `overhead`,
 * no less than `mpu`, in the cells of ATM or the words of PTM. Of a GSO packet that was not split
 * it is the sum over its segments.
 *
 * With `ingress` what was dropped has used the link before it came here. It is a debt, which is
 * paid back by waiting half as long again for each packet that is sent, so that two thirds of the
 * rate are left however much is dropped.
 *
 * All of this is under the root qdisc's lock, but for the timer, which only asks for a dequeue.
 */
#ifndef _SF_SHAPER_H
#define _SF_SHAPER_H

#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include "options.h"
#include "pkt_shaper.h"

#define SF_SHAPER_LATE		max_t(s64, 4 * NSEC_PER_MSEC, TICK_NSEC)	/* ns */

/* The debt is no more than the link sends in 1/4 s, and is forgotten after so long without work. */
#define SF_SHAPER_OWED		4

/* Headers of a segment, and a packet: who tells of more is not believed. Bytes */
#define SF_HEADERS_MOST		256
#define SF_PACKET_MOST		(S32_MAX / 2)

/* The options; their values are in pkt_shaper.h */
struct sf_shaping {
	u64	rate;
	s32	overhead;
	u32	mpu;
	u32	framing;
	bool	ingress;
};

struct sf_shaper {
	bool	limited;	/* there is a rate; else nothing here is used */
	bool	idle;		/* nothing waited when the last packet left, nor since */
	bool	plain;		/* the kernel's lengths are those on the wire */
	u32	byte_ns;	/* a byte takes so long, */
	u32	byte_frac;	/* and so many parts of 2^32 of a ns */
	u32	frac;		/* of `next` */
	u64	next;		/* ns; the wire is busy until then */
	u32	debt;		/* bytes on the wire, of dropped packets */
	u32	debt_max;
	struct sf_shaping opt;
	struct qdisc_watchdog watchdog;
};

/* The rows of the options, which all kinds have */
#define SF_RATE(KIND)							\
	{								\
		SF_OPTION(KIND, RATE, TC_SF_RATE_UNLIMITED),		\
		.policy = NLA_POLICY_FULL_RANGE(NLA_U64,		\
			&((struct netlink_range_validation) { 1, U64_MAX })), \
		.refusal = SF_KIND ": rate must be at least 1 byte per second" \
	}

#define SF_OVERHEAD(KIND)						\
	{								\
		SF_OPTION(KIND, OVERHEAD, (s64)TC_SF_OVERHEAD_RAW),	\
		.policy = NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32,		\
			&((struct netlink_range_validation_signed)	\
				{ TC_SF_OVERHEAD_RAW, TC_SF_OVERHEAD_MAX })), \
		.refusal = SF_KIND ": overhead must be -64 to 256 bytes, or -65 (raw)" \
	}

#define SF_MPU(KIND)							\
	{								\
		SF_OPTION(KIND, MPU, 0),				\
		SF_RANGE("mpu", 0, TC_SF_MPU_MAX, " bytes")		\
	}

#define SF_FRAMING(KIND)						\
	{								\
		SF_OPTION(KIND, FRAMING, TC_SF_FRAMING_NONE),		\
		SF_OTHER(0, TC_SF_FRAMING_MAX,				\
			 "framing must be 0 (noatm), 1 (atm) or 2 (ptm)") \
	}

#define SF_INGRESS(KIND)						\
	{								\
		SF_OPTION(KIND, INGRESS, 0),				\
		SF_SWITCH("ingress")					\
	}

/* What a packet of so many bytes takes on the wire */
static inline u32 sf_wire_bytes(const struct sf_shaping *opt, s32 len)
{
	if (opt->overhead != TC_SF_OVERHEAD_RAW)
		len += opt->overhead;
	len = max_t(s32, len, opt->mpu);
	if (opt->framing == TC_SF_FRAMING_ATM)
		len = DIV_ROUND_UP(len, 48) * 53;
	else if (opt->framing == TC_SF_FRAMING_PTM)
		len += DIV_ROUND_UP(len, 64);
	return len;
}

/* The bytes of a GSO packet that each of its segments has again, from the link header on */
static inline u32 sf_gso_headers(const struct sk_buff *skb)
{
	bool inner = skb->encapsulation;
	int at = inner ? skb_inner_transport_offset(skb) : skb_transport_offset(skb);
	const struct tcphdr *th;
	struct tcphdr buf;

	if (!(skb_shinfo(skb)->gso_type & (SKB_GSO_TCPV4 | SKB_GSO_TCPV6)))
		return at + sizeof(struct udphdr);
	th = skb_header_pointer(skb, at, sizeof(buf), &buf);
	return at + (th ? __tcp_hdrlen(th) : 0);
}

/**
 * sf_wire_len - what a packet takes on the wire
 * @opt: the options
 * @skb: the packet, its network header set
 *
 * Return: bytes, of all segments if it is GSO
 */
static noinline u32 sf_wire_len(const struct sf_shaping *opt, const struct sk_buff *skb)
{
	s32 link = opt->overhead == TC_SF_OVERHEAD_RAW ? 0 : skb_network_offset(skb);
	u32 size = skb_shinfo(skb)->gso_size, headers, segs, last;

	if (!size || !skb_transport_header_was_set(skb))
		return sf_wire_bytes(opt, min_t(u32, qdisc_pkt_len(skb), SF_PACKET_MOST) - link);
	headers = min_t(u32, sf_gso_headers(skb), SF_HEADERS_MOST);
	/* What comes from outside may tell of more segments than it has, or of fewer. */
	segs = skb->len > headers ? DIV_ROUND_UP(skb->len - headers, size) : 1;
	last = skb->len - size * (segs - 1);
	return sf_wire_bytes(opt, size + headers - link) * (segs - 1) +
	       sf_wire_bytes(opt, last - link);
}

static inline u32 sf_shaper_len(const struct sf_shaper *sh, const struct sk_buff *skb)
{
	return likely(sh->plain) ? qdisc_pkt_len(skb) : sf_wire_len(&sh->opt, skb);
}

static noinline bool sf_shaper_waits_now(struct Qdisc *sch, struct sf_shaper *sh)
{
	u64 now = ktime_get_ns();
	s64 late = now - sh->next;

	if (late < 0) {
		sh->idle = false;
		qdisc_qstats_overlimit(sch);
		qdisc_watchdog_schedule_ns(&sh->watchdog, sh->next);
		return true;
	}
	if (!sh->idle) {
		sh->next = max_t(s64, sh->next, now - SF_SHAPER_LATE);
		return false;
	}
	if (late > NSEC_PER_SEC / SF_SHAPER_OWED)
		sh->debt = 0;
	sh->next = now;
	return false;
}

/* Must the next packet wait? There is one. Then the timer will ask for it. */
static __always_inline bool sf_shaper_waits(struct Qdisc *sch, struct sf_shaper *sh)
{
	return unlikely(sh->limited) && sf_shaper_waits_now(sch, sh);
}

static noinline void sf_shaper_charge(struct sf_shaper *sh, const struct sk_buff *skb)
{
	u32 len = sf_shaper_len(sh, skb), paid;
	u64 frac;

	if (unlikely(sh->debt)) {
		paid = min(sh->debt, len / 2);
		sh->debt -= paid;
		len += paid;
	}
	frac = (u64)len * sh->byte_frac + sh->frac;
	sh->next += (u64)len * sh->byte_ns + (frac >> 32);
	sh->frac = frac;
}

/* A packet is on its way, and there are @more or not. */
static __always_inline void sf_shaper_sent(struct sf_shaper *sh, const struct sk_buff *skb,
					   bool more)
{
	if (likely(!sh->limited))
		return;
	sf_shaper_charge(sh, skb);
	sh->idle = !more;
}

/* A packet was dropped. */
static inline void sf_shaper_dropped(struct sf_shaper *sh, const struct sk_buff *skb)
{
	if (likely(!sh->opt.ingress || !sh->limited))
		return;
	sh->debt = min_t(u64, (u64)sh->debt + sf_shaper_len(sh, skb), sh->debt_max);
}

/* All that waited is gone. */
static inline void sf_shaper_reset(struct sf_shaper *sh)
{
	sh->idle = true;
	sh->next = 0;
	sh->debt = 0;
	qdisc_watchdog_cancel(&sh->watchdog);
}

/*
 * Let it be as the options; @more packets wait or not. With another rate the wire is busy for as
 * many bytes as before, and whoever waits may go earlier than the timer thinks.
 */
static inline void sf_shaper_set(struct sf_shaper *sh, const struct sf_shaping *opt, bool more)
{
	bool limited = opt->rate != TC_SF_RATE_UNLIMITED;
	u64 now = ktime_get_ns(), byte;

	sh->plain = opt->overhead == TC_SF_OVERHEAD_RAW && !opt->mpu &&
		    opt->framing == TC_SF_FRAMING_NONE;
	if (!opt->ingress || !limited)
		sh->debt = 0;
	if (opt->rate != sh->opt.rate) {
		if (!limited || !sh->limited || sh->next <= now)
			sh->next = now;
		else
			sh->next = now + mul_u64_u64_div_u64(sh->next - now, sh->opt.rate,
							     opt->rate);
		byte = div64_u64((u64)NSEC_PER_SEC << 32, opt->rate);
		sh->byte_ns = byte >> 32;
		sh->byte_frac = byte;
		sh->debt_max = min_t(u64, div_u64(opt->rate, SF_SHAPER_OWED), U32_MAX / 2);
		sh->debt = min(sh->debt, sh->debt_max);
		sh->limited = limited;
		sh->idle = !more;
		if (more)
			qdisc_watchdog_schedule_ns(&sh->watchdog, sh->next);
	}
	sh->opt = *opt;
}

#endif
