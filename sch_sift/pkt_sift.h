/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the sift qdisc: shared by module, tc plugin and tests.
 *
 * All attributes are optional and nested under TCA_OPTIONS, which must carry
 * NLA_F_NESTED. What a request leaves out keeps its value (on creation: its
 * default). A request with one bad value changes nothing.
 *
 * Sections are those of Psounis, Ghosh, Prabhakar: SIFT, a low-complexity scheduler
 * for reducing flow delays in the Internet, 2004.
 */
#ifndef _UAPI_PKT_SIFT_H
#define _UAPI_PKT_SIFT_H

#include <linux/types.h>
#include <shortfirst/pkt_shaper.h>

#define TC_SIFT_ONE		1000000000	/* a probability of 1 */

/* Bits of TCA_SIFT_RED */
#define TC_SIFT_HIGH		1
#define TC_SIFT_LOW		2

/* Options. Of a range both ends are good. */
enum {
	TCA_SIFT_UNSPEC,
	TCA_SIFT_LIMIT,		/* u32, packets (skbs) in both bands */
#define TC_SIFT_LIMIT_MIN	1
#define TC_SIFT_LIMIT_MAX	1000000
	TCA_SIFT_MEMORY_LIMIT,	/* u32, bytes of skb truesize in both bands */
#define TC_SIFT_MEMORY_MIN	4096
#define TC_SIFT_MEMORY_MAX	2147483647
	TCA_SIFT_FLOWS,		/* u32, records of sampled flows, a power of
				 * two; fixed once the qdisc exists
				 */
#define TC_SIFT_FLOWS_MIN	8
#define TC_SIFT_FLOWS_MAX	1048576
	TCA_SIFT_PROBABILITY,	/* u32, of a packet to be sampled, in
				 * TC_SIFT_ONE; section 2. Not used if
				 * TCA_SIFT_EVERY is
				 */
	TCA_SIFT_EVERY,		/* u32, sample each so many-th packet; 0: at
				 * random; section 5
				 */
#define TC_SIFT_EVERY_MAX	1000000
	TCA_SIFT_SAMPLES,	/* u32, a flow with so many samples is long;
				 * section 3.2, T_s
				 */
#define TC_SIFT_SAMPLES_MIN	1
#define TC_SIFT_SAMPLES_MAX	65535
	TCA_SIFT_BYTES,		/* u32, 1: it is bytes that are sampled, 1500
				 * being as good as a packet, 0: packets
				 */
	TCA_SIFT_SLOW,		/* u32, bytes per second; a flow slower than
				 * that is not sent low; 0: it is; section 4.4
				 */
#define TC_SIFT_SLOW_MIN	1000
#define TC_SIFT_SLOW_MAX	1000000000
	TCA_SIFT_GUARANTEE,	/* u32, percent of the link that is the low
				 * band's whenever it has packets; section 4.2
				 */
#define TC_SIFT_GUARANTEE_MAX	99
	TCA_SIFT_HIGH,		/* u32, packets in the high band; 0: up to
				 * limit
				 */
	TCA_SIFT_LOW,		/* u32, the same for the low band */
	TCA_SIFT_RED,		/* u32, the bands with RED: TC_SIFT_HIGH,
				 * TC_SIFT_LOW, both or 0; section 4
				 */
	TCA_SIFT_RED_MIN,	/* u32, packets; below this average none is
				 * dropped
				 */
	TCA_SIFT_RED_MAX,	/* u32, packets; from this on all are */
#define TC_SIFT_RED_MAX		16384
	TCA_SIFT_RED_PROBABILITY, /* u32, of a drop at RED_MAX, in TC_SIFT_ONE */
	TCA_SIFT_RED_WEIGHT,	/* u32, N: a packet changes the average by
				 * 2^-N of what it differs
				 */
#define TC_SIFT_WEIGHT_MIN	1
#define TC_SIFT_WEIGHT_MAX	16
	TCA_SIFT_RED_BANDWIDTH,	/* u32, bytes per second, how fast the average
				 * declines while a band is empty
				 */
	TCA_SIFT_ECN,		/* u32, 1: RED marks what can be marked */
	TCA_SIFT_SPLIT_GSO,	/* u32, TC_SF_SPLIT_* */
	TCA_SIFT_SEED,		/* u32, of what is random, to get the same
				 * again; 0: nobody knows it. Each request
				 * that has it begins anew
				 */
	TCA_SIFT_BUFFER,	/* u32, ms: no more waits than the link sends
				 * in this time; 0: up to the limits
				 */
#define TC_SIFT_BUFFER_MIN	10
#define TC_SIFT_BUFFER_MAX	60000
	TCA_SIFT_QUEUES,	/* u32, queues in each band, a power of two;
				 * 1: it is a FIFO; fixed once the qdisc exists
				 */
#define TC_SIFT_QUEUES_MIN	1
#define TC_SIFT_QUEUES_MAX	4096
	TCA_SIFT_QUANTUM,	/* u32, bytes that a queue sends at its turn */
#define TC_SIFT_QUANTUM_MIN	256
#define TC_SIFT_QUANTUM_MAX	1048576
	TCA_SIFT_LINGER,	/* u32, ms; a flow that is said to have ended is
				 * forgotten if it is silent for so long; 0: at
				 * once
				 */
#define TC_SIFT_LINGER_MAX	60000
	TCA_SIFT_PAD,
	/* What is shaped with: pkt_shaper.h */
	TCA_SIFT_RATE,		/* u64, bytes per second */
	TCA_SIFT_OVERHEAD,	/* s32, bytes, or TC_SF_OVERHEAD_RAW */
	TCA_SIFT_MPU,		/* u32, bytes */
	TCA_SIFT_FRAMING,	/* u32, TC_SF_FRAMING_* */
	TCA_SIFT_INGRESS,	/* u32, 1: what was dropped counts, too */
	__TCA_SIFT_MAX
};

#define TCA_SIFT_MAX (__TCA_SIFT_MAX - 1)

/*
 * Classes: X:1 and X:2 are for filters and skb->priority to name: such packets go to
 * that band and are not sampled. Flows with a record are listed
 * as X:8000 and up: shortfirst/pkt_class.h.
 */
enum {
	TC_SIFT_CLASS_HIGH = 1,
	TC_SIFT_CLASS_LOW = 2,
	TC_SIFT_CLASS_FLOWS = 0x8000,
};

/* TCA_STATS_APP begins with one of these. */
enum {
	TC_SIFT_XSTATS_QDISC,
	TC_SIFT_XSTATS_FLOW,
};

/* What has passed through a band, and is in it */
struct tc_sift_band {
	__u64	bytes;		/* sent */
	__u32	packets;	/* sent */
	__u32	backlog;	/* bytes in it now */
	__u32	qlen;		/* packets in it now */
	__u32	drops;		/* packets it has lost for want of room */
	__u32	early;		/* packets that RED has dropped */
	__u32	marked;		/* packets that RED has marked */
};

/* The qdisc. Fields are only ever appended: readers take what is there. */
struct tc_sift_xstats {
	__u32	type;		/* TC_SIFT_XSTATS_QDISC */
	__u32	memory;		/* bytes of skb truesize queued now */
	__u64	drop_limit;	/* packets dropped because of limit, also
				 * when it was lowered
				 */
	__u64	drop_memory;	/* the same for memory_limit */
	__u64	drop_band;	/* the same for high and low */
	__u64	drop_buffer;	/* the same for buffer */
	__u64	samples;	/* so far; a packet may be several */
	__u64	flows_sampled;	/* times a flow was given a record */
	__u64	evictions;	/* flows forgotten before idle had passed,
				 * to make room for another
				 */
	__u64	overflow;	/* samples lost, since all records of the
				 * set had packets
				 */
	__u64	gso_split;	/* GSO packets that were split */
	__u32	records;	/* sampled flows; one silent for longer than
				 * idle counts until its record is used again
				 */
	__u32	records_peak;	/* the most there have been */
	__u32	flows_queued;	/* of them, those with packets in the low
				 * band
				 */
	__u32	memory_peak;	/* the most memory has been */
	__u32	room;		/* bytes that buffer lets wait; 0: the rate
				 * of the link is not known
				 */
	__u32	unused;
	struct tc_sift_band high;
	struct tc_sift_band low;
	__u32	high_queues;	/* with packets */
	__u32	low_queues;
};

/* A flow of the low band */
struct tc_sift_flow_xstats {
	__u32	type;		/* TC_SIFT_XSTATS_FLOW */
	__u32	samples;	/* so far */
};

#endif
