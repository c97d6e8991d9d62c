/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PROXY protocol, version 2, as clients tell us what they are about to send. Two TLVs are ours, of
 * those for custom use: how many bytes the client will send, and how many it will be sent, 8 bytes
 * each, high byte first; and one byte: the type, as POLICY_MU has it.
 */
#ifndef SCHED_TCP_PROXY2_H
#define SCHED_TCP_PROXY2_H

#include <stddef.h>
#include <stdint.h>

#include "config.h"

#define PROXY2_SIZE	0xe5	/* what the client will send */
#define PROXY2_REPLY	0xe6	/* what it will be sent */
#define PROXY2_TYPE	0xe7
#define PROXY2_MAX	(16 + 65535)

/* What a client has told of a flow */
struct told {
	uint64_t size, reply;	/* bytes; 0: not told */
	int type;		/* -1: not told */
	union address from;	/* who the client is; AF_UNSPEC: not told */
};

/* proxy2_read - read a header
 * @data: the first bytes of a connection
 * @len: how many there are
 * @told: what it says
 *
 * Return: how many bytes the header has; 0: more are needed; -1: it is none.
 */
int proxy2_read(const unsigned char *data, size_t len, struct told *told);

#endif
