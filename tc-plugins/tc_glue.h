/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All that the plugins know of tc: the few declarations of iproute2 they need
 * (distributions ship no header), and the parsing and printing they share.
 *
 * The functions and the layout of struct qdisc_util are the same in iproute2
 * 6.1, 6.15 and 7.3; only the const of struct qdisc_util, as it is here, is
 * newer than 6.1. What the print functions return has changed in the past: do
 * not use it. A qdisc_util must be writable, tc links it into its list.
 *
 * Numbers are read here, not by tc's get_size() and get_time(), which round:
 * an option is taken exactly as written or refused, and is printed so that it
 * can be typed again.
 */
#ifndef _TC_GLUE_H
#define _TC_GLUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/types.h>
#include <shortfirst/pkt_shaper.h>
#ifdef SF_TEST
#include <shortfirst/test_numbers.h>
#endif

struct qdisc_util {
	struct qdisc_util *next;
	const char *id;
	int (*parse_qopt)(const struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev);
	int (*print_qopt)(const struct qdisc_util *qu, FILE *f,
			  struct rtattr *opt);
	int (*print_xstats)(const struct qdisc_util *qu, FILE *f,
			    struct rtattr *xstats);
	int (*parse_copt)(const struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev);
	int (*print_copt)(const struct qdisc_util *qu, FILE *f,
			  struct rtattr *opt);
	int (*has_block)(const struct qdisc_util *qu, struct rtattr *opt,
			 __u32 block_idx, bool *p_has);
};

enum output_type {
	PRINT_FP = 1,
	PRINT_JSON = 2,
};

enum color_attr {
	COLOR_NONE = 6,
};

int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data,
	      int alen);
struct rtattr *addattr_nest(struct nlmsghdr *n, int maxlen, int type);
int addattr_nest_end(struct nlmsghdr *n, struct rtattr *nest);
int parse_rtattr(struct rtattr *tb[], int max, struct rtattr *rta, int len);
int print_color_int(enum output_type t, enum color_attr color, const char *key,
		    const char *fmt, int value);
int print_color_u64(enum output_type t, enum color_attr color, const char *key,
		    const char *fmt, __u64 value);
int print_color_float(enum output_type t, enum color_attr color,
		      const char *key, const char *fmt, double value);
int print_color_bool(enum output_type t, enum color_attr color, const char *key,
		     const char *fmt, bool value);
int print_color_string(enum output_type t, enum color_attr color,
		       const char *key, const char *fmt, const char *value);
void print_nl(void);

#define TC_S32_MAX	0x7fffffffU
#define TC_U32_MAX	0xffffffffU
#define TC_U64_MAX	(~(__u64)0)
#define TC_RATE_MAX	((1ULL << 50) - 1)	/* in bits, too, a double is exact so far */
#define TC_GLUE_MSG_MAX	1024	/* of a request, as tc's own plugins have it */
#define TC_GLUE_ATTRS	64	/* more than any qdisc has */

enum tc_unit {
	TC_UNIT_NONE,
	TC_UNIT_SIGNED,		/* an s32; `word` is no number but has a row of its own */
	TC_UNIT_PACKETS,
	TC_UNIT_BYTES,
	TC_UNIT_MS,
	TC_UNIT_US,
	TC_UNIT_RATE,		/* bytes per second */
	TC_UNIT_RATE64,		/* the same as a u64, or unlimited */
	TC_UNIT_PERCENT,
	TC_UNIT_MILLI,		/* thousandths, a fraction in text and JSON */
	TC_UNIT_NANO,		/* the same with billionths */
	TC_UNIT_WORD,		/* the option is all there is to type */
	TC_UNIT_ADD,		/* such a word, which adds to what was typed before */
	TC_UNIT_ONLY,		/* one after which no other value is taken; JSON has the word */
	TC_UNIT_NAME,		/* one of some names, which stand for 0, 1, ... */
	TC_UNIT_NAME_OR_WORD,	/* the same, but without a name it is a word */
};

/*
 * An option whose value is an attribute, a u32 unless the unit says otherwise. A
 * word stands for one of the values of its attribute, and is printed when that
 * has it; in JSON it is true or false. What is typed sets all the attributes it
 * is listed with, but for number 0. Options without json are for typing only.
 */
struct tc_opt {
	const char *name;
	const char *json;	/* tells the unit unless that is plain */
	enum tc_unit unit;
	int attr;
	__u32 word;		/* the value that a word stands for */
	const char * const *names;	/* up to NULL */
};

/*
 * A u32 or u64 in the structure that is TCA_STATS_APP, whose first u32 tells
 * which structure it is
 */
struct tc_stat {
	const char *name;
	const char *suffix;	/* of the value in text */
	unsigned int line;	/* of the text, from 1 */
	size_t offset;
	size_t size;
};

#define TC_STAT(stats, type, field, line, suffix)		\
	{ #field, suffix, line, offsetof(struct stats, field), sizeof(type) }

static const struct tc_suffix {
	enum tc_unit unit;
	const char *suffix;
	__u64 mul, div;
} tc_suffixes[] = {
	/* those of tc(8); what has none is bytes, microseconds or bits there */
	{ TC_UNIT_NONE, "", 1, 1 },
	{ TC_UNIT_PACKETS, "", 1, 1 },
	{ TC_UNIT_BYTES, "", 1, 1 },
	{ TC_UNIT_BYTES, "b", 1, 1 },
	{ TC_UNIT_BYTES, "k", 1 << 10, 1 },
	{ TC_UNIT_BYTES, "kb", 1 << 10, 1 },
	{ TC_UNIT_BYTES, "kbit", 1 << 10, 8 },
	{ TC_UNIT_BYTES, "m", 1 << 20, 1 },
	{ TC_UNIT_BYTES, "mb", 1 << 20, 1 },
	{ TC_UNIT_BYTES, "mbit", 1 << 20, 8 },
	{ TC_UNIT_BYTES, "g", 1 << 30, 1 },
	{ TC_UNIT_BYTES, "gb", 1 << 30, 1 },
	{ TC_UNIT_BYTES, "gbit", 1 << 30, 8 },
	{ TC_UNIT_MS, "", 1, 1000 },
	{ TC_UNIT_MS, "us", 1, 1000 },
	{ TC_UNIT_MS, "usec", 1, 1000 },
	{ TC_UNIT_MS, "usecs", 1, 1000 },
	{ TC_UNIT_MS, "ms", 1, 1 },
	{ TC_UNIT_MS, "msec", 1, 1 },
	{ TC_UNIT_MS, "msecs", 1, 1 },
	{ TC_UNIT_MS, "s", 1000, 1 },
	{ TC_UNIT_MS, "sec", 1000, 1 },
	{ TC_UNIT_MS, "secs", 1000, 1 },
	{ TC_UNIT_US, "", 1, 1 },
	{ TC_UNIT_US, "us", 1, 1 },
	{ TC_UNIT_US, "usec", 1, 1 },
	{ TC_UNIT_US, "usecs", 1, 1 },
	{ TC_UNIT_US, "ms", 1000, 1 },
	{ TC_UNIT_US, "msec", 1000, 1 },
	{ TC_UNIT_US, "msecs", 1000, 1 },
	{ TC_UNIT_US, "s", 1000000, 1 },
	{ TC_UNIT_US, "sec", 1000000, 1 },
	{ TC_UNIT_US, "secs", 1000000, 1 },
	{ TC_UNIT_RATE, "", 1, 8 },
	{ TC_UNIT_RATE, "bit", 1, 8 },
	{ TC_UNIT_RATE, "kbit", 1000, 8 },
	{ TC_UNIT_RATE, "mbit", 1000000, 8 },
	{ TC_UNIT_RATE, "gbit", 1000000000, 8 },
	{ TC_UNIT_RATE, "tbit", 1000000000000, 8 },
	{ TC_UNIT_RATE, "kibit", 1ULL << 10, 8 },
	{ TC_UNIT_RATE, "mibit", 1ULL << 20, 8 },
	{ TC_UNIT_RATE, "gibit", 1ULL << 30, 8 },
	{ TC_UNIT_RATE, "tibit", 1ULL << 40, 8 },
	{ TC_UNIT_RATE, "bps", 1, 1 },
	{ TC_UNIT_RATE, "kbps", 1000, 1 },
	{ TC_UNIT_RATE, "mbps", 1000000, 1 },
	{ TC_UNIT_RATE, "gbps", 1000000000, 1 },
	{ TC_UNIT_RATE, "tbps", 1000000000000, 1 },
	{ TC_UNIT_RATE, "kibps", 1ULL << 10, 1 },
	{ TC_UNIT_RATE, "mibps", 1ULL << 20, 1 },
	{ TC_UNIT_RATE, "gibps", 1ULL << 30, 1 },
	{ TC_UNIT_RATE, "tibps", 1ULL << 40, 1 },
	{ TC_UNIT_PERCENT, "", 1, 1 },
	{ TC_UNIT_PERCENT, "%", 1, 1 },
	{ TC_UNIT_MILLI, "", 1000, 1 },
	{ TC_UNIT_NANO, "", 1000000000, 1 },
};

static const struct tc_unit_text {
	const char *value;	/* stands for one in the usage */
	const char *what;	/* the value of an option is */
	const char *typed;	/* and how it is written */
} tc_unit_texts[] = {
	[TC_UNIT_NONE] = { "NUMBER", "a whole number", "0 to 4294967295" },
	[TC_UNIT_SIGNED] = { "NUMBER", "a whole number", "-2147483648 to 2147483647" },
	[TC_UNIT_PACKETS] = { "PACKETS", "a whole number", "0 to 4294967295" },
	[TC_UNIT_BYTES] = { "BYTES", "a size in whole bytes",
			    "with b, k, m or g, without: b; 0 to 4294967295b" },
	[TC_UNIT_MS] = { "TIME", "a time in whole milliseconds",
			 "with s, ms or us, without: us; 0 to 4294967295ms" },
	[TC_UNIT_US] = { "TIME", "a time in whole microseconds",
			 "with s, ms or us, without: us; 0 to 4294967295us" },
	[TC_UNIT_RATE] = { "RATE", "a rate of whole bytes per second",
			   "with bit, kbit, mbit or gbit, without: bit; 0 to 4294967295bps" },
	[TC_UNIT_RATE64] = { "RATE | unlimited", "a rate of whole bytes per second or unlimited",
			     "with bit, kbit, mbit or gbit, without: bit; "
			     "0 to 1125899906842623bps" },
	[TC_UNIT_PERCENT] = { "PERCENT", "a whole number of percent",
			      "with or without %; 0 to 4294967295" },
	[TC_UNIT_MILLI] = { "NUMBER", "a number with at most three decimals",
			    "0 to 4294967.295" },
	[TC_UNIT_NANO] = { "PROBABILITY", "a number with at most nine decimals",
			   "0 to 4.294967295" },
};

/* Say what the value of an option has to be; @arg was typed, NULL if nothing was. */
static inline void tc_complain(const char *kind, const struct tc_opt *opt,
			       const char *arg)
{
	unsigned int i;

	fprintf(stderr, "%s: %s: ", kind, opt->name);
	if (arg)
		fprintf(stderr, "\"%s\" is not ", arg);
	else
		fprintf(stderr, "needs ");
	if (opt->unit != TC_UNIT_NAME) {
		fprintf(stderr, "%s (%s)\n", tc_unit_texts[opt->unit].what,
			tc_unit_texts[opt->unit].typed);
		return;
	}
	for (i = 0; opt->names[i]; i++)
		fprintf(stderr, "%s%s", !i ? "" : opt->names[i + 1] ? ", " : " or ",
			opt->names[i]);
	fprintf(stderr, "\n");
}

/* Find one of the names of an option: what it stands for, or false if @arg is none */
static inline bool tc_get_name(const struct tc_opt *opt, const char *arg, __u64 *val)
{
	__u64 i;

	for (i = 0; opt->names[i]; i++) {
		if (!strcmp(opt->names[i], arg)) {
			*val = i;
			return true;
		}
	}
	return false;
}

/**
 * tc_get_value - read the value of an option
 * @kind: the qdisc, for the message
 * @opt: the option
 * @arg: what was typed
 * @val: where the value goes
 *
 * Return: 0, or -1 after a message that names the option.
 */
static inline int tc_get_value(const char *kind, const struct tc_opt *opt,
			       const char *arg, __u64 *val)
{
	const struct tc_suffix *s = NULL;
	enum tc_unit unit = opt->unit;
	double typed, scaled, back;
	const char *number = arg;
	__u64 max = TC_U32_MAX;
	unsigned int i;
	__u64 whole;
	char *end;

	if (unit == TC_UNIT_NAME) {
		if (tc_get_name(opt, arg, val))
			return 0;
		goto bad;
	}
	if (unit == TC_UNIT_RATE64) {
		if (!strcmp(arg, "unlimited")) {
			*val = TC_SF_RATE_UNLIMITED;
			return 0;
		}
		unit = TC_UNIT_RATE;
		max = TC_RATE_MAX;
	} else if (unit == TC_UNIT_SIGNED) {
		unit = TC_UNIT_NONE;
		number += *arg == '-';
		max = TC_S32_MAX + (number != arg);
	}
	typed = strtod(number, &end);
	for (i = 0; end != number && i < sizeof(tc_suffixes) / sizeof(*s); i++) {
		if (tc_suffixes[i].unit == unit &&
		    !strcasecmp(tc_suffixes[i].suffix, end))
			s = &tc_suffixes[i];
	}
	scaled = s ? typed * s->mul / s->div : -1;
	/* NaN is neither */
	if (scaled >= 0 && scaled < max + 0.5) {
		/*
		 * Is there a whole number that is typed like this? Asked in
		 * this direction, since 1.001 * 1000 is not quite 1001.
		 */
		whole = scaled + 0.5;
		back = (double)(whole * s->div) / s->mul;
		if (back == typed) {
			*val = number == arg ? whole : (__u32)-whole;
			return 0;
		}
	}
bad:
	tc_complain(kind, opt, arg);
	return -1;
}

/* The value of each attribute that was typed, and the option that gave it */
struct tc_typed {
	const struct tc_opt *opt;
	__u64 val;
};

/* Take @val for @opt, or return -1 after a message. */
static inline int tc_take(const char *kind, struct tc_typed *typed,
			  const struct tc_opt *opt, __u64 val)
{
	struct tc_typed *t = &typed[opt->attr];

	if (opt->unit == TC_UNIT_ADD)
		val = (__u32)(t->val + val);
	if (t->opt && t->opt->unit == TC_UNIT_ONLY && t->val != val) {
		fprintf(stderr, "%s: \"%s\" and \"%s\" do not go together\n", kind,
			t->opt->name, opt->name);
		return -1;
	}
	t->opt = opt;
	t->val = val;
	return 0;
}

static inline bool tc_is_word(const struct tc_opt *opt)
{
	return opt->unit == TC_UNIT_WORD || opt->unit == TC_UNIT_ADD ||
	       opt->unit == TC_UNIT_ONLY;
}

/* Whether both are words that are printed for values of one attribute */
static inline bool tc_same_switch(const struct tc_opt *a, const struct tc_opt *b)
{
	return tc_is_word(a) && tc_is_word(b) && a->json && b->json &&
	       a->attr == b->attr;
}

/* What there is to type, as "[ limit PACKETS ]" and "[ learn | no_learn ]" */
static inline void tc_usage(const char *kind, const struct tc_opt *opts)
{
	char text[128], *end = text + sizeof(text), *at;
	const struct tc_opt *o, *next;
	int margin, column;
	unsigned int i;

	margin = fprintf(stderr, "Usage: ... %s", kind);
	column = margin;
	for (o = opts; o->name; o = next) {
		at = text + snprintf(text, sizeof(text), " [ %s", o->name);
		if (o->names) {
			for (i = 0; o->names[i]; i++)
				at += snprintf(at, end - at, "%s%s", i ? " | " : " ",
					       o->names[i]);
		} else if (!tc_is_word(o)) {
			at += snprintf(at, end - at, " %s", tc_unit_texts[o->unit].value);
		}
		for (next = o + 1; next->name; next++) {
			/* Sets one attribute more, or is the same attribute's */
			if (!strcmp(next->name, o->name))
				continue;
			if (!tc_same_switch(o, next))
				break;
			at += snprintf(at, end - at, " | %s", next->name);
		}
		at += snprintf(at, end - at, " ]");
		if (column + (at - text) > 79)
			column = fprintf(stderr, "\n%*s", margin, "") - 1;
		column += fprintf(stderr, "%s", text);
	}
	fprintf(stderr, "\n");
}

/**
 * tc_parse_opts - add TCA_OPTIONS with the options typed to a request
 * @kind: the qdisc
 * @opts: the options there are, up to one without name
 * @argc: number of words typed
 * @argv: the words
 * @n: the request
 *
 * Without options the nest is empty, which keeps all values or sets defaults.
 * Each attribute is sent once, with what was typed last. Only what cannot be
 * encoded or contradicts itself is refused here: the ranges are the kernel's.
 *
 * Return: what parse_qopt is to return.
 */
static inline int tc_parse_opts(const char *kind, const struct tc_opt *opts,
				int argc, char **argv, struct nlmsghdr *n)
{
	struct rtattr *nest = addattr_nest(n, TC_GLUE_MSG_MAX,
					   TCA_OPTIONS | NLA_F_NESTED);
	struct tc_typed typed[TC_GLUE_ATTRS] = {};
	const struct tc_opt *o;
	int used, attr, err;
	__u32 val32;
	__u64 val;

	for (; argc > 0; argc -= used, argv += used) {
		if (!strcmp(*argv, "help")) {
			tc_usage(kind, opts);
			return -1;
		}
		used = 0;
		for (o = opts; o->name; o++) {
			if (strcmp(*argv, o->name))
				continue;
			val = o->word;
			used = tc_is_word(o) ? 1 : 2;
			if (o->unit == TC_UNIT_NAME_OR_WORD) {
				if (argc < 2 || !tc_get_name(o, argv[1], &val))
					used = 1;
			} else if (used > argc) {
				tc_complain(kind, o, NULL);
				return -1;
			} else if (used == 2 && tc_get_value(kind, o, argv[1], &val)) {
				return -1;
			}
			if (tc_take(kind, typed, o, val))
				return -1;
		}
		if (!used) {
			fprintf(stderr, "What is \"%s\"?\n", *argv);
			tc_usage(kind, opts);
			return -1;
		}
	}
	for (attr = 1; attr < TC_GLUE_ATTRS; attr++) {
		if (!typed[attr].opt)
			continue;
		val = typed[attr].val;
		val32 = val;
		if (typed[attr].opt->unit == TC_UNIT_RATE64)
			err = addattr_l(n, TC_GLUE_MSG_MAX, attr, &val, sizeof(val));
		else
			err = addattr_l(n, TC_GLUE_MSG_MAX, attr, &val32, sizeof(val32));
		if (err)
			return -1;
	}
	addattr_nest_end(n, nest);
	return 0;
}

/* All the digits of a fraction of a u32, never as 1e-05, and no zeros at the end */
static inline void tc_print_decimals(char *text, size_t size, double fraction)
{
	char *end;

	snprintf(text, size, "%.9f", fraction);
	for (end = text + strlen(text) - 1; *end == '0'; end--)
		*end = '\0';
	if (*end == '.')
		*end = '\0';
}

/* Print in text "NAME VALUE " or "NAME ", so that it can be typed again. */
static inline void tc_print_opt(const struct tc_opt *opt, __u64 val)
{
	static const char * const bits[] = { "bit", "Kbit", "Mbit", "Gbit", "Tbit" };
	const char *suffix = "", *name = NULL;
	__u64 shown = val;
	double fraction;
	char text[80];
	__u64 i;

	if (opt->names) {
		for (i = 0; i < val && opt->names[i]; i++)
			;
		name = opt->names[i];
		if (!name)
			return;		/* of a newer module */
	} else if (opt->unit == TC_UNIT_RATE64 && val == TC_SF_RATE_UNLIMITED) {
		name = "unlimited";
	}
	if (name) {
		snprintf(text, sizeof(text), "%s %s ", opt->name, name);
		print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", text);
		print_color_string(PRINT_JSON, COLOR_NONE, opt->json, NULL, name);
		return;
	}
	if (tc_is_word(opt)) {
		snprintf(text, sizeof(text), "%s ", opt->name);
		print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", text);
		if (opt->unit == TC_UNIT_ONLY)
			print_color_string(PRINT_JSON, COLOR_NONE, opt->json, NULL,
					   opt->name);
		else
			print_color_bool(PRINT_JSON, COLOR_NONE, opt->json, NULL, val);
		return;
	}
	if (opt->unit == TC_UNIT_SIGNED) {
		snprintf(text, sizeof(text), "%s %d ", opt->name, (__s32)val);
		print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", text);
		print_color_int(PRINT_JSON, COLOR_NONE, opt->json, NULL, (__s32)val);
		return;
	}
	if (opt->unit == TC_UNIT_MILLI || opt->unit == TC_UNIT_NANO) {
		fraction = val / (opt->unit == TC_UNIT_MILLI ? 1000.0 : 1e9);
		tc_print_decimals(text, sizeof(text), fraction);
		print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", opt->name);
		print_color_string(PRINT_FP, COLOR_NONE, NULL, " %s ", text);
		print_color_float(PRINT_JSON, COLOR_NONE, opt->json, NULL, fraction);
		return;
	}
	if (opt->unit == TC_UNIT_BYTES) {
		suffix = "b";
		if (val && !(val % (1 << 20))) {
			shown = val >> 20;
			suffix = "Mb";
		} else if (val && !(val % (1 << 10))) {
			shown = val >> 10;
			suffix = "Kb";
		}
	} else if (opt->unit == TC_UNIT_MS) {
		suffix = val % 1000 ? "ms" : "s";
		shown = val % 1000 ? val : val / 1000;
	} else if (opt->unit == TC_UNIT_US) {
		suffix = "us";
		if (val && !(val % 1000)) {
			suffix = val % 1000000 ? "ms" : "s";
			shown = val / (val % 1000000 ? 1000 : 1000000);
		}
	} else if (opt->unit == TC_UNIT_PERCENT) {
		suffix = "%";
	} else if (opt->unit == TC_UNIT_RATE || opt->unit == TC_UNIT_RATE64) {
		suffix = "bps";
		if (val <= TC_U64_MAX / 8) {
			shown = val * 8;
			for (i = 0; i < 4 && shown && !(shown % 1000); i++)
				shown /= 1000;
			suffix = bits[i];
		}
	}
	snprintf(text, sizeof(text), "%s %llu%s ", opt->name,
		 (unsigned long long)shown, suffix);
	print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", text);
	print_color_u64(PRINT_JSON, COLOR_NONE, opt->json, NULL, val);
}

/**
 * tc_print_opts - print the options of a qdisc
 * @opts: the options there are, up to one without name
 * @nest: TCA_OPTIONS, may be NULL
 *
 * Return: what print_qopt is to return.
 */
static inline int tc_print_opts(const struct tc_opt *opts,
				struct rtattr *nest)
{
	struct rtattr *tb[TC_GLUE_ATTRS], *attr;
	__u32 val32;
	__u64 val;

	if (!nest)
		return 0;
	parse_rtattr(tb, TC_GLUE_ATTRS - 1, RTA_DATA(nest), RTA_PAYLOAD(nest));
	for (; opts->name; opts++) {
		attr = tb[opts->attr];
		if (!opts->json || !attr || RTA_PAYLOAD(attr) < sizeof(val32))
			continue;
		memcpy(&val32, RTA_DATA(attr), sizeof(val32));
		val = val32;
		if (opts->unit == TC_UNIT_RATE64) {
			if (RTA_PAYLOAD(attr) < sizeof(val))
				continue;
			memcpy(&val, RTA_DATA(attr), sizeof(val));
		}
		if (tc_is_word(opts) ? opts->word == val :
		    opts->unit != TC_UNIT_SIGNED || opts->word != val)
			tc_print_opt(opts, val);
	}
	return 0;
}

/**
 * tc_print_stats - print TCA_STATS_APP, of a qdisc or of a class
 * @types: for each type, up to NULL, the fields to print, up to one without name
 * @xstats: the attribute, may be NULL
 *
 * What an older module does not send is left out, what a newer one sends
 * beyond is ignored.
 *
 * Return: what print_xstats is to return.
 */
static inline int tc_print_stats(const struct tc_stat * const *types,
				 struct rtattr *xstats)
{
	const struct tc_stat *stats;
	unsigned int line = 0;
	__u32 type, v32;
	char text[80];
	char *from;
	__u64 val;

	if (!xstats || RTA_PAYLOAD(xstats) < sizeof(type))
		return 0;
	memcpy(&type, RTA_DATA(xstats), sizeof(type));
	while (type && *types) {
		types++;
		type--;
	}
	if (!*types)
		return 0;
	for (stats = *types; stats->name; stats++) {
		if (RTA_PAYLOAD(xstats) < stats->offset + stats->size)
			continue;
		from = (char *)RTA_DATA(xstats) + stats->offset;
		if (stats->size == sizeof(v32)) {
			memcpy(&v32, from, sizeof(v32));
			val = v32;
		} else {
			memcpy(&val, from, sizeof(val));
		}
		if (line && line != stats->line)
			print_nl();
		snprintf(text, sizeof(text), "%s %s %llu%s",
			 line == stats->line ? "" : " ", stats->name,
			 (unsigned long long)val, stats->suffix);
		line = stats->line;
		print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", text);
		print_color_u64(PRINT_JSON, COLOR_NONE, stats->name, NULL, val);
	}
	return 0;
}

static const char * const tc_splits[] = {
	[TC_SF_SPLIT_OFF] = "off",
	[TC_SF_SPLIT_ON] = "on",
	[TC_SF_SPLIT_AUTO] = "auto",
	NULL
};

/* The row of an option that every kind has; those at the end are in tc_shaper.h. */
#define TC_SPLIT_GSO(attr)						\
	{ "split_gso", "split_gso", TC_UNIT_NAME_OR_WORD, attr,		\
	  TC_SF_SPLIT_ON, tc_splits }

#include "tc_class.h"

#ifdef TC_OWN_PRINT
#include "tc_print.h"
#endif

/* The plugin of a kind: what tc knows of it, and what the functions below need */
struct tc_plugin {
	struct qdisc_util util;
	const struct tc_opt *opts;
	const struct tc_stat * const *stats;
};

static inline int tc_parse_qopt(const struct qdisc_util *qu, int argc, char **argv,
				struct nlmsghdr *n, const char *dev)
{
	const struct tc_plugin *plugin = (const struct tc_plugin *)qu;

	(void)dev;
	return tc_parse_opts(qu->id, plugin->opts, argc, argv, n);
}

static inline int tc_print_qopt(const struct qdisc_util *qu, FILE *f,
				struct rtattr *opt)
{
	(void)f;
#ifdef TC_OWN_PRINT
	json_first = true;	/* in the object that tc has opened */
#endif
	return tc_print_opts(((const struct tc_plugin *)qu)->opts, opt);
}

static inline int tc_print_copt(const struct qdisc_util *qu, FILE *f,
				struct rtattr *opt)
{
	(void)qu;
	(void)f;
#ifdef TC_OWN_PRINT
	json_first = true;
#endif
	return tc_print_class(opt);
}

static inline int tc_print_xstats(const struct qdisc_util *qu, FILE *f,
				  struct rtattr *xstats)
{
	(void)f;
	return tc_print_stats(((const struct tc_plugin *)qu)->stats, xstats);
}

/**
 * TC_PLUGIN - the plugin of a kind
 * @kind: its name
 * @options: those there are, up to one without name
 * @statistics: for each type of TCA_STATS_APP its fields, up to NULL
 */
#define TC_PLUGIN(kind, options, statistics)				\
	struct tc_plugin kind ## _qdisc_util = {			\
		.util = {						\
			.id = #kind,					\
			.parse_qopt = tc_parse_qopt,			\
			.print_qopt = tc_print_qopt,			\
			.print_xstats = tc_print_xstats,		\
			.print_copt = tc_print_copt,			\
		},							\
		.opts = options,					\
		.stats = statistics,					\
	}

#endif
