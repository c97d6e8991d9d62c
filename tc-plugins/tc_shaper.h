/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rows of a plugin's table for what all kinds have to shape with, included
 * at its end. TC_SHAPER() makes of RATE the attribute RATE of the kind.
 */
	{ "no_split_gso", NULL, TC_UNIT_WORD, TC_SHAPER(SPLIT_GSO), TC_SF_SPLIT_OFF },
	{ "rate", "rate", TC_UNIT_RATE64, TC_SHAPER(RATE) },
	{ "raw", "overhead", TC_UNIT_ONLY, TC_SHAPER(OVERHEAD), (__u32)TC_SF_OVERHEAD_RAW },
	{ "overhead", "overhead", TC_UNIT_SIGNED, TC_SHAPER(OVERHEAD), (__u32)TC_SF_OVERHEAD_RAW },
	{ "mpu", "mpu", TC_UNIT_NONE, TC_SHAPER(MPU) },
	{ "ptm", "framing", TC_UNIT_ONLY, TC_SHAPER(FRAMING), TC_SF_FRAMING_PTM },
	{ "atm", "framing", TC_UNIT_ONLY, TC_SHAPER(FRAMING), TC_SF_FRAMING_ATM },
	{ "noatm", "framing", TC_UNIT_ONLY, TC_SHAPER(FRAMING), TC_SF_FRAMING_NONE },
	{ "ingress", "ingress", TC_UNIT_WORD, TC_SHAPER(INGRESS), 1 },
	{ "egress", "ingress", TC_UNIT_WORD, TC_SHAPER(INGRESS), 0 },
	/*
	 * The names that links have in tc-cake(8), for their framing and what their
	 * layers add
	 */
	{ "conservative", NULL, TC_UNIT_WORD, TC_SHAPER(OVERHEAD), 48 },
	{ "conservative", NULL, TC_UNIT_ONLY, TC_SHAPER(FRAMING), TC_SF_FRAMING_ATM },
	{ "ipoa-vcmux", NULL, TC_UNIT_ADD, TC_SHAPER(OVERHEAD), 8 },
	{ "ipoa-vcmux", NULL, TC_UNIT_ONLY, TC_SHAPER(FRAMING), TC_SF_FRAMING_ATM },
	{ "ipoa-llcsnap", NULL, TC_UNIT_ADD, TC_SHAPER(OVERHEAD), 16 },
	{ "ipoa-llcsnap", NULL, TC_UNIT_ONLY, TC_SHAPER(FRAMING), TC_SF_FRAMING_ATM },
	{ "bridged-vcmux", NULL, TC_UNIT_ADD, TC_SHAPER(OVERHEAD), 24 },
	{ "bridged-vcmux", NULL, TC_UNIT_ONLY, TC_SHAPER(FRAMING), TC_SF_FRAMING_ATM },
	{ "bridged-llcsnap", NULL, TC_UNIT_ADD, TC_SHAPER(OVERHEAD), 32 },
	{ "bridged-llcsnap", NULL, TC_UNIT_ONLY, TC_SHAPER(FRAMING), TC_SF_FRAMING_ATM },
	{ "pppoa-vcmux", NULL, TC_UNIT_ADD, TC_SHAPER(OVERHEAD), 10 },
	{ "pppoa-vcmux", NULL, TC_UNIT_ONLY, TC_SHAPER(FRAMING), TC_SF_FRAMING_ATM },
	{ "pppoa-llc", NULL, TC_UNIT_ADD, TC_SHAPER(OVERHEAD), 14 },
	{ "pppoa-llc", NULL, TC_UNIT_ONLY, TC_SHAPER(FRAMING), TC_SF_FRAMING_ATM },
	{ "pppoe-vcmux", NULL, TC_UNIT_ADD, TC_SHAPER(OVERHEAD), 32 },
	{ "pppoe-vcmux", NULL, TC_UNIT_ONLY, TC_SHAPER(FRAMING), TC_SF_FRAMING_ATM },
	{ "pppoe-llcsnap", NULL, TC_UNIT_ADD, TC_SHAPER(OVERHEAD), 40 },
	{ "pppoe-llcsnap", NULL, TC_UNIT_ONLY, TC_SHAPER(FRAMING), TC_SF_FRAMING_ATM },
	{ "pppoe-ptm", NULL, TC_UNIT_ADD, TC_SHAPER(OVERHEAD), 30 },
	{ "pppoe-ptm", NULL, TC_UNIT_ONLY, TC_SHAPER(FRAMING), TC_SF_FRAMING_PTM },
	{ "bridged-ptm", NULL, TC_UNIT_ADD, TC_SHAPER(OVERHEAD), 22 },
	{ "bridged-ptm", NULL, TC_UNIT_ONLY, TC_SHAPER(FRAMING), TC_SF_FRAMING_PTM },
	{ "docsis", NULL, TC_UNIT_ADD, TC_SHAPER(OVERHEAD), 18 },
	{ "docsis", NULL, TC_UNIT_ONLY, TC_SHAPER(FRAMING), TC_SF_FRAMING_NONE },
	{ "docsis", NULL, TC_UNIT_WORD, TC_SHAPER(MPU), 64 },
	{ "ethernet", NULL, TC_UNIT_ADD, TC_SHAPER(OVERHEAD), 38 },
	{ "ethernet", NULL, TC_UNIT_WORD, TC_SHAPER(MPU), 84 },
	{ "ether-vlan", NULL, TC_UNIT_ADD, TC_SHAPER(OVERHEAD), 4 },
	{ "via-ethernet", NULL, TC_UNIT_WORD },
#ifdef SF_TEST
	{ "idle", "idle_ms", TC_UNIT_MS, TC_SHAPER(INGRESS) + 1 + SF_NUMBER_IDLE },
#ifdef TC_GROUPS
	{ "fair", "fair", TC_UNIT_BYTES, TC_SHAPER(INGRESS) + 1 + SF_NUMBER_FAIR },
	{ "forgive_share", "forgive_share_percent", TC_UNIT_PERCENT,
	  TC_SHAPER(INGRESS) + 1 + SF_NUMBER_FORGIVE_SHARE },
	{ "rank", "rank", TC_UNIT_NAME, TC_SHAPER(INGRESS) + 1 + SF_NUMBER_RANK, 0,
	  (const char * const[]) { "attained", "visible", NULL } },
	{ "newcomers", "newcomers", TC_UNIT_NONE, TC_SHAPER(INGRESS) + 1 + SF_NUMBER_NEWCOMERS },
	{ "known_share", "known_share_percent", TC_UNIT_PERCENT,
	  TC_SHAPER(INGRESS) + 1 + SF_NUMBER_KNOWN_SHARE },
	{ "long_share", "long_share_percent", TC_UNIT_PERCENT,
	  TC_SHAPER(INGRESS) + 1 + SF_NUMBER_LONG_SHARE },
	{ "quantum", "quantum", TC_UNIT_BYTES, TC_SHAPER(INGRESS) + 1 + SF_NUMBER_QUANTUM },
	{ "host_records", "host_records", TC_UNIT_NONE,
	  TC_SHAPER(INGRESS) + 1 + SF_NUMBER_HOST_RECORDS },
#undef TC_GROUPS
#endif
#endif
#undef TC_SHAPER
