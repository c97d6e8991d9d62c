// SPDX-License-Identifier: GPL-2.0
/*
 * cbr: UDP flows of constant rate between two network namespaces.
 *
 *	cbr [--snd NS] [--rcv NS] [--addr ADDR] [--from ADDR] [--port N] [--out FILE] FLOW...
 *
 * FLOW is NAME:FROM:PHASE,PHASE,... and PHASE is SECONDS*BYTES/US: for so many
 * seconds a datagram of so many bytes every so many microseconds; SECONDS*0 is
 * silence. All phases of a flow have the same ports. What it sends from second
 * FROM on is measured. With :ecn after the last phase it may be marked instead of
 * being dropped: ECT(0).
 *
 * They are sent to --addr. With --from, the sender's address, the receiver sends a datagram of
 * each flow's to there first, so that a NAT between them lets the flow in.
 *
 * One process sends and receives, so that one clock measures the delay: from
 * sendto() to the packet's arrival at the receiver's device. For each flow it
 * writes the delay of every measured packet, or that it was lost, and the least
 * delay that any packet of the last phase's size had.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include "address.h"
#include "util.h"

#define MAX_FLOWS	8
#define MAX_PHASES	4
#define MAX_BYTES	1472
#define ECT_0		2
#define NEVER		LLONG_MAX
#define STRAGGLERS	(30 * NSEC)
#define PROGRESS	(30 * NSEC)
#define BUFFER		(8 << 20)
#define LOOK		(NSEC / 10)	/* how often the receiver is looked at */
#define BATCH		64		/* packets that it gets by one call */

struct header {
	long long sent;
	unsigned int flow;
	unsigned int number;	/* 1 and up if measured, else 0 */
};

struct phase {
	long long end, gap;	/* ns */
	int bytes;
};

struct flow {
	char name[16];
	long long from, next;	/* ns */
	struct phase phases[MAX_PHASES], *phase, *stop;
	int sock, ecn;
	unsigned int expected, sent, received;
	long long *delay;	/* of the measured packets, ns; NEVER: lost */
	long long least;
};

static struct flow flows[MAX_FLOWS];
static unsigned int nflows;
static double packets, packets_sent;
static int receiver;

/* Delays are differences to the time stamps of the kernel, which has this clock */
static long long now(void)
{
	return clock_ns(CLOCK_REALTIME);
}

static void bad_flow(const char *arg)
{
	errx(1, "%s: no NAME:SECONDS:SECONDS*BYTES/US,...", arg);
}

static void parse_flow(struct flow *f, const char *arg)
{
	long long begin = 0;
	const char *p = arg;
	double from, span;
	struct phase *ph;
	int len = 0;

	if (sscanf(p, "%15[a-z0-9]:%lf%n", f->name, &from, &len) < 2 || from < 0)
		bad_flow(arg);
	f->from = from * NSEC;
	for (ph = f->phases; p[len]; ph++, begin += span * NSEC) {
		double us = 0;

		f->ecn = !strcmp(p + len, ":ecn") ? ECT_0 : 0;
		if (f->ecn)
			break;

		p += len + 1;
		if (ph == f->phases + MAX_PHASES || (p[-1] != ',' && p[-1] != ':') ||
		    sscanf(p, "%lf*%d%n/%lf%n", &span, &ph->bytes, &len, &us, &len) < 2 ||
		    !(span > 0) || ph->bytes < 0 || ph->bytes > MAX_BYTES ||
		    (ph->bytes && (!(us > 0) || ph->bytes < (int)sizeof(struct header))))
			bad_flow(arg);
		ph->gap = us * 1000;
		ph->end = begin + span * NSEC;
		if (!ph->bytes)
			continue;
		packets += ph->end / ph->gap - begin / ph->gap;
		if (ph->end > f->from)
			f->expected += (ph->end - begin) / ph->gap + 1;
	}
	f->phase = f->phases;
	f->stop = ph;
	f->least = NEVER;
	f->delay = malloc(f->expected * sizeof(*f->delay));
	if (ph == f->phases || !f->expected || !ph[-1].bytes)
		errx(1, "%s: nothing to measure at the end", arg);
	if (!f->delay)
		err(1, "%s", arg);
	for (unsigned int i = 0; i < f->expected; i++)
		f->delay[i] = NEVER;	/* in virtual time it may be 0 */
}

/* The next packet's phase, if there is one; a phase begins when another ends. */
static void next_phase(struct flow *f)
{
	while (f->next >= f->phase->end || !f->phase->bytes) {
		f->next = f->phase->end;
		if (++f->phase == f->stop) {
			f->next = NEVER;
			return;
		}
	}
}

/* At any address, with that port */
static int udp_socket(int family, int port, int which)
{
	int sock = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct address at = address_of(family == AF_INET ? "0.0.0.0" : "::", port);
	int size = BUFFER;

	/* Nothing may be lost but on the way */
	if (sock < 0 || (setsockopt(sock, SOL_SOCKET, which, &size, sizeof(size)) &&
			 errno != EPERM))
		err(1, "socket");
	if (bind(sock, &at.any, at.len))
		err(1, "port %d", port);
	return sock;
}

static void send_packet(unsigned int i)
{
	struct flow *f = &flows[i];
	union {
		struct header h;
		char payload[MAX_BYTES];
	} packet = { .h = { .flow = i } };

	if (f->next >= f->from)
		packet.h.number = ++f->sent;
	packet.h.sent = now();
	if (send(f->sock, &packet, f->phase->bytes, 0) != f->phase->bytes)
		err(1, "%s: sending", f->name);
	packets_sent++;
	f->next += f->phase->gap;
	next_phase(f);
}

static void received(const struct header *h, unsigned int length, const struct msghdr *msg)
{
	const struct cmsghdr *stamp = msg->msg_control;
	struct timespec ts;
	long long delay;
	struct flow *f;

	if (length < sizeof(*h) || h->flow >= nflows || h->number > flows[h->flow].sent ||
	    msg->msg_controllen < CMSG_LEN(sizeof(ts)))
		errx(1, "a packet of somebody else");
	memcpy(&ts, CMSG_DATA(stamp), sizeof(ts));
	f = &flows[h->flow];
	delay = ns(&ts) - h->sent;
	if (delay < f->least && (int)length == f->stop[-1].bytes)
		f->least = delay;
	if (!h->number || f->delay[h->number - 1] != NEVER)
		return;
	f->delay[h->number - 1] = delay;
	f->received++;
}

/* What has come; the kernel has noted when. */
static void receive_all(void)
{
	static union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(struct timespec))];
	} control[BATCH];
	struct mmsghdr msgs[BATCH];
	struct header headers[BATCH];
	struct iovec iovs[BATCH];
	int n;

	do {
		for (int i = 0; i < BATCH; i++) {
			iovs[i] = (struct iovec){ &headers[i], sizeof(headers[i]) };
			msgs[i].msg_hdr = (struct msghdr){
				.msg_iov = &iovs[i],
				.msg_iovlen = 1,
				.msg_control = &control[i],
				.msg_controllen = sizeof(control[i]),
			};
		}
		n = recvmmsg(receiver, msgs, BATCH, MSG_DONTWAIT | MSG_TRUNC, NULL);
		for (int i = 0; i < n; i++)
			received(&headers[i], msgs[i].msg_len, &msgs[i].msg_hdr);
	} while (n == BATCH);
	if (n < 0 && errno != EAGAIN)
		err(1, "receiving");
}

/* Let the sender hear from the receiver, once for each flow. */
static void send_first(const char *sender, int port)
{
	for (unsigned int i = 0; i < nflows; i++) {
		struct address to = address_of(sender, port + 1 + i);

		if (sendto(receiver, "", 1, 0, &to.any, to.len) != 1)
			err(1, "%s port %d", sender, port + 1 + i);
	}
}

static void open_sockets(const char *snd, const char *rcv, const char *addr, int port)
{
	struct address to = address_of(addr, port);
	bool v6 = to.any.sa_family == AF_INET6;
	int one = 1;

	enter_netns(snd);
	for (unsigned int i = 0; i < nflows; i++) {
		struct flow *f = &flows[i];

		f->sock = udp_socket(to.any.sa_family, port + 1 + i, SO_SNDBUFFORCE);
		if ((f->ecn && setsockopt(f->sock, v6 ? IPPROTO_IPV6 : IPPROTO_IP,
					  v6 ? IPV6_TCLASS : IP_TOS, &f->ecn, sizeof(f->ecn))) ||
		    connect(f->sock, &to.any, to.len))
			err(1, "%s port %d", addr, port);
	}
	enter_netns(rcv);
	receiver = udp_socket(to.any.sa_family, port, SO_RCVBUFFORCE);
	if (setsockopt(receiver, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one)))
		err(1, "port %d", port);
}

static bool all_received(void)
{
	for (unsigned int i = 0; i < nflows; i++)
		if (flows[i].received < flows[i].sent)
			return false;
	return true;
}

/* When the next packet of any flow is to be sent */
static long long next_due(void)
{
	long long due = NEVER;

	for (unsigned int i = 0; i < nflows; i++)
		if (flows[i].next < due)
			due = flows[i].next;
	return due;
}

/*
 * In user-mode Linux a call takes as long as all else that is done for ten packets: three of
 * them send one, and what has come is looked at now and then.
 */
static void run(void)
{
	long long t0 = now(), next_progress = PROGRESS, next_look = LOOK, last = 0, due;

	for (unsigned int i = 0; i < nflows; i++)
		next_phase(&flows[i]);
	while ((due = next_due()) != NEVER) {
		sleep_until(CLOCK_REALTIME, t0 + due);
		for (unsigned int i = 0; i < nflows; i++)
			if (flows[i].next == due)
				send_packet(i);
		last = due;
		if (due >= next_look) {
			receive_all();
			next_look = due + LOOK;
		}
		if (due >= next_progress) {
			printf("progress %.0f %.0f active %u\n", packets_sent, packets, nflows);
			next_progress = due + PROGRESS;
		}
	}
	for (due = last; due < last + STRAGGLERS && !all_received(); due += LOOK) {
		sleep_until(CLOCK_REALTIME, t0 + due);
		receive_all();
	}
}

static void write_flow(const struct flow *f, FILE *out)
{
	/* Without a packet received there is no delay to compare with */
	fprintf(out, "cbr %s bytes %d least_us %.0f\n", f->name, f->stop[-1].bytes,
		f->least == NEVER ? 0 : f->least / 1e3);
	for (unsigned int i = 0; i < f->sent; i++) {
		if (f->delay[i] != NEVER)
			fprintf(out, "%.0f\n", f->delay[i] / 1e3);
		else
			fputs("lost\n", out);
	}
	/* Tells a whole section from a truncated one */
	fprintf(out, "#end packets %u lost %u\n", f->sent, f->sent - f->received);
}

int main(int argc, char **argv)
{
	enum { SND, RCV, ADDR, FROM, PORT, OUT, OPTIONS };
	static const struct option options[] = {
		{ "snd", 1, NULL, SND }, { "rcv", 1, NULL, RCV },
		{ "addr", 1, NULL, ADDR }, { "from", 1, NULL, FROM },
		{ "port", 1, NULL, PORT }, { "out", 1, NULL, OUT },
		{ NULL, 0, NULL, 0 }
	};
	const char *text[OPTIONS] = { [ADDR] = "127.0.0.1", [PORT] = "6000" };
	FILE *out;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == '?')
			return 1;
		text[c] = optarg;
	}
	if (optind == argc || argc - optind > MAX_FLOWS)
		errx(1, "give 1 to %d flows", MAX_FLOWS);
	while (optind < argc)
		parse_flow(&flows[nflows++], argv[optind++]);
	setlinebuf(stdout);
	out = open_out(text[OUT]);
	prctl(PR_SET_TIMERSLACK, 1);
	open_sockets(text[SND], text[RCV], text[ADDR], atoi(text[PORT]));
	if (text[FROM])
		send_first(text[FROM], atoi(text[PORT]));
	run();
	for (unsigned int i = 0; i < nflows; i++)
		write_flow(&flows[i], out);
	if (fclose(out))
		err(1, "writing the result");
	return 0;
}
