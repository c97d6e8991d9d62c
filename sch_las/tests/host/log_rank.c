// SPDX-License-Identifier: GPL-2.0
/* sch_las/las_log.h for test_log_rank.py, as a library of user space */

#include "kernel.h"
#include "../../las_log.h"

u64 rank(u64 attained, u32 k)
{
	return las_log_rank(attained, las_log_factor(k));
}

/* The first of @from to @to that ranks before its predecessor, or 0 */
u64 falls(u64 from, u64 to, u32 k)
{
	u32 factor = las_log_factor(k);
	u64 before = las_log_rank(from - 1, factor);

	for (; from <= to; from++) {
		u64 now = las_log_rank(from, factor);

		if (now < before)
			return from;
		before = now;
	}
	return 0;
}
