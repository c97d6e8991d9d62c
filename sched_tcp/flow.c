// SPDX-License-Identifier: GPL-2.0
/*
 * Flows: an application's connection at one end, a place in the far end's frames at the other.
 *
 * To the far end: what is read waits in the queue until carriers take it. From the far end: what
 * has come in order waits in `held` until the application takes it, and what is ahead of that as
 * pieces; credit bounds both. A flow is over when both directions have ended and the far end's
 * application has had all (FIN of CREDIT). Whatever goes wrong before that resets it at both ends.
 */
#include <errno.h>
#include <event2/dns.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core.h"
#include "http.h"
#include "log.h"

#define READ_AT_ONCE	65536
#define READS		4		/* of an application, before others have their turn */
#define MANY		1000		/* resets may wait to be told, and one for each flow */
#define ANOTHER		NSEC		/* data after so long without are another transmission */

/* Is there until the answer, which there is also to a question that is taken back */
struct lookup {
	struct flow *flow;
	struct evdns_getaddrinfo_request *asked;
	struct event *deadline;
};

static void on_readable(evutil_socket_t fd, short what, void *arg);
static void on_writable(evutil_socket_t fd, short what, void *arg);

size_t flow_queued(const struct flow *flow)
{
	return evbuffer_get_length(flow->queue);
}

struct flow *flow_find(struct session *session, uint32_t id)
{
	struct flow *flow;

	HASH_FIND(hh, session->flows, &id, sizeof(id), flow);
	return flow;
}

static void tell(struct flow *flow, unsigned int what)
{
	flow->tell |= what;
	if (!flow->telling) {
		flow->telling = true;
		TAILQ_INSERT_TAIL(&flow->session->telling, flow, telling_link);
	}
	core_work();
}

/* The most that a flow may have on the way: an eighth of what there is, so that many have some */
static uint64_t window_most(void)
{
	size_t all = half_of_memory();
	uint64_t part = core.granted < all ? (all - core.granted) / 8 : 0;

	if (part > core.config->window)
		part = core.config->window;
	return part > CREDIT_LEAST ? part : CREDIT_LEAST;
}

/* Whose application keeps up may have twice as much the next time; who reads slowly keeps little */
static void grant(struct flow *flow)
{
	uint64_t most = window_most(), to;

	if (flow->fin || flow->granted - flow->next >= flow->window / 2)
		return;
	if (flow->next - flow->delivered < flow->window / 4)
		flow->window *= 2;
	if (flow->window > most)
		flow->window = most;
	to = flow->delivered + flow->window;
	if (to < flow->granted + flow->window / 4)	/* not for each byte that it reads */
		return;
	core.granted += to - flow->granted;
	flow->granted = to;
	tell(flow, TELL_CREDIT);
}

static bool heap_has_room(struct session *session)
{
	size_t wanted = HASH_COUNT(session->flows) + 2, room = 2 * wanted + 62;
	struct flow **heap;

	if (wanted < session->room_heap)
		return true;
	heap = realloc(session->heap, room * sizeof(*heap));
	if (!heap)
		return false;
	session->heap = heap;
	session->room_heap = room;
	return true;
}

void flow_free(struct flow *flow)
{
	if (flow->queue)
		evbuffer_free(flow->queue);
	if (flow->held)
		evbuffer_free(flow->held);
	free(flow);
}

static struct flow *flow_alloc(struct session *session, uint32_t id)
{
	struct flow *flow = calloc(1, sizeof(*flow));

	if (!flow)
		return NULL;
	flow->session = session;
	flow->id = id;
	flow->fd = -1;
	flow->limit = CREDIT_LEAST;
	flow->queue = evbuffer_new();
	flow->held = evbuffer_new();
	if (flow->queue && flow->held && heap_has_room(session))
		HASH_ADD(hh, session->flows, id, sizeof(id), flow);
	if (flow->hh.tbl)
		return flow;
	flow_free(flow);
	return NULL;
}

static struct flow *flow_new(struct session *session, uint32_t id)
{
	struct flow *flow = flow_alloc(session, id);

	if (!flow)
		return NULL;
	flow->carrier = carrier_new(session, id);
	if (!flow->carrier) {
		HASH_DEL(session->flows, flow);
		flow_free(flow);
		return NULL;
	}
	if (flow->carrier->number != SHARED) {
		flow->carrier->flow = flow;
		flow->carrier->met = true;
	}
	core.flows++;
	flow->window = window_most() < CREDIT_FIRST ? window_most() : CREDIT_FIRST;
	flow->granted = flow->window;
	core.granted += flow->granted;
	return flow;
}

static void pieces_free(struct flow *flow)
{
	struct piece *piece, *next;

	HASH_ITER(hh, flow->pieces, piece, next) {
		HASH_DEL(flow->pieces, piece);
		free(piece);
	}
	flow->session->held -= flow->pieces_room;
	flow->pieces_room = 0;
}

/*
 * Until a flow is over, closing its socket resets it, so that it is also reset if this process
 * is killed.
 */
static void socket_linger(int fd, bool reset)
{
	struct linger linger = { .l_onoff = reset };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

static void socket_close(struct flow *flow, bool reset)
{
	if (flow->readable)
		event_free(flow->readable);
	if (flow->writable)
		event_free(flow->writable);
	flow->readable = NULL;
	flow->writable = NULL;
	if (flow->fd < 0)
		return;
	socket_linger(flow->fd, reset);
	close(flow->fd);
	flow->fd = -1;
}

static void take_back(struct flow *flow)
{
	struct lookup *lookup = flow->lookup;

	if (!lookup)
		return;
	flow->lookup = NULL;
	lookup->flow = NULL;
	evtimer_del(lookup->deadline);
	evdns_getaddrinfo_cancel(lookup->asked);
}

/* It takes no part in anything any more; what is left is what is still to be told */
static void flow_die(struct flow *flow)
{
	struct session *session = flow->session;
	struct carrier *carrier = flow->carrier;
	size_t queued = flow_queued(flow), held = evbuffer_get_length(flow->held);

	flow->dead = true;
	policy_remove(flow);
	take_back(flow);
	if (flow->stalled)
		TAILQ_REMOVE(&core.stalled, flow, stalled_link);
	if (flow->dirty)
		TAILQ_REMOVE(&session->dirty, flow, dirty_link);
	flow->stalled = false;
	flow->dirty = false;
	core.queued -= queued;
	session->queued -= queued;
	session->held -= held;
	core.granted -= flow->granted - flow->delivered;
	core.flows--;
	pieces_free(flow);
	evbuffer_drain(flow->queue, queued);
	evbuffer_drain(flow->held, held);
	session->debt -= queued;
	flow->carrier = NULL;
	if (carrier->number != SHARED && !carrier->dead) {
		carrier->flow = NULL;
		/* Reset, under tcp nothing would wait any more. Of a connection that is still to
		 * come it is not known whether it does.
		 */
		if (flow->broken || carrier->state == CARRIER_EXPECTED) {
			session->debt += carrier->virtual_queue;
			carrier->virtual_queue = 0;
		}
		carrier_wake(carrier);
	}
	session_settle(session);
}

void flow_bury(struct flow *flow)
{
	if (flow->telling)
		TAILQ_REMOVE(&flow->session->telling, flow, telling_link);
	flow->telling = false;
	flow->session->dead -= flow->stays;
	flow->session->peer->dead -= flow->stays;
	flow->stays = false;
	/* Until now it was waited for: it may be the only one by which the far end can be told */
	carrier_forget(flow->session, flow->id);
	HASH_DEL(flow->session->flows, flow);
	TAILQ_INSERT_TAIL(&core.dead_flows, flow, telling_link);
	core_work();
}

/* Of a peer's sessions that which has the most dead flows */
static struct session *worst(const struct peer_config *peer)
{
	struct session *session, *most = NULL;

	TAILQ_FOREACH(session, &core.sessions, link) {
		if (session->peer == peer && (!most || session->dead > most->dead))
			most = session;
	}
	return most;
}

/* Dead, it stays until the far end knows */
static void stay(struct flow *flow, unsigned int what)
{
	struct peer_config *peer = flow->session->peer;

	flow->stays = true;
	flow->tell = 0;
	tell(flow, what);
	flow->session->dead++;
	if (++peer->dead > core.config->flows + MANY)
		session_fail(worst(peer), "the far end does not read");
}

void flow_break(struct flow *flow, enum outcome outcome, bool told)
{
	void (*opened)(void *arg, int fd, enum outcome outcome) = flow->opened;
	char to[ADDRESS_TEXT];
	int fd = flow->fd;

	if (flow->dead)
		return;
	log_line(LOG_DEBUG, "flow-reset", "peer=%s flow=%u to=%s why=%u",
		 flow->session->peer->name, flow->id,
		 flow->opening.target.host[0] ? flow->opening.target.host :
		 address_text(&flow->opening.target.address, to), outcome);
	flow->broken = outcome;
	if (opened) {
		flow->opened = NULL;
		flow->fd = -1;
		socket_linger(fd, false);	/* it may be told why */
	}
	socket_close(flow, true);
	flow_die(flow);
	if (told && (!(flow->tell & TELL_OPEN) || flow->sent))
		stay(flow, TELL_RESET);
	else	/* the far end does not know of it, or nobody is there */
		flow_bury(flow);
	if (opened)
		opened(flow->arg, fd, outcome);
}

/* Both directions have ended, and both ends know */
static void check_over(struct flow *flow)
{
	if (flow->dead || flow->tell)
		return;
	if (!flow->fin_sent || !flow->fin_confirmed || !flow->fin_delivered)
		return;
	socket_close(flow, false);
	flow_die(flow);
	flow_bury(flow);
}

static void dirty(struct flow *flow)
{
	if (flow->dirty || flow->dead)
		return;
	flow->dirty = true;
	TAILQ_INSERT_TAIL(&flow->session->dirty, flow, dirty_link);
	core_work();
}

/*
 * To the far end
 */

/* How much may be read now */
static size_t room(const struct flow *flow)
{
	size_t queued = flow_queued(flow), waits = flow->carrier->virtual_queue;
	size_t most = core.config->queue;

	if (queues_full())
		most = QUEUE_LEAST;
	if (flow->carrier->number == SHARED)
		waits = queued;
	if (queued >= most || waits >= VIRTUAL_MAX)
		return 0;
	most -= queued;
	if (most > VIRTUAL_MAX - waits)
		most = VIRTUAL_MAX - waits;
	return most < READ_AT_ONCE ? most : READ_AT_ONCE;
}

static bool reads(const struct flow *flow)
{
	return !flow->dead && !flow->ended && !flow->connecting && !flow->opened && flow->readable;
}

void flow_resume(struct flow *flow)
{
	if (!reads(flow))
		return;
	if (room(flow)) {
		if (flow->stalled)
			TAILQ_REMOVE(&core.stalled, flow, stalled_link);
		flow->stalled = false;
		event_add(flow->readable, NULL);
		return;
	}
	event_del(flow->readable);
	if (!flow->stalled && queues_full()) {
		flow->stalled = true;
		TAILQ_INSERT_TAIL(&core.stalled, flow, stalled_link);
	}
}

/* An event tells of a reset only while it waits for data; of who is not read from we have to ask */
static void look_for_reset(struct flow *flow)
{
	struct pollfd fd = { .fd = flow->fd };

	if (flow->dead || flow->fd < 0 || !flow->readable || flow->connecting)
		return;
	if (!event_pending(flow->readable, EV_READ, NULL) && poll(&fd, 1, 0) == 1 &&
	    fd.revents & POLLERR)
		flow_break(flow, FAILED, true);
}

void flows_look(void)
{
	struct session *session;
	struct flow *flow, *next;

	TAILQ_FOREACH(session, &core.sessions, link) {
		HASH_ITER(hh, session->flows, flow, next)
			look_for_reset(flow);
		carriers_look(session);
	}
}

/*
 * A transmission that has ended is followed by another one, of its own size (section 4): when the
 * size that was told is complete, or after a pause. Who has data waiting all the time has one
 * transmission, whatever it says in them.
 */
static void transmission(struct flow *flow, size_t came)
{
	uint64_t at = flow->sent + flow_queued(flow) - came;
	bool complete = flow->size && at == flow->base + flow->size;

	if (!at || flow->sent < at || (!complete && now_ns() - flow->idle_since <= ANOTHER))
		return;
	flow->base = at;
	flow->size = 0;
	flow->late = 0;
	flow->looked = false;
}

static void look(struct flow *flow)
{
	size_t queued = flow_queued(flow);
	unsigned char *head;
	int found;

	if (flow->looked || flow->size)
		return;
	if (flow->sent > flow->base) {
		flow->looked = true;
		return;
	}
	if (queued > HTTP_HEAD_MAX)
		queued = HTTP_HEAD_MAX;
	head = evbuffer_pullup(flow->queue, queued);
	found = head ? http_length((const char *)head, queued, &flow->size) : 0;
	if (found <= 0)
		flow->size = 0;
	flow->looked = found >= 0;
}

static void came(struct flow *flow, size_t len)
{
	flow->carrier->virtual_queue += len;
	flow->session->queued += len;
	core.queued += len;
	transmission(flow, len);
	look(flow);
	policy_update(flow);
	carrier_wake(flow->carrier);
}

static void ended(struct flow *flow)
{
	flow->ended = true;
	event_del(flow->readable);
	if (!flow_queued(flow))
		tell(flow, TELL_FIN);
	else
		policy_update(flow);	/* what is left is known now */
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct flow *flow = arg;
	struct evbuffer_iovec vec;
	ssize_t got = 0;
	size_t want;
	int i;

	(void)what;
	for (i = 0; i < READS && (want = room(flow)); i++) {
		if (evbuffer_reserve_space(flow->queue, want, &vec, 1) < 1) {
			flow_break(flow, TOO_MANY, true);
			return;
		}
		if (vec.iov_len > want)
			vec.iov_len = want;
		want = vec.iov_len;
		got = recv(fd, vec.iov_base, want, 0);
		if (got <= 0)
			break;
		vec.iov_len = got;
		evbuffer_commit_space(flow->queue, &vec, 1);
		came(flow, got);
		if ((size_t)got < want)
			break;
	}
	if (i < READS && want && !got)
		ended(flow);
	else if (got < 0 && errno != EAGAIN && errno != EINTR)
		flow_break(flow, FAILED, true);
	flow_resume(flow);
}

void flow_take(struct flow *flow, unsigned char *to, size_t len)
{
	struct session *session = flow->session;

	evbuffer_remove(flow->queue, to, len);
	flow->sent += len;
	session->sent += len;
	session->queued -= len;
	core.queued -= len;
	if (!flow_queued(flow))
		flow->idle_since = now_ns();
	policy_update(flow);
	flow_resume(flow);
}

void flow_told(struct flow *flow, unsigned int what)
{
	flow->tell &= ~what;
	if (what & TELL_FIN)
		flow->fin_sent = true;
	if (!flow->tell && flow->telling) {
		flow->telling = false;
		TAILQ_REMOVE(&flow->session->telling, flow, telling_link);
	}
	if (what == TELL_ANSWER)
		flow_bury(flow);
	else
		check_over(flow);
}

void flow_retell(struct flow *flow)
{
	if (flow->dead && !flow->tell)
		tell(flow, TELL_RESET);
	if (flow->dead || !flow->open)
		return;
	if (!flow->session->origin)
		tell(flow, TELL_OPENED);
	tell(flow, TELL_CREDIT);
}

/*
 * From the far end
 */

static void held_more(struct flow *flow, const unsigned char *data, size_t len)
{
	if (evbuffer_add(flow->held, data, len)) {
		flow_break(flow, TOO_MANY, true);
		return;
	}
	flow->session->held += len;
	flow->next += len;
	dirty(flow);
}

static void pieces_join(struct flow *flow)
{
	struct piece *piece;

	while (!flow->dead) {
		HASH_FIND(hh, flow->pieces, &flow->next, sizeof(flow->next), piece);
		if (!piece)
			return;
		HASH_DEL(flow->pieces, piece);
		flow->pieces_room -= sizeof(*piece) + piece->len;
		flow->session->held -= sizeof(*piece) + piece->len;
		held_more(flow, piece->data, piece->len);
		free(piece);
	}
}

static const char *piece_store(struct flow *flow, uint64_t offset, const struct frame *frame)
{
	struct piece *piece;
	size_t size = sizeof(*piece) + frame->len;

	HASH_FIND(hh, flow->pieces, &offset, sizeof(offset), piece);
	if (piece)
		return "the same data twice";
	piece = flow->pieces_room + size > 2 * (flow->granted - flow->next) + CREDIT_LEAST ?
		NULL : malloc(size);
	if (!piece) {	/* or they are a byte each */
		flow_break(flow, TOO_MANY, true);
		return NULL;
	}
	piece->offset = offset;
	piece->len = frame->len;
	memcpy(piece->data, frame->data, frame->len);
	flow->pieces_room += size;
	flow->session->held += size;
	HASH_ADD(hh, flow->pieces, offset, sizeof(offset), piece);
	if (!piece->hh.tbl) {
		flow->pieces_room -= size;
		flow->session->held -= size;
		free(piece);
		flow_break(flow, TOO_MANY, true);
	}
	return NULL;
}

static const char *on_data(struct flow *flow, const struct frame *frame)
{
	uint64_t offset = place_near(flow->next, frame->offset), end = offset + frame->len;
	const char *wrong = NULL;

	if (end > flow->granted || offset > end)
		return "more than there was credit for";
	if (end > flow->farthest)
		flow->farthest = end;
	if (frame->flags & FLAG_FIN) {
		if (flow->fin && flow->fin_at != end)
			return "two ends";
		flow->fin = true;
		flow->fin_at = end;
	}
	if ((flow->fin && flow->farthest > flow->fin_at) || offset < flow->next)
		return "data where there are none to come";
	flow->session->received += frame->len;
	if (frame->len && offset > flow->next) {
		wrong = piece_store(flow, offset, frame);
	} else {
		held_more(flow, frame->data, frame->len);
		pieces_join(flow);
	}
	if (!flow->dead)
		dirty(flow);
	return wrong;
}

void flow_flush(struct flow *flow)
{
	size_t len = evbuffer_get_length(flow->held);
	int wrote;

	flow->dirty = false;
	TAILQ_REMOVE(&flow->session->dirty, flow, dirty_link);
	if (flow->fd < 0 || flow->connecting || flow->opened)
		return;
	while (len) {
		wrote = evbuffer_write(flow->held, flow->fd);
		if (wrote < 0 && (errno == EAGAIN || errno == EINTR)) {
			event_add(flow->writable, NULL);
			break;
		}
		if (wrote <= 0) {
			flow_break(flow, FAILED, true);
			return;
		}
		len -= wrote;
		flow->delivered += wrote;
		flow->session->held -= wrote;
		core.granted -= wrote;
	}
	grant(flow);
	if (!len && flow->fin && flow->next == flow->fin_at && !flow->fin_delivered) {
		shutdown(flow->fd, SHUT_WR);
		flow->fin_delivered = true;
		tell(flow, TELL_CREDIT);
	}
}

static const char *on_credit(struct flow *flow, const struct frame *frame)
{
	uint64_t limit = place_near(flow->limit, frame->offset);
	uint64_t received = place_near(flow->confirmed, frame_received(frame));

	if (limit > flow->sent + CREDIT_MAX)
		return "more credit than can be";
	if (received > flow->sent || (frame->flags & FLAG_FIN && !flow->fin_sent))
		return "data confirmed that were not sent";
	if (received > flow->confirmed)
		flow->confirmed = received;
	if (limit > flow->limit)	/* else by another carrier a later one came first */
		flow->limit = limit;
	if (frame->flags & FLAG_FIN)
		flow->fin_confirmed = true;
	policy_update(flow);
	check_over(flow);
	return NULL;
}

/*
 * How it begins
 */

static bool events(struct flow *flow)
{
	int one = 1;

	socket_linger(flow->fd, true);
	/* The other application cannot find out for itself that this one is gone */
	setsockopt(flow->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	flow->readable = event_new(core.base, flow->fd, EV_READ | EV_PERSIST, on_readable, flow);
	flow->writable = event_new(core.base, flow->fd, EV_WRITE, on_writable, flow);
	return flow->readable && flow->writable;
}

static void refuse(const struct request *request, enum outcome outcome)
{
	if (request->opened) {
		request->opened(request->arg, request->fd, outcome);
		return;
	}
	socket_linger(request->fd, true);
	close(request->fd);
}

void flow_open(const struct request *request)
{
	struct session *session = NULL;
	struct flow *flow = NULL;

	if (core.flows < core.config->flows)
		session = session_for((struct peer_config *)request->peer);
	if (session) {
		while (flow_find(session, ++session->next_id) || session->next_id == SHARED)
			;
		flow = flow_new(session, session->next_id);
	}
	if (!flow) {
		log_line(LOG_WARNING, "flow-refused", "peer=%s flows=%u", request->peer->name,
			 core.flows);
		refuse(request, TOO_MANY);
		return;
	}
	flow->fd = request->fd;
	flow->opened = request->opened;
	flow->arg = request->arg;
	flow->type = request->type;
	flow->size = request->told.size;
	flow->opening.target = request->target;
	flow->opening.from = request->told.from;
	flow->opening.size = request->told.size;
	flow->opening.reply = request->told.reply;
	flow->opening.type = request->type;
	if (!events(flow) ||
	    (request->early_len && evbuffer_add(flow->queue, request->early, request->early_len))) {
		flow_break(flow, TOO_MANY, false);
		return;
	}
	tell(flow, TELL_OPEN);
	if (request->early_len)
		came(flow, request->early_len);
	if (flow->carrier->state == CARRIER_EXPECTED)
		carrier_connect(flow->carrier);
	flow_resume(flow);
}

static enum outcome outcome_of(int error)
{
	switch (error) {
	case ECONNREFUSED:
		return REFUSED;
	case ENETUNREACH:
	case EHOSTUNREACH:
		return UNREACHABLE;
	case ETIMEDOUT:
		return TIMED_OUT;
	case EACCES:
	case EPERM:
		return NOT_ALLOWED;
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
		return TOO_MANY;
	default:
		return FAILED;
	}
}

static void connected(struct flow *flow)
{
	flow->connecting = false;
	flow->open = true;
	tell(flow, TELL_OPENED);
	dirty(flow);
	flow_resume(flow);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct flow *flow = arg;
	int error;

	if (!flow->connecting) {
		dirty(flow);
		return;
	}
	error = what & EV_TIMEOUT ? ETIMEDOUT : socket_error(fd);
	if (error)
		flow_break(flow, outcome_of(error), true);
	else
		connected(flow);
}

/* What says that it is of this host is of another one: who listens here would believe it */
static bool is_loopback(const union address *address)
{
	if (address->any.sa_family == AF_INET)
		return ntohl(address->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&address->in6.sin6_addr);
}

/* From the client's own address, if the peer's flows keep it */
static int connect_from(struct flow *flow, const union address *to)
{
	union address from = flow->opening.from;
	int family = to->any.sa_family, one = 1;
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	flow->fd = fd;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (flow->session->peer->keep_source && from.any.sa_family == family &&
	    !is_loopback(&from)) {
		address_set_port(&from, 0);
		if (setsockopt(fd, family == AF_INET ? SOL_IP : SOL_IPV6,
			       family == AF_INET ? IP_TRANSPARENT : IPV6_TRANSPARENT, &one,
			       sizeof(one)) ||
		    bind(fd, &from.any, address_len(&from)))
			return -1;
	}
	return connect(fd, &to->any, address_len(to));
}

static void go(struct flow *flow, const union address *to)
{
	const struct peer_config *peer = flow->session->peer;
	struct timeval limit = { .tv_sec = core.config->timeout };
	char text[ADDRESS_TEXT];

	if (!allowed(peer->allow, peer->n_allow, to)) {
		log_line(LOG_NOTICE, "not-allowed", "peer=%s to=%s", peer->name,
			 address_text(to, text));
		flow_break(flow, NOT_ALLOWED, true);
		return;
	}
	flow->connecting = true;
	if (connect_from(flow, to) && errno != EINPROGRESS) {
		flow_break(flow, outcome_of(errno), true);
		return;
	}
	if (!events(flow) || event_add(flow->writable, &limit))
		flow_break(flow, TOO_MANY, true);
}

static void lookup_free(struct lookup *lookup)
{
	if (lookup && lookup->deadline)
		event_free(lookup->deadline);
	free(lookup);
}

static void on_no_name(evutil_socket_t fd, short what, void *arg)
{
	struct lookup *lookup = arg;

	(void)fd;
	(void)what;
	flow_break(lookup->flow, TIMED_OUT, true);
}

static void on_name(int error, struct evutil_addrinfo *found, void *arg)
{
	struct lookup *lookup = arg;
	struct flow *flow = lookup->flow;
	union address to = { };

	lookup_free(lookup);
	if (flow) {
		flow->lookup = NULL;
		if (error || !found || found->ai_addrlen > sizeof(to)) {
			flow_break(flow, NO_NAME, true);
		} else {
			memcpy(&to, found->ai_addr, found->ai_addrlen);
			address_set_port(&to, address_port(&flow->opening.target.address));
			go(flow, &to);
		}
	}
	if (found)
		evutil_freeaddrinfo(found);
}

static void look_up(struct flow *flow)
{
	struct evutil_addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_family = AF_UNSPEC };
	struct timeval limit = { .tv_sec = core.config->timeout };
	struct lookup *lookup = calloc(1, sizeof(*lookup));
	struct evdns_getaddrinfo_request *asked;

	if (lookup)
		lookup->deadline = evtimer_new(core.base, on_no_name, lookup);
	if (!lookup || !lookup->deadline || evtimer_add(lookup->deadline, &limit)) {
		lookup_free(lookup);
		flow_break(flow, TOO_MANY, true);
		return;
	}
	lookup->flow = flow;
	flow->lookup = lookup;
	asked = evdns_getaddrinfo(core.dns, flow->opening.target.host, NULL, &hints, on_name,
				  lookup);
	if (asked)	/* else on_name was called */
		lookup->asked = asked;
}

static const char *on_open(struct flow *flow, const struct frame *frame)
{
	uint64_t limit = place_near(flow->limit, frame->offset);

	if (flow->opening.target.address.any.sa_family || flow->session->origin)
		return "a flow opened twice";
	if (!opening_read(frame, &flow->opening) || limit > CREDIT_MAX)
		return "no target";
	if (limit > flow->limit)
		flow->limit = limit;
	flow->type = flow->opening.type;
	flow->size = flow->opening.reply;
	if (flow->opening.target.host[0])
		look_up(flow);
	else
		go(flow, &flow->opening.target.address);
	return NULL;
}

static const char *on_opened(struct flow *flow, const struct frame *frame)
{
	void (*opened)(void *arg, int fd, enum outcome outcome) = flow->opened;
	uint64_t limit = place_near(flow->limit, frame->offset);

	if (!flow->session->origin || limit > flow->sent + CREDIT_MAX)
		return "a flow opened that was not to be";
	if (limit > flow->limit)
		flow->limit = limit;
	if (flow->open)		/* told twice */
		return NULL;
	flow->open = true;
	flow->opened = NULL;
	if (opened)
		opened(flow->arg, flow->fd, OPENED);
	policy_update(flow);
	dirty(flow);
	flow_resume(flow);
	return NULL;
}

/*
 * The first frame of a flow at the far end is mostly OPEN, but by other carriers data may come
 * before. What was there before and is no more needs no answer, but to RESET, and to CREDIT: the
 * far end may wait to hear that a flow is over, which a carrier that broke had told.
 */
static struct flow *unknown_frame(struct session *session, const struct frame *frame)
{
	bool begins = frame->type == FRAME_OPEN || frame->type == FRAME_DATA;
	bool gone = session->origin ||
		    session_seen(session, frame->flow, begins || frame->type == FRAME_RESET);
	struct flow *flow;

	if (frame->flow == SHARED || (frame->type == FRAME_RESET && frame->flags & FLAG_FIN))
		return NULL;
	if (frame->type == FRAME_RESET || (gone && frame->type == FRAME_CREDIT))
		flow = flow_alloc(session, frame->flow);
	else if (!gone && begins)
		flow = flow_new(session, frame->flow);
	else
		return NULL;
	if (!flow) {
		session_fail(session, "no memory for a flow");
	} else if (!flow->carrier) {
		flow->dead = true;
		flow->broken = GONE;
		stay(flow, TELL_ANSWER);
	} else if (flow->carrier->bye_sent) {
		/* Its own carrier came and ended before it, and will go away under it */
		flow_break(flow, FAILED, true);
	} else if (core.flows > core.config->flows) {
		flow_break(flow, TOO_MANY, true);
	}
	return flow;
}

/* The far end has reset it, or knows that it is reset, or no more of it */
static void on_reset(struct flow *flow, const struct frame *frame)
{
	enum outcome outcome = frame->offset && frame->offset < GONE ? frame->offset : FAILED;

	if (!(frame->flags & FLAG_FIN)) {
		flow_break(flow, outcome, true);
		if (!flow->stays)
			return;
		flow->broken = GONE;
		flow->tell = 0;
		tell(flow, TELL_ANSWER);
	} else if (flow->dead) {
		flow_bury(flow);
	} else if (frame->offset == GONE && flow->fin_sent && flow->fin_delivered) {
		flow->fin_confirmed = true;
		check_over(flow);
	} else {
		flow_break(flow, outcome, false);
	}
}

void flow_frame(struct session *session, const struct frame *frame, const char **wrong)
{
	struct flow *flow = flow_find(session, frame->flow);

	if (!flow)
		flow = unknown_frame(session, frame);
	else if (frame->type == FRAME_RESET)
		on_reset(flow, frame);
	if (!flow || flow->dead || frame->type == FRAME_RESET)
		return;
	switch (frame->type) {
	case FRAME_OPEN:
		*wrong = on_open(flow, frame);
		break;
	case FRAME_OPENED:
		*wrong = on_opened(flow, frame);
		break;
	case FRAME_DATA:
		*wrong = on_data(flow, frame);
		break;
	case FRAME_CREDIT:
		*wrong = on_credit(flow, frame);
		break;
	default:
		*wrong = "a frame where there may be none";
	}
}
