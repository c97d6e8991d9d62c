/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the sqf qdisc: shared by module, tc plugin and tests.
 *
 * All attributes are optional and nested under TCA_OPTIONS, which must carry
 * NLA_F_NESTED. What a request leaves out keeps its value (on creation: its
 * default). A request with one bad value changes nothing.
 */
#ifndef _UAPI_PKT_SQF_H
#define _UAPI_PKT_SQF_H

#include <linux/types.h>

/* Values of TCA_SQF_POLICY: which queue is served next */
enum {
	TC_SQF_POLICY_SQF,	/* the shortest */
	TC_SQF_POLICY_LQF,	/* the longest */
	TC_SQF_POLICY_FQ,	/* each in turn, a quantum at a time */
	__TC_SQF_POLICY_MAX
};

#define TC_SQF_POLICY_MAX (__TC_SQF_POLICY_MAX - 1)

/* Options. Of a range both ends are good. */
enum {
	TCA_SQF_UNSPEC,
	TCA_SQF_LIMIT,		/* u32, packets (skbs) in all queues */
#define TC_SQF_LIMIT_MIN	1
#define TC_SQF_LIMIT_MAX	1000000
	TCA_SQF_MEMORY_LIMIT,	/* u32, bytes of skb truesize in all queues */
#define TC_SQF_MEMORY_MIN	4096
#define TC_SQF_MEMORY_MAX	2147483647
	TCA_SQF_FLOWS,		/* u32, flow records, a power of two; fixed
				 * once the qdisc exists
				 */
#define TC_SQF_FLOWS_MIN	8
#define TC_SQF_FLOWS_MAX	1048576
	TCA_SQF_IDLE,		/* u32, ms; a flow silent for longer is
				 * forgotten
				 */
#define TC_SQF_IDLE_MIN		1
#define TC_SQF_IDLE_MAX		86400000
	TCA_SQF_POLICY,		/* u32, TC_SQF_POLICY_* */
	TCA_SQF_QUANTUM,	/* u32, bytes a flow sends in a round of fq */
#define TC_SQF_QUANTUM_MIN	256
#define TC_SQF_QUANTUM_MAX	1048576
	TCA_SQF_DROP_HEAD,	/* u32, 1: the longest queue loses its first
				 * packet, 0: its last
				 */
	TCA_SQF_SPLIT_GSO,	/* u32, 1: queue the segments of a GSO packet,
				 * 0: queue it whole
				 */
	__TCA_SQF_MAX
};

#define TCA_SQF_MAX (__TCA_SQF_MAX - 1)

/*
 * Classes: the flows that hold packets are listed as X:8000 and up, by the number
 * of their record, as far as that fits. They have no statistics but those of a
 * queue.
 */

/* TCA_STATS_APP begins with this. */
enum {
	TC_SQF_XSTATS_QDISC,
};

/* The qdisc. Fields are only ever appended: readers take what is there. */
struct tc_sqf_xstats {
	__u32	type;		/* TC_SQF_XSTATS_QDISC */
	__u32	memory;		/* bytes of skb truesize queued now */
	__u64	drop_limit;	/* packets dropped because of limit, also
				 * when it was lowered
				 */
	__u64	drop_memory;	/* the same for memory_limit */
	__u64	flows_seen;	/* times a flow began: it was given a record,
				 * or came back after idle
				 */
	__u64	evictions;	/* flows forgotten before idle had passed,
				 * to make room for another
				 */
	__u64	overflow;	/* packets sent to the overflow queue, which
				 * is served last, for want of a record
				 */
	__u64	gso_split;	/* GSO packets that were split */
	__u32	flows_queued;	/* flows that hold packets now, the overflow
				 * queue being one
				 */
	__u32	records;	/* records that hold a flow; one silent for
				 * longer than idle counts until its record
				 * is used again
				 */
	__u32	memory_peak;	/* the most memory has been */
	__u32	longest;	/* bytes in the longest queue now */
};

#endif
