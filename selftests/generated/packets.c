// SPDX-License-Identifier: GPL-2.0
/*
 * packets - frames made at random, good ones and mutated ones, into each of our kinds
 *
 *	packets [--seed N] [--count N] [--each N] --table FILE --dev DEV
 *
 *	DEV --- gate 1: --- 1:1 --- KIND 10:, whose options are drawn; or
 *	DEV --- KIND 10: with a rate
 *
 * The headers are of Ethernet, VLANs up to four, ARP, MPLS, PPPoE, IPv4 with options and
 * fragments, IPv6 with extension headers and fragments, TCP, UDP, what looks like QUIC
 * and WireGuard, VXLAN, GRE, IP in IP, ICMP with the packet it is about, and others; up
 * to four of these in each other. Then bytes of some are changed, and they are cut
 * anywhere. They are up to 64 kB long, and some are GSO, of which the header of virtio
 * tells the right length of the headers or a wrong one.
 *
 * After each so many frames the kind is another one, or has other options and filters.
 * In between packets are let out, the gate peeks at some, options are changed and classes
 * asked for. Before that everything is let out. Then what was put in has to be what has
 * come out and what was dropped, by the statistics of the qdisc and the interface. The
 * gate has seen after each operation that its counts agree with the kind's.
 *
 * The same seed makes the same frames. Where there is a rate the clock says how many are
 * let out when; else all is the same.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <linux/virtio_net.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include "generator.h"

#define FRAME_MAX	65535
#define HEADERS_MAX	1200		/* bytes of headers, before which nothing is begun */
#define NESTED_MAX	4
#define LENGTHS_MAX	32
#define BURST_MAX	400
#define SEGMENTS_MAX	40
#define SOCKET_BUFFER	(96 << 20)	/* what may wait */
#define PATIENCE	20000		/* ms until all has left */
#define PROGRESS	100000
#define GATE		0x10000U	/* handles */
#define OURS		0x100000U

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4	5
#endif

enum { NO_GSO, GOOD_GSO, BAD_GSO };

static struct {
	struct virtio_net_hdr virtio;
	__u8 bytes[FRAME_MAX + 1];
} frame;				/* with no room between the two */
static unsigned int at;			/* bytes so far */
static unsigned int transport;		/* where the first one begins */
static __u8 first_protocol;

/* Where a length stands that is known at the end only */
static struct {
	unsigned int where, from;
} lengths[LENGTHS_MAX];
static unsigned int nlengths;

static const struct kind *kind;		/* of this round, */
static bool rated;			/* whether it has a rate, */
static int gso;				/* whether frames are GSO, */
static unsigned int segments;		/* and of how many segments */
static unsigned int flows;		/* that there are */

static const char *dev;
static int dev_index, sock, gate_file = -1;

static struct {
	unsigned long long tried, offered, refused, full, rounds, out, dropped, split, bundles, odd;
} sum;

/* Headers */

static __u8 *room(unsigned int bytes)
{
	__u8 *to = frame.bytes + at;

	memset(to, 0, bytes);
	at += bytes;
	return to;
}

static void put8(unsigned int value)
{
	*room(1) = value;
}

static void put16(unsigned int value)
{
	put8(value >> 8 & 0xff);
	put8(value & 0xff);
}

static void put32(__u32 value)
{
	put16(value >> 16);
	put16(value & 0xffff);
}

static void put_junk(unsigned int bytes)
{
	junk(room(bytes), bytes);
}

/* Here a length of 16 bits is to stand, of what begins at @from. */
static void put_length(unsigned int from)
{
	if (nlengths < LENGTHS_MAX) {
		lengths[nlengths].where = at;
		lengths[nlengths++].from = from;
	}
	put16(0);
}

static void put_ethernet(int depth);
static void put_network(int depth, __u16 *type, bool ip);

static void put_ip(int depth)
{
	__u16 type;

	put_network(depth, &type, true);
}

static void put_tcp(void)
{
	static const __u8 flags[] = { 0x02, 0x12, 0x10, 0x18, 0x11, 0x04, 0x14, 0x00, 0xff };
	unsigned int options = chance(25) ? 4 * below(11) : 0;

	put16(1 + below(65535));
	put16(chance(50) ? 80 : below(65536));
	put32(number());
	put32(number());
	put8(chance(92) ? (20 + options) / 4 << 4 : number() & 0xff);
	put8(chance(90) ? flags[below(ARRAY_SIZE(flags))] : number() & 0xff);
	put16(65535);
	put32(0);
	put_junk(options);
}

static void put_udp(int depth)
{
	static const __u16 ports[] = { 53, 443, 4789, 51820, 4500, 2152, 9 };
	unsigned int from = at, to = chance(70) ? ports[below(ARRAY_SIZE(ports))] : below(65536);

	put16(1 + below(65535));
	put16(to);
	put_length(from);
	put16(0);
	switch (to) {
	case 443:			/* QUIC: a long header or a short one, and connections */
		put8(chance(20) ? 0xc0 | below(64) : 0x40 | below(64));
		put32(chance(50) ? 1 : number());
		put8(8);
		put_junk(8);
		break;
	case 4789:			/* VXLAN */
		put32(0x08000000);
		put32(below(1 << 24) << 8);
		put_ethernet(depth + 1);
		break;
	case 51820:			/* WireGuard: data */
		put32(0x04000000);
		put32(number());
		put_junk(8);
		break;
	}
}

static void put_gre(int depth)
{
	unsigned int flags = chance(60) ? 0 : below(8);
	bool ethernet = chance(30);
	unsigned int where;
	__u16 type;

	put16((flags & 1 ? 0x8000 : 0) | (flags & 2 ? 0x2000 : 0) | (flags & 4 ? 0x1000 : 0));
	where = at;
	put16(0);
	for (; flags; flags &= flags - 1)
		put32(number());
	if (ethernet) {
		type = ETH_P_TEB;
		put_ethernet(depth + 1);
	} else {
		put_network(depth + 1, &type, false);
	}
	frame.bytes[where] = type >> 8;
	frame.bytes[where + 1] = type & 0xff;
}

static void put_icmp(int depth, bool v6)
{
	static const __u8 v4_types[] = { 8, 0, 3, 11, 5, 4, 12 };
	static const __u8 v6_types[] = { 128, 129, 1, 2, 3, 4, 135 };
	unsigned int which = below(ARRAY_SIZE(v4_types));

	put8(v6 ? v6_types[which] : v4_types[which]);
	put8(below(5));
	put16(0);
	put32(number());
	if (which >= 2)
		put_ip(depth + 1);
}

static __u8 choose_protocol(int depth, bool v6)
{
	static const __u8 others[] = {
		IPPROTO_SCTP, IPPROTO_DCCP, IPPROTO_ESP, IPPROTO_AH, IPPROTO_UDPLITE, IPPROTO_IGMP,
	};
	unsigned int draw = below(100);

	if (draw < 45)
		return IPPROTO_TCP;
	if (draw < 75)
		return IPPROTO_UDP;
	if (draw < 81)
		return v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	if (draw < 90 && depth < NESTED_MAX) {
		static const __u8 tunnels[] = { IPPROTO_GRE, IPPROTO_IPIP, IPPROTO_IPV6 };

		return tunnels[below(ARRAY_SIZE(tunnels))];
	}
	return draw < 98 ? others[below(ARRAY_SIZE(others))] : number() & 0xff;
}

static void put_transport(int depth, __u8 protocol)
{
	if (!transport) {
		transport = at;
		first_protocol = protocol;
	}
	switch (protocol) {
	case IPPROTO_TCP:
		put_tcp();
		break;
	case IPPROTO_UDP:
	case IPPROTO_UDPLITE:
		put_udp(depth);
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		put_icmp(depth, protocol == IPPROTO_ICMPV6);
		break;
	case IPPROTO_GRE:
		put_gre(depth);
		break;
	case IPPROTO_IPIP:
	case IPPROTO_IPV6:
		put_ip(depth + 1);
		break;
	default:
		put_junk(between(0, 40));
	}
}

static void put_v4(int depth)
{
	unsigned int options = chance(10) ? 4 * below(11) : 0, from = at;
	__u8 protocol = choose_protocol(depth, false);
	unsigned int fragment = 0;

	if (chance(8))
		fragment = chance(40) ? 0x2000 : (chance(50) ? 0x2000 : 0) | between(1, 8191);
	put8(0x40 | (5 + options / 4));
	put8(below(256));
	put_length(from);
	put16(number());
	put16(fragment);
	put8(64);
	put8(protocol);
	put16(0);
	put32(0x0a000000 | below(256));
	put32(0x0a010000 | below(256));
	put_junk(options);
	put_transport(depth, protocol);
}

static void put_v6(int depth)
{
	static const __u8 extensions[] = {
		IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_FRAGMENT, IPPROTO_DSTOPTS, IPPROTO_AH,
	};
	__u8 protocol = choose_protocol(depth, true);
	unsigned int next, from;

	put32(0x60000000 | (number() & 0xfffffff));
	from = at + 36;
	put_length(from);
	next = at;
	put8(0);
	put8(64);
	put32(0xfd000000);
	put32(0);
	put32(0);
	put32(below(256));
	put32(0xfd010000);
	put32(0);
	put32(0);
	put32(below(256));
	while (chance(12) && at < HEADERS_MAX) {
		__u8 extension = extensions[below(ARRAY_SIZE(extensions))];
		unsigned int more = extension == IPPROTO_FRAGMENT ? 0 : below(3);

		frame.bytes[next] = extension;
		next = at;
		put8(0);
		put8(more);
		put_junk(6 + (extension == IPPROTO_AH ? 4 * more + 0 : 8 * more));
		if (extension == IPPROTO_FRAGMENT && chance(50)) {
			frame.bytes[at - 6] = 0;	/* the first one */
			frame.bytes[at - 5] &= 7;
		}
	}
	frame.bytes[next] = chance(98) ? protocol : IPPROTO_NONE;
	put_transport(depth, protocol);
}

/* One that is not IP has @type, too; what is IP only if @ip. */
static void put_network(int depth, __u16 *type, bool ip)
{
	unsigned int draw = ip ? below(85) : below(100), from;

	if (depth > NESTED_MAX || at > HEADERS_MAX) {
		*type = ETH_P_IP;
		put_junk(below(40));
		return;
	}
	if (draw < 45) {
		*type = ETH_P_IP;
		put_v4(depth);
	} else if (draw < 85) {
		*type = ETH_P_IPV6;
		put_v6(depth);
	} else if (draw < 88) {
		*type = ETH_P_ARP;
		put32(0x00010800);
		put32(0x06040000 | (1 + below(2)));
		put_junk(20);
	} else if (draw < 92) {
		*type = ETH_P_MPLS_UC;
		while (chance(40))
			put32(below(1 << 20) << 12 | 64);
		put32(below(1 << 20) << 12 | 0x100 | 64);
		put_ip(depth + 1);
	} else if (draw < 96) {
		*type = ETH_P_PPP_SES;
		put16(0x1100);
		put16(number());
		from = at + 2;
		put_length(from);
		put16(chance(50) ? 0x0021 : 0x0057);
		put_ip(depth + 1);
	} else {
		*type = number();
		put_junk(below(60));
	}
}

static void put_ethernet(int depth)
{
	unsigned int vlans = chance(80) ? 0 : 1 + below(4), where;
	__u16 type;

	put32(0x02000000);
	put32(0x00020200);
	put32(0x00000001);
	while (vlans--) {
		put16(chance(60) ? ETH_P_8021Q : ETH_P_8021AD);
		put16(number());
	}
	where = at;
	put16(0);
	put_network(depth, &type, false);
	frame.bytes[where] = type >> 8;
	frame.bytes[where + 1] = type & 0xff;
}

/* The headers of this flow, the same each time */
static void put_headers(__u64 flow)
{
	__u64 kept = seed;

	at = 0;
	transport = 0;
	nlengths = 0;
	frame.virtio = (struct virtio_net_hdr){};
	seed = flow * 0x9e3779b97f4a7c15ULL + flows;
	put_ethernet(0);
	seed = kept;
}

/* The same, but without all that GSO is not done with */
static void put_plain_headers(__u64 flow)
{
	bool v6 = flow & 1, udp = flow & 2;
	unsigned int options = flow & 4 ? 12 : 0, network, from;

	at = 0;
	nlengths = 0;
	put32(0x02000000);
	put32(0x00020200);
	put32(0x00000001);
	put16(v6 ? ETH_P_IPV6 : ETH_P_IP);
	network = at;
	if (v6) {
		put32(0x60000000);
		from = at + 36;
		put_length(from);
		put8(udp ? IPPROTO_UDP : IPPROTO_TCP);
		put8(64);
		for (int i = 0; i < 8; i++)
			put32(i % 4 ? flow & 63 : 0xfd000000);
	} else {
		put16(0x4500);
		put_length(network);
		put32(0);
		put16(64 << 8 | (udp ? IPPROTO_UDP : IPPROTO_TCP));
		put16(0);
		put32(0x0a000000 | (flow & 63));
		put32(0x0a010001);
	}
	transport = at;
	first_protocol = udp ? IPPROTO_UDP : IPPROTO_TCP;
	put16(1024 + flow);
	put16(443);
	if (udp) {
		put_length(transport);
		put16(0);
		return;
	}
	put32(number());
	put32(number());
	put16((20 + options) / 4 << 12 | 0x10);
	put16(65535);
	put32(0);
	put_junk(options);
}

/* Frames */

static void write_lengths(void)
{
	for (unsigned int i = 0; i < nlengths; i++) {
		unsigned int length = at - lengths[i].from;

		frame.bytes[lengths[i].where] = length >> 8;
		frame.bytes[lengths[i].where + 1] = length & 0xff;
	}
}

/* Up to this length */
static void put_payload(unsigned int length)
{
	if (length > at)
		room(length - at);
}

static void mutate(unsigned int headers)
{
	for (unsigned int n = 1 + below(3); n; n--)
		frame.bytes[12 + below(headers - 12)] = number();
}

static void make_frame(void)
{
	unsigned int headers, length;

	put_headers(below(flows));
	headers = at;
	length = chance(50) ? headers + between(0, 1500) : 64 + below(1450);
	if (chance(2))
		length = between(1500, FRAME_MAX);
	put_payload(length);
	write_lengths();
	/* What a TCP flow has further on */
	if (first_protocol == IPPROTO_TCP && transport + 8 < at)
		junk(frame.bytes + transport + 4, chance(50) ? 2 : 4);
	if (chance(20))
		mutate(headers);
	if (chance(10))
		at = ETH_HLEN + below(at - ETH_HLEN + 1);
	else if (chance(10))
		at = ETH_HLEN + sum.tried % (headers - ETH_HLEN + 1);
	else if (chance(1))
		at = 1 + below(ETH_HLEN);
}

/*
 * A packet of as many segments as all of this round: only then is known how many there are of
 * those that were split.
 */
static void make_bundle(void)
{
	struct virtio_net_hdr *v = &frame.virtio;
	unsigned int size, headers;

	put_plain_headers(below(flows));
	headers = at;
	size = between(8, (FRAME_MAX - 200 - headers) / segments);
	if (size > 1460)
		size = 1460;
	put_payload(headers + size * segments - below(size));
	write_lengths();
	*v = (struct virtio_net_hdr){
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = first_protocol == IPPROTO_UDP ? VIRTIO_NET_HDR_GSO_UDP_L4 :
			    frame.bytes[12] == 0x08 ? VIRTIO_NET_HDR_GSO_TCPV4 :
						      VIRTIO_NET_HDR_GSO_TCPV6,
		.hdr_len = chance(50) ? headers : chance(50) ? between(0, at) : ETH_HLEN,
		.gso_size = size,
		.csum_start = transport,
		.csum_offset = first_protocol == IPPROTO_UDP ? 6 : 16,
	};
	if (first_protocol == IPPROTO_TCP && chance(10))
		v->gso_type |= VIRTIO_NET_HDR_GSO_ECN;
	sum.bundles++;
}

/* One of which nobody knows what becomes of it */
static void make_odd_bundle(void)
{
	static const __u8 types[] = {
		VIRTIO_NET_HDR_GSO_TCPV4, VIRTIO_NET_HDR_GSO_TCPV6, VIRTIO_NET_HDR_GSO_UDP,
		VIRTIO_NET_HDR_GSO_UDP_L4, VIRTIO_NET_HDR_GSO_NONE,
	};
	struct virtio_net_hdr *v = &frame.virtio;

	if (chance(50)) {
		make_bundle();
		if (chance(50))
			mutate(transport);
	} else {
		make_frame();
		*v = (struct virtio_net_hdr){
			.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
			.gso_type = types[below(ARRAY_SIZE(types))],
			.hdr_len = transport + 20, .gso_size = between(1, 1460),
			.csum_start = transport, .csum_offset = 16,
		};
	}
	sum.odd++;
	switch (below(6)) {
	case 0:
		v->gso_size = edge();
		break;
	case 1:
		v->gso_type = chance(50) ? types[below(ARRAY_SIZE(types))] : number();
		break;
	case 2:
		v->csum_start = between(0, 200);
		break;
	case 3:
		v->csum_offset = below(40);
		break;
	case 4:
		v->flags = below(4);
		break;
	}
}

static void put_in(struct sockaddr_ll *to)
{
	frame.virtio = (struct virtio_net_hdr){};
	if (gso == GOOD_GSO && chance(30))
		make_bundle();
	else if (gso == BAD_GSO && chance(40))
		make_odd_bundle();
	else
		make_frame();
	sum.tried++;
	to->sll_protocol = chance(95) ? 0 : chance(50) ? htons(ETH_P_IP) : number();
	if (gso != NO_GSO)
		to->sll_protocol = 0;
	if (sendto(sock, &frame, sizeof(frame.virtio) + at, MSG_DONTWAIT, (struct sockaddr *)to,
		   sizeof(*to)) >= 0 || errno == ENOBUFS)
		sum.offered++;
	else if (errno == EINVAL || errno == EMSGSIZE)
		sum.refused++;
	else if (errno == EAGAIN)
		sum.full++;
	else
		err(1, "a frame of %u bytes", at);
}

/* Qdiscs */

static struct request request;
static struct attr *attrs;

static void begin(int type, int flags, __u32 handle, __u32 parent, const char *name)
{
	used = 0;
	attrs = NULL;
	request.n = (struct nlmsghdr){
		.nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags,
	};
	request.t = (struct tcmsg){
		.tcm_ifindex = dev_index, .tcm_handle = handle, .tcm_parent = parent,
	};
	if (name)
		add_text(&attrs, TCA_KIND, name);
}

static int end(void (*take)(const struct nlmsghdr *n, void *arg), void *arg)
{
	finish(&request, attrs);
	return ask(&request, request.n.nlmsg_len, take, arg);
}

static void has_to(const char *what, int error)
{
	if (error)
		errx(1, "%s: %s", what, error < 0 ? "no answer" : strerror(error));
}

static __u32 where(void)
{
	return rated ? TC_H_ROOT : GATE | 1;
}

/* With options that are drawn; those that do not go together are drawn again. */
static void set(bool exists)
{
	static const char *const what[] = { "a qdisc", "a change" };
	struct attr *nest;
	int error = EINVAL;

	for (int i = 0; error == EINVAL; i++) {
		if (i == 1000)
			errx(1, "%s: no options that go together", kind->name);
		begin(RTM_NEWQDISC, exists ? 0 : NLM_F_CREATE | NLM_F_EXCL, OURS, where(),
		      kind->name);
		nest = add(&attrs, TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
		for (unsigned int n = 0; n < kind->nsettings; n++) {
			const struct setting *s = &kind->settings[n];

			if (!strcmp(s->name, "rate")) {
				if (rated)
					add_setting(&nest->child, s, between(100000, 10000000000));
			} else if (s->fixed) {
				if (!exists && chance(90))
					add_setting(&nest->child, s, chance(60) ? few(s) : draw(s));
			} else if (!strcmp(s->name, "split_gso") && !exists && chance(50)) {
				/* Without a rate `auto` hardly splits. */
				add_setting(&nest->child, s, 1); /* on */
			} else if (chance(exists ? 5 : 20)) {
				add_setting(&nest->child, s, draw(s));
			}
		}
		error = end(NULL, NULL);
	}
	has_to(what[exists], error);
}

static void set_rate_unlimited(void)
{
	struct attr *nest;

	begin(RTM_NEWQDISC, 0, OURS, where(), kind->name);
	nest = add(&attrs, TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
	add_setting(&nest->child, find_setting(kind, "rate"), UINT64_MAX);
	has_to("rate unlimited", end(NULL, NULL));
}

static void set_filters(void)
{
	for (unsigned int n = chance(50) ? 0 : 1 + below(3); n; n--) {
		begin(RTM_NEWTFILTER, NLM_F_CREATE, 0, OURS, NULL);
		request.t.tcm_info = n << 16 | htons(chance(50) ? ETH_P_ALL : ETH_P_IP);
		request.t.tcm_handle = add_filter(&attrs, OURS | (chance(50) ? 1 + below(2) :
									below(0x10000)), false);
		has_to((char *)attrs->data, end(NULL, NULL));
	}
}

static void tell_gate(const char *word, unsigned int n)
{
	char text[40];
	int length = snprintf(text, sizeof(text), n ? "%s %u" : "%s", word, n);

	if (write(gate_file, text, length) != length)
		err(1, "gate: %s", text);
}

static unsigned long long gate_says(const char *name)
{
	char text[1000], *found;
	ssize_t got = pread(gate_file, text, sizeof(text) - 1, 0);

	if (got < 0)
		err(1, "gate");
	text[got] = 0;
	found = strstr(text, name);
	if (!found)
		errx(1, "gate: no %s", name);
	return strtoull(found + strlen(name), NULL, 10);
}

static void set_up(void)
{
	char path[100];

	if (gate_file >= 0)
		close(gate_file);
	gate_file = -1;
	begin(RTM_DELQDISC, 0, 0, TC_H_ROOT, NULL);
	end(NULL, NULL);		/* there may be none */
	if (!rated) {
		begin(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, GATE, TC_H_ROOT, "gate");
		has_to("gate", end(NULL, NULL));
		snprintf(path, sizeof(path), "/sys/kernel/debug/sch_gate/%s", dev);
		gate_file = open(path, O_RDWR | O_CLOEXEC);
		if (gate_file < 0)
			err(1, "%s", path);
	}
	set(false);
	set_filters();
}

static void count_class(const struct nlmsghdr *n, void *arg)
{
	unsigned int *count = arg;

	*count += n->nlmsg_type == RTM_NEWTCLASS;
}

static void ask_for_classes(void)
{
	unsigned int count = 0;

	begin(RTM_GETTCLASS, NLM_F_DUMP, 0, chance(50) ? OURS : 0, NULL);
	has_to("classes", end(count_class, &count));
}

/* What is to be seen in the end */

struct counts {
	struct told told;
	unsigned long long out, bytes, lost;	/* by the interface */
};

static void take_ours(const struct nlmsghdr *n, void *arg)
{
	struct told told;

	if (read_qdisc(n, dev_index, &told) && told.handle == OURS)
		*(struct told *)arg = told;
}

static unsigned long long statistic(const char *name)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/%s", dev, name);
	return read_number(path);
}

static void look(struct counts *c)
{
	*c = (struct counts){};
	begin(RTM_GETQDISC, NLM_F_DUMP, 0, 0, NULL);
	has_to("qdiscs", end(take_ours, &c->told));
	if (c->told.handle != OURS)
		errx(1, "the qdisc is gone");
	c->out = statistic("tx_packets");
	c->bytes = statistic("tx_bytes");
	c->lost = statistic("tx_dropped");
}

static int unfreed(void)
{
	int bytes;

	if (ioctl(sock, SIOCOUTQ, &bytes))
		err(1, "SIOCOUTQ");
	return bytes;
}

/* Let out what is left, and see that all is accounted for. */
static void settle(const struct counts *before, unsigned long long offered)
{
	unsigned long long out, dropped, units, split;
	struct counts now;

	if (rated)
		set_rate_unlimited();
	else
		tell_gate("release all", 0);
	for (int i = 0; ; i++) {
		int left = unfreed();	/* first: a packet is counted before it is freed */

		look(&now);
		if (!now.told.queue.qlen && !left)
			break;
		if (i == PATIENCE)
			errx(1, "%s: %u packets are left, %d bytes of packets are not freed",
			     kind->name, now.told.queue.qlen, left);
		usleep(1000);
	}
	if (now.told.queue.backlog)
		errx(1, "%s: no packets, but %u bytes", kind->name, now.told.queue.backlog);
	if (!rated && gate_says("mismatches="))
		errx(1, "%s: the gate has counted otherwise", kind->name);
	out = now.out - before->out + now.lost - before->lost;
	dropped = now.told.queue.drops;
	split = told_of(kind, &now.told, "gso_split");
	units = offered + split * (segments - 1);
	/* What is cut out of an odd one nobody knows, but that it is something. */
	if (gso == BAD_GSO ? offered > out + dropped : units != out + dropped)
		errx(1, "%s: %llu frames, %llu of them split into %u, %llu out, %llu dropped",
		     kind->name, offered, split, segments, out, dropped);
	if (gso == NO_GSO && (now.told.packets != now.out - before->out ||
			      now.told.bytes != now.bytes - before->bytes))
		errx(1, "%s has sent %llu bytes in %llu packets, the interface another number",
		     kind->name, now.told.bytes, now.told.packets);
	sum.out += out;
	sum.dropped += dropped;
	sum.split += split;
}

static void do_round(unsigned int number_of, unsigned long long frames)
{
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET, .sll_ifindex = dev_index, .sll_halen = ETH_ALEN,
	};
	unsigned long long offered = sum.offered;
	struct counts before;

	kind = &kinds[number_of % nkinds];
	rated = chance(40);
	gso = chance(50) ? NO_GSO : chance(60) ? GOOD_GSO : BAD_GSO;
	segments = 2 + below(SEGMENTS_MAX - 1);
	flows = between(1, 200000);
	set_up();
	look(&before);
	while (frames) {
		unsigned int n = between(1, BURST_MAX);
		int priority = chance(70) ? 0 : chance(70) ? OURS | (1 + below(2)) : number();

		if (setsockopt(sock, SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority)))
			err(1, "SO_PRIORITY");
		for (; n && frames; n--, frames--)
			put_in(&to);
		if (!rated) {
			if (chance(10))
				tell_gate(chance(50) ? "mode direct" : "mode peeked", 0);
			if (chance(10))
				tell_gate("park", 1 + below(3));
			if (chance(90))
				tell_gate("release", between(1, BURST_MAX));
		}
		if (chance(3))
			set(true);
		if (chance(3))
			ask_for_classes();
	}
	settle(&before, sum.offered - offered);
	sum.rounds++;
}

static void open_dev(const char *name)
{
	int size = SOCKET_BUFFER, one = 1;

	dev = name;
	dev_index = index_of(name);
	sock = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (sock < 0 || setsockopt(sock, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) ||
	    setsockopt(sock, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)))
		err(1, "%s", name);
}

int main(int argc, char **argv)
{
	unsigned long long numbers[TABLE] = { 1, 100000, 10000 }, said = PROGRESS;
	unsigned int rounds = 0;

	read_table(read_options(argc, argv, numbers, open_dev));
	open_netlink();
	setlinebuf(stdout);
	seed = numbers[SEED];
	while (sum.tried < numbers[COUNT]) {
		unsigned long long left = numbers[COUNT] - sum.tried;

		do_round(rounds++, left < numbers[EACH] ? left : numbers[EACH]);
		for (; sum.tried >= said; said += PROGRESS)
			printf("progress %llu of %llu\n", said, numbers[COUNT]);
	}
	printf("packets: seed %llu, %llu tried, %llu GSO, %llu odd ones; ", numbers[SEED],
	       sum.tried, sum.bundles, sum.odd);
	printf("%llu refused by the socket, %llu found it full; ", sum.refused, sum.full);
	printf("%llu put in, %llu split, %llu out, %llu dropped, %llu rounds\n",
	       sum.offered, sum.split, sum.out, sum.dropped, sum.rounds);
	return 0;
}
