// SPDX-License-Identifier: GPL-2.0
/*
 * flowgen: TCP flows between two network namespaces, open loop.
 *
 * The receiver connects, the sender answers with the flow's bytes: a download.
 * One process holds both ends of every connection (it enters each namespace to
 * open its sockets there), so nothing but the flows themselves crosses the
 * network, and one clock measures the response time: from the receiver's
 * connect() to the arrival of the last byte.
 *
 * All flows are drawn from the seed before the first one starts. Arrivals and
 * sizes have a random stream each: another load means the same sizes.
 *
 * Both ends tell how many packets the sender has sent, and how many have arrived: those
 * missing were dropped on the way, whatever was repeated. For that the receiver's end
 * is asked only when the sender has acknowledged that it closes, with its last packet.
 * Should that be lost, the next one is counted in its place.
 *
 * With --sizes a file is told how long each flow will be (modules/sch_srpt.c): a line with
 * its ports, the sender's first, and its bytes.
 *
 * With --sink the kernel reads what the receiver throws away (modules/tcp_sink.c), but for
 * the last byte, which tells when all has come.
 *
 * With --ports flows take the sender's ports from --port on in turn, so that the
 * network may tell them apart. With --flows each has a receiver's port of its own, so
 * that no two have the same ports. With --hosts the receivers of each of the sender's
 * ports have an address of their own: its last byte is 101 and up, the rest is that of --hosts.
 *
 * With --via the receiver connects to that address, where somebody forwards what comes to a port
 * to the sender's of the same number (via.h). Packets are not counted then: what the two ends
 * see are not those of one connection.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <linux/tcp.h>
#include <math.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "address.h"
#include "util.h"
#include "via.h"

#define HEADERS		52	/* bytes of a packet that are not payload */
#define PROGRESS	(5 * NSEC)
#define MAX_TERMS	8
#define MAX_BYTES	1e15
#define MAX_PORTS	64
#define FIRST_PORT	2000	/* the receiver's */
#define FIRST_HOST	101
#define LAST_PORT	65535

/* A state of TCP, as in the kernel's net/tcp_states.h */
#define CLOSE		7

enum source { TIMER, LISTENER, ASKED, CLIENT, SERVER };

struct flow {
	long long at;		/* ns after the start; planned, then actual */
	long long bytes, sent, got;
	long long response;	/* ns */
	int client, server;	/* the receiver's and the sender's socket, or -1 */
	bool asked;		/* with --via: the receiver has */
	bool answered;		/* the receiver has seen the sender's end, and sent its own */
	unsigned int ports[2];	/* the sender's and the receiver's */
	unsigned int left, arrived;	/* the sender's packets, how many */
	const char *status;	/* ok, connect, reset, short, timeout */
};

struct term {
	double weight;
	int kind;
	double arg[3];
};

enum kind { EXP, FIXED, PARETO, LOMAX, BP };

static const struct {
	const char *name;
	int args;
} kinds[] = {
	[EXP] = { "exp", 1 },		/* mean */
	[FIXED] = { "fixed", 1 },
	[PARETO] = { "pareto", 2 },	/* minimum, alpha */
	[LOMAX] = { "lomax", 2 },	/* mean, alpha */
	[BP] = { "bp", 3 },		/* minimum, maximum, alpha */
};

/* Options with a number, options with a text, and switches */
enum { SEED, DURATION, LOAD, RATE, GAP, WAIT, FLOWS, MTU, PORTS, PORT, NUMBERS };
enum { SIZE = NUMBERS, SND, RCV, ADDR, HOSTS, VIA, OUT, SIZES, SINK, OPTIONS };

static double num[NUMBERS] = {
	[SEED] = 1, [DURATION] = 10, [LOAD] = 0.5, [RATE] = 1e7,
	[GAP] = 0.03, [WAIT] = 600,	/* seconds, as the duration */
	[MTU] = 1500, [PORTS] = 1, [PORT] = 5000,
};

static const char *text[OPTIONS] = {
	[SIZE] = "fixed(10)", [ADDR] = "127.0.0.1",
};

static int list, alone, web;

static struct term terms[MAX_TERMS];
static int nterms;
static struct flow *flows;
static unsigned int nflows, next_flow, active, done;
/* 1 + the flow, by the sender's port and the receiver's */
static unsigned int flow_of[MAX_PORTS][65536];
static long long t0, last_start, idle_since;
static int epfd, listeners[MAX_PORTS], sizes_fd = -1, sink_fd = -1;
static struct address dest;	/* of the sender */
static struct address goal;	/* where the receiver connects to */
static char buf[65536];

static long long now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* xoshiro256** seeded by splitmix64 (Blackman and Vigna, public domain) */
struct rng {
	unsigned long long s[4];
};

static void rng_seed(struct rng *r, unsigned long long seed)
{
	for (int i = 0; i < 4; i++) {
		unsigned long long z = seed += 0x9e3779b97f4a7c15ULL;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
		r->s[i] = z ^ (z >> 31);
	}
}

static unsigned long long rotl(unsigned long long x, int k)
{
	return (x << k) | (x >> (64 - k));
}

/* uniform in (0, 1] */
static double rng_next(struct rng *r)
{
	unsigned long long *s = r->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return ldexp((result >> 11) + 1, -53);
}

static double term_draw(const struct term *t, double u)
{
	double k = t->arg[0], p = t->arg[1], a = t->arg[2];

	switch (t->kind) {
	case EXP:
		return -k * log(u);
	case PARETO:
		return k * pow(u, -1 / p);
	case LOMAX:
		return k * (p - 1) * expm1(-log(u) / p);
	case BP:
		return k * pow(1 - (1 - u) * (1 - pow(k / p, a)), -1 / a);
	default:
		return k;
	}
}

/* "0.8*exp(4)+0.2*bp(13,5000,1.1)" */
static void parse_size(const char *p)
{
	double total = 0, *a;
	struct term *t = terms;
	int args, kind, len;
	char name[8];

	do {
		len = 0;
		t->weight = 1;
		if (sscanf(p, "%lf*%n", &t->weight, &len) == 1 && !len)
			errx(1, "--size: no '*' after the number at \"%s\"", p);
		p += len;
		a = t->arg;
		args = sscanf(p, "%7[a-z](%lf,%lf,%lf", name, a, a + 1, a + 2);
		for (kind = 0; kind <= BP; kind++)
			if (args > 0 && !strcmp(name, kinds[kind].name))
				break;
		if (kind > BP)
			errx(1, "--size: no distribution at \"%s\"", p);
		len = strlen(name) + 1;
		len += strspn(p + len, "0123456789.,e+-");
		if (args - 1 != kinds[kind].args || p[len] != ')')
			errx(1, "--size: %s takes %d numbers in ()", name,
			     kinds[kind].args);
		t->kind = kind;
		total += t->weight;
		if (!(t->weight > 0 && a[0] > 0) ||
		    (kind == PARETO && !(a[1] > 0)) ||
		    (kind == LOMAX && !(a[1] > 1)) ||
		    (kind == BP && !(a[1] > a[0] && a[2] > 0)))
			errx(1, "--size: %s: number out of range", name);
		p += len + 1;
		t++;
	} while (*p++ == '+' && t < terms + MAX_TERMS);
	if (p[-1])
		errx(1, "--size: too much: \"%s\"", p - 1);
	for (nterms = 0; &terms[nterms] < t; nterms++)
		terms[nterms].weight /= total;
}

static int later(const void *a, const void *b)
{
	long long x = *(const long long *)a, y = *(const long long *)b;

	return (x > y) - (x < y);
}

/* An integer of at least 1 from an exponential distribution */
static int draw_count(struct rng *r, double mean)
{
	return fmax(1, round(-mean * log(rng_next(r))));
}

/*
 * Table 1 of Rai et al. 2004: a session is of Exp(60) pages, Exp(5) s apart, a
 * page of Exp(3) objects, Exp(0.5) s apart, and an object is a flow. What would
 * be after the end is taken to the beginning, so that there are as many sessions
 * under way then as at any time.
 */
static void web_arrivals(struct rng *r, long long *at)
{
	double t = 0;
	int pages = 0, objects = 0;

	for (unsigned int i = 0; i < nflows; i++) {
		if (objects) {
			t += -0.5 * log(rng_next(r));
		} else if (pages) {
			t += -5 * log(rng_next(r));
		} else {
			t = num[DURATION] * rng_next(r);
			pages = draw_count(r, 60);
		}
		if (!objects) {
			objects = draw_count(r, 3);
			pages--;
		}
		objects--;
		at[i] = fmod(t, num[DURATION]) * NSEC;
	}
}

/*
 * Flows are drawn until they make up the load; then their number of moments,
 * uniform over the duration: a Poisson process, given that number. To fix the
 * rate instead would leave the load to chance: with a heavy tail it comes out
 * 10 % off in a run of minutes, and response times with it. If it is the number of
 * flows that is given, the duration is what makes them that load.
 */
static void generate(void)
{
	double packet = num[LOAD] * num[RATE] / (8 * num[MTU]);	/* per second */
	double work = 0, most = packet * num[DURATION], payload = num[MTU] - HEADERS;
	struct rng arrivals, sizes;
	size_t room = 0;
	long long *at;

	parse_size(text[SIZE]);
	rng_seed(&arrivals, num[SEED]);
	rng_seed(&sizes, ~(unsigned long long)num[SEED]);
	while (num[FLOWS] ? nflows < num[FLOWS] : work < most) {
		double pick = rng_next(&sizes), bytes;
		struct flow *f;
		int i = 0;

		while (i < nterms - 1 && (pick -= terms[i].weight) > 0)
			i++;
		bytes = payload * term_draw(&terms[i], rng_next(&sizes));
		if (nflows == room) {
			room = room ? 2 * room : 1024;
			flows = realloc(flows, room * sizeof(*flows));
			if (!flows)
				err(1, "flow list");
		}
		f = &flows[nflows++];
		memset(f, 0, sizeof(*f));
		f->bytes = fmax(1, round(fmin(bytes, MAX_BYTES)));
		f->client = -1;
		f->server = -1;
		work += (double)f->bytes / payload;
	}
	if (num[FLOWS])
		num[DURATION] = work / packet;
	at = malloc(nflows * sizeof(*at));
	if (!at)
		err(1, "flow list");
	if (web)
		web_arrivals(&arrivals, at);
	else
		for (unsigned int i = 0; i < nflows; i++)
			at[i] = num[DURATION] * NSEC * rng_next(&arrivals);
	qsort(at, nflows, sizeof(*at), later);
	for (unsigned int i = 0; i < nflows; i++)
		flows[i].at = at[i];
	free(at);
}

/*
 * Edge triggered, but for listeners: an event costs one wakeup and needs no epoll_ctl()
 * after. In user-mode Linux a call costs as much as ten packets do: as few as can be.
 */
static void watch(int fd, enum source source, unsigned int index, unsigned int events)
{
	struct epoll_event ev = {
		.events = events,
		.data.u64 = (unsigned long long)source << 32 | index,
	};

	if (epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev))
		err(1, "epoll_ctl");
}

/* IPv4 and IPv6 keep the port in the same place */
static unsigned int port_of(const struct address *a)
{
	return ntohs(a->v4.sin_port);
}

/* Give the receiver's end of flow @i a port that no other flow has, or an address of its own. */
static void bind_client(const struct flow *f, unsigned int i)
{
	struct address from = { .any.sa_family = dest.any.sa_family, .len = dest.len };
	int one = 1;

	if (text[HOSTS])
		from = host_beside(address_of(text[HOSTS], 0),
				   FIRST_HOST + i % (unsigned int)num[PORTS]);
	if (num[FLOWS])
		from.v4.sin_port = htons(FIRST_PORT + i);
	else if (setsockopt(f->client, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one)))
		err(1, "port");
	if (bind(f->client, &from.any, from.len))
		err(1, "bind of flow %u", i);
}

static int tcp_socket(void)
{
	return socket(dest.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* Let dest and goal be the sender's port of this number. */
static void aim_at(unsigned int i)
{
	dest.v4.sin_port = htons(num[PORT] + i);
	goal.v4.sin_port = dest.v4.sin_port;
}

static void open_listeners(void)
{
	int one = 1, fd;

	dest = address_of(text[ADDR], num[PORT]);
	goal = text[VIA] ? address_of(text[VIA], num[PORT]) : dest;
	for (unsigned int i = 0; i < num[PORTS]; i++) {
		aim_at(i);
		fd = tcp_socket();
		if (fd < 0 ||
		    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
		    bind(fd, &dest.any, dest.len) || listen(fd, 65535))
			err(1, "listen on %s port %.0f + %u", text[ADDR], num[PORT], i);
		watch(fd, LISTENER, i, EPOLLIN);
		listeners[i] = fd;
	}
}

static struct tcp_info tcp_info(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		err(1, "TCP_INFO");
	return info;
}

static void close_client(struct flow *f, unsigned int arrived)
{
	f->arrived = text[VIA] ? 0 : arrived;
	close(f->client);
	f->client = -1;
}

static void close_server(struct flow *f)
{
	f->left += text[VIA] ? 0 : tcp_info(f->server).tcpi_segs_out;
	close(f->server);
	f->server = -1;
}

static void flow_ended(void)
{
	done++;
	if (!--active && alone)
		idle_since = now();
}

static void flow_failed(struct flow *f, const char *why, int error)
{
	struct linger hard = { .l_onoff = 1 };

	/* What counts is the last byte: later trouble does not */
	if (!f->response) {
		f->status = why;
		printf("failed: flow %td, %lld bytes, at %.3f s: %s %s\n",
		       f - flows, f->bytes, (double)f->at / NSEC,
		       why, error ? strerror(error) : "");
	}
	/* A failed flow must not go on sending behind our back */
	if (f->client >= 0) {
		setsockopt(f->client, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		close_client(f, tcp_info(f->client).tcpi_segs_in);
	}
	if (f->server >= 0) {
		setsockopt(f->server, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		close_server(f);
	}
	flow_ended();
}

static void start_flow(unsigned int i, long long t)
{
	struct flow *f = &flows[i];
	struct address from = { .len = sizeof(from.v6) };

	f->client = tcp_socket();
	if (f->client < 0)
		err(1, "socket for flow %u, %u active", i, active);
	active++;
	last_start = t;
	f->at = t - t0;
	aim_at(i % (unsigned int)num[PORTS]);
	f->ports[0] = port_of(&dest);
	if (num[FLOWS] || text[HOSTS])
		bind_client(f, i);
	if (connect(f->client, &goal.any, goal.len) &&
	    errno != EINPROGRESS) {
		flow_failed(f, "connect", errno);
		return;
	}
	if (getsockname(f->client, &from.any, &from.len))
		err(1, "getsockname");
	f->ports[1] = port_of(&from);
	flow_of[i % (unsigned int)num[PORTS]][f->ports[1]] = i + 1;
	if (sizes_fd >= 0 &&
	    dprintf(sizes_fd, "%u %u %lld\n", f->ports[0], f->ports[1], f->bytes) < 0)
		err(1, "%s", text[SIZES]);
	/* What is one packet takes one call in any case. */
	if (f->bytes > num[MTU] - HEADERS && sink_bytes(sink_fd, f->client, f->bytes - 1))
		f->got = f->bytes - 1;
	watch(f->client, CLIENT, i,
	      EPOLLIN | (text[VIA] ? EPOLLOUT : 0) | EPOLLRDHUP | EPOLLET);
}

/* The receiver's end */
static void client_event(struct flow *f, unsigned int events)
{
	socklen_t len = sizeof(int);
	struct tcp_info info;
	int error = 0;
	ssize_t n;

	if (events & EPOLLERR && f->client >= 0) {
		getsockopt(f->client, SOL_SOCKET, SO_ERROR, &error, &len);
		flow_failed(f, f->server < 0 ? "connect" : "reset", error);
		return;
	}
	if (text[VIA] && !f->asked && events & EPOLLOUT) {
		struct request mine = { .number = f - flows };

		f->asked = true;
		if (!ask(f->client, mine, f->bytes)) {
			flow_failed(f, "connect", errno);
			return;
		}
	}
	if (f->answered && f->client >= 0) {
		info = tcp_info(f->client);
		if (info.tcpi_state != CLOSE)
			return;
		close_client(f, info.tcpi_segs_in);
		if (f->server < 0)
			flow_ended();
		return;
	}
	/* MSG_TRUNC: TCP throws the data away instead of copying it */
	while (f->client >= 0) {
		n = recv(f->client, buf, sizeof(buf), MSG_TRUNC);
		if (n < 0) {
			if (errno != EAGAIN)
				flow_failed(f, "reset", errno);
			return;
		}
		if (!n && !f->response) {
			flow_failed(f, "short", 0);
			return;
		}
		if (!n) {
			shutdown(f->client, SHUT_WR);
			f->answered = true;
			return;
		}
		f->got += n;
		if (f->got == f->bytes) {
			f->response = now() - t0 - f->at;
			f->status = "ok";
		}
		/* A short read has emptied the socket, save for an end */
		if (n < (ssize_t)sizeof(buf) && !(events & EPOLLRDHUP))
			return;
	}
}

/* The sender's end */
static void server_event(struct flow *f, unsigned int events)
{
	ssize_t n;

	if (f->server < 0)	/* closed earlier in this batch of events */
		return;
	while (events & EPOLLOUT && f->sent < f->bytes) {
		n = f->bytes - f->sent;
		if (n > (ssize_t)sizeof(buf))
			n = sizeof(buf);
		n = send(f->server, buf, n, MSG_NOSIGNAL);
		if (n < 0) {
			if (errno != EAGAIN)
				flow_failed(f, "reset", errno);
			return;
		}
		f->sent += n;
		if (f->sent == f->bytes)
			shutdown(f->server, SHUT_WR);
	}
	/* Both directions shut: the receiver has seen our end and sent its own */
	if (events & EPOLLHUP) {
		close_server(f);
		if (f->client < 0)
			flow_ended();
	}
}

static void serve(struct flow *f, int fd, unsigned int i, int how)
{
	struct epoll_event ev = { .data.u64 = (unsigned long long)SERVER << 32 | i };

	f->server = fd;
	server_event(f, EPOLLOUT);
	ev.events = (f->sent < f->bytes ? EPOLLOUT : 0) | EPOLLRDHUP | EPOLLET;
	if (f->server >= 0 && epoll_ctl(epfd, how, fd, &ev))
		err(1, "epoll_ctl");
}

static void accept_one(unsigned int index)
{
	struct address from = { .len = sizeof(from.v6) };
	struct flow *f;
	unsigned int i;
	int fd;

	fd = accept4(listeners[index], &from.any, &from.len,
		     SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		if (errno != EAGAIN && errno != ECONNABORTED)
			err(1, "accept");
		return;
	}
	if (text[VIA]) {
		watch(fd, ASKED, fd, EPOLLIN);
		return;
	}
	i = flow_of[index][port_of(&from)];
	f = i ? &flows[i - 1] : NULL;
	if (!f || f->client < 0 || f->server >= 0) {
		close(fd);	/* its flow has failed meanwhile */
		return;
	}
	/* What it has sent before there was a socket to count it */
	f->left = 1 + tcp_info(fd).tcpi_total_retrans;
	serve(f, fd, i - 1, EPOLL_CTL_ADD);
}

/* The sender learns whose connection this is. */
static void asked(int fd)
{
	struct request request;
	struct flow *f;

	if (!asked_for(fd, &request) || request.number >= next_flow) {
		close(fd);
		return;
	}
	f = &flows[request.number];
	if (f->client < 0 || f->server >= 0)
		close(fd);	/* it has failed meanwhile */
	else
		serve(f, fd, request.number, EPOLL_CTL_MOD);
}

static void give_up(void)
{
	for (unsigned int i = 0; i < next_flow; i++)
		if (flows[i].client >= 0 || flows[i].server >= 0)
			flow_failed(&flows[i], "timeout", 0);
}

static void print_progress(long long t)
{
	/* Alone, the end is not known: go by the share of flows done */
	double total = !alone ? num[DURATION] :
		       (double)t / NSEC * nflows / (done ? done : 1);

	printf("progress %.0f %.0f active %u done %u\n", (double)t / NSEC,
	       total, active, done);
}

/* Do what is due; returns when something next will be */
static long long on_time(void)
{
	static long long next_progress = PROGRESS;
	long long gap = num[GAP] * NSEC, wait = num[WAIT] * NSEC;
	long long t = now(), due;

	if (t - t0 >= next_progress) {
		print_progress(t - t0);
		next_progress += PROGRESS;
	}
	if (active && t >= last_start + wait &&
	    (alone || next_flow == nflows))
		give_up();
	while (next_flow < nflows &&
	       (alone ? !active && t >= idle_since + gap :
			    t >= t0 + flows[next_flow].at)) {
		start_flow(next_flow++, t);
		if (next_flow < nflows && t >= t0 + flows[next_flow].at)
			t = now();
	}

	due = t0 + next_progress;
	if (active && last_start + wait < due)
		due = last_start + wait;
	if (next_flow < nflows && !alone && t0 + flows[next_flow].at < due)
		due = t0 + flows[next_flow].at;
	if (next_flow < nflows && alone && !active &&
	    idle_since + gap < due)
		due = idle_since + gap;
	return due;
}

static void run(void)
{
	struct rlimit files = { 1 << 20, 1 << 20 };
	struct epoll_event ev[256];
	long long armed = 0, due = 0;
	unsigned int seen = 0;
	int timer;

	if (setrlimit(RLIMIT_NOFILE, &files)) {
		getrlimit(RLIMIT_NOFILE, &files);
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	epfd = epoll_create1(EPOLL_CLOEXEC);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (epfd < 0 || timer < 0)
		err(1, "epoll, timerfd");
	watch(timer, TIMER, 0, EPOLLIN | EPOLLET);
	enter_netns(text[SND]);
	open_listeners();
	enter_netns(text[RCV]);

	t0 = now();
	idle_since = t0;
	while (next_flow < nflows || active) {
		/* What is due depends on time and, if none is to begin by then, on flows */
		if (!armed || (done != seen && (alone || next_flow == nflows))) {
			seen = done;
			due = on_time();
		}
		if (next_flow == nflows && !active)
			break;
		if (due != armed) {
			struct itimerspec its = {
				.it_value = { due / NSEC, due % NSEC },
			};

			timerfd_settime(timer, TFD_TIMER_ABSTIME, &its, NULL);
			armed = due;
		}
		int n = epoll_wait(epfd, ev, 256, -1);

		if (n < 0 && errno != EINTR)
			err(1, "epoll_wait");
		for (int i = 0; i < n; i++) {
			unsigned int index = ev[i].data.u64;
			struct flow *f = &flows[index];

			switch (ev[i].data.u64 >> 32) {
			case TIMER:
				armed = 0;
				break;
			case LISTENER:
				accept_one(index);
				break;
			case ASKED:
				asked(index);
				break;
			case CLIENT:
				client_event(f, ev[i].events);
				break;
			case SERVER:
				server_event(f, ev[i].events);
				break;
			}
		}
	}
	print_progress(now() - t0);
}

static void write_csv(FILE *out)
{
	unsigned int ok = 0;

	fputs(list ? "id,start_us,bytes\n" :
	      "id,start_us,bytes,response_us,status,sender,receiver,sent,lost\n", out);
	for (unsigned int i = 0; i < nflows; i++) {
		const struct flow *f = &flows[i];

		fprintf(out, "%u,%lld,%lld", i, f->at / 1000,
			f->bytes);
		if (!list)
			fprintf(out, ",%lld,%s,%u,%u,%u,%u", f->response / 1000, f->status,
				f->ports[0], f->ports[1], f->left,
				f->left > f->arrived ? f->left - f->arrived : 0);
		putc('\n', out);
		ok += f->response > 0;
	}
	/* Tells a whole file from a truncated one */
	fprintf(out, "#end flows %u failed %u\n", nflows,
		list ? 0 : nflows - ok);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		[SEED] = { "seed", 1, NULL, SEED },
		[DURATION] = { "duration", 1, NULL, DURATION },
		[LOAD] = { "load", 1, NULL, LOAD },
		[RATE] = { "rate", 1, NULL, RATE },
		[GAP] = { "gap", 1, NULL, GAP },
		[WAIT] = { "wait", 1, NULL, WAIT },
		[FLOWS] = { "flows", 1, NULL, FLOWS },
		[MTU] = { "mtu", 1, NULL, MTU },
		[PORTS] = { "ports", 1, NULL, PORTS },
		[SIZE] = { "size", 1, NULL, SIZE },
		[SND] = { "snd", 1, NULL, SND },
		[RCV] = { "rcv", 1, NULL, RCV },
		[ADDR] = { "addr", 1, NULL, ADDR },
		[PORT] = { "port", 1, NULL, PORT },
		[HOSTS] = { "hosts", 1, NULL, HOSTS },
		[VIA] = { "via", 1, NULL, VIA },
		[OUT] = { "out", 1, NULL, OUT },
		[SIZES] = { "sizes", 1, NULL, SIZES },
		[SINK] = { "sink", 1, NULL, SINK },
		{ "list", 0, &list, 1 },
		{ "alone", 0, &alone, 1 },
		{ "web", 0, &web, 1 },
		{ NULL, 0, NULL, 0 }
	};
	char *end;
	FILE *out;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == '?')
			return 1;
		if (optarg)
			text[c] = optarg;
		if (!optarg || c >= NUMBERS)
			continue;
		num[c] = strtod(optarg, &end);
		if (*end || !(num[c] > 0 || (num[c] == 0 && c == SEED)))
			errx(1, "--%s: %s is no number > 0", options[c].name,
			     optarg);
	}
	if (optind < argc)
		errx(1, "unexpected \"%s\"", argv[optind]);
	if (num[PORTS] > MAX_PORTS || num[MTU] <= HEADERS)
		errx(1, "at most %d ports, and an MTU above %d", MAX_PORTS, HEADERS);
	if (num[FLOWS] > LAST_PORT - FIRST_PORT + 1)
		errx(1, "at most %d flows, each with a port", LAST_PORT - FIRST_PORT + 1);
	setlinebuf(stdout);
	generate();
	out = open_out(text[OUT]);
	if (text[SIZES]) {
		sizes_fd = open(text[SIZES], O_WRONLY | O_CLOEXEC);
		if (sizes_fd < 0)
			err(1, "%s", text[SIZES]);
	}
	sink_fd = open_sink(text[SINK]);
	if (!list)
		run();
	write_csv(out);
	if (fclose(out))
		err(1, "writing the result");
	return 0;
}
