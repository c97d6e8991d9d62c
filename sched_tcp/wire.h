/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames, of which all that a carrier carries consists. Numbers have the high byte first.
 *
 *	 0      1       2        4            8              12
 *	+------+-------+--------+------------+--------------+---------------
 *	| type | flags | length | flow       | offset       | length bytes
 *	+------+-------+--------+------------+--------------+---------------
 *
 * An offset is the low 32 bits of a place in a flow's stream: what is meant is near what is known,
 * since never more than CREDIT_MAX is on the way.
 */
#ifndef SCHED_TCP_WIRE_H
#define SCHED_TCP_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow.h"

#define FRAME_HEAD	12
#define FRAME_MAX	65535		/* bytes after the head */
#define CREDIT_MAX	0x40000000U
#define ID_LEN		16
#define WIRE_VERSION	1

enum frame_type {
	/* first on a carrier: struct hello. flow: for which it stands, 0: for all */
	FRAME_HELLO = 1,
	FRAME_WELCOME,		/* the answer, first in the other direction: struct hello */
	FRAME_OPEN,		/* struct opening. offset: what the other end may send at first */
	FRAME_OPENED,		/* it is connected. offset: the same */
	FRAME_DATA,		/* bytes of a flow from offset on; with FLAG_FIN the last */
	/* the flow is broken. offset: an enum outcome. With FLAG_FIN the answer to this, or to
	 * CREDIT, when that flow is no more
	 */
	FRAME_RESET,
	/* offset: up to where the other end may send; 4 bytes: up to where all has come; with
	 * FLAG_FIN the application has had it all
	 */
	FRAME_CREDIT,
	FRAME_BYE,		/* the last one; an end without it is a break */
	FRAME_TYPES
};

#define FLAG_FIN	1

struct frame {
	uint8_t type, flags;
	uint16_t len;
	uint32_t flow, offset;
	const unsigned char *data;
};

/* HELLO: the session that the carrier belongs to. WELCOME: the process that answers. */
struct hello {
	unsigned char id[ID_LEN];
};

struct opening {
	struct target target;
	union address from;	/* the client's; AF_UNSPEC: not told */
	uint64_t size, reply;	/* bytes that its client will send, and be sent; 0: not told */
	uint8_t type;
};

#define HELLO_LEN	(4 + ID_LEN)
#define OPENING_MAX	(8 + 8 + 1 + 19 + 1 + HOST_MAX + 2)

/* frame_read - the first frame of some bytes
 *
 * Its data is not copied.
 *
 * Return: how many bytes it has; 0: more are needed; -1: it is none.
 */
int frame_read(const unsigned char *bytes, size_t len, struct frame *frame);

/* frame_head - write a head of FRAME_HEAD bytes; frame->data is not used */
void frame_head(unsigned char *to, const struct frame *frame);

/* What CREDIT says: up to where all has come */
uint32_t frame_received(const struct frame *frame);
void frame_put_received(unsigned char *to, uint32_t received);

/* The contents of HELLO, WELCOME and OPEN: bytes written, of at most HELLO_LEN and OPENING_MAX; or
 * whether what was read is well-formed
 */
size_t hello_write(unsigned char *to, const struct hello *hello);
bool hello_read(const struct frame *frame, struct hello *hello);
size_t opening_write(unsigned char *to, const struct opening *opening);
bool opening_read(const struct frame *frame, struct opening *opening);

/* The place near @known whose low bits are @offset */
static inline uint64_t place_near(uint64_t known, uint32_t offset)
{
	return known + (int32_t)(offset - (uint32_t)known);
}

#endif
