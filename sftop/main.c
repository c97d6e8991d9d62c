// SPDX-License-Identifier: GPL-2.0
/*
 * sftop: flows and hosts of qdiscs that let short flows go first, live or once
 */
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel.h"
#include "output.h"
#include "screen.h"

/* Exit statuses */
#define FAILED		1
#define MISUSED		2
#define NO_QDISC	3

enum mode { LIVE, ONCE, JSON, PROMETHEUS };

struct options {
	enum mode mode;
	const char *mode_name;
	struct output output;
	double delay;
	long count;		/* 0: no end */
	bool limited, sorted, delayed;
};

static int usage(FILE *to)
{
	fprintf(to,
		"Usage: sftop [OPTIONS] [INTERFACE...]\n"
		"\n"
		"Flows and hosts of the qdiscs that let short flows go first, on all interfaces or\n"
		"these: live, or\n"
		"      --once         as a table, once\n"
		"      --json         as JSON, once\n"
		"      --prometheus   as metrics, once, for the textfile collector of node_exporter\n"
		"\n"
		"  -d, --delay SECONDS  between two looks, of which rates are the difference (1)\n"
		"  -n, --count COUNT    look so many times, then end (without --once and the like)\n"
		"  -s, --sort WORD      most of it first: rate, waiting, waited, drops, bytes, attained\n"
		"      --limit N        flows in a table or JSON, and hosts; of --prometheus hosts (20)\n"
		"      --hosts          metrics of hosts, too\n"
		"  -h, --help, -V, --version\n");
	return to == stderr ? MISUSED : 0;
}

static int misused(const char *format, const char *what)
{
	fprintf(stderr, "sftop: ");
	fprintf(stderr, format, what);
	fprintf(stderr, "; see sftop --help\n");
	return MISUSED;
}

static bool get_number(const char *text, double least, double most, double *to)
{
	char *end;

	errno = 0;
	*to = strtod(text, &end);
	return end != text && !*end && !errno && *to >= least && *to <= most &&
	       strspn(text, "0123456789.") == strlen(text);
}

static bool get_whole(const char *text, double *to)
{
	return get_number(text, 1, 1000000000, to) && strspn(text, "0123456789") == strlen(text);
}

static bool get_order(const char *text, enum order *order)
{
	int i;

	for (i = 0; i < ORDERS; i++) {
		if (!strcmp(text, order_names[i])) {
			*order = i;
			return true;
		}
	}
	return false;
}

/* 0, or -1 if all is done, with the exit status */
static int get_options(int argc, char **argv, struct options *o, int *status)
{
	static const struct option longs[] = {
		{ "once", no_argument, NULL, ONCE },
		{ "json", no_argument, NULL, JSON },
		{ "prometheus", no_argument, NULL, PROMETHEUS },
		{ "delay", required_argument, NULL, 'd' },
		{ "count", required_argument, NULL, 'n' },
		{ "sort", required_argument, NULL, 's' },
		{ "limit", required_argument, NULL, 'l' },
		{ "hosts", no_argument, NULL, 'H' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{}
	};
	double n;
	int c, at = 0;

	while ((c = getopt_long(argc, argv, ":d:n:s:hV", longs, &at)) != -1) {
		*status = 0;
		switch (c) {
		case ONCE:
		case JSON:
		case PROMETHEUS:
			if (o->mode != LIVE && (int)o->mode != c)
				*status = misused("one of --once, --json and --prometheus%s", "");
			o->mode = c;
			o->mode_name = longs[at].name;
			break;
		case 'd':
			if (!get_number(optarg, 0.1, 3600, &o->delay))
				*status = misused("\"%s\" is not from 0.1 to 3600 seconds",
						  optarg);
			o->delayed = true;
			break;
		case 'n':
			if (!get_whole(optarg, &n))
				*status = misused("\"%s\" is not how many times", optarg);
			o->count = n;
			break;
		case 's':
			if (!get_order(optarg, &o->output.order))
				*status = misused("\"%s\" is nothing to sort by", optarg);
			o->sorted = true;
			break;
		case 'l':
			if (!get_whole(optarg, &n))
				*status = misused("\"%s\" is not how many", optarg);
			o->output.limit = n;
			o->limited = true;
			break;
		case 'H':
			o->output.hosts = true;
			break;
		case 'h':
			usage(stdout);
			return -1;
		case 'V':
			printf("sftop %s\n", VERSION);
			return -1;
		case ':':
			*status = misused("%s: something is missing after it", argv[optind - 1]);
			return -1;
		default:
			*status = misused("\"%s\" is no option", argv[optind - 1]);
			return -1;
		}
		if (*status)
			return -1;
	}
	*status = 0;
	if (o->mode != LIVE && o->count)
		*status = misused("--count is not for --%s", o->mode_name);
	else if (o->mode == LIVE && o->limited)
		*status = misused("--limit is %s", "for --once, --json and --prometheus");
	else if (o->mode != PROMETHEUS && o->output.hosts)
		*status = misused("--hosts is %s", "for --prometheus");
	else if (o->mode == PROMETHEUS && o->delayed)
		*status = misused("--delay is %s", "not for --prometheus, which has no rates");
	else if (o->mode == PROMETHEUS && !o->output.hosts && (o->limited || o->sorted))
		*status = misused("--%s is of hosts, and there is no --hosts",
				  o->limited ? "limit" : "sort");
	return *status ? -1 : 0;
}

static void wait_for(double seconds)
{
	struct timespec left = { .tv_sec = seconds };

	left.tv_nsec = (seconds - left.tv_sec) * 1e9;
	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

/* Each that was named is there? Says of the first that is not. */
static bool all_found(const struct monitor *m)
{
	size_t j;
	int i;

	for (i = 0; i < m->n_wanted; i++) {
		for (j = 0; j < m->now.n_links; j++) {
			if (!strcmp(m->wanted[i], m->now.links[j].raw))
				break;
		}
		if (j == m->now.n_links) {
			fprintf(stderr, "sftop: Cannot find device \"%s\"\n", m->wanted[i]);
			return false;
		}
	}
	return true;
}

static bool refreshed(struct monitor *m)
{
	monitor_refresh(m);
	if (m->now.error)
		fprintf(stderr, "sftop: Cannot read from the kernel: %s\n", m->now.error);
	return !m->now.error;
}

static int once(struct monitor *m, const struct options *o)
{
	const char *notice;

	if (o->mode != PROMETHEUS) {	/* of two looks */
		wait_for(o->delay);
		if (!refreshed(m))
			return FAILED;
	}
	if (o->mode == JSON)
		output_json(m, &o->output);
	else if (o->mode == PROMETHEUS)
		output_prometheus(m, &o->output);
	else
		output_table(m, &o->output);
	notice = output_notice(&m->now);
	if (notice && o->mode != JSON && (o->mode != PROMETHEUS || o->output.hosts))
		fprintf(stderr, "sftop: %s\n", notice);
	if (m->now.n_qdiscs)
		return 0;
	fprintf(stderr, "sftop: No qdisc of shortfirst here. %s\n", SCREEN_ADVICE);
	return NO_QDISC;
}

/* A table at each look, where there is no screen */
static int tables(struct monitor *m, const struct options *o)
{
	long i;

	for (i = 0; !o->count || i < o->count; i++) {
		wait_for(o->delay);
		if (!refreshed(m))
			return FAILED;
		if (i)
			putchar('\n');
		output_table(m, &o->output);
		if (!m->now.n_qdiscs)
			printf("No qdisc of shortfirst here. %s\n", SCREEN_ADVICE);
		if (fflush(stdout))
			return FAILED;
	}
	return 0;
}

static int live(struct monitor *m, const struct options *o)
{
	struct screen_options how = { o->output.order, o->delay, o->count };

	if (!screen_open())
		return tables(m, o);
	screen_run(m, &how);
	screen_close();
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { .delay = 1, .output = { .order = BY_RATE, .limit = 20 } };
	struct monitor m = {};
	int status = 0;

	setlocale(LC_CTYPE, "");
	if (get_options(argc, argv, &o, &status))
		return status;
	if (o.mode == PROMETHEUS && !o.sorted)
		o.output.order = BY_BYTES;
	if (o.mode == JSON && !o.limited)
		o.output.limit = ENTRIES_MAX;
	m.wanted = (const char * const *)argv + optind;
	m.n_wanted = argc - optind;
	if (!refreshed(&m) || !all_found(&m))
		status = FAILED;
	else
		status = o.mode == LIVE ? live(&m, &o) : once(&m, &o);
	monitor_free(&m);
	kernel_close();
	if (fflush(stdout) || ferror(stdout)) {
		perror("sftop");
		return FAILED;
	}
	return status;
}
