/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How tables are allocated: by a request that is refused where there is no memory for them, rather
 * than that the kernel kills somebody to have it. The request tells; nothing in the log does.
 */
#ifndef _SF_ALLOC_H
#define _SF_ALLOC_H

#define SF_GFP_TABLE	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

#endif
