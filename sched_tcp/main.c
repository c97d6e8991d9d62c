// SPDX-License-Identifier: GPL-2.0
/*
 * sched-tcp: whose data TCP carries between two sites. core.h has the principle; here are the
 * process and what it tells of itself.
 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <malloc.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "control.h"
#include "core.h"
#include "listen.h"
#include "log.h"
#include "tls.h"

#ifndef VERSION
#define VERSION		"unknown"
#endif
#define KEPT		(8 << 20)	/* bytes that are free and not given back */
#define CONFIG		"/etc/sched-tcp/sched-tcp.conf"
#define CONTROL		"/run/sched-tcp/control"

static const char *config_path = CONFIG;

/*
 * What it tells
 */

static json_t *address_json(const union address *address)
{
	char text[ADDRESS_TEXT];

	return address->any.sa_family ? json_string(address_text(address, text)) : json_null();
}

static char *session_name(const struct session *session, char *text)
{
	int i;

	for (i = 0; i < 4; i++)
		sprintf(text + 2 * i, "%02x", session->id[i]);
	return text;
}

static json_t *target_json(const struct target *target)
{
	char text[HOST_MAX + 8];

	if (!target->host[0])
		return address_json(&target->address);
	snprintf(text, sizeof(text), "%s:%u", target->host, address_port(&target->address));
	return json_string(text);
}

static json_t *session_json(const struct session *session)
{
	struct carrier *carrier;
	bool ktls = false;
	int carriers = 0;
	char name[16];

	TAILQ_FOREACH(carrier, &session->carriers, link) {
		carriers += carrier->state == CARRIER_UP;
		ktls = ktls || (carrier->ssl && tls_in_kernel(carrier->ssl));
	}
	return json_pack("{s:s, s:s, s:i, s:i, s:I, s:I, s:I, s:I, s:b}",
			 "id", session_name(session, name),
			 "role", session->origin ? "origin" : "far", "carriers", carriers,
			 "flows", (int)HASH_COUNT(session->flows),
			 "sent", (json_int_t)session->sent,
			 "received", (json_int_t)session->received,
			 "queued", (json_int_t)session->queued,
			 "held", (json_int_t)session->held, "ktls", ktls);
}

/* 0: it is not known, or there is none */
static json_t *number_json(uint64_t number)
{
	return number ? json_integer(number) : json_null();
}

static json_t *flow_json(const struct flow *flow)
{
	const struct carrier *carrier = flow->carrier;
	const char *type = core.config->types[flow->type];
	char name[16];

	return json_pack("{s:s, s:I, s:o, s:o, s:s, s:b, s:I, s:I, s:I, s:I, s:o, s:o, s:I}",
			 "session", session_name(flow->session, name), "id", (json_int_t)flow->id,
			 "from", address_json(&flow->opening.from),
			 "to", target_json(&flow->opening.target),
			 "type", flow->type < core.config->n_types ? type : "",
			 "opened", flow->open, "sent", (json_int_t)flow->sent,
			 "received", (json_int_t)flow->next,
			 "queued", (json_int_t)flow_queued(flow),
			 "virtual", (json_int_t)carrier->virtual_queue,
			 "size", number_json(flow->size),
			 "carrying", number_json(carrier->carrying),
			 "credit", (json_int_t)(flow->limit - flow->sent));
}

static json_t *peer_json(const struct peer_config *peer)
{
	static const char * const trusts[] = {
		[TRUST_PSK] = "psk", [TRUST_CERT] = "certificate", [TRUST_TUNNEL] = "tunnel",
	};
	json_t *sessions = json_array();
	struct session *session;

	TAILQ_FOREACH(session, &core.sessions, link) {
		if (session->peer == peer)
			json_array_append_new(sessions, session_json(session));
	}
	return json_pack("{s:s, s:s, s:s, s:o}", "name", peer->name,
			 "policy", policy_names[peer->policy], "trust", trusts[peer->trust],
			 "sessions", sessions);
}

json_t *status_json(bool flows)
{
	json_t *peers = json_array(), *list = json_array(), *status;
	struct session *session;
	struct flow *flow, *next;
	size_t i;

	for (i = 0; i < core.config->n_peers; i++)
		json_array_append_new(peers, peer_json(core.config->peers + i));
	TAILQ_FOREACH(session, &core.sessions, link) {
		if (!flows)
			break;
		HASH_ITER(hh, session->flows, flow, next) {
			if (!flow->dead)
				json_array_append_new(list, flow_json(flow));
		}
	}
	status = json_pack("{s:s, s:I, s:{s:I, s:I}, s:o}", "version", VERSION,
			   "uptime", (json_int_t)((now_ns() - core.started) / NSEC),
			   "memory", "used", (json_int_t)(core.queued + core.granted),
			   "limit", (json_int_t)core.config->memory, "peers", peers);
	if (flows)
		json_object_set_new(status, "flows", list);
	else
		json_decref(list);
	return status;
}

static void new_policy(struct peer_config *peer, enum policy policy)
{
	struct session *session;

	peer->policy = policy;
	TAILQ_FOREACH(session, &core.sessions, link) {
		if (session->peer == peer)
			session_policy(session);
	}
}

int status_policy(const char *name, enum policy policy)
{
	size_t i;

	for (i = 0; i < core.config->n_peers; i++) {
		if (!strcmp(core.config->peers[i].name, name)) {
			log_line(LOG_NOTICE, "policy", "peer=%s policy=%s", name,
				 policy_names[policy]);
			new_policy(core.config->peers + i, policy);
			return 0;
		}
	}
	return -1;
}

/*
 * The process
 */

static void on_end(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	(void)arg;
	log_line(LOG_NOTICE, "end", "signal=%d flows=%u", (int)fd, core.flows);
	event_base_loopexit(core.base, NULL);
}

static void swap(char **a, char **b)
{
	char *other = *a;

	*a = *b;
	*b = other;
}

/* What may be changed is: keys and certificates, policies, where flows may go, limits */
static void take(struct peer_config *peer, struct peer_config *from)
{
	struct allowed *allow = peer->allow;
	size_t n_allow = peer->n_allow;

	if (peer->trust == from->trust) {
		memcpy(peer->psk, from->psk, sizeof(peer->psk));
		peer->psk_len = from->psk_len;
		swap(&peer->cert, &from->cert);
		swap(&peer->key, &from->key);
		swap(&peer->ca, &from->ca);
		swap(&peer->subject, &from->subject);
	} else {
		log_line(LOG_WARNING, "not-reloaded", "peer=%s why=%s", peer->name,
			 "in which way it is known is from the start, and so is its key");
	}
	peer->allow = from->allow;
	peer->n_allow = from->n_allow;
	from->allow = allow;
	from->n_allow = n_allow;
	peer->keep_source = from->keep_source;
	if (peer->policy != from->policy)
		new_policy(peer, from->policy);
}

static void on_reload(evutil_socket_t fd, short what, void *arg)
{
	struct config *config = config_read(config_path), *old = core.config;
	size_t i, j;

	(void)fd;
	(void)what;
	(void)arg;
	if (!config)
		return;
	if (!tls_init(config)) {
		config_free(config);
		return;
	}
	for (i = 0; i < old->n_peers; i++) {
		for (j = 0; j < config->n_peers; j++) {
			if (!strcmp(old->peers[i].name, config->peers[j].name))
				take(old->peers + i, config->peers + j);
		}
	}
	old->memory = config->memory;
	old->flows = config->flows;
	old->handshakes = config->handshakes;
	old->window = config->window;
	old->queue = config->queue;
	old->timeout = config->timeout;
	old->unsent = config->unsent;
	/* It holds what it was made with, which is the old one again, with the new keys. If files
	 * can no more be read, nobody new is known, rather than somebody who was removed.
	 */
	if (!tls_init(old))
		tls_fini();
	config_free(config);
	log_line(LOG_NOTICE, "reloaded", "file=%s", config_path);
}

static void many_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static bool drop(const char *user)
{
	struct passwd *entry;
	size_t i;

	if (!user || geteuid())
		return true;
	for (i = 0; i < core.config->n_peers; i++) {
		if (!core.config->peers[i].keep_source)
			continue;
		log_line(LOG_ERR, "no-user", "user=%s peer=%s why=%s", user,
			 core.config->peers[i].name,
			 "keep-source needs CAP_NET_ADMIN: begin as that user with it, as the unit does");
		return false;
	}
	entry = getpwnam(user);
	/* Who is of its group may ask it */
	if (entry && !lchown(core.config->control, -1, entry->pw_gid) &&
	    !initgroups(user, entry->pw_gid) && !setgid(entry->pw_gid) && !setuid(entry->pw_uid))
		return true;
	log_line(LOG_ERR, "no-user", "user=%s why=%s", user,
		 entry ? strerror(errno) : "there is none of that name");
	return false;
}

static struct event *signals[3];

static bool on_signal(struct event **event, int number, event_callback_fn handler)
{
	*event = evsignal_new(core.base, number, handler, NULL);
	return *event && !event_add(*event, NULL);
}

/* What is freed is soon used again: given back, it would be paged in anew each time */
static void keep_memory(void)
{
#ifdef __GLIBC__
	mallopt(M_TRIM_THRESHOLD, KEPT);
	mallopt(M_TOP_PAD, KEPT / 4);
	mallopt(M_MMAP_THRESHOLD, KEPT);
#endif
}

static int serve(void)
{
	int i;

	keep_memory();
	signal(SIGPIPE, SIG_IGN);
	many_files();
	core.config = config_read(config_path);
	if (!core.config)
		return 1;
	if (!core_start() || !on_signal(&signals[0], SIGTERM, on_end) ||
	    !on_signal(&signals[1], SIGINT, on_end) || !on_signal(&signals[2], SIGHUP, on_reload)) {
		log_line(LOG_ERR, "no-start", "why=%s", strerror(errno));
		return 1;
	}
	if (!tls_init(core.config) ||
	    !listen_open(core.base, core.config, carrier_accept, carrier_room) ||
	    !control_open(core.base, core.config->control) || !drop(core.config->user))
		return 1;
	log_line(LOG_NOTICE, "ready", "file=%s peers=%zu", config_path, core.config->n_peers);
	event_base_dispatch(core.base);
	listen_close();
	control_close();
	for (i = 0; i < 3; i++)
		event_free(signals[i]);
	core_stop();
	tls_fini();
	config_free(core.config);
	return 0;
}

/* Whether it could be served */
static int look(void)
{
	core.config = config_read(config_path);
	return !core.config || !tls_init(core.config);
}

static void usage(FILE *to)
{
	fputs("usage: sched-tcp [-c FILE] [-v]\n"
	      "       sched-tcp -t [-c FILE]\n"
	      "       sched-tcp status [--flows] [--json] [-s SOCKET]\n"
	      "       sched-tcp policy PEER tcp|srpt|las|fair|mu [-s SOCKET]\n", to);
}

static int ask(const char *control, int argc, char **argv, bool flows, bool json)
{
	char line[256];

	if (!strcmp(argv[0], "status") && argc == 1)
		return control_client(control, flows ? "flows" : "status", json);
	if (strcmp(argv[0], "policy") || argc != 3) {
		usage(stderr);
		return 2;
	}
	snprintf(line, sizeof(line), "policy %s %s", argv[1], argv[2]);
	return control_client(control, line, json);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "socket", required_argument, NULL, 's' },
		{ "test", no_argument, NULL, 't' },
		{ "flows", no_argument, NULL, 'f' },
		{ "json", no_argument, NULL, 'j' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	const char *control = CONTROL;
	bool flows = false, json = false, test = false;
	int option;

	while ((option = getopt_long(argc, argv, "c:s:tvhV", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			config_path = optarg;
			break;
		case 's':
			control = optarg;
			break;
		case 't':
			test = true;
			break;
		case 'f':
			flows = true;
			break;
		case 'j':
			json = true;
			break;
		case 'v':
			log_level = LOG_DEBUG;
			break;
		case 'V':
			puts("sched-tcp " VERSION);
			return 0;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind < argc)
		return ask(control, argc - optind, argv + optind, flows, json);
	return test ? look() : serve();
}
