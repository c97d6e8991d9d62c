// SPDX-License-Identifier: GPL-2.0
/*
 * In place of libc's: it sends what a terminal must not see. In the directory $SFTOP_NAMES, if
 * there is one, it tells each question in the file "asked", and answers when there is "answer".
 */
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int getnameinfo(const struct sockaddr *address, socklen_t len, char *host, socklen_t size,
		char *service, socklen_t service_size, int flags)
{
	const struct sockaddr_in *four = (const void *)address;
	const char *where = getenv("SFTOP_NAMES");
	char file[4096];
	FILE *out;

	(void)len;
	(void)service;
	(void)service_size;
	(void)flags;
	if (where) {
		snprintf(file, sizeof(file), "%s/asked", where);
		out = fopen(file, "a");
		if (!out)
			return EAI_SYSTEM;
		fprintf(out, "asked\n");
		fclose(out);
		snprintf(file, sizeof(file), "%s/answer", where);
		while (access(file, F_OK))
			usleep(10000);
	}
	if (address->sa_family != AF_INET)
		return EAI_NONAME;
	snprintf(host, size, "n%u\033[31m\302\233evil.example", ntohl(four->sin_addr.s_addr) & 255);
	return 0;
}
