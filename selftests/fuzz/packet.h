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

/* What a packet is; bits of the input's byte */
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

static inline void put_ip4(struct writer *w, const struct recipe *r, u8 protocol, u32 words)
{
	u32 header = 20 + words * 4;
	struct iphdr *ip;

	w->network = w->len;
	ip = put(w, header);
	ip->version = 4;
	ip->ihl = header / 4;
	ip->tos = r->ecn;
	ip->tot_len = htons(r->len - w->network);
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

static inline void put_tag(struct writer *w, u16 next)
{
	put_be16(w, 7);
	put_be16(w, next);
}

static inline void write_headers(struct writer *w, const struct recipe *r)
{
	struct iphdr *ip;
	u32 outer, i;

	memset(w, 0, sizeof(*w));
	put(w, 12);
	switch (r->shape) {
	case VLAN_TCP4:
	case VLAN_ARP:
	case VLAN3_TCP4:
		put_be16(w, ETH_P_8021Q);
		break;
	case VLAN2_UDP6:
		put_be16(w, ETH_P_8021AD);
		break;
	case TCP6:
	case UDP6:
	case EXTENSION_TCP6:
	case EXTENSIONS_TCP6:
	case FRAGMENT_TCP6:
	case AH_TCP6:
	case ICMP6:
		put_be16(w, ETH_P_IPV6);
		break;
	case ARP:
		put_be16(w, ETH_P_ARP);
		break;
	case ETHER:
		put_be16(w, 0x88b5);
		break;
	default:
		put_be16(w, ETH_P_IP);
	}
	w->proto = ((__be16 *)w->bytes)[6];
	w->network = w->len;
	w->transport = w->len;

	switch (r->shape) {
	case TCP4:
	case BEFORE_DATA:
		put_ip4(w, r, IPPROTO_TCP, 0);
		put_tcp(w, r);
		break;
	case UDP4:
		put_ip4(w, r, IPPROTO_UDP, 0);
		put_udp(w, r);
		break;
	case TCP6:
		put_ip6(w, r, IPPROTO_TCP);
		put_tcp(w, r);
		break;
	case UDP6:
		put_ip6(w, r, IPPROTO_UDP);
		put_udp(w, r);
		break;
	case ICMP4:
		put_ip4(w, r, IPPROTO_ICMP, 0);
		put(w, sizeof(struct icmphdr));
		break;
	case ICMP6:
		put_ip6(w, r, IPPROTO_ICMPV6);
		put(w, sizeof(struct icmphdr));
		break;
	case FRAGMENT4:
	case NEXT_FRAGMENT4:
		put_ip4(w, r, IPPROTO_TCP, 0);
		ip = (struct iphdr *)(w->bytes + w->network);
		ip->frag_off = htons(r->shape == FRAGMENT4 ? IP_MF : IP_MF | 100);
		put_tcp(w, r);
		break;
	case OPTIONS4:
		put_ip4(w, r, IPPROTO_TCP, 1 + r->flow % 10);
		put_tcp(w, r);
		break;
	case VLAN_TCP4:
		put_tag(w, ETH_P_IP);
		put_ip4(w, r, IPPROTO_TCP, 0);
		put_tcp(w, r);
		break;
	case VLAN3_TCP4:
		put_tag(w, ETH_P_8021Q);
		put_tag(w, ETH_P_8021Q);
		put_tag(w, ETH_P_IP);
		put_ip4(w, r, IPPROTO_TCP, 0);
		put_tcp(w, r);
		break;
	case VLAN2_UDP6:
		put_tag(w, ETH_P_8021Q);
		put_tag(w, ETH_P_IPV6);
		put_ip6(w, r, IPPROTO_UDP);
		put_udp(w, r);
		break;
	case VLAN_ARP:
		put_tag(w, ETH_P_ARP);
		put(w, sizeof(struct arphdr));
		break;
	case EXTENSION_TCP6:
		put_ip6(w, r, IPPROTO_HOPOPTS);
		put_ext6(w, IPPROTO_TCP, r->flow % 3);
		put_tcp(w, r);
		break;
	case EXTENSIONS_TCP6:
		put_ip6(w, r, IPPROTO_DSTOPTS);
		for (i = 0; i < 4 + r->flow % 8; i++)
			put_ext6(w, IPPROTO_DSTOPTS, 0);
		put_ext6(w, r->flow % 5 ? IPPROTO_TCP : IPPROTO_NONE, 0);
		put_tcp(w, r);
		break;
	case FRAGMENT_TCP6:
		put_ip6(w, r, IPPROTO_FRAGMENT);
		put_ext6(w, IPPROTO_TCP, 0);
		if (r->flow & 2)
			w->bytes[w->len - 5] = 0x81;
		put_tcp(w, r);
		break;
	case AH_TCP6:
		put_ip6(w, r, IPPROTO_AH);
		put_ext6(w, IPPROTO_TCP, 1);
		put_tcp(w, r);
		break;
	case IPIP_TCP4:
		put_ip4(w, r, IPPROTO_IPIP, 0);
		outer = w->network;
		put_ip4(w, r, IPPROTO_TCP, 0);
		w->inner = w->transport;
		w->transport = w->network;
		w->network = outer;
		put_tcp(w, r);
		break;
	case GRE_UDP4:
		put_ip4(w, r, IPPROTO_GRE, 0);
		outer = w->network;
		put_be16(w, 0);
		put_be16(w, ETH_P_IP);
		put_ip4(w, r, IPPROTO_UDP, 0);
		w->inner = w->transport;
		w->transport = outer + 20;
		w->network = outer;
		put_udp(w, r);
		break;
	case ARP:
		put(w, sizeof(struct arphdr));
		break;
	default:
		put(w, 8);
	}
}

static inline bool is_tcp(enum shape shape)
{
	return shape == TCP4 || shape == TCP6 || shape == VLAN_TCP4 || shape == OPTIONS4 ||
	       shape == EXTENSION_TCP6;
}

/* Whether the kernel could have made it GSO */
static inline bool may_be_gso(enum shape shape)
{
	return is_tcp(shape) || shape == UDP4 || shape == UDP6 || shape == IPIP_TCP4;
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
	if (r->gso_size && !r->cut && may_be_gso(r->shape)) {
		struct skb_shared_info *shared = skb_shinfo(skb);

		shared->gso_size = r->gso_size;
		shared->gso_type = r->shape == UDP4 || r->shape == UDP6 ? SKB_GSO_UDP_L4 :
				   r->shape == TCP6 || r->shape == EXTENSION_TCP6 ?
				   SKB_GSO_TCPV6 : SKB_GSO_TCPV4;
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
