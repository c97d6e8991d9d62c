// SPDX-License-Identifier: GPL-2.0
/*
 * queues: how long the queues of a qdisc's flows are, time after time.
 *
 *	queues --dev DEV --handle MAJOR [--netns NS] [--flows N] [--duration S]
 *	       [--interval S] [--out FILE]
 *
 * The flows are those that `tc class show` lists, in the order in which they are
 * first seen with packets. A line for an interval, a column for a flow: bytes at its end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/socket.h>
#include "util.h"

#define MAX_FLOWS	64

enum { FLOWS, DURATION, INTERVAL, HANDLE, NUMBERS };
enum { NETNS = NUMBERS, DEV, OUT, OPTIONS };

static double num[NUMBERS] = {
	[FLOWS] = 1, [DURATION] = 10, [INTERVAL] = 0.01,	/* seconds */
	[HANDLE] = 0x10,
};

static const char *text[OPTIONS];
static unsigned int minors[MAX_FLOWS];	/* of the flows seen so far */
static int seen;
static char buf[1 << 16];

static struct rtattr *find(struct rtattr *attr, int len, int type)
{
	for (; RTA_OK(attr, len); attr = RTA_NEXT(attr, len))
		if ((attr->rta_type & NLA_TYPE_MASK) == type)
			return attr;
	return NULL;
}

static void note(const struct nlmsghdr *msg, long long *bytes, int flows)
{
	struct tcmsg *tc = NLMSG_DATA(msg);
	struct gnet_stats_queue *queue;
	struct rtattr *attr;
	int i;

	if (msg->nlmsg_type != RTM_NEWTCLASS ||
	    TC_H_MAJ(tc->tcm_handle) >> 16 != (unsigned int)num[HANDLE])
		return;
	attr = find(TCA_RTA(tc), TCA_PAYLOAD(msg), TCA_STATS2);
	if (attr)
		attr = find(RTA_DATA(attr), RTA_PAYLOAD(attr), TCA_STATS_QUEUE);
	if (!attr)
		errx(1, "a class without statistics");
	queue = RTA_DATA(attr);
	/* Nothing waits, or it is a host, of whose packets no number is told. */
	if (!queue->qlen)
		return;
	for (i = 0; i < seen && minors[i] != TC_H_MIN(tc->tcm_handle); i++)
		;
	if (i == flows)
		errx(1, "more than %d flows", flows);
	if (i == seen)
		minors[seen++] = TC_H_MIN(tc->tcm_handle);
	bytes[i] = queue->backlog;
}

static void sample(int sock, int index, long long *bytes, int flows)
{
	struct {
		struct nlmsghdr head;
		struct tcmsg tc;
	} request = {
		.head = {
			.nlmsg_len = sizeof(request),
			.nlmsg_type = RTM_GETTCLASS,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.tc = {
			.tcm_ifindex = index,
			.tcm_parent = (unsigned int)num[HANDLE] << 16,
		},
	};

	if (send(sock, &request, sizeof(request), 0) < 0)
		err(1, "asking for classes");
	for (;;) {
		struct nlmsghdr *msg = (struct nlmsghdr *)buf;
		ssize_t len = recv(sock, buf, sizeof(buf), 0);

		if (len <= 0)
			err(1, "asking for classes");
		for (; NLMSG_OK(msg, len); msg = NLMSG_NEXT(msg, len)) {
			if (msg->nlmsg_type == NLMSG_DONE)
				return;
			if (msg->nlmsg_type == NLMSG_ERROR)
				errx(1, "the kernel has refused to list classes");
			note(msg, bytes, flows);
		}
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "flows", 1, NULL, FLOWS }, { "duration", 1, NULL, DURATION },
		{ "interval", 1, NULL, INTERVAL }, { "handle", 1, NULL, HANDLE },
		{ "netns", 1, NULL, NETNS }, { "dev", 1, NULL, DEV },
		{ "out", 1, NULL, OUT }, { NULL, 0, NULL, 0 }
	};
	int c, flows, intervals, sock, index;
	long long length, next, *bytes;
	char *end;
	FILE *out;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == '?')
			return 1;
		text[c] = optarg;
		if (c >= NUMBERS)
			continue;
		num[c] = c == HANDLE ? strtoul(optarg, &end, 16) : strtod(optarg, &end);
		if (*end || !(num[c] > 0))
			errx(1, "--%s: %s is no number > 0", options[c].name, optarg);
	}
	flows = num[FLOWS];
	length = num[INTERVAL] * NSEC;
	intervals = num[DURATION] / num[INTERVAL] + 0.5;
	if (optind < argc || !text[DEV] || flows < 1 || flows > MAX_FLOWS || intervals < 1)
		errx(1, "a device, 1 to %d flows, and an interval or more", MAX_FLOWS);
	bytes = calloc((size_t)intervals * flows, sizeof(*bytes));
	if (!bytes)
		err(1, "results");
	out = open_out(text[OUT]);
	enter_netns(text[NETNS]);
	index = if_nametoindex(text[DEV]);
	sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (!index || sock < 0)
		err(1, "%s", text[DEV]);
	next = clock_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < intervals; i++) {
		struct timespec at;

		next += length;
		at = (struct timespec){ next / NSEC, next % NSEC };
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
			;
		sample(sock, index, bytes + (size_t)i * flows, flows);
	}
	fprintf(out, "queues flows %d interval_us %.0f\n", flows, num[INTERVAL] * 1e6);
	for (int i = 0; i < intervals * flows; i++)
		fprintf(out, "%lld%c", bytes[i], (i + 1) % flows ? ',' : '\n');
	fprintf(out, "#end intervals %d\n", intervals);
	if (fclose(out))
		err(1, "writing the result");
	return 0;
}
