// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <linux/if_ether.h>
#include <linux/pkt_sched.h>

#include "format.h"

void format_printable(char *to, const char *from, size_t size)
{
	size_t i;

	for (i = 0; i + 1 < size && from[i]; i++)
		to[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
	to[i] = 0;
}

const char *format_count(char to[NUMBER_MAX], double n)
{
	static const char units[] = " kMGTPE";
	unsigned int unit = 0;

	for (; n >= 999.5 && units[unit + 1]; unit++)
		n /= 1000;
	if (!unit)
		snprintf(to, NUMBER_MAX, "%.0f", n);
	else
		snprintf(to, NUMBER_MAX, n < 9.95 ? "%.1f%c" : "%.0f%c", n, units[unit]);
	return to;
}

const char *format_time(char to[NUMBER_MAX], __u64 us)
{
	if (us < 1000)
		snprintf(to, NUMBER_MAX, "%uus", (unsigned int)us);
	else if (us < 9950)
		snprintf(to, NUMBER_MAX, "%.1fms", us / 1e3);
	else if (us < 999500)
		snprintf(to, NUMBER_MAX, "%.0fms", us / 1e3);
	else if (us < 99950000)
		snprintf(to, NUMBER_MAX, "%.1fs", us / 1e6);
	else
		snprintf(to, NUMBER_MAX, "%.0fs", us / 1e6);
	return to;
}

const char *format_handle(char to[NUMBER_MAX], __u32 handle)
{
	if (handle == TC_H_ROOT)
		snprintf(to, NUMBER_MAX, "root");
	else if (TC_H_MIN(handle))
		snprintf(to, NUMBER_MAX, "%x:%x", TC_H_MAJ(handle) >> 16, TC_H_MIN(handle));
	else
		snprintf(to, NUMBER_MAX, "%x:", TC_H_MAJ(handle) >> 16);
	return to;
}

const char *format_proto(char to[NUMBER_MAX], const struct entry *e)
{
	if (e->proto == IPPROTO_TCP)
		return "tcp";
	if (e->proto == IPPROTO_UDP)
		return "udp";
	if (e->proto == IPPROTO_ICMP)
		return "icmp";
	if (e->proto == IPPROTO_ICMPV6)
		return "icmpv6";
	if (e->proto)
		snprintf(to, NUMBER_MAX, "ip-%u", e->proto);
	else if (e->ethertype == ETH_P_ARP)
		snprintf(to, NUMBER_MAX, "arp");
	else if (TOLD(e, ETHERTYPE))
		snprintf(to, NUMBER_MAX, "0x%04x", e->ethertype);
	else
		snprintf(to, NUMBER_MAX, "-");
	return to;
}

const char *format_sort(const struct entry *e)
{
	static const char * const names[SORTS] = {
		[TC_SF_SORT_UNSPEC] = "other",
		[TC_SF_SORT_NEW] = "new",
		[TC_SF_SORT_SHORT] = "short",
		[TC_SF_SORT_LONG] = "long",
	};

	return names[e->sort];
}

const char *format_address(char to[ADDRESS_MAX], const struct entry *e, bool dst)
{
	*to = 0;
	if (dst ? TOLD(e, DST) : TOLD(e, SRC))
		inet_ntop(e->address_len == 4 ? AF_INET : AF_INET6, dst ? e->dst : e->src, to,
			  ADDRESS_MAX);
	return to;
}

const char *format_end(char to[END_MAX], const struct entry *e, bool dst, const char *name)
{
	bool port = dst ? TOLD(e, DPORT) : TOLD(e, SPORT);
	char address[ADDRESS_MAX];

	format_address(address, e, dst);
	if (!*address)
		*to = 0;
	else if (dst && TOLD(e, INNER))
		snprintf(to, END_MAX, "%.64s inner %u", name ? name : address, e->inner);
	else if (!port)
		snprintf(to, END_MAX, "%.64s", name ? name : address);
	else if (name || e->address_len == 4)
		snprintf(to, END_MAX, "%.64s:%u", name ? name : address, dst ? e->dport : e->sport);
	else
		snprintf(to, END_MAX, "[%s]:%u", address, dst ? e->dport : e->sport);
	return to;
}

const char *format_unnamed(char to[NUMBER_MAX], const struct entry *e)
{
	if (e->type == TC_SF_CLASS_OVERFLOW || (e->type == TC_SF_CLASS_HOST && e->host == 1))
		return "all the others";
	snprintf(to, NUMBER_MAX, "#%u", e->type == TC_SF_CLASS_HOST ? e->host : e->record);
	return to;
}

void format_row_text(char *to, size_t size, const struct snapshot *s, const struct entry *e)
{
	char proto[NUMBER_MAX], src[END_MAX], dst[END_MAX];
	const struct qdisc *q = qdisc_of(s, e);

	snprintf(to, size, "%s %s %s %s %s %s record %u host %u", q->name, q->kind, format_sort(e),
		 format_proto(proto, e), format_end(src, e, false, NULL),
		 format_end(dst, e, true, NULL), e->record, e->host);
}
