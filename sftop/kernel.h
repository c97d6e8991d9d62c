/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where messages and time come from: kernel.c asks the kernel, tests have another source.
 */
#ifndef SFTOP_KERNEL_H
#define SFTOP_KERNEL_H

#include <stdbool.h>
#include <linux/types.h>
#include <linux/netlink.h>

/*
 * Ask for a dump (RTM_GETLINK, RTM_GETQDISC, or RTM_GETTCLASS of one interface) and give each
 * message of the answer, which is whole but not looked into, to @take. Returns NULL, or what is
 * wrong.
 */
const char *kernel_ask(int type, int ifindex, void (*take)(struct nlmsghdr *n, void *to), void *to);

/* Has this process CAP_NET_ADMIN? The kernel lists no flow or host without it. */
bool kernel_lists_flows(void);

/* Nanoseconds since some time, by which rates are told */
__u64 kernel_now(void);

void kernel_close(void);

#endif
