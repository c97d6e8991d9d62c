// SPDX-License-Identifier: GPL-2.0
/*
 * bulk: TCP flows that never end, between two network namespaces.
 *
 * The receiver connects, to a port of its own for each flow, and the sender sends
 * all it can until the duration is over; with --stagger each flow begins so many
 * seconds after the one before it. One process holds both ends, as flowgen does.
 * What each flow has received in each interval is written, a line for an interval, a
 * column for a flow; then in the same way what it has sent, all its data again each
 * time they were retransmitted. With --sink the kernel reads what the receiver throws away
 * (modules/tcp_sink.c).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <poll.h>
#include <linux/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include "util.h"

#define MAX_FLOWS	64
#define PROGRESS	(5 * NSEC)

enum { FLOWS, DURATION, INTERVAL, PORT, STAGGER, NUMBERS };
enum { SND = NUMBERS, RCV, ADDR, OUT, SINK, OPTIONS };

static double num[NUMBERS] = {
	[FLOWS] = 1, [DURATION] = 10, [INTERVAL] = 1,	/* seconds */
	[PORT] = 7000, [STAGGER] = 0,
};

static const char *text[OPTIONS] = { [ADDR] = "127.0.0.1" };

static struct pollfd ends[2 * MAX_FLOWS + 1];	/* receivers, senders, the timer */
static long long *received, *sent;		/* [interval][flow], bytes */
static long long before[2 * MAX_FLOWS];
static int sink = -1;
static char buf[65536];

static long long now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void open_flows(int flows)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	int listener, one = 1;

	if (inet_pton(AF_INET, text[ADDR], &to.sin_addr) != 1)
		errx(1, "%s: no IPv4 address", text[ADDR]);
	for (int i = 0; i < flows; i++) {
		to.sin_port = htons(num[PORT] + i);
		enter_netns(text[SND]);
		listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (listener < 0 ||
		    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
		    bind(listener, (struct sockaddr *)&to, sizeof(to)) || listen(listener, 1))
			err(1, "listen on %s", text[ADDR]);
		enter_netns(text[RCV]);
		ends[i].fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		ends[i].events = POLLIN;
		if (ends[i].fd < 0 || connect(ends[i].fd, (struct sockaddr *)&to, sizeof(to)))
			err(1, "connect to %s", text[ADDR]);
		if (sink_bytes(sink, ends[i].fd, ENDLESS))
			ends[i].events = 0;
		ends[flows + i].fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (ends[flows + i].fd < 0)
			err(1, "accept");
		close(listener);
	}
}

/* What each flow has received and sent since it was asked last */
static void count(int flows, long long *in, long long *out)
{
	for (int i = 0; i < 2 * flows; i++) {
		struct tcp_info info = { 0 };
		socklen_t len = sizeof(info);
		long long bytes;

		if (getsockopt(ends[i].fd, IPPROTO_TCP, TCP_INFO, &info, &len))
			err(1, "flow %d", i % flows);
		bytes = i < flows ? info.tcpi_bytes_received : info.tcpi_bytes_sent;
		*(i < flows ? in + i : out + i - flows) = bytes - before[i];
		before[i] = bytes;
	}
}

static void transfer(int flows)
{
	for (int i = 0; i < 2 * flows; i++) {
		ssize_t n = 1;

		if (!ends[i].revents)
			continue;
		/* MSG_TRUNC: TCP throws the data away instead of copying it */
		if (i < flows)
			n = recv(ends[i].fd, buf, sizeof(buf), MSG_TRUNC | MSG_DONTWAIT);
		else if (send(ends[i].fd, buf, sizeof(buf), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			n = -1;
		if (!n || (n < 0 && errno != EAGAIN))
			err(1, "flow %d", i % flows);
	}
}

/* Arm the timer for what comes next: the end of an interval, or the next flow */
static void wait_until(int timer, long long t)
{
	struct itimerspec its = { .it_value = { t / NSEC, t % NSEC } };

	if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &its, NULL))
		err(1, "timerfd");
}

/*
 * Of what comes between two times the timer alone tells: in user-mode Linux a look at the clock
 * costs as much as a packet.
 */
static void run(int flows, int intervals)
{
	struct linger hard = { .l_onoff = 1 };
	long long length = num[INTERVAL] * NSEC, stagger = num[STAGGER] * NSEC;
	long long t0 = now(), next_progress = PROGRESS, t = 0, next;
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	int begun = 0, interval = 0;

	ends[2 * flows] = (struct pollfd){ .fd = timer, .events = POLLIN };
	for (;;) {
		for (; interval < intervals && t >= (interval + 1) * length; interval++)
			count(flows, received + interval * flows, sent + interval * flows);
		if (interval == intervals)
			break;
		for (; begun < flows && t >= begun * stagger; begun++)
			ends[flows + begun].events = POLLOUT;
		if (t >= next_progress) {
			printf("progress %lld %lld active %d\n", t / NSEC,
			       length * intervals / NSEC, begun);
			next_progress += PROGRESS;
		}
		next = (interval + 1) * length;
		if (begun < flows && begun * stagger < next)
			next = begun * stagger;
		wait_until(timer, t0 + next);
		do {
			if (poll(ends, 2 * flows + 1, -1) < 0 && errno != EINTR)
				err(1, "poll");
			transfer(flows);
		} while (!ends[2 * flows].revents);
		t = now() - t0;
	}
	/* Nothing may go on behind the back of those who measure after us */
	for (int i = 0; i < 2 * flows; i++) {
		setsockopt(ends[i].fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		close(ends[i].fd);
	}
}

static void write_section(FILE *out, const char *what, const long long *bytes,
			  int flows, int intervals)
{
	fprintf(out, "%s flows %d interval_us %.0f\n", what, flows, num[INTERVAL] * 1e6);
	for (int i = 0; i < intervals * flows; i++)
		fprintf(out, "%lld%c", bytes[i], (i + 1) % flows ? ',' : '\n');
	/* Tells a whole section from a truncated one */
	fprintf(out, "#end intervals %d\n", intervals);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "flows", 1, NULL, FLOWS }, { "duration", 1, NULL, DURATION },
		{ "interval", 1, NULL, INTERVAL }, { "port", 1, NULL, PORT },
		{ "stagger", 1, NULL, STAGGER },
		{ "snd", 1, NULL, SND }, { "rcv", 1, NULL, RCV },
		{ "addr", 1, NULL, ADDR }, { "out", 1, NULL, OUT },
		{ "sink", 1, NULL, SINK },
		{ NULL, 0, NULL, 0 }
	};
	int c, flows, intervals;
	char *end;
	FILE *out;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == '?')
			return 1;
		text[c] = optarg;
		if (c >= NUMBERS)
			continue;
		num[c] = strtod(optarg, &end);
		if (*end || !(num[c] > 0))
			errx(1, "--%s: %s is no number > 0", options[c].name, optarg);
	}
	flows = num[FLOWS];
	intervals = num[DURATION] / num[INTERVAL] + 0.5;
	if (optind < argc || flows < 1 || flows > MAX_FLOWS || intervals < 1)
		errx(1, "1 to %d flows, and an interval or more", MAX_FLOWS);
	received = calloc((size_t)intervals * flows, sizeof(*received));
	sent = calloc((size_t)intervals * flows, sizeof(*sent));
	if (!received || !sent)
		err(1, "results");
	setlinebuf(stdout);
	out = open_out(text[OUT]);
	sink = open_sink(text[SINK]);
	open_flows(flows);
	run(flows, intervals);
	write_section(out, "bulk", received, flows, intervals);
	write_section(out, "sent", sent, flows, intervals);
	if (fclose(out))
		err(1, "writing the result");
	return 0;
}
