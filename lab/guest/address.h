/* SPDX-License-Identifier: GPL-2.0 */
/* Addresses of IPv4 and of IPv6, as the lab's generators use them */
#ifndef LAB_ADDRESS_H
#define LAB_ADDRESS_H

#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <sys/socket.h>

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	};
	socklen_t len;
};

/* Of a text, with a port */
static inline struct address address_of(const char *text, unsigned int port)
{
	struct address a = { .v6 = { .sin6_family = AF_INET6 }, .len = sizeof(a.v6) };

	if (inet_pton(AF_INET6, text, &a.v6.sin6_addr) != 1) {
		a = (struct address){ .v4 = { .sin_family = AF_INET }, .len = sizeof(a.v4) };
		if (inet_pton(AF_INET, text, &a.v4.sin_addr) != 1)
			errx(1, "%s: no address", text);
	}
	a.v4.sin_port = htons(port);	/* is at the same place in both */
	return a;
}

/* Another one beside it, as in net.sh: the last byte is the host's. 0: itself */
static inline struct address host_beside(struct address a, unsigned int host)
{
	if (!host)
		return a;
	if (a.any.sa_family == AF_INET6)
		a.v6.sin6_addr.s6_addr[15] = host;
	else
		a.v4.sin_addr.s_addr = htonl((ntohl(a.v4.sin_addr.s_addr) & ~0xffU) | host);
	return a;
}

#endif
