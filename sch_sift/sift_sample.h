/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which packets, or bytes, are sampled: each with the same probability p, whatever
 * became of the others. Nothing has to be drawn for each of them: how many there are
 * until the next sample is drawn, and counted down.
 *
 *	gap:	. . . [sample] . [sample] . . . .
 *		<---- 4 -----> <--- 2 -->
 *
 * A gap is longer than g with probability q^g, where q = 1 - p. So it is 1 plus the
 * largest g for which a number drawn from 0 to 1 is less than q^g. That is found bit by
 * bit, from the powers of q.
 */
#ifndef _SIFT_SAMPLE_H
#define _SIFT_SAMPLE_H

#include <linux/math64.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/types.h>

#define SIFT_ONE	1000000000	/* a probability of 1 */
#define SIFT_PACKET	1500		/* so many bytes are sampled as a packet is */
#define SIFT_POWERS	48		/* gaps are less than 2^48 */
#define SIFT_NEVER	U64_MAX		/* the gap of p = 0 */

#define SIFT_WARM_UP	10

/* A packet, which may be a bundle of 64 kB, counts for no more samples than this. */
#define SIFT_SAMPLES_MAX	16

struct sift_sampler {
	u64	gap;			/* units up to the next sample, > 0 */
	u64	every;			/* all gaps, if not at random */
	u64	power[SIFT_POWERS];	/* q^(2^i), in parts of 2^64 */
	int	powers;			/* how many there are that are not 0 */
	struct rnd_state random;
};

/* sift_mul - the product of two fractions in parts of 2^64 */
static inline u64 sift_mul(u64 a, u64 b)
{
	return mul_u64_u64_shr(a, b, 64);
}

static inline u64 sift_next_gap(struct sift_sampler *s)
{
	u64 drawn, least = U64_MAX, next, gap = 1;
	int i;

	if (s->every)
		return s->every;
	drawn = (u64)prandom_u32_state(&s->random) << 32;
	drawn |= prandom_u32_state(&s->random);
	for (i = s->powers - 1; i >= 0; i--) {
		next = sift_mul(least, s->power[i]);
		if (drawn < next) {
			least = next;
			gap += 1ULL << i;
		}
	}
	return gap;
}

/* sift_seed - begin anew; 0: with what nobody knows */
static inline void sift_seed(struct sift_sampler *s, u32 seed)
{
	int i;

	prandom_seed_state(&s->random, seed ?: get_random_u64());
	/* The first numbers follow the seed closely. */
	for (i = 0; i < SIFT_WARM_UP; i++)
		prandom_u32_state(&s->random);
}

/**
 * sift_set - choose what is sampled from now on
 * @s: the sampler, which has been seeded
 * @probability: of a packet, in SIFT_ONE
 * @every: if not 0, each so many-th packet instead
 * @bytes: units are bytes and not packets
 */
static inline void sift_set(struct sift_sampler *s, u32 probability, u32 every,
			    bool bytes)
{
	u64 p, q, remainder;
	int i;

	/* In parts of 2^64, of which 1 is 0, and so is q then */
	p = div64_u64_rem((u64)probability << 32, SIFT_ONE, &remainder) << 32;
	p |= div_u64(remainder << 32, SIFT_ONE);
	s->every = every;
	if (bytes) {
		s->every *= SIFT_PACKET;
		p = probability == SIFT_ONE ? div_u64(U64_MAX, SIFT_PACKET) :
					      div_u64(p, SIFT_PACKET);
	}
	if (!s->every && !probability)
		s->every = SIFT_NEVER;
	for (i = 0, q = -p; i < SIFT_POWERS && q; i++, q = sift_mul(q, q))
		s->power[i] = q;
	s->powers = i;
	s->gap = sift_next_gap(s);
}

/* sift_samples - how many of the next @units are sampled, up to SIFT_SAMPLES_MAX */
static __always_inline u32 sift_samples(struct sift_sampler *s, u32 units)
{
	u32 samples = 0;

	while (unlikely(units >= s->gap)) {
		units -= s->gap;
		s->gap = sift_next_gap(s);
		if (++samples == SIFT_SAMPLES_MAX)
			return samples;
	}
	s->gap -= units;
	return samples;
}

#endif
