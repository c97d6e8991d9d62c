// SPDX-License-Identifier: GPL-2.0
/*
 * churn - all clients and all servers of thousands of random connections, in one process
 *
 *	client --- what is tried: nothing, a relay, a pair of daemons --- server
 *
 * Each connection has a number, and a plan that is a function of the seed and of this number: how
 * much goes up and down, who ends first and how, who resets it at which byte, how each end reads
 * and writes. What is sent is a function of connection, direction and offset, too. The client sends
 * the number first, so the server knows the plan. As both ends are here, it is known what an end
 * may see: the bytes that the other one has sent, in this order; an end of file only if the other
 * one has ended, and after all its bytes; a reset if the other one has reset it.
 *
 * A connection is complete, or reset as planned, or broken: refused or reset though nobody has
 * planned that. Broken ones fail the test, unless something is killed on purpose (--allow-broken).
 * These always do:
 *
 *	wrong	a byte that was not sent, or not there; or a connection that comes twice
 *	early	an end of file as if complete, though it was not
 *	hang	nothing more happens, though both ends wait for something
 *
 * They are described on stderr, and the last line, on stdout, is JSON.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define HEAD		16		/* bytes with the number: the first of those that go up */
#define PIECE		65536		/* most that is read or written at a time */
#define BUDGET		(4 * PIECE)	/* most that an end does before others have their turn */
#define SLOTS		8192		/* ms; of the wheel of timers */
#define PIECES		400		/* in so many steps slow ones read or write all */
#define PROLOGUE	512
#define EARLY		3000		/* bytes that a client may send before it is answered */
#define ROUTES_MAX	64
#define TOLD_MAX	50		/* failures that are described */

enum side { CLIENT, SERVER, SIDES };	/* also the direction of what it sends: up, down */

/* How an end reads or writes: at most @most bytes every @gap ms; at byte @pause_at it rests */
struct pace {
	size_t most;
	unsigned int gap;
	uint64_t pause_at;
	unsigned int pause;
	int buffer;			/* SO_RCVBUF or SO_SNDBUF; 0: as it is */
};

enum order {
	AT_ONCE,		/* both send what they have */
	CLIENT_FIRST,		/* the server sends when the client has ended */
	SERVER_FIRST,		/* the client sends its number, and the rest after the server */
};

enum aborting {
	ABORT_NOT,
	ABORT_SENT,		/* resets when it has sent abort_at bytes, */
	ABORT_RECEIVED,		/* or has received them, */
	ABANDON,		/* or then closes, having sent all, and reads no more */
};

struct plan {
	uint64_t size[SIDES];		/* that it sends */
	enum order order;
	int closer;			/* closes when it has all, and awaits no end; -1: none */
	enum aborting aborting;
	enum side aborter;
	uint64_t abort_at;
	struct pace reads[SIDES], writes[SIDES];
	/* What the client tells before */
	bool pipelined;			/* SOCKS: without waiting for answers */
	bool early;			/* bytes follow before the last answer */
	bool told;			/* sizes */
	bool lies;
};

enum state { CONNECTING, ASKING, NAMELESS, STREAM, ENDED };

struct conn;

struct end {
	struct end *next_ready;		/* the run queue */
	struct end *next_timer, **timer;	/* the wheel; @timer is NULL if it is not there */
	struct conn *conn;		/* NULL: a server's whose number has not come */
	enum side side;
	enum state state;
	int fd;
	bool ready, readable, writable;
	bool fin, eof;			/* has ended; has seen the other end's end */
	bool read_paused, write_paused;
	uint64_t sent, received;
	uint64_t read_from, write_from;	/* ms: not before */
	uint64_t wake;
	uint64_t since;			/* ms, of what is NAMELESS */
	unsigned char head[HEAD];
	/* What a client says before and is answered */
	unsigned char ask[PROLOGUE], answer[PROLOGUE];
	size_t ask_len, ask_sent, answered;
	size_t stops[4];		/* no more than this until so many answers are complete */
	unsigned int step, steps;
};

struct conn {
	uint32_t number;
	struct plan plan;
	struct end *ends[SIDES];	/* NULL: the server does not know of it */
	bool aborted;			/* by the plan */
	bool broken, faulty;
	bool counted;			/* of @active */
	uint64_t progress;		/* ms */
};

enum protocol { PLAIN, PROXY, SOCKS };

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

struct route {
	enum protocol protocol;
	union address to, target;
};

static struct {
	uint64_t seed;
	uint32_t connections, at_once, only;
	uint64_t largest;
	int64_t up, down;		/* -1: random */
	unsigned int stall;		/* ms that every reader does not read at first */
	unsigned int timeout;		/* ms */
	bool allow_broken, single, progress;
	unsigned int aborts;		/* one in so many is; 0: none */
	struct route routes[ROUTES_MAX];
	unsigned int n_routes;
	union address listens[ROUTES_MAX];
	unsigned int n_listens;
	const char *netns[SIDES];
} set = {
	.seed = 1, .connections = 1000, .at_once = 100, .largest = 10000000, .up = -1, .down = -1,
	.timeout = 120000, .aborts = 6,
};

static struct {
	uint32_t opened, complete, aborted, broken, refused;
	uint32_t wrong, early, hang;
	uint32_t nameless_resets, never_came;
	uint64_t bytes[SIDES];		/* received */
} count;

static struct conn **conns;
static uint32_t active, pending;	/* pending: clients that ended, unknown to the server */
static struct end *ready, **ready_end = &ready;
static struct end *slots[SLOTS];
static struct end *nameless[65536];	/* by descriptor */
static struct end *garbage;
static uint64_t now, wheel_at, begun, not_before, moved;
static int epoll;
static unsigned char data[PIECE], expected[PIECE];

static const char * const side_names[SIDES] = { "client", "server" };

/* -------------------------------------------------------------------- numbers and plans */

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

struct chance {
	uint64_t state;
};

static uint64_t draw(struct chance *chance, uint64_t below)
{
	chance->state += 0x9e3779b97f4a7c15;
	return below ? mix(chance->state) % below : 0;
}

static bool one_in(struct chance *chance, unsigned int n)
{
	return !draw(chance, n);
}

/* log_uniform - from 1 to @most: a power of two, then uniform below the next */
static uint64_t log_uniform(struct chance *chance, uint64_t most)
{
	unsigned int bits = 0;
	uint64_t low, high;

	while (bits < 63 && most >> (bits + 1))
		bits++;
	low = 1ull << draw(chance, bits + 1);
	high = 2 * low - 1 < most ? 2 * low - 1 : most;
	return low + draw(chance, high - low + 1);
}

/* With a largest of 10 MB the mean is about 50 kB */
static uint64_t size(struct chance *chance)
{
	if (one_in(chance, 10))
		return 0;
	return log_uniform(chance, one_in(chance, 50) ? set.largest : set.largest / 20 + 1);
}

static void pace_draw(struct chance *chance, struct pace *pace, uint64_t bytes, bool reads)
{
	pace->most = PIECE;
	pace->pause_at = UINT64_MAX;
	switch (draw(chance, reads ? 5 : 8)) {
	case 0:		/* little by little */
		pace->most = log_uniform(chance, 4000);
		pace->gap = 1 + draw(chance, 15);
		if (pace->most < bytes / PIECES)
			pace->most = bytes / PIECES;
		break;
	case 1:
		pace->pause_at = draw(chance, bytes + 1);
		pace->pause = 50 + log_uniform(chance, 1000);
		break;
	case 2:
		pace->pause_at = 0;
		pace->pause = 50 + log_uniform(chance, 2000);
		break;
	case 3:
		pace->most = log_uniform(chance, PIECE);
		if (pace->most < bytes / PIECES)
			pace->most = bytes / PIECES;
		break;
	}
	if (pace->most > PIECE)
		pace->most = PIECE;
	if (one_in(chance, 2))
		pace->buffer = 4096 + bytes / 20 + log_uniform(chance, 100000);
}

static void abort_draw(struct chance *chance, struct plan *plan)
{
	enum side side = draw(chance, 2);
	uint64_t in = plan->size[!side], out = plan->size[side];

	plan->aborter = side;
	switch (draw(chance, 3)) {
	case 0:
		plan->aborting = ABORT_SENT;
		plan->abort_at = draw(chance, out + 1);
		break;
	case 1:
		plan->aborting = ABORT_RECEIVED;
		plan->abort_at = draw(chance, in + 1);
		break;
	case 2:
		/* Not who sends when the other one has ended: it has read all by then */
		if (!in || plan->order == (side == SERVER ? CLIENT_FIRST : SERVER_FIRST))
			return;
		plan->aborting = ABANDON;
		plan->abort_at = draw(chance, in);
		break;
	}
	if (side == SERVER && plan->aborting != ABORT_SENT && plan->abort_at < HEAD)
		plan->abort_at = HEAD;
	if (plan->aborting == ABANDON && plan->abort_at >= in)
		plan->aborting = ABORT_NOT;
}

static void plan_draw(uint32_t number, struct plan *plan)
{
	struct chance chance = { mix(set.seed) ^ mix(~(uint64_t)number) };
	enum side side;

	memset(plan, 0, sizeof(*plan));
	plan->size[CLIENT] = HEAD + size(&chance);
	plan->size[SERVER] = size(&chance);
	if (set.up >= 0)
		plan->size[CLIENT] = HEAD + set.up;
	if (set.down >= 0)
		plan->size[SERVER] = set.down;
	plan->order = draw(&chance, 3);
	plan->closer = (int)draw(&chance, 4) - 2;
	if (plan->closer < 0)
		plan->closer = -1;
	for (side = CLIENT; side < SIDES; side++) {
		pace_draw(&chance, &plan->reads[side], plan->size[!side], true);
		pace_draw(&chance, &plan->writes[side], plan->size[side], false);
		if (set.stall) {
			plan->reads[side].pause_at = side == SERVER ? HEAD : 0;
			plan->reads[side].pause = set.stall;
		}
	}
	if (one_in(&chance, set.aborts) && set.aborts)
		abort_draw(&chance, plan);
	plan->pipelined = one_in(&chance, 2);
	plan->early = one_in(&chance, 3);
	plan->told = one_in(&chance, 2);
	plan->lies = one_in(&chance, 8);
}

/* fill - bytes @at and following of what @side sends */
static void fill(uint32_t number, enum side side, uint64_t at, unsigned char *to, size_t n)
{
	uint64_t key = mix(set.seed + 2 * (uint64_t)number + side);

	while (n) {
		uint64_t word = mix(key ^ mix(at >> 3));
		unsigned int skip = at & 7;
		size_t part = 8 - skip < n ? 8 - skip : n;

		if (side == CLIENT && at < 8)
			word = htole64((uint64_t)number << 32 | 0x63687572);
		memcpy(to, (unsigned char *)&word + skip, part);
		to += part;
		at += part;
		n -= part;
	}
}

/* -------------------------------------------------------------------- ends and verdicts */

static void ready_add(struct end *end)
{
	if (end->ready || end->state == ENDED)
		return;
	end->ready = true;
	end->next_ready = NULL;
	*ready_end = end;
	ready_end = &end->next_ready;
}

static void timer_remove(struct end *end)
{
	if (!end->timer)
		return;
	*end->timer = end->next_timer;
	if (end->next_timer)
		end->next_timer->timer = end->timer;
	end->timer = NULL;
}

static void timer_set(struct end *end, uint64_t at)
{
	struct end **slot;

	if (at <= now)
		at = now + 1;
	if (end->timer && end->wake == at)
		return;
	timer_remove(end);
	end->wake = at;
	slot = &slots[at % SLOTS];
	end->next_timer = *slot;
	if (*slot)
		(*slot)->timer = &end->next_timer;
	*slot = end;
	end->timer = slot;
}

static void timers_run(void)
{
	for (; wheel_at <= now; wheel_at++) {
		struct end *end = slots[wheel_at % SLOTS], *next;

		for (; end; end = next) {
			next = end->next_timer;
			if (end->wake > now)
				continue;
			timer_remove(end);
			ready_add(end);
		}
	}
}

static struct end *end_new(int fd, enum side side)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET };
	struct end *end = calloc(1, sizeof(*end));

	if (!end)
		exit(2);
	end->fd = fd;
	end->side = side;
	event.data.ptr = end;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) {
		perror("epoll_ctl");
		exit(2);
	}
	return end;
}

/* It may still be in the run queue: collect() */
static void end_free(struct end *end)
{
	end->next_timer = garbage;
	garbage = end;
}

static void conn_check(struct conn *conn);

static void end_close(struct end *end, bool reset)
{
	const struct linger linger = { .l_onoff = 1 };

	if (end->state == ENDED)
		return;
	if (reset)
		setsockopt(end->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	if (end->state == NAMELESS)
		nameless[end->fd] = NULL;
	close(end->fd);
	timer_remove(end);
	end->state = ENDED;
	if (end->conn)
		conn_check(end->conn);
	else
		end_free(end);
}

static void describe(const struct conn *conn)
{
	static const char * const orders[] = { "at once", "client first", "server first" };
	static const char * const aborts[] = { "", "resets when sent", "resets when received",
					       "abandons at" };
	const struct plan *plan = &conn->plan;
	enum side side;

	fprintf(stderr, "  %s", orders[plan->order]);
	if (plan->closer >= 0)
		fprintf(stderr, ", %s closes", side_names[plan->closer]);
	if (plan->aborting)
		fprintf(stderr, ", %s %s %" PRIu64, side_names[plan->aborter],
			aborts[plan->aborting], plan->abort_at);
	for (side = CLIENT; side < SIDES; side++) {
		const struct end *end = conn->ends[side];

		fprintf(stderr, "; %s", side_names[side]);
		if (!end)
			fprintf(stderr, " knows nothing");
		else
			fprintf(stderr, " sent %" PRIu64 " of %" PRIu64
				"%s, received %" PRIu64 "%s%s", end->sent, plan->size[side],
				end->fin ? " and end" : "", end->received,
				end->eof ? " and end" : "", end->state == ENDED ? ", ended" : "");
	}
	fputc('\n', stderr);
}

__attribute__((format(printf, 3, 4)))
static void tell(struct conn *conn, const struct end *end, const char *format, ...)
{
	static unsigned int told;
	va_list arguments;

	if (told++ >= TOLD_MAX)
		return;
	if (conn)
		fprintf(stderr, "connection %u: ", conn->number);
	if (end)
		fprintf(stderr, "%s: ", side_names[end->side]);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	if (conn)
		describe(conn);
}

/* A fault is counted once for a connection; what follows from it is not looked at */
static void fault(struct end *end, uint32_t *counter)
{
	struct conn *conn = end->conn;

	if (!conn) {
		++*counter;
		end_close(end, true);
		return;
	}
	if (!conn->faulty)
		++*counter;
	conn->faulty = true;
	if (conn->ends[!end->side])
		end_close(conn->ends[!end->side], true);
	end_close(end, true);
}

static void uncount(struct conn *conn)
{
	if (conn->counted)
		active--;
	conn->counted = false;
}

static void conn_end(struct conn *conn)
{
	enum side side;

	if (conn->faulty) {
		;
	} else if (conn->aborted) {
		count.aborted++;
	} else if (conn->broken) {
		count.broken++;
		if (!set.allow_broken)
			tell(conn, NULL, "broken");
	} else {
		count.complete++;
	}
	uncount(conn);
	for (side = CLIENT; side < SIDES; side++)
		if (conn->ends[side])
			end_free(conn->ends[side]);
	conns[conn->number] = NULL;
	free(conn);
}

/* conn_check - has it ended? A client's that the server does not know may still come there. */
static void conn_check(struct conn *conn)
{
	struct end *client = conn->ends[CLIENT], *server = conn->ends[SERVER];

	if (client && client->state != ENDED)
		return;
	if (server && server->state != ENDED)
		return;
	if (server || conn->faulty) {
		conn_end(conn);
		return;
	}
	pending++;
	if (conn->aborted || conn->broken || set.allow_broken)
		uncount(conn);
}

/* An end sees a reset, or is refused */
static void end_reset(struct end *end, int error)
{
	struct conn *conn = end->conn;

	if (!conn) {
		count.nameless_resets++;
	} else if (!conn->aborted && !conn->broken && !conn->faulty) {
		conn->broken = true;
		if (error == ECONNREFUSED)
			count.refused++;
		if (!set.allow_broken)
			tell(conn, end, "unplanned: %s", strerror(error));
		if (set.allow_broken)
			not_before = now + (error == ECONNREFUSED ? 500 : 20);
	}
	end_close(end, true);
}

static void moved_on(struct end *end)
{
	moved = now;
	if (end->conn)
		end->conn->progress = now;
}

/* -------------------------------------------------------------------- a stream */

/* How far an end may write for now, or read */
static uint64_t write_limit(const struct end *end)
{
	const struct plan *plan = &end->conn->plan;
	uint64_t limit = plan->size[end->side];

	if (!end->eof && end->side == SERVER && plan->order == CLIENT_FIRST)
		limit = 0;
	if (!end->eof && end->side == CLIENT && plan->order == SERVER_FIRST)
		limit = HEAD;
	if (plan->aborting == ABORT_SENT && plan->aborter == end->side && plan->abort_at < limit)
		limit = plan->abort_at;
	return limit;
}

static uint64_t read_limit(const struct end *end)
{
	const struct plan *plan = &end->conn->plan;

	if ((plan->aborting == ABORT_RECEIVED || plan->aborting == ABANDON) &&
	    plan->aborter == end->side)
		return plan->abort_at;
	return UINT64_MAX;
}

/* May it go on at its pace? If not, it is woken. */
static bool paced(const struct pace *pace, uint64_t done, bool *paused, uint64_t *from)
{
	if (done >= pace->pause_at && !*paused) {
		*paused = true;
		*from = now + pace->pause;
	}
	return now >= *from;
}

static void verify(struct end *end, size_t n)
{
	struct conn *conn = end->conn;
	const struct end *other = conn->ends[!end->side];
	uint64_t at = end->received;
	size_t i;

	if (!other || at + n > other->sent) {
		tell(conn, end, "more bytes than were sent");
		fault(end, &count.wrong);
		return;
	}
	fill(conn->number, !end->side, at, expected, n);
	if (memcmp(data, expected, n)) {
		for (i = 0; data[i] == expected[i]; i++)
			;
		tell(conn, end, "byte %" PRIu64 " is %#x, not %#x", at + i, data[i], expected[i]);
		fault(end, &count.wrong);
		return;
	}
	end->received += n;
	count.bytes[!end->side] += n;
	moved_on(end);
}

static void end_of_file(struct end *end)
{
	struct conn *conn = end->conn;
	const struct end *other = conn->ends[!end->side];

	if (!other || !other->fin || end->received != conn->plan.size[!end->side]) {
		tell(conn, end, "end of file as if complete");
		fault(end, &count.early);
		return;
	}
	end->eof = true;
	moved_on(end);
}

/* Returns whether there may be more to do at once */
static bool stream_read(struct end *end)
{
	const struct pace *pace = &end->conn->plan.reads[end->side];
	size_t budget = BUDGET;

	while (end->state == STREAM && end->readable && !end->eof) {
		uint64_t left = read_limit(end) - end->received;
		size_t most = pace->most < left ? pace->most : left;
		ssize_t n;

		if (!most || !paced(pace, end->received, &end->read_paused, &end->read_from))
			return false;
		if (end->received < pace->pause_at && most > pace->pause_at - end->received)
			most = pace->pause_at - end->received;
		if (budget < most)
			return true;
		n = recv(end->fd, data, most, 0);
		if (n < 0 && errno == EAGAIN) {
			end->readable = false;
		} else if (n < 0) {
			end_reset(end, errno);
		} else if (!n) {
			end_of_file(end);
		} else {
			budget -= n;
			verify(end, n);
			if (end->state == STREAM && pace->gap)
				end->read_from = now + pace->gap;
		}
	}
	return false;
}

static bool stream_write(struct end *end)
{
	const struct pace *pace = &end->conn->plan.writes[end->side];
	size_t budget = BUDGET;

	while (end->state == STREAM && end->writable && !end->fin) {
		uint64_t left = write_limit(end) - end->sent;
		size_t most = pace->most < left ? pace->most : left;
		ssize_t n;

		if (!most || !paced(pace, end->sent, &end->write_paused, &end->write_from))
			return false;
		if (end->sent < pace->pause_at && most > pace->pause_at - end->sent)
			most = pace->pause_at - end->sent;
		if (budget < most)
			return true;
		fill(end->conn->number, end->side, end->sent, data, most);
		n = send(end->fd, data, most, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN) {
			end->writable = false;
		} else if (n < 0) {
			end_reset(end, errno);
		} else {
			budget -= n;
			end->sent += n;
			moved_on(end);
			if (pace->gap)
				end->write_from = now + pace->gap;
		}
	}
	return false;
}

/* Is it time to abort as planned? */
static void stream_abort(struct end *end)
{
	const struct plan *plan;
	bool due = false;

	if (end->state != STREAM)
		return;
	plan = &end->conn->plan;
	if (plan->aborter != end->side)
		return;
	switch (plan->aborting) {
	case ABORT_NOT:
		return;
	case ABORT_SENT:
		due = end->sent == plan->abort_at;
		break;
	case ABORT_RECEIVED:
		due = end->received == plan->abort_at;
		break;
	case ABANDON:
		due = end->received == plan->abort_at && end->sent == plan->size[end->side];
		end->fin |= due;
		break;
	}
	if (!due)
		return;
	end->conn->aborted = true;
	end_close(end, plan->aborting != ABANDON);
}

/* When all is sent, it ends: by a shutdown, unless it is the one that closes */
static void stream_end(struct end *end)
{
	const struct plan *plan;
	enum side side = end->side;
	bool first;

	if (end->state != STREAM)
		return;
	plan = &end->conn->plan;
	if (end->sent < plan->size[side])
		return;
	first = plan->order == (side == CLIENT ? CLIENT_FIRST : SERVER_FIRST);
	if (plan->closer == (int)side && end->received == plan->size[!side] &&
	    (end->fin || !first)) {
		end->fin = true;
		end_close(end, false);
		return;
	}
	if (!end->fin && (plan->closer != (int)side || first)) {
		end->fin = true;
		if (shutdown(end->fd, SHUT_WR)) {
			end_reset(end, errno);
			return;
		}
		moved_on(end);
	}
	if (end->fin && end->eof)
		end_close(end, false);
}

static void stream_wake(struct end *end)
{
	uint64_t at = UINT64_MAX;

	if (end->state != STREAM)
		return;
	if (end->readable && end->read_from > now)
		at = end->read_from;
	if (end->writable && end->write_from > now && end->write_from < at)
		at = end->write_from;
	if (at != UINT64_MAX)
		timer_set(end, at);
}

/* What is read may allow to write, and what is written to end. */
static void stream_run(struct end *end)
{
	bool again;

	stream_abort(end);
	if (end->state != STREAM)
		return;
	again = stream_read(end);
	if (end->state == STREAM)
		again |= stream_write(end);
	stream_abort(end);
	stream_end(end);
	if (again)
		ready_add(end);
	stream_wake(end);
}

/* -------------------------------------------------------------------- what comes before */

/*
 * A server reads into a buffer that its listener was given: made smaller when a window has been
 * offered, TCP drops what it has offered to take, then tries for minutes, and does not believe a
 * reset, which is beyond what was taken.
 */
static void buffers(int fd, const struct plan *plan, enum side side)
{
	int yes = 1;

	if (side == CLIENT && plan->reads[side].buffer)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &plan->reads[side].buffer, sizeof(int));
	if (plan->writes[side].buffer)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &plan->writes[side].buffer, sizeof(int));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

static socklen_t address_len(const union address *address)
{
	return address->any.sa_family == AF_INET ? sizeof(address->in) : sizeof(address->in6);
}

/* The bytes of an address, then those of the port */
static size_t put_address(unsigned char *to, const union address *address)
{
	if (address->any.sa_family == AF_INET) {
		memcpy(to, &address->in.sin_addr, 4);
		memcpy(to + 4, &address->in.sin_port, 2);
		return 6;
	}
	memcpy(to, &address->in6.sin6_addr, 16);
	memcpy(to + 16, &address->in6.sin6_port, 2);
	return 18;
}

static void put_u64(unsigned char *to, uint64_t value)
{
	int i;

	for (i = 7; i >= 0; i--, value >>= 8)
		to[i] = value;
}

static uint64_t told_size(const struct plan *plan, enum side side)
{
	return plan->lies ? plan->size[side] / 3 + 7 : plan->size[side];
}

static void ask_proxy(struct end *end, const struct plan *plan, const union address *to)
{
	static const unsigned char signature[12] = "\r\n\r\n\0\r\nQUIT\n";
	bool six = to->any.sa_family == AF_INET6;
	unsigned char *p = end->ask + 16;
	enum side side;

	memcpy(end->ask, signature, 12);
	end->ask[12] = 0x21;
	end->ask[13] = six ? 0x21 : 0x11;
	memset(p, 0, 36);
	p[0] = six ? 0xfd : 192;
	p[3] = 1;
	p += six ? 16 : 4;
	p += put_address(p, to) - 2;
	p += 4;
	for (side = CLIENT; side < SIDES && plan->told; side++, p += 11) {
		p[0] = 0xe5 + side;
		p[1] = 0;
		p[2] = 8;
		put_u64(p + 3, told_size(plan, side));
	}
	end->ask_len = p - end->ask;
	end->ask[14] = (end->ask_len - 16) >> 8;
	end->ask[15] = end->ask_len - 16;
}

static void ask_socks(struct end *end, const struct plan *plan, const union address *to)
{
	unsigned char *p = end->ask;

	*p++ = 5;
	*p++ = 1;
	*p++ = plan->told ? 2 : 0;
	end->stops[end->steps++] = p - end->ask;
	if (plan->told) {
		int n = sprintf((char *)p + 2, "size=%" PRIu64 ",reply=%" PRIu64,
				told_size(plan, CLIENT), told_size(plan, SERVER));

		p[0] = 1;
		p[1] = n;
		p += 2 + n;
		*p++ = 1;
		*p++ = 'x';
		end->stops[end->steps++] = p - end->ask;
	}
	*p++ = 5;
	*p++ = 1;
	*p++ = 0;
	*p++ = to->any.sa_family == AF_INET ? 1 : 4;
	p += put_address(p, to);
	end->ask_len = p - end->ask;
	end->stops[end->steps++] = end->ask_len;
}

/* How many bytes the answer to the present step has, as far as that is known, and is it good? */
static size_t answer_len(const struct end *end)
{
	if (end->step + 1 < end->steps)
		return 2;
	if (end->answered < 5)
		return 5;
	switch (end->answer[3]) {
	case 1:
		return 4 + 4 + 2;
	case 4:
		return 4 + 16 + 2;
	default:
		return 4 + 1 + end->answer[4] + 2;
	}
}

static bool answer_good(const struct end *end)
{
	const unsigned char *answer = end->answer;

	if (end->step + 1 == end->steps)
		return answer[0] == 5 && !answer[1];
	if (end->step)
		return !answer[1];
	return answer[0] == 5 && answer[1] == (end->conn->plan.told ? 2 : 0);
}

static void ask_read(struct end *end)
{
	while (end->state == ASKING && end->readable && end->step < end->steps) {
		size_t want = answer_len(end) - end->answered;
		ssize_t n = recv(end->fd, end->answer + end->answered, want, 0);

		if (n < 0 && errno == EAGAIN) {
			end->readable = false;
			return;
		}
		if (n <= 0) {
			end_reset(end, n ? errno : ENOTCONN);
			return;
		}
		moved_on(end);
		end->answered += n;
		if (end->answered < answer_len(end))
			continue;
		if (!answer_good(end)) {
			if (!set.allow_broken)
				tell(end->conn, end, "SOCKS answers %u", end->answer[1]);
			end_reset(end, ECONNREFUSED);
			return;
		}
		end->answered = 0;
		end->step++;
	}
}

static void ask_write(struct end *end)
{
	size_t limit = end->ask_len;

	if (end->state != ASKING)
		return;
	if (!end->conn->plan.pipelined && end->step < end->steps)
		limit = end->stops[end->step];
	while (end->state == ASKING && end->writable && end->ask_sent < limit) {
		ssize_t n = send(end->fd, end->ask + end->ask_sent, limit - end->ask_sent,
				 MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN) {
			end->writable = false;
		} else if (n < 0) {
			end_reset(end, errno);
		} else {
			moved_on(end);
			end->ask_sent += n;
		}
	}
}

/* Bytes that follow at once, before the last answer: one piece, and no more is waited for */
static void ask_early(struct end *end)
{
	const struct plan *plan;
	ssize_t sent;
	size_t n;

	if (end->state != ASKING || end->sent || end->ask_sent < end->ask_len || !end->writable)
		return;
	plan = &end->conn->plan;
	if (!plan->early || plan->aborting)
		return;
	n = plan->size[CLIENT] < EARLY ? plan->size[CLIENT] : EARLY;
	if (plan->order == SERVER_FIRST)
		n = HEAD;
	fill(end->conn->number, CLIENT, 0, data, n);
	sent = send(end->fd, data, n, MSG_NOSIGNAL);
	if (sent > 0)
		end->sent = sent;
	else if (sent < 0 && errno != EAGAIN)	/* it is told once only */
		end_reset(end, errno);
}

static void ask_run(struct end *end)
{
	ask_read(end);
	ask_write(end);
	if (end->step < end->steps)
		ask_early(end);
	if (end->state == ASKING && end->step == end->steps && end->ask_sent == end->ask_len) {
		end->state = STREAM;
		stream_run(end);
	}
}

static void connecting_run(struct end *end)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (!end->writable)
		return;
	getsockopt(end->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (error) {
		end_reset(end, error);
		return;
	}
	moved_on(end);
	end->state = ASKING;
	ask_run(end);
}

/* The number comes: now it is known who it is */
static void nameless_run(struct end *end)
{
	unsigned char head[HEAD];
	struct conn *conn;
	uint32_t number;
	ssize_t n;

	while (end->received < HEAD) {
		n = recv(end->fd, end->head + end->received, HEAD - end->received, 0);
		if (n < 0 && errno == EAGAIN) {
			end->readable = false;
			return;
		}
		if (n < 0) {
			end_reset(end, errno);
			return;
		}
		if (!n) {
			tell(NULL, end, "end of file before the number");
			fault(end, &count.early);
			return;
		}
		end->received += n;
	}
	memcpy(&number, end->head + 4, 4);
	number = le32toh(number);
	fill(number, CLIENT, 0, head, HEAD);
	if (number >= set.connections || memcmp(head, end->head, HEAD)) {
		tell(NULL, end, "a number is not as it was sent");
		fault(end, &count.wrong);
		return;
	}
	conn = conns[number];
	if (!conn || conn->ends[SERVER]) {
		tell(NULL, end, "connection %u comes twice", number);
		fault(end, &count.wrong);
		return;
	}
	if (!conn->ends[CLIENT] || conn->ends[CLIENT]->state == ENDED)
		pending--;
	nameless[end->fd] = NULL;
	end->conn = conn;
	conn->ends[SERVER] = end;
	buffers(end->fd, &conn->plan, SERVER);
	count.bytes[CLIENT] += HEAD;
	end->state = STREAM;
	stream_run(end);
}

static void end_run(struct end *end)
{
	switch (end->state) {
	case CONNECTING:
		connecting_run(end);
		break;
	case ASKING:
		ask_run(end);
		break;
	case NAMELESS:
		nameless_run(end);
		break;
	case STREAM:
		stream_run(end);
		break;
	case ENDED:
		break;
	}
}

/* -------------------------------------------------------------------- the whole */

static uint64_t clock_ms(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000ull + at.tv_nsec / 1000000;
}

/* Returns false if there is no port or descriptor for it now */
static bool client_open(uint32_t number)
{
	struct chance chance = { mix(set.seed + 77) ^ mix(number) };
	const struct route *route = &set.routes[draw(&chance, set.n_routes)];
	struct conn *conn = calloc(1, sizeof(*conn));
	struct end *end;
	int fd;

	if (!conn)
		exit(2);
	conn->number = number;
	conn->progress = now;
	plan_draw(number, &conn->plan);
	fd = socket(route->to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		free(conn);
		return false;
	}
	buffers(fd, &conn->plan, CLIENT);
	if (connect(fd, &route->to.any, address_len(&route->to)) && errno != EINPROGRESS &&
	    errno != ECONNREFUSED) {
		close(fd);
		free(conn);
		return false;
	}
	end = end_new(fd, CLIENT);
	end->conn = conn;
	conn->ends[CLIENT] = end;
	conns[number] = conn;
	conn->counted = true;
	active++;
	count.opened++;
	if (route->protocol == SOCKS)
		ask_socks(end, &conn->plan, &route->target);
	else if (route->protocol == PROXY)
		ask_proxy(end, &conn->plan, &route->target);
	return true;
}

static void clients_open(uint32_t *next)
{
	while (*next < set.connections && active < set.at_once && now >= not_before) {
		if (set.single && *next != set.only) {
			++*next;
			continue;
		}
		if (!client_open(*next)) {
			not_before = now + 20;
			return;
		}
		++*next;
	}
}

static void servers_accept(int listener)
{
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct end *end;

		if (fd < 0)
			return;
		if (fd >= (int)ARRAY_SIZE(nameless))
			exit(2);
		end = end_new(fd, SERVER);
		end->state = NAMELESS;
		end->since = now;
		nameless[fd] = end;
	}
}

static void collect(void)
{
	while (garbage) {
		struct end *end = garbage;

		garbage = end->next_timer;
		free(end);
	}
}

/* Who waits for too long hangs. Who has ended is told as its other end sees it. */
static void hang_check(void)
{
	uint32_t i;

	for (i = 0; i < set.connections; i++) {
		struct conn *conn = conns[i];
		enum side side;

		if (!conn || !conn->counted || now - conn->progress < set.timeout)
			continue;
		tell(conn, NULL, "hangs");
		for (side = CLIENT; side < SIDES; side++) {
			if (!conn->ends[side] || conn->ends[side]->state == ENDED)
				continue;
			fault(conn->ends[side], &count.hang);
			break;
		}
		if (side == SIDES) {
			/* The client has closed; the server has never heard of it */
			count.hang++;
			pending--;
			conn->faulty = true;
			conn_end(conn);
		}
	}
	for (i = 0; i < ARRAY_SIZE(nameless); i++) {
		struct end *end = nameless[i];

		if (!end || now - end->since < set.timeout)
			continue;
		tell(NULL, end, "hangs before its number has come");
		fault(end, &count.hang);
	}
}

static bool nameless_any(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(nameless); i++)
		if (nameless[i])
			return true;
	return false;
}

static void print_counts(FILE *file)
{
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {
		{ "connections", count.opened }, { "complete", count.complete },
		{ "reset", count.aborted }, { "broken", count.broken },
		{ "refused", count.refused }, { "wrong", count.wrong }, { "early", count.early },
		{ "hang", count.hang }, { "up", count.bytes[CLIENT] },
		{ "down", count.bytes[SERVER] },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counts); i++)
		fprintf(file, "%s\"%s\": %" PRIu64, i ? ", " : "{", counts[i].name,
			counts[i].value);
	fprintf(file, ", \"seconds\": %.1f}\n", (now - begun) / 1000.);
	fflush(file);
}

/* Descriptors of listeners have no end but their number */
static void events_take(int timeout, const int *listeners)
{
	struct epoll_event events[256];
	int i, n = epoll_wait(epoll, events, 256, timeout);

	now = clock_ms();
	for (i = 0; i < n; i++) {
		struct end *end = events[i].data.ptr;

		if (events[i].data.u64 < ROUTES_MAX) {
			servers_accept(listeners[events[i].data.u64]);
			continue;
		}
		if (events[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP))
			end->readable = true;
		if (events[i].events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
			end->writable = true;
		ready_add(end);
	}
}

static void ready_run(void)
{
	struct end *end = ready, *next;

	ready = NULL;
	ready_end = &ready;
	for (; end; end = next) {
		next = end->next_ready;
		end->ready = false;
		end_run(end);
	}
}

/* Over when all are, and those that the server may still hear of had time for that */
static bool over(uint32_t next)
{
	uint64_t grace = set.timeout < 3000 ? set.timeout : 3000;

	if (active || next < set.connections)
		return false;
	if (!pending && !nameless_any())
		return true;
	return now - moved >= grace;
}

static void run(const int *listeners)
{
	uint64_t checked = 0, shown = 0;
	uint32_t next = 0;

	now = clock_ms();
	begun = now;
	moved = now;
	wheel_at = now;
	for (;;) {
		clients_open(&next);
		if (over(next))
			return;
		events_take(ready ? 0 : 1, listeners);
		timers_run();
		ready_run();
		if (!ready)
			collect();
		if (now - checked > 1000) {
			checked = now;
			hang_check();
		}
		if (set.progress && now - shown > 2000) {
			shown = now;
			print_counts(stderr);
		}
	}
}

/* Those whose client has gone and of which no server has heard: what they were to send is lost */
static void pending_end(void)
{
	uint32_t i, aborted = 0;

	for (i = 0; i < set.connections; i++) {
		struct conn *conn = conns[i];

		if (!conn)
			continue;
		if (conn->aborted || conn->broken) {
			aborted++;
		} else if (set.allow_broken) {
			aborted++;
			conn->broken = true;
		} else {
			tell(conn, NULL, "has never come to the server");
			count.hang++;
			conn->faulty = true;
		}
		conn_end(conn);
	}
	/* Each reset of who had not told its number belongs to one of these */
	if (count.nameless_resets > aborted && !set.allow_broken) {
		tell(NULL, NULL, "%u resets before a number, of %u that may be",
		     count.nameless_resets, aborted);
		count.broken += count.nameless_resets - aborted;
	}
}

/* -------------------------------------------------------------------- the command line */

static void address_read(const char *text, union address *address)
{
	char host[64];
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : sizeof(host);

	memset(address, 0, sizeof(*address));
	if (n < sizeof(host) && text[0] == '[' && n > 2) {
		memcpy(host, text + 1, n - 2);
		host[n - 2] = '\0';
		address->in6.sin6_family = AF_INET6;
		address->in6.sin6_port = htons(atoi(colon + 1));
		if (inet_pton(AF_INET6, host, &address->in6.sin6_addr) == 1)
			return;
	} else if (n < sizeof(host)) {
		memcpy(host, text, n);
		host[n] = '\0';
		address->in.sin_family = AF_INET;
		address->in.sin_port = htons(atoi(colon + 1));
		if (inet_pton(AF_INET, host, &address->in.sin_addr) == 1)
			return;
	}
	fprintf(stderr, "churn: %s is no address with a port\n", text);
	exit(2);
}

/* PROTOCOL=ADDRESS[,TARGET] */
static void route_read(char *text)
{
	static const char * const names[] = { "plain", "proxy", "socks" };
	struct route *route = &set.routes[set.n_routes++];
	char *equals = strchr(text, '='), *comma;
	unsigned int i;

	if (!equals || set.n_routes == ROUTES_MAX)
		goto bad;
	*equals++ = '\0';
	for (i = 0; i < 3 && strcmp(text, names[i]); i++)
		;
	if (i == 3)
		goto bad;
	route->protocol = i;
	comma = strchr(equals, ',');
	if (comma)
		*comma++ = '\0';
	else if (i == SOCKS)
		goto bad;
	address_read(equals, &route->to);
	address_read(comma ? comma : equals, &route->target);
	return;
bad:
	fprintf(stderr, "churn: a route is plain=ADDRESS, proxy=ADDRESS or socks=ADDRESS,TARGET\n");
	exit(2);
}

static void netns_enter(const char *name)
{
	char path[256];
	int fd;

	if (!name)
		return;
	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET)) {
		perror(path);
		exit(2);
	}
	close(fd);
}

static int listen_open(const union address *address, unsigned int i)
{
	int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = i };
	struct chance chance = { mix(set.seed + 78) ^ mix(i) };
	int yes = 1, buffer = 4096 + log_uniform(&chance, 200000);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (one_in(&chance, 2))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	if (bind(fd, &address->any, address_len(address)) || listen(fd, 4096) ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) {
		perror("churn: listen");
		exit(2);
	}
	return fd;
}

static void usage(void)
{
	fputs("churn [OPTION]... --listen ADDRESS:PORT... --route PROTOCOL=ADDRESS:PORT...\n"
	      "  --listen ADDRESS     of a server; all are alike\n"
	      "  --route plain=TO     a connection is opened to TO and comes to a server\n"
	      "  --route proxy=TO     the same, a header of PROXY protocol v2 comes first\n"
	      "  --route socks=TO,TARGET\n"
	      "  --seed N  --connections N  --at-once N\n"
	      "  --largest BYTES      mean is about 1/200 of that\n"
	      "  --up BYTES  --down BYTES      that each has, not random\n"
	      "  --stall SECONDS      no reader reads before\n"
	      "  --no-resets          none are planned\n"
	      "  --resets             of all that can be\n"
	      "  --allow-broken       something is killed in between\n"
	      "  --timeout SECONDS    until who does not go on hangs\n"
	      "  --client-netns NAME  --server-netns NAME\n"
	      "  --only N             this connection alone\n"
	      "  --progress\n", stderr);
	exit(2);
}

static void arguments(int argc, char **argv)
{
	static const struct option options[] = {
		{ "listen", 1, NULL, 'l' }, { "route", 1, NULL, 'r' }, { "seed", 1, NULL, 's' },
		{ "connections", 1, NULL, 'n' }, { "at-once", 1, NULL, 'm' },
		{ "largest", 1, NULL, 'L' }, { "up", 1, NULL, 'u' }, { "down", 1, NULL, 'd' },
		{ "stall", 1, NULL, 'S' }, { "no-resets", 0, NULL, 'R' },
		{ "resets", 0, NULL, 'A' },
		{ "allow-broken", 0, NULL, 'b' }, { "timeout", 1, NULL, 't' },
		{ "client-netns", 1, NULL, 'C' }, { "server-netns", 1, NULL, 'E' },
		{ "only", 1, NULL, 'o' }, { "progress", 0, NULL, 'p' }, { NULL }
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'l':
			if (set.n_listens == ROUTES_MAX)
				usage();
			address_read(optarg, &set.listens[set.n_listens++]);
			break;
		case 'r':
			route_read(optarg);
			break;
		case 's':
			set.seed = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			set.connections = strtoul(optarg, NULL, 0);
			break;
		case 'm':
			set.at_once = strtoul(optarg, NULL, 0);
			break;
		case 'L':
			set.largest = strtoull(optarg, NULL, 0);
			break;
		case 'u':
			set.up = strtoll(optarg, NULL, 0);
			break;
		case 'd':
			set.down = strtoll(optarg, NULL, 0);
			break;
		case 'S':
			set.stall = 1000 * strtod(optarg, NULL);
			break;
		case 'R':
			set.aborts = 0;
			break;
		case 'A':
			set.aborts = 1;
			break;
		case 'b':
			set.allow_broken = true;
			break;
		case 't':
			set.timeout = 1000 * strtod(optarg, NULL);
			break;
		case 'C':
			set.netns[CLIENT] = optarg;
			break;
		case 'E':
			set.netns[SERVER] = optarg;
			break;
		case 'o':
			set.only = strtoul(optarg, NULL, 0);
			set.single = true;
			break;
		case 'p':
			set.progress = true;
			break;
		default:
			usage();
		}
	}
	if (optind < argc || !set.n_routes || !set.n_listens)
		usage();
}

int main(int argc, char **argv)
{
	struct rlimit files;
	int listeners[ROUTES_MAX];
	unsigned int i;

	arguments(argc, argv);
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	conns = calloc(set.connections, sizeof(*conns));
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!conns || epoll < 0) {
		perror("churn");
		return 2;
	}
	netns_enter(set.netns[SERVER]);
	for (i = 0; i < set.n_listens; i++)
		listeners[i] = listen_open(&set.listens[i], i);
	netns_enter(set.netns[CLIENT]);
	run(listeners);
	pending_end();
	print_counts(stdout);
	if (count.wrong || count.early || count.hang)
		return 1;
	return count.broken && !set.allow_broken;
}
