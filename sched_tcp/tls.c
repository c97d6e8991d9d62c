// SPDX-License-Identifier: GPL-2.0
/*
 * What the configuration says of peers is copied to a struct trusted. Each carrier holds the one it
 * began with, so that another configuration, which makes another one, does not pull it away.
 *
 * Who we are talking to is decided once, in who(): with a key that was used, it is the peer of
 * that key; else it is the peer by whose own authority, and with whose name, the certificate was
 * found good. A peer is proven in the way that it is configured, and in no other: there is no
 * set of authorities that all peers share, and a client that expects a key never takes a
 * certificate instead.
 *
 * Keys are only used together with an exchange by Diffie and Hellman (psk_dhe_ke), so what was
 * recorded stays secret if a key is lost; and a recorded beginning, played again, ends with the
 * server's first answer, which the player cannot go on from.
 */
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "log.h"
#include "tls.h"

#define SECURITY	2		/* of OpenSSL's levels: 112 bits, no SHA-1 */
#define CERTS_MAX	32768		/* bytes of certificates that a stranger may send */
#define WHY_LEN		256
#define HINT_LEN	128
/* The hash of a key is that of its cipher suite: SHA-256, as all have that do not tell */
#define KEY_SUITES	"TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"
#define ALL_SUITES	KEY_SUITES ":TLS_AES_256_GCM_SHA384"
#define GROUPS		"X25519:P-256:P-384"

static const unsigned char key_suite[] = { 0x13, 0x01 };	/* TLS_AES_128_GCM_SHA256 */

/* A peer, as TLS knows it */
struct identity {
	char name[NAME_LEN];	/* 0 to the end */
	enum trust trust;
	unsigned char psk[PSK_MAX];
	size_t psk_len;
	char *subject;
	X509_STORE *authority;
	SSL_CTX *client;	/* for carriers that we open; has our certificate for this peer */
};

struct trusted {
	unsigned int users;	/* carriers, and one if it is the present one */
	SSL_CTX *server;
	size_t n;
	struct identity identities[];
};

struct carrier {
	LIST_ENTRY(carrier) all;
	SSL *ssl;
	struct trusted *trusted;
	const struct identity *asked;	/* who we have opened it to; NULL: we are the server */
	const struct identity *by_key, *by_cert;	/* proven, if that way is the one taken */
	bool broken;		/* OpenSSL must not be asked to go on */
	char hint[HINT_LEN];	/* what may be the reason if it fails */
	char why[WHY_LEN];
};

static LIST_HEAD(, carrier) carriers = LIST_HEAD_INITIALIZER(carriers);
static struct trusted *present;
static const struct config *present_config;

static void trusted_put(struct trusted *trusted)
{
	size_t i;

	if (!trusted || --trusted->users)
		return;
	for (i = 0; i < trusted->n; i++) {
		struct identity *identity = &trusted->identities[i];

		SSL_CTX_free(identity->client);
		X509_STORE_free(identity->authority);
		free(identity->subject);
		OPENSSL_cleanse(identity->psk, sizeof(identity->psk));
	}
	SSL_CTX_free(trusted->server);
	free(trusted);
}

/* The first that went wrong is mostly what the others come from */
static const char *error_text(void)
{
	unsigned long error = ERR_peek_error();
	const char *text;

	if (ERR_SYSTEM_ERROR(error))
		return strerror(ERR_GET_REASON(error));
	text = ERR_reason_error_string(error);
	return text ? text : "unknown";
}

/* Keys */

/* What a key is to OpenSSL; new each time, since a handshake writes to it */
static SSL_SESSION *key_session(SSL *ssl, const struct identity *identity)
{
	const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, key_suite);
	SSL_SESSION *session = SSL_SESSION_new();

	if (session && cipher &&
	    SSL_SESSION_set1_master_key(session, identity->psk, identity->psk_len) &&
	    SSL_SESSION_set_cipher(session, cipher) &&
	    SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION))
		return session;
	SSL_SESSION_free(session);
	return NULL;
}

/* As a client */
static int use_key(SSL *ssl, const EVP_MD *hash, const unsigned char **name, size_t *name_len,
		   SSL_SESSION **session)
{
	struct carrier *carrier = SSL_get_app_data(ssl);

	*session = NULL;
	/* After HelloRetryRequest the hash is known; with another one the key is of no use */
	if (hash && !EVP_MD_is_a(hash, "SHA256"))
		return 1;
	*session = key_session(ssl, carrier->asked);
	if (!*session)
		return 0;
	*name = (const unsigned char *)carrier->asked->name;
	*name_len = strlen(carrier->asked->name);
	carrier->by_key = carrier->asked;
	return 1;
}

/* As a server: how long this takes does not depend on which peer it is, nor on how much of a
 * name was guessed.
 */
static const struct identity *find_name(const struct trusted *trusted, const unsigned char *name,
					size_t len)
{
	const struct identity *found = NULL;
	unsigned char padded[NAME_LEN] = {};
	size_t i;

	if (len && len < NAME_LEN && !memchr(name, 0, len))
		memcpy(padded, name, len);
	for (i = 0; i < trusted->n; i++) {
		const struct identity *identity = &trusted->identities[i];

		if (!CRYPTO_memcmp(padded, identity->name, NAME_LEN) &&
		    identity->trust == TRUST_PSK)
			found = identity;
	}
	return found;
}

/* The name is a stranger's: what has no place in a name has none in a sentence */
static void hint_unknown(struct carrier *carrier, const unsigned char *name, size_t len)
{
	char text[NAME_LEN] = "";
	size_t i;

	for (i = 0; i < len && i < NAME_LEN - 1; i++) {
		unsigned char c = name[i];

		text[i] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			(c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ? c : '?';
	}
	snprintf(carrier->hint, sizeof(carrier->hint), "there is no key for the name %s", text);
}

static int find_key(SSL *ssl, const unsigned char *name, size_t len, SSL_SESSION **session)
{
	struct carrier *carrier = SSL_get_app_data(ssl);

	*session = NULL;
	carrier->by_key = find_name(carrier->trusted, name, len);
	if (!carrier->by_key) {
		/* It may have another one, or a certificate */
		hint_unknown(carrier, name, len);
		return 1;
	}
	*session = key_session(ssl, carrier->by_key);
	return !!*session;
}

/* Certificates */

/* X509_V_OK if what is shown is good for this peer, by its own authority */
static int prove(X509_STORE_CTX *shown, const struct identity *identity, const char *purpose)
{
	X509_STORE_CTX *check = X509_STORE_CTX_new();
	X509_VERIFY_PARAM *param;
	int error = X509_V_ERR_OUT_OF_MEM;

	if (!check || !X509_STORE_CTX_init(check, identity->authority,
					   X509_STORE_CTX_get0_cert(shown),
					   X509_STORE_CTX_get0_untrusted(shown)) ||
	    !X509_STORE_CTX_set_default(check, purpose))
		goto out;
	param = X509_STORE_CTX_get0_param(check);
	X509_VERIFY_PARAM_set_auth_level(param, SECURITY);
	X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_WILDCARDS);
	if (!X509_VERIFY_PARAM_set1_host(param, identity->subject, 0))
		goto out;
	if (X509_verify_cert(check) > 0) {
		error = X509_V_OK;
	} else {
		error = X509_STORE_CTX_get_error(check);
		if (error == X509_V_OK)
			error = X509_V_ERR_UNSPECIFIED;
	}
out:
	X509_STORE_CTX_free(check);
	return error;
}

/* Says an error more than that the certificate is of another authority? */
static bool is_close(int error)
{
	return error != X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY &&
		error != X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE &&
		error != X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN &&
		error != X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT;
}

/* Called by OpenSSL instead of what it does itself. If a certificate is good for several peers,
 * by the same authority and with the names of all, it is the first one's.
 */
static int verify(X509_STORE_CTX *shown, void *unused)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(shown, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct carrier *carrier = SSL_get_app_data(ssl);
	const struct trusted *trusted = carrier->trusted;
	int error = X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY;
	size_t i;

	(void)unused;
	if (carrier->asked && carrier->asked->trust == TRUST_PSK)
		snprintf(carrier->hint, sizeof(carrier->hint),
			 "it shows a certificate instead of using the key");
	for (i = 0; i < trusted->n; i++) {
		const struct identity *identity = &trusted->identities[i];
		int found;

		if (identity->trust != TRUST_CERT ||
		    (carrier->asked && carrier->asked != identity))
			continue;
		found = prove(shown, identity, carrier->asked ? "ssl_server" : "ssl_client");
		if (found == X509_V_OK) {
			carrier->by_cert = identity;
			X509_STORE_CTX_set_error(shown, X509_V_OK);
			return 1;
		}
		if (is_close(found))
			error = found;
	}
	X509_STORE_CTX_set_error(shown, error);
	return 0;
}

/* Which certificate of ours the client wants to see: it tells whose name it expects. If it is none
 * of ours, the first one, and the client will say no.
 */
static SSL_CTX *choose(const struct trusted *trusted, const char *name)
{
	SSL_CTX *first = NULL;
	size_t i;

	for (i = 0; i < trusted->n; i++) {
		SSL_CTX *ctx = trusted->identities[i].client;
		X509 *cert = ctx ? SSL_CTX_get0_certificate(ctx) : NULL;

		if (!cert)
			continue;
		if (!first)
			first = ctx;
		if (name && X509_check_host(cert, name, 0, 0, NULL) == 1)
			return ctx;
	}
	return first;
}

static int show(SSL *ssl, void *unused)
{
	struct carrier *carrier = SSL_get_app_data(ssl);
	SSL_CTX *ours = choose(carrier->trusted,
			       SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name));
	struct stack_st_X509 *chain = NULL;	/* STACK_OF(X509) */

	(void)unused;
	if (!ours) {
		/* OpenSSL will find that it has none */
		if (!*carrier->hint)
			snprintf(carrier->hint, sizeof(carrier->hint),
				 "it offers no key, and there is no certificate here");
		return 1;
	}
	SSL_CTX_get0_chain_certs(ours, &chain);
	return SSL_use_cert_and_key(ssl, SSL_CTX_get0_certificate(ours),
				    SSL_CTX_get0_privatekey(ours), chain, 1);
}

/* Contexts */

/* A key with a password is not asked for one: there may be nobody */
static int no_password(char *to, int size, int writing, void *unused)
{
	(void)to;
	(void)size;
	(void)writing;
	(void)unused;
	return -1;
}

static SSL_CTX *new_context(const SSL_METHOD *method, const char *suites)
{
	SSL_CTX *ctx = SSL_CTX_new(method);

	if (!ctx)
		return NULL;
	SSL_CTX_set_security_level(ctx, SECURITY);
	if (!SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) ||
	    !SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) ||
	    !SSL_CTX_set_ciphersuites(ctx, suites) ||
	    !SSL_CTX_set1_groups_list(ctx, GROUPS) ||
	    !SSL_CTX_set_num_tickets(ctx, 0) ||
	    !SSL_CTX_set_max_early_data(ctx, 0) ||
	    !SSL_CTX_set_recv_max_early_data(ctx, 0)) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
			    SSL_OP_NO_COMPRESSION | SSL_OP_ENABLE_KTLS);
	SSL_CTX_clear_options(ctx, SSL_OP_ALLOW_NO_DHE_KEX | SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
			 SSL_MODE_RELEASE_BUFFERS);
	/* A record without data is no reason to read the next at once: there may be any number */
	SSL_CTX_clear_mode(ctx, SSL_MODE_AUTO_RETRY);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_max_cert_list(ctx, CERTS_MAX);
	SSL_CTX_set_default_passwd_cb(ctx, no_password);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	SSL_CTX_set_cert_verify_callback(ctx, verify, NULL);
	return ctx;
}

static bool wrong(const struct peer_config *peer, const char *what)
{
	log_line(LOG_ERR, "tls-failed", "peer=%s what=%s error=%s", peer ? peer->name : "-", what,
		 error_text());
	return false;
}

static bool read_certificates(struct identity *identity, const struct peer_config *peer)
{
	SSL_CTX *ctx = identity->client;

	identity->subject = strdup(peer->subject && *peer->subject ? peer->subject : peer->name);
	identity->authority = X509_STORE_new();
	if (!identity->subject || !identity->authority)
		return wrong(peer, "memory");
	if (!peer->ca || !X509_STORE_load_file(identity->authority, peer->ca))
		return wrong(peer, peer->ca ? peer->ca : "ca");
	if (!peer->cert || SSL_CTX_use_certificate_chain_file(ctx, peer->cert) != 1)
		return wrong(peer, peer->cert ? peer->cert : "cert");
	if (!peer->key || SSL_CTX_use_PrivateKey_file(ctx, peer->key, SSL_FILETYPE_PEM) != 1)
		return wrong(peer, peer->key ? peer->key : "key");
	return true;
}

static bool know(struct identity *identity, const struct peer_config *peer)
{
	bool by_key = peer->trust == TRUST_PSK;

	memcpy(identity->name, peer->name, strnlen(peer->name, NAME_LEN - 1));
	identity->trust = peer->trust;
	if (peer->trust == TRUST_TUNNEL)
		return true;
	identity->client = new_context(TLS_client_method(), by_key ? KEY_SUITES : ALL_SUITES);
	if (!identity->client)
		return wrong(peer, "context");
	if (!by_key)
		return read_certificates(identity, peer);
	if (peer->psk_len < PSK_MIN || peer->psk_len > PSK_MAX || !*identity->name)
		return wrong(peer, "psk");
	memcpy(identity->psk, peer->psk, peer->psk_len);
	identity->psk_len = peer->psk_len;
	SSL_CTX_set_psk_use_session_callback(identity->client, use_key);
	return true;
}

static bool know_all(struct trusted *trusted, const struct config *config)
{
	size_t i;

	trusted->server = new_context(TLS_server_method(), ALL_SUITES);
	/* OpenSSL wants a server that verifies to name a context of sessions; there are none */
	if (!trusted->server ||
	    !SSL_CTX_set_session_id_context(trusted->server, (const unsigned char *)"sched-tcp", 9))
		return wrong(NULL, "context");
	/* A suite that goes with a key, whatever else the client would like */
	SSL_CTX_set_options(trusted->server,
			    SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
	SSL_CTX_set_psk_find_session_callback(trusted->server, find_key);
	SSL_CTX_set_cert_cb(trusted->server, show, NULL);
	for (i = 0; i < config->n_peers; i++) {
		if (!know(&trusted->identities[trusted->n++], &config->peers[i]))
			return false;
	}
	return true;
}

bool tls_init(const struct config *config)
{
	size_t room = sizeof(struct trusted) + config->n_peers * sizeof(struct identity);
	struct trusted *trusted = calloc(1, room);

	ERR_clear_error();
	if (!trusted)
		return wrong(NULL, "memory");
	trusted->users = 1;
	if (!know_all(trusted, config)) {
		trusted_put(trusted);
		return false;
	}
	trusted_put(present);
	present = trusted;
	present_config = config;
	return true;
}

void tls_fini(void)
{
	trusted_put(present);
	present = NULL;
	present_config = NULL;
}

/* Carriers */

static SSL *new_carrier(SSL_CTX *ctx, const struct identity *asked, int fd)
{
	struct carrier *carrier = calloc(1, sizeof(*carrier));

	ERR_clear_error();
	if (!carrier)
		return NULL;
	carrier->ssl = SSL_new(ctx);
	if (!carrier->ssl || !SSL_set_app_data(carrier->ssl, carrier) ||
	    !SSL_set_fd(carrier->ssl, fd) ||
	    (asked && asked->subject && !SSL_set_tlsext_host_name(carrier->ssl, asked->subject))) {
		SSL_free(carrier->ssl);
		free(carrier);
		return NULL;
	}
	carrier->asked = asked;
	carrier->trusted = present;
	present->users++;
	LIST_INSERT_HEAD(&carriers, carrier, all);
	return carrier->ssl;
}

SSL *tls_client(const struct peer_config *peer, int fd)
{
	SSL *ssl;
	size_t i;

	for (i = 0; present && i < present->n; i++) {
		const struct identity *identity = &present->identities[i];

		if (!identity->client || strcmp(identity->name, peer->name))
			continue;
		ssl = new_carrier(identity->client, identity, fd);
		if (ssl)
			SSL_set_connect_state(ssl);
		return ssl;
	}
	return NULL;
}

SSL *tls_server(int fd)
{
	SSL *ssl = present ? new_carrier(present->server, NULL, fd) : NULL;

	if (ssl)
		SSL_set_accept_state(ssl);
	return ssl;
}

void tls_free(SSL *ssl)
{
	struct carrier *carrier = ssl ? SSL_get_app_data(ssl) : NULL;

	if (!carrier)
		return;
	LIST_REMOVE(carrier, all);
	SSL_free(ssl);
	trusted_put(carrier->trusted);
	free(carrier);
}

/* The handshake */

static enum tls_result fail(struct carrier *carrier, const char *text, const char **why)
{
	carrier->broken = true;
	snprintf(carrier->why, sizeof(carrier->why), "%s", text);
	*why = carrier->why;
	return TLS_FAILED;
}

static enum tls_result fail_by_openssl(struct carrier *carrier, int error, int saved_errno,
				       const char **why)
{
	long verified = SSL_get_verify_result(carrier->ssl);
	int reason = ERR_GET_REASON(ERR_peek_error());
	const char *text = error_text();
	char all[WHY_LEN];

	if (error == SSL_ERROR_SYSCALL)
		text = saved_errno ? strerror(saved_errno) : "the connection has ended";
	else if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
		text = X509_verify_cert_error_string(verified);
	snprintf(all, sizeof(all), "%s%s%s%s", carrier->hint, *carrier->hint ? ": " : "",
		 reason > SSL_AD_REASON_OFFSET && error == SSL_ERROR_SSL ? "it says " : "", text);
	return fail(carrier, all, why);
}

/* Keys are alike on both ends, so somebody between could lead what we open back to ourselves, and
 * we would be proven to ourselves as the peer. The client's random number shows it.
 */
static bool is_our_own(const struct carrier *server)
{
	unsigned char theirs[SSL3_RANDOM_SIZE], ours[SSL3_RANDOM_SIZE];
	const struct carrier *carrier;

	SSL_get_client_random(server->ssl, theirs, sizeof(theirs));
	LIST_FOREACH(carrier, &carriers, all) {
		if (!carrier->asked)
			continue;
		SSL_get_client_random(carrier->ssl, ours, sizeof(ours));
		if (!memcmp(ours, theirs, sizeof(ours)))
			return true;
	}
	return false;
}

/* The peer as it is configured now: it may have been taken out since the handshake began */
static const struct peer_config *configured(const struct identity *identity)
{
	size_t i;

	for (i = 0; present_config && i < present_config->n_peers; i++) {
		const struct peer_config *peer = &present_config->peers[i];

		if (peer->trust == identity->trust && !strcmp(peer->name, identity->name))
			return peer;
	}
	return NULL;
}

static enum tls_result who(struct carrier *carrier, const struct peer_config **peer,
			   const char **why)
{
	SSL *ssl = carrier->ssl;
	const struct identity *found = SSL_session_reused(ssl) ? carrier->by_key : carrier->by_cert;

	if (!found || SSL_version(ssl) != TLS1_3_VERSION)
		return fail(carrier, "it has not proven to be a peer", why);
	if (carrier->asked && carrier->asked != found)
		return fail(carrier, "it is another peer than the one asked for", why);
	if (!carrier->asked && is_our_own(carrier))
		return fail(carrier, "it is ourselves: the way to the peer leads back here", why);
	*peer = configured(found);
	if (!*peer)
		return fail(carrier, "it is no peer any more", why);
	return TLS_DONE;
}

enum tls_result tls_handshake(SSL *ssl, const struct peer_config **peer, const char **why)
{
	struct carrier *carrier = SSL_get_app_data(ssl);
	int result, saved_errno;

	if (carrier->broken) {
		*why = carrier->why;
		return TLS_FAILED;
	}
	ERR_clear_error();
	errno = 0;
	result = SSL_do_handshake(ssl);
	saved_errno = errno;
	if (result == 1)
		return who(carrier, peer, why);
	result = SSL_get_error(ssl, result);
	if (result == SSL_ERROR_WANT_READ)
		return TLS_WANT_READ;
	if (result == SSL_ERROR_WANT_WRITE)
		return TLS_WANT_WRITE;
	return fail_by_openssl(carrier, result, saved_errno, why);
}

/* Data */

/* What read() or write() would return, and errno, after OpenSSL has not done it */
static ssize_t not_done(SSL *ssl, int result, int saved_errno)
{
	struct carrier *carrier = SSL_get_app_data(ssl);

	switch (SSL_get_error(ssl, result)) {
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		errno = EAGAIN;
		return -1;
	case SSL_ERROR_SYSCALL:
		errno = saved_errno ? saved_errno : EPROTO;
		break;
	default:
		errno = EPROTO;
	}
	carrier->broken = true;
	return -1;
}

static bool is_broken(SSL *ssl)
{
	struct carrier *carrier = SSL_get_app_data(ssl);

	if (carrier->broken)
		errno = EPROTO;
	return carrier->broken;
}

ssize_t tls_read(SSL *ssl, void *data, size_t len)
{
	size_t n;

	if (is_broken(ssl))
		return -1;
	ERR_clear_error();
	errno = 0;
	if (SSL_read_ex(ssl, data, len, &n))
		return n;
	return not_done(ssl, 0, errno);
}

ssize_t tls_write(SSL *ssl, const void *data, size_t len)
{
	size_t n;

	if (is_broken(ssl))
		return -1;
	if (!len)
		return 0;
	ERR_clear_error();
	errno = 0;
	if (SSL_write_ex(ssl, data, len, &n))
		return n;
	if (not_done(ssl, 0, errno))
		return -1;
	/* It has ended, so it does not read */
	errno = EPIPE;
	return -1;
}

bool tls_end(SSL *ssl)
{
	int result;

	if (is_broken(ssl) || !SSL_is_init_finished(ssl))
		return true;
	ERR_clear_error();
	result = SSL_shutdown(ssl);
	return result >= 0 || SSL_get_error(ssl, result) != SSL_ERROR_WANT_WRITE;
}

bool tls_in_kernel(SSL *ssl)
{
	return BIO_get_ktls_send(SSL_get_wbio(ssl));
}
