/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rank of a priority flow: (log2 x)^(1/K), las-rai2004 section 6.
 *
 * x is what the flow has attained, in packets of 1500 bytes, and so is the rank
 * in units of the same. All in integers, and monotonic: each step cuts off what
 * it cannot represent, none rounds up. For all K, 0.25 to 4, the result is off by
 * no more than 1 byte and 1 / 4000, the most of which is las_exp2()'s.
 */
#ifndef _LAS_LOG_H
#define _LAS_LOG_H

#include <linux/bitops.h>
#include <linux/types.h>

#define LAS_LOG_UNIT	1500	/* bytes */
#define LAS_LOG_SHIFT	20	/* fraction bits of a logarithm */
#define LAS_LOG2_UNIT	11063259	/* floor(log2(1500) * 2^20) */

/* floor(log2(x) * 2^20), for x > 0 */
static inline s64 las_log2(u64 x)
{
	int exp = fls64(x) - 1;
	/* x / 2^exp, in [1, 2), with 31 fraction bits */
	u64 m = exp > 31 ? x >> (exp - 31) : x << (31 - exp);
	s64 log = exp;
	int i;

	/* Squaring doubles the logarithm: the next bit is whether m reaches 2 */
	for (i = 0; i < LAS_LOG_SHIFT; i++) {
		m = m * m >> 31;
		log <<= 1;
		if (m >> 32) {
			m >>= 1;
			log |= 1;
		}
	}
	return log;
}

/*
 * 2^(e / 2^20) * 1500, for e below 2^20 * 20 or so; linear between sixteenths of
 * an octave, which is off by less than 1 / 4000.
 */
static inline u64 las_exp2(s64 e)
{
	/* floor(2^(i / 16) * 2^31) */
	static const u64 pow[] = {
		2147483648ULL, 2242560871ULL, 2341847523ULL, 2445529971ULL,
		2553802833ULL, 2666869344ULL, 2784941737ULL, 2908241642ULL,
		3037000499ULL, 3171459999ULL, 3311872529ULL, 3458501653ULL,
		3611622602ULL, 3771522796ULL, 3938502375ULL, 4112874773ULL,
		4294967296ULL,
	};
	int exp = e >> LAS_LOG_SHIFT;
	u32 frac = e & ((1 << LAS_LOG_SHIFT) - 1);
	u32 i = frac >> (LAS_LOG_SHIFT - 4);
	u32 rest = frac & ((1 << (LAS_LOG_SHIFT - 4)) - 1);
	u64 m = pow[i] + ((pow[i + 1] - pow[i]) * rest >> (LAS_LOG_SHIFT - 4));

	if (exp < -12)
		return 0;
	/* 44 bits so far: 20 to spare */
	m *= LAS_LOG_UNIT;
	return exp > 31 ? m << (exp - 31) : m >> (31 - exp);
}

/* What las_log_rank() multiplies a logarithm by, for K in thousandths */
static inline u32 las_log_factor(u32 k)
{
	return (1000U << 16) / k;
}

/**
 * las_log_rank - the rank of a priority flow
 * @attained: bytes
 * @factor: las_log_factor(K)
 *
 * Return: the rank, in bytes; 0 up to 1500 bytes attained.
 */
static inline u64 las_log_rank(u64 attained, u32 factor)
{
	s64 y;

	if (attained <= LAS_LOG_UNIT)
		return 0;
	y = las_log2(attained) - LAS_LOG2_UNIT;
	if (y <= 0)
		return 0;
	/* y^(1/K) = 2^(log2(y) / K), with y itself in units of 2^-20 */
	return las_exp2((las_log2(y) - ((s64)LAS_LOG_SHIFT << LAS_LOG_SHIFT)) * factor >> 16);
}

#endif
