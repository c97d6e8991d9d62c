/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A build for tests (SF_TEST) only: numbers that are constants for users are
 * options there, so that a test needs a few packets where it would need megabytes. Their
 * attributes follow the qdisc's own, in this order. All are u32. One that was not given is not
 * dumped, and the constant holds. The module and the tc plugin include it.
 */
#ifndef _SF_TEST_NUMBERS_H
#define _SF_TEST_NUMBERS_H

enum sf_number {
	SF_NUMBER_IDLE,			/* ms */
	SF_NUMBER_FAIR,			/* bytes; 0: no flow is long */
	SF_NUMBER_FORGIVE_SHARE,	/* percent */
	SF_NUMBER_RANK,			/* 0: attained service, 1: visible size */
	SF_NUMBER_NEWCOMERS,		/* flows; 0: no bound */
	SF_NUMBER_KNOWN_SHARE,		/* percent */
	SF_NUMBER_LONG_SHARE,		/* percent */
	SF_NUMBER_QUANTUM,		/* bytes */
	SF_NUMBER_HOST_RECORDS,		/* a power of two */
	SF_NUMBERS
};

#define SF_NUMBER_UNSET	(~0U)

#endif
