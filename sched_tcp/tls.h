/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TLS 1.3 of carriers, by OpenSSL: both ends know each other by a key or by certificates. There is
 * no early data, so nothing that is played again is taken for new, and no resumption.
 */
#ifndef SCHED_TCP_TLS_H
#define SCHED_TCP_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "config.h"

#define TLS_OVERHEAD	22	/* bytes of a record that are not payload: AES-GCM or ChaCha20 */
#define TLS_RECORD	16384	/* the most payload that a record has */

/* tls_init - make ready for all peers of a configuration that want TLS
 *
 * Files are read here, while there are privileges. Also after SIGHUP: carriers that are there keep
 * what they had. @config has to stay until the next call; the one before may go then.
 *
 * Return: whether that went well; if not, a log line says why, and all is as before.
 */
bool tls_init(const struct config *config);
void tls_fini(void);	/* forget the keys, after the last carrier */

/* tls_client - we have opened a carrier to @peer;  tls_server - somebody has opened one to us
 * @fd: its socket, connected, not blocking
 *
 * kTLS is used where the kernel and OpenSSL have it.
 *
 * Return: NULL if there is no memory
 */
SSL *tls_client(const struct peer_config *peer, int fd);
SSL *tls_server(int fd);

enum tls_result { TLS_DONE, TLS_WANT_READ, TLS_WANT_WRITE, TLS_FAILED };

/* tls_handshake - go on with the handshake
 * @peer: who it is, when it is done: of the configuration that is the present one then
 * @why: a sentence without secrets, when it has failed; kept until tls_free()
 */
enum tls_result tls_handshake(SSL *ssl, const struct peer_config **peer, const char **why);

/* tls_read, tls_write - as read() and write(); -1 with EAGAIN, -1 with EPROTO if TLS is broken, 0
 * if the other end has ended it properly. What tls_write has not taken it wants to see again. Read
 * until EAGAIN: the rest of a record is here, not in the socket, and no event tells of it.
 */
ssize_t tls_read(SSL *ssl, void *data, size_t len);
ssize_t tls_write(SSL *ssl, const void *data, size_t len);

/* tls_end - tell the other end that nothing follows
 *
 * Return: false if there is no room for that; then again, when the socket can be written
 */
bool tls_end(SSL *ssl);
void tls_free(SSL *ssl);
bool tls_in_kernel(SSL *ssl);	/* whether kTLS encrypts what is sent */

#endif
