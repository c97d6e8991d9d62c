// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_KIND, by libFuzzer. Without it (SOAK) a program:
 *
 *	PROGRAM PACKETS SEED FILE...
 *
 * What these files say, and then random operations until so many packets have come
 *
 *	PROGRAM link SEQUENCES SEED
 *
 * Random senders on a link, and whether the guarantee holds
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "host.h"

#define INPUT	65536

/* Seconds of a processor that one may take, however busy the machine is */
#ifndef LONGEST
#define LONGEST	20
#endif

void fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, what);
	abort();
}

void say(const char *format, ...)
{
	static int told = -1;
	va_list arguments;

	if (told < 0)
		told = !!getenv("SAY");
	if (!told)
		return;
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
}

void fail_values(const char *file, int line, const char *what, long long a, long long b)
{
	fprintf(stderr, "%s:%d: %s: %lld, %lld\n", file, line, what, a, b);
	abort();
}

#ifdef SOAK
/* In memory of its size, so that what reads past its end is seen */
static void replay(const char *name)
{
	unsigned char *data = malloc(INPUT), *exact;
	FILE *file = fopen(name, "rb");
	size_t len;

	if (!file)
		fail(name, 0, "is not there");
	len = fread(data, 1, INPUT, file);
	fclose(file);
	exact = realloc(data, len + !len);
	fuzz_input(exact, len);
	free(exact);
}

int main(int argc, char **argv)
{
	const struct fuzz_counts *c = &fuzz_counts;
	int i;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "link")) {
		fuzz_link(argc > 3 ? strtoull(argv[3], NULL, 10) : 1,
			  strtoull(argv[2], NULL, 10));
		printf("%llu sequences, %llu of them with overload\n", c->made, c->overloads);
		printf("%llu packets came, %llu were sent, %llu dropped\n", c->came, c->sent,
		       c->dropped);
		printf("the longest pause of a backlogged flow: %.1f %% of what is allowed\n",
		       c->pause / 10.0);
		return c->came != c->sent + c->dropped;
	}
	for (i = 3; i < argc; i++)
		replay(argv[i]);
	fuzz_random(strtoull(argv[2], NULL, 10), strtoull(argv[1], NULL, 10));
	printf("%llu operations, %llu qdiscs, %llu changes (%llu refused)\n",
	       c->operations, c->made, c->changes, c->refused);
	printf("%llu packets came, %llu were sent, %llu dropped\n", c->came, c->sent, c->dropped);
	printf("at most %u queues or hosts were examined in a loop for a packet, %u in all loops\n",
	       c->in_loop, c->examined);
	return c->came != c->sent + c->dropped;
}
#else
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void takes_too_long(int sig)
{
	fail(__FILE__, __LINE__, "an input takes too long");
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const struct itimerval longest = { .it_value.tv_sec = LONGEST }, none;

	signal(SIGPROF, takes_too_long);
	setitimer(ITIMER_PROF, &longest, NULL);
	fuzz_input(data, size);
	setitimer(ITIMER_PROF, &none, NULL);
	return 0;
}
#endif
