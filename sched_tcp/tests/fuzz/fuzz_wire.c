// SPDX-License-Identifier: GPL-2.0
/*
 * Frames, one after the other as a carrier has them. What is understood is written again, and has
 * to be what it was.
 *
 * sources: wire.c
 */
#include <string.h>

#include "counted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

uint16_t address_port(const union address *address)
{
	return ntohs(address->in.sin_port);	/* where AF_INET6 has it, too */
}

void address_set_port(union address *address, uint16_t port)
{
	address->in.sin_port = htons(port);
}

/* An address of IPv4 within IPv6 becomes shorter */
static void check_opening(const struct frame *frame)
{
	unsigned char again[OPENING_MAX];
	struct frame shorter = { .data = again };
	struct opening opening, same;

	if (!opening_read(frame, &opening))
		return;
	shorter.len = opening_write(again, &opening);
	if (shorter.len > frame->len || !opening_read(&shorter, &same) ||
	    memcmp(&opening, &same, sizeof(same)))
		abort();
}

static void check(const struct frame *frame)
{
	unsigned char again[FRAME_HEAD + HELLO_LEN];
	struct hello hello;

	frame_head(again, frame);
	if (memcmp(again, frame->data - FRAME_HEAD, FRAME_HEAD))
		abort();
	switch (frame->type) {
	case FRAME_HELLO:
	case FRAME_WELCOME:
		if (hello_read(frame, &hello) && (hello_write(again, &hello) != frame->len ||
						  memcmp(again, frame->data, frame->len)))
			abort();
		break;
	case FRAME_OPEN:
		check_opening(frame);
		break;
	case FRAME_CREDIT:
		frame_put_received(again, frame_received(frame));
		if (memcmp(again, frame->data, frame->len))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct frame frame;
	int used;

	do {
		used = frame_read(data, size, &frame);
		count_frame(used, &frame);
		if (used <= 0)
			return 0;
		check(&frame);
		data += used;
		size -= used;
	} while (size);
	return 0;
}
