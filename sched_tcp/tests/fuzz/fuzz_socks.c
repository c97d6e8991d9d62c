// SPDX-License-Identifier: GPL-2.0
/*
 * In pieces a client is understood as at once. The first byte is the length of the pieces.
 *
 * sources: socks.c
 */
#include <stdlib.h>
#include <string.h>

#include "socks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char types[][NAME_LEN] = { "a", "bulk" };

struct said {
	struct socks socks;
	unsigned char replies[32];
	size_t n_replies, used;
};

static void client(const uint8_t *data, size_t size, size_t piece, struct said *said)
{
	size_t seen = 0;

	memset(said, 0, sizeof(*said));
	while (seen < size && said->socks.state < SOCKS_DONE) {
		unsigned char reply[32];
		size_t n;

		seen = size - seen > piece ? seen + piece : size;
		said->used += socks_read(&said->socks, data + said->used, seen - said->used, reply,
					 &n, types, 2);
		if (n > sizeof(said->replies) - said->n_replies || said->used > seen)
			abort();
		memcpy(said->replies + said->n_replies, reply, n);
		said->n_replies += n;
		/* A message that is not whole is shorter than what a client may say */
		if (said->socks.state < SOCKS_DONE && seen - said->used >= SOCKS_MAX)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct said once, pieces;

	if (!size || !data[0])
		return 0;
	client(data + 1, size - 1, size, &once);
	client(data + 1, size - 1, data[0], &pieces);
	if (memcmp(&once, &pieces, sizeof(once)))
		abort();
	if (once.socks.state == SOCKS_DONE) {
		const struct target *to = &once.socks.target;

		if (!to->address.in.sin_port || !memchr(to->host, 0, sizeof(to->host)))
			abort();
	}
	return 0;
}
