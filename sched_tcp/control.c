// SPDX-License-Identifier: GPL-2.0
/*
 * The control socket, both ends of it. Who may open it is up to the modes of its file and folder.
 *
 * The daemon waits for nobody: an answer is made at once and handed to libevent; a client that does
 * not read for PATIENCE is closed. At most CLIENTS_MAX are there at a time, and so as many answers
 * in memory; one more takes the place of the oldest, so that none that hangs locks others out.
 */
#include "control.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "log.h"

#define CLIENTS_MAX	8
#define LINE_MAX_BYTES	256	/* a command with its newline */
#define PATIENCE	10	/* s */
#define BACKLOG		16
#define ANSWER_MAX	0x40000000	/* bytes that a client of ours reads */

/*
 * The daemon
 */

struct client {
	struct bufferevent *stream;	/* NULL: the place is free */
	unsigned long number;		/* in the order in which they came */
};

static struct {
	struct evconnlistener *listener;
	struct event *again;		/* accept, when there were no descriptors */
	struct client clients[CLIENTS_MAX];
	unsigned long number;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];	/* "": not ours to remove */
} control;

static void forget(struct client *client)
{
	if (client->stream)
		bufferevent_free(client->stream);
	client->stream = NULL;
}

static void free_text(const void *data, size_t len, void *text)
{
	(void)data;
	(void)len;
	free(text);
}

/* The answer is all that follows, so nothing more is read. @answer is let go. */
static void answer(struct client *client, json_t *answer)
{
	struct evbuffer *output = bufferevent_get_output(client->stream);
	char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;

	json_decref(answer);
	bufferevent_disable(client->stream, EV_READ);
	if (text && !evbuffer_add_reference(output, text, strlen(text), free_text, text)) {
		if (!evbuffer_add(output, "\n", 1))
			return;
	} else {
		free(text);
	}
	log_line(LOG_ERR, "control-failed", "why=%s", "no memory is left for an answer");
	forget(client);
}

static void refuse(struct client *client, const char *why)
{
	answer(client, json_pack("{s:s}", "error", why));
}

static int find_policy(const char *name)
{
	for (int i = 0; i < POLICIES; i++) {
		if (!strcmp(name, policy_names[i]))
			return i;
	}
	return -1;
}

static void set_policy(struct client *client, const char *peer, const char *name)
{
	int policy = find_policy(name);

	if (policy < 0)
		refuse(client, "there is no such policy");
	else if (status_policy(peer, (enum policy)policy) < 0)
		refuse(client, "there is no such peer");
	else
		answer(client, json_pack("{s:s, s:s}", "peer", peer, "policy", name));
}

/* Words with a blank between them */
static void obey(struct client *client, char *line)
{
	char *words[4] = { NULL };
	char *rest = NULL;
	int n = 0;

	for (char *word = strtok_r(line, " ", &rest); word && n < 4;
	     word = strtok_r(NULL, " ", &rest))
		words[n++] = word;
	if (n == 1 && !strcmp(words[0], "status"))
		answer(client, status_json(false));
	else if (n == 1 && !strcmp(words[0], "flows"))
		answer(client, status_json(true));
	else if (n == 3 && !strcmp(words[0], "policy"))
		set_policy(client, words[1], words[2]);
	else
		refuse(client, "the commands are status, flows and policy PEER POLICY");
}

static void can_read(struct bufferevent *stream, void *arg)
{
	struct evbuffer *input = bufferevent_get_input(stream);
	char *line = evbuffer_readln(input, NULL, EVBUFFER_EOL_LF);
	struct client *client = arg;

	if (line) {
		obey(client, line);
		free(line);
	} else if (evbuffer_get_length(input) >= LINE_MAX_BYTES) {
		refuse(client, "the command is too long");
	}
}

/* All is written: with nothing to be read any more, this is the answer. */
static void has_written(struct bufferevent *stream, void *arg)
{
	if (!(bufferevent_get_enabled(stream) & EV_READ))
		forget(arg);
}

static void has_ended(struct bufferevent *stream, short what, void *arg)
{
	(void)stream;
	(void)what;
	forget(arg);
}

static struct client *make_place(void)
{
	struct client *oldest = control.clients;

	for (struct client *each = control.clients; each < control.clients + CLIENTS_MAX; each++) {
		if (!each->stream)
			return each;
		if (each->number < oldest->number)
			oldest = each;
	}
	forget(oldest);
	return oldest;
}

static void has_come(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *from,
		     int len, void *arg)
{
	static const struct timeval patience = { .tv_sec = PATIENCE };
	struct client *client = make_place();

	(void)from;
	(void)len;
	(void)arg;
	client->stream = bufferevent_socket_new(evconnlistener_get_base(listener), fd,
						BEV_OPT_CLOSE_ON_FREE);
	if (!client->stream) {
		close(fd);
		return;
	}
	client->number = ++control.number;
	bufferevent_setcb(client->stream, can_read, has_written, has_ended, client);
	bufferevent_setwatermark(client->stream, EV_READ, 0, LINE_MAX_BYTES);
	bufferevent_set_timeouts(client->stream, &patience, &patience);
	if (bufferevent_enable(client->stream, EV_READ | EV_WRITE))
		forget(client);
}

/* Without descriptors accepting would fail over and over. */
static void cannot_accept(struct evconnlistener *listener, void *arg)
{
	static const struct timeval while_ = { .tv_sec = 1 };

	(void)arg;
	log_line(LOG_WARNING, "control-failed", "why=%m");
	if (!evtimer_add(control.again, &while_))
		evconnlistener_disable(listener);
}

static void accept_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	evconnlistener_enable(control.listener);
}

static int open_socket(const char *path, struct sockaddr_un *address, int flags)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(address->sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address->sun_path, path);
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
}

/* What an earlier daemon has left is removed: a socket at which nobody listens. If somebody does,
 * it is left to them, as is what is no socket.
 */
static bool remove_stale(const char *path)
{
	struct sockaddr_un address;
	struct stat stat;
	int fd, result;

	if (lstat(path, &stat))
		return errno == ENOENT;
	if (!S_ISSOCK(stat.st_mode)) {
		errno = EEXIST;
		return false;
	}
	fd = open_socket(path, &address, SOCK_NONBLOCK);
	if (fd < 0)
		return false;
	result = connect(fd, &address, sizeof(address)) ? errno : EADDRINUSE;
	close(fd);
	if (result == ECONNREFUSED)
		return !unlink(path) || errno == ENOENT;
	errno = result == EAGAIN ? EADDRINUSE : result;
	return false;
}

/* With its mode from the first moment on */
static int bind_socket(const char *path)
{
	struct sockaddr_un address;
	mode_t mask;
	int fd, failed;

	if (!remove_stale(path))
		return -1;
	fd = open_socket(path, &address, SOCK_NONBLOCK);
	if (fd < 0)
		return -1;
	mask = umask(0117);
	failed = bind(fd, &address, sizeof(address));
	umask(mask);
	if (!failed)
		return fd;
	close(fd);
	return -1;
}

bool control_open(struct event_base *base, const char *path)
{
	int fd = bind_socket(path);

	if (fd >= 0) {
		strcpy(control.path, path);
		control.again = evtimer_new(base, accept_again, NULL);
		control.listener = evconnlistener_new(base, has_come, NULL,
						      LEV_OPT_CLOSE_ON_FREE |
						      LEV_OPT_CLOSE_ON_EXEC, BACKLOG, fd);
	}
	if (control.again && control.listener) {
		evconnlistener_set_error_cb(control.listener, cannot_accept);
		return true;
	}
	log_line(LOG_ERR, "control-failed", "path=%s why=%m", path);
	if (fd >= 0 && !control.listener)
		close(fd);
	control_close();
	return false;
}

void control_close(void)
{
	for (int i = 0; i < CLIENTS_MAX; i++)
		forget(control.clients + i);
	if (control.listener)
		evconnlistener_free(control.listener);
	if (control.again)
		event_free(control.again);
	if (*control.path)
		unlink(control.path);
	memset(&control, 0, sizeof(control));
}

/*
 * The client
 */

#define CELL	64
#define COLUMNS	12

/* A table of text: its cells, row by row */
struct table {
	const char * const *heads;
	unsigned int columns, left;	/* as many of the first are words, the others numbers */
	char (*cells)[CELL];
	size_t n, room;
};

/* Names of hosts are chosen by strangers: nothing that a terminal obeys is printed. */
static void cell(struct table *table, const char *text)
{
	char *to;

	if (table->n == table->room) {
		size_t room = table->room ? 2 * table->room : 16 * COLUMNS;
		void *more = reallocarray(table->cells, room, sizeof(*table->cells));

		if (!more) {
			fputs("sched-tcp: no memory is left\n", stderr);
			exit(1);
		}
		table->cells = more;
		table->room = room;
	}
	to = table->cells[table->n++];
	snprintf(to, CELL, "%s", *text ? text : "-");
	for (; *to; to++) {
		if (*to < ' ' || *to > '~')
			*to = '?';
	}
}

/* Bytes in a few characters: 117, 1.3K, 24M */
static const char *size_text(json_int_t number, char *text)
{
	static const char units[] = " KMGTPE";
	double size = (double)number;
	int unit = 0;

	for (; size >= 1000 && units[unit + 1]; unit++)
		size /= 1024;
	if (unit)
		snprintf(text, CELL, "%.*f%c", size < 10, size, units[unit]);
	else
		snprintf(text, CELL, "%" JSON_INTEGER_FORMAT, number);
	return text;
}

static void size_cell(struct table *table, json_int_t number)
{
	char text[CELL];

	cell(table, size_text(number, text));
}

static void number_cell(struct table *table, json_t *number)
{
	char text[CELL] = "";

	if (json_is_integer(number))
		snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(number));
	else if (json_is_real(number))
		snprintf(text, sizeof(text), "%.6g", json_real_value(number));
	cell(table, text);
}

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static json_int_t number_of(json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static const char *cell_text(const struct table *table, size_t row, unsigned int column)
{
	return row ? table->cells[(row - 1) * table->columns + column] : table->heads[column];
}

static void print_table(struct table *table)
{
	size_t rows = table->n / table->columns + 1;
	int width[COLUMNS] = { 0 };

	for (size_t row = 0; row < rows; row++) {
		for (unsigned int i = 0; i < table->columns; i++) {
			int len = (int)strlen(cell_text(table, row, i));

			if (len > width[i])
				width[i] = len;
		}
	}
	for (size_t row = 0; row < rows; row++) {
		for (unsigned int i = 0; i < table->columns; i++)
			printf("%s%*s", i ? "  " : "", i < table->left ? -width[i] : width[i],
			       cell_text(table, row, i));
		putchar('\n');
	}
	free(table->cells);
}

/* Sums of a peer's sessions */
struct sums {
	json_int_t carriers, flows, sent, received, queued, held;
	size_t in_kernel;
};

static struct sums sum_up(json_t *sessions)
{
	struct sums sums = { 0 };
	json_t *session;
	size_t i;

	json_array_foreach(sessions, i, session) {
		sums.carriers += number_of(session, "carriers");
		sums.flows += number_of(session, "flows");
		sums.sent += number_of(session, "sent");
		sums.received += number_of(session, "received");
		sums.queued += number_of(session, "queued");
		sums.held += number_of(session, "held");
		sums.in_kernel += json_is_true(json_object_get(session, "ktls"));
	}
	return sums;
}

static const char *in_kernel(size_t some, size_t all)
{
	if (!all)
		return "-";
	if (some && some < all)
		return "some";
	return some ? "yes" : "no";
}

static void print_peers(json_t *peers)
{
	static const char * const heads[] = {
		"PEER", "POLICY", "TRUST", "KTLS", "SESSIONS", "CARRIERS", "FLOWS", "SENT",
		"RECEIVED", "QUEUED", "HELD"
	};
	struct table table = { .heads = heads, .columns = 11, .left = 4 };
	json_t *peer;
	size_t i;

	json_array_foreach(peers, i, peer) {
		json_t *sessions = json_object_get(peer, "sessions");
		size_t n = json_array_size(sessions);
		struct sums sums = sum_up(sessions);

		cell(&table, text_of(peer, "name"));
		cell(&table, text_of(peer, "policy"));
		cell(&table, text_of(peer, "trust"));
		cell(&table, in_kernel(sums.in_kernel, n));
		size_cell(&table, (json_int_t)n);
		size_cell(&table, sums.carriers);
		size_cell(&table, sums.flows);
		size_cell(&table, sums.sent);
		size_cell(&table, sums.received);
		size_cell(&table, sums.queued);
		size_cell(&table, sums.held);
	}
	print_table(&table);
}

/* Is there a flow that has it? */
static bool any_has(json_t *flows, const char *key)
{
	json_t *flow;
	size_t i;

	json_array_foreach(flows, i, flow) {
		if (json_object_get(flow, key))
			return true;
	}
	return false;
}

static void print_left(struct table *table, json_t *flow)
{
	json_int_t left = number_of(flow, "size") - number_of(flow, "sent");

	if (json_is_integer(json_object_get(flow, "size")))
		size_cell(table, left > 0 ? left : 0);
	else
		cell(table, "-");
}

/* The daemon tells ranks if its policy has some. */
static void print_flows(json_t *flows)
{
	static const char * const heads[] = {
		"FROM", "TO", "TYPE", "FLOW", "SENT", "RECEIVED", "QUEUED", "VIRTUAL", "LEFT",
		"CARRIES", "CREDIT", "RANK"
	};
	bool ranks = any_has(flows, "rank");
	struct table table = { .heads = heads, .columns = ranks ? 12 : 11, .left = 3 };
	json_t *flow;
	size_t i;

	json_array_foreach(flows, i, flow) {
		cell(&table, text_of(flow, "from"));
		cell(&table, text_of(flow, "to"));
		cell(&table, text_of(flow, "type"));
		number_cell(&table, json_object_get(flow, "id"));
		size_cell(&table, number_of(flow, "sent"));
		size_cell(&table, number_of(flow, "received"));
		size_cell(&table, number_of(flow, "queued"));
		size_cell(&table, number_of(flow, "virtual"));
		print_left(&table, flow);
		number_cell(&table, json_object_get(flow, "carrying"));
		size_cell(&table, number_of(flow, "credit"));
		if (ranks)
			number_cell(&table, json_object_get(flow, "rank"));
	}
	print_table(&table);
}

static void print_answer(json_t *answer)
{
	json_t *memory = json_object_get(answer, "memory");
	json_t *flows = json_object_get(answer, "flows");
	long uptime = (long)json_number_value(json_object_get(answer, "uptime"));
	char used[CELL], limit[CELL];

	if (!json_object_get(answer, "peers")) {
		printf("%s: %s from now on\n", text_of(answer, "peer"), text_of(answer, "policy"));
		return;
	}
	printf("sched-tcp %s, up %ld:%02ld:%02ld, memory %s of %s\n\n", text_of(answer, "version"),
	       uptime / 3600, uptime / 60 % 60, uptime % 60,
	       size_text(number_of(memory, "used"), used),
	       size_text(number_of(memory, "limit"), limit));
	print_peers(json_object_get(answer, "peers"));
	if (flows) {
		putchar('\n');
		print_flows(flows);
	}
}

static bool write_command(int fd, const char *line)
{
	char command[LINE_MAX_BYTES];
	int len = snprintf(command, sizeof(command), "%s\n", line);

	if (len >= (int)sizeof(command)) {
		errno = EMSGSIZE;
		return false;
	}
	return send(fd, command, (size_t)len, MSG_NOSIGNAL) == len;
}

/* All that comes, with a 0 after it; NULL with errno */
static char *read_answer(int fd, size_t *len)
{
	size_t room = 4096;
	char *text = malloc(room);

	*len = 0;
	while (text && *len < ANSWER_MAX) {
		ssize_t n = read(fd, text + *len, room - 1 - *len);
		char *more = text;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		*len += (size_t)n;
		text[*len] = 0;
		if (!n)
			return text;
		if (*len == room - 1) {
			room *= 2;
			more = realloc(text, room);
			if (!more)
				break;
		}
		text = more;
	}
	free(text);
	return NULL;
}

static char *ask(const char *path, const char *line, size_t *len)
{
	static const struct timeval patience = { .tv_sec = PATIENCE };
	struct sockaddr_un address;
	int fd = open_socket(path, &address, 0);
	char *text = NULL;

	if (fd < 0)
		return NULL;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (!connect(fd, &address, sizeof(address)) && write_command(fd, line))
		text = read_answer(fd, len);
	close(fd);
	return text;
}

int control_client(const char *path, const char *line, bool json)
{
	size_t len = 0;
	char *text = ask(path, line, &len);
	json_t *answer, *error;
	int status = 0;

	if (!text) {
		fprintf(stderr, "sched-tcp: %s: %s: does the daemon run, and may you ask it?\n",
			path, strerror(errno));
		return 1;
	}
	answer = json_loadb(text, len, 0, NULL);
	error = json_object_get(answer, "error");
	if (!json_is_object(answer))
		error = json_string("the daemon has not answered to the end");
	else
		json_incref(error);
	if (error) {
		fprintf(stderr, "sched-tcp: %s\n", json_string_value(error));
		status = 1;
	} else if (json) {
		fwrite(text, 1, len, stdout);
	} else {
		print_answer(answer);
	}
	if (fflush(stdout) || ferror(stdout))
		status = 1;
	json_decref(error);
	json_decref(answer);
	free(text);
	return status;
}
