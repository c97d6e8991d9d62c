/* SPDX-License-Identifier: GPL-2.0 */
/* What the headers that are tested here use of the kernel, in user space */
#ifndef _HOST_KERNEL_H
#define _HOST_KERNEL_H

#include <stdbool.h>
#include <stdlib.h>

typedef unsigned char u8;
typedef int s32;
typedef unsigned int u32;
typedef long long s64;
typedef unsigned long long u64;

#define GFP_KERNEL_ACCOUNT	0
#define __GFP_RETRY_MAYFAIL	0
#define __GFP_NOWARN		0
#define ENOMEM			12
#define kvcalloc(n, size, flags)	calloc(n, size)
#define kvfree(p)		free(p)
#define __ffs64(x)		__builtin_ctzll(x)

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline u32 min(u32 a, u32 b)
{
	return a < b ? a : b;
}

#endif
