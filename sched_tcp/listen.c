// SPDX-License-Identifier: GPL-2.0
/*
 * What comes to our ports. It is known at once where a connection goes if that is configured
 * (LISTEN_FORWARD) or was its own address (LISTEN_TPROXY); else the client has to tell it first.
 * Until then it is one of those that wait, in the order in which they came, each with a buffer
 * that is not larger than what it may say. What it has said beyond that goes into the flow.
 *
 * An address of IPv4 within IPv6, as sockets for both have them, is given on as one of IPv4, since
 * this is what is allowed or not.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#include "flow.h"
#include "listen.h"
#include "log.h"
#include "socks.h"

#define AT_ONCE		64	/* accepted, before others have their turn */
#define DISCARDED	1048576	/* bytes */

struct listening {
	int fd;
	const struct listen_config *config;
	union address address;	/* with the port that it has got */
	struct event *readable;
	struct event *again;	/* accepting goes on */
};

/* Who has not yet told all */
struct client {
	TAILQ_ENTRY(client) waiting;
	const struct listening *listener;
	int fd;
	union address from;
	struct event *readable;
	time_t since;
	struct socks socks;
	unsigned char *data;	/* what was not yet used */
	size_t len, room;
};

static struct event_base *events;
static const struct config *configured;
static void (*peer_came)(int fd, const union address *from);
static bool (*peer_room)(void);
static struct listening *listeners;
static size_t n_listeners;
static TAILQ_HEAD(clients, client) clients = TAILQ_HEAD_INITIALIZER(clients);
static unsigned int n_clients;
static struct event *expiry;	/* pending while clients wait */

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Addresses */

static void unmap(union address *address)
{
	struct sockaddr_in in = { .sin_family = AF_INET };

	if (address->any.sa_family != AF_INET6 ||
	    !IN6_IS_ADDR_V4MAPPED(&address->in6.sin6_addr))
		return;
	in.sin_port = address->in6.sin6_port;
	memcpy(&in.sin_addr, address->in6.sin6_addr.s6_addr + 12, 4);
	memset(address, 0, sizeof(*address));
	address->in = in;
}

static bool is_any(const union address *address)
{
	if (address->any.sa_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&address->in6.sin6_addr);
	return address->in.sin_addr.s_addr == htonl(INADDR_ANY);
}

static bool is_same_host(const union address *a, const union address *b)
{
	if (a->any.sa_family != b->any.sa_family)
		return false;
	if (a->any.sa_family == AF_INET6)
		return IN6_ARE_ADDR_EQUAL(&a->in6.sin6_addr, &b->in6.sin6_addr);
	return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
}

/* Is it one of this host? Only then can it be bound. */
static bool is_local(const union address *address)
{
	union address trial = *address;
	int fd = socket(trial.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool bound;

	if (fd < 0)
		return true;	/* as far as we know */
	address_set_port(&trial, 0);
	bound = !bind(fd, &trial.any, address_len(&trial));
	close(fd);
	return bound;
}

/* Has a client connected to the listener itself? The flow would come back to it, and again. */
static bool is_loop(const struct listening *listener, const union address *to)
{
	if (address_port(to) != address_port(&listener->address))
		return false;
	return is_any(&listener->address) ? is_local(to) : is_same_host(&listener->address, to);
}

/* Ends */

static void tell(const struct listening *listener, const union address *from, const char *why)
{
	char text[ADDRESS_TEXT], at[ADDRESS_TEXT];

	log_line(LOG_INFO, "client-closed", "listener=%s address=%s why=%s",
		 address_text(&listener->address, at), address_text(from, text), why);
}

/* A socket that is closed with something unread in it sends a reset, which may overtake what we
 * have told the client. What comes later than now is not worth waiting for.
 */
static void end_gently(int fd)
{
	shutdown(fd, SHUT_WR);
	recv(fd, NULL, DISCARDED, MSG_TRUNC | MSG_DONTWAIT);
}

static void stop_waiting(struct client *client)
{
	TAILQ_REMOVE(&clients, client, waiting);
	n_clients--;
	event_free(client->readable);
	if (!n_clients)
		event_del(expiry);
}

static void client_free(struct client *client)
{
	free(client->data);
	free(client);
}

static void client_refuse(struct client *client, const char *why)
{
	struct linger reset = { .l_onoff = 1 };

	tell(client->listener, &client->from, why);
	stop_waiting(client);
	/* Ended, it would be taken for an answer without content; SOCKS has told more */
	if (client->listener->config->how != LISTEN_SOCKS)
		setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(client->fd);
	client_free(client);
}

static void expire_later(void)
{
	struct timeval second = { 1 };

	if (!evtimer_pending(expiry, NULL))
		evtimer_add(expiry, &second);
}

static void on_expiry(evutil_socket_t fd, short what, void *arg)
{
	struct client *oldest;

	(void)fd;
	(void)what;
	(void)arg;
	/* The second in which it came is not counted */
	while ((oldest = TAILQ_FIRST(&clients)) &&
	       seconds() - oldest->since > configured->timeout)
		client_refuse(oldest, "it has not said where to");
	if (oldest)
		expire_later();
}

/* Flows */

/* The rest of what is asked for: @request has the socket, the target, and what was told */
static void begin(const struct listening *listener, struct request *request,
		  const union address *from)
{
	struct told *told = &request->told;

	request->peer = listener->config->peer;
	request->type = listener->config->type;
	if (told->type >= 0 && (unsigned int)told->type < configured->n_types)
		request->type = told->type;
	if (told->from.any.sa_family == AF_UNSPEC)
		told->from = *from;
	unmap(&told->from);
	unmap(&request->target.address);
	flow_open(request);
}

static void begin_told(struct client *client, struct request *request)
{
	stop_waiting(client);
	request->fd = client->fd;
	request->early = client->data;
	request->early_len = client->len;
	begin(client->listener, request, &client->from);
	client_free(client);
}

/* The last reply of SOCKS; what follows is the flow's, or there is none, and the socket is ours */
static void answer(void *arg, int fd, enum outcome outcome)
{
	unsigned char reply[32];
	size_t len = socks_answer(outcome, reply);

	(void)arg;
	/* There is room for it, unless the client has gone */
	if (send(fd, reply, len, MSG_NOSIGNAL) != (ssize_t)len)
		shutdown(fd, SHUT_RDWR);
	else if (outcome != OPENED)
		end_gently(fd);
	if (outcome != OPENED)
		close(fd);
}

/* What clients say */

static void used(struct client *client, size_t n)
{
	client->len -= n;
	memmove(client->data, client->data + n, client->len);
}

static void read_proxied(struct client *client)
{
	struct request request = { .target.address = client->listener->config->to };
	int n = proxy2_read(client->data, client->len, &request.told);

	if (n < 0)
		client_refuse(client, "it does not begin with a header of PROXY");
	if (n <= 0)
		return;
	used(client, n);
	begin_told(client, &request);
}

static void read_socks(struct client *client)
{
	struct socks *socks = &client->socks;
	struct request request = { .opened = answer };
	unsigned char reply[32];
	size_t len, n = socks_read(socks, client->data, client->len, reply, &len,
				   (const char (*)[NAME_LEN])configured->types,
				   configured->n_types);

	used(client, n);
	if (len && send(client->fd, reply, len, MSG_NOSIGNAL) != (ssize_t)len) {
		client_refuse(client, "it does not take a reply");
	} else if (socks->state == SOCKS_BROKEN) {
		end_gently(client->fd);
		client_refuse(client, "it asks for nothing that SOCKS has here");
	} else if (socks->state == SOCKS_DONE) {
		request.target = socks->target;
		request.told = socks->told;
		begin_told(client, &request);
	}
}

/* Twice as much, if there is no room. This comes to an end, since what is not whole has less than
 * SOCKS_MAX bytes, or PROXY2_MAX.
 */
static bool make_room(struct client *client)
{
	size_t room = client->room ? 2 * client->room : SOCKS_MAX;
	unsigned char *data;

	if (client->len < client->room)
		return true;
	data = realloc(client->data, room);
	if (!data)
		return false;
	client->data = data;
	client->room = room;
	return true;
}

static void on_client(evutil_socket_t fd, short what, void *arg)
{
	struct client *client = arg;
	ssize_t n;

	(void)what;
	if (!make_room(client)) {
		client_refuse(client, "there is no memory");
		return;
	}
	n = recv(fd, client->data + client->len, client->room - client->len, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		client_refuse(client, n ? strerror(errno) : "it has ended");
		return;
	}
	client->len += n;
	if (client->listener->config->how == LISTEN_SOCKS)
		read_socks(client);
	else
		read_proxied(client);
}

static void wait_for(const struct listening *listener, int fd, const union address *from)
{
	struct client *client = calloc(1, sizeof(*client));

	if (client)
		client->readable = event_new(events, fd, EV_READ | EV_PERSIST, on_client, client);
	if (!client || !client->readable) {
		tell(listener, from, "there is no memory");
		free(client);
		close(fd);
		return;
	}
	client->listener = listener;
	client->fd = fd;
	client->from = *from;
	client->since = seconds();
	while (n_clients && n_clients >= configured->handshakes)
		client_refuse(TAILQ_FIRST(&clients), "too many wait, and it is the oldest");
	TAILQ_INSERT_TAIL(&clients, client, waiting);
	n_clients++;
	expire_later();
	event_add(client->readable, NULL);
}

/* Accepting */

static void came(const struct listening *listener, int fd, const union address *from)
{
	struct request request = { .fd = fd, .told.type = -1 };
	union address *to = &request.target.address;
	socklen_t len = sizeof(*to);

	switch (listener->config->how) {
	case LISTEN_PEERS:
		peer_came(fd, from);
		return;
	case LISTEN_FORWARD:
		if (listener->config->proxied)
			break;
		*to = listener->config->to;
		begin(listener, &request, from);
		return;
	case LISTEN_TPROXY:
		if (getsockname(fd, &to->any, &len)) {
			close(fd);
			return;
		}
		if (is_loop(listener, to)) {
			tell(listener, from, "it wants to connect to the listener itself");
			close(fd);
			return;
		}
		begin(listener, &request, from);
		return;
	case LISTEN_SOCKS:
		break;
	}
	wait_for(listener, fd, from);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
	struct listening *listener = arg;

	(void)fd;
	(void)what;
	event_add(listener->readable, NULL);
}

/* Those that wait in the backlog would call us at once, and in vain */
static void pause_accepting(struct listening *listener, const struct timeval *pause)
{
	event_del(listener->readable);
	evtimer_add(listener->again, pause);
}

static void lack_descriptors(struct listening *listener)
{
	struct timeval second = { 1 };
	char text[ADDRESS_TEXT];

	log_line(LOG_WARNING, "accept-paused", "listener=%s error=%s",
		 address_text(&listener->address, text), strerror(errno));
	pause_accepting(listener, &second);
}

static bool has_to_tell(const struct listening *listener)
{
	return listener->config->how == LISTEN_SOCKS || listener->config->proxied;
}

/* Whether there is room for another one who has still to tell something */
static bool has_room(const struct listening *listener)
{
	if (listener->config->how == LISTEN_PEERS)
		return peer_room();
	return !has_to_tell(listener) || n_clients < configured->handshakes ||
	       seconds() - TAILQ_FIRST(&clients)->since > 1;
}

/* Return: whether there may be more */
static bool accept_one(struct listening *listener)
{
	struct timeval soon = { .tv_usec = 20000 };
	union address from = {};
	socklen_t len = sizeof(from);
	int on = 1, fd;

	if (!has_room(listener)) {
		pause_accepting(listener, &soon);
		return false;
	}
	fd = accept4(listener->fd, &from.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0) {
		setsockopt(fd, SOL_TCP, TCP_NODELAY, &on, sizeof(on));
		unmap(&from);
		came(listener, fd, &from);
		return true;
	}
	switch (errno) {
	case EAGAIN:
		return false;
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
		lack_descriptors(listener);
		return false;
	default:
		/* It was that connection's error */
		return true;
	}
}

static void on_listener(evutil_socket_t fd, short what, void *arg)
{
	int i;

	(void)fd;
	(void)what;
	for (i = 0; i < AT_ONCE && accept_one(arg); i++)
		;
}

/* Listeners */

static bool set_on(int fd, int level, int option)
{
	int on = 1;

	return !setsockopt(fd, level, option, &on, sizeof(on));
}

/* [::] is for IPv4, too, unless there is another listener for that */
static bool set_families(const struct listening *listener)
{
	const union address *address = &listener->config->address;
	int alone = 0;
	size_t i;

	if (address->any.sa_family != AF_INET6)
		return true;
	for (i = 0; i < configured->n_listeners; i++) {
		const union address *other = &configured->listeners[i].address;

		if (other->any.sa_family == AF_INET &&
		    address_port(other) == address_port(address))
			alone = 1;
	}
	return !setsockopt(listener->fd, SOL_IPV6, IPV6_V6ONLY, &alone, sizeof(alone));
}

static bool set_transparent(const struct listening *listener)
{
	if (listener->config->how != LISTEN_TPROXY)
		return true;
	if (listener->config->address.any.sa_family == AF_INET6)
		return set_on(listener->fd, SOL_IPV6, IPV6_TRANSPARENT);
	return set_on(listener->fd, SOL_IP, IP_TRANSPARENT);
}

/* Return: what has failed, or NULL */
static const char *open_socket(struct listening *listener)
{
	const union address *address = &listener->config->address;
	socklen_t len = sizeof(listener->address);

	listener->fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			      0);
	if (listener->fd < 0)
		return "socket";
	if (!set_on(listener->fd, SOL_SOCKET, SO_REUSEADDR) || !set_families(listener))
		return "setsockopt";
	if (!set_transparent(listener))
		return "transparent";
	if (bind(listener->fd, &address->any, address_len(address)))
		return "bind";
	if (listen(listener->fd, SOMAXCONN) ||
	    getsockname(listener->fd, &listener->address.any, &len))
		return "listen";
	listener->readable = event_new(events, listener->fd, EV_READ | EV_PERSIST, on_listener,
				       listener);
	listener->again = evtimer_new(events, on_again, listener);
	if (!listener->readable || !listener->again || event_add(listener->readable, NULL))
		return "event";
	return NULL;
}

static bool open_one(struct listening *listener)
{
	char text[ADDRESS_TEXT];
	const char *what;

	listener->address = listener->config->address;
	what = open_socket(listener);
	if (what)
		log_line(LOG_ERR, "listen-failed", "listener=%s what=%s error=%s",
			 address_text(&listener->config->address, text), what, strerror(errno));
	else
		log_line(LOG_INFO, "listening", "listener=%s",
			 address_text(&listener->address, text));
	return !what;
}

bool listen_open(struct event_base *base, const struct config *config,
		 void (*peer)(int fd, const union address *from), bool (*room)(void))
{
	size_t i;

	events = base;
	configured = config;
	peer_came = peer;
	peer_room = room;
	expiry = evtimer_new(base, on_expiry, NULL);
	listeners = calloc(config->n_listeners ? config->n_listeners : 1, sizeof(*listeners));
	if (!expiry || !listeners) {
		log_line(LOG_ERR, "listen-failed", "error=%s", strerror(ENOMEM));
		listen_close();
		return false;
	}
	for (i = 0; i < config->n_listeners; i++) {
		listeners[n_listeners].config = &config->listeners[i];
		if (!open_one(&listeners[n_listeners++])) {
			listen_close();
			return false;
		}
	}
	return true;
}

static void close_one(struct listening *listener)
{
	if (listener->readable)
		event_free(listener->readable);
	if (listener->again)
		event_free(listener->again);
	if (listener->fd >= 0)
		close(listener->fd);
}

void listen_close(void)
{
	struct client *client;

	while ((client = TAILQ_FIRST(&clients))) {
		stop_waiting(client);
		close(client->fd);
		client_free(client);
	}
	while (n_listeners)
		close_one(&listeners[--n_listeners]);
	free(listeners);
	listeners = NULL;
	if (expiry)
		event_free(expiry);
	expiry = NULL;
}
