/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the configuration file says: sched-tcp.conf(5). Read once; on SIGHUP a second one is read,
 * and what may change is taken from it.
 */
#ifndef SCHED_TCP_CONFIG_H
#define SCHED_TCP_CONFIG_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "policy.h"

#define NAME_LEN	64	/* of peers and types, with the 0 */
typedef char type_name[NAME_LEN];

#define TYPES_MAX	256
#define PSK_MIN		16	/* bytes */
#define PSK_MAX		64

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_storage room;
};

/* Addresses of a family (AF_UNSPEC: all) that begin with these bits, and ports from..to */
struct allowed {
	int family;
	unsigned char bits[16];
	unsigned int length;
	uint16_t from, to;
};

/* How we know that the other end is this peer */
enum trust {
	TRUST_PSK,	/* TLS 1.3 with a key that both have */
	/* TLS 1.3, both show certificates by the authority @ca, with the name @subject */
	TRUST_CERT,
	TRUST_TUNNEL,	/* it has one of the addresses @within: what is between us is a tunnel */
};

struct peer_config {
	/* with TRUST_PSK also the identity, which has to be alike on both ends */
	char name[NAME_LEN];
	bool reached;		/* has an address; else it only comes to us */
	union address address;
	enum trust trust;
	unsigned char psk[PSK_MAX];
	size_t psk_len;
	char *cert, *key, *ca, *subject;	/* files; a name of the certificate */
	struct allowed *within;		/* TRUST_TUNNEL: ports are not asked */
	size_t n_within;
	enum policy policy;
	bool single;		/* one carrier for all flows, for comparison */
	struct allowed *allow;	/* where its flows may go: none unless told */
	size_t n_allow;
	/* flows of it go on with the address of their client (IP_TRANSPARENT) */
	bool keep_source;
	unsigned int dead;	/* not of the file: the sum of that of its sessions (core.h) */
};

enum listener {
	LISTEN_PEERS,	/* carriers */
	LISTEN_FORWARD,
	LISTEN_SOCKS,
	LISTEN_TPROXY,
};

struct listen_config {
	enum listener how;
	union address address;
	struct peer_config *peer;	/* not with LISTEN_PEERS */
	union address to;		/* LISTEN_FORWARD */
	/* LISTEN_FORWARD: a header of PROXY protocol v2 comes first */
	bool proxied;
	uint8_t type;			/* of flows by this listener, unless they tell */
};

struct config {
	struct peer_config *peers;
	size_t n_peers;
	struct listen_config *listeners;
	size_t n_listeners;
	type_name types[TYPES_MAX];	/* the first has the highest priority */
	unsigned int n_types;			/* 1 and more */
	char *user;		/* whose privileges are left; NULL: none are dropped */
	char *control;		/* path of the socket of `sched-tcp status` */
	size_t memory;		/* bytes, of all queues and all that waits for its turn */
	unsigned int flows;	/* at most */
	/* at most, of carriers that have not yet said who they are */
	unsigned int handshakes;
	size_t window;		/* bytes that a flow may have on the way and wait at the far end */
	size_t queue;		/* bytes of a flow that may wait for carriers */
	unsigned int timeout;	/* s until connect() or a handshake has failed */
	unsigned int unsent;	/* bytes that may wait in a carrier's socket; 0: as its rate is */
};

/* config_read - read a file
 * @path: its name
 *
 * Return: what it says, or NULL; then a log line says where and why. The file of a key may be
 * readable by its owner only.
 */
struct config *config_read(const char *path);
void config_free(struct config *config);

/* Is it allowed to go there? */
bool allowed(const struct allowed *list, size_t n, const union address *to);

/* address_text - an address as text, "192.0.2.1:80" or "[2001:db8::1]:80"
 * @address: of AF_INET or AF_INET6
 * @text: room for ADDRESS_TEXT
 *
 * Return: @text
 */
#define ADDRESS_TEXT	64
const char *address_text(const union address *address, char *text);
socklen_t address_len(const union address *address);
uint16_t address_port(const union address *address);
void address_set_port(union address *address, uint16_t port);

#endif
