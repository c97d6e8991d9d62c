/* SPDX-License-Identifier: GPL-2.0 */
/* What the lab's generators share */
#ifndef LAB_UTIL_H
#define LAB_UTIL_H

#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define NSEC		1000000000LL

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
