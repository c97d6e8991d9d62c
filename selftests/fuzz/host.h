/* SPDX-License-Identifier: GPL-2.0 */
/* What is this side's and the kernel's, whose headers cannot meet: types of C alone */
#ifndef _FUZZ_HOST_H
#define _FUZZ_HOST_H

/* host.c: say what is wrong, and where, and end. */
void fail(const char *file, int line, const char *what);
void fail_values(const char *file, int line, const char *what, long long a, long long b);

/* If SAY is in the environment, what happens is told, for who looks for a reason. */
void say(const char *format, ...);

/* What a run has done */
struct fuzz_counts {
	unsigned long long operations;
	unsigned long long came;	/* packets, of GSO their segments */
	unsigned long long sent;
	unsigned long long dropped;
	unsigned long long changes;
	unsigned long long refused;	/* of these */
	unsigned long long made;	/* qdiscs */
	unsigned int in_loop;		/* queues and hosts, the most in a loop for a packet, */
	unsigned int examined;		/* and in all loops for one that was sent or dropped */
	unsigned long long overloads;	/* link.h: sequences with one */
	unsigned long long pause;	/* link.h: the longest, in thousandths of what is allowed */
};

extern struct fuzz_counts fuzz_counts;

/* fuzz.c: do what these bytes say, and check all the time. */
void fuzz_input(const unsigned char *data, unsigned long size);

/* The same for random bytes, until so many packets have come */
void fuzz_random(unsigned long long seed, unsigned long long packets);

/* link.h: random senders on a link, that many times */
void fuzz_link(unsigned long long seed, unsigned long long sequences);

#endif
