/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all kinds tell of flows and hosts (pkt_class.h), as tc prints it with each class. What was
 * sent, waits and was dropped tc prints by itself, in text: JSON has all that is told.
 */
#ifndef _TC_CLASS_H
#define _TC_CLASS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <shortfirst/pkt_class.h>

static const char * const tc_class_types[] = { "class", "flow", "host", "rest" };

static const char * const tc_class_sorts[] = { "", "new", "short", "long" };

/* The numbers that are told of a class, and how text has them; NULL: text does not */
static const struct {
	const char *json;
	const char *text;
	int attr;
	unsigned int size;
} tc_class_numbers[] = {
	{ "record", " record %llu", TCA_SF_CLASS_RECORD, 4 },
	{ "inner", " inner %llu", TCA_SF_CLASS_INNER, 4 },
	{ "host", " host %llu", TCA_SF_CLASS_HOST, 4 },
	{ "named", " named %llu", TCA_SF_CLASS_NAMED, 4 },
	{ "attained", NULL, TCA_SF_CLASS_ATTAINED, 8 },
	{ "bytes", NULL, TCA_SF_CLASS_BYTES, 8 },
	{ "packets", NULL, TCA_SF_CLASS_PACKETS, 8 },
	{ "drops", NULL, TCA_SF_CLASS_DROPS, 4 },
	{ "marks", NULL, TCA_SF_CLASS_MARKS, 4 },
	{ "flows", " flows %llu", TCA_SF_CLASS_FLOWS, 4 },
	{ "level", " level %llub", TCA_SF_CLASS_LEVEL, 4 },
	{ "over", " over %llu", TCA_SF_CLASS_OVER, 4 },
	{ "waited_us", " waited %lluus", TCA_SF_CLASS_WAITED, 4 },
	{ "silent_ms", " silent %llums", TCA_SF_CLASS_SILENT, 4 },
};

/* An attribute's value if it has so many bytes, or more that are not known yet */
static inline bool tc_class_get(struct rtattr **tb, int attr, void *to, unsigned int size)
{
	if (!tb[attr] || RTA_PAYLOAD(tb[attr]) < size)
		return false;
	memcpy(to, RTA_DATA(tb[attr]), size);
	return true;
}

static inline __u64 tc_class_u32(struct rtattr **tb, int attr)
{
	__u32 value = 0;

	tc_class_get(tb, attr, &value, sizeof(value));
	return value;
}

/* Text that JSON has under @key; @fmt is text's */
static inline void tc_class_word(const char *key, const char *fmt, const char *word)
{
	print_color_string(PRINT_JSON | PRINT_FP, COLOR_NONE, key, fmt, word);
}

static inline void tc_class_proto(struct rtattr **tb)
{
	__be16 ethertype = 0;
	__u8 proto = 0;
	char text[16];

	tc_class_get(tb, TCA_SF_CLASS_ETHERTYPE, &ethertype, sizeof(ethertype));
	tc_class_get(tb, TCA_SF_CLASS_PROTO, &proto, sizeof(proto));
	if (proto == IPPROTO_TCP)
		strcpy(text, "tcp");
	else if (proto == IPPROTO_UDP)
		strcpy(text, "udp");
	else if (proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6)
		strcpy(text, proto == IPPROTO_ICMP ? "icmp" : "icmpv6");
	else if (proto)
		snprintf(text, sizeof(text), "ip-%u", proto);
	else
		snprintf(text, sizeof(text), "0x%04x", ntohs(ethertype));
	if (tb[TCA_SF_CLASS_ETHERTYPE])
		tc_class_word("proto", " %s", text);
}

static inline void tc_class_address(struct rtattr **tb, int attr, int port_attr, const char *key,
				    const char *port_key, const char *fmt)
{
	char address[INET6_ADDRSTRLEN], text[INET6_ADDRSTRLEN + 8];
	__be16 port;
	bool ip6;

	if (!tb[attr] || (RTA_PAYLOAD(tb[attr]) != 4 && RTA_PAYLOAD(tb[attr]) != 16))
		return;
	ip6 = RTA_PAYLOAD(tb[attr]) == 16;
	inet_ntop(ip6 ? AF_INET6 : AF_INET, RTA_DATA(tb[attr]), address, sizeof(address));
	print_color_string(PRINT_JSON, COLOR_NONE, key, NULL, address);
	strcpy(text, address);
	if (tc_class_get(tb, port_attr, &port, sizeof(port))) {
		snprintf(text, sizeof(text), ip6 ? "[%s]:%u" : "%s:%u", address, ntohs(port));
		print_color_u64(PRINT_JSON, COLOR_NONE, port_key, NULL, ntohs(port));
	}
	print_color_string(PRINT_FP, COLOR_NONE, NULL, fmt, text);
}

/**
 * tc_print_class - print what is told of a class
 * @nest: TCA_OPTIONS, may be NULL
 *
 * Return: what print_copt is to return.
 */
static inline int tc_print_class(struct rtattr *nest)
{
	struct rtattr *tb[TCA_SF_CLASS_MAX + 1];
	char text[40];
	__u32 val32;
	__u64 val;
	__u32 i;

	if (!nest)
		return 0;
	parse_rtattr(tb, TCA_SF_CLASS_MAX, RTA_DATA(nest), RTA_PAYLOAD(nest));
	i = tc_class_u32(tb, TCA_SF_CLASS_TYPE);
	if (i < sizeof(tc_class_types) / sizeof(*tc_class_types))
		tc_class_word("type", "%s", tc_class_types[i]);
	i = tc_class_u32(tb, TCA_SF_CLASS_SORT);
	if (i && i < sizeof(tc_class_sorts) / sizeof(*tc_class_sorts))
		tc_class_word("sort", " %s", tc_class_sorts[i]);
	tc_class_proto(tb);
	tc_class_address(tb, TCA_SF_CLASS_SRC, TCA_SF_CLASS_SPORT, "src", "sport", " %s");
	tc_class_address(tb, TCA_SF_CLASS_DST, TCA_SF_CLASS_DPORT, "dst", "dport", " > %s");
	for (i = 0; i < sizeof(tc_class_numbers) / sizeof(*tc_class_numbers); i++) {
		if (tc_class_numbers[i].size == sizeof(val32)) {
			if (!tc_class_get(tb, tc_class_numbers[i].attr, &val32, sizeof(val32)))
				continue;
			val = val32;
		} else if (!tc_class_get(tb, tc_class_numbers[i].attr, &val, sizeof(val))) {
			continue;
		}
		print_color_u64(PRINT_JSON, COLOR_NONE, tc_class_numbers[i].json, NULL, val);
		if (!tc_class_numbers[i].text)
			continue;
		snprintf(text, sizeof(text), tc_class_numbers[i].text, (unsigned long long)val);
		print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", text);
	}
	print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", " ");
	return 0;
}

#endif
