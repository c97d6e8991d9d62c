// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz LOOKS SEED FILE...: read the messages in these files so many times, each time some of them
 * changed at random (unless SEED is 0), and print all there is to print. It tells how many flows
 * and hosts were understood, of how many messages. Sanitizers look on; each message is as long as
 * its memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/rtnetlink.h>

#include "../../kernel.h"
#include "../../output.h"

static char **files;
static int n_files;
static __u64 seed, now;
static unsigned long n_classes;

static __u32 random_below(__u32 most)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % most;
}

/* Bytes, lengths, or the end are other ones. */
static void change(struct nlmsghdr *n)
{
	__u32 len = n->nlmsg_len, at, times = random_below(4);
	unsigned char *bytes = (void *)n;

	while (times--) {
		at = NLMSG_HDRLEN + random_below(len - NLMSG_HDRLEN);
		switch (random_below(3)) {
		case 0:
			bytes[at] ^= 1 << random_below(8);
			break;
		case 1:
			bytes[at] = random_below(256);
			break;
		default:	/* of an attribute, perhaps */
			at &= ~3u;
			if (at + 2 <= len) {
				bytes[at] = random_below(40);
				bytes[at + 1] = 0;
			}
		}
	}
}

static void give(const struct nlmsghdr *from, void (*take)(struct nlmsghdr *n, void *to), void *to)
{
	__u32 len = from->nlmsg_len;
	struct nlmsghdr *n;

	if (seed && !random_below(20))
		len = NLMSG_HDRLEN + random_below(len - NLMSG_HDRLEN + 1);
	n = malloc(len);
	if (!n)
		abort();
	memcpy(n, from, len);
	n->nlmsg_len = len;
	if (seed && len > NLMSG_HDRLEN && !random_below(2))
		change(n);
	take(n, to);
	free(n);
}

static void give_all(const char *name, __u16 type, void (*take)(struct nlmsghdr *n, void *to),
		     void *to)
{
	static char buffer[1 << 20];
	struct nlmsghdr *n = (void *)buffer;
	FILE *in = fopen(name, "r");
	int left;

	if (!in)
		abort();
	left = fread(buffer, 1, sizeof(buffer), in);
	fclose(in);
	for (; NLMSG_OK(n, left); n = NLMSG_NEXT(n, left)) {
		if (n->nlmsg_type != type)
			continue;
		give(n, take, to);
		n_classes += type == RTM_NEWTCLASS;
	}
}

const char *kernel_ask(int type, int ifindex, void (*take)(struct nlmsghdr *n, void *to), void *to)
{
	int i;

	(void)ifindex;
	now += 1000000000;
	for (i = 0; i < n_files; i++)	/* RTM_NEW... of RTM_GET... */
		give_all(files[i], type - 2, take, to);
	return NULL;
}

bool kernel_lists_flows(void)
{
	return true;
}

__u64 kernel_now(void)
{
	return now;
}

static void print_all(const struct monitor *m)
{
	struct output how = { .limit = ENTRIES_MAX, .hosts = true };
	struct choice choice = { .apart = true, .filter = "1" };
	struct list list = {};

	for (how.order = 0; how.order < ORDERS; how.order++)
		output_table(m, &how);
	output_json(m, &how);
	output_prometheus(m, &how);
	list_make(&list, &m->now, &choice);
	list_free(&list);
}

int main(int argc, char **argv)
{
	struct monitor m = {};
	unsigned long understood = 0;
	long looks;

	if (argc < 4)
		return 2;
	looks = atol(argv[1]);
	seed = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15ull;
	files = argv + 3;
	n_files = argc - 3;
	if (!freopen("/dev/null", "w", stdout))
		return 2;
	while (looks--) {
		monitor_refresh(&m);
		understood += m.now.n_entries;
		print_all(&m);
	}
	monitor_free(&m);
	fprintf(stderr, "%lu of %lu\n", understood, n_classes);
	return 0;
}
