// SPDX-License-Identifier: GPL-2.0
/*
 * fetch: groups of TCP downloads between two network namespaces.
 *
 *	fetch [--snd NS] [--rcv NS] [--addr ADDR] [--hosts ADDR] [--via ADDR] [--duration S]
 *	      [--interval S] [--seed N] [--out FILE] NAME:KEY=NUMBER,...
 *
 *	at_once=N   connections at a time, 1 unless told
 *	bytes=N     of each; without it they never end
 *	most=N      each has from bytes to this, log-uniform, drawn by the seed
 *	every=S     a burst of at_once connections each S seconds; without it another
 *	            connection follows when all of one has come
 *	objects=N   so many connections in all, at_once at a time; with every, in each burst
 *	host=N      the last byte of the receiver's address, the rest is that of --hosts
 *	from=N      the last byte of the sender's address, which is --addr unless told
 *	via=1       the receiver connects to the address of --via, where somebody forwards what
 *	            comes to the sender's port of the same number (via.h)
 *	begin=S     the first connection
 *	skip=S      what is measured begins
 *
 * The receiver connects, the sender answers with the bytes, and one process holds
 * both ends, as in flowgen. With --sink the kernel reads what the receiver throws away
 * (modules/tcp_sink.c), but for the last byte of each. All ends after the duration, what is
 * under way with it.
 *
 * For each group it writes how many bytes have arrived since `skip`, and a line for
 * each connection of those that began then and not in the last five seconds, or whose
 * burst did: its burst (or 0), its bytes, the microseconds from connect() to the last byte, -1
 * if that has not come, and from the beginning of the burst to connect(). With --interval
 * there is a line for each such time, a column for a group: the bytes that have arrived in it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <linux/tcp.h>
#include <math.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include "address.h"
#include "group.h"
#include "util.h"
#include "via.h"

#define MAX_GROUPS	8
#define PORT		8000		/* of the first group's sender */
#define MAX_CONNS	8192		/* at a time */
#define PROGRESS	(5 * NSEC)
#define SETTLE		(5 * NSEC)	/* what begins later is not counted */
#define NEVER		LLONG_MAX

enum source { TIMER, LISTENER, ASKED, CLIENT, SERVER };

enum { AT_ONCE, BYTES, MOST, EVERY, OBJECTS, HOST, FROM, VIA_KEY, BEGIN, SKIP, KEYS };

static char *const keys[] = {
	[AT_ONCE] = "at_once", [BYTES] = "bytes", [MOST] = "most", [EVERY] = "every",
	[OBJECTS] = "objects", [HOST] = "host", [FROM] = "from", [VIA_KEY] = "via",
	[BEGIN] = "begin", [SKIP] = "skip", NULL
};

struct fetched {
	unsigned int burst;
	long long bytes, response;	/* us; -1: not yet */
	long long after;		/* us, since the burst began */
};

struct burst {
	long long began;		/* ns after the start */
	unsigned int left;		/* connections that are to follow */
};

struct group {
	char name[NAME_ROOM];
	double of[KEYS];
	struct address sender, receiver;	/* of which the port is chosen by connect() */
	struct address goal;		/* where the receiver connects to */
	unsigned short random[3];	/* one of its own: qdiscs get the same sizes */
	struct burst *bursts;
	unsigned int nbursts;
	long long next, skip;		/* ns after the start: a burst; NEVER: no more */
	long long got, before;		/* bytes: of those that have ended; until `skip` */
	long long noted;		/* until the last interval */
	bool measured;			/* that is over */
	struct fetched *list;		/* of those that count */
	unsigned int count, room, done;
	int listener;
	unsigned int conn_of[65536];	/* 1 + the connection, by the receiver's port */
};

struct conn {
	struct group *group;
	unsigned int burst, serial;
	int client, server;
	unsigned short port;		/* the receiver's */
	long long bytes, sent, got, began;
	long long entry;		/* in the group's list, or -1 */
	bool used, asked, followed;
};

enum { DURATION, INTERVAL, SEED, NUMBERS };
enum { SND = NUMBERS, RCV, ADDR, HOSTS, VIA, OUT, SINK, OPTIONS };

static double num[NUMBERS] = { [DURATION] = 10, [SEED] = 1 };
static const char *text[OPTIONS] = { [ADDR] = "127.0.0.1", [HOSTS] = "127.0.0.1" };

static struct group groups[MAX_GROUPS];
static struct conn conns[MAX_CONNS];
static unsigned int ngroups, active, serials;
static long long *intervals;		/* [interval][group], bytes */
static unsigned int nintervals, interval;
static long long t0;
static int epfd, sink = -1;
static char buf[65536];

static long long since_start(void)
{
	return clock_ns(CLOCK_MONOTONIC) - t0;
}

/* Edge triggered, as flowgen */
static void watch(int fd, enum source source, unsigned int index, unsigned int events)
{
	struct epoll_event ev = {
		.events = events | EPOLLET,
		.data.u64 = (unsigned long long)source << 32 | index,
	};

	if (epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev))
		err(1, "epoll_ctl");
}

static int tcp_socket(const struct group *g)
{
	int fd = socket(g->sender.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		err(1, "socket, %u connections", active);
	return fd;
}

static long long draw_bytes(struct group *g)
{
	double least = g->of[BYTES], most = g->of[MOST];

	if (!least)
		return NEVER;
	return most > least ? round(least * pow(most / least, erand48(g->random))) : least;
}

static long long note(struct group *g, unsigned int burst, long long bytes, long long after)
{
	if (g->count == g->room) {
		g->room = g->room ? 2 * g->room : 256;
		g->list = realloc(g->list, g->room * sizeof(*g->list));
		if (!g->list)
			err(1, "list");
	}
	g->list[g->count] = (struct fetched){ burst, bytes, -1, after / 1000 };
	return g->count++;
}

static void begin_one(struct group *g, unsigned int burst)
{
	const struct burst *b = &g->bursts[burst];
	struct address from = g->receiver;
	unsigned int i = 0;
	long long counted;
	struct conn *c;
	int one = 1;

	while (i < MAX_CONNS && conns[i].used)
		i++;
	if (i == MAX_CONNS)
		errx(1, "%s: more than %d connections at a time", g->name, MAX_CONNS);
	c = &conns[i];
	*c = (struct conn){
		.group = g, .client = tcp_socket(g), .server = -1, .bytes = draw_bytes(g),
		.burst = burst, .serial = serials++, .began = since_start(), .entry = -1,
		.used = true,
	};
	active++;
	counted = g->of[OBJECTS] ? b->began : c->began;
	if (c->bytes != NEVER && counted >= g->skip && counted < num[DURATION] * NSEC - SETTLE)
		c->entry = note(g, g->of[EVERY] ? burst : 0, c->bytes, c->began - b->began);
	/* The port is chosen by connect(), which knows of all that is free for this sender */
	if (setsockopt(c->client, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one)) ||
	    bind(c->client, &from.any, from.len) ||
	    (connect(c->client, &g->goal.any, g->goal.len) && errno != EINPROGRESS) ||
	    getsockname(c->client, &from.any, &from.len))
		err(1, "%s: connect", g->name);
	c->port = from.v4.sin_port;
	g->conn_of[ntohs(c->port)] = i + 1;
	/* One that never ends has more bytes than a socket can be told of. */
	if (sink_bytes(sink, c->client, c->bytes == NEVER ? ENDLESS : c->bytes - 1))
		c->got = c->bytes - 1;
	watch(c->client, CLIENT, i, EPOLLIN | (g->of[VIA_KEY] ? EPOLLOUT : 0) | EPOLLRDHUP);
}

/* The bytes that have come, but for an end, which TCP counts as one */
static long long received(const struct conn *c)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(c->client, IPPROTO_TCP, TCP_INFO, &info, &len))
		err(1, "%s: TCP_INFO", c->group->name);
	return (long long)info.tcpi_bytes_received < c->bytes ?
		(long long)info.tcpi_bytes_received : c->bytes;
}

/* The same of all of a group */
static long long received_by(const struct group *g)
{
	long long bytes = g->got;

	for (const struct conn *c = conns; c < conns + MAX_CONNS; c++)
		if (c->used && c->group == g && c->client >= 0)
			bytes += received(c);
	return bytes;
}

static void shut(int *fd, bool hard)
{
	struct linger now = { .l_onoff = 1 };

	if (*fd < 0)
		return;
	if (hard)	/* it must not go on sending behind our back */
		setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(*fd);
	*fd = -1;
}

static void shut_client(struct conn *c, bool hard)
{
	if (c->client >= 0)
		c->group->got += received(c);
	shut(&c->client, hard);
}

/* The next one, where they come one after another */
static void follow(struct conn *c)
{
	struct burst *b = &c->group->bursts[c->burst];

	if (!c->followed && b->left) {
		b->left--;
		begin_one(c->group, c->burst);
	}
	c->followed = true;
}

/* Both ends are closed, or there is no need of them. */
static void end_one(struct conn *c, bool hard)
{
	shut_client(c, hard);
	shut(&c->server, hard);
	follow(c);
	c->used = false;
	active--;
}

static bool failed(int fd)
{
	socklen_t len = sizeof(int);
	int error = 0;

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return error;
}

static void client_event(struct conn *c, unsigned int events)
{
	struct group *g = c->group;
	ssize_t n = -1;

	if (c->client < 0)
		return;
	if (events & EPOLLERR && failed(c->client)) {
		end_one(c, true);
		return;
	}
	if (g->of[VIA_KEY] && !c->asked && events & EPOLLOUT) {
		c->asked = true;
		if (!ask(c->client, (struct request){ c - conns, c->serial },
			 c->bytes == NEVER ? 0 : c->bytes)) {
			end_one(c, true);
			return;
		}
	}
	/* MSG_TRUNC: TCP throws the data away instead of copying it */
	while (c->got < c->bytes && (n = recv(c->client, buf, sizeof(buf), MSG_TRUNC)) > 0) {
		c->got += n;
		/* A short read has emptied the socket, save for an end */
		if (n < (ssize_t)sizeof(buf) && c->got < c->bytes && !(events & EPOLLRDHUP))
			return;
	}
	if (c->got == c->bytes) {
		if (c->entry >= 0) {
			g->list[c->entry].response = (since_start() - c->began) / 1000;
			g->done++;
		}
		shut_client(c, false);
		follow(c);
		if (c->server < 0)
			end_one(c, false);
	} else if (!n || errno != EAGAIN) {
		end_one(c, true);
	}
}

static void server_event(struct conn *c, unsigned int events)
{
	ssize_t n;

	if (c->server < 0)
		return;
	while (events & EPOLLOUT && c->sent < c->bytes) {
		n = c->bytes - c->sent < (long long)sizeof(buf) ? c->bytes - c->sent
								: (long long)sizeof(buf);
		n = send(c->server, buf, n, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			end_one(c, true);
			return;
		}
		c->sent += n;
		if (c->sent == c->bytes)
			shutdown(c->server, SHUT_WR);
	}
	if (events & EPOLLHUP) {
		shut(&c->server, false);
		if (c->client < 0)
			end_one(c, false);
	}
}

static void accept_all(struct group *g)
{
	struct address from = { .len = sizeof(from.v6) };
	unsigned int i;
	int fd;

	while ((fd = accept4(g->listener, &from.any, &from.len,
			     SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		if (g->of[VIA_KEY]) {
			watch(fd, ASKED, fd, EPOLLIN);
			continue;
		}
		i = g->conn_of[ntohs(from.v4.sin_port)];
		from.len = sizeof(from.v6);
		if (!i || !conns[i - 1].used || conns[i - 1].group != g ||
		    conns[i - 1].port != from.v4.sin_port || conns[i - 1].server >= 0) {
			close(fd);	/* of one that has failed meanwhile */
			continue;
		}
		conns[i - 1].server = fd;
		watch(fd, SERVER, i - 1, EPOLLOUT | EPOLLRDHUP);
	}
	if (errno != EAGAIN && errno != ECONNABORTED)
		err(1, "accept");
}

/* The sender learns whose connection this is. */
static void asked(int fd)
{
	struct epoll_event ev = { .events = EPOLLOUT | EPOLLRDHUP | EPOLLET };
	struct request request;
	struct conn *c;

	if (!asked_for(fd, &request) || request.number >= MAX_CONNS) {
		close(fd);
		return;
	}
	c = &conns[request.number];
	if (!c->used || c->serial != request.serial || c->server >= 0) {
		close(fd);	/* it has failed meanwhile */
		return;
	}
	c->server = fd;
	ev.data.u64 = (unsigned long long)SERVER << 32 | request.number;
	if (epoll_ctl(epfd, EPOLL_CTL_MOD, fd, &ev))
		err(1, "epoll_ctl");
}

static void open_listeners(void)
{
	int one = 1;

	for (unsigned int i = 0; i < ngroups; i++) {
		const struct address *at = &groups[i].sender;
		int fd = tcp_socket(&groups[i]);

		if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
		    bind(fd, &at->any, at->len) || listen(fd, 65535))
			err(1, "listen on %s", text[ADDR]);
		groups[i].listener = fd;
		watch(fd, LISTENER, i, EPOLLIN);
	}
}

static void begin_burst(struct group *g)
{
	unsigned int number = g->nbursts++, objects = g->of[OBJECTS];
	struct burst *b;

	g->bursts = realloc(g->bursts, g->nbursts * sizeof(*g->bursts));
	if (!g->bursts)
		err(1, "bursts");
	b = &g->bursts[number];
	*b = (struct burst){ .began = since_start(), .left = UINT_MAX };
	if (objects)
		b->left = objects > g->of[AT_ONCE] ? objects - (unsigned int)g->of[AT_ONCE] : 0;
	else if (g->of[EVERY])
		b->left = 0;
	for (int i = 0; i < g->of[AT_ONCE] && (!objects || i < g->of[OBJECTS]); i++)
		begin_one(g, number);
}

/* What each group has received since it was asked last */
static void count_interval(void)
{
	for (struct group *g = groups; g < groups + ngroups; g++) {
		long long bytes = received_by(g);

		intervals[interval * ngroups + (g - groups)] = bytes - g->noted;
		g->noted = bytes;
	}
	interval++;
}

/* Does what is due, and tells when something next will be. */
static long long on_time(long long t)
{
	static long long next_progress = PROGRESS;
	long long due = num[DURATION] * NSEC;

	if (t >= next_progress) {
		printf("progress %lld %.0f active %u\n", t / NSEC, num[DURATION], active);
		next_progress += PROGRESS;
	}
	while (interval < nintervals && (interval + 1) * num[INTERVAL] * NSEC <= t)
		count_interval();
	if (interval < nintervals && (interval + 1) * num[INTERVAL] * NSEC < due)
		due = (interval + 1) * num[INTERVAL] * NSEC;
	for (struct group *g = groups; g < groups + ngroups; g++) {
		while (g->next <= t) {
			begin_burst(g);
			g->next = g->of[EVERY] ? g->next + (long long)(g->of[EVERY] * NSEC) : NEVER;
		}
		if (!g->measured) {
			g->before = received_by(g);
			g->measured = t >= g->skip;
		}
		if (!g->measured && g->skip < due)
			due = g->skip;
		due = g->next < due ? g->next : due;
	}
	return next_progress < due ? next_progress : due;
}

static void handle(const struct epoll_event *ev, bool *ticked)
{
	unsigned int index = ev->data.u64;

	switch (ev->data.u64 >> 32) {
	case TIMER:
		*ticked = true;
		break;
	case LISTENER:
		accept_all(&groups[index]);
		break;
	case ASKED:
		asked(index);
		break;
	case CLIENT:
		if (conns[index].used)
			client_event(&conns[index], ev->events);
		break;
	case SERVER:
		if (conns[index].used)
			server_event(&conns[index], ev->events);
		break;
	}
}

/* Of what comes between two times the timer alone tells, as in bulk */
static void run(void)
{
	struct rlimit files = { 4 * MAX_CONNS, 4 * MAX_CONNS };
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	struct epoll_event ev[256];
	long long end = num[DURATION] * NSEC;

	setrlimit(RLIMIT_NOFILE, &files);
	epfd = epoll_create1(EPOLL_CLOEXEC);
	if (epfd < 0 || timer < 0)
		err(1, "epoll, timerfd");
	watch(timer, TIMER, 0, EPOLLIN);
	enter_netns(text[SND]);
	open_listeners();
	enter_netns(text[RCV]);
	t0 = clock_ns(CLOCK_MONOTONIC);
	for (long long t = 0; t < end; t = since_start()) {
		long long due = t0 + on_time(t);
		struct itimerspec its = { .it_value = { due / NSEC, due % NSEC } };
		bool ticked = false;

		if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &its, NULL))
			err(1, "timerfd");
		while (!ticked) {
			int n = epoll_wait(epfd, ev, 256, -1);

			if (n < 0 && errno != EINTR)
				err(1, "epoll_wait");
			for (int i = 0; i < n; i++)
				handle(&ev[i], &ticked);
		}
	}
	while (interval < nintervals)
		count_interval();
	for (unsigned int i = 0; i < MAX_CONNS; i++) {
		if (!conns[i].used)
			continue;
		shut_client(&conns[i], true);
		shut(&conns[i].server, true);
	}
}

static void write_group(const struct group *g, FILE *out)
{
	fprintf(out, "fetch %s seconds %g bytes %lld\n", g->name,
		num[DURATION] - g->of[SKIP], g->got - g->before);
	for (unsigned int i = 0; i < g->count && g->of[BYTES]; i++)
		fprintf(out, "%u,%lld,%lld,%lld\n", g->list[i].burst, g->list[i].bytes,
			g->list[i].response, g->list[i].after);
	/* Tells a whole section from a truncated one */
	fprintf(out, "#end begun %u done %u\n", g->of[BYTES] ? g->count : 0, g->done);
}

static void write_intervals(FILE *out)
{
	fprintf(out, "fetched flows %u interval_us %.0f\n", ngroups, num[INTERVAL] * 1e6);
	for (unsigned int i = 0; i < nintervals * ngroups; i++)
		fprintf(out, "%lld%c", intervals[i], (i + 1) % ngroups ? ',' : '\n');
	fprintf(out, "#end intervals %u\n", nintervals);
}

static void parse(const char *arg)
{
	struct group *g = &groups[ngroups++];

	g->of[AT_ONCE] = 1;
	g->of[HOST] = 1;
	parse_group(arg, g->name, keys, g->of);
	if (g->of[AT_ONCE] < 1 || g->of[HOST] < 1 || g->of[HOST] > 254 || g->of[FROM] > 254 ||
	    g->of[SKIP] >= num[DURATION] || (!g->of[BYTES] && (g->of[EVERY] || g->of[OBJECTS])) ||
	    (g->of[VIA_KEY] && !text[VIA]) ||
	    (g->of[MOST] && g->of[MOST] < g->of[BYTES]))
		errx(1, "%s: what is to be fetched?", arg);
	g->receiver = host_beside(address_of(text[HOSTS], 0), g->of[HOST]);
	g->sender = host_beside(address_of(text[ADDR], PORT + (g - groups)), g->of[FROM]);
	g->goal = g->of[VIA_KEY] ? address_of(text[VIA], PORT + (g - groups)) : g->sender;
	g->next = g->of[BEGIN] * NSEC;
	g->skip = g->of[SKIP] * NSEC;
	g->random[0] = num[SEED];
	g->random[1] = ngroups;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "duration", 1, NULL, DURATION }, { "interval", 1, NULL, INTERVAL },
		{ "seed", 1, NULL, SEED }, { "via", 1, NULL, VIA },
		{ "snd", 1, NULL, SND }, { "rcv", 1, NULL, RCV },
		{ "addr", 1, NULL, ADDR }, { "hosts", 1, NULL, HOSTS }, { "out", 1, NULL, OUT },
		{ "sink", 1, NULL, SINK },
		{ NULL, 0, NULL, 0 }
	};
	char *end;
	FILE *out;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == '?')
			return 1;
		text[c] = optarg;
		if (c >= NUMBERS)
			continue;
		num[c] = strtod(optarg, &end);
		if (*end || !(num[c] > 0 || (num[c] == 0 && c == SEED)))
			errx(1, "--%s: %s is no number > 0", options[c].name, optarg);
	}
	if (optind == argc || argc - optind > MAX_GROUPS)
		errx(1, "give 1 to %d groups", MAX_GROUPS);
	while (optind < argc)
		parse(argv[optind++]);
	setlinebuf(stdout);
	out = open_out(text[OUT]);
	sink = open_sink(text[SINK]);
	nintervals = num[INTERVAL] ? num[DURATION] / num[INTERVAL] + 0.5 : 0;
	intervals = calloc((size_t)nintervals * ngroups + 1, sizeof(*intervals));
	if (!intervals)
		err(1, "intervals");
	run();
	for (unsigned int i = 0; i < ngroups; i++)
		write_group(&groups[i], out);
	if (nintervals)
		write_intervals(out);
	if (fclose(out))
		err(1, "writing the result");
	return 0;
}
