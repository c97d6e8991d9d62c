// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <string.h>

#include "wire.h"

static const unsigned char magic[3] = { 'S', 'F', 'T' };

static unsigned char *put16(unsigned char *p, uint16_t v)
{
	p[0] = v >> 8;
	p[1] = v;
	return p + 2;
}

static unsigned char *put32(unsigned char *p, uint32_t v)
{
	return put16(put16(p, v >> 16), v);
}

static unsigned char *put64(unsigned char *p, uint64_t v)
{
	return put32(put32(p, v >> 32), v);
}

/* What names of hosts consist of: those who print one need not care */
static const char in_names[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

static uint16_t get16(const unsigned char *p)
{
	return p[0] << 8 | p[1];
}

static uint32_t get32(const unsigned char *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static uint64_t get64(const unsigned char *p)
{
	return (uint64_t)get32(p) << 32 | get32(p + 4);
}

/* What each type has after its head, at least and at most */
static const struct {
	uint16_t least, most;
} lengths[FRAME_TYPES] = {
	[FRAME_HELLO] = { HELLO_LEN, HELLO_LEN },
	[FRAME_WELCOME] = { HELLO_LEN, HELLO_LEN },
	[FRAME_OPEN] = { 1, OPENING_MAX },
	[FRAME_DATA] = { 0, FRAME_MAX },
	[FRAME_CREDIT] = { 4, 4 },
};

int frame_read(const unsigned char *bytes, size_t len, struct frame *frame)
{
	if (len < FRAME_HEAD)
		return 0;
	frame->type = bytes[0];
	frame->flags = bytes[1];
	frame->len = get16(bytes + 2);
	frame->flow = get32(bytes + 4);
	frame->offset = get32(bytes + 8);
	frame->data = bytes + FRAME_HEAD;
	if (!frame->type || frame->type >= FRAME_TYPES || frame->flags & ~FLAG_FIN)
		return -1;
	if (frame->len < lengths[frame->type].least || frame->len > lengths[frame->type].most)
		return -1;
	return len < FRAME_HEAD + (size_t)frame->len ? 0 : FRAME_HEAD + frame->len;
}

void frame_head(unsigned char *to, const struct frame *frame)
{
	to[0] = frame->type;
	to[1] = frame->flags;
	put32(put32(put16(to + 2, frame->len), frame->flow), frame->offset);
}

uint32_t frame_received(const struct frame *frame)
{
	return get32(frame->data);
}

void frame_put_received(unsigned char *to, uint32_t received)
{
	put32(to, received);
}

size_t hello_write(unsigned char *to, const struct hello *hello)
{
	memcpy(to, magic, sizeof(magic));
	to[3] = WIRE_VERSION;
	memcpy(to + 4, hello->id, ID_LEN);
	return HELLO_LEN;
}

bool hello_read(const struct frame *frame, struct hello *hello)
{
	if (memcmp(frame->data, magic, sizeof(magic)) || frame->data[3] != WIRE_VERSION)
		return false;
	memcpy(hello->id, frame->data + 4, ID_LEN);
	return true;
}

/* What an address of IPv4 within IPv6 begins with: it is taken for the one that it means */
static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };

/* An address: a byte with how long it is, 0 if it is not told, its bytes, and the port */
static unsigned char *put_address(unsigned char *p, const union address *address)
{
	size_t len = 0;

	if (address->any.sa_family == AF_INET) {
		len = 4;
		memcpy(p + 1, &address->in.sin_addr, len);
	} else if (address->any.sa_family == AF_INET6) {
		len = 16;
		memcpy(p + 1, &address->in6.sin6_addr, len);
	}
	*p = len;
	return put16(p + 1 + len, len ? address_port(address) : 0);
}

static const unsigned char *get_address(const unsigned char *p, const unsigned char *end,
					union address *address)
{
	size_t len;

	memset(address, 0, sizeof(*address));
	if (p >= end)
		return NULL;
	len = *p++;
	if ((len && len != 4 && len != 16) || (size_t)(end - p) < len + 2)
		return NULL;
	if (len == 16 && !memcmp(p, mapped, sizeof(mapped))) {
		p += sizeof(mapped);
		len = 4;
	}
	if (len == 4) {
		address->in.sin_family = AF_INET;
		memcpy(&address->in.sin_addr, p, len);
	} else if (len) {
		address->in6.sin6_family = AF_INET6;
		memcpy(&address->in6.sin6_addr, p, len);
	}
	if (len)
		address_set_port(address, get16(p + len));
	return p + len + 2;
}

size_t opening_write(unsigned char *to, const struct opening *opening)
{
	size_t host = strnlen(opening->target.host, HOST_MAX);
	unsigned char *p = put64(put64(to, opening->size), opening->reply);

	*p++ = opening->type;
	p = put_address(p, &opening->from);
	*p++ = host;
	memcpy(p, opening->target.host, host);
	p += host;
	if (host)
		p = put16(p, address_port(&opening->target.address));
	else
		p = put_address(p, &opening->target.address);
	return p - to;
}

bool opening_read(const struct frame *frame, struct opening *opening)
{
	const unsigned char *p = frame->data, *end = p + frame->len;
	size_t host;

	memset(opening, 0, sizeof(*opening));
	if (frame->len < 8 + 8 + 1)
		return false;
	opening->size = get64(p);
	opening->reply = get64(p + 8);
	opening->type = p[16];
	p = get_address(p + 17, end, &opening->from);
	if (!p || p >= end)
		return false;
	host = *p++;
	if (!host) {
		p = get_address(p, end, &opening->target.address);
		return p == end && opening->target.address.any.sa_family != AF_UNSPEC &&
		       address_port(&opening->target.address);
	}
	if ((size_t)(end - p) != host + 2)
		return false;
	memcpy(opening->target.host, p, host);
	if (strspn(opening->target.host, in_names) != host)
		return false;
	opening->target.address.in.sin_family = AF_INET;
	address_set_port(&opening->target.address, get16(p + host));
	return get16(p + host) != 0;
}
