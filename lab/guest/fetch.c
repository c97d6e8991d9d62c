// SPDX-License-Identifier: GPL-2.0
/*
 * fetch: groups of TCP downloads between two network namespaces.
 *
 *	fetch [--snd NS] [--rcv NS] [--addr ADDR] [--hosts ADDR] [--duration S]
 *	      [--seed N] [--out FILE] NAME:KEY=NUMBER,...
 *
 *	at_once=N   connections at a time, 1 unless told
 *	bytes=N     of each; without it they never end
 *	most=N      each has from bytes to this, log-uniform, drawn by the seed
 *	every=S     a burst of at_once connections each S seconds; without it another
 *	            connection follows when all of one has come
 *	host=N      the last byte of the receiver's address, the rest is that of --hosts
 *	from=N      the last byte of the sender's address, which is --addr unless told
 *	begin=S     the first connection
 *	skip=S      what is measured begins
 *
 * The receiver connects, the sender answers with the bytes, and one process holds
 * both ends, as in flowgen. With --sink the kernel reads what the receiver throws away
 * (modules/tcp_sink.c), but for the last byte of each. All ends after the duration, what is
 * under way with it.
 *
 * For each group it writes how many bytes have arrived since `skip`, and a line for
 * each connection of those that began then and not in the last five seconds: its
 * burst (or 0), its bytes, and the microseconds from connect() to the last byte, -1
 * if that has not come.
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

#define MAX_GROUPS	8
#define PORT		8000		/* of the first group's sender */
#define MAX_CONNS	8192		/* at a time */
#define PROGRESS	(5 * NSEC)
#define SETTLE		(5 * NSEC)	/* what begins later is not counted */
#define NEVER		LLONG_MAX

enum source { TIMER, LISTENER, CLIENT, SERVER };

enum { AT_ONCE, BYTES, MOST, EVERY, HOST, FROM, BEGIN, SKIP, KEYS };

static char *const keys[] = {
	[AT_ONCE] = "at_once", [BYTES] = "bytes", [MOST] = "most", [EVERY] = "every",
	[HOST] = "host", [FROM] = "from", [BEGIN] = "begin", [SKIP] = "skip", NULL
};

struct fetched {
	unsigned int burst;
	long long bytes, response;	/* us; -1: not yet */
};

struct group {
	char name[NAME_ROOM];
	double of[KEYS];
	struct address sender, receiver;	/* of which the port is chosen by connect() */
	unsigned short random[3];	/* one of its own: qdiscs get the same sizes */
	unsigned int bursts;
	long long next, skip;		/* ns after the start: a burst; NEVER: no more */
	long long got, before;		/* bytes: of those that have ended; until `skip` */
	bool measured;			/* that is over */
	struct fetched *list;		/* of those that count */
	unsigned int count, room, done;
	int listener;
	unsigned int conn_of[65536];	/* 1 + the connection, by the receiver's port */
};

struct conn {
	struct group *group;
	int client, server;
	unsigned short port;		/* the receiver's */
	long long bytes, sent, got, began;
	long long entry;		/* in the group's list, or -1 */
	bool used, followed;
};

enum { DURATION, SEED, NUMBERS };
enum { SND = NUMBERS, RCV, ADDR, HOSTS, OUT, SINK, OPTIONS };

static double num[NUMBERS] = { [DURATION] = 10, [SEED] = 1 };
static const char *text[OPTIONS] = { [ADDR] = "127.0.0.1", [HOSTS] = "127.0.0.1" };

static struct group groups[MAX_GROUPS];
static struct conn conns[MAX_CONNS];
static unsigned int ngroups, active;
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

static long long note(struct group *g, unsigned int burst, long long bytes)
{
	if (g->count == g->room) {
		g->room = g->room ? 2 * g->room : 256;
		g->list = realloc(g->list, g->room * sizeof(*g->list));
		if (!g->list)
			err(1, "list");
	}
	g->list[g->count] = (struct fetched){ burst, bytes, -1 };
	return g->count++;
}

static void begin_one(struct group *g, unsigned int burst)
{
	struct address from = g->receiver;
	unsigned int i = 0;
	struct conn *c;
	int one = 1;

	while (i < MAX_CONNS && conns[i].used)
		i++;
	if (i == MAX_CONNS)
		errx(1, "%s: more than %d connections at a time", g->name, MAX_CONNS);
	c = &conns[i];
	*c = (struct conn){
		.group = g, .client = tcp_socket(g), .server = -1, .bytes = draw_bytes(g),
		.began = since_start(), .entry = -1, .used = true,
	};
	active++;
	if (c->bytes != NEVER && c->began >= g->skip &&
	    c->began < num[DURATION] * NSEC - SETTLE)
		c->entry = note(g, burst, c->bytes);
	/* The port is chosen by connect(), which knows of all that is free for this sender */
	if (setsockopt(c->client, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one)) ||
	    bind(c->client, &from.any, from.len) ||
	    (connect(c->client, &g->sender.any, g->sender.len) && errno != EINPROGRESS) ||
	    getsockname(c->client, &from.any, &from.len))
		err(1, "%s: connect", g->name);
	c->port = from.v4.sin_port;
	g->conn_of[ntohs(c->port)] = i + 1;
	/* One that never ends has more bytes than a socket can be told of. */
	if (sink_bytes(sink, c->client, c->bytes == NEVER ? ENDLESS : c->bytes - 1))
		c->got = c->bytes - 1;
	watch(c->client, CLIENT, i, EPOLLIN | EPOLLRDHUP);
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
	if (!c->followed && !c->group->of[EVERY])
		begin_one(c->group, 0);
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

/* Does what is due, and tells when something next will be. */
static long long on_time(long long t)
{
	static long long next_progress = PROGRESS;
	long long due = num[DURATION] * NSEC;

	if (t >= next_progress) {
		printf("progress %lld %.0f active %u\n", t / NSEC, num[DURATION], active);
		next_progress += PROGRESS;
	}
	for (struct group *g = groups; g < groups + ngroups; g++) {
		for (; g->next <= t; g->bursts++) {
			for (int i = 0; i < g->of[AT_ONCE]; i++)
				begin_one(g, g->of[EVERY] ? g->bursts : 0);
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
		fprintf(out, "%u,%lld,%lld\n", g->list[i].burst, g->list[i].bytes,
			g->list[i].response);
	/* Tells a whole section from a truncated one */
	fprintf(out, "#end begun %u done %u\n", g->of[BYTES] ? g->count : 0, g->done);
}

static void parse(const char *arg)
{
	struct group *g = &groups[ngroups++];

	g->of[AT_ONCE] = 1;
	g->of[HOST] = 1;
	parse_group(arg, g->name, keys, g->of);
	if (g->of[AT_ONCE] < 1 || g->of[HOST] < 1 || g->of[HOST] > 254 || g->of[FROM] > 254 ||
	    g->of[SKIP] >= num[DURATION] || (!g->of[BYTES] && g->of[EVERY]) ||
	    (g->of[MOST] && g->of[MOST] < g->of[BYTES]))
		errx(1, "%s: what is to be fetched?", arg);
	g->receiver = host_beside(address_of(text[HOSTS], 0), g->of[HOST]);
	g->sender = host_beside(address_of(text[ADDR], PORT + (g - groups)), g->of[FROM]);
	g->next = g->of[BEGIN] * NSEC;
	g->skip = g->of[SKIP] * NSEC;
	g->random[0] = num[SEED];
	g->random[1] = ngroups;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "duration", 1, NULL, DURATION }, { "seed", 1, NULL, SEED },
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
	run();
	for (unsigned int i = 0; i < ngroups; i++)
		write_group(&groups[i], out);
	if (fclose(out))
		err(1, "writing the result");
	return 0;
}
