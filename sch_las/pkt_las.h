/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of the las qdisc: shared by module, tc plugin and tests.
 *
 * All attributes are optional and nested under TCA_OPTIONS, which must carry
 * NLA_F_NESTED. What a request leaves out keeps its value (on creation: its
 * default). A request with one bad value changes nothing.
 */
#ifndef _UAPI_PKT_LAS_H
#define _UAPI_PKT_LAS_H

#include <linux/types.h>
#include <shortfirst/pkt_shaper.h>

/* Values of TCA_LAS_HOSTS: who is a host */
enum {
	TC_LAS_HOSTS_NONE,
	TC_LAS_HOSTS_SRC,	/* a packet's source */
	TC_LAS_HOSTS_DST,	/* its destination */
	TC_LAS_HOSTS_BOTH,	/* each pair of the two */
	TC_LAS_HOSTS_MAX = TC_LAS_HOSTS_BOTH,
};

/* Options. Of a range both ends are good. */
enum {
	TCA_LAS_UNSPEC,
	TCA_LAS_LIMIT,		/* u32, packets (skbs) in the queue */
#define TC_LAS_LIMIT_MIN	1
#define TC_LAS_LIMIT_MAX	1000000
	TCA_LAS_MEMORY_LIMIT,	/* u32, bytes of skb truesize in the queue */
#define TC_LAS_MEMORY_MIN	4096
#define TC_LAS_MEMORY_MAX	2147483647
	TCA_LAS_FLOWS,		/* u32, flow records, a power of two; fixed once the qdisc
				 * exists. For each 32 there is one for a host.
				 */
#define TC_LAS_FLOWS_MIN	8
#define TC_LAS_FLOWS_MAX	1048576
	TCA_LAS_SPLIT_GSO,	/* u32, TC_SF_SPLIT_* */
	TCA_LAS_BUFFER,		/* u32, ms; no more may wait than the link sends in this
				 * time; 0: no bound
				 */
#define TC_LAS_BUFFER_MIN	10
#define TC_LAS_BUFFER_MAX	60000
	TCA_LAS_PLAIN,		/* u32, 1: the policy as published. When it changes, BUFFER
				 * and TARGET become 0, or their defaults, unless given.
				 */
	TCA_LAS_LOG,		/* u32, thousandths of the K by which flows of the
				 * priority class rank: (log2 x)^(1/K), x attained in
				 * 1500 bytes (las-rai2004 section 6)
				 */
#define TC_LAS_LOG_MIN		250
#define TC_LAS_LOG_MAX		4000
	TCA_LAS_TARGET,		/* u32, us; CoDel's, for bulk flows; its interval is 20
				 * times that, with INGRESS 10 times; 0: no CoDel
				 */
#define TC_LAS_TARGET_MAX	2000000
	TCA_LAS_ECN,		/* u32, 1: CoDel marks what can be marked */
	TCA_LAS_HOSTS,		/* u32, a TC_LAS_HOSTS_ value: between whose flows the
				 * link is shared before it is between flows
				 */
	TCA_LAS_NAT,		/* u32, 1: a host's address is that before NAT */
	TCA_LAS_PAD,
	/* The shaper's: pkt_shaper.h */
	TCA_LAS_RATE,		/* u64, bytes per second */
	TCA_LAS_OVERHEAD,	/* s32, bytes, or TC_SF_OVERHEAD_RAW */
	TCA_LAS_MPU,		/* u32, bytes */
	TCA_LAS_FRAMING,	/* u32, TC_SF_FRAMING_* */
	TCA_LAS_INGRESS,	/* u32, 1: what was dropped counts, too */
	__TCA_LAS_MAX
};

#define TCA_LAS_MAX (__TCA_LAS_MAX - 1)

/*
 * Classes. X:1 and X:2 are where tc filters and skb->priority send packets; the
 * flows are listed as X:8000 and up: shortfirst/pkt_class.h.
 */
enum {
	TC_LAS_CLASS_ORDINARY = 1,
	TC_LAS_CLASS_PRIORITY = 2,	/* ranks by log */
	TC_LAS_CLASS_FLOWS = 0x8000,
};

/* TCA_STATS_APP begins with one of these. */
enum {
	TC_LAS_XSTATS_QDISC,
	TC_LAS_XSTATS_FLOW,
};

/* A flow; only for CAP_NET_ADMIN */
struct tc_las_flow_xstats {
	__u32	type;		/* TC_LAS_XSTATS_FLOW */
	__u32	host;		/* flows of one number are one host's; 0: they are not
				 * told apart, 1: that of all who have no record
				 */
	__u64	attained;	/* bytes */
};

/* The qdisc. Fields are only ever appended: readers take what is there. */
struct tc_las_xstats {
	__u32	type;		/* TC_LAS_XSTATS_QDISC */
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
	__u32	flows_queued;	/* flows that hold packets now, the overflow
				 * queue being one
				 */
	__u32	records;	/* records that hold a flow; one silent for
				 * longer than idle counts until its record
				 * is used again
				 */
	__u32	memory_peak;	/* the most memory has been */
	__u32	room;		/* bytes that may wait by buffer; 0: not known,
				 * the queue has not been busy for long
				 */
	__u64	gso_split;	/* GSO packets that were split */
	__u64	drop_buffer;	/* packets dropped because of buffer */
	__u64	drop_new;	/* packets of new flows that were not queued, since
				 * too many new flows waited
				 */
	__u64	drop_codel;	/* packets of long flows that CoDel has dropped */
	__u64	marked;		/* packets of these that it has marked instead */
	__u32	flows_new;	/* flows that hold packets and of which none was
				 * sent yet
				 */
	__u32	flows_long;	/* long flows that hold packets, the overflow queue
				 * being one
				 */
	__u64	host_evictions;	/* hosts forgotten before idle had passed */
	__u32	hosts_known;	/* records that hold a host, as with records */
	__u32	hosts_over;	/* hosts with packets in lists of their own: those
				 * with long flows or over their share
				 */
};

#endif
