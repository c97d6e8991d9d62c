/* SPDX-License-Identifier: GPL-2.0 */
/* What an application's connection is for those that accept it: listen.c. */
#ifndef SCHED_TCP_FLOW_H
#define SCHED_TCP_FLOW_H

#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "proxy2.h"

#define HOST_MAX	255

/* Where a flow is to go: an address, or a name that the far end looks up */
struct target {
	char host[HOST_MAX + 1];	/* "": the address is told; else its port alone */
	union address address;
};

/* How opening has ended; the numbers are in frames */
enum outcome {
	OPENED,
	FAILED,			/* for no reason that is listed */
	NOT_ALLOWED,
	REFUSED,
	UNREACHABLE,
	TIMED_OUT,
	NO_NAME,		/* the host's name is not known */
	TOO_MANY,		/* flows, or no memory */
	NO_PEER,		/* the far end is not reached */
	GONE,			/* it is no more: it was over, or it was reset */
	OUTCOMES
};

struct request {
	int fd;				/* accepted, not blocking; the flow's from now on */
	const struct peer_config *peer;
	struct target target;
	struct told told;
	uint8_t type;
	const void *early;		/* bytes that were read from @fd after what told */
	size_t early_len;
	/* Called once, before anything is written to @fd, unless it is NULL; if it did not open,
	 * the flow is gone, and @fd is closed by what is called. For SOCKS.
	 */
	void (*opened)(void *arg, int fd, enum outcome outcome);
	void *arg;
};

/* flow_open - begin a flow to the far end
 *
 * @request is copied. If it cannot begin, @opened is called before this returns, or, if that is
 * NULL, @fd is reset.
 */
void flow_open(const struct request *request);

#endif
