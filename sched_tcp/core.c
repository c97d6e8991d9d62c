// SPDX-License-Identifier: GPL-2.0
/* What there is one of, and what is done after each round of events. */
#include <errno.h>
#include <event2/dns.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#include "core.h"

#define LOOKUPS	"16384"	/* of names, at a time */

struct core core;

int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC + now.tv_nsec;
}

int socket_error(int fd)
{
	socklen_t len = sizeof(int);
	int error = 0;

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) ? errno : error;
}

void core_work(void)
{
	event_active(core.work, EV_TIMEOUT, 0);
}

static void reap(void)
{
	struct carrier *carrier;
	struct flow *flow;

	while ((flow = TAILQ_FIRST(&core.dead_flows))) {
		TAILQ_REMOVE(&core.dead_flows, flow, telling_link);
		flow_free(flow);
	}
	while ((carrier = TAILQ_FIRST(&core.dead_carriers))) {
		TAILQ_REMOVE(&core.dead_carriers, carrier, link);
		carrier_free(carrier);
	}
}

static void on_work(evutil_socket_t fd, short what, void *arg)
{
	struct session *session, *next_session;
	struct flow *flow, *next;

	(void)fd;
	(void)what;
	(void)arg;
	for (session = TAILQ_FIRST(&core.sessions); session; session = next_session) {
		next_session = TAILQ_NEXT(session, link);
		session_work(session);
	}
	for (flow = TAILQ_FIRST(&core.stalled); flow && !queues_full(); flow = next) {
		next = TAILQ_NEXT(flow, stalled_link);
		flow_resume(flow);
	}
	reap();
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	flows_look();
}

/* Without its file there is still the one that is on this host, by convention */
static bool find_resolver(void)
{
	core.dns = evdns_base_new(core.base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
	if (!core.dns)
		return false;
	evdns_base_resolv_conf_parse(core.dns, DNS_OPTIONS_ALL, "/etc/resolv.conf");
	/* Else a few that nobody answers for hold up all others */
	return !evdns_base_set_option(core.dns, "max-inflight:", LOOKUPS);
}

bool core_start(void)
{
	struct timeval often = { .tv_sec = 1 };

	TAILQ_INIT(&core.sessions);
	TAILQ_INIT(&core.stalled);
	TAILQ_INIT(&core.greeting);
	TAILQ_INIT(&core.dead_flows);
	TAILQ_INIT(&core.dead_carriers);
	core.started = now_ns();
	/* Without libevent's list of changes for epoll: a descriptor that is closed and is another
	 * socket's in the same round would have no change in it, and no events.
	 */
	core.base = event_base_new();
	if (!core.base)
		return false;
	core.work = event_new(core.base, -1, 0, on_work, NULL);
	core.look = event_new(core.base, -1, EV_PERSIST, on_look, NULL);
	if (!core.look || event_add(core.look, &often) || !find_resolver())
		return false;
	return core.work && getrandom(core.process, ID_LEN, 0) == ID_LEN;
}

void core_stop(void)
{
	struct session *session, *next;

	for (session = TAILQ_FIRST(&core.sessions); session; session = next) {
		next = TAILQ_NEXT(session, link);
		session_fail(session, "the daemon ends");
		session_free(session);
	}
	while (!TAILQ_EMPTY(&core.greeting))
		carrier_die(TAILQ_FIRST(&core.greeting));
	reap();
	evdns_base_free(core.dns, 0);
	event_free(core.work);
	event_free(core.look);
	event_base_free(core.base);
}
