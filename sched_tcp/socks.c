// SPDX-License-Identifier: GPL-2.0
/*
 * The server's side of SOCKS5, up to the request. There are three messages of the client; each is
 * used when all of it is there, and not before, so that pieces of any length do.
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>

#include "socks.h"

enum { SOCKS_VERSION = 5, USER_VERSION = 1 };
enum { METHOD_NONE = 0, METHOD_USER = 2, NO_METHOD = 0xff };
enum { CONNECT = 1 };
enum { IPV4 = 1, NAME = 3, IPV6 = 4 };

#define LABEL_MAX	63
#define NAME_MAX_LEN	253	/* without the dot that may be at its end */

/* The replies of RFC 1928 */
enum reply_code {
	SUCCEEDED, FAILURE, NOT_BY_RULES, NETWORK_UNREACHABLE, HOST_UNREACHABLE, IS_REFUSED,
	TTL_EXPIRED, NO_SUCH_COMMAND, NO_SUCH_ADDRESS
};

static const unsigned char answers[OUTCOMES] = {
	[OPENED] = SUCCEEDED,
	[FAILED] = FAILURE,
	[NOT_ALLOWED] = NOT_BY_RULES,
	[REFUSED] = IS_REFUSED,
	[UNREACHABLE] = HOST_UNREACHABLE,
	[TIMED_OUT] = TTL_EXPIRED,
	[NO_NAME] = HOST_UNREACHABLE,
	[TOO_MANY] = FAILURE,
	[NO_PEER] = NETWORK_UNREACHABLE,
	[GONE] = FAILURE,
};

/* The address to which we are bound is not told: it is the far end's */
static size_t put_answer(enum reply_code code, unsigned char *reply)
{
	static const unsigned char none[10] = { SOCKS_VERSION, 0, 0, IPV4 };

	memcpy(reply, none, sizeof(none));
	reply[1] = code;
	return sizeof(none);
}

size_t socks_answer(enum outcome outcome, unsigned char *reply)
{
	return put_answer(outcome < OUTCOMES ? answers[outcome] : FAILURE, reply);
}

/* What the functions below have to do with */
struct step {
	struct socks *socks;
	const unsigned char *data;
	size_t len;
	unsigned char *reply;	/* where the next one goes */
	const type_name *types;
	unsigned int n_types;
};

static void say(struct step *s, unsigned char first, unsigned char second)
{
	*s->reply++ = first;
	*s->reply++ = second;
}

static size_t refuse(struct step *s, enum reply_code code)
{
	s->reply += put_answer(code, s->reply);
	s->socks->state = SOCKS_BROKEN;
	return 0;
}

/* Who offers a user name may have something to tell */
static size_t read_methods(struct step *s)
{
	const unsigned char *methods = s->data + 2;
	size_t n;

	s->socks->told.type = -1;
	if (s->data[0] != SOCKS_VERSION) {
		s->socks->state = SOCKS_BROKEN;
		return 0;
	}
	if (s->len < 2 || s->len < 2u + s->data[1])
		return 0;
	n = s->data[1];
	if (memchr(methods, METHOD_USER, n)) {
		say(s, SOCKS_VERSION, METHOD_USER);
		s->socks->state = SOCKS_USER;
	} else if (memchr(methods, METHOD_NONE, n)) {
		say(s, SOCKS_VERSION, METHOD_NONE);
		s->socks->state = SOCKS_REQUEST;
	} else {
		say(s, SOCKS_VERSION, NO_METHOD);
		s->socks->state = SOCKS_BROKEN;
	}
	return 2 + n;
}

static bool read_number(const char *at, size_t len, uint64_t *value)
{
	size_t i;

	*value = 0;
	for (i = 0; i < len; i++) {
		if (at[i] < '0' || at[i] > '9' ||
		    __builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (unsigned int)(at[i] - '0'), value))
			return false;
	}
	return len;
}

static bool read_type(struct step *s, const char *at, size_t len)
{
	unsigned int i;

	for (i = 0; i < s->n_types; i++) {
		if (len == strlen(s->types[i]) && !memcmp(at, s->types[i], len)) {
			s->socks->told.type = i;
			return true;
		}
	}
	return false;
}

/* "key=": the length of that, if it is what we have here */
static size_t key(const char *at, size_t len, const char *name)
{
	size_t n = strlen(name);

	return n <= len && !memcmp(at, name, n) ? n : 0;
}

static bool read_told(struct step *s, const char *at, size_t len)
{
	struct told *told = &s->socks->told;
	size_t n;

	n = key(at, len, "size=");
	if (n)
		return read_number(at + n, len - n, &told->size);
	n = key(at, len, "reply=");
	if (n)
		return read_number(at + n, len - n, &told->reply);
	n = key(at, len, "type=");
	return n && read_type(s, at + n, len - n);
}

/* "" tells nothing; what is not understood is refused, lest it be mistyped and nobody sees it */
static bool read_user_name(struct step *s, const char *at, size_t len)
{
	const char *end = at + len;

	while (at < end) {
		const char *comma = memchr(at, ',', end - at);

		if (!read_told(s, at, (comma ? comma : end) - at))
			return false;
		if (!comma)
			break;
		at = comma + 1;
		if (at == end)
			return false;
	}
	return true;
}

static size_t read_user(struct step *s)
{
	size_t name, password;

	if (s->data[0] != USER_VERSION) {
		s->socks->state = SOCKS_BROKEN;
		return 0;
	}
	if (s->len < 2)
		return 0;
	name = s->data[1];
	if (s->len < 2 + name + 1)
		return 0;
	password = s->data[2 + name];
	if (s->len < 2 + name + 1 + password)
		return 0;
	if (read_user_name(s, (const char *)s->data + 2, name)) {
		say(s, USER_VERSION, 0);
		s->socks->state = SOCKS_REQUEST;
	} else {
		say(s, USER_VERSION, 1);
		s->socks->state = SOCKS_BROKEN;
	}
	return 2 + name + 1 + password;
}

/* Letters, digits, hyphens within, and underscores, since there are hosts that have them */
static bool is_label(const char *at, size_t len)
{
	size_t i;

	if (!len || len > LABEL_MAX || at[0] == '-' || at[len - 1] == '-')
		return false;
	for (i = 0; i < len; i++) {
		if (!((at[i] >= 'a' && at[i] <= 'z') || (at[i] >= 'A' && at[i] <= 'Z') ||
		      (at[i] >= '0' && at[i] <= '9') || at[i] == '-' || at[i] == '_'))
			return false;
	}
	return true;
}

/* A name whose last label is a number would be taken for an address by those who look it up */
static bool is_host_name(const char *name)
{
	size_t len = strlen(name);
	const char *last;

	if (len && name[len - 1] == '.')
		len--;
	if (!len || len > NAME_MAX_LEN)
		return false;
	for (;;) {
		size_t n = strcspn(name, ".");

		last = name;
		if (n > len)
			n = len;
		if (!is_label(name, n))
			return false;
		if (n == len)
			break;
		name += n + 1;
		len -= n + 1;
	}
	return strspn(last, "0123456789") < len;
}

static void set_address(union address *to, int family, const void *bits, const void *port)
{
	memset(to, 0, sizeof(*to));
	to->any.sa_family = family;
	if (family == AF_INET) {
		memcpy(&to->in.sin_addr, bits, 4);
		memcpy(&to->in.sin_port, port, 2);
	} else {
		memcpy(&to->in6.sin6_addr, bits, 16);
		memcpy(&to->in6.sin6_port, port, 2);
	}
}

/* A name; that of an address is this address. With a name, the port is that of 0.0.0.0. */
static bool set_name(struct target *to, const unsigned char *at, size_t len, const void *port)
{
	struct in6_addr bits = {};
	char name[HOST_MAX + 1];

	if (memchr(at, 0, len))
		return false;
	memcpy(name, at, len);
	name[len] = 0;
	if (inet_pton(AF_INET, name, &bits) == 1) {
		set_address(&to->address, AF_INET, &bits, port);
		return true;
	}
	if (inet_pton(AF_INET6, name, &bits) == 1) {
		set_address(&to->address, AF_INET6, &bits, port);
		return true;
	}
	if (!is_host_name(name))
		return false;
	memcpy(to->host, name, len + 1);
	set_address(&to->address, AF_INET, &bits, port);
	return true;
}

/* Bytes of the address and what is before it; 0: there is no such type */
static size_t address_end(const unsigned char *data)
{
	switch (data[3]) {
	case IPV4:
		return 4 + 4;
	case IPV6:
		return 4 + 16;
	case NAME:
		return 5 + data[4];
	default:
		return 0;
	}
}

static size_t read_request(struct step *s)
{
	struct target *to = &s->socks->target;
	size_t end;

	if (s->data[0] != SOCKS_VERSION) {
		s->socks->state = SOCKS_BROKEN;
		return 0;
	}
	if (s->len < 5)
		return 0;
	if (s->data[1] != CONNECT)
		return refuse(s, NO_SUCH_COMMAND);
	end = address_end(s->data);
	if (!end)
		return refuse(s, NO_SUCH_ADDRESS);
	if (s->len < end + 2)
		return 0;
	if (s->data[2] || (!s->data[end] && !s->data[end + 1]))
		return refuse(s, FAILURE);
	memset(to, 0, sizeof(*to));
	if (s->data[3] != NAME)
		set_address(&to->address, s->data[3] == IPV4 ? AF_INET : AF_INET6, s->data + 4,
			    s->data + end);
	else if (!set_name(to, s->data + 5, s->data[4], s->data + end))
		return refuse(s, HOST_UNREACHABLE);
	s->socks->state = SOCKS_DONE;
	return end + 2;
}

static size_t read_message(struct step *s)
{
	switch (s->socks->state) {
	case SOCKS_METHODS:
		return read_methods(s);
	case SOCKS_USER:
		return read_user(s);
	case SOCKS_REQUEST:
		return read_request(s);
	default:
		return 0;
	}
}

size_t socks_read(struct socks *socks, const unsigned char *data, size_t len,
		  unsigned char *reply, size_t *reply_len,
		  const type_name *types, unsigned int n_types)
{
	struct step s = { socks, data, len, reply, types, n_types };

	/* At most 2 + 2 + 10 bytes of replies: states only go on */
	while (s.len) {
		size_t n = read_message(&s);

		if (!n)
			break;
		s.data += n;
		s.len -= n;
	}
	*reply_len = s.reply - reply;
	return len - s.len;
}
