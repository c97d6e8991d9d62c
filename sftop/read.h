/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SFTOP_READ_H
#define SFTOP_READ_H

#include "model.h"

struct nlmsghdr;

/* What a message of the kernel says; false if it is not understood, or not of ours. */
bool read_link(struct nlmsghdr *n, struct link *link);
bool read_qdisc(struct nlmsghdr *n, struct qdisc *q);
/* Of a class also where it is */
bool read_class(struct nlmsghdr *n, struct entry *e, int *ifindex, __u32 *qdisc);

#endif
