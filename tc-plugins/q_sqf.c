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

static const char * const sqf_hosts[] = { "none", "src", "dst", "both", NULL };

#define TC_SHAPER(attr) TCA_SQF_ ## attr

static const struct tc_opt sqf_opts[] = {
	{ "policy", "policy", TC_UNIT_NAME, TCA_SQF_POLICY, 0, sqf_policies },
	{ "limit", "limit", TC_UNIT_PACKETS, TCA_SQF_LIMIT },
	{ "memory_limit", "memory_limit", TC_UNIT_BYTES, TCA_SQF_MEMORY_LIMIT },
	{ "flows", "flows", TC_UNIT_NONE, TCA_SQF_FLOWS },
	{ "plain", "plain", TC_UNIT_WORD, TCA_SQF_PLAIN, 1 },
	{ "noplain", "plain", TC_UNIT_WORD, TCA_SQF_PLAIN, 0 },
	{ "buffer", "buffer_ms", TC_UNIT_MS, TCA_SQF_BUFFER },
	{ "target", "target", TC_UNIT_US, TCA_SQF_TARGET },
	{ "ecn", "ecn", TC_UNIT_WORD, TCA_SQF_ECN, 1 },
	{ "noecn", "ecn", TC_UNIT_WORD, TCA_SQF_ECN, 0 },
	{ "hosts", "hosts", TC_UNIT_NAME, TCA_SQF_HOSTS, 0, sqf_hosts },
	{ "nat", "nat", TC_UNIT_WORD, TCA_SQF_NAT, 1 },
	{ "nonat", "nat", TC_UNIT_WORD, TCA_SQF_NAT, 0 },
	{ "drop", "drop", TC_UNIT_NAME, TCA_SQF_DROP_HEAD, 0, sqf_ends },
	TC_SPLIT_GSO(TCA_SQF_SPLIT_GSO),
#define TC_GROUPS
#include "tc_shaper.h"
	{}
};

static const struct tc_stat sqf_qdisc_stats[] = {
	TC_STAT(tc_sqf_xstats, __u64, drop_limit, 1, ""),
	TC_STAT(tc_sqf_xstats, __u64, drop_memory, 1, ""),
	TC_STAT(tc_sqf_xstats, __u64, drop_buffer, 1, ""),
	TC_STAT(tc_sqf_xstats, __u64, drop_new, 1, ""),
	TC_STAT(tc_sqf_xstats, __u64, drop_codel, 1, ""),
	TC_STAT(tc_sqf_xstats, __u64, marked, 1, ""),
	TC_STAT(tc_sqf_xstats, __u64, gso_split, 1, ""),
	TC_STAT(tc_sqf_xstats, __u32, flows_queued, 2, ""),
	TC_STAT(tc_sqf_xstats, __u32, flows_new, 2, ""),
	TC_STAT(tc_sqf_xstats, __u32, flows_long, 2, ""),
	TC_STAT(tc_sqf_xstats, __u32, records, 2, ""),
	TC_STAT(tc_sqf_xstats, __u64, flows_seen, 2, ""),
	TC_STAT(tc_sqf_xstats, __u64, evictions, 2, ""),
	TC_STAT(tc_sqf_xstats, __u64, overflow, 2, ""),
	TC_STAT(tc_sqf_xstats, __u32, hosts_known, 2, ""),
	TC_STAT(tc_sqf_xstats, __u32, hosts_over, 2, ""),
	TC_STAT(tc_sqf_xstats, __u64, host_evictions, 2, ""),
	TC_STAT(tc_sqf_xstats, __u32, memory, 3, "b"),
	TC_STAT(tc_sqf_xstats, __u32, memory_peak, 3, "b"),
	TC_STAT(tc_sqf_xstats, __u32, longest, 3, "b"),
	TC_STAT(tc_sqf_xstats, __u32, room, 3, "b"),
	{}
};

static const struct tc_stat sqf_flow_stats[] = {
	TC_STAT(tc_sqf_flow_xstats, __u64, attained, 1, "b"),
	TC_STAT(tc_sqf_flow_xstats, __u32, host, 1, ""),
	{}
};

static const struct tc_stat * const sqf_stats[] = {
	[TC_SQF_XSTATS_QDISC] = sqf_qdisc_stats,
	[TC_SQF_XSTATS_FLOW] = sqf_flow_stats,
	NULL
};

TC_PLUGIN(sqf, sqf_opts, sqf_stats);
