// SPDX-License-Identifier: GPL-2.0
/*
 * What is known of the first bytes stays true when more come, and a length has the head in it.
 *
 * sources: http.c
 */
#include <stdlib.h>

#include "http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t total = 0, early = 0;
	int all = http_length((const char *)data, size, &total);
	int half = http_length((const char *)data, size / 2, &early);

	if (half != -1 && (half != all || early != total))
		abort();
	if (all == 1 && total < 16)
		abort();
	if (all == -1 && size >= HTTP_HEAD_MAX)
		abort();
	return 0;
}
