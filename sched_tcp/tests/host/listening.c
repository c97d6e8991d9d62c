// SPDX-License-Identifier: GPL-2.0
/*
 * Listeners for test_listen.py, with flows that only tell what they are:
 *
 *	listening HANDSHAKES TIMEOUT OUTCOME LISTENER...
 *
 * A LISTENER is HOW=ADDRESS=PORT, HOW of peers, forward, proxied, socks and tproxy; the first has
 * type 0, and so on. The flow's line comes when its client has ended; if it opens, "hello" is
 * sent. SIGUSR1 takes all descriptors away that are not used, SIGUSR2 gives them back, and at the
 * end of stdin all is closed, else the status is not 0.
 *
 * The clock of listen.c stands still. Each byte on stdin moves it on by one second.
 */
#include <arpa/inet.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../../flow.h"
#include "../../listen.h"

static struct event_base *base;
static enum outcome outcome;
static time_t now = 1000;	/* s */

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	(void)clock;
	*time = (struct timespec){ .tv_sec = now };
	return 0;
}

static void hex(const char *key, const unsigned char *data, size_t len)
{
	printf(" %s=", key);
	while (len--)
		printf("%02x", *data++);
}

static int option(int fd, int level, int name)
{
	int value = 0;
	socklen_t len = sizeof(value);

	getsockopt(fd, level, name, &value, &len);
	return !!value;
}

/* What is read until the end, with time for the test to be killed */
static void print_rest(int fd)
{
	unsigned char data[100000];
	size_t len = 0;
	ssize_t n;

	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	while ((n = recv(fd, data + len, sizeof(data) - len, 0)) > 0)
		len += n;
	hex("rest", data, len);
}

void flow_open(const struct request *request)
{
	const struct told *told = &request->told;
	char to[ADDRESS_TEXT], from[ADDRESS_TEXT];
	int fd = request->fd, copy = dup(fd), unread;

	printf("flow peer=%s host=%s to=%s from=%s size=%" PRIu64 " reply=%" PRIu64 " type=%u",
	       request->peer->name, request->target.host,
	       address_text(&request->target.address, to), address_text(&told->from, from),
	       told->size, told->reply, request->type);
	printf(" modes=%d%d%d", !!(fcntl(fd, F_GETFL) & O_NONBLOCK),
	       !!(fcntl(fd, F_GETFD) & FD_CLOEXEC), option(fd, SOL_TCP, TCP_NODELAY));
	hex("early", request->early, request->early_len);
	if (request->opened)
		request->opened(request->arg, fd, outcome);
	if (!request->opened || outcome == OPENED) {
		send(fd, "hello", 5, MSG_NOSIGNAL);
		shutdown(fd, SHUT_WR);
		print_rest(fd);
		close(fd);
	} else if (!ioctl(copy, FIONREAD, &unread)) {
		printf(" unread=%d", unread);
	}
	puts("");
	close(copy);
}

static bool always(void)
{
	return true;
}

static void on_peer(int fd, const union address *from)
{
	char text[ADDRESS_TEXT];

	address_text(from, text);
	printf("peer from=%s modes=%d%d%d\n", text, !!(fcntl(fd, F_GETFL) & O_NONBLOCK),
	       !!(fcntl(fd, F_GETFD) & FD_CLOEXEC), option(fd, SOL_TCP, TCP_NODELAY));
	close(fd);
}

static int first_free(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

static int count_open(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 1000; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void on_signal(evutil_socket_t number, short what, void *arg)
{
	static struct rlimit all;
	struct rlimit none;

	(void)what;
	(void)arg;
	if (number == SIGUSR1) {
		getrlimit(RLIMIT_NOFILE, &all);
		none = all;
		none.rlim_cur = first_free();
		setrlimit(RLIMIT_NOFILE, &none);
	} else {
		setrlimit(RLIMIT_NOFILE, &all);
	}
	puts("signal");
}

static void on_stdin(evutil_socket_t fd, short what, void *arg)
{
	char c;

	(void)what;
	(void)arg;
	if (!read(fd, &c, 1)) {
		event_base_loopbreak(base);
		return;
	}
	now++;
	puts("clock");
}

static void set_address(union address *address, const char *text, uint16_t port)
{
	if (strchr(text, ':')) {
		address->in6.sin6_family = AF_INET6;
		inet_pton(AF_INET6, text, &address->in6.sin6_addr);
	} else {
		address->in.sin_family = AF_INET;
		inet_pton(AF_INET, text, &address->in.sin_addr);
	}
	address_set_port(address, port);
}

static struct peer_config the_peer = { "there" };

static void set_listener(struct listen_config *listener, char *text)
{
	char *how = strsep(&text, "="), *address = strsep(&text, "=");

	listener->peer = &the_peer;
	set_address(&listener->address, address, atoi(text));
	set_address(&listener->to, "192.0.2.80", 80);
	listener->proxied = !strcmp(how, "proxied");
	listener->how = !strcmp(how, "peers") ? LISTEN_PEERS : !strcmp(how, "socks") ? LISTEN_SOCKS
		: !strcmp(how, "tproxy") ? LISTEN_TPROXY : LISTEN_FORWARD;
}

int main(int argc, char **argv)
{
	static struct listen_config listeners[20];
	static struct config config = { .listeners = listeners, .n_types = 3,
					.types = { "urgent", "normal", "bulk" } };
	struct event *watched[3];
	int before, after;
	size_t i;

	if (argc < 4 || argc > 23)
		return 2;
	setlinebuf(stdout);
	config.handshakes = atoi(argv[1]);
	config.timeout = atoi(argv[2]);
	outcome = atoi(argv[3]);
	for (i = 4; argv[i]; i++) {
		listeners[config.n_listeners].type = config.n_listeners;
		set_listener(&listeners[config.n_listeners++], argv[i]);
	}
	base = event_base_new();
	watched[0] = evsignal_new(base, SIGUSR1, on_signal, NULL);
	watched[1] = evsignal_new(base, SIGUSR2, on_signal, NULL);
	watched[2] = event_new(base, 0, EV_READ | EV_PERSIST, on_stdin, NULL);
	for (i = 0; i < 3; i++)
		event_add(watched[i], NULL);
	before = count_open();
	if (listen_open(base, &config, on_peer, always)) {
		puts("ready");
		event_base_dispatch(base);
		listen_close();
	} else {
		puts("none");
	}
	after = count_open();
	for (i = 0; i < 3; i++)
		event_free(watched[i]);
	event_base_free(base);
	return after == before ? 0 : 3;
}
