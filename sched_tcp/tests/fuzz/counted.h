/* SPDX-License-Identifier: GPL-2.0 */
/* How many frames have reached the parser, which libFuzzer's run tells when it ends */
#ifndef SCHED_TCP_COUNTED_H
#define SCHED_TCP_COUNTED_H

#include <stdio.h>
#include <stdlib.h>

#include "wire.h"

static struct {
	unsigned long long parsed[FRAME_TYPES], refused, partial;
} frames;

/* @used: what frame_read() has returned */
static inline void count_frame(int used, const struct frame *frame)
{
	if (used > 0)
		frames.parsed[frame->type]++;
	else if (used)
		frames.refused++;
	else
		frames.partial++;
}

static void tell_frames(void)
{
	unsigned long long parsed = 0;
	int type;

	for (type = 0; type < FRAME_TYPES; type++)
		parsed += frames.parsed[type];
	fprintf(stderr, "frames: %llu parsed, %llu refused, %llu not whole; parsed by type:",
		parsed, frames.refused, frames.partial);
	for (type = 1; type < FRAME_TYPES; type++)
		fprintf(stderr, " %llu", frames.parsed[type]);
	fputc('\n', stderr);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Called by nobody but libFuzzer */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return atexit(tell_frames);
}

#endif
