// SPDX-License-Identifier: GPL-2.0
/* tc plugin of the sqf qdisc (Shortest Queue First, and others) */

#include "tc_glue.h"
#include "../sch_sqf/pkt_sqf.h"

static const char * const sqf_policies[] = {
	[TC_SQF_POLICY_SQF] = "sqf",
	[TC_SQF_POLICY_LQF] = "lqf",
	[TC_SQF_POLICY_FQ] = "fq",
	NULL
};

static const char * const sqf_ends[] = { "tail", "head", NULL };

static const struct tc_opt sqf_opts[] = {
	{ "policy", "policy", TC_UNIT_NAME, TCA_SQF_POLICY, 0, sqf_policies },
	{ "limit", "limit", TC_UNIT_PACKETS, TCA_SQF_LIMIT },
	{ "memory_limit", "memory_limit", TC_UNIT_BYTES, TCA_SQF_MEMORY_LIMIT },
	{ "flows", "flows", TC_UNIT_NONE, TCA_SQF_FLOWS },
	{ "idle", "idle_ms", TC_UNIT_MS, TCA_SQF_IDLE },
	{ "quantum", "quantum", TC_UNIT_BYTES, TCA_SQF_QUANTUM },
	{ "drop", "drop", TC_UNIT_NAME, TCA_SQF_DROP_HEAD, 0, sqf_ends },
	{ "split_gso", "split_gso", TC_UNIT_WORD, TCA_SQF_SPLIT_GSO, 1 },
	{ "no_split_gso", "split_gso", TC_UNIT_WORD, TCA_SQF_SPLIT_GSO, 0 },
	{}
};

static const struct tc_stat sqf_qdisc_stats[] = {
	TC_STAT(tc_sqf_xstats, __u64, drop_limit, 1, ""),
	TC_STAT(tc_sqf_xstats, __u64, drop_memory, 1, ""),
	TC_STAT(tc_sqf_xstats, __u64, gso_split, 1, ""),
	TC_STAT(tc_sqf_xstats, __u32, flows_queued, 2, ""),
	TC_STAT(tc_sqf_xstats, __u32, records, 2, ""),
	TC_STAT(tc_sqf_xstats, __u64, flows_seen, 2, ""),
	TC_STAT(tc_sqf_xstats, __u64, evictions, 2, ""),
	TC_STAT(tc_sqf_xstats, __u64, overflow, 2, ""),
	TC_STAT(tc_sqf_xstats, __u32, memory, 3, "b"),
	TC_STAT(tc_sqf_xstats, __u32, memory_peak, 3, "b"),
	TC_STAT(tc_sqf_xstats, __u32, longest, 3, "b"),
	{}
};

static const struct tc_stat * const sqf_stats[] = {
	[TC_SQF_XSTATS_QDISC] = sqf_qdisc_stats,
	NULL
};

TC_PLUGIN(sqf, sqf_opts, sqf_stats);
