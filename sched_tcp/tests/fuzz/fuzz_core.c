// SPDX-License-Identifier: GPL-2.0
/*
 * The core of both ends, whole, against a far end, applications and a clock that do what the input
 * says. Sockets are pairs of this process; what they are connected to is the input's, too. After
 * each step the virtual queues have to be together what the queues are, and the sums of all flows
 * what is said of all.
 *
 * sources: core.c flow.c carrier.c session.c policy.c wire.c http.c
 * libraries: -levent_core -levent_extra -lssl -Wl,--wrap=socket,--wrap=connect,--wrap=clock_gettime
 * libraries: -Wl,--wrap=frame_read
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core.h"
#include "counted.h"
#include "log.h"
#include "tls.h"

#define ENDS	64
#define AT_ONCE	240	/* steps from here on are of one round of events with the next */

int __wrap_socket(int family, int type, int protocol);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __real_frame_read(const unsigned char *bytes, size_t len, struct frame *frame);
int __wrap_frame_read(const unsigned char *bytes, size_t len, struct frame *frame);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t now = NSEC;
static int ends[ENDS];		/* the other ends of sockets, in the order in which they came */
static unsigned int n_ends;
static const uint8_t *input;
static size_t left;
int log_level;

void log_line(int priority, const char *event, const char *format, ...)
{
	(void)priority;
	(void)event;
	(void)format;
}

bool allowed(const struct allowed *list, size_t n, const union address *to)
{
	(void)list;
	(void)n;
	return address_port(to) != 1;
}

const char *address_text(const union address *address, char *text)
{
	(void)address;
	*text = 0;
	return text;
}

socklen_t address_len(const union address *address)
{
	return address->any.sa_family == AF_INET ? sizeof(address->in) : sizeof(address->in6);
}

uint16_t address_port(const union address *address)
{
	return ntohs(address->in.sin_port);	/* where AF_INET6 has it, too */
}

void address_set_port(union address *address, uint16_t port)
{
	address->in.sin_port = htons(port);
}

SSL *tls_client(const struct peer_config *peer, int fd)
{
	(void)peer;
	(void)fd;
	return NULL;
}

SSL *tls_server(int fd)
{
	(void)fd;
	return NULL;
}

enum tls_result tls_handshake(SSL *ssl, const struct peer_config **peer, const char **why)
{
	(void)ssl;
	(void)peer;
	*why = "";
	return TLS_FAILED;
}

ssize_t tls_read(SSL *ssl, void *data, size_t len)
{
	(void)ssl;
	(void)data;
	(void)len;
	return -1;
}

ssize_t tls_write(SSL *ssl, const void *data, size_t len)
{
	(void)ssl;
	(void)data;
	(void)len;
	return -1;
}

bool tls_end(SSL *ssl)
{
	(void)ssl;
	return true;
}

void tls_free(SSL *ssl)
{
	(void)ssl;
}

/* A socket whose other end is the input's; the oldest of these is closed when there are many */
static int pair(void)
{
	int fds[2], size = 4096;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds))
		abort();
	setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (n_ends >= ENDS && ends[n_ends % ENDS] >= 0)
		close(ends[n_ends % ENDS]);
	ends[n_ends++ % ENDS] = fds[1];
	return fds[0];
}

int __wrap_socket(int family, int type, int protocol)
{
	(void)family;
	(void)type;
	(void)protocol;
	return pair();
}

int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len)
{
	(void)fd;
	(void)to;
	(void)len;
	return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *to)
{
	(void)clock;
	to->tv_sec = now / NSEC;
	to->tv_nsec = now % NSEC;
	return 0;
}

int __wrap_frame_read(const unsigned char *bytes, size_t len, struct frame *frame)
{
	int used = __real_frame_read(bytes, len, frame);

	count_frame(used, frame);
	return used;
}

static uint8_t byte(void)
{
	if (!left)
		return 0;
	left--;
	return *input++;
}

/* A number of any size up to 255 << (@most - 1), in an order that all compilers take bytes in */
static int64_t shifted(unsigned int most)
{
	int64_t number = byte();

	return number << byte() % most;
}

static int end(void)
{
	unsigned int n = n_ends < ENDS ? n_ends : ENDS;

	return n ? ends[byte() % n] : -1;
}

/* A frame of which only some places are the input's, so that most are understood */
static void send_frame(int fd)
{
	unsigned char out[FRAME_HEAD + 1024] = { 0 };
	struct frame frame = { .type = 1 + byte() % FRAME_TYPES, .flags = byte() & 1,
			       .flow = byte() % 8 };
	struct opening opening = { .size = byte(), .reply = byte() };
	struct hello hello = { { byte() % 4 } };

	frame.offset = shifted(24);
	switch (frame.type) {
	case FRAME_HELLO:
	case FRAME_WELCOME:
		frame.len = hello_write(out + FRAME_HEAD, &hello);
		break;
	case FRAME_OPEN:
		opening.target.address.in.sin_family = AF_INET;
		address_set_port(&opening.target.address, 1 + byte() % 4);
		frame.len = opening_write(out + FRAME_HEAD, &opening);
		break;
	case FRAME_DATA:
		frame.len = byte() * 4;
		break;
	case FRAME_CREDIT:
		frame.len = 4;
		frame_put_received(out + FRAME_HEAD, byte() * 4);
		break;
	}
	frame_head(out, &frame);
	if (send(fd, out, FRAME_HEAD + frame.len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
}

static void opened(void *arg, int fd, enum outcome outcome)
{
	(void)arg;
	if (outcome != OPENED)
		close(fd);
}

static void application(void)
{
	struct request request = { .fd = pair(), .peer = core.config->peers, .early = "early" };
	uint8_t how = byte();

	request.target.address.in.sin_family = AF_INET;
	address_set_port(&request.target.address, 2);
	request.early_len = how & 4 ? 5 : 0;
	request.told.size = how & 8 ? byte() * 64 : 0;
	request.type = how & 1;
	request.opened = how & 2 ? opened : NULL;
	flow_open(&request);
}

static void check(void)
{
	size_t queued = 0, granted = 0, flows = 0, all_dead = 0;
	struct session *session;
	struct carrier *carrier;
	struct flow *flow, *next;

	TAILQ_FOREACH(session, &core.sessions, link) {
		uint64_t waits = 0, own = 0, held = 0;
		size_t can = 0, come = 0, there = 0, up = 0, dead = 0;

		TAILQ_FOREACH(carrier, &session->carriers, link) {
			waits += carrier->virtual_queue;
			come += carrier->state != CARRIER_EXPECTED;
			there += carrier->state != CARRIER_EXPECTED && !carrier->bye_received;
			up += carrier->state == CARRIER_UP && !carrier->bye_sent;
			if (carrier->flow && carrier->flow->carrier != carrier)
				abort();
			/* What is waited for without a flow is to tell of one */
			HASH_FIND(hh, session->flows, &carrier->number, sizeof(carrier->number),
				  flow);
			if (carrier->state == CARRIER_EXPECTED && !carrier->flow && !flow)
				abort();
		}
		TAILQ_FOREACH(carrier, &session->up, up_link)
			up--;
		HASH_ITER(hh, session->flows, flow, next) {
			own += flow_queued(flow);
			held += evbuffer_get_length(flow->held) + flow->pieces_room;
			can += !flow->dead && flow_queued(flow) && flow->limit > flow->sent;
			dead += flow->stays;
			if (flow->dead)
				continue;
			flows++;
			HASH_FIND(hh, session->numbers, &flow->carrier->number,
				  sizeof(flow->carrier->number), carrier);
			if (carrier != flow->carrier)
				abort();
			granted += flow->granted - flow->delivered;
			if (flow->delivered > flow->next || flow->next > flow->granted ||
			    flow->sent > flow->limit || flow->confirmed > flow->sent)
				abort();
		}
		if (waits != own || session->debt || own != session->queued ||
		    held != session->held || can != session->n_heap || come != session->come ||
		    there != session->there || up || dead != session->dead)
			abort();
		queued += own;
		all_dead += dead;
	}
	if (queued != core.queued || granted != core.granted || flows != core.flows ||
	    all_dead != core.config->peers->dead)
		abort();
}

static void step(void)
{
	char buffer[4096] = { 0 };
	union address from = { .in.sin_family = AF_INET };
	struct session *session;
	uint8_t what = byte();
	int fd, n;

	switch (what % 12) {
	case 0:
		carrier_accept(pair(), &from);
		break;
	case 1:
		application();
		break;
	case 2:
	case 3:
		fd = end();
		send_frame(fd);
		break;
	case 4:
		fd = end();
		for (n = 1 + byte() % 64; n && left; n--)
			send_frame(fd);
		break;
	case 5:		/* bytes as they come */
		fd = end();
		if (send(fd, buffer, byte() * 16, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		break;
	case 6:
		fd = end();
		while (recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT) > 0)
			;
		break;
	case 7:
		fd = end();
		shutdown(fd, byte() & 1 ? SHUT_WR : SHUT_RDWR);
		break;
	case 8:
		now += shifted(32);
		break;
	case 9:
		core.config->peers->policy = byte() % POLICIES;
		TAILQ_FOREACH(session, &core.sessions, link)
			session_policy(session);
		break;
	case 10:
		core.config->memory = (1 + byte()) << 12;
		break;
	case 11:
		fd = end();
		if (send(fd, input, left < 64 ? left : 64, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		break;
	}
	if (what >= AT_ONCE)
		return;
	event_base_loop(core.base, EVLOOP_NONBLOCK);
	check();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct peer_config peer = { .name = "p", .reached = true, .trust = TRUST_TUNNEL };
	struct config config = { .peers = &peer, .n_peers = 1, .n_types = 2, .memory = 1 << 20,
				 .flows = 6, .handshakes = 4, .window = 1 << 18, .queue = 1 << 16,
				 .timeout = 10 };
	unsigned int i;

	input = data;
	left = size;
	peer.address.in.sin_family = AF_INET;
	memset(&core, 0, sizeof(core));
	core.config = &config;
	if (!core_start())
		abort();
	peer.single = byte() == 1;
	while (left)
		step();
	core_stop();
	for (i = 0; i < ENDS && i < n_ends; i++)
		close(ends[i]);
	n_ends = 0;
	if (core.flows || core.queued || core.granted || core.handshakes || peer.dead)
		abort();
	return 0;
}
