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
 *	count=N     packets of each stream, then it ends
 *	tcp=1       segments of connections that have a 5-tuple each: the first has SYN
 *	            and ACK, the last FIN, and between them the sequence goes on
 *	rst=N       TCP, too, and each N-th packet has RST; or syn=N, SYN
 *	host=N      the last byte of the receiver's address, the rest is that of --hosts
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
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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
#define SPOOFED		16		/* the last byte of the first address they are from */
#define DRAIN		(10 * 1000000LL)	/* how often the receiver is looked at, ns */
#define STRAGGLERS	(10 * NSEC)
#define PROGRESS	(5 * NSEC)
#define BUFFER		(32 << 20)
#define BATCH		256		/* packets that are sent or received by one call */
#define NEVER		LLONG_MAX

enum { BYTES, US, BURST, JITTER, STREAMS, PER_PORT, COUNT, TCP, RST, SYN, HOST, BEGIN, SKIP, KEYS };

static char *const keys[] = {
	[BYTES] = "bytes", [US] = "us", [BURST] = "burst", [JITTER] = "jitter",
	[STREAMS] = "streams",
	[PER_PORT] = "ports", [COUNT] = "count", [TCP] = "tcp", [RST] = "rst", [SYN] = "syn",
	[HOST] = "host", [BEGIN] = "begin", [SKIP] = "skip", NULL
};

struct group {
	char name[NAME_ROOM];
	double of[KEYS];
	struct in_addr host;
	struct sockaddr_in to;		/* the same */
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

struct packet {
	struct iphdr ip;
	union {
		struct {
			struct udphdr udp;
			char data[MAX_PACKET - 28];
		};
		struct {
			struct tcphdr tcp;
			char segment[MAX_PACKET - 40];
		};
	};
};

/* All that is looked at of a packet that has come */
#define HEAD		(offsetof(struct packet, segment) + sizeof(struct mark))

enum { DURATION, SEED, NUMBERS };
enum { SND = NUMBERS, RCV, DEV, ADDR, HOSTS, OUT, OPTIONS };

static double num[NUMBERS] = { [DURATION] = 10, [SEED] = 1 };
static const char *text[OPTIONS] = {
	[DEV] = "lo", [ADDR] = "127.0.0.1", [HOSTS] = "127.0.0.1",
};

static struct group groups[MAX_GROUPS];
static struct stream streams[MAX_STREAMS];
static unsigned int ngroups, nstreams;
static int raw, seen;
static struct packet queue[BATCH];	/* to be sent by one call */
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

/* The next 5-tuple's source: no two of a group's first 60000 times 200 are the same. */
static void choose_source(const struct stream *s, struct packet *p, unsigned short *port)
{
	struct in_addr from = host_address(text[ADDR], 0);
	unsigned int id = s->tuple, address = SPOOFED + id / PORTS % 200;

	if (!s->group->of[PER_PORT]) {
		p->ip.saddr = inet_addr(text[ADDR]);
		*port = htons(s->port);
		return;
	}
	p->ip.saddr = from.s_addr | htonl(address);
	*port = htons(FIRST_PORT + (unsigned long long)id * STRIDE % PORTS);
}

static bool each(const struct group *g, int key, long long n)
{
	return g->of[key] && n % (long long)g->of[key] == g->of[key] - 1;
}

static void fill_tcp(struct stream *s, struct packet *p, unsigned int bytes)
{
	const struct group *g = s->group;
	long long per = g->of[PER_PORT], place = per ? s->n % per : s->n;

	if (!place) {
		unsigned short number[3] = { s->tuple, s->port, num[SEED] };

		s->seq = (unsigned int)nrand48(number) << 1;
	}
	choose_source(s, p, &p->tcp.source);
	p->tcp.dest = htons(TO_PORT);
	p->tcp.seq = htonl(s->seq);
	p->tcp.ack = 1;
	p->tcp.ack_seq = htonl(1);
	p->tcp.doff = sizeof(p->tcp) / 4;
	p->tcp.window = htons(65535);
	p->tcp.syn = !place || each(g, SYN, s->n);
	p->tcp.rst = each(g, RST, s->n);
	p->tcp.fin = per && place == per - 1;
	s->seq += bytes + !place;
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
	struct packet *p = &queue[queued];
	unsigned int bytes = g->of[BYTES], length;
	struct mark mark = { g - groups, s->next >= g->of[SKIP] * NSEC };

	memset(p, 0, sizeof(*p));
	p->ip = (struct iphdr) { .version = 4, .ihl = 5, .ttl = 64 };
	p->ip.daddr = g->host.s_addr;
	if (per && s->n % per == 0)
		s->tuple = g->tuples++;
	if (is_tcp(g)) {
		p->ip.protocol = IPPROTO_TCP;
		memcpy(p->segment, &mark, sizeof(mark));
		length = sizeof(p->ip) + sizeof(p->tcp) + bytes;
		fill_tcp(s, p, bytes);
	} else {
		p->ip.protocol = IPPROTO_UDP;
		choose_source(s, p, &p->udp.source);
		p->udp.dest = htons(TO_PORT);
		p->udp.len = htons(sizeof(p->udp) + bytes);
		memcpy(p->data, &mark, sizeof(mark));
		length = sizeof(p->ip) + sizeof(p->udp) + bytes;
	}
	queued_iov[queued] = (struct iovec) { p, length };
	queued_msg[queued].msg_hdr = (struct msghdr) {
		.msg_name = &g->to, .msg_namelen = sizeof(g->to),
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

static void count(const struct packet *p, unsigned int length, long long t)
{
	const char *data = p->ip.protocol == IPPROTO_TCP ? p->segment : p->data;
	struct mark mark;
	struct group *g;

	if (length < data + sizeof(mark) - (const char *)p)
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
	static struct packet packets[BATCH];
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
	/* IPv4 without options, and the port, which is at the same place in TCP and UDP */
	struct sock_filter code[6] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x45, 0, 3),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, sizeof(struct iphdr) + 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TO_PORT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, MAX_PACKET),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { 6, code };
	/* One of IPv4 alone would come after what drops them */
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int size = BUFFER, one = 1;

	enter_netns(text[SND]);
	raw = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
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
	double headers;

	g->of[STREAMS] = 1;
	g->of[BURST] = 1;
	g->of[HOST] = 1;
	parse_group(arg, g->name, keys, g->of);
	headers = sizeof(struct iphdr);
	headers += is_tcp(g) ? sizeof(struct tcphdr) : sizeof(struct udphdr);
	if (g->of[BYTES] < sizeof(struct mark) || g->of[BYTES] + headers > MAX_PACKET ||
	    !g->of[US] || g->of[STREAMS] < 1 || g->of[BURST] < 1 ||
	    g->of[HOST] < 1 || g->of[HOST] > 254 || g->of[JITTER] > 1 ||
	    g->of[SKIP] >= num[DURATION])
		errx(1, "%s: what is to be sent?", arg);
	if (nstreams + g->of[STREAMS] > MAX_STREAMS)
		errx(1, "more than %d streams", MAX_STREAMS);
	g->host = host_address(text[HOSTS], g->of[HOST]);
	g->to = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = g->host };
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
