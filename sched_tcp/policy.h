/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose data a segment carries: the function schedule() of sched-tcp-ayesta2014, Algorithm 2, for
 * the disciplines of its section 4.2. A policy gives each flow that has data a rank; the least
 * goes first, and of equal ones who has waited longest.
 */
#ifndef SCHED_TCP_POLICY_H
#define SCHED_TCP_POLICY_H

#include <stdbool.h>
#include <stdint.h>

enum policy {
	POLICY_TCP,	/* the identity: a connection carries its own flow's data */
	POLICY_SRPT,	/* who has least left */
	POLICY_LAS,	/* who has had least */
	POLICY_FAIR,	/* who would have ended first under tcp */
	POLICY_MU,	/* by the type of the flow; of one type who has had least */
	POLICIES
};

extern const char * const policy_names[POLICIES];

#endif
