// SPDX-License-Identifier: GPL-2.0
/* tc plugin of the las qdisc (Least Attained Service) */

#include "tc_glue.h"
#include "../sch_las/pkt_las.h"

static const char * const las_hosts[] = { "none", "src", "dst", "both", NULL };

#define TC_SHAPER(attr) TCA_LAS_ ## attr

static const struct tc_opt las_opts[] = {
	{ "limit", "limit", TC_UNIT_PACKETS, TCA_LAS_LIMIT },
	{ "memory_limit", "memory_limit", TC_UNIT_BYTES, TCA_LAS_MEMORY_LIMIT },
	{ "flows", "flows", TC_UNIT_NONE, TCA_LAS_FLOWS },
	{ "plain", "plain", TC_UNIT_WORD, TCA_LAS_PLAIN, 1 },
	{ "noplain", "plain", TC_UNIT_WORD, TCA_LAS_PLAIN, 0 },
	{ "buffer", "buffer_ms", TC_UNIT_MS, TCA_LAS_BUFFER },
	{ "target", "target", TC_UNIT_US, TCA_LAS_TARGET },
	{ "ecn", "ecn", TC_UNIT_WORD, TCA_LAS_ECN, 1 },
	{ "noecn", "ecn", TC_UNIT_WORD, TCA_LAS_ECN, 0 },
	{ "hosts", "hosts", TC_UNIT_NAME, TCA_LAS_HOSTS, 0, las_hosts },
	{ "nat", "nat", TC_UNIT_WORD, TCA_LAS_NAT, 1 },
	{ "nonat", "nat", TC_UNIT_WORD, TCA_LAS_NAT, 0 },
	{ "log", "log", TC_UNIT_MILLI, TCA_LAS_LOG },
	TC_SPLIT_GSO(TCA_LAS_SPLIT_GSO),
#define TC_GROUPS
#include "tc_shaper.h"
	{}
};

static const struct tc_stat las_qdisc_stats[] = {
	TC_STAT(tc_las_xstats, __u64, drop_limit, 1, ""),
	TC_STAT(tc_las_xstats, __u64, drop_memory, 1, ""),
	TC_STAT(tc_las_xstats, __u64, drop_buffer, 1, ""),
	TC_STAT(tc_las_xstats, __u64, drop_new, 1, ""),
	TC_STAT(tc_las_xstats, __u64, drop_codel, 1, ""),
	TC_STAT(tc_las_xstats, __u64, marked, 1, ""),
	TC_STAT(tc_las_xstats, __u64, gso_split, 1, ""),
	TC_STAT(tc_las_xstats, __u32, flows_queued, 2, ""),
	TC_STAT(tc_las_xstats, __u32, flows_new, 2, ""),
	TC_STAT(tc_las_xstats, __u32, flows_long, 2, ""),
	TC_STAT(tc_las_xstats, __u32, records, 2, ""),
	TC_STAT(tc_las_xstats, __u64, flows_seen, 2, ""),
	TC_STAT(tc_las_xstats, __u64, evictions, 2, ""),
	TC_STAT(tc_las_xstats, __u64, overflow, 2, ""),
	TC_STAT(tc_las_xstats, __u32, hosts_known, 2, ""),
	TC_STAT(tc_las_xstats, __u32, hosts_over, 2, ""),
	TC_STAT(tc_las_xstats, __u64, host_evictions, 2, ""),
	TC_STAT(tc_las_xstats, __u32, memory, 3, "b"),
	TC_STAT(tc_las_xstats, __u32, memory_peak, 3, "b"),
	TC_STAT(tc_las_xstats, __u32, room, 3, "b"),
	{}
};

static const struct tc_stat las_flow_stats[] = {
	TC_STAT(tc_las_flow_xstats, __u64, attained, 1, "b"),
	TC_STAT(tc_las_flow_xstats, __u32, host, 1, ""),
	{}
};

static const struct tc_stat * const las_stats[] = {
	[TC_LAS_XSTATS_QDISC] = las_qdisc_stats,
	[TC_LAS_XSTATS_FLOW] = las_flow_stats,
	NULL
};

TC_PLUGIN(las, las_opts, las_stats);
