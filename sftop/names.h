/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of addresses, as the system's resolver tells them. It is asked by threads, so that nobody
 * waits for it, and only about what name_of() was called with.
 */
#ifndef SFTOP_NAMES_H
#define SFTOP_NAMES_H

#include <stdbool.h>
#include <linux/types.h>

/* The name of an address of 4 or 16 bytes, until the next call; NULL: not known, or not yet */
const char *name_of(const __u8 *address, unsigned int len);

/* Is an answer still to come? */
bool names_pending(void);

#endif
