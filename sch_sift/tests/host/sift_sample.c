// SPDX-License-Identifier: GPL-2.0
/* sch_sift/sift_sample.h as a library, for test_sift_sample.py */

#include "kernel.h"

#define U64_MAX			(~0ULL)
#define unlikely(x)		(x)

/* prandom_u32_state() and prandom_seed_state() of the kernel */
struct rnd_state {
	u32 s[4];
};

static u32 prandom_u32_state(struct rnd_state *state)
{
	static const struct { u32 a, b, c, d; } step[] = {
		{ 6, 13, 4294967294U, 18 }, { 2, 27, 4294967288U, 2 },
		{ 13, 21, 4294967280U, 7 }, { 3, 12, 4294967168U, 13 },
	};
	u32 *s = state->s;
	int i;

	for (i = 0; i < 4; i++)
		s[i] = (s[i] & step[i].c) << step[i].d ^
		       ((s[i] << step[i].a) ^ s[i]) >> step[i].b;
	return s[0] ^ s[1] ^ s[2] ^ s[3];
}

static void prandom_seed_state(struct rnd_state *state, u64 seed)
{
	static const u32 least[] = { 2, 8, 16, 128 };
	u32 x = seed >> 32 ^ seed << 10 ^ seed;
	int i;

	for (i = 0; i < 4; i++)
		state->s[i] = x < least[i] ? x + least[i] : x;
}

static u64 get_random_u64(void)
{
	return random();
}

static u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

static u64 div64_u64_rem(u64 a, u64 b, u64 *remainder)
{
	*remainder = a % b;
	return a / b;
}

static u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return (__uint128_t)a * b >> shift;
}

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
