// SPDX-License-Identifier: GPL-2.0
/* tc plugin of the run2c qdisc (RuN2C: the sequence number tells how far TCP has come) */

#include "tc_glue.h"
#include "../sch_run2c/pkt_run2c.h"

static const char * const run2c_others[] = {
	[TC_RUN2C_OTHER_HIGH] = "high",
	[TC_RUN2C_OTHER_LOW] = "low",
	[TC_RUN2C_OTHER_COUNT] = "count",
	NULL
};

#define TC_SHAPER(attr) TCA_RUN2C_ ## attr

static const struct tc_opt run2c_opts[] = {
	{ "threshold", "threshold", TC_UNIT_BYTES, TCA_RUN2C_THRESHOLD },
	{ "span", "span", TC_UNIT_BYTES, TCA_RUN2C_SPAN },
	{ "learn", "learn", TC_UNIT_WORD, TCA_RUN2C_LEARN, 1 },
	{ "no_learn", "learn", TC_UNIT_WORD, TCA_RUN2C_LEARN, 0 },
	{ "order", "order", TC_UNIT_WORD, TCA_RUN2C_ORDER, 1 },
	{ "no_order", "order", TC_UNIT_WORD, TCA_RUN2C_ORDER, 0 },
	{ "other", "other", TC_UNIT_NAME, TCA_RUN2C_OTHER, 0, run2c_others },
	{ "slow", "slow", TC_UNIT_RATE, TCA_RUN2C_SLOW },
	{ "resent", "resent_percent", TC_UNIT_PERCENT, TCA_RUN2C_RESENT },
	{ "guarantee", "guarantee_percent", TC_UNIT_PERCENT, TCA_RUN2C_GUARANTEE },
	{ "limit", "limit", TC_UNIT_PACKETS, TCA_RUN2C_LIMIT },
	{ "buffer", "buffer_ms", TC_UNIT_MS, TCA_RUN2C_BUFFER },
	{ "queues", "queues", TC_UNIT_NONE, TCA_RUN2C_QUEUES },
	{ "quantum", "quantum", TC_UNIT_BYTES, TCA_RUN2C_QUANTUM },
	{ "linger", "linger_ms", TC_UNIT_MS, TCA_RUN2C_LINGER },
	{ "plain", NULL, TC_UNIT_WORD, TCA_RUN2C_LEARN, 0 },
	{ "plain", NULL, TC_UNIT_WORD, TCA_RUN2C_OTHER, TC_RUN2C_OTHER_HIGH },
	{ "plain", NULL, TC_UNIT_WORD, TCA_RUN2C_RESENT, 0 },
	{ "plain", NULL, TC_UNIT_WORD, TCA_RUN2C_GUARANTEE, 0 },
	{ "plain", NULL, TC_UNIT_WORD, TCA_RUN2C_BUFFER, 0 },
	{ "plain", NULL, TC_UNIT_WORD, TCA_RUN2C_QUEUES, 1 },
	{ "plain", NULL, TC_UNIT_WORD, TCA_RUN2C_LINGER, 0 },
	{ "memory_limit", "memory_limit", TC_UNIT_BYTES, TCA_RUN2C_MEMORY_LIMIT },
	{ "flows", "flows", TC_UNIT_NONE, TCA_RUN2C_FLOWS },
	TC_SPLIT_GSO(TCA_RUN2C_SPLIT_GSO),
#include "tc_shaper.h"
	{}
};

/* A field of a band, named for it */
#define RUN2C_BAND_STAT(band, type, field, line, suffix)		\
	{ #band "_" #field, suffix, line,				\
	  offsetof(struct tc_run2c_xstats, band) +			\
	  offsetof(struct tc_run2c_band, field), sizeof(type) }

static const struct tc_stat run2c_qdisc_stats[] = {
	TC_STAT(tc_run2c_xstats, __u64, drop_limit, 1, ""),
	TC_STAT(tc_run2c_xstats, __u64, drop_memory, 1, ""),
	TC_STAT(tc_run2c_xstats, __u64, drop_buffer, 1, ""),
	TC_STAT(tc_run2c_xstats, __u64, gso_split, 1, ""),
	TC_STAT(tc_run2c_xstats, __u64, tcp, 1, ""),
	TC_STAT(tc_run2c_xstats, __u64, other, 1, ""),
	TC_STAT(tc_run2c_xstats, __u64, flows_learned, 2, ""),
	TC_STAT(tc_run2c_xstats, __u32, flows_queued, 2, ""),
	TC_STAT(tc_run2c_xstats, __u32, records, 2, ""),
	TC_STAT(tc_run2c_xstats, __u32, records_peak, 2, ""),
	TC_STAT(tc_run2c_xstats, __u64, evictions, 2, ""),
	TC_STAT(tc_run2c_xstats, __u64, overflow, 2, ""),
	TC_STAT(tc_run2c_xstats, __u32, memory, 3, "b"),
	TC_STAT(tc_run2c_xstats, __u32, memory_peak, 3, "b"),
	TC_STAT(tc_run2c_xstats, __u32, room, 3, "b"),
	RUN2C_BAND_STAT(high, __u64, bytes, 4, "b"),
	RUN2C_BAND_STAT(high, __u32, packets, 4, ""),
	RUN2C_BAND_STAT(high, __u32, backlog, 4, "b"),
	RUN2C_BAND_STAT(high, __u32, qlen, 4, ""),
	RUN2C_BAND_STAT(high, __u32, drops, 4, ""),
	RUN2C_BAND_STAT(low, __u64, bytes, 5, "b"),
	RUN2C_BAND_STAT(low, __u32, packets, 5, ""),
	RUN2C_BAND_STAT(low, __u32, backlog, 5, "b"),
	RUN2C_BAND_STAT(low, __u32, qlen, 5, ""),
	RUN2C_BAND_STAT(low, __u32, drops, 5, ""),
	TC_STAT(tc_run2c_xstats, __u32, high_queues, 6, ""),
	TC_STAT(tc_run2c_xstats, __u32, low_queues, 6, ""),
	{}
};

static const struct tc_stat run2c_flow_stats[] = {
	TC_STAT(tc_run2c_flow_xstats, __u64, rank, 1, "b"),
	{}
};

static const struct tc_stat * const run2c_stats[] = {
	[TC_RUN2C_XSTATS_QDISC] = run2c_qdisc_stats,
	[TC_RUN2C_XSTATS_FLOW] = run2c_flow_stats,
	NULL
};

TC_PLUGIN(run2c, run2c_opts, run2c_stats);
