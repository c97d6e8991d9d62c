// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_KIND, by libFuzzer. Without it (SOAK) a program:
 *
 *	soak_KIND PACKETS SEED		so many packets, by random operations
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "host.h"

void fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, what);
	abort();
}

void fail_values(const char *file, int line, const char *what, long long a, long long b)
{
	fprintf(stderr, "%s:%d: %s: %lld, %lld\n", file, line, what, a, b);
	abort();
}

#ifdef SOAK
int main(int argc, char **argv)
{
	unsigned long long packets = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	unsigned long long seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	const struct fuzz_counts *c = &fuzz_counts;

	fuzz_random(seed, packets);
	printf("%llu operations, %llu qdiscs, %llu changes (%llu refused)\n", c->operations, c->made,
	       c->changes, c->refused);
	printf("%llu packets came, %llu were sent, %llu dropped\n", c->came, c->sent, c->dropped);
	return c->came != c->sent + c->dropped;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_input(data, size);
	return 0;
}
#endif
