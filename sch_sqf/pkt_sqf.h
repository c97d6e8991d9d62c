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
#include <shortfirst/pkt_shaper.h>

/* Values of TCA_SQF_POLICY: which queue is served next */
enum {
	TC_SQF_POLICY_SQF,	/* the shortest */
	TC_SQF_POLICY_LQF,	/* the longest */
	TC_SQF_POLICY_FQ,	/* each in turn, a quantum at a time */
	__TC_SQF_POLICY_MAX
};

#define TC_SQF_POLICY_MAX (__TC_SQF_POLICY_MAX - 1)

/* Values of TCA_SQF_HOSTS: who is a host */
enum {
	TC_SQF_HOSTS_NONE,
	TC_SQF_HOSTS_SRC,	/* a packet's source */
	TC_SQF_HOSTS_DST,	/* its destination */
	TC_SQF_HOSTS_BOTH,	/* each pair of the two */
	TC_SQF_HOSTS_MAX = TC_SQF_HOSTS_BOTH,
};

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
	TCA_SQF_QUANTUM,	/* u32, bytes a long flow sends in its turn */
#define TC_SQF_QUANTUM_MIN	256
#define TC_SQF_QUANTUM_MAX	1048576
	TCA_SQF_DROP_HEAD,	/* u32, 1: of a full buffer's queues the one that
				 * loses a packet loses its first, 0: its last
				 */
	TCA_SQF_SPLIT_GSO,	/* u32, TC_SF_SPLIT_* */
	TCA_SQF_FAIR,		/* u32, bytes; flows that have attained so much
				 * are long and take turns; 0: none are; under
				 * fq all are that are not new
				 */
#define TC_SQF_FAIR_MIN		16384
#define TC_SQF_FAIR_MAX		2147483647
	TCA_SQF_FORGIVE,	/* u32, bytes per second taken off what a flow
				 * has attained
				 */
#define TC_SQF_FORGIVE_MAX	2147483647
	TCA_SQF_FORGIVE_SHARE,	/* u32, percent of an equal part of the link's
				 * rate, which flows are forgiven while they have
				 * nothing waiting; streams one part or two,
				 * unless there are many; TCA_SQF_FORGIVE if that is
				 * more
				 */
#define TC_SQF_FORGIVE_SHARE_MAX	100
	TCA_SQF_BUFFER,		/* u32, ms; no more may wait than the link
				 * sends in this time; 0: no bound
				 */
#define TC_SQF_BUFFER_MIN	10
#define TC_SQF_BUFFER_MAX	60000
	TCA_SQF_NEWCOMERS,	/* u32, flows that may wait of which nothing was
				 * sent yet, but a quarter as many of each sort
				 * (TCP or not, over 512 bytes or not) in any case;
				 * 0: no bound
				 */
#define TC_SQF_NEWCOMERS_MAX	65535
	TCA_SQF_KNOWN_SHARE,	/* u32, percent of the bytes of all but long
				 * flows that newcomers leave to the others, on
				 * the link and in a full buffer; 0: a flow is
				 * like the others from its first packet on
				 */
#define TC_SQF_SHARE_MAX	99
	TCA_SQF_LONG_SHARE,	/* u32, percent of all bytes that are long flows',
				 * there as well, up to TC_SQF_SHARE_MAX, too
				 */
	TCA_SQF_TARGET,		/* u32, us; of CoDel for long flows; 0: none,
				 * nor is anything marked
				 */
#define TC_SQF_TARGET_MAX	2000000
	TCA_SQF_INTERVAL,	/* u32, us; of CoDel */
#define TC_SQF_INTERVAL_MIN	1000
#define TC_SQF_INTERVAL_MAX	2000000
	TCA_SQF_CE_THRESHOLD,	/* u32, us; what has waited for longer is marked
				 * by CoDel; 0: never
				 */
#define TC_SQF_CE_THRESHOLD_MAX	2000000
	TCA_SQF_ECN,		/* u32, 1: CoDel marks what can be marked */
	TCA_SQF_HOSTS,		/* u32, a TC_SQF_HOSTS_ value: whose flows share the link
				 * before flows do
				 */
	TCA_SQF_NAT,		/* u32, 1: a host's address is that before NAT */
	TCA_SQF_HOST_RECORDS,	/* u32, hosts that are known, a power of two; fixed
				 * once the qdisc exists
				 */
#define TC_SQF_HOST_RECORDS_MIN	8
#define TC_SQF_HOST_RECORDS_MAX	32768
	TCA_SQF_PAD,
	/* What is shaped with: pkt_shaper.h */
	TCA_SQF_RATE,		/* u64, bytes per second */
	TCA_SQF_OVERHEAD,	/* s32, bytes, or TC_SF_OVERHEAD_RAW */
	TCA_SQF_MPU,		/* u32, bytes */
	TCA_SQF_FRAMING,	/* u32, TC_SF_FRAMING_* */
	TCA_SQF_INGRESS,	/* u32, 1: what was dropped counts, too */
	__TCA_SQF_MAX
};

#define TCA_SQF_MAX (__TCA_SQF_MAX - 1)

/*
 * Classes: flows are listed as X:8000 and up: shortfirst/pkt_class.h.
 */

/* TCA_STATS_APP begins with one of these. */
enum {
	TC_SQF_XSTATS_QDISC,
	TC_SQF_XSTATS_FLOW,
};

/* A flow; only for CAP_NET_ADMIN */
struct tc_sqf_flow_xstats {
	__u32	type;		/* TC_SQF_XSTATS_FLOW */
	__u32	host;		/* flows of one number are one host's; 0: they are not
				 * told apart, 1: that of all who have no record
				 */
	__u64	attained;	/* bytes */
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
	__u64	overflow;	/* packets sent to the overflow queue, which is
				 * that of a long flow, for want of a record
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
	__u32	longest;	/* bytes in the queue that is to lose the next
				 * packet if the buffer is full, plain: the longest
				 */
	__u64	drop_buffer;	/* packets dropped because of buffer */
	__u64	drop_new;	/* packets of new flows that were not queued because
				 * of newcomers
				 */
	__u64	drop_codel;	/* packets of long flows that CoDel has dropped */
	__u64	marked;		/* packets of these that it has marked instead, and
				 * those marked because of ce_threshold
				 */
	__u32	flows_new;	/* flows that hold packets and of which none was
				 * sent yet
				 */
	__u32	flows_long;	/* long flows that hold packets, the overflow queue
				 * being one
				 */
	__u32	room;		/* bytes that may wait by buffer; 0: not known,
				 * the queue has not been busy for long
				 */
	__u32	reserved;
	__u64	host_evictions;	/* hosts forgotten before idle had passed */
	__u32	hosts_known;	/* records that hold a host, as with records */
	__u32	hosts_over;	/* hosts with packets in lists of their own: those
				 * with long flows or over their share
				 */
};

#endif
