// SPDX-License-Identifier: GPL-2.0
/*
 * Carriers: TCP connections between the two ends.
 *
 * A carrier that has room takes, for as many bytes as its virtual queue has, the data of whom the
 * policy says. That is decided late: with TCP_NOTSENT_LOWAT hardly anything waits in the socket, so
 * that who comes first overtakes what is queued. What a write has at most, and what may wait, grows
 * with the rate, as the kernel's own bundles of segments do: a millisecond of it. Writes are of
 * whole segments, with a head and its data.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core.h"
#include "log.h"
#include "tls.h"

#define OFTEN		(10 * NSEC / 1000)	/* how often TCP is asked about its rate */
#define CHUNK_MAX	65536
#define UNSENT_LEAST	16384	/* with less, the window is not used up, and grows less */
#define UNSENT_MAX	1048576
#define SHORT_SEGMENT	536
#define READ_SIZE	(256 * 1024)
#define READS		8	/* of a carrier, before others have their turn */
#define SLOW		(NSEC / 4)	/* for a handshake, if there is no room for others */
#define WORTH_IT	64	/* bytes of room for which another frame is begun */

static unsigned char out[CHUNK_MAX + FRAME_HEAD], in[READ_SIZE + FRAME_HEAD + FRAME_MAX];

static void on_writable(evutil_socket_t fd, short what, void *arg);
static void on_deadline(evutil_socket_t fd, short what, void *arg);

static struct carrier *carrier_alloc(void)
{
	struct carrier *carrier = calloc(1, sizeof(*carrier));

	if (carrier)
		carrier->fd = -1;
	return carrier;
}

/* It is the session's @number */
static bool carrier_join(struct carrier *carrier, struct session *session, uint32_t number)
{
	carrier->number = number;
	HASH_ADD(hh, session->numbers, number, sizeof(number), carrier);
	if (!carrier->hh.tbl)
		return false;
	carrier->session = session;
	carrier->peer = session->peer;
	TAILQ_INSERT_TAIL(&session->carriers, carrier, link);
	return true;
}

static struct carrier *carrier_find(struct session *session, uint32_t number)
{
	struct carrier *carrier;

	HASH_FIND(hh, session->numbers, &number, sizeof(number), carrier);
	return carrier;
}

void carrier_free(struct carrier *carrier)
{
	if (carrier->deadline)
		event_free(carrier->deadline);
	free(carrier->rest);
	free(carrier->part);
	free(carrier->carried);
	free(carrier);
}

/* One that does not come, or does not say who it is, has failed: nobody would tell */
static bool expect(struct carrier *carrier)
{
	struct timeval limit = { .tv_sec = core.config->timeout };

	carrier->deadline = evtimer_new(core.base, on_deadline, carrier);
	return carrier->deadline && !evtimer_add(carrier->deadline, &limit);
}

/* The carrier of a flow: the one that all share, if so; a new one, if it was not there first */
struct carrier *carrier_new(struct session *session, uint32_t number)
{
	struct carrier *carrier = carrier_find(session, SHARED);

	if (!carrier)
		carrier = carrier_find(session, number);
	if (carrier)
		return carrier;
	if (session->origin && session->peer->single)
		number = SHARED;
	carrier = carrier_alloc();
	if (carrier && (session->origin || expect(carrier)) &&
	    carrier_join(carrier, session, number))
		return carrier;
	if (carrier)
		carrier_free(carrier);
	return NULL;
}

static void unqueue(struct carrier *carrier)
{
	if (carrier->pump == READY)
		TAILQ_REMOVE(&carrier->session->ready, carrier, pump_link);
	carrier->pump = IDLE;
}

/* Of a carrier that has something to send it is known how much is on the way; of others it is 0 */
static void note_flight(struct carrier *carrier, uint64_t flight)
{
	struct session *session = carrier->session;

	session->flights += flight - carrier->flight;
	session->n_flights += !!flight - !!carrier->flight;
	carrier->flight = flight;
}

/* It is in no list any more but in that of the dead */
void carrier_die(struct carrier *carrier)
{
	struct session *session = carrier->session;

	carrier->dead = true;
	if (session) {
		unqueue(carrier);
		TAILQ_REMOVE(&session->carriers, carrier, link);
		if (carrier->state == CARRIER_UP && !carrier->bye_sent)
			TAILQ_REMOVE(&session->up, carrier, up_link);
		HASH_DEL(session->numbers, carrier);
		session->come -= carrier->state != CARRIER_EXPECTED;
		session->there -= carrier->state != CARRIER_EXPECTED && !carrier->bye_received;
		note_flight(carrier, 0);
		session->debt += carrier->virtual_queue;
		carrier->virtual_queue = 0;
		session_settle(session);
	} else {
		TAILQ_REMOVE(&core.greeting, carrier, link);
		core.handshakes -= carrier->stranger;
	}
	if (carrier->readable)
		event_free(carrier->readable);
	if (carrier->writable)
		event_free(carrier->writable);
	if (carrier->deadline)
		event_free(carrier->deadline);
	carrier->deadline = NULL;
	if (carrier->ssl)
		tls_free(carrier->ssl);
	if (carrier->fd >= 0)
		close(carrier->fd);
	carrier->fd = -1;
	TAILQ_INSERT_TAIL(&core.dead_carriers, carrier, link);
	core_work();
}

/* The flow of that number is no more, nor need a carrier of its own come */
void carrier_forget(struct session *session, uint32_t number)
{
	struct carrier *carrier = carrier_find(session, number);

	if (carrier && carrier->state == CARRIER_EXPECTED && !carrier->flow)
		carrier_die(carrier);
}

/* Its flow, if it is not known that the far end has had it. OPEN is at 0, an end is a byte. */
static struct flow *unconfirmed(const struct carrier *carrier, const struct carried *carried)
{
	struct flow *flow = flow_find(carrier->session, carried->flow);

	if (!flow || flow->dead)
		return NULL;
	if (carried->end <= flow->confirmed + flow->fin_confirmed && (carried->end || flow->open))
		return NULL;
	return flow;
}

/*
 * Whose data may have been on it, and are not known to have come, is broken. Of what is confirmed
 * the far end has told, but for the last bytes, so that in doubt a flow is broken.
 */
static void break_carried(struct carrier *carrier, struct session *session)
{
	struct flow *flow;
	size_t i;

	for (i = 0; i < carrier->n_carried; i++) {
		flow = unconfirmed(carrier, &carrier->carried[i]);
		if (flow)
			flow_break(flow, FAILED, true);
	}
	session_retell(session);
}

/*
 * No carrier may be left by which anything comes. Then flows are broken whose carriers have nothing
 * but what is sent, or are only expected: that by which these came may be broken. If it has ended
 * instead, nothing is wrong with the flow at the origin, which has to be told; so the carrier that
 * is expected is still waited for.
 */
static void check_left(struct session *session)
{
	struct carrier *carrier = TAILQ_FIRST(&session->carriers), *next;

	for (; carrier && !session->there; carrier = next) {
		next = TAILQ_NEXT(carrier, link);
		if (carrier->dead)	/* as all are: the session has failed */
			return;
		if (carrier->flow && carrier->state == CARRIER_EXPECTED)
			flow_break(carrier->flow, NO_PEER, true);
		else if (carrier->flow && carrier->bye_received)
			flow_break(carrier->flow, FAILED, true);
	}
}

void carrier_break(struct carrier *carrier, const char *why)
{
	struct session *session = carrier->session;
	struct flow *flow = carrier->flow;
	char from[ADDRESS_TEXT];

	if (carrier->dead)
		return;
	log_line(LOG_NOTICE, "carrier-broken", "peer=%s address=%s number=%u why=%s",
		 carrier->peer ? carrier->peer->name : "?", address_text(&carrier->from, from),
		 carrier->number, why);
	carrier->flow = NULL;
	if (session && carrier->state != CARRIER_EXPECTED)
		break_carried(carrier, session);
	if (flow)
		flow_break(flow, carrier->state == CARRIER_UP ? FAILED : NO_PEER, true);
	else if (session && carrier->number == SHARED)
		session_fail(session, "its carrier is broken");
	if (!carrier->dead)
		carrier_die(carrier);
	if (session && carrier->state != CARRIER_EXPECTED)
		check_left(session);
}

static void carrier_errno(struct carrier *carrier)
{
	carrier_break(carrier, strerror(errno));
}

/* Bytes that the other end has not yet acknowledged; the end is one */
static int on_the_way(const struct carrier *carrier)
{
	int bytes = 0;

	ioctl(carrier->fd, SIOCOUTQ, &bytes);
	return bytes;
}

/*
 * Both ends have said that nothing follows. It is not closed before all has been read, since what
 * came then would reset it, nor before all has come: else nobody would know that it has not.
 */
static void check_ended(struct carrier *carrier)
{
	struct timeval soon = { .tv_usec = 20000 };
	int error;

	if (carrier->dead || !carrier->over || !carrier->ended)
		return;
	error = socket_error(carrier->fd);
	if (!on_the_way(carrier))
		carrier_die(carrier);
	else if (error || evtimer_add(carrier->deadline, &soon))
		carrier_break(carrier, strerror(error));
}

static void note_carried(struct carrier *carrier, const struct flow *flow, bool fin)
{
	struct carried *list;
	size_t i, n = carrier->n_carried, room;
	uint64_t end = flow->sent + fin;

	carrier->carrying = flow->id;
	if (n && carrier->carried[n - 1].flow == flow->id) {
		carrier->carried[n - 1].end = end;
		return;
	}
	if (carrier->n_carried == carrier->room_carried) {
		for (i = 0, n = 0; i < carrier->n_carried; i++) {
			if (unconfirmed(carrier, &carrier->carried[i]))
				carrier->carried[n++] = carrier->carried[i];
		}
		carrier->n_carried = n;
		room = 2 * n + 8;
		list = realloc(carrier->carried, room * sizeof(*list));
		if (!list) {
			carrier_break(carrier, "no memory");
			return;
		}
		carrier->carried = list;
		carrier->room_carried = room;
	}
	carrier->carried[carrier->n_carried++] = (struct carried){ flow->id, end };
}

/*
 * What is sent
 */

static int unsent_in_socket(const struct carrier *carrier)
{
	int bytes = 0;

	ioctl(carrier->fd, SIOCOUTQNSD, &bytes);
	return bytes;
}

/* How large segments are, how many are on the way, and how much is sent in a millisecond */
static void look(struct carrier *carrier)
{
	struct tcp_info info = { };
	socklen_t len = sizeof(info);
	size_t most = carrier->ssl ? TLS_RECORD : CHUNK_MAX, unsent, millisecond;
	int64_t now = now_ns();
	int lowat;

	if (carrier->looked && now - carrier->looked < OFTEN)
		return;
	carrier->looked = now;
	getsockopt(carrier->fd, IPPROTO_TCP, TCP_INFO, &info, &len);
	carrier->mss = info.tcpi_snd_mss < SHORT_SEGMENT ? SHORT_SEGMENT : info.tcpi_snd_mss;
	if (carrier->mss > most)
		carrier->mss = most;
	note_flight(carrier, (info.tcpi_unacked + 1) * carrier->mss);
	if (info.tcpi_rtt)
		carrier->session->rtt = info.tcpi_rtt * 1000ULL;
	millisecond = info.tcpi_pacing_rate / 1000 < UNSENT_MAX ?
		      info.tcpi_pacing_rate / 1000 : UNSENT_MAX;
	if (millisecond < most)
		most = millisecond;
	carrier->chunk = most < carrier->mss ? carrier->mss : most - most % carrier->mss;
	unsent = core.config->unsent;
	if (!unsent)
		unsent = millisecond < UNSENT_LEAST ? UNSENT_LEAST : millisecond;
	if (unsent < 2 * carrier->mss)
		unsent = 2 * carrier->mss;
	if (carrier->chunk > unsent / 2)
		carrier->chunk = unsent / 2 - unsent / 2 % carrier->mss;
	if (unsent == carrier->unsent)
		return;
	carrier->unsent = unsent;
	lowat = unsent;
	setsockopt(carrier->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &lowat, sizeof(lowat));
}

static ssize_t carrier_write(struct carrier *carrier, const void *data, size_t len)
{
	if (carrier->ssl)
		return tls_write(carrier->ssl, data, len);
	return send(carrier->fd, data, len, MSG_NOSIGNAL);
}

static void wait_for_room(struct carrier *carrier)
{
	unqueue(carrier);
	carrier->pump = WAITING;
	event_add(carrier->writable, NULL);
}

/* What has been sent completely and ends the carrier */
static void check_bye(struct carrier *carrier)
{
	if (!carrier->bye_sent || carrier->ended)
		return;
	if (carrier->ssl && !tls_end(carrier->ssl)) {
		wait_for_room(carrier);		/* and flush() comes here again */
		return;
	}
	carrier->ended = true;
	shutdown(carrier->fd, SHUT_WR);
	check_ended(carrier);
}

/* Return: whether there is nothing left that the socket has not taken */
static bool flush(struct carrier *carrier)
{
	ssize_t wrote;

	while (carrier->rest_len) {
		wrote = carrier_write(carrier, carrier->rest + carrier->rest_at, carrier->rest_len);
		if (wrote < 0) {
			if (errno == EAGAIN || errno == EINTR)
				wait_for_room(carrier);
			else
				carrier_errno(carrier);
			return false;
		}
		carrier->rest_at += wrote;
		carrier->rest_len -= wrote;
	}
	free(carrier->rest);
	carrier->rest = NULL;
	check_bye(carrier);
	return !carrier->dead;
}

/* Return: whether the socket has taken all */
static bool carrier_send(struct carrier *carrier, const unsigned char *data, size_t len)
{
	ssize_t wrote = carrier_write(carrier, data, len);

	if (wrote < 0 && errno != EAGAIN && errno != EINTR) {
		carrier_errno(carrier);
		return false;
	}
	if (wrote < 0)
		wrote = 0;
	if ((size_t)wrote == len) {
		check_bye(carrier);
		return !carrier->dead;
	}
	carrier->rest = malloc(len - wrote);
	if (!carrier->rest) {
		carrier_break(carrier, "no memory");
		return false;
	}
	carrier->rest_at = 0;
	carrier->rest_len = len - wrote;
	memcpy(carrier->rest, data + wrote, carrier->rest_len);
	wait_for_room(carrier);
	return false;
}

static size_t put_frame(size_t at, uint8_t type, const struct flow *flow, uint32_t offset,
			uint8_t flags, size_t len)
{
	struct frame frame = { .type = type, .flags = flags, .len = len, .flow = flow->id,
			       .offset = offset };

	frame_head(out + at, &frame);
	return at + FRAME_HEAD + len;
}

/* What one flow has to tell: of several things the first */
static size_t put_told(struct carrier *carrier, struct flow *flow, size_t at)
{
	unsigned char *data = out + at + FRAME_HEAD;
	unsigned int what = flow->tell & -flow->tell;

	switch (what) {
	case TELL_OPEN:
		at = put_frame(at, FRAME_OPEN, flow, flow->granted, 0,
			       opening_write(data, &flow->opening));
		note_carried(carrier, flow, false);
		break;
	case TELL_OPENED:
		at = put_frame(at, FRAME_OPENED, flow, flow->granted, 0, 0);
		break;
	case TELL_RESET:
		at = put_frame(at, FRAME_RESET, flow, flow->broken, 0, 0);
		break;
	case TELL_CREDIT:
		frame_put_received(data, flow->next);
		at = put_frame(at, FRAME_CREDIT, flow, flow->granted,
			       flow->fin_delivered ? FLAG_FIN : 0, 4);
		break;
	case TELL_FIN:
		at = put_frame(at, FRAME_DATA, flow, flow->sent, FLAG_FIN, 0);
		note_carried(carrier, flow, true);
		break;
	case TELL_ANSWER:
		at = put_frame(at, FRAME_RESET, flow, flow->broken, FLAG_FIN, 0);
		break;
	}
	flow_told(flow, what);
	return at;
}

static size_t put_data(struct carrier *carrier, struct flow *flow, size_t at, size_t len)
{
	uint64_t offset = flow->sent;
	size_t queued = flow_queued(flow);
	bool fin;

	if (len > queued)
		len = queued;
	if (len > flow->limit - flow->sent)
		len = flow->limit - flow->sent;
	fin = flow->ended && len == queued;
	carrier->virtual_queue -= len;
	flow_take(flow, out + at + FRAME_HEAD, len);
	if (carrier->flow && carrier->flow != flow) {
		flow_resume(carrier->flow);	/* there may be room again */
		if (carrier->peer->policy == POLICY_FAIR)
			policy_update(carrier->flow);
	}
	at = put_frame(at, FRAME_DATA, flow, offset, fin ? FLAG_FIN : 0, len);
	note_carried(carrier, flow, fin);
	if (fin)
		flow_told(flow, TELL_FIN);
	return at;
}

/* Its flow was there and is no more, nor what it would have sent */
static bool over(const struct carrier *carrier)
{
	return !carrier->flow && !carrier->virtual_queue &&
	       (carrier->met || carrier->bye_received);
}

/*
 * compose - what it sends next: what is to be told, then data
 *
 * Return: bytes in @out
 */
static size_t compose(struct carrier *carrier)
{
	struct session *session = carrier->session;
	size_t most = carrier->chunk, at = 0, len;
	struct flow *flow;

	if (carrier->ssl)
		most -= TLS_OVERHEAD;
	while (at + FRAME_HEAD + OPENING_MAX <= most && (flow = TAILQ_FIRST(&session->telling)))
		at = put_told(carrier, flow, at);
	while (!carrier->dead && at + FRAME_HEAD + WORTH_IT <= most && carrier->virtual_queue) {
		flow = policy_next(session, carrier);
		if (!flow)
			break;
		len = most - at - FRAME_HEAD;
		at = put_data(carrier, flow, at,
			      len < carrier->virtual_queue ? len : carrier->virtual_queue);
	}
	return at;
}

/*
 * All that waits lacks credit. That is nobody's fault but its own flow's, so it waits for its own
 * carrier: what this one has for others is given to theirs, or its flow would not be read from, nor
 * would it end, for as long as others do not read.
 */
static void give_back(struct carrier *carrier)
{
	uint64_t own = session_own(carrier);

	if (carrier->virtual_queue <= own)
		return;
	carrier->session->debt += carrier->virtual_queue - own;
	carrier->virtual_queue = own;
	session_settle(carrier->session);
	if (carrier->flow)
		flow_resume(carrier->flow);
}

/* Sends what it may; then it waits for room, or has nothing to send */
void carrier_pump(struct carrier *carrier)
{
	struct session *session = carrier->session;
	size_t len;

	unqueue(carrier);
	if (carrier->dead || carrier->state != CARRIER_UP || !flush(carrier) || carrier->bye_sent)
		return;
	look(carrier);
	for (;;) {
		if (!carrier->virtual_queue && TAILQ_EMPTY(&session->telling))
			break;
		if (unsent_in_socket(carrier) + carrier->chunk > carrier->unsent) {
			wait_for_room(carrier);
			return;
		}
		len = compose(carrier);
		if (carrier->dead)
			return;
		if (!len)
			break;
		if (!carrier_send(carrier, out, len))
			return;
	}
	give_back(carrier);
	if (!carrier->virtual_queue)
		note_flight(carrier, 0);
	if (over(carrier)) {
		struct flow none = { };

		carrier->bye_sent = true;
		TAILQ_REMOVE(&session->up, carrier, up_link);
		len = put_frame(0, FRAME_BYE, &none, 0, 0, 0);
		carrier_send(carrier, out, len);
	}
}

void carrier_wake(struct carrier *carrier)
{
	if (carrier->dead || carrier->state != CARRIER_UP ||
	    carrier->pump == READY || carrier->pump == WAITING)
		return;
	unqueue(carrier);
	carrier->pump = READY;
	TAILQ_INSERT_TAIL(&carrier->session->ready, carrier, pump_link);
	core_work();
}

/*
 * How it begins
 */

static void greet(struct carrier *carrier, uint8_t type, const unsigned char *id)
{
	struct frame frame = { .type = type, .len = HELLO_LEN, .flow = carrier->number };
	struct hello hello;

	memcpy(hello.id, id, ID_LEN);
	hello_write(out + FRAME_HEAD, &hello);
	frame_head(out, &frame);
	carrier_send(carrier, out, FRAME_HEAD + HELLO_LEN);
}

static void up(struct carrier *carrier)
{
	carrier->state = CARRIER_UP;
	TAILQ_INSERT_TAIL(&carrier->session->up, carrier, up_link);
	if (carrier->deadline)
		event_del(carrier->deadline);
	if (carrier->pump != WAITING)
		carrier_wake(carrier);
}

/* The origin need not wait for the answer: what is sent is read in order */
static void secured(struct carrier *carrier)
{
	event_add(carrier->readable, NULL);
	carrier->state = CARRIER_GREETING;
	if (!carrier->session)
		return;
	greet(carrier, FRAME_HELLO, carrier->session->id);
	if (!carrier->dead)
		up(carrier);
}

static void handshake(struct carrier *carrier)
{
	const struct peer_config *peer = carrier->peer;
	const char *why = "";
	char from[ADDRESS_TEXT];

	switch (tls_handshake(carrier->ssl, &peer, &why)) {
	case TLS_DONE:
		carrier->peer = (struct peer_config *)peer;
		secured(carrier);
		break;
	case TLS_WANT_READ:
		event_add(carrier->readable, NULL);
		break;
	case TLS_WANT_WRITE:
		event_add(carrier->writable, NULL);
		break;
	case TLS_FAILED:
		log_line(LOG_WARNING, "handshake-failed", "address=%s why=%s",
			 address_text(&carrier->from, from), why);
		carrier_break(carrier, "no handshake");
	}
}

static void begin(struct carrier *carrier, bool client)
{
	if (carrier->peer && carrier->peer->trust == TRUST_TUNNEL) {
		secured(carrier);
		return;
	}
	carrier->ssl = client ? tls_client(carrier->peer, carrier->fd) : tls_server(carrier->fd);
	if (!carrier->ssl) {
		carrier_break(carrier, "TLS cannot begin");
		return;
	}
	carrier->state = CARRIER_HANDSHAKE;
	handshake(carrier);
}

/* Carriers, and sessions. What is only expected in these is of a flow, which stay() bounds. */
static bool too_many(const struct peer_config *peer)
{
	unsigned int carriers = 0, sessions = 0, most = 2 * core.config->flows;
	struct session *session;

	TAILQ_FOREACH(session, &core.sessions, link) {
		if (session->peer != peer)
			continue;
		carriers += session->come;
		sessions++;
	}
	return carriers > most || sessions > most + 1;	/* the one that is asked for is there */
}

/* HELLO is the first frame of who has come to us, WELCOME the answer */
static const char *on_hello(struct carrier *carrier, const struct frame *frame)
{
	struct session *session;
	struct carrier *expected;
	struct hello hello;

	if (frame->type != FRAME_HELLO || carrier->session || !hello_read(frame, &hello))
		return "no HELLO";
	session = session_greet(carrier->peer, &hello);
	if (!session)
		return "no memory for a session";
	expected = carrier_find(session, frame->flow);
	if (expected && expected->state != CARRIER_EXPECTED)
		return "a number that is there already";
	if (session->numbers && (frame->flow == SHARED || carrier_find(session, SHARED)))
		return "a carrier for all beside others";
	if (too_many(carrier->peer))
		return "too many carriers";
	TAILQ_REMOVE(&core.greeting, carrier, link);
	if (!carrier_join(carrier, session, frame->flow)) {
		TAILQ_INSERT_TAIL(&core.greeting, carrier, link);
		return "no memory";
	}
	core.handshakes -= carrier->stranger;
	session->come++;
	session->there++;
	if (expected) {		/* its flow, what waits: it takes the place */
		HASH_DEL(session->numbers, expected);
		TAILQ_REMOVE(&session->carriers, expected, link);
		carrier->flow = expected->flow;
		if (carrier->flow)
			carrier->flow->carrier = carrier;
		carrier->virtual_queue = expected->virtual_queue;
		carrier->met = true;
		carrier_free(expected);
	} else if (carrier->number != SHARED) {
		carrier->met = session_seen(session, carrier->number, false);	/* and gone */
	}
	greet(carrier, FRAME_WELCOME, core.process);
	if (!carrier->dead)
		up(carrier);
	return NULL;
}

static const char *on_welcome(struct carrier *carrier, const struct frame *frame)
{
	struct session *session = carrier->session;
	struct hello hello;

	if (!session->origin || !hello_read(frame, &hello))
		return "no WELCOME";
	if (session->welcomed && memcmp(session->far, hello.id, ID_LEN)) {
		session_fail(session, "the far end has begun anew");
		return NULL;
	}
	session->welcomed = true;
	memcpy(session->far, hello.id, ID_LEN);
	return NULL;
}

static const char *on_frame(struct carrier *carrier, const struct frame *frame)
{
	const char *wrong = NULL;

	if (carrier->bye_received)
		return "frames after the last one";
	if (!carrier->session)
		return on_hello(carrier, frame);
	switch (frame->type) {
	case FRAME_HELLO:
		return "HELLO twice";
	case FRAME_WELCOME:
		return on_welcome(carrier, frame);
	case FRAME_BYE:
		if (carrier->number == SHARED)	/* it would end under all flows */
			return "BYE of a carrier that all share";
		carrier->bye_received = true;
		carrier->session->there--;
		carrier_wake(carrier);
		return NULL;
	default:
		flow_frame(carrier->session, frame, &wrong);
		return wrong;
	}
}

/* Return: whether all went well; what is no whole frame is kept */
static bool parse(struct carrier *carrier, const unsigned char *data, size_t len)
{
	const char *wrong = NULL;
	struct frame frame;
	int used = 0;

	while (len && !wrong) {
		used = frame_read(data, len, &frame);
		if (used <= 0)
			break;
		wrong = on_frame(carrier, &frame);
		if (carrier->dead)
			return false;
		data += used;
		len -= used;
	}
	if (used < 0)
		wrong = "no frame";
	if (wrong) {
		carrier_break(carrier, wrong);
		return false;
	}
	carrier->part_len = len;
	if (!len)
		return true;
	carrier->part = malloc(len);
	if (!carrier->part) {
		carrier_break(carrier, "no memory");
		return false;
	}
	memcpy(carrier->part, data, len);
	return true;
}

static ssize_t carrier_read(struct carrier *carrier, void *data, size_t len)
{
	if (carrier->ssl)
		return tls_read(carrier->ssl, data, len);
	return recv(carrier->fd, data, len, 0);
}

static void on_end(struct carrier *carrier)
{
	if (!carrier->bye_received) {
		carrier_break(carrier, "it ended without BYE");
		return;
	}
	event_del(carrier->readable);
	carrier->over = true;
	check_ended(carrier);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct carrier *carrier = arg;
	size_t kept, want;
	ssize_t got;
	int turns = 0;

	(void)fd;
	(void)what;
	if (carrier->state == CARRIER_HANDSHAKE) {
		event_del(carrier->readable);
		handshake(carrier);
		return;
	}
	do {
		kept = carrier->part_len;
		if (kept)
			memcpy(in, carrier->part, kept);
		free(carrier->part);
		carrier->part = NULL;
		carrier->part_len = 0;
		want = sizeof(in) - kept;
		got = carrier_read(carrier, in + kept, want);
		if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
			parse(carrier, in, kept);
			return;
		}
		if (got < 0 && (!carrier->bye_received || on_the_way(carrier))) {
			carrier_errno(carrier);
			return;
		}
		if (got <= 0) {
			on_end(carrier);
			return;
		}
		if (!parse(carrier, in, kept + got))
			return;
		/* What OpenSSL has read already no event tells of */
	} while ((carrier->ssl && SSL_pending(carrier->ssl)) ||
		 (++turns < READS && (carrier->ssl || (size_t)got == want)));
}

static void on_connected(struct carrier *carrier)
{
	int error = socket_error(carrier->fd);

	if (error)
		carrier_break(carrier, strerror(error));
	else
		begin(carrier, true);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct carrier *carrier = arg;

	(void)fd;
	(void)what;
	switch (carrier->state) {
	case CARRIER_CONNECTING:
		on_connected(carrier);
		break;
	case CARRIER_HANDSHAKE:
		handshake(carrier);
		break;
	default:
		carrier->pump = IDLE;
		if (carrier->session)
			carrier_wake(carrier);
	}
}

static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct carrier *carrier = arg;

	(void)fd;
	(void)what;
	if (carrier->over)
		check_ended(carrier);
	else
		carrier_break(carrier, "it has not begun in time");
}

/* Of who has said all nothing is read any more, and no event tells of a reset: we have to ask */
void carriers_look(struct session *session)
{
	struct carrier *carrier = TAILQ_FIRST(&session->carriers), *next;
	int error;

	for (; carrier && !carrier->dead; carrier = next) {
		next = TAILQ_NEXT(carrier, link);
		error = carrier->over && !carrier->ended ? socket_error(carrier->fd) : 0;
		if (error)
			carrier_break(carrier, strerror(error));
	}
}

static bool events(struct carrier *carrier)
{
	int fd = carrier->fd, one = 1, idle = 60;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	carrier->readable = event_new(core.base, fd, EV_READ | EV_PERSIST, on_readable, carrier);
	carrier->writable = event_new(core.base, fd, EV_WRITE, on_writable, carrier);
	return carrier->readable && carrier->writable && expect(carrier);
}

void carrier_connect(struct carrier *carrier)
{
	const union address *to = &carrier->peer->address;

	carrier->from = *to;
	carrier->state = CARRIER_CONNECTING;
	carrier->session->come++;
	carrier->session->there++;
	carrier->fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (carrier->fd < 0 ||
	    (connect(carrier->fd, &to->any, address_len(to)) && errno != EINPROGRESS))
		carrier_errno(carrier);
	else if (!events(carrier) || event_add(carrier->writable, NULL))
		carrier_break(carrier, "no memory");
}

static struct peer_config *peer_within(const union address *from)
{
	size_t i;

	for (i = 0; i < core.config->n_peers; i++) {
		struct peer_config *peer = core.config->peers + i;

		if (peer->trust == TRUST_TUNNEL && allowed(peer->within, peer->n_within, from))
			return peer;
	}
	return NULL;
}

static bool tls_is_used(void)
{
	size_t i;

	for (i = 0; i < core.config->n_peers; i++) {
		if (core.config->peers[i].trust != TRUST_TUNNEL)
			return true;
	}
	return false;
}

static struct carrier *slowest(void)
{
	struct carrier *carrier;

	TAILQ_FOREACH(carrier, &core.greeting, link) {
		if (carrier->stranger)
			return carrier;
	}
	return NULL;
}

/*
 * Where strangers fill the room, others wait in the backlog until it has shown who of them is slow,
 * and then takes his place: who has no key keeps nobody out for long who has one.
 */
bool carrier_room(void)
{
	return core.handshakes < core.config->handshakes || now_ns() - slowest()->came > SLOW;
}

/* Somebody has come to where we listen for peers */
void carrier_accept(int fd, const union address *from)
{
	struct peer_config *peer = peer_within(from);
	struct carrier *carrier = NULL;
	char text[ADDRESS_TEXT];

	if (peer || tls_is_used())
		carrier = carrier_alloc();
	if (!carrier) {
		log_line(LOG_WARNING, "carrier-refused", "address=%s why=%s",
			 address_text(from, text), peer ? "no memory" : "no peer has this address");
		close(fd);
		return;
	}
	carrier->came = now_ns();
	carrier->stranger = !peer;
	if (!peer && core.handshakes >= core.config->handshakes)
		carrier_break(slowest(), "too many handshakes, and it is the slowest");
	core.handshakes += carrier->stranger;
	TAILQ_INSERT_TAIL(&core.greeting, carrier, link);
	carrier->fd = fd;
	carrier->from = *from;
	carrier->peer = peer;
	if (events(carrier))
		begin(carrier, false);
	else
		carrier_break(carrier, "no memory");
}
