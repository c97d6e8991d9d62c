// SPDX-License-Identifier: GPL-2.0
/* sch_sift/sift_sample.h as a library, for test_sift_sample.py */

#include "kernel.h"
#include "../../sift_sample.h"

struct sift_sampler *make(u32 seed, u32 probability, u32 every, bool bytes)
{
	struct sift_sampler *s = calloc(1, sizeof(*s));

	sift_seed(s, seed);
	sift_set(s, probability, every, bytes);
	return s;
}

u32 samples(struct sift_sampler *s, u32 units)
{
	return sift_samples(s, units);
}

u64 gap(const struct sift_sampler *s)
{
	return s->gap;
}

/*
 * How many of @flows flows of @size packets, all under way at once, get @needed samples
 * or more?
 */
u32 sampled(struct sift_sampler *s, u32 flows, u32 size, u32 needed)
{
	u32 *got = calloc(flows, sizeof(*got)), i, round, count = 0;

	for (round = 0; round < size; round++)
		for (i = 0; i < flows; i++)
			got[i] += sift_samples(s, 1);
	for (i = 0; i < flows; i++)
		count += got[i] >= needed;
	free(got);
	return count;
}
