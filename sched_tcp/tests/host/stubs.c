// SPDX-License-Identifier: GPL-2.0
/* What the parts of the daemon want of others when each is tested alone */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>

#include "../../config.h"
#include "../../log.h"

void log_line(int priority, const char *event, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "<%d>%s ", priority, event);
	vfprintf(stderr, format, args);
	fputs("\n", stderr);
	va_end(args);
}

socklen_t address_len(const union address *address)
{
	return address->any.sa_family == AF_INET ? sizeof(address->in) : sizeof(address->in6);
}

uint16_t address_port(const union address *address)
{
	return ntohs(address->in.sin_port);
}

const char *address_text(const union address *address, char *text)
{
	char bits[INET6_ADDRSTRLEN] = "?";

	if (address->any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &address->in6.sin6_addr, bits, sizeof(bits));
		snprintf(text, ADDRESS_TEXT, "[%s]:%u", bits, address_port(address));
	} else {
		inet_ntop(AF_INET, &address->in.sin_addr, bits, sizeof(bits));
		snprintf(text, ADDRESS_TEXT, "%s:%u", bits, address_port(address));
	}
	return text;
}

void address_set_port(union address *address, uint16_t port)
{
	address->in.sin_port = htons(port);
}
