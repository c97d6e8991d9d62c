/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rows of a build for tests (test_numbers.h), included at the end of a qdisc's table of
 * options. SF_TEST_LAST is its last attribute.
 */
#define SF_TEST_ROW(number)						\
	.attr = SF_TEST_LAST + 1 + SF_NUMBER_ ## number, .value = SF_NUMBER_UNSET

	{ SF_TEST_ROW(IDLE), SF_RANGE("idle", 1, 86400000, " ms") },
	{ SF_TEST_ROW(FAIR), SF_RANGE("fair", 0, 2147483647, " bytes") },
	{ SF_TEST_ROW(FORGIVE_SHARE), SF_RANGE("forgive_share", 0, 100, " percent") },
	{ SF_TEST_ROW(RANK), SF_RANGE("rank", 0, 1, "") },
	{ SF_TEST_ROW(NEWCOMERS), SF_RANGE("newcomers", 0, 65535, "") },
	{ SF_TEST_ROW(KNOWN_SHARE), SF_RANGE("known_share", 0, 99, " percent") },
	{ SF_TEST_ROW(LONG_SHARE), SF_RANGE("long_share", 0, 99, " percent") },
	{ SF_TEST_ROW(QUANTUM), SF_RANGE("quantum", 256, 1048576, " bytes") },
	{
		SF_TEST_ROW(HOST_RECORDS), SF_POWER("host_records", 8, 32768),
		SF_FIXED("host_records")
	},
#undef SF_TEST_ROW
#undef SF_TEST_LAST
