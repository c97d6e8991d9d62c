// SPDX-License-Identifier: GPL-2.0
/* control_say -d PATH FILE	a daemon without flows: it answers with the JSON of FILE, from which
 *				it takes "flows" away for `status`; peer far is there
 * control_say PATH LINE	asks it;  control_say -j PATH LINE  asks for JSON
 *
 * Neither end has timeouts here, so a busy machine changes nothing.
 */
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "../../control.h"

const char * const policy_names[POLICIES] = { "tcp", "srpt", "las", "fair", "mu" };
static const char *file;

int __wrap_bufferevent_set_timeouts(struct bufferevent *stream, const struct timeval *reads,
				    const struct timeval *writes)
{
	(void)stream;
	(void)reads;
	(void)writes;
	return 0;
}

int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t len);

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (level == SOL_SOCKET && (name == SO_RCVTIMEO || name == SO_SNDTIMEO))
		return 0;
	return __real_setsockopt(fd, level, name, value, len);
}

json_t *status_json(bool flows)
{
	json_t *json = json_load_file(file, 0, NULL);

	if (!flows)
		json_object_del(json, "flows");
	return json;
}

int status_policy(const char *peer, enum policy policy)
{
	fprintf(stderr, "%s %s\n", peer, policy_names[policy]);
	return strcmp(peer, "far") ? -1 : 0;
}

static void stop(evutil_socket_t number, short what, void *base)
{
	(void)number;
	(void)what;
	event_base_loopbreak(base);
}

static int serve(const char *path)
{
	struct event_base *base = event_base_new();
	struct event *end = evsignal_new(base, SIGTERM, stop, base);

	signal(SIGPIPE, SIG_IGN);
	evsignal_add(end, NULL);
	if (!control_open(base, path))
		return 1;
	puts("ready");
	fflush(stdout);
	event_base_dispatch(base);
	control_close();
	event_free(end);
	event_base_free(base);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "-d")) {
		file = argv[3];
		return serve(argv[2]);
	}
	if (argc == 4 && !strcmp(argv[1], "-j"))
		return control_client(argv[2], argv[3], true);
	return argc == 3 ? control_client(argv[1], argv[2], false) : 2;
}
