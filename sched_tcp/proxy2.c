// SPDX-License-Identifier: GPL-2.0
/*
 * PROXY protocol, version 2: 12 bytes that no other protocol begins with, the version and a
 * command, the family, and the length of what follows, which is addresses and TLVs. All of it is
 * checked, since a header that is not understood must not be taken for data, nor data for one.
 */
#include <endian.h>
#include <string.h>

#include "proxy2.h"

#define SIGNATURE	"\r\n\r\n\0\r\nQUIT\n"
#define SIGNATURE_LEN	12
#define HEAD_LEN	16
#define TLV_HEAD_LEN	3

enum { LOCAL = 0x20, PROXY = 0x21 };	/* the version and the command */
enum { UNSPEC = 0x00, TCP4 = 0x11, TCP6 = 0x21, UNIX_STREAM = 0x31 };
enum { TCP4_LEN = 12, TCP6_LEN = 36, UNIX_STREAM_LEN = 216 };

static uint16_t get16(const unsigned char *at)
{
	return at[0] << 8 | at[1];
}

static uint64_t get64(const unsigned char *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return be64toh(value);
}

/* Where the TLVs begin; -1: it is of no family that a TCP connection has, or too short */
static int read_addresses(int family, const unsigned char *at, size_t len, union address *from)
{
	switch (family) {
	case UNSPEC:
		return 0;
	case TCP4:
		if (len < TCP4_LEN)
			return -1;
		from->in.sin_family = AF_INET;
		memcpy(&from->in.sin_addr, at, 4);
		memcpy(&from->in.sin_port, at + 8, 2);
		return TCP4_LEN;
	case TCP6:
		if (len < TCP6_LEN)
			return -1;
		from->in6.sin6_family = AF_INET6;
		memcpy(&from->in6.sin6_addr, at, 16);
		memcpy(&from->in6.sin6_port, at + 32, 2);
		return TCP6_LEN;
	case UNIX_STREAM:
		return len < UNIX_STREAM_LEN ? -1 : UNIX_STREAM_LEN;
	default:
		return -1;
	}
}

/* Those of others are skipped */
static int read_tlv(int type, const unsigned char *value, size_t len, struct told *told)
{
	switch (type) {
	case PROXY2_SIZE:
	case PROXY2_REPLY:
		if (len != sizeof(uint64_t))
			return -1;
		*(type == PROXY2_SIZE ? &told->size : &told->reply) = get64(value);
		return 0;
	case PROXY2_TYPE:
		if (len != 1)
			return -1;
		told->type = *value;
		return 0;
	default:
		return 0;
	}
}

static int read_tlvs(const unsigned char *at, size_t len, struct told *told)
{
	while (len) {
		size_t value;

		if (len < TLV_HEAD_LEN)
			return -1;
		value = get16(at + 1);
		if (value > len - TLV_HEAD_LEN ||
		    read_tlv(at[0], at + TLV_HEAD_LEN, value, told))
			return -1;
		at += TLV_HEAD_LEN + value;
		len -= TLV_HEAD_LEN + value;
	}
	return 0;
}

int proxy2_read(const unsigned char *data, size_t len, struct told *told)
{
	const unsigned char *rest = data + HEAD_LEN;
	struct told found = { .type = -1 };
	size_t n;
	int used;

	if (memcmp(data, SIGNATURE, len < SIGNATURE_LEN ? len : SIGNATURE_LEN) ||
	    (len > SIGNATURE_LEN && data[12] != LOCAL && data[12] != PROXY))
		return -1;
	if (len < HEAD_LEN)
		return 0;
	n = get16(data + 14);
	if (len < HEAD_LEN + n)
		return 0;
	/* A proxy that speaks for itself tells nothing, and what it adds is skipped */
	if (data[12] == PROXY) {
		used = read_addresses(data[13], rest, n, &found.from);
		if (used < 0 || read_tlvs(rest + used, n - used, &found))
			return -1;
	}
	*told = found;
	return HEAD_LEN + n;
}
