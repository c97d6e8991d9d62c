// SPDX-License-Identifier: GPL-2.0
/*
 * packets: groups of flows that heed nothing, between two network namespaces.
 *
 *	packets [--snd NS] [--rcv NS] [--dev DEV] [--addr ADDR] [--hosts ADDR]
 *	        [--duration S] [--seed N] [--out FILE] NAME:KEY=NUMBER,...
 *
 *	bytes=N     payload of a packet
 *	us=T        from one packet of a stream to the next, on average
 *	burst=N     so many at a time, and so many times as long until the next ones
 *	jitter=P    each such time differs from it by up to this part, drawn by the seed
 *	streams=N   so many, which begin within T, drawn by the seed; 1 unless told
 *	ports=N     another 5-tuple after so many packets; without it a stream has one
 *	tuples=N    another source address after so many of these, not after 60000
 *	count=N     packets of each stream, then it ends
 *	tcp=1       segments of connections that have a 5-tuple each: the first has SYN
 *	            and ACK, the last FIN, and between them the sequence goes on
 *	rst=N       TCP, too, and each N-th packet has RST; or syn=N, SYN
 *	host=N      the last byte of the receiver's address, the rest is that of --hosts
 *	from=N      the last byte of the sender's address, and all are from there; unless told
 *	            it is --addr, and where the 5-tuple changes also others beside it
 *	begin=S     the first packet
 *	skip=S      what is measured begins
 *
 * They are sent by a raw socket: nothing hashes them before the qdisc. They go to port
 * 9, and are seen at the receiver's device, before its IP, which should drop them there
 * (net.sh): no end of TCP or UDP knows of them, and nothing answers.
 *
 * For each group it writes how many packets it has sent since `skip`, how many of
 * these have arrived, and how many bytes have arrived until the end, as on the wire.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <math.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include "address.h"
#include "group.h"
#include "util.h"

#define MAX_GROUPS	8
#define MAX_STREAMS	256		/* of all groups */
#define MAX_PACKET	1500
#define TO_PORT		9		/* discard */
#define OWN_PORT	10000		/* of the first stream that has one */
#define FIRST_PORT	2000		/* of those that change, and how many there are */
#define PORTS		60000
#define STRIDE		7919		/* has no divisor in common with that */
#define SPOOFED		16		/* the last byte of the first address they are from, */
#define ADDRESSES	200		/* and how many there are */
#define DRAIN		(10 * 1000000LL)	/* how often the receiver is looked at, ns */
#define STRAGGLERS	(10 * NSEC)
#define PROGRESS	(5 * NSEC)
#define BUFFER		(32 << 20)
#define BATCH		256		/* packets that are sent or received by one call */
#define NEVER		LLONG_MAX

enum {
	BYTES, US, BURST, JITTER, STREAMS, PER_PORT, TUPLES, COUNT, TCP, RST, SYN, HOST, FROM,
	BEGIN, SKIP, KEYS
};

static char *const keys[] = {
	[BYTES] = "bytes", [US] = "us", [BURST] = "burst", [JITTER] = "jitter",
	[STREAMS] = "streams",
	[PER_PORT] = "ports", [TUPLES] = "tuples", [COUNT] = "count", [TCP] = "tcp", [RST] = "rst",
	[SYN] = "syn",
	[HOST] = "host", [FROM] = "from", [BEGIN] = "begin", [SKIP] = "skip", NULL
};

struct group {
	char name[NAME_ROOM];
	double of[KEYS];
	struct address sender, receiver;
	unsigned int tuples;		/* so far */
	long long sent, arrived, bytes;	/* of what is measured */
};

struct stream {
	struct group *group;
	double next;			/* ns after the start */
	long long n;			/* packets so far */
	unsigned int tuple, seq;
	unsigned short port;
};

struct mark {				/* is first in the payload */
	unsigned int group, measured;
};

union transport {
	struct {
		struct udphdr udp;
		char data[MAX_PACKET - sizeof(struct udphdr)];
	};
	struct {
		struct tcphdr tcp;
		char segment[MAX_PACKET - sizeof(struct tcphdr)];
	};
};

union packet {
	struct iphdr v4;
	struct ip6_hdr v6;
	char bytes[sizeof(struct ip6_hdr) + sizeof(union transport)];
};

/* All that is looked at of a packet that has come */
#define HEAD		(sizeof(struct ip6_hdr) + sizeof(struct tcphdr) + sizeof(struct mark))

enum { DURATION, SEED, NUMBERS };
enum { SND = NUMBERS, RCV, DEV, ADDR, HOSTS, OUT, OPTIONS };

static double num[NUMBERS] = { [DURATION] = 10, [SEED] = 1 };
static const char *text[OPTIONS] = {
	[DEV] = "lo", [ADDR] = "127.0.0.1", [HOSTS] = "127.0.0.1",
};

static struct group groups[MAX_GROUPS];
static struct stream streams[MAX_STREAMS];
static unsigned int ngroups, nstreams;
static int raw, seen, ip_bytes;		/* those of an IP header */
static union packet queue[BATCH];	/* to be sent by one call */
static struct iovec queued_iov[BATCH];
static struct mmsghdr queued_msg[BATCH];
static unsigned int queued;
static long long end;			/* ns after the start, as all times but now() */

static long long now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static bool is_tcp(const struct group *g)
{
	return g->of[TCP] || g->of[RST] || g->of[SYN];
}

static union transport *transport_of(union packet *p)
{
	return (union transport *)(p->bytes + ip_bytes);
}

/*
 * The next 5-tuple's source: no two of a group's first 60000 are the same, or 200 times as many
 * unless it has one address.
 */
static struct address choose_source(const struct stream *s, unsigned short *port)
{
	const struct group *g = s->group;
	unsigned int id = s->tuple, tuples = g->of[TUPLES] ?: PORTS;

	*port = htons(s->port);
	if (!g->of[PER_PORT])
		return g->sender;
	*port = htons(FIRST_PORT + (unsigned long long)id * STRIDE % PORTS);
	return g->of[FROM] ? g->sender :
			     host_beside(g->sender, SPOOFED + id / tuples % ADDRESSES);
}

static void fill_ip(union packet *p, const struct address *from, const struct address *to,
		    unsigned int length, int protocol)
{
	if (to->any.sa_family == AF_INET) {
		p->v4 = (struct iphdr) {
			.version = 4, .ihl = 5, .ttl = 64, .protocol = protocol,
			.saddr = from->v4.sin_addr.s_addr, .daddr = to->v4.sin_addr.s_addr,
		};
		return;
	}
	p->v6.ip6_vfc = 6 << 4;
	p->v6.ip6_plen = htons(length - sizeof(p->v6));
	p->v6.ip6_nxt = protocol;
	p->v6.ip6_hlim = 64;
	p->v6.ip6_src = from->v6.sin6_addr;
	p->v6.ip6_dst = to->v6.sin6_addr;
}

static bool each(const struct group *g, int key, long long n)
{
	return g->of[key] && n % (long long)g->of[key] == g->of[key] - 1;
}

static struct address fill_tcp(struct stream *s, struct tcphdr *tcp, unsigned int bytes)
{
	const struct group *g = s->group;
	long long per = g->of[PER_PORT], place = per ? s->n % per : s->n;
	struct address from = choose_source(s, &tcp->source);

	if (!place) {
		unsigned short number[3] = { s->tuple, s->port, num[SEED] };

		s->seq = (unsigned int)nrand48(number) << 1;
	}
	tcp->dest = htons(TO_PORT);
	tcp->seq = htonl(s->seq);
	tcp->ack = 1;
	tcp->ack_seq = htonl(1);
	tcp->doff = sizeof(*tcp) / 4;
	tcp->window = htons(65535);
	tcp->syn = !place || each(g, SYN, s->n);
	tcp->rst = each(g, RST, s->n);
	tcp->fin = per && place == per - 1;
	s->seq += bytes + !place;
	return from;
}

/* Send what is queued. */
static void flush(void)
{
	for (unsigned int i = 0, n; i < queued; i += n) {
		int sent = sendmmsg(raw, queued_msg + i, queued - i, 0);

		if (sent <= 0)
			err(1, "sending");
		n = sent;
	}
	queued = 0;
}

static void queue_packet(struct stream *s)
{
	struct group *g = s->group;
	long long per = g->of[PER_PORT];
	union packet *p = &queue[queued];
	union transport *t = transport_of(p);
	unsigned int bytes = g->of[BYTES], length = ip_bytes + bytes;
	struct mark mark = { g - groups, s->next >= g->of[SKIP] * NSEC };
	struct address from;

	memset(p, 0, sizeof(*p));
	if (per && s->n % per == 0)
		s->tuple = g->tuples++;
	if (is_tcp(g)) {
		length += sizeof(t->tcp);
		from = fill_tcp(s, &t->tcp, bytes);
		memcpy(t->segment, &mark, sizeof(mark));
	} else {
		length += sizeof(t->udp);
		from = choose_source(s, &t->udp.source);
		t->udp.dest = htons(TO_PORT);
		t->udp.len = htons(sizeof(t->udp) + bytes);
		memcpy(t->data, &mark, sizeof(mark));
	}
	fill_ip(p, &from, &g->receiver, length, is_tcp(g) ? IPPROTO_TCP : IPPROTO_UDP);
	queued_iov[queued] = (struct iovec) { p, length };
	queued_msg[queued].msg_hdr = (struct msghdr) {
		.msg_name = &g->receiver.any, .msg_namelen = g->receiver.len,
		.msg_iov = &queued_iov[queued], .msg_iovlen = 1,
	};
	if (++queued == BATCH)
		flush();
	g->sent += mark.measured;
	s->n++;
}

/* What is due of a stream */
static void queue_burst(struct stream *s)
{
	const struct group *g = s->group;

	for (int i = 0; i < g->of[BURST] && s->next != NEVER; i++) {
		queue_packet(s);
		if (g->of[COUNT] && s->n >= g->of[COUNT])
			s->next = NEVER;
	}
	if (s->next != NEVER)
		s->next += g->of[BURST] * g->of[US] * 1000 *
			   (1 + g->of[JITTER] * (2 * drand48() - 1));
}

static void count(union packet *p, unsigned int length, long long t)
{
	int protocol = ip_bytes == sizeof(p->v4) ? p->v4.protocol : p->v6.ip6_nxt;
	const union transport *of = transport_of(p);
	const char *data = protocol == IPPROTO_TCP ? of->segment : of->data;
	struct mark mark;
	struct group *g;

	if (p->bytes + length < data + sizeof(mark))
		errx(1, "a packet of somebody else");
	memcpy(&mark, data, sizeof(mark));
	if (mark.group >= ngroups)
		errx(1, "a packet of no group");
	g = &groups[mark.group];
	g->arrived += mark.measured;
	if (t - DRAIN >= g->of[SKIP] * NSEC && t <= end)
		g->bytes += length + ETH_HLEN;
}

/* What has come to the receiver's device in the time that ends at `t` */
static void drain(long long t)
{
	static union packet packets[BATCH];
	struct mmsghdr msgs[BATCH] = { 0 };
	struct iovec iovs[BATCH];
	int n;

	for (int i = 0; i < BATCH; i++) {
		/* The lengths that are told are those of the packets, not of what is read. */
		iovs[i] = (struct iovec){ &packets[i], HEAD };
		msgs[i].msg_hdr.msg_iov = &iovs[i];
		msgs[i].msg_hdr.msg_iovlen = 1;
	}
	do {
		n = recvmmsg(seen, msgs, BATCH, MSG_DONTWAIT | MSG_TRUNC, NULL);
		for (int i = 0; i < n; i++)
			count(&packets[i], msgs[i].msg_len, t);
	} while (n == BATCH);
	if (n < 0 && errno != EAGAIN)
		err(1, "receiving");
}

static void open_sockets(void)
{
	bool v6 = ip_bytes == sizeof(struct ip6_hdr);
	/* IPv4 without options, or IPv6, and the port, which TCP and UDP have at the same place */
	struct sock_filter code[6] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, v6 ? 6 << 4 : 0x45, 0, 3),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ip_bytes + 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TO_PORT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, MAX_PACKET),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { 6, code };
	/* One of IPv4 alone would come after what drops them */
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int size = BUFFER, one = 1;

	enter_netns(text[SND]);
	raw = socket(v6 ? AF_INET6 : AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	if (raw < 0 || setsockopt(raw, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		err(1, "raw socket");
	enter_netns(text[RCV]);
	seen = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	at.sll_ifindex = if_nametoindex(text[DEV]);
	if (seen < 0 || !at.sll_ifindex ||
	    setsockopt(seen, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    setsockopt(seen, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    setsockopt(seen, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ||
	    bind(seen, (struct sockaddr *)&at, sizeof(at)))
		err(1, "%s", text[DEV]);
}

static bool all_arrived(void)
{
	for (unsigned int i = 0; i < ngroups; i++)
		if (groups[i].arrived < groups[i].sent)
			return false;
	return true;
}

static void run(void)
{
	long long t0 = now(), t = 0, next_drain = 0, next_progress = PROGRESS;

	while (t < end || (t < end + STRAGGLERS && !all_arrived())) {
		long long due = next_drain;

		for (struct stream *s = streams; s < streams + nstreams; s++) {
			while (s->next <= t && s->next < end)
				queue_burst(s);
			/* Not before it: then it would be due for ever. */
			if (s->next < due && s->next < end)
				due = ceil(s->next);
		}
		flush();
		if (t >= next_drain) {
			drain(next_drain);
			next_drain += DRAIN;
		}
		if (t >= next_progress) {
			printf("progress %lld %.0f active %u\n", t / NSEC, num[DURATION], nstreams);
			next_progress += PROGRESS;
		}
		sleep_until(CLOCK_MONOTONIC, t0 + due);
		/*
		 * Not now(): in user-mode Linux a look at the clock costs as much as to send a
		 * packet, and if it is later by now, the next sleep is over at once.
		 */
		t = due;
	}
}

static void write_group(const struct group *g, FILE *out)
{
	fprintf(out, "packets %s seconds %g sent %lld arrived %lld bytes %lld\n", g->name,
		num[DURATION] - g->of[SKIP], g->sent, g->arrived, g->bytes);
}

static void parse(const char *arg)
{
	struct group *g = &groups[ngroups++];
	double headers = ip_bytes;

	g->of[STREAMS] = 1;
	g->of[BURST] = 1;
	g->of[HOST] = 1;
	parse_group(arg, g->name, keys, g->of);
	headers += is_tcp(g) ? sizeof(struct tcphdr) : sizeof(struct udphdr);
	if (g->of[BYTES] < sizeof(struct mark) || g->of[BYTES] + headers > MAX_PACKET ||
	    !g->of[US] || g->of[STREAMS] < 1 || g->of[BURST] < 1 ||
	    g->of[HOST] < 1 || g->of[HOST] > 254 || g->of[FROM] > 254 || g->of[JITTER] > 1 ||
	    g->of[SKIP] >= num[DURATION])
		errx(1, "%s: what is to be sent?", arg);
	if (nstreams + g->of[STREAMS] > MAX_STREAMS)
		errx(1, "more than %d streams", MAX_STREAMS);
	/* A raw socket of IPv6 has no ports, and wants none. */
	g->receiver = host_beside(address_of(text[HOSTS], 0), g->of[HOST]);
	g->sender = host_beside(address_of(text[ADDR], 0), g->of[FROM]);
	for (int i = 0; i < g->of[STREAMS]; i++, nstreams++)
		streams[nstreams] = (struct stream){
			.group = g,
			.port = OWN_PORT + nstreams,
			.next = g->of[BEGIN] * NSEC +
				(g->of[STREAMS] > 1 ? g->of[US] * 1000 * drand48() : 0),
		};
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "duration", 1, NULL, DURATION }, { "seed", 1, NULL, SEED },
		{ "snd", 1, NULL, SND }, { "rcv", 1, NULL, RCV }, { "dev", 1, NULL, DEV },
		{ "addr", 1, NULL, ADDR }, { "hosts", 1, NULL, HOSTS }, { "out", 1, NULL, OUT },
		{ NULL, 0, NULL, 0 }
	};
	char *rest;
	FILE *out;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == '?')
			return 1;
		text[c] = optarg;
		if (c >= NUMBERS)
			continue;
		num[c] = strtod(optarg, &rest);
		if (*rest || !(num[c] > 0 || (num[c] == 0 && c == SEED)))
			errx(1, "--%s: %s is no number > 0", options[c].name, optarg);
	}
	if (optind == argc || argc - optind > MAX_GROUPS)
		errx(1, "give 1 to %d groups", MAX_GROUPS);
	srand48(num[SEED]);
	end = num[DURATION] * NSEC;
	ip_bytes = address_of(text[ADDR], 0).any.sa_family == AF_INET ? sizeof(struct iphdr) :
								       sizeof(struct ip6_hdr);
	while (optind < argc)
		parse(argv[optind++]);
	setlinebuf(stdout);
	out = open_out(text[OUT]);
	prctl(PR_SET_TIMERSLACK, 1);
	open_sockets();
	run();
	for (unsigned int i = 0; i < ngroups; i++)
		write_group(&groups[i], out);
	if (fclose(out))
		err(1, "writing the result");
	return 0;
}
