// SPDX-License-Identifier: GPL-2.0
/*
 * The parsers for test_parsers.py. Each line of stdin is "PARSER HEX [PIECE]", and is answered by
 * one. socks is fed with pieces of that many bytes, and keeps what is not used, as listen.c does;
 * for the others PIECE bytes more come each time, from 0 on, and each answer before the last has
 * to be that more are needed, unless the first one that is another is also the last.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../http.h"
#include "../../proxy2.h"
#include "../../socks.h"

static const char types[][NAME_LEN] = { "urgent", "normal", "bulk" };

#define N_TYPES	3

/* A copy of just this size, so that a sanitizer sees what is read behind it */
static unsigned char *copy(const unsigned char *data, size_t len)
{
	unsigned char *made = malloc(len ? len : 1);

	memcpy(made, data, len);
	return made;
}

static void print_address(const char *key, const union address *address)
{
	char text[INET6_ADDRSTRLEN] = "-";

	if (address->any.sa_family == AF_INET)
		inet_ntop(AF_INET, &address->in.sin_addr, text, sizeof(text));
	else if (address->any.sa_family == AF_INET6)
		inet_ntop(AF_INET6, &address->in6.sin6_addr, text, sizeof(text));
	printf(" %s=%s port=%u", key, text, ntohs(address->in.sin_port));
}

static void print_told(const struct told *told)
{
	printf(" size=%" PRIu64 " reply=%" PRIu64 " type=%d", told->size, told->reply, told->type);
}

static void print_hex(const char *key, const unsigned char *data, size_t len)
{
	printf(" %s=", key);
	while (len--)
		printf("%02x", *data++);
}

static long answer_http(const unsigned char *data, size_t len, uint64_t *total)
{
	unsigned char *made = copy(data, len);
	int answer = http_length((const char *)made, len, total);

	free(made);
	return answer;
}

/* What it says of all is what it said when it first knew */
static void http(const unsigned char *data, size_t len, size_t piece)
{
	uint64_t total = 0, early = 0;
	long answer = answer_http(data, len, &total), before = -1;
	size_t n;

	for (n = 0; n < len && before == -1; n += piece)
		before = answer_http(data, n, &early);
	if (before != -1 && (before != answer || (answer == 1 && early != total))) {
		printf("unlike, of the first %zu\n", n - piece);
		return;
	}
	printf("%ld", answer);
	if (answer == 1)
		printf(" total=%" PRIu64, total);
	puts("");
}

static long answer_proxy2(const unsigned char *data, size_t len, struct told *told)
{
	unsigned char *made = copy(data, len);
	int answer = proxy2_read(made, len, told);

	free(made);
	return answer;
}

static void proxy2(const unsigned char *data, size_t len, size_t piece)
{
	struct told told = {}, early = {};
	long answer = answer_proxy2(data, len, &told), before = 0;
	size_t n;

	for (n = 0; n < len && !before; n += piece)
		before = answer_proxy2(data, n, &early);
	if (before && (before != answer || memcmp(&early, &told, sizeof(told)))) {
		printf("unlike, of the first %zu\n", n - piece);
		return;
	}
	printf("%ld", answer);
	if (answer > 0) {
		print_told(&told);
		print_address("from", &told.from);
	}
	puts("");
}

static void socks(const unsigned char *data, size_t len, size_t piece)
{
	static const char * const states[] = { "methods", "user", "request", "done", "broken" };
	unsigned char replies[64];
	size_t used = 0, seen = 0, n_replies = 0;
	struct socks s = {};

	do {
		size_t n, n_reply;
		unsigned char *made, *reply = malloc(32);

		seen = len - seen > piece ? seen + piece : len;
		made = copy(data + used, seen - used);
		n = socks_read(&s, made, seen - used, reply, &n_reply, types, N_TYPES);
		memcpy(replies + n_replies, reply, n_reply);
		n_replies += n_reply;
		used += n;
		free(reply);
		free(made);
	} while (seen < len && s.state != SOCKS_DONE && s.state != SOCKS_BROKEN);
	fputs(states[s.state], stdout);
	print_hex("replies", replies, n_replies);
	if (s.state == SOCKS_DONE) {
		print_hex("rest", data + used, len - used);
		print_told(&s.told);
		printf(" host=%s", s.target.host);
		print_address("address", &s.target.address);
	}
	puts("");
}

static void answer(const unsigned char *data, size_t len, size_t outcome)
{
	unsigned char reply[32];

	(void)data;
	(void)len;
	print_hex("reply", reply, socks_answer(outcome, reply));
	puts("");
}

static const struct parser {
	const char *name;
	void (*parse)(const unsigned char *data, size_t len, size_t piece);
} parsers[] = {
	{ "http", http }, { "proxy2", proxy2 }, { "socks", socks }, { "answer", answer },
};

static size_t from_hex(const char *hex, unsigned char *data)
{
	size_t n = 0;
	unsigned int byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		data[n++] = byte;
	return n;
}

int main(void)
{
	static char line[300000], hex[290000], name[16];
	static unsigned char data[145000];
	size_t i, len, piece;

	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%15s %289999s %zu", name, hex, &piece) != 3)
			return 2;
		len = strcmp(hex, "-") ? from_hex(hex, data) : 0;
		for (i = 0; i < sizeof(parsers) / sizeof(*parsers); i++) {
			if (!strcmp(name, parsers[i].name))
				parsers[i].parse(data, len, piece);
		}
	}
	return 0;
}
