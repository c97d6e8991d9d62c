/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SCHED_TCP_LISTEN_H
#define SCHED_TCP_LISTEN_H

#include <event2/event.h>
#include <stdbool.h>

#include "config.h"

/* listen_open - bind all sockets of a configuration, while there are privileges
 * @base: events
 * @peer: is called with each connection to LISTEN_PEERS: the socket, not blocking, is its own then
 * @room: whether another one may come
 *
 * Connections to the others become flows (flow_open) when it is known where they go. Who has not
 * told that after config->timeout, or wants more than is allowed, is reset. Of those at most
 * config->handshakes wait at a time: for more the oldest goes, if a second was too little for it,
 * and until then they are not accepted. Nor is anybody without descriptors left.
 *
 * Return: whether that went well; if not, a log line says why.
 */
bool listen_open(struct event_base *base, const struct config *config,
		 void (*peer)(int fd, const union address *from), bool (*room)(void));
void listen_close(void);

#endif
