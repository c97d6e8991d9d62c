/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sequence number of a TCP segment and how much data it has, without finding out which
 * flow it belongs to.
 *
 * Read are IPv4 with or without options and IPv6 with or without extension headers,
 * behind VLAN tags or not. Not looked into are tunnels, PPPoE, ESP, fragments after the
 * first, and what has more extension headers than anybody needs.
 */
#ifndef _SF_TCP_SEQ_H
#define _SF_TCP_SEQ_H

#include <net/ipv6.h>
#include "flow_key.h"

/* What a TCP segment's header says */
struct sf_tcp {
	u32	seq;		/* of its first byte */
	u32	data;		/* bytes; 0 if so little that it may be padding */
	bool	found;		/* false: it is something else, and seq is 0 */
	bool	syn;
};

/* @header: of TCP, anywhere in memory; @offset: of it from skb->data */
static inline struct sf_tcp sf_tcp_header(const struct sk_buff *skb, const void *header,
					  int offset)
{
	int end = offset + (((const u8 *)header)[SF_TCP_FLAGS_OFFSET - 1] >> 4) * 4;
	__be32 seq;

	memcpy(&seq, header + offsetof(struct tcphdr, seq), sizeof(seq));
	return (struct sf_tcp) {
		.seq	= be32_to_cpu(seq),
		.data	= skb->len > ETH_ZLEN ? max_t(int, skb->len - end, 0) : 0,
		.found	= true,
		.syn	= ((const u8 *)header)[SF_TCP_FLAGS_OFFSET] & SF_TCP_SYN,
	};
}

#define SF_EXTHDRS_MAX	8

/*
 * Step over IPv6 extension headers: the offset of the TCP header, or -1. Older kernels'
 * ipv6_skip_exthdr() goes on for as long as the packet does.
 */
static noinline int sf_tcp_skip_exthdrs(const struct sk_buff *skb, int offset, u8 nexthdr)
{
	const struct ipv6_opt_hdr *header;
	const struct frag_hdr *fragment;
	union {
		struct ipv6_opt_hdr header;
		struct frag_hdr fragment;
	} buf;
	int count;

	for (count = 0; nexthdr != IPPROTO_TCP; count++) {
		if (count == SF_EXTHDRS_MAX || nexthdr == NEXTHDR_NONE ||
		    !ipv6_ext_hdr(nexthdr))
			return -1;
		header = skb_header_pointer(skb, offset, sizeof(*header), &buf);
		if (!header)
			return -1;
		if (nexthdr == NEXTHDR_FRAGMENT) {
			fragment = skb_header_pointer(skb, offset, sizeof(*fragment), &buf);
			if (!fragment || fragment->frag_off & htons(IP6_OFFSET))
				return -1;
			nexthdr = fragment->nexthdr;
			offset += sizeof(*fragment);
			continue;
		}
		offset += nexthdr == NEXTHDR_AUTH ? ipv6_authlen(header) : ipv6_optlen(header);
		nexthdr = header->nexthdr;
	}
	return offset;
}

/* The same as sf_tcp_read() for headers that are unusual, or not in the linear part */
static noinline struct sf_tcp sf_tcp_search(const struct sk_buff *skb, struct sf_network at)
{
	int offset = at.header - skb->data;
	struct sf_tcp none = {};
	const struct ipv6hdr *ip6;
	const struct iphdr *ip;
	const u8 *header;
	union {
		struct iphdr ip;
		struct ipv6hdr ip6;
		struct tcphdr tcp;
	} buf;

	if (at.proto == htons(ETH_P_IP)) {
		ip = skb_header_pointer(skb, offset, sizeof(*ip), &buf);
		if (!ip || ip->version != 4 || ip->ihl < 5 || ip->frag_off & htons(IP_OFFSET))
			return none;
		if (ip->protocol != IPPROTO_TCP)
			return none;
		offset += ip->ihl * 4;
	} else {
		ip6 = skb_header_pointer(skb, offset, sizeof(*ip6), &buf);
		if (!ip6 || ip6->version != 6)
			return none;
		offset = sf_tcp_skip_exthdrs(skb, offset + sizeof(*ip6), ip6->nexthdr);
		if (offset < 0)
			return none;
	}
	header = skb_header_pointer(skb, offset, sizeof(buf.tcp), &buf);
	return header ? sf_tcp_header(skb, header, offset) : none;
}

/**
 * sf_tcp_read - the sequence number of a TCP segment, and its data
 * @skb: the packet, its network header set
 */
static __always_inline struct sf_tcp sf_tcp_read(const struct sk_buff *skb)
{
	struct sf_network at = { skb_network_header(skb), skb->protocol };
	const u8 *transport, *end = skb_tail_pointer(skb);
	const struct iphdr *ip;
	u8 nexthdr;

	if (at.proto != htons(ETH_P_IP) && at.proto != htons(ETH_P_IPV6)) {
		at = sf_flow_skip_tags(skb);
		if (at.proto != htons(ETH_P_IP) && at.proto != htons(ETH_P_IPV6))
			return (struct sf_tcp) {};
	}
	if (unlikely(at.header < skb->data))
		return (struct sf_tcp) {};
	if (at.proto == htons(ETH_P_IP)) {
		ip = (const struct iphdr *)at.header;
		transport = at.header + sizeof(*ip);
		if (likely(transport + sizeof(struct tcphdr) <= end && *at.header == 0x45 &&
			   !(ip->frag_off & htons(IP_OFFSET))))
			return ip->protocol == IPPROTO_TCP ?
				sf_tcp_header(skb, transport, transport - skb->data) :
				(struct sf_tcp) {};
	} else {
		transport = at.header + sizeof(struct ipv6hdr);
		if (likely(transport + sizeof(struct tcphdr) <= end && *at.header >> 4 == 6)) {
			nexthdr = ((const struct ipv6hdr *)at.header)->nexthdr;
			if (likely(nexthdr == IPPROTO_TCP))
				return sf_tcp_header(skb, transport, transport - skb->data);
			if (nexthdr == IPPROTO_UDP)
				return (struct sf_tcp) {};
		}
	}
	return sf_tcp_search(skb, at);
}

#endif
