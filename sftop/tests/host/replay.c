// SPDX-License-Identifier: GPL-2.0
/*
 * In place of kernel.c: what the kernel tells is in files of the directory $SFTOP_REPLAY, by the
 * number of the look: N.link, N.qdisc, and N.class for all interfaces. N.error is what goes wrong
 * instead. After the last look comes that again; each takes a second. With a file N.unprivileged
 * the process has no CAP_NET_ADMIN.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/rtnetlink.h>

#include "../../kernel.h"

static unsigned int looks, now;
static char *answer;

static FILE *open_part(unsigned int look, const char *part)
{
	const char *where = getenv("SFTOP_REPLAY");
	char name[4096];

	snprintf(name, sizeof(name), "%s/%u.%s", where ? where : ".", look, part);
	return fopen(name, "r");
}

static const char *read_error(void)
{
	static char text[256];
	FILE *in = open_part(looks, "error");
	size_t got;

	if (!in)
		return NULL;
	got = fread(text, 1, sizeof(text) - 1, in);
	text[got] = 0;
	fclose(in);
	return text;
}

static void next_look(void)
{
	FILE *in = open_part(looks + 1, "link");

	if (!in)
		in = open_part(looks + 1, "error");
	now++;
	if (!in)
		return;
	fclose(in);
	looks++;
}

static int ifindex_of(struct nlmsghdr *n)
{
	return ((struct tcmsg *)NLMSG_DATA(n))->tcm_ifindex;
}

const char *kernel_ask(int type, int ifindex, void (*take)(struct nlmsghdr *n, void *to), void *to)
{
	const char *part = type == RTM_GETLINK ? "link" : type == RTM_GETQDISC ? "qdisc" : "class";
	struct nlmsghdr *n;
	const char *error;
	long size;
	FILE *in;
	int left;

	if (type == RTM_GETLINK)
		next_look();
	error = read_error();
	if (error)
		return error;
	in = open_part(looks, part);
	if (!in)
		return NULL;
	fseek(in, 0, SEEK_END);
	size = ftell(in);
	rewind(in);
	free(answer);
	answer = malloc(size + 1);
	left = answer ? fread(answer, 1, size, in) : 0;
	fclose(in);
	for (n = (void *)answer; NLMSG_OK(n, left); n = NLMSG_NEXT(n, left)) {
		if (!ifindex || ifindex_of(n) == ifindex)
			take(n, to);
	}
	return NULL;
}

bool kernel_lists_flows(void)
{
	FILE *in = open_part(looks, "unprivileged");

	if (in)
		fclose(in);
	return !in;
}

__u64 kernel_now(void)
{
	return now * 1000000000ull;
}

void kernel_close(void)
{
	free(answer);
	answer = NULL;
}
