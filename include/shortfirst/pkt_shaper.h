/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Netlink interface of what all kinds have to shape with (shaper.h): the values of their
 * attributes RATE, OVERHEAD, MPU, FRAMING, INGRESS and SPLIT_GSO. Of a range both ends are good.
 */
#ifndef _UAPI_PKT_SHAPER_H
#define _UAPI_PKT_SHAPER_H

#include <linux/types.h>

/* RATE: u64, bytes per second on the wire, not 0 */
#define TC_SF_RATE_UNLIMITED	(~(__u64)0)	/* nothing is shaped */

/*
 * OVERHEAD: s32, bytes that an IP packet takes on the wire beside its own. RAW instead: it takes
 * what the kernel says that it has, its link header included.
 */
#define TC_SF_OVERHEAD_MIN	(-64)
#define TC_SF_OVERHEAD_MAX	256
#define TC_SF_OVERHEAD_RAW	(-65)

/* MPU: u32, bytes; what is less with its overhead counts as so many */
#define TC_SF_MPU_MAX		256

/* FRAMING: u32, what the link makes of these */
enum {
	TC_SF_FRAMING_NONE,
	TC_SF_FRAMING_ATM,	/* cells of 53 bytes that carry 48 */
	TC_SF_FRAMING_PTM,	/* 65 bytes for 64, or a part of them */
	TC_SF_FRAMING_MAX = TC_SF_FRAMING_PTM,
};

/* INGRESS: u32, 1: what was dropped has used the link already */

/* SPLIT_GSO: u32, whether the segments of a GSO packet are queued one by one */
enum {
	TC_SF_SPLIT_OFF,
	TC_SF_SPLIT_ON,
	TC_SF_SPLIT_AUTO,	/* if its bytes, as the kernel counts them, take more than a
				 * millisecond at RATE, or if that is unlimited at the rate
				 * that was measured; until that is known none is split
				 */
	TC_SF_SPLIT_MAX = TC_SF_SPLIT_AUTO,
};

#endif
