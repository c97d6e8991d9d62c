/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SCHED_TCP_HTTP_H
#define SCHED_TCP_HTTP_H

#include <stddef.h>
#include <stdint.h>

#define HTTP_HEAD_MAX	16384

/* http_length - how long a message of HTTP/1 is, a request or a response
 * @data: the first bytes of a transmission
 * @len: how many there are
 * @total: bytes of head and body, if Content-Length tells
 *
 * Return: 1: @total was told; 0: it is no HTTP/1, or its length is not told (chunked, none, told
 * twice unlike); -1: more bytes are needed, of which there are never more than HTTP_HEAD_MAX.
 */
int http_length(const char *data, size_t len, uint64_t *total);

#endif
