/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the run2c qdisc: shared by module, tc plugin and tests.
 *
 * All attributes are optional and nested under TCA_OPTIONS, which must carry
 * NLA_F_NESTED. What a request leaves out keeps its value (on creation: its
 * default). A request with one bad value changes nothing.
 *
 * Sections are those of Avrachenkov, Ayesta, Brown, Nyberg: Differentiation between
 * short and long TCP flows, 2004.
 */
#ifndef _UAPI_PKT_RUN2C_H
#define _UAPI_PKT_RUN2C_H

#include <linux/types.h>
#include <shortfirst/pkt_shaper.h>

/* Values of TCA_RUN2C_OTHER */
#define TC_RUN2C_OTHER_HIGH	0
#define TC_RUN2C_OTHER_LOW	1
#define TC_RUN2C_OTHER_COUNT	2

/* Options. Of a range both ends are good. */
enum {
	TCA_RUN2C_UNSPEC,
	TCA_RUN2C_LIMIT,	/* u32, packets (skbs) in all */
#define TC_RUN2C_LIMIT_MIN	1
#define TC_RUN2C_LIMIT_MAX	1000000
	TCA_RUN2C_MEMORY_LIMIT,	/* u32, bytes of skb truesize in all */
#define TC_RUN2C_MEMORY_MIN	4096
#define TC_RUN2C_MEMORY_MAX	2147483647
	TCA_RUN2C_FLOWS,	/* u32, records of flows, a power of two;
				 * fixed once the qdisc exists
				 */
#define TC_RUN2C_FLOWS_MIN	8
#define TC_RUN2C_FLOWS_MAX	1048576
	TCA_RUN2C_THRESHOLD,	/* u32, bytes, a power of two: segments of
				 * lower rank are high; section III
				 */
#define TC_RUN2C_THRESHOLD_MIN	1024
#define TC_RUN2C_THRESHOLD_MAX	1073741824
	TCA_RUN2C_SPAN,		/* u32, bytes, a power of two: the distance of
				 * the numbers that connections may begin with;
				 * section III
				 */
#define TC_RUN2C_SPAN_MIN	4096
#define TC_RUN2C_SPAN_MAX	2147483648
	TCA_RUN2C_ORDER,	/* u32, 1: by rank, not in two bands (RuN);
				 * section II-A
				 */
	TCA_RUN2C_LEARN,	/* u32, 1: remember the number that each
				 * connection begins with
				 */
	TCA_RUN2C_OTHER,	/* u32, one of TC_RUN2C_OTHER_...: where packets
				 * go that are not TCP; _COUNT: by how much
				 * their flow has sent lately
				 */
	TCA_RUN2C_GUARANTEE,	/* u32, percent of the bytes that are the low
				 * band's while both have packets
				 */
#define TC_RUN2C_GUARANTEE_MAX	99
	TCA_RUN2C_SPLIT_GSO,	/* u32, TC_SF_SPLIT_* */
	TCA_RUN2C_BUFFER,	/* u32, ms: no more waits than the link sends
				 * in this time, by its measured rate; 0: only
				 * the limits
				 */
#define TC_RUN2C_BUFFER_MIN	10
#define TC_RUN2C_BUFFER_MAX	60000
	TCA_RUN2C_QUEUES,	/* u32, queues in each band, a power of two;
				 * 1: it is a FIFO; fixed once the qdisc exists
				 */
#define TC_RUN2C_QUEUES_MIN	1
#define TC_RUN2C_QUEUES_MAX	4096
	TCA_RUN2C_QUANTUM,	/* u32, bytes that a queue sends at its turn */
#define TC_RUN2C_QUANTUM_MIN	256
#define TC_RUN2C_QUANTUM_MAX	1048576
	TCA_RUN2C_LINGER,	/* u32, ms; a connection that is reset is
				 * forgotten if it is silent for so long; 0: at
				 * once
				 */
#define TC_RUN2C_LINGER_MAX	60000
	TCA_RUN2C_RESENT,	/* u32, percent: so much of what `learn` has
				 * seen before counts as sent; 0: nothing
				 */
#define TC_RUN2C_RESENT_MAX	100
	TCA_RUN2C_SLOW,		/* u32, bytes per second; a flow that is counted
				 * and slower than that is high; 0: none is
				 */
#define TC_RUN2C_SLOW_MIN	1000
#define TC_RUN2C_SLOW_MAX	1000000000
	TCA_RUN2C_PAD,
	/* What is shaped with: pkt_shaper.h */
	TCA_RUN2C_RATE,		/* u64, bytes per second */
	TCA_RUN2C_OVERHEAD,	/* s32, bytes, or TC_SF_OVERHEAD_RAW */
	TCA_RUN2C_MPU,		/* u32, bytes */
	TCA_RUN2C_FRAMING,	/* u32, TC_SF_FRAMING_* */
	TCA_RUN2C_INGRESS,	/* u32, 1: what was dropped counts, too */
	__TCA_RUN2C_MAX
};

#define TCA_RUN2C_MAX	(__TCA_RUN2C_MAX - 1)

/* Minors of classes: for tc filters, and flows that have a record (shortfirst/pkt_class.h) */
enum {
	TC_RUN2C_CLASS_HIGH	= 1,
	TC_RUN2C_CLASS_LOW	= 2,
	TC_RUN2C_CLASS_FLOWS	= 0x8000,
};

enum {
	TC_RUN2C_XSTATS_QDISC,
	TC_RUN2C_XSTATS_FLOW,
};

struct tc_run2c_band {
	__u64	bytes;		/* sent */
	__u32	packets;
	__u32	backlog;	/* bytes waiting */
	__u32	qlen;		/* packets waiting */
	__u32	drops;		/* packets, because of any limit */
};

/* TCA_STATS_APP of the qdisc. With TCA_RUN2C_ORDER all that waits is the low band's. */
struct tc_run2c_xstats {
	__u32	type;		/* TC_RUN2C_XSTATS_QDISC */
	__u32	memory;		/* bytes of skb truesize queued now */
	__u64	drop_limit;	/* packets dropped because of limit, also
				 * when it was lowered
				 */
	__u64	drop_memory;	/* the same for memory_limit */
	__u64	drop_buffer;	/* the same for buffer */
	__u64	gso_split;	/* GSO packets that were split */
	__u64	tcp;		/* packets that had a rank */
	__u64	other;		/* packets that had none */
	__u64	flows_learned;	/* times a flow was given a record */
	__u64	evictions;	/* flows forgotten before idle had passed,
				 * to make room for another
				 */
	__u64	overflow;	/* packets or bundles that found no room
				 * in the table
				 */
	__u32	records;	/* used */
	__u32	records_peak;
	__u32	flows_queued;	/* flows with a record and packets now */
	__u32	memory_peak;
	__u32	room;		/* bytes that may wait by buffer; 0: unknown */
	__u32	unused;
	struct tc_run2c_band high;
	struct tc_run2c_band low;
	__u32	high_queues;	/* with packets; 0 with TCA_RUN2C_ORDER */
	__u32	low_queues;
};

/* TCA_STATS_APP of a flow's class */
struct tc_run2c_flow_xstats {
	__u32	type;		/* TC_RUN2C_XSTATS_FLOW */
	__u32	unused;
	__u64	rank;		/* bytes from its first to its last so far, or
				 * that are counted against it
				 */
};

#endif
