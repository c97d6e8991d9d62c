/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of what all kinds tell of flows and hosts: the attributes in TCA_OPTIONS of a
 * class, in answer to a dump (RTM_GETTCLASS). They are read only.
 *
 *	class	TCA_SF_CLASS_TYPE	is
 *	X:8000	FLOW			a flow that is remembered, with packets or without: 0x8000
 *					and TCA_SF_CLASS_RECORD
 *	X:9000	OVERFLOW		all flows without a record, if there were any: the number
 *					after that of the last record; las and sqf
 *	X:4002	HOST			a host: 0x4000 and TCA_SF_CLASS_HOST; las and sqf
 *
 * A number beyond X:ffff, or X:7fff if it is a host's, is told as that, so that readers go by the
 * attributes. The classes X:1 and X:2, which tc filters name, are not listed.
 *
 * las and sqf tell of every flow. run2c and sift tell of those with a record, if they need one, and
 * only of the packets in the low band when it comes to what waits. What is in the high one counts
 * as sent already, and as dropped never.
 *
 * No class is listed without CAP_NET_ADMIN in the network namespace. Both the process that reads
 * the dump and the opener of its socket need it.
 *
 * An attribute is left out where there is nothing to tell. More may be appended: readers leave
 * alone what they do not know. What waits is in TCA_STATS2: TCA_STATS_QUEUE (backlog; qlen, 0 of
 * hosts; drops; overlimits: marked), what was sent in TCA_STATS_BASIC and TCA_STATS_PKT64.
 */
#ifndef _UAPI_PKT_CLASS_H
#define _UAPI_PKT_CLASS_H

#include <linux/types.h>

enum {
	TCA_SF_CLASS_UNSPEC,
	TCA_SF_CLASS_TYPE,	/* u32, TC_SF_CLASS_* */
	TCA_SF_CLASS_RECORD,	/* u32, number of the flow's record */
	TCA_SF_CLASS_SORT,	/* u32, TC_SF_SORT_* of a flow */
	TCA_SF_CLASS_HOST,	/* u32, number of the host, or of the flow's; 1: all who have no
				 * record; left out: hosts are not told apart, or it is not known
				 * any more
				 */
	TCA_SF_CLASS_ETHERTYPE,	/* u16, network byte order */
	TCA_SF_CLASS_PROTO,	/* u8, of IP */
	TCA_SF_CLASS_SRC,	/* 4 or 16 bytes, network byte order */
	TCA_SF_CLASS_DST,
	TCA_SF_CLASS_SPORT,	/* u16, network byte order */
	TCA_SF_CLASS_DPORT,
	TCA_SF_CLASS_NAMED,	/* u32, the host that a tc filter has named */
	TCA_SF_CLASS_ATTAINED,	/* u64, bytes that count now in which sort a flow is: what was
				 * forgiven does not; run2c: how far it has come, or what is in its
				 * bucket
				 */
	TCA_SF_CLASS_BYTES,	/* u64, sent since the record is the flow's or the host's */
	TCA_SF_CLASS_PACKETS,	/* u64, the same */
	TCA_SF_CLASS_DROPS,	/* u32, packets that were dropped meanwhile, but not those of
				 * newcomers that were refused, which have no record; a host's are
				 * with these; wraps
				 */
	TCA_SF_CLASS_MARKS,	/* u32, times that CoDel has marked one; wraps */
	TCA_SF_CLASS_WAITED,	/* u32, us that the flow's first packet has waited, to a jiffy if it
				 * is no long one; las, sqf
				 */
	TCA_SF_CLASS_SILENT,	/* u32, ms since the last packet of what has none now */
	TCA_SF_CLASS_FLOWS,	/* u32, flows of the host that have packets */
	TCA_SF_CLASS_LEVEL,	/* u32, bytes of its share that the host has had lately, if it has
				 * a record
				 */
	TCA_SF_CLASS_OVER,	/* u32, 1: the host is over its share, 0: it is not */
	TCA_SF_CLASS_INNER,	/* u32, the kernel's hash of a flow in a tunnel that begins on this
				 * machine; it has no ports. SRC, DST and PROTO are the tunnel's.
				 */
	TCA_SF_CLASS_PAD,
	__TCA_SF_CLASS_MAX
};

#define TCA_SF_CLASS_MAX (__TCA_SF_CLASS_MAX - 1)

/* Values of TCA_SF_CLASS_TYPE */
enum {
	TC_SF_CLASS_UNSPEC,
	TC_SF_CLASS_FLOW,
	TC_SF_CLASS_HOST,
	TC_SF_CLASS_OVERFLOW,	/* all flows that have no record */
};

/* Values of TCA_SF_CLASS_SORT; a flow without packets is what it was with its last one */
enum {
	TC_SF_SORT_UNSPEC,
	TC_SF_SORT_NEW,		/* nothing of it was served yet */
	TC_SF_SORT_SHORT,	/* it goes first */
	TC_SF_SORT_LONG,	/* it takes turns with others after these */
};

#endif
