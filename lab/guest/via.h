/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Downloads by way of somebody who forwards connections (sched_tcp/): the receiver connects to him
 * and tells by PROXY protocol, version 2, how many bytes it will send and be sent. Then it asks for
 * the bytes, for the sender cannot tell from a port whose connection it has accepted.
 */
#ifndef LAB_VIA_H
#define LAB_VIA_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include "address.h"

#define VIA_PROXY_TCP4	0x11
#define VIA_PROXY	0x21	/* version 2, and a connection that somebody has made */
#define VIA_SIZE	0xe5	/* as in sched_tcp/proxy2.h */
#define VIA_REPLY	0xe6

/* Both ends are of one process */
struct request {
	unsigned int number, serial;
};

/* Bytes, so that there is nothing between them; of numbers the high one is first */
struct via_tlv {
	unsigned char type, length[2], bytes[8];
};

struct via_head {
	unsigned char signature[12], command, family, length[2];	/* of what follows */
	unsigned char from[4], to[4], from_port[2], to_port[2];
	struct via_tlv size, reply;
	unsigned char request[sizeof(struct request)];
};

static inline struct via_tlv via_tlv(unsigned char type, unsigned long long bytes)
{
	struct via_tlv tlv = { .type = type, .length = { 0, sizeof(tlv.bytes) } };

	for (int i = 7; i >= 0; i--, bytes >>= 8)
		tlv.bytes[i] = bytes;
	return tlv;
}

/* ask - send head and request on a new connection; of @bytes 0 nothing is told
 *
 * Return: whether that went well: a connection that is open takes so little at once.
 */
static inline bool ask(int fd, struct request request, long long bytes)
{
	struct via_head head = {
		.signature = { 13, 10, 13, 10, 0, 13, 10, 'Q', 'U', 'I', 'T', 10 },
		.command = VIA_PROXY, .family = VIA_PROXY_TCP4,
		.length = { 0, offsetof(struct via_head, request) -
			       offsetof(struct via_head, from) },
		.size = via_tlv(VIA_SIZE, sizeof(request)), .reply = via_tlv(VIA_REPLY, bytes),
	};
	struct address from = { .len = sizeof(from.v6) }, to = { .len = sizeof(to.v6) };

	if (getsockname(fd, &from.any, &from.len) || getpeername(fd, &to.any, &to.len))
		return false;
	memcpy(head.from, &from.v4.sin_addr, sizeof(head.from));
	memcpy(head.to, &to.v4.sin_addr, sizeof(head.to));
	memcpy(head.from_port, &from.v4.sin_port, sizeof(head.from_port));
	memcpy(head.to_port, &to.v4.sin_port, sizeof(head.to_port));
	memcpy(head.request, &request, sizeof(request));
	return send(fd, &head, sizeof(head), MSG_NOSIGNAL) == sizeof(head);
}

/* What it asks for; a request is one packet's, and comes whole. */
static inline bool asked_for(int fd, struct request *request)
{
	return recv(fd, request, sizeof(*request), MSG_DONTWAIT) == sizeof(*request);
}

#endif
