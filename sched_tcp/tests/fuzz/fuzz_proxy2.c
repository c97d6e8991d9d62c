// SPDX-License-Identifier: GPL-2.0
/*
 * A header is never longer than what is there, and is only known when all of it is.
 *
 * sources: proxy2.c
 */
#include <stdlib.h>
#include <string.h>

#include "proxy2.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct told told = {}, early = {};
	int all = proxy2_read(data, size, &told);
	int half = proxy2_read(data, size / 2, &early);

	if (all > 0 && ((size_t)all > size || all > PROXY2_MAX))
		abort();
	if (all > 0 && (told.type < -1 || told.type >= TYPES_MAX))
		abort();
	if (half && (half != all || memcmp(&early, &told, sizeof(told))))
		abort();
	if (!all && size >= PROXY2_MAX)
		abort();
	return 0;
}
