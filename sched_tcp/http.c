// SPDX-License-Identifier: GPL-2.0
/*
 * How long a message of HTTP/1 is (RFC 9112, section 6.3), as far as its head tells. This is a
 * hint for the scheduler, so what is not plainly HTTP, or is told in two ways, is not told: each
 * byte of the head is checked, lines end with CR LF, and nothing is folded. Bytes that are no
 * HTTP are mostly known by the first one.
 *
 * All functions here that look at a beginning answer as http_length() does: YES, NO, or MORE if
 * it could still become both.
 */
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "http.h"

#define METHOD_MAX	24

enum { NO, YES, MORE = -1 };

struct line {
	const char *at;
	size_t len;
};

struct message {
	bool request;
	bool bare;		/* no body follows, whatever the fields say */
	bool unknown;		/* the end of its body is not told by a length */
	bool told;
	uint64_t length;	/* if told */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* tchar of RFC 9110 */
static bool is_token(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) ||
		(c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_control(char c)
{
	return (c >= 0 && c < ' ' && c != '\t') || c == 0x7f;
}

/* The next line, without its end; MORE if that has not come, and then what there is of it */
static int next_line(const char *data, size_t len, struct line *line)
{
	size_t i;

	line->at = data;
	for (i = 0; i < len && !is_control(data[i]); i++)
		;
	line->len = i;
	if (i == len || (data[i] == '\r' && i + 1 == len))
		return MORE;
	return data[i] == '\r' && data[i + 1] == '\n' ? YES : NO;
}

/* Does the line go on with this text at i? */
static int goes_on(const struct line *line, size_t i, const char *text)
{
	size_t left = line->len - i, len = strlen(text);

	if (memcmp(line->at + i, text, left < len ? left : len))
		return NO;
	return left < len ? MORE : YES;
}

/* "1.0" and "1.1" are the versions that there are */
static int version(const struct line *line, size_t i)
{
	int found = goes_on(line, i, "HTTP/1.");

	if (found != YES)
		return found;
	i += strlen("HTTP/1.");
	if (i == line->len)
		return MORE;
	return line->at[i] == '0' || line->at[i] == '1' ? YES : NO;
}

#define VERSION_LEN	8

/* "HTTP/1.1 200 OK", of which the last word may be missing */
static int status_line(const struct line *line, struct message *m)
{
	size_t i = VERSION_LEN;
	int found = version(line, 0);
	const char *at = line->at;

	if (found != YES)
		return found;
	for (; i < line->len && i < VERSION_LEN + 4; i++) {
		if (i == VERSION_LEN ? at[i] != ' ' : !is_digit(at[i]))
			return NO;
	}
	if (i < VERSION_LEN + 4)
		return MORE;
	if (i < line->len && at[i] != ' ')
		return NO;
	i = VERSION_LEN + 1;
	m->bare = at[i] == '1' || !memcmp(at + i, "204", 3) || !memcmp(at + i, "304", 3);
	return at[i] >= '1' && at[i] <= '5' ? YES : NO;
}

/* "GET /path HTTP/1.1". Methods have capital letters and hyphens: all that are registered have. */
static int request_line(const struct line *line, struct message *m)
{
	const char *at = line->at;
	size_t i, method;
	int found;

	for (i = 0; i < line->len && ((at[i] >= 'A' && at[i] <= 'Z') || (i && at[i] == '-')); i++)
		;
	method = i;
	if (method > METHOD_MAX)
		return NO;
	if (i == line->len)
		return MORE;
	if (!method || at[i++] != ' ')
		return NO;
	while (i < line->len && at[i] != ' ' && at[i] != '\t')
		i++;
	if (i == line->len)
		return MORE;
	if (at[i] != ' ' || i == method + 1)
		return NO;
	found = version(line, ++i);
	if (found == YES && i + VERSION_LEN != line->len)
		return NO;
	m->request = true;
	/* What follows CONNECT is no message */
	m->unknown = method == strlen("CONNECT") && !memcmp(at, "CONNECT", method);
	return found;
}

static int first_line(const struct line *line, struct message *m)
{
	return goes_on(line, 0, "HTTP/") == NO ? request_line(line, m) : status_line(line, m);
}

/* A decimal number and nothing else; false if it is none, or too large */
static bool number(const char *at, size_t len, uint64_t *value)
{
	size_t i;

	*value = 0;
	for (i = 0; i < len; i++) {
		if (!is_digit(at[i]) ||
		    __builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (unsigned int)(at[i] - '0'), value))
			return false;
	}
	return len;
}

static struct line trimmed(const char *at, size_t len)
{
	struct line line = { at, len };

	while (line.len && (*line.at == ' ' || *line.at == '\t')) {
		line.at++;
		line.len--;
	}
	while (line.len && (line.at[line.len - 1] == ' ' || line.at[line.len - 1] == '\t'))
		line.len--;
	return line;
}

/* "42", or "42, 42" as some make of two lines; it has to be what was told before, too */
static bool content_length(const struct line *value, struct message *m)
{
	const char *at = value->at, *end = at + value->len;

	for (;;) {
		const char *comma = memchr(at, ',', end - at);
		struct line one = trimmed(at, (comma ? comma : end) - at);
		uint64_t length;

		if (!number(one.at, one.len, &length) || (m->told && length != m->length))
			return false;
		m->told = true;
		m->length = length;
		if (!comma)
			return true;
		at = comma + 1;
	}
}

static bool is_named(const struct line *line, size_t len, const char *name)
{
	return len == strlen(name) && !strncasecmp(line->at, name, len);
}

static bool field(const struct line *line, struct message *m)
{
	struct line value;
	size_t name;

	for (name = 0; name < line->len && is_token(line->at[name]); name++)
		;
	if (!name || name == line->len || line->at[name] != ':')
		return false;
	value = trimmed(line->at + name + 1, line->len - name - 1);
	if (is_named(line, name, "content-length"))
		return content_length(&value, m);
	if (is_named(line, name, "transfer-encoding"))
		m->unknown = true;
	return true;
}

static int length_of(const struct message *m, size_t head, uint64_t *total)
{
	*total = head;
	if (m->bare)
		return YES;
	if (m->unknown || (!m->told && !m->request))
		return NO;
	/* A request without a length has no body */
	return __builtin_add_overflow(head, m->told ? m->length : 0, total) ? NO : YES;
}

/* The lines up to the empty one */
static int read_head(const char *data, size_t len, uint64_t *total)
{
	struct message m = {};
	struct line line;
	size_t head = 0;
	int whole, good;

	do {
		whole = next_line(data + head, len - head, &line);
		if (whole == NO)
			return NO;
		if (!head) {
			good = first_line(&line, &m);
			/* A line that is there will not become another one */
			if (good == NO || (good == MORE && whole == YES))
				return NO;
		} else if (whole == YES && line.len && !field(&line, &m)) {
			return NO;
		}
		if (whole == MORE)
			return MORE;
		head += line.len + 2;
	} while (line.len);
	return length_of(&m, head, total);
}

int http_length(const char *data, size_t len, uint64_t *total)
{
	uint64_t found;
	int good = read_head(data, len < HTTP_HEAD_MAX ? len : HTTP_HEAD_MAX, &found);

	if (good == YES)
		*total = found;
	return good == MORE && len >= HTTP_HEAD_MAX ? NO : good;
}
