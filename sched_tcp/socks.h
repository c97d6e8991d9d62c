/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SOCKS5 (RFC 1928), CONNECT only. A user name (RFC 1929) may tell what is about to be sent:
 * "size=BYTES,reply=BYTES,type=NAME"; the password is not looked at. It is no protection: the
 * address on which we listen is.
 */
#ifndef SCHED_TCP_SOCKS_H
#define SCHED_TCP_SOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "flow.h"
#include "proxy2.h"

#define SOCKS_MAX	1024	/* bytes that a client may send before it is answered */

enum socks_state { SOCKS_METHODS, SOCKS_USER, SOCKS_REQUEST, SOCKS_DONE, SOCKS_BROKEN };

struct socks {
	enum socks_state state;
	struct told told;
	struct target target;
};

/* socks_read - go on with what has come
 * @data, @len: the bytes that were not yet used
 * @reply, @reply_len: room for 32 bytes, and how many are to be sent to the client
 * @types, @n_types: the configuration's names of types
 *
 * Return: how many of @len were used. @socks->state tells how far it is: with SOCKS_DONE the
 * target is known, with SOCKS_BROKEN the connection is to be closed after the reply.
 */
size_t socks_read(struct socks *socks, const unsigned char *data, size_t len,
		  unsigned char *reply, size_t *reply_len,
		  const type_name *types, unsigned int n_types);

/* socks_answer - the reply to a request
 * @reply: room for 32 bytes
 *
 * Return: how many bytes it has
 */
size_t socks_answer(enum outcome outcome, unsigned char *reply);

#endif
