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
	{}
};

#define LAS_STAT(field, line, suffix) \
	TC_STAT(struct tc_las_xstats, field, line, suffix)

static const struct tc_stat las_stats[] = {
	LAS_STAT(drop_limit, 1, ""),
	LAS_STAT(drop_memory, 1, ""),
	LAS_STAT(flows_queued, 2, ""),
	LAS_STAT(records, 2, ""),
	LAS_STAT(flows_seen, 2, ""),
	LAS_STAT(evictions, 2, ""),
	LAS_STAT(overflow, 2, ""),
	LAS_STAT(memory, 3, "b"),
	LAS_STAT(memory_peak, 3, "b"),
	{}
};

static void las_explain(void)
{
	fprintf(stderr,
		"Usage: ... las [ limit PACKETS ] [ memory_limit BYTES ]\n"
		"               [ flows NUMBER ] [ idle TIME ]\n");
}

static int las_parse_qopt(const struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev)
{
	(void)dev;
	return tc_parse_opts(qu->id, las_opts, las_explain, argc, argv, n);
}

static int las_print_qopt(const struct qdisc_util *qu, FILE *f,
			  struct rtattr *opt)
{
	(void)qu;
	(void)f;
	return tc_print_opts(las_opts, TCA_LAS_MAX, opt);
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
