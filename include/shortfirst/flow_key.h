/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The identity of a flow: addresses, ports and protocol.
 *
 * IPv4 addresses are followed by zeros, and the EtherType keeps the two families
 * apart. Packets without ports (ICMP, all fragments of a datagram) are one flow per
 * protocol and pair of addresses, packets that are not IP one flow per EtherType. In
 * a tunnel that the flow dissector can look into, the inner flow counts and the
 * tunnel does not.
 *
 * A tunnel that begins on this machine may encrypt its packets, as WireGuard and IPsec do. The
 * kernel then keeps the hash of the inner flow (skb->hash). It takes the place of the ports:
 *
 *	passes by	| addresses | 51820, 51820 | UDP |		one flow
 *	begins here	| addresses | inner hash   | UDP | inner |	a flow for each inner one
 */
#ifndef _SF_FLOW_KEY_H
#define _SF_FLOW_KEY_H

#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/random.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/flow_dissector.h>
#include <net/inet_sock.h>
#include <net/ip.h>

struct sf_flow_key {
	union {
		struct {
			union {
				struct {
					__be32	src;
					__be32	dst;
				} v4;
				struct {
					__be32	src[4];
					__be32	dst[4];
				} v6;
			};
			__be32	ports;		/* source, destination; or see inner */
			__be16	ethertype;
			u8	proto;
			u8	inner;	/* ports is the hash of the flow in a tunnel */
		};
		u32	word32[10];
		u64	word[5];
	};
};

/* The flags byte of a TCP header */
#define SF_TCP_FLAGS_OFFSET	13
#define SF_TCP_FIN		0x01
#define SF_TCP_SYN		0x02
#define SF_TCP_RST		0x04

/*
 * A packet socket sets the network header behind VLAN tags and the protocol to
 * the first tag's. The EtherType in front of the network header is right for
 * everybody; 0 if there is none.
 */
static inline __be16 sf_flow_ethertype(const struct sk_buff *skb)
{
	const u8 *network = skb_network_header(skb);
	__be16 proto;

	if (network - skb->data < ETH_HLEN || network > skb_tail_pointer(skb))
		return 0;
	memcpy(&proto, network - sizeof(proto), sizeof(proto));
	return proto;
}

/*
 * Where a network header is, and what it is. Passed by value: what has an address is
 * guarded on the stack.
 */
struct sf_network {
	const u8	*header;
	__be16		proto;
};

/* Step over one VLAN tag or two; no header if the packet has none of these. */
static noinline struct sf_network sf_flow_skip_tags(const struct sk_buff *skb)
{
	struct sf_network at = { skb_network_header(skb), sf_flow_ethertype(skb) };
	int tags;

	if (!eth_type_vlan(skb->protocol) || !at.proto)
		return (struct sf_network) {};
	for (tags = 0; tags < 2 && eth_type_vlan(at.proto); tags++) {
		if (at.header + VLAN_HLEN > skb_tail_pointer(skb))
			return (struct sf_network) {};
		at.proto = ((const struct vlan_hdr *)at.header)->h_vlan_encapsulated_proto;
		at.header += VLAN_HLEN;
	}
	return at;
}

/* A UDP packet is the datagram of a socket here, and not of a tunnel. The key has its ports. */
static inline bool sf_flow_is_of_socket(const struct sk_buff *skb, const struct sf_flow_key *key)
{
	const struct sock *sk = skb->sk;

	return sk && sk_fullsock(sk) && sk->sk_protocol == IPPROTO_UDP &&
	       !memcmp(&inet_sk(sk)->inet_sport, &key->ports, sizeof(inet_sk(sk)->inet_sport));
}

/*
 * The kernel has the hash of a flow in a tunnel that begins on this machine. The hash of a packet
 * that came in is another matter: of one flow a network card may have hashed some packets and
 * others not, or two cards by two keys. The flow would be two, and reordered. IPsec keeps skb_iif;
 * but what it puts in a tunnel has an inner header behind that of the packet.
 */
static inline bool sf_flow_is_inner(const struct sk_buff *skb, const struct sf_flow_key *key)
{
	if (likely(!skb->l4_hash && !skb->sw_hash))
		return false;
	if (key->proto == IPPROTO_ESP)
		return !skb->skb_iif || skb_inner_network_offset(skb) > skb_network_offset(skb);
	return key->proto == IPPROTO_UDP && !skb->skb_iif && !sf_flow_is_of_socket(skb, key);
}

static inline void sf_flow_use_hash(const struct sk_buff *skb, struct sf_flow_key *key)
{
	key->ports = (__force __be32)skb->hash;
	key->inner = 1;
}

/*
 * Read the key from the headers that most packets have: at most two VLAN tags, IPv4
 * without options or IPv6 without extensions, then TCP or UDP, no fragment, not in a
 * tunnel and all in the linear part. Says whether it did; then @flags is for the
 * caller of sf_flow_key_read(). It agrees with the dissector and takes 300
 * instructions less.
 */
static inline bool sf_flow_key_direct(const struct sk_buff *skb,
				      struct sf_flow_key *key, u8 *flags)
{
	struct sf_network at = { skb_network_header(skb), skb->protocol };
	const u8 *transport, *end = skb_tail_pointer(skb);
	const struct ipv6hdr *ip6;
	const struct iphdr *ip;
	u8 nexthdr;

	if (at.proto != htons(ETH_P_IP) && at.proto != htons(ETH_P_IPV6))
		at = sf_flow_skip_tags(skb);
	if (unlikely(at.header < skb->data))
		return false;
	if (at.proto == htons(ETH_P_IP)) {
		ip = (const struct iphdr *)at.header;
		transport = at.header + sizeof(*ip);
		if (transport > end || *at.header != 0x45 ||
		    ip->frag_off & htons(IP_MF | IP_OFFSET))
			return false;
		nexthdr = ip->protocol;
		key->v4.src = ip->saddr;
		key->v4.dst = ip->daddr;
		key->word[1] = 0;
		key->word[2] = 0;
		key->word[3] = 0;
	} else if (at.proto == htons(ETH_P_IPV6)) {
		ip6 = (const struct ipv6hdr *)at.header;
		transport = at.header + sizeof(*ip6);
		if (transport > end || *at.header >> 4 != 6)
			return false;
		nexthdr = ip6->nexthdr;
		memcpy(key->v6.src, &ip6->saddr, sizeof(key->v6.src));
		memcpy(key->v6.dst, &ip6->daddr, sizeof(key->v6.dst));
	} else {
		return false;
	}

	*flags = 0;
	if (nexthdr == IPPROTO_TCP) {
		if (transport + sizeof(struct tcphdr) > end)
			return false;
		*flags = transport[SF_TCP_FLAGS_OFFSET];
	} else if (nexthdr != IPPROTO_UDP ||
		   transport + sizeof(struct udphdr) > end) {
		return false;
	}
	memcpy(&key->ports, transport, sizeof(key->ports));
	key->ethertype = at.proto;
	key->proto = nexthdr;
	key->inner = 0;
	if (nexthdr == IPPROTO_UDP && unlikely(sf_flow_is_inner(skb, key)))
		sf_flow_use_hash(skb, key);
	return true;
}

/* The dissector looks behind the network header for the tag the protocol tells of. */
static inline bool sf_flow_dissect(const struct sk_buff *skb,
				   struct flow_keys *fk)
{
	__be16 proto = sf_flow_ethertype(skb);

	if (!eth_type_vlan(skb->protocol) || !proto)
		return skb_flow_dissect_flow_keys(skb, fk, 0);
	memset(fk, 0, sizeof(*fk));
	return __skb_flow_dissect(NULL, skb, &flow_keys_dissector, fk, skb->data,
				  proto, skb_network_offset(skb),
				  skb_headlen(skb), 0);
}

/* The same as sf_flow_key_read() for all packets, by the kernel's dissector */
static noinline u8 sf_flow_key_dissect(const struct sk_buff *skb,
				       struct sf_flow_key *key)
{
	struct flow_keys fk;
	const u8 *flags;
	u8 buf;

	memset(key, 0, sizeof(*key));
	if (!sf_flow_dissect(skb, &fk)) {
		key->ethertype = skb_protocol(skb, true);
		return 0;
	}

	key->ethertype = fk.basic.n_proto;
	key->proto = fk.basic.ip_proto;
	key->ports = fk.ports.ports;
	switch (fk.control.addr_type) {
	case FLOW_DISSECTOR_KEY_IPV4_ADDRS:
		key->ethertype = htons(ETH_P_IP);
		key->v4.src = fk.addrs.v4addrs.src;
		key->v4.dst = fk.addrs.v4addrs.dst;
		break;
	case FLOW_DISSECTOR_KEY_IPV6_ADDRS:
		key->ethertype = htons(ETH_P_IPV6);
		memcpy(key->v6.src, &fk.addrs.v6addrs.src,
		       sizeof(key->v6.src));
		memcpy(key->v6.dst, &fk.addrs.v6addrs.dst,
		       sizeof(key->v6.dst));
		break;
	}

	if (fk.control.flags & FLOW_DIS_IS_FRAGMENT)
		return 0;
	if (sf_flow_is_inner(skb, key))
		sf_flow_use_hash(skb, key);
	if (key->proto != IPPROTO_TCP)
		return 0;
	flags = skb_header_pointer(skb, fk.control.thoff + SF_TCP_FLAGS_OFFSET,
				   sizeof(buf), &buf);
	return flags ? *flags : 0;
}

/**
 * sf_flow_key_read - find out which flow a packet belongs to
 * @skb: the packet, its network header set
 * @key: where the key goes; every byte of it is defined
 *
 * Return: the flags of a TCP segment (SF_TCP_*), 0 for anything else. A segment with
 * SYN begins a new flow, though the addresses and ports may have been used before.
 */
static inline u8 sf_flow_key_read(const struct sk_buff *skb,
				  struct sf_flow_key *key)
{
	u8 flags;

	BUILD_BUG_ON(sizeof(*key) != sizeof(key->word));
	if (likely(sf_flow_key_direct(skb, key, &flags)))
		return flags;
	return sf_flow_key_dissect(skb, key);
}

/* Of IPv4 all that is not zero is in the first word and the last. */
static inline bool sf_flow_key_short(const struct sf_flow_key *key)
{
	return key->ethertype == htons(ETH_P_IP);
}

/* sf_flow_key_equal - whether two keys are the same flow's */
static inline bool sf_flow_key_equal(const struct sf_flow_key *a,
				     const struct sf_flow_key *b)
{
	if ((a->word[0] ^ b->word[0]) | (a->word[4] ^ b->word[4]))
		return false;
	return sf_flow_key_short(a) ||
	       !((a->word[1] ^ b->word[1]) | (a->word[2] ^ b->word[2]) |
		 (a->word[3] ^ b->word[3]));
}

/*
 * What sf_flow_key_hash() hashes with: random, so that nobody outside can choose
 * flows that meet in one set.
 */
struct sf_flow_secret {
	u64	odd;
	u32	nh[10];
};

static inline void sf_flow_secret_init(struct sf_flow_secret *secret)
{
	get_random_bytes(secret, sizeof(*secret));
	secret->odd |= 1;
}

static inline u64 sf_nh(const u32 *words, const u32 *secret)
{
	return (u64)(words[0] + secret[0]) * (words[1] + secret[1]);
}

/**
 * sf_flow_key_hash - hash a key
 * @key: the key
 * @secret: of sf_flow_secret_init()
 *
 * NH, the first step of UMAC (RFC 4418), then multiply and shift: two keys that
 * differ have the same hash, or the same first bits of one, with a probability
 * of no more than 3 / 2^32, or 3 / 2^bits, whoever chose them without the secret. The
 * shift in between spreads flows that differ in one word only, such as a port, which
 * NH leaves at equal distances. hsiphash() takes a hundred instructions more.
 *
 * Return: the hash; where few bits are wanted, take the first.
 */
static inline u32 sf_flow_key_hash(const struct sf_flow_key *key,
				   const struct sf_flow_secret *secret)
{
	u64 nh;

	nh = sf_nh(&key->word32[0], &secret->nh[0]) +
	     sf_nh(&key->word32[8], &secret->nh[8]);
	if (!sf_flow_key_short(key))
		nh += sf_nh(&key->word32[2], &secret->nh[2]) +
		      sf_nh(&key->word32[4], &secret->nh[4]) +
		      sf_nh(&key->word32[6], &secret->nh[6]);
	nh ^= nh >> 32;
	return nh * secret->odd >> 32;
}

#endif
