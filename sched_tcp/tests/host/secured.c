// SPDX-License-Identifier: GPL-2.0
/*
 * One end of a carrier for test_tls.py, or both in one process:
 *
 *	secured client|server BYTES PEER...	the socket is stdin; as many bytes are sent
 *	secured server BYTES PEER... -- PEER...	the second list is configured when the carrier
 *						is there, before its handshake
 *	secured self BYTES PEER...		connects to itself
 *
 * A PEER is NAME=tunnel, NAME=psk=TEXT or NAME=cert=CERT=KEY=CA[=SUBJECT], and a client connects
 * to the first. It prints "init failed"; "done PEER" or "failed WHY"; then, when the other end has
 * ended too, "ended COUNT" or "broken COUNT ERRNO", COUNT being the bytes that came and were the
 * right ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../tls.h"

#define PIECE	50000	/* more than a record */

static void copy(char *to, size_t room, const char *from)
{
	if (strlen(from) >= room)
		exit(2);
	strcpy(to, from);
}

static void set_peer(struct peer_config *peer, const char *text)
{
	char *all = strdup(text), *at = all, *how;

	copy(peer->name, sizeof(peer->name), strsep(&at, "="));
	how = strsep(&at, "=");
	if (!strcmp(how, "tunnel")) {
		peer->trust = TRUST_TUNNEL;
	} else if (!strcmp(how, "psk")) {
		peer->trust = TRUST_PSK;
		peer->psk_len = strlen(at);
		memcpy(peer->psk, at, peer->psk_len);
	} else {
		peer->trust = TRUST_CERT;
		peer->cert = strdup(strsep(&at, "="));
		peer->key = strdup(strsep(&at, "="));
		peer->ca = strdup(strsep(&at, "="));
		peer->subject = at ? strdup(at) : NULL;
	}
	free(all);
}

static struct config *new_config(char **peers)
{
	struct config *config = calloc(1, sizeof(*config));

	config->peers = calloc(20, sizeof(*config->peers));
	for (; *peers && strcmp(*peers, "--"); peers++)
		set_peer(&config->peers[config->n_peers++], *peers);
	return config;
}

static void free_config(struct config *config)
{
	size_t i;

	for (i = 0; i < config->n_peers; i++) {
		free(config->peers[i].cert);
		free(config->peers[i].key);
		free(config->peers[i].ca);
		free(config->peers[i].subject);
	}
	free(config->peers);
	free(config);
}

static struct config *config;
static char **later;	/* the second list of peers, until it is configured */

static void reconfigure(void)
{
	struct config *next = new_config(later);

	later = NULL;
	if (!tls_init(next)) {
		free_config(next);
		return;
	}
	free_config(config);
	config = next;
}

static void wait_for(int fd, short events)
{
	struct pollfd p = { fd, events };

	if (poll(&p, 1, 60000) != 1)
		exit(3);
}

static bool secure(SSL *ssl, int fd)
{
	const struct peer_config *peer = NULL;
	const char *why = NULL;

	for (;;) {
		switch (tls_handshake(ssl, &peer, &why)) {
		case TLS_DONE:
			printf("done %s\n", peer->name);
			return true;
		case TLS_FAILED:
			printf("failed %s\n", why);
			/* It stays so */
			if (tls_handshake(ssl, &peer, &why) != TLS_FAILED || !*why ||
			    tls_read(ssl, &(char){ 0 }, 1) != -1 || errno != EPROTO ||
			    tls_write(ssl, "", 1) != -1 || errno != EPROTO)
				exit(4);
			return false;
		case TLS_WANT_READ:
			wait_for(fd, POLLIN);
			break;
		case TLS_WANT_WRITE:
			wait_for(fd, POLLOUT);
		}
	}
}

static unsigned char byte_at(size_t place)
{
	return place * 31 + (place >> 8) * 7;
}

/* What is sent next, at another address each time */
static ssize_t send_some(SSL *ssl, size_t sent, size_t bytes)
{
	size_t i, n = bytes - sent < PIECE ? bytes - sent : PIECE;
	unsigned char *data = malloc(n);
	ssize_t done;

	for (i = 0; i < n; i++)
		data[i] = byte_at(sent + i);
	done = tls_write(ssl, data, n);
	free(data);
	return done;
}

static void exchange(SSL *ssl, int fd, size_t bytes)
{
	static unsigned char data[PIECE];
	size_t sent = 0, right = 0;
	bool told = false, ended = false;

	while (!told || !ended) {
		ssize_t i, n = 0;

		if (sent < bytes) {
			n = send_some(ssl, sent, bytes);
			sent += n > 0 ? n : 0;
		} else if (!told) {
			told = tls_end(ssl);
			n = told ? 1 : -1;
		}
		if (ended) {
			if (n < 0)
				wait_for(fd, POLLOUT);
			continue;
		}
		n = tls_read(ssl, data, sizeof(data));
		if (n < 0 && errno != EAGAIN) {
			printf("broken %zu %s\n", right, strerrorname_np(errno));
			return;
		}
		for (i = 0; i < n && data[i] == byte_at(right); i++)
			right++;
		ended = !n;
		if (n < 0)
			wait_for(fd, POLLIN | (told ? 0 : POLLOUT));
	}
	printf("ended %zu%s\n", right, tls_in_kernel(ssl) ? " kernel" : "");
}

static void self(void)
{
	const struct peer_config *peer = NULL;
	const char *why = "-";
	enum tls_result client, server;
	int fds[2];
	SSL *ssl[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds))
		exit(2);
	ssl[0] = tls_client(config->peers, fds[0]);
	ssl[1] = tls_server(fds[1]);
	do {
		client = tls_handshake(ssl[0], &peer, &why);
		server = tls_handshake(ssl[1], &peer, &why);
	} while (client != TLS_FAILED && (server == TLS_WANT_READ || server == TLS_WANT_WRITE));
	printf("%s %s\n", server == TLS_DONE ? "done" : "failed", why);
	tls_free(ssl[0]);
	tls_free(ssl[1]);
}

int main(int argc, char **argv)
{
	SSL *ssl;

	signal(SIGPIPE, SIG_IGN);
	setlinebuf(stdout);
	if (argc < 3)
		return 2;
	for (later = argv + 3; *later && strcmp(*later, "--"); later++)
		;
	later = *later ? later + 1 : NULL;
	config = new_config(argv + 3);
	if (!tls_init(config)) {
		puts("init failed");
		free_config(config);
		return 0;
	}
	if (!strcmp(argv[1], "self")) {
		self();
	} else {
		fcntl(0, F_SETFL, O_NONBLOCK);
		ssl = *argv[1] == 'c' ? tls_client(config->peers, 0) : tls_server(0);
		if (later)
			reconfigure();
		if (!ssl)
			puts("none");
		else if (secure(ssl, 0))
			exchange(ssl, 0, strtoul(argv[2], NULL, 10));
		tls_free(ssl);
	}
	tls_fini();
	free_config(config);
	return 0;
}
