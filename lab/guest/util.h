/* SPDX-License-Identifier: GPL-2.0 */
/* What the lab's generators share */
#ifndef LAB_UTIL_H
#define LAB_UTIL_H

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define NSEC		1000000000LL
#define ENDLESS		1000000000000000000LL	/* bytes */

static inline long long ns(const struct timespec *ts)
{
	return ts->tv_sec * NSEC + ts->tv_nsec;
}

static inline long long clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ns(&ts);
}

static inline void sleep_until(clockid_t clock, long long t)
{
	struct timespec at = { t / NSEC, t % NSEC };

	while (clock_nanosleep(clock, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

/* A name as `ip netns` knows it, or a path; nothing without a name */
static inline void enter_netns(const char *name)
{
	char path[256];
	int fd;

	if (!name)
		return;
	snprintf(path, sizeof(path), "%s%s",
		 strchr(name, '/') ? "" : "/run/netns/", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		err(1, "network namespace %s", path);
	close(fd);
}

/*
 * modules/tcp_sink.c: whoever opens its file has the kernel read what a receiver would throw
 * away. -1 without a name: the program reads it all.
 */
static inline int open_sink(const char *name)
{
	int fd = name ? open(name, O_WRONLY | O_CLOEXEC) : -1;

	if (name && fd < 0)
		err(1, "%s", name);
	return fd;
}

/* Let the next bytes that this socket receives go there; says whether they do. */
static inline bool sink_bytes(int sink, int fd, long long bytes)
{
	if (sink < 0 || bytes <= 0)
		return false;
	if (dprintf(sink, "%d %lld", fd, bytes) < 0)
		err(1, "tcp_sink");
	return true;
}

/* A file or a terminal, which is to pass on what it gets as it is */
static inline FILE *open_out(const char *name)
{
	FILE *out = name ? fopen(name, "w") : stdout;
	struct termios tio;

	if (!out)
		err(1, "%s", name);
	if (name && !tcgetattr(fileno(out), &tio)) {
		cfmakeraw(&tio);
		tcsetattr(fileno(out), TCSANOW, &tio);
	}
	return out;
}

#endif
