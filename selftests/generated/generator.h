/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the generators share: numbers by a seed, the kinds' options, netlink.
 *
 * What there is of the kinds table.py tells, a line each:
 *
 *	option KIND NAME NUMBER BYTES LEAST MOST ZERO POWER FIXED GOOD...
 *	told KIND NAME OFFSET BYTES
 *
 * ZERO, POWER and FIXED are 0 or 1: 0 is good, too; only powers of two are; a change
 * of it is refused. GOOD are values that are good. What is told is in TCA_STATS_APP.
 */
#ifndef GENERATOR_H
#define GENERATOR_H

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_gact.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KINDS_MAX	8
#define SETTINGS_MAX	64		/* of a kind */
#define TOLD_MAX	64
#define APP_MAX		512		/* bytes that a kind tells */
#define GOOD_MAX	16
#define ATTRS_MAX	200		/* in a message */
#define DATA_MAX	400		/* bytes in one of them */
#define MESSAGE_MAX	(64 << 10)
#define RECORDS_MAX	4096		/* that are drawn of what takes memory from the beginning */
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Numbers by a seed: splitmix64 */

static __u64 seed;

static inline __u64 number(void)
{
	__u64 z = seed += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static inline __u32 below(__u32 n)
{
	return number() % n;
}

static inline bool chance(__u32 percent)
{
	return below(100) < percent;
}

/* From @least to @most, and as likely short as long */
static inline __u64 between(__u64 least, __u64 most)
{
	__u64 wide = most - least, mask;

	if (!wide)
		return least;
	mask = (2ULL << below(64 - __builtin_clzll(wide))) - 1;
	return least + (wide == UINT64_MAX ? number() & mask : (number() & mask) % (wide + 1));
}

static inline void junk(void *to, size_t len)
{
	__u8 *byte = to;

	while (len--)
		*byte++ = number() >> 32;
}

/* A value that somebody may have forgotten */
static inline __u64 edge(void)
{
	static const __u64 edges[] = {
		0, 1, 2, 3, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000,
		0xfffffffe, 0xffffffff, INT64_MAX, 1ULL << 63, UINT64_MAX,
	};

	return chance(70) ? edges[below(ARRAY_SIZE(edges))] : number();
}

/* The kinds' options */

struct setting {
	char name[32];
	int type, bytes;
	bool zero, power, fixed;
	__u64 least, most;		/* as bits: of what is signed, too */
	unsigned int ngood;
	__u64 good[GOOD_MAX];
};

struct statistic {
	char name[32];
	unsigned int offset, bytes;
};

struct kind {
	char name[16];
	unsigned int nsettings, ntold;
	struct setting settings[SETTINGS_MAX];
	struct statistic told[TOLD_MAX];
};

static struct kind kinds[KINDS_MAX];
static unsigned int nkinds;

static inline struct kind *find_kind(const char *name)
{
	for (unsigned int i = 0; i < nkinds; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	if (nkinds == KINDS_MAX)
		errx(1, "more than %d kinds", KINDS_MAX);
	snprintf(kinds[nkinds].name, sizeof(kinds[0].name), "%s", name);
	return &kinds[nkinds++];
}

static inline bool read_setting(struct kind *k, const char *line)
{
	struct setting *s = &k->settings[k->nsettings++];
	int zero, power, fixed, at;
	unsigned long long most;
	long long least;
	char *end;

	if (k->nsettings > SETTINGS_MAX ||
	    sscanf(line, "%31s %d %d %lld %llu %d %d %d%n", s->name, &s->type, &s->bytes, &least,
		   &most, &zero, &power, &fixed, &at) != 8)
		return false;
	s->least = least;
	s->most = most;
	s->zero = zero;
	s->power = power;
	s->fixed = fixed;
	for (line += at; s->ngood < GOOD_MAX; line = end) {
		/* What is negative becomes what it is as bits. */
		__u64 value = strtoull(line, &end, 10);

		if (end == line)
			break;
		s->good[s->ngood++] = value;
	}
	return s->ngood;
}

static inline bool read_told(struct kind *k, const char *line)
{
	struct statistic *t = &k->told[k->ntold++];

	return k->ntold <= TOLD_MAX &&
	       sscanf(line, "%31s %u %u", t->name, &t->offset, &t->bytes) == 3 &&
	       t->offset + t->bytes <= APP_MAX;
}

static inline void read_table(const char *path)
{
	char line[1000], what[16], name[16];
	FILE *in = fopen(path, "r");
	int at;

	if (!in)
		err(1, "%s", path);
	while (fgets(line, sizeof(line), in))
		if (sscanf(line, "%15s %15s%n", what, name, &at) != 2 ||
		    !(strcmp(what, "told") ? read_setting(find_kind(name), line + at) :
					     read_told(find_kind(name), line + at)))
			errx(1, "%s: what is %s", path, line);
	fclose(in);
	if (!nkinds)
		errx(1, "%s: no kinds", path);
}

static inline const struct setting *find_setting(const struct kind *k, const char *name)
{
	for (unsigned int i = 0; i < k->nsettings; i++)
		if (!strcmp(k->settings[i].name, name))
			return &k->settings[i];
	return NULL;
}

/* A value that is good by itself */
static inline __u64 draw(const struct setting *o)
{
	__u64 most = o->most, value;

	if (o->fixed && most > RECORDS_MAX && chance(98))
		most = RECORDS_MAX;
	else if (o->fixed && most > 16 * RECORDS_MAX)
		most = 16 * RECORDS_MAX;
	if (o->zero && chance(5))
		return 0;
	if (chance(40))
		value = o->good[below(o->ngood)];
	else if (chance(15))
		value = chance(50) ? o->least : most;
	else
		value = between(o->least, most);
	if (!o->power)
		return value;
	while (value & (value - 1))
		value &= value - 1;
	if (value > most)
		return most;
	return value < o->least ? o->least : value;
}

/* Of what takes memory from the beginning so little that it takes no time */
static inline __u64 few(const struct setting *o)
{
	__u64 value = o->least << below(6);

	return value < o->most ? value : o->most;
}

/* Attributes, as a tree: that of a message */

struct attr {
	__u16 type;
	int lie;			/* its length says so many bytes more */
	unsigned int len;
	__u8 data[DATA_MAX];		/* unless it has attributes in it: */
	struct attr *child, *next;
};

static struct attr pool[ATTRS_MAX];
static unsigned int used;

/* Behind the others of a list; NULL when there are too many */
static inline struct attr *add(struct attr **list, int type, const void *data, unsigned int len)
{
	struct attr *a = &pool[used];

	if (used == ATTRS_MAX || len > DATA_MAX)
		return NULL;
	used++;
	*a = (struct attr){ .type = type, .len = len };
	if (data)
		memcpy(a->data, data, len);
	while (*list)
		list = &(*list)->next;
	*list = a;
	return a;
}

static inline struct attr *add_u32(struct attr **list, int type, __u32 value)
{
	return add(list, type, &value, sizeof(value));
}

static inline struct attr *add_text(struct attr **list, int type, const char *text)
{
	return add(list, type, text, strlen(text) + 1);
}

static inline void add_setting(struct attr **list, const struct setting *o, __u64 value)
{
	__u32 word = value;

	if (o->bytes == 8)
		add(list, o->type, &value, sizeof(value));
	else
		add(list, o->type, &word, sizeof(word));
}

/* Some options of a kind. Of what exists those that are fixed are left out mostly. */
static inline void add_options(struct attr **list, const struct kind *k, bool exists)
{
	struct attr *nest = add(list, TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
	unsigned int percent = chance(30) ? 0 : 1 + below(40);

	for (const struct setting *o = k->settings; nest && o < k->settings + k->nsettings; o++) {
		if (o->fixed && exists && chance(95))
			continue;
		if (o->fixed && !exists && chance(90))
			add_setting(&nest->child, o, few(o));
		else if (chance(percent))
			add_setting(&nest->child, o, draw(o));
	}
}

static inline void add_action(struct attr **list, int type, bool steal)
{
	static const int verdicts[] = { TC_ACT_OK, TC_ACT_SHOT, TC_ACT_PIPE, TC_ACT_STOLEN };
	struct tc_gact parms = { .action = verdicts[below(steal ? 4 : 3)] };
	struct attr *nest = add(list, type | NLA_F_NESTED, NULL, 0);
	struct attr *one = add(&nest->child, 1 | NLA_F_NESTED, NULL, 0), *options;

	add_text(&one->child, TCA_ACT_KIND, "gact");
	options = add(&one->child, TCA_ACT_OPTIONS | NLA_F_NESTED, NULL, 0);
	add(&options->child, TCA_GACT_PARMS, &parms, sizeof(parms));
}

/*
 * A filter that sends to this class, maybe with an action, of which only what may @steal drops
 * without counting. The handle that it is to have, 0: any.
 */
static inline __u32 add_filter(struct attr **list, __u32 class, bool steal)
{
	static const struct {
		const char *name;
		int classid, action;
	} filters[] = {
		{ "matchall", TCA_MATCHALL_CLASSID, TCA_MATCHALL_ACT },
		{ "u32", TCA_U32_CLASSID, TCA_U32_ACT },
		{ "basic", TCA_BASIC_CLASSID, TCA_BASIC_ACT },
		{ "fw", TCA_FW_CLASSID, TCA_FW_ACT },
		{ "flow", TCA_FLOW_BASECLASS, TCA_FLOW_ACT },
	};
	struct {
		struct tc_u32_sel sel;
		struct tc_u32_key key;
	} sel = {
		.sel = { .flags = TC_U32_TERMINAL, .nkeys = 1 },
		.key = { .mask = htonl(0xf), .val = htonl(below(4)), .off = 4 * below(5) },
	};
	unsigned int f = below(ARRAY_SIZE(filters));
	struct attr *nest;

	add_text(list, TCA_KIND, filters[f].name);
	nest = add(list, TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
	add_u32(&nest->child, filters[f].classid, class);
	if (f == 1)
		add(&nest->child, TCA_U32_SEL, &sel, sizeof(sel));
	if (f == 4) {
		add_u32(&nest->child, TCA_FLOW_KEYS, 1 << below(10));
		add_u32(&nest->child, TCA_FLOW_MODE, FLOW_MODE_HASH);
		add_u32(&nest->child, TCA_FLOW_DIVISOR, 1 + below(9));
	}
	if (chance(20))
		add_action(&nest->child, filters[f].action, steal);
	return f >= 3 ? 1 + below(4) : 0;
}

/* Bytes from @at on; what does not fit is left out. */
static inline __u8 *write_attrs(const struct attr *a, __u8 *at, const __u8 *end)
{
	for (; a; a = a->next) {
		struct rtattr *head = (struct rtattr *)at;
		__u8 *data = at + RTA_LENGTH(0);
		unsigned int len = a->len;

		if (data + RTA_ALIGN(len) > end)
			break;
		memset(data, 0, RTA_ALIGN(len));
		memcpy(data, a->data, len);
		if (a->child)
			len = write_attrs(a->child, data + RTA_ALIGN(len), end) - data;
		head->rta_type = a->type;
		head->rta_len = RTA_LENGTH(len) + a->lie;
		at = data + RTA_ALIGN(len);
	}
	return at;
}

/* Netlink */

struct request {
	struct nlmsghdr n;
	struct tcmsg t;
	__u8 room[MESSAGE_MAX];
};

static int netlink = -1;
static __u8 answers[1 << 20];

static inline void open_netlink(void)
{
	int size = 4 << 20;

	netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (netlink < 0 ||
	    setsockopt(netlink, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		err(1, "netlink");
}

static inline void finish(struct request *r, const struct attr *attrs)
{
	__u8 *end = write_attrs(attrs, r->room, r->room + sizeof(r->room));

	r->n.nlmsg_len = end - (__u8 *)r;
}

/*
 * Send it, and have each message of the answer taken. 0 or an error number; -1 if nothing
 * was said: it has been done with nevertheless, as requests are before send() returns.
 */
static inline int ask(const void *request, size_t len,
		      void (*take)(const struct nlmsghdr *n, void *arg), void *arg)
{
	int said = -1;
	ssize_t got;

	if (send(netlink, request, len, 0) < 0)
		return errno;
	while ((got = recv(netlink, answers, sizeof(answers), MSG_DONTWAIT)) > 0) {
		const struct nlmsghdr *n = (void *)answers;

		for (; NLMSG_OK(n, got); n = NLMSG_NEXT(n, got)) {
			if (n->nlmsg_type == NLMSG_ERROR)
				said = -((struct nlmsgerr *)NLMSG_DATA(n))->error;
			else if (n->nlmsg_type == NLMSG_DONE)
				said = -*(int *)NLMSG_DATA(n);
			else if (take)
				take(n, arg);
		}
	}
	return said;
}

static inline void parse(const struct rtattr **tb, int max, const void *attrs, int len)
{
	const struct rtattr *a = attrs;

	memset(tb, 0, (max + 1) * sizeof(*tb));
	for (; RTA_OK(a, len); a = RTA_NEXT(a, len))
		if ((a->rta_type & NLA_TYPE_MASK) <= max)
			tb[a->rta_type & NLA_TYPE_MASK] = a;
}

/* A qdisc, as a dump tells of it */
struct told {
	char kind[16];
	__u32 handle, parent;
	unsigned long long bytes, packets;	/* sent */
	struct gnet_stats_queue queue;
	__u8 app[APP_MAX];
};

/* False of what is none, or another interface's */
static inline bool read_qdisc(const struct nlmsghdr *n, int index, struct told *told)
{
	const struct rtattr *tb[TCA_MAX + 1], *stats[TCA_STATS_MAX + 1];
	const struct tcmsg *t = NLMSG_DATA(n);

	if (n->nlmsg_type != RTM_NEWQDISC || t->tcm_ifindex != index)
		return false;
	parse(tb, TCA_MAX, TCA_RTA(t), TCA_PAYLOAD(n));
	if (!tb[TCA_KIND] || !tb[TCA_STATS2])
		errx(1, "a qdisc without kind or statistics");
	*told = (struct told){ .handle = t->tcm_handle, .parent = t->tcm_parent };
	snprintf(told->kind, sizeof(told->kind), "%s", (char *)RTA_DATA(tb[TCA_KIND]));
	parse(stats, TCA_STATS_MAX, RTA_DATA(tb[TCA_STATS2]), RTA_PAYLOAD(tb[TCA_STATS2]));
	if (!stats[TCA_STATS_QUEUE])
		errx(1, "a qdisc without a queue");
	memcpy(&told->queue, RTA_DATA(stats[TCA_STATS_QUEUE]), sizeof(told->queue));
	if (stats[TCA_STATS_BASIC]) {
		const struct gnet_stats_basic *basic = RTA_DATA(stats[TCA_STATS_BASIC]);

		memcpy(&told->bytes, &basic->bytes, sizeof(basic->bytes));
		told->packets = basic->packets;
	}
	if (stats[TCA_STATS_APP] && RTA_PAYLOAD(stats[TCA_STATS_APP]) <= APP_MAX)
		memcpy(told->app, RTA_DATA(stats[TCA_STATS_APP]),
		       RTA_PAYLOAD(stats[TCA_STATS_APP]));
	return true;
}

/* What only the kind tells */
static inline unsigned long long told_of(const struct kind *k, const struct told *told,
					 const char *name)
{
	__u64 value = 0;
	__u32 word;

	for (const struct statistic *t = k->told; t < k->told + k->ntold; t++) {
		if (strcmp(t->name, name))
			continue;
		if (t->bytes == sizeof(value)) {
			memcpy(&value, told->app + t->offset, sizeof(value));
			return value;
		}
		memcpy(&word, told->app + t->offset, sizeof(word));
		return word;
	}
	errx(1, "%s does not tell %s", k->name, name);
}

static inline unsigned long long read_number(const char *path)
{
	FILE *in = fopen(path, "r");
	unsigned long long value;

	if (!in || fscanf(in, "%llu", &value) != 1)
		err(1, "%s", path);
	fclose(in);
	return value;
}

static inline int index_of(const char *dev)
{
	int index = if_nametoindex(dev);

	if (!index)
		err(1, "%s", dev);
	return index;
}

enum { SEED, COUNT, EACH, TABLE, DEV };

/* The command line: @numbers, by SEED, COUNT and EACH, have their defaults; the table's file */
static inline const char *read_options(int argc, char **argv, unsigned long long numbers[TABLE],
				       void (*open_dev)(const char *name))
{
	static const struct option options[] = {
		{ "seed", 1, NULL, SEED }, { "count", 1, NULL, COUNT }, { "each", 1, NULL, EACH },
		{ "table", 1, NULL, TABLE }, { "dev", 1, NULL, DEV }, { NULL, 0, NULL, 0 }
	};
	const char *table = NULL;
	bool opened = false;
	char *rest;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == '?')
			exit(1);
		if (c == TABLE)
			table = optarg;
		if (c == DEV) {
			open_dev(optarg);
			opened = true;
		}
		if (c >= TABLE)
			continue;
		numbers[c] = strtoull(optarg, &rest, 10);
		if (*rest || (!numbers[c] && c != SEED))
			errx(1, "--%s: %s is no number", options[c].name, optarg);
	}
	if (!table || !opened || optind < argc)
		errx(1, "give --table FILE and --dev DEV");
	return table;
}

#endif
