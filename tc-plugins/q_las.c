// SPDX-License-Identifier: GPL-2.0
/* tc plugin of the las qdisc (Least Attained Service) */

#include <stddef.h>
#include "tc_glue.h"
#include "../include/uapi/pkt_las.h"

static const struct tc_opt las_opts[] = {
	{ "limit", "limit", TC_UNIT_NONE, TCA_LAS_LIMIT },
	{ "memory_limit", "memory_limit", TC_UNIT_BYTES, TCA_LAS_MEMORY_LIMIT },
	{ "flows", "flows", TC_UNIT_NONE, TCA_LAS_FLOWS },
	{ "idle", "idle_ms", TC_UNIT_MS, TCA_LAS_IDLE },
	{ "fair", "fair", TC_UNIT_BYTES, TCA_LAS_FAIR },
	{ "forgive", "forgive", TC_UNIT_RATE, TCA_LAS_FORGIVE },
	{}
};

#define LAS_STAT(type, field, line, suffix) \
	{ #field, suffix, line, offsetof(struct tc_las_xstats, field), \
	  sizeof(type) }

static const struct tc_stat las_stats[] = {
	LAS_STAT(__u64, drop_limit, 1, ""),
	LAS_STAT(__u64, drop_memory, 1, ""),
	LAS_STAT(__u32, flows_queued, 2, ""),
	LAS_STAT(__u32, records, 2, ""),
	LAS_STAT(__u64, flows_seen, 2, ""),
	LAS_STAT(__u64, evictions, 2, ""),
	LAS_STAT(__u64, overflow, 2, ""),
	LAS_STAT(__u32, memory, 3, "b"),
	LAS_STAT(__u32, memory_peak, 3, "b"),
	{}
};

static void las_explain(void)
{
	fprintf(stderr,
		"Usage: ... las [ limit PACKETS ] [ memory_limit BYTES ]\n"
		"               [ flows NUMBER ] [ idle TIME ]\n"
		"               [ fair BYTES ] [ forgive RATE ] [ plain ]\n");
}

static int las_parse_qopt(const struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev)
{
	static const char * const plain[] = { "fair", "0", "forgive", "0" };
	const int more = sizeof(plain) / sizeof(*plain);
	char **words = calloc(argc + 1, more * sizeof(*words));
	int i, count = 0, ret;

	(void)dev;
	if (!words)
		return -1;
	for (i = 0; i < argc; i++) {
		if (strcmp(argv[i], "plain")) {
			words[count++] = argv[i];
		} else {
			memcpy(words + count, plain, sizeof(plain));
			count += more;
		}
	}
	ret = tc_parse_opts(qu->id, las_opts, las_explain, count, words, n);
	free(words);
	return ret;
}

static int las_print_qopt(const struct qdisc_util *qu, FILE *f,
			  struct rtattr *opt)
{
	(void)qu;
	(void)f;
	return tc_print_opts(las_opts, opt);
}

static int las_print_xstats(const struct qdisc_util *qu, FILE *f,
			    struct rtattr *xstats)
{
	(void)qu;
	(void)f;
	return tc_print_stats(las_stats, xstats);
}

struct qdisc_util las_qdisc_util = {
	.id = "las",
	.parse_qopt = las_parse_qopt,
	.print_qopt = las_print_qopt,
	.print_xstats = las_print_xstats,
};
