/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a plugin calls of tc to print, in text or in JSON, where tc does not have it:
 * in shortfirst-nl; and for OpenWrt, whose tc has it and keeps it to itself, in the
 * plugins that `make own-print` builds.
 */
#ifndef _TC_PRINT_H
#define _TC_PRINT_H

#include <stdarg.h>

#include "tc_glue.h"

static bool in_json;
static bool json_first = true;	/* in its array or object */

static void json_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if ((unsigned char)*s < ' ')
			printf("\\u%04x", *s);
		else
			printf("%s%c", *s == '"' || *s == '\\' ? "\\" : "", *s);
	}
	putchar('"');
}

/* Begin what comes next in an array or, with a key, in an object. */
static void json_item(const char *key)
{
	if (!json_first)
		putchar(',');
	json_first = false;
	if (key) {
		json_string(key);
		putchar(':');
	}
}

/* Print a value in text, or return true after its key if it is to be printed in JSON. */
static bool json_or_text(enum output_type t, const char *key, const char *fmt, ...)
{
	va_list args;

	if (in_json) {
		if (t & PRINT_JSON)
			json_item(key);
		return t & PRINT_JSON;
	}
	va_start(args, fmt);
	if (t & PRINT_FP)
		vprintf(fmt, args);
	va_end(args);
	return false;
}

int print_color_int(enum output_type t, enum color_attr color, const char *key,
		    const char *fmt, int value)
{
	(void)color;
	if (json_or_text(t, key, fmt, value))
		printf("%d", value);
	return 0;
}

int print_color_u64(enum output_type t, enum color_attr color, const char *key,
		    const char *fmt, __u64 value)
{
	(void)color;
	if (json_or_text(t, key, fmt, value))
		printf("%llu", (unsigned long long)value);
	return 0;
}

int print_color_float(enum output_type t, enum color_attr color,
		      const char *key, const char *fmt, double value)
{
	(void)color;
	if (json_or_text(t, key, fmt, value))
		printf("%g", value);
	return 0;
}

int print_color_bool(enum output_type t, enum color_attr color, const char *key,
		     const char *fmt, bool value)
{
	(void)color;
	if (json_or_text(t, key, fmt, value ? "true" : "false"))
		printf("%s", value ? "true" : "false");
	return 0;
}

int print_color_string(enum output_type t, enum color_attr color,
		       const char *key, const char *fmt, const char *value)
{
	(void)color;
	if (json_or_text(t, key, fmt, value))
		json_string(value);
	return 0;
}

void print_nl(void)
{
	if (!in_json)
		putchar('\n');
}

#ifdef TC_OWN_PRINT
/*
 * tc does not tell whether it prints JSON: has it been told, by what may be the
 * beginning of -json? What it prints goes to the same stdout.
 */
__attribute__((constructor)) static void tc_print_init(void)
{
	FILE *f = fopen("/proc/self/cmdline", "r");
	char *word = NULL;
	size_t size = 0;

	if (!f)
		return;
	/* after tc itself, up to what is no option */
	if (getdelim(&word, &size, '\0', f) > 0) {
		while (getdelim(&word, &size, '\0', f) > 0 && *word == '-')
			in_json |= word[1] && !strncmp(word, "-json", strlen(word));
	}
	free(word);
	fclose(f);
}
#endif

#endif
