// SPDX-License-Identifier: GPL-2.0
/*
 * replay TIMES FILE...: what fuzzing runs (tests/fuzz), with each file as it is and with so many
 * random changes of it, the same ones each time. Without clang, so that every run of the tests
 * has it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE	4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t state = 1;

/* Marsaglia's xorshift */
static uint32_t draw(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state % below;
}

/* Some bytes become others, or a part is left out or repeated */
static size_t change(uint8_t *data, size_t len)
{
	size_t from, n;
	uint32_t i;

	for (i = 0; i < 1 + draw(8) && len; i++)
		data[draw(len)] = draw(4) ? draw(256) : draw(16);
	if (len < 2)
		return len;
	from = draw(len);
	n = 1 + draw(len - from);
	switch (draw(3)) {
	case 0:
		memmove(data + from, data + from + n, len - from - n);
		return len - n;
	case 1:
		if (len + n > SIZE)
			return len;
		memmove(data + from + n, data + from, len - from);
		return len + n;
	}
	return len;
}

/* In memory of its size, so that what reads past its end is seen */
static void run(const uint8_t *data, size_t len)
{
	uint8_t *exact = malloc(len + !len);

	memcpy(exact, data, len);
	LLVMFuzzerTestOneInput(exact, len);
	free(exact);
}

int main(int argc, char **argv)
{
	uint8_t data[SIZE], changed[SIZE];
	int i, times, runs = 0;
	size_t len;
	FILE *file;

	for (i = 2; i < argc; i++) {
		file = fopen(argv[i], "rb");
		if (!file)
			return 2;
		len = fread(data, 1, sizeof(data), file);
		fclose(file);
		run(data, len);
		for (times = atoi(argv[1]); times; times--, runs++) {
			memcpy(changed, data, len);
			run(changed, change(changed, len));
		}
	}
	printf("%d\n", runs);
	return 0;
}
