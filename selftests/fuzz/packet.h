/* SPDX-License-Identifier: GPL-2.0 */
/* Packets of all kinds, from a few bytes of the input. */
#ifndef _FUZZ_PACKET_H
#define _FUZZ_PACKET_H

#include <linux/etherdevice.h>
#include <linux/icmp.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include "kernel.h"

/* What a packet is: @shapes */
enum shape {
	TCP4, UDP4, TCP6, UDP6,		/* the usual ones */
	ICMP4, FRAGMENT4, OPTIONS4, NEXT_FRAGMENT4, VLAN_TCP4, VLAN2_UDP6, EXTENSION_TCP6,
	FRAGMENT_TCP6, IPIP_TCP4, GRE_UDP4, ARP, ETHER, AH_TCP6, EXTENSIONS_TCP6, VLAN_ARP,
	VLAN3_TCP4, BEFORE_DATA, ICMP6, SHAPES
};

struct recipe {
	enum shape	shape;
	u32		flow;		/* number: addresses and ports follow from it */
	u32		len;		/* bytes, from the Ethernet header on */
	u32		seq;		/* of TCP */
	u8		flags;
	u8		ecn;
	u32		linear;		/* bytes in the linear part, if there are as many */
	u16		gso_size;	/* 0: not GSO */
	bool		dodgy;		/* it does not say of how many segments */
	u32		cut;		/* the packet ends there, in its headers; 0: not */
};

struct writer {
	u8	bytes[PACKET_ROOM];
	u32	len;
	u32	network;
	u32	transport;
	u32	inner;		/* transport, in a tunnel; 0: not */
	__be16	proto;
};

static inline void *put(struct writer *w, u32 len)
{
	void *at = w->bytes + w->len;

	CHECK(w->len + len <= PACKET_ROOM);
	memset(at, 0, len);
	w->len += len;
	return at;
}

static inline void put_be16(struct writer *w, u16 value)
{
	__be16 *at = put(w, sizeof(*at));

	*at = htons(value);
}

/* Few hosts, with several flows each */
static inline u32 host_of(u32 flow)
{
	return flow % 11;
}

static inline void put_ip4(struct writer *w, const struct recipe *r, u8 protocol, u32 words,
			   u16 fragment)
{
	u32 header = 20 + words * 4;
	struct iphdr *ip;

	w->network = w->len;
	ip = put(w, header);
	ip->version = 4;
	ip->ihl = header / 4;
	ip->tos = r->ecn;
	ip->tot_len = htons(r->len - w->network);
	ip->frag_off = htons(fragment);
	ip->ttl = 64;
	ip->protocol = protocol;
	ip->saddr = htonl(0x0a000001 + host_of(r->flow));
	ip->daddr = htonl(0x0b000001 + r->flow % 3);
	w->transport = w->len;
}

static inline void put_ip6(struct writer *w, const struct recipe *r, u8 nexthdr)
{
	struct ipv6hdr *ip;

	w->network = w->len;
	ip = put(w, sizeof(*ip));
	ip->version = 6;
	ip->flow_lbl[0] = r->ecn << 4;
	ip->payload_len = htons(r->len - w->len);
	ip->nexthdr = nexthdr;
	ip->hop_limit = 64;
	ip->saddr.s6_addr32[0] = htonl(0x20010db8);
	ip->saddr.s6_addr32[3] = htonl(1 + host_of(r->flow));
	ip->daddr.s6_addr32[0] = htonl(0x20010db8);
	ip->daddr.s6_addr32[2] = htonl(1);
	ip->daddr.s6_addr32[3] = htonl(1 + r->flow % 3);
	w->transport = w->len;
}

static inline void put_ext6(struct writer *w, u8 nexthdr, u8 units)
{
	u8 *at = put(w, 8 + units * 8);

	at[0] = nexthdr;
	at[1] = units;
	w->transport = w->len;
}

static inline void put_tcp(struct writer *w, const struct recipe *r)
{
	struct tcphdr *th = put(w, sizeof(*th) + (r->flow & 1 ? 12 : 0));

	th->source = htons(1024 + (u16)r->flow);
	th->dest = htons(443);
	th->seq = htonl(r->seq);
	th->doff = r->flow & 1 ? 8 : 5;
	((u8 *)th)[13] = r->flags;
}

static inline void put_udp(struct writer *w, const struct recipe *r)
{
	struct udphdr *uh = put(w, sizeof(*uh));

	uh->source = htons(1024 + (u16)r->flow);
	uh->dest = htons(53);
	uh->len = htons(r->len - w->transport);
}

/* Headers, each of which says what is behind it */
enum header {
	END, TAG, PROVIDER_TAG, IP4, IP4_OPTIONS, IP4_FRAGMENT, IP4_NEXT_FRAGMENT, IP6, HOP_BY_HOP,
	DESTINATION, FRAGMENT, AUTHENTICATION, GRE, TCP, UDP, ICMP, ICMPV6, ARP_REQUEST, OTHER
};

static const struct {
	u16	ether;		/* by Ethernet */
	u8	ip;		/* by IP */
} numbers[] = {
	[TAG]			= { ETH_P_8021Q },
	[PROVIDER_TAG]		= { ETH_P_8021AD },
	[IP4]			= { ETH_P_IP, IPPROTO_IPIP },
	[IP4_OPTIONS]		= { ETH_P_IP },
	[IP4_FRAGMENT]		= { ETH_P_IP },
	[IP4_NEXT_FRAGMENT]	= { ETH_P_IP },
	[IP6]			= { ETH_P_IPV6 },
	[HOP_BY_HOP]		= { 0, IPPROTO_HOPOPTS },
	[DESTINATION]		= { 0, IPPROTO_DSTOPTS },
	[FRAGMENT]		= { 0, IPPROTO_FRAGMENT },
	[AUTHENTICATION]	= { 0, IPPROTO_AH },
	[GRE]			= { 0, IPPROTO_GRE },
	[TCP]			= { 0, IPPROTO_TCP },
	[UDP]			= { 0, IPPROTO_UDP },
	[ICMP]			= { 0, IPPROTO_ICMP },
	[ICMPV6]		= { 0, IPPROTO_ICMPV6 },
	[ARP_REQUEST]		= { ETH_P_ARP },
	[OTHER]			= { 0x88b5 },
};

static const struct {
	u8	headers[6];
	u32	gso;		/* what it could be of by the kernel, or not GSO */
} shapes[SHAPES] = {
	[TCP4]			= { { IP4, TCP }, SKB_GSO_TCPV4 },
	[UDP4]			= { { IP4, UDP }, SKB_GSO_UDP_L4 },
	[TCP6]			= { { IP6, TCP }, SKB_GSO_TCPV6 },
	[UDP6]			= { { IP6, UDP }, SKB_GSO_UDP_L4 },
	[ICMP4]			= { { IP4, ICMP } },
	[FRAGMENT4]		= { { IP4_FRAGMENT, TCP } },
	[OPTIONS4]		= { { IP4_OPTIONS, TCP }, SKB_GSO_TCPV4 },
	[NEXT_FRAGMENT4]	= { { IP4_NEXT_FRAGMENT, TCP } },
	[VLAN_TCP4]		= { { TAG, IP4, TCP }, SKB_GSO_TCPV4 },
	[VLAN2_UDP6]		= { { PROVIDER_TAG, TAG, IP6, UDP } },
	[EXTENSION_TCP6]	= { { IP6, HOP_BY_HOP, TCP }, SKB_GSO_TCPV6 },
	[FRAGMENT_TCP6]		= { { IP6, FRAGMENT, TCP } },
	[IPIP_TCP4]		= { { IP4, IP4, TCP }, SKB_GSO_TCPV4 },
	[GRE_UDP4]		= { { IP4, GRE, IP4, UDP } },
	[ARP]			= { { ARP_REQUEST } },
	[ETHER]			= { { OTHER } },
	[AH_TCP6]		= { { IP6, AUTHENTICATION, TCP } },
	[EXTENSIONS_TCP6]	= { { IP6, DESTINATION, TCP } },
	[VLAN_ARP]		= { { TAG, ARP_REQUEST } },
	[VLAN3_TCP4]		= { { TAG, TAG, TAG, IP4, TCP } },
	[BEFORE_DATA]		= { { IP4, TCP } },
	[ICMP6]			= { { IP6, ICMPV6 } },
};

/* Of what is in a tunnel it is the outer header that the kernel knows as the network's. */
static inline void put_inner_ip4(struct writer *w, const struct recipe *r, u8 protocol)
{
	u32 network = w->network, transport = w->transport;

	put_ip4(w, r, protocol, 0, 0);
	w->inner = w->transport;
	w->network = network;
	w->transport = transport;
}

static inline void put_destinations(struct writer *w, const struct recipe *r, u8 next)
{
	u32 i;

	for (i = 0; i < 4 + r->flow % 8; i++)
		put_ext6(w, IPPROTO_DSTOPTS, 0);
	put_ext6(w, r->flow % 5 ? next : IPPROTO_NONE, 0);
}

static inline void put_header(struct writer *w, const struct recipe *r, enum header which,
			      enum header behind)
{
	u16 ether = numbers[behind].ether;
	u8 next = numbers[behind].ip;

	switch (which) {
	case TAG:
	case PROVIDER_TAG:
		put_be16(w, 7);
		put_be16(w, ether);
		break;
	case IP4:
		if (w->transport > w->network)
			put_inner_ip4(w, r, next);
		else
			put_ip4(w, r, next, 0, 0);
		break;
	case IP4_OPTIONS:
		put_ip4(w, r, next, 1 + r->flow % 10, 0);
		break;
	case IP4_FRAGMENT:
		put_ip4(w, r, next, 0, IP_MF);
		break;
	case IP4_NEXT_FRAGMENT:
		put_ip4(w, r, next, 0, IP_MF | 100);
		break;
	case IP6:
		put_ip6(w, r, next);
		break;
	case HOP_BY_HOP:
		put_ext6(w, next, r->flow % 3);
		break;
	case DESTINATION:
		put_destinations(w, r, next);
		break;
	case FRAGMENT:
		put_ext6(w, next, 0);
		if (r->flow & 2)
			w->bytes[w->len - 5] = 0x81;
		break;
	case AUTHENTICATION:
		put_ext6(w, next, 1);
		break;
	case GRE:
		put_be16(w, 0);
		put_be16(w, ether);
		break;
	case TCP:
		put_tcp(w, r);
		break;
	case UDP:
		put_udp(w, r);
		break;
	case ICMP:
	case ICMPV6:
		put(w, sizeof(struct icmphdr));
		break;
	case ARP_REQUEST:
		put(w, sizeof(struct arphdr));
		break;
	default:
		put(w, 8);
	}
}

static inline void write_headers(struct writer *w, const struct recipe *r)
{
	const u8 *header = shapes[r->shape].headers;

	memset(w, 0, sizeof(*w));
	put(w, 12);
	put_be16(w, numbers[*header].ether);
	w->proto = ((__be16 *)w->bytes)[6];
	w->network = w->len;
	w->transport = w->len;
	for (; *header; header++)
		put_header(w, r, header[0], header[1]);
}

/* As the core sets them, before a qdisc sees the packet */
static inline void set_lengths(struct sk_buff *skb, const struct writer *w)
{
	struct skb_shared_info *shared = skb_shinfo(skb);
	u32 headers = w->len, segs = 1;

	if (shared->gso_size) {
		segs = shared->gso_segs;
		if (shared->gso_type & SKB_GSO_DODGY) {
			segs = DIV_ROUND_UP(skb->len - headers, shared->gso_size);
			shared->gso_segs = segs;
		}
	}
	qdisc_skb_cb(skb)->pkt_len = skb->len + (segs - 1) * headers;
	qdisc_skb_cb(skb)->pkt_segs = segs;
}

/* A packet; whoever gets it says that it has it. */
static inline struct packet *make_packet(const struct recipe *r)
{
	struct writer w;
	struct packet *packet;
	struct sk_buff *skb;
	u32 len, copied, linear;

	write_headers(&w, r);
	len = max(r->len, w.len + 1);
	if (r->cut)
		len = clamp(r->cut, ETH_HLEN, w.len);
	copied = min(w.len, len);
	/* What is in front of the network header is linear, and no more than a part of a page. */
	linear = min(len, clamp(r->linear, w.network, 2048U));
	packet = packet_new(w.bytes, copied, len, linear);
	skb = &packet->skb;
	skb->protocol = w.proto;
	skb_set_mac_header(skb, 0);
	skb_set_network_header(skb, r->shape == BEFORE_DATA ? -2 : (int)min(w.network, len));
	if (!r->cut)
		skb_set_transport_header(skb, w.transport);
	if (w.inner && r->gso_size) {
		skb->encapsulation = 1;
		skb_set_inner_transport_header(skb, w.inner);
	}
	if (r->gso_size && !r->cut && shapes[r->shape].gso) {
		struct skb_shared_info *shared = skb_shinfo(skb);

		shared->gso_size = r->gso_size;
		shared->gso_type = shapes[r->shape].gso;
		shared->gso_segs = DIV_ROUND_UP(len - w.len, r->gso_size);
		if (r->dodgy)
			shared->gso_type |= SKB_GSO_DODGY;
	}
	set_lengths(skb, &w);
	/* Whose key may be read in two ways is nobody's. */
	if (!r->cut && r->shape != BEFORE_DATA)
		packet->flow = 1 + (r->shape << 17 | (r->flow & 0x1ffff));
	return packet;
}

#endif
