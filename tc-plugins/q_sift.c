// SPDX-License-Identifier: GPL-2.0
/* tc plugin of the sift qdisc (SIFT: sampling sends long flows to the second band) */

#include "tc_glue.h"
#include "../sch_sift/pkt_sift.h"

static const char * const sift_bands[] = {
	[0] = "none",
	[TC_SIFT_HIGH] = "high",
	[TC_SIFT_LOW] = "low",
	[TC_SIFT_HIGH | TC_SIFT_LOW] = "both",
	NULL
};

#define TC_SHAPER(attr) TCA_SIFT_ ## attr

static const struct tc_opt sift_opts[] = {
	{ "probability", "probability", TC_UNIT_NANO, TCA_SIFT_PROBABILITY },
	{ "every", "every", TC_UNIT_PACKETS, TCA_SIFT_EVERY },
	{ "samples", "samples", TC_UNIT_NONE, TCA_SIFT_SAMPLES },
	{ "bytes", "bytes", TC_UNIT_WORD, TCA_SIFT_BYTES, 1 },
	{ "packets", "bytes", TC_UNIT_WORD, TCA_SIFT_BYTES, 0 },
	{ "slow", "slow", TC_UNIT_RATE, TCA_SIFT_SLOW },
	{ "guarantee", "guarantee_percent", TC_UNIT_PERCENT, TCA_SIFT_GUARANTEE },
	{ "limit", "limit", TC_UNIT_PACKETS, TCA_SIFT_LIMIT },
	{ "high", "high", TC_UNIT_PACKETS, TCA_SIFT_HIGH },
	{ "low", "low", TC_UNIT_PACKETS, TCA_SIFT_LOW },
	{ "buffer", "buffer_ms", TC_UNIT_MS, TCA_SIFT_BUFFER },
	{ "queues", "queues", TC_UNIT_NONE, TCA_SIFT_QUEUES },
	{ "quantum", "quantum", TC_UNIT_BYTES, TCA_SIFT_QUANTUM },
	{ "linger", "linger_ms", TC_UNIT_MS, TCA_SIFT_LINGER },
	{ "plain", NULL, TC_UNIT_WORD, TCA_SIFT_PROBABILITY, TC_SIFT_ONE / 100 },
	{ "plain", NULL, TC_UNIT_WORD, TCA_SIFT_BYTES, 0 },
	{ "plain", NULL, TC_UNIT_WORD, TCA_SIFT_SLOW, 0 },
	{ "plain", NULL, TC_UNIT_WORD, TCA_SIFT_GUARANTEE, 0 },
	{ "plain", NULL, TC_UNIT_WORD, TCA_SIFT_BUFFER, 0 },
	{ "plain", NULL, TC_UNIT_WORD, TCA_SIFT_QUEUES, 1 },
	{ "plain", NULL, TC_UNIT_WORD, TCA_SIFT_LINGER, 0 },
	{ "memory_limit", "memory_limit", TC_UNIT_BYTES, TCA_SIFT_MEMORY_LIMIT },
	{ "flows", "flows", TC_UNIT_NONE, TCA_SIFT_FLOWS },
	{ "red", "red", TC_UNIT_NAME, TCA_SIFT_RED, 0, sift_bands },
	{ "red_min", "red_min", TC_UNIT_PACKETS, TCA_SIFT_RED_MIN },
	{ "red_max", "red_max", TC_UNIT_PACKETS, TCA_SIFT_RED_MAX },
	{ "red_probability", "red_probability", TC_UNIT_NANO, TCA_SIFT_RED_PROBABILITY },
	{ "red_weight", "red_weight", TC_UNIT_NONE, TCA_SIFT_RED_WEIGHT },
	{ "red_bandwidth", "red_bandwidth", TC_UNIT_RATE, TCA_SIFT_RED_BANDWIDTH },
	{ "ecn", "ecn", TC_UNIT_WORD, TCA_SIFT_ECN, 1 },
	{ "no_ecn", "ecn", TC_UNIT_WORD, TCA_SIFT_ECN, 0 },
	TC_SPLIT_GSO(TCA_SIFT_SPLIT_GSO),
	{ "seed", "seed", TC_UNIT_NONE, TCA_SIFT_SEED },
#include "tc_shaper.h"
	{}
};

/* A field of a band, named for it */
#define SIFT_BAND_STAT(band, type, field, line, suffix)			\
	{ #band "_" #field, suffix, line,				\
	  offsetof(struct tc_sift_xstats, band) +			\
	  offsetof(struct tc_sift_band, field), sizeof(type) }

static const struct tc_stat sift_qdisc_stats[] = {
	TC_STAT(tc_sift_xstats, __u64, drop_limit, 1, ""),
	TC_STAT(tc_sift_xstats, __u64, drop_memory, 1, ""),
	TC_STAT(tc_sift_xstats, __u64, drop_band, 1, ""),
	TC_STAT(tc_sift_xstats, __u64, drop_buffer, 1, ""),
	TC_STAT(tc_sift_xstats, __u64, gso_split, 1, ""),
	TC_STAT(tc_sift_xstats, __u64, samples, 2, ""),
	TC_STAT(tc_sift_xstats, __u64, flows_sampled, 2, ""),
	TC_STAT(tc_sift_xstats, __u32, flows_queued, 2, ""),
	TC_STAT(tc_sift_xstats, __u32, records, 2, ""),
	TC_STAT(tc_sift_xstats, __u32, records_peak, 2, ""),
	TC_STAT(tc_sift_xstats, __u64, evictions, 2, ""),
	TC_STAT(tc_sift_xstats, __u64, overflow, 2, ""),
	TC_STAT(tc_sift_xstats, __u32, memory, 3, "b"),
	TC_STAT(tc_sift_xstats, __u32, memory_peak, 3, "b"),
	TC_STAT(tc_sift_xstats, __u32, room, 3, "b"),
	SIFT_BAND_STAT(high, __u64, bytes, 4, "b"),
	SIFT_BAND_STAT(high, __u32, packets, 4, ""),
	SIFT_BAND_STAT(high, __u32, backlog, 4, "b"),
	SIFT_BAND_STAT(high, __u32, qlen, 4, ""),
	SIFT_BAND_STAT(high, __u32, drops, 4, ""),
	SIFT_BAND_STAT(high, __u32, early, 4, ""),
	SIFT_BAND_STAT(high, __u32, marked, 4, ""),
	SIFT_BAND_STAT(low, __u64, bytes, 5, "b"),
	SIFT_BAND_STAT(low, __u32, packets, 5, ""),
	SIFT_BAND_STAT(low, __u32, backlog, 5, "b"),
	SIFT_BAND_STAT(low, __u32, qlen, 5, ""),
	SIFT_BAND_STAT(low, __u32, drops, 5, ""),
	SIFT_BAND_STAT(low, __u32, early, 5, ""),
	SIFT_BAND_STAT(low, __u32, marked, 5, ""),
	TC_STAT(tc_sift_xstats, __u32, high_queues, 6, ""),
	TC_STAT(tc_sift_xstats, __u32, low_queues, 6, ""),
	{}
};

static const struct tc_stat sift_flow_stats[] = {
	TC_STAT(tc_sift_flow_xstats, __u32, samples, 1, ""),
	{}
};

static const struct tc_stat * const sift_stats[] = {
	[TC_SIFT_XSTATS_QDISC] = sift_qdisc_stats,
	[TC_SIFT_XSTATS_FLOW] = sift_flow_stats,
	NULL
};

TC_PLUGIN(sift, sift_opts, sift_stats);
