// SPDX-License-Identifier: GPL-2.0
/*
 * Log lines. Each is put together here and written at once, at most PIPE_BUF bytes, so that those
 * of several programs on one pipe are never mixed. What cannot be written now is not waited for:
 * a journal that hangs must not hold up connections. It counts among the lines that were withheld.
 *
 * Of an event the times of its last PER_SECOND lines are kept; one more is printed if the first of
 * these is a second ago. There is no timer: how many were withheld is told before the event's next
 * line, or when a second has passed since its last one before that of any other.
 */
#include "log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PER_SECOND	20
#define SECOND		1000000000LL
#define EVENTS		64
#define EVENT_LEN	32
#define VALUE_LEN	1024

int log_level = LOG_INFO;

struct line {
	char text[PIPE_BUF];
	size_t len;
};

struct event {
	char name[EVENT_LEN];	/* "": nobody's */
	long long printed[PER_SECOND];
	unsigned int first;	/* of these */
	unsigned long withheld;
	int priority;		/* the most urgent of them */
	long long told;		/* when it was said how many */
	long long used;
};

static struct event events[EVENTS];

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

/* There is always room left for the quote and the newline at the end. */
static void put(struct line *line, char c)
{
	if (line->len < sizeof(line->text) - 2)
		line->text[line->len++] = c;
}

static void put_text(struct line *line, const char *text)
{
	while (*text)
		put(line, *text++);
}

static bool printable(char c)
{
	return c >= ' ' && c <= '~';
}

static bool plain(const char *text)
{
	if (!*text)
		return false;
	for (; *text; text++) {
		if (!printable(*text) || strchr(" \"\\=", *text))
			return false;
	}
	return true;
}

static void put_escaped(struct line *line, char c)
{
	static const char digits[] = "0123456789abcdef";

	put(line, '\\');
	if (c == '"' || c == '\\') {
		put(line, c);
	} else if (c == '\n') {
		put(line, 'n');
	} else {
		put(line, 'x');
		put(line, digits[(unsigned char)c >> 4]);
		put(line, digits[c & 15]);
	}
}

static void put_value(struct line *line, const char *text)
{
	if (plain(text)) {
		put_text(line, text);
		return;
	}
	put(line, '"');
	for (; *text; text++) {
		/* An escape is whole or it is not there. */
		if (line->len + 4 > sizeof(line->text) - 2)
			break;
		if (!printable(*text) || *text == '"' || *text == '\\')
			put_escaped(line, *text);
		else
			put(line, *text);
	}
	if (line->len < sizeof(line->text) - 1)
		line->text[line->len++] = '"';
}

struct values {
	va_list list;
	int error;	/* for %m */
};

/* One conversion, for which @spec has all but its last letter, @size l's or a z */
static int convert(char *to, size_t room, char *spec, size_t len, char size, char letter,
		   struct values *values)
{
	spec[len++] = letter;
	spec[len] = 0;
	switch (letter) {
	case 's':
		return snprintf(to, room, spec, va_arg(values->list, const char *));
	case 'm':
		return snprintf(to, room, "%s", strerror(values->error));
	case 'f':
	case 'g':
		return snprintf(to, room, spec, va_arg(values->list, double));
	case 'c':
		return snprintf(to, room, spec, va_arg(values->list, int));
	case 'd':
	case 'i':
	case 'u':
	case 'x':
		if (size == 'q')
			return snprintf(to, room, spec, va_arg(values->list, long long));
		if (size == 'l')
			return snprintf(to, room, spec, va_arg(values->list, long));
		if (size == 'z')
			return snprintf(to, room, spec, va_arg(values->list, size_t));
		return snprintf(to, room, spec, va_arg(values->list, int));
	default:
		return -1;
	}
}

/* The conversion that begins at @format, which has a % there; where it ends, NULL if we do not
 * know it
 */
static const char *conversion(const char *format, char *to, size_t room, struct values *values)
{
	char spec[32];
	size_t len = 0;
	char size = 0;

	spec[len++] = *format++;
	while (*format && strchr("0123456789.-+#*", *format) && len < sizeof(spec) / 2) {
		if (*format == '*')
			len += (size_t)snprintf(spec + len, 12, "%d", va_arg(values->list, int));
		else
			spec[len++] = *format;
		format++;
	}
	while (*format && strchr("lzh", *format) && len < sizeof(spec) - 3) {
		size = size == 'l' && *format == 'l' ? 'q' : *format;
		spec[len++] = *format++;
	}
	if (!*format || convert(to, room, spec, len, size, *format, values) < 0)
		return NULL;
	return format + 1;
}

/* What is after a = up to the next blank; a value that is too long ends with three dots. */
static const char *format_value(struct line *line, const char *format, struct values *values)
{
	char value[VALUE_LEN + 5];
	size_t len = 0;

	while (format && *format && *format != ' ') {
		if (*format == '%' && format[1] != '%') {
			value[len] = 0;
			format = conversion(format, value + len, VALUE_LEN + 2 - len, values);
			len += strlen(value + len);
		} else {
			format += *format == '%';
			if (len <= VALUE_LEN)
				value[len++] = *format;
			format++;
		}
	}
	value[len] = 0;
	if (len > VALUE_LEN)
		memcpy(value + VALUE_LEN, "...", 4);
	put_value(line, value);
	return format;
}

static bool write_line(struct line *line)
{
	struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };

	line->text[line->len++] = '\n';
	if (poll(&ready, 1, 0) != 1 || !(ready.revents & POLLOUT))
		return false;
	return write(STDERR_FILENO, line->text, line->len) >= 0;
}

static void begin(struct line *line, int priority, const char *event)
{
	line->len = (size_t)snprintf(line->text, EVENT_LEN + 8, "<%d>%s", priority & 7, event);
	if (line->len > EVENT_LEN + 7)
		line->len = EVENT_LEN + 7;
}

static void tell_withheld(struct event *event, long long time)
{
	struct line line;
	char number[24];

	begin(&line, event->priority, "lines-withheld");
	put_text(&line, " event=");
	put_value(&line, event->name);
	snprintf(number, sizeof(number), " lines=%lu", event->withheld);
	put_text(&line, number);
	if (write_line(&line)) {
		event->withheld = 0;
		event->told = time;
	}
}

static long long last_printed(const struct event *event)
{
	return event->printed[(event->first + PER_SECOND - 1) % PER_SECOND];
}

/* Those of other events that have been quiet since */
static void tell_others(const struct event *but, long long time)
{
	for (struct event *event = events; event < events + EVENTS; event++) {
		if (event != but && event->withheld && time - last_printed(event) >= SECOND &&
		    time - event->told >= SECOND)
			tell_withheld(event, time);
	}
}

/* If there are more events than we have room for, the one that was not seen for longest goes. */
static struct event *find_event(const char *name, long long time)
{
	struct event *oldest = events;

	for (struct event *event = events; event < events + EVENTS; event++) {
		if (!strncmp(event->name, name, EVENT_LEN - 1))
			return event;
		if (event->used < oldest->used)
			oldest = event;
	}
	if (oldest->withheld)
		tell_withheld(oldest, time);
	memset(oldest, 0, sizeof(*oldest));
	snprintf(oldest->name, sizeof(oldest->name), "%s", name);
	for (int i = 0; i < PER_SECOND; i++)
		oldest->printed[i] = time - SECOND;
	oldest->told = time - SECOND;
	return oldest;
}

static void withhold(struct event *event, int priority)
{
	if (!event->withheld || priority < event->priority)
		event->priority = priority;
	event->withheld++;
}

static bool print(int priority, const char *name, const char *format, struct values *values)
{
	struct line line;

	begin(&line, priority, name);
	for (;;) {
		size_t key;

		format += strspn(format, " ");
		key = strcspn(format, "=");
		if (!format[key] || line.len + key + 8 > sizeof(line.text))
			break;
		put(&line, ' ');
		for (key++; key; key--)
			put(&line, *format++);
		format = format_value(&line, format, values);
		if (!format)
			break;
	}
	return write_line(&line);
}

void log_line(int priority, const char *event, const char *format, ...)
{
	struct values values = { .error = errno };
	struct event *found;
	long long time;

	if (priority > log_level)
		return;
	time = now();
	found = find_event(event, time);
	found->used = time;
	tell_others(found, time);
	if (time - found->printed[found->first] < SECOND) {
		withhold(found, priority);
		return;
	}
	if (found->withheld && time - found->told >= SECOND)
		tell_withheld(found, time);
	va_start(values.list, format);
	if (print(priority, event, format, &values)) {
		found->printed[found->first] = time;
		found->first = (found->first + 1) % PER_SECOND;
	} else {
		withhold(found, priority);
	}
	va_end(values.list);
	errno = values.error;
}
