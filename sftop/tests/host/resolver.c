// SPDX-License-Identifier: GPL-2.0
/*
 * In place of libc's: it takes its time, and sends what a terminal must not see. To /dev/null it
 * tells each question (SFTOP_ASKED is another file).
 */
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int getnameinfo(const struct sockaddr *address, socklen_t len, char *host, socklen_t size,
		char *service, socklen_t service_size, int flags)
{
	const char *asked = getenv("SFTOP_ASKED");
	const struct sockaddr_in *four = (const void *)address;
	FILE *out = fopen(asked ? asked : "/dev/null", "a");

	(void)len;
	(void)service;
	(void)service_size;
	(void)flags;
	if (out) {
		fprintf(out, "asked\n");
		fclose(out);
	}
	usleep(300000);
	if (address->sa_family != AF_INET)
		return EAI_NONAME;
	snprintf(host, size, "n%u\033[31m\302\233evil.example", ntohl(four->sin_addr.s_addr) & 255);
	return 0;
}
