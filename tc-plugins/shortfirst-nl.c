// SPDX-License-Identifier: GPL-2.0
/*
 * shortfirst-nl: what tc does about qdiscs of our kinds, for where tc cannot load
 * their plugins (OpenWrt's tc-tiny)
 *
 * The plugins' sources are compiled in as they are, so that what options there
 * are, how they are typed and how they are printed is said nowhere else. Here is
 * what a plugin calls of tc, attributes and output (tc_print.h), and what tc does
 * around it: requests and generic statistics. Words, output and exit status are
 * those of tc.
 *
 * It opens its socket itself: the plugins write a struct nlmsghdr and no libnl
 * message, and OpenWrt's libnl-tiny does not ask for the kernel's messages.
 */
#include <errno.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>

#include "tc_glue.h"
#include "tc_print.h"

#define FAILED		1	/* before the kernel was asked */
#define REFUSED		2
#define ANSWER_MAX	(64 << 10)

/* The Makefile includes the plugins before all this, and names them here. */
static struct tc_plugin * const plugins[] = { PLUGINS };

static const struct qdisc_util *find_kind(const char *kind)
{
	unsigned int i;

	for (i = 0; i < sizeof(plugins) / sizeof(*plugins); i++) {
		if (!strcmp(plugins[i]->util.id, kind))
			return &plugins[i]->util;
	}
	return NULL;
}

/* Attributes */

int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data,
	      int alen)
{
	struct rtattr *rta = (void *)((char *)n + NLMSG_ALIGN(n->nlmsg_len));

	if (NLMSG_ALIGN(n->nlmsg_len) + RTA_SPACE(alen) > (size_t)maxlen) {
		fprintf(stderr, "The request is too long\n");
		return -1;
	}
	rta->rta_type = type;
	rta->rta_len = RTA_LENGTH(alen);
	if (alen)
		memcpy(RTA_DATA(rta), data, alen);
	n->nlmsg_len = NLMSG_ALIGN(n->nlmsg_len) + RTA_SPACE(alen);
	return 0;
}

/* What comes next is within it, up to addattr_nest_end(). */
struct rtattr *addattr_nest(struct nlmsghdr *n, int maxlen, int type)
{
	struct rtattr *nest = (void *)((char *)n + NLMSG_ALIGN(n->nlmsg_len));

	addattr_l(n, maxlen, type, NULL, 0);
	return nest;
}

int addattr_nest_end(struct nlmsghdr *n, struct rtattr *nest)
{
	nest->rta_len = (char *)n + n->nlmsg_len - (char *)nest;
	return n->nlmsg_len;
}

int parse_rtattr(struct rtattr *tb[], int max, struct rtattr *rta, int len)
{
	int type;

	memset(tb, 0, sizeof(*tb) * (max + 1));
	for (; RTA_OK(rta, len); rta = RTA_NEXT(rta, len)) {
		type = rta->rta_type & NLA_TYPE_MASK;
		if (type <= max)
			tb[type] = rta;
	}
	return 0;
}

/* Output */

static bool stats_wanted;

static void json_open(const char *key, char bracket)
{
	if (!in_json)
		return;
	json_item(key);
	putchar(bracket);
	json_first = true;
}

static void json_close(char bracket)
{
	if (!in_json)
		return;
	putchar(bracket);
	json_first = false;
}

#define PRINT_ANY	((enum output_type)(PRINT_FP | PRINT_JSON))

static void print_string(const char *key, const char *fmt, const char *value)
{
	print_color_string(PRINT_ANY, COLOR_NONE, key, fmt, value);
}

static void print_u64(const char *key, const char *fmt, __u64 value)
{
	print_color_u64(PRINT_ANY, COLOR_NONE, key, fmt, value);
}

/* What is nearly a multiple of a larger unit is told in that, as by tc. */
static void print_size(const char *key, __u32 size)
{
	static const struct {
		const char *suffix;
		__u64 unit, slack;
	} units[] = { { "Mb", 1 << 20, 1024 }, { "Kb", 1 << 10, 16 }, { "b", 1, 1 } };
	__u64 rounded, off;
	unsigned int i;

	if (in_json) {
		print_u64(key, NULL, size);
		return;
	}
	for (i = 0; units[i].unit > 1; i++) {
		rounded = (size + units[i].unit / 2) / units[i].unit;
		off = rounded * units[i].unit > size ? rounded * units[i].unit - size :
						       size - rounded * units[i].unit;
		if (size >= units[i].unit && off < units[i].slack) {
			printf(" backlog %g%s", (double)rounded, units[i].suffix);
			return;
		}
	}
	printf(" backlog %ub", size);
}

/* The generic statistics; returns those of the kind. */
static struct rtattr *print_stats(struct rtattr *stats)
{
	struct rtattr *tb[TCA_STATS_MAX + 1];
	struct gnet_stats_basic basic = {};
	struct gnet_stats_queue q = {};
	__u64 packets;

	parse_rtattr(tb, TCA_STATS_MAX, RTA_DATA(stats), RTA_PAYLOAD(stats));
	/* its size with padding is not that in the message of a 32-bit kernel */
	if (tb[TCA_STATS_BASIC] && RTA_PAYLOAD(tb[TCA_STATS_BASIC]) >= 12)
		memcpy(&basic, RTA_DATA(tb[TCA_STATS_BASIC]), 12);
	packets = basic.packets;
	if (tb[TCA_STATS_PKT64] && RTA_PAYLOAD(tb[TCA_STATS_PKT64]) >= sizeof(packets))
		memcpy(&packets, RTA_DATA(tb[TCA_STATS_PKT64]), sizeof(packets));
	if (tb[TCA_STATS_QUEUE] && RTA_PAYLOAD(tb[TCA_STATS_QUEUE]) >= sizeof(q))
		memcpy(&q, RTA_DATA(tb[TCA_STATS_QUEUE]), sizeof(q));
	print_u64("bytes", " Sent %llu bytes", basic.bytes);
	print_u64("packets", " %llu pkt", packets);
	print_u64("drops", " (dropped %llu", q.drops);
	print_u64("overlimits", ", overlimits %llu", q.overlimits);
	print_u64("requeues", " requeues %llu) ", q.requeues);
	print_nl();
	print_size("backlog", q.backlog);
	print_u64("qlen", " %llup", q.qlen);
	print_color_u64(PRINT_FP, COLOR_NONE, NULL, " requeues %llu", q.requeues);
	print_nl();
	return tb[TCA_STATS_APP];
}

/* Requests */

struct request {
	union {
		struct nlmsghdr n;
		char room[TC_GLUE_MSG_MAX];
	};
};

static struct tcmsg *tcm_of(struct nlmsghdr *n)
{
	return NLMSG_DATA(n);
}

static void print_qdisc(struct nlmsghdr *n, const struct tcmsg *wanted)
{
	char text[2 * sizeof("ffff:")], name[IF_NAMESIZE];
	struct rtattr *tb[TCA_MAX + 1], *xstats;
	struct tcmsg *t = tcm_of(n);
	const struct qdisc_util *qu;

	parse_rtattr(tb, TCA_MAX, TCA_RTA(t), TCA_PAYLOAD(n));
	qu = tb[TCA_KIND] ? find_kind(RTA_DATA(tb[TCA_KIND])) : NULL;
	if (!qu || (wanted->tcm_ifindex && wanted->tcm_ifindex != t->tcm_ifindex) ||
	    (wanted->tcm_parent && wanted->tcm_parent != t->tcm_parent) ||
	    (wanted->tcm_handle && wanted->tcm_handle != t->tcm_handle))
		return;
	json_open(NULL, '{');
	print_string("kind", "qdisc %s", qu->id);
	snprintf(text, sizeof(text), "%x:", t->tcm_handle >> 16);
	print_string("handle", " %s ", text);
	if (!wanted->tcm_ifindex)
		print_string("dev", "dev %s ", if_indextoname(t->tcm_ifindex, name) ?: "?");
	if (t->tcm_parent == TC_H_ROOT) {
		print_color_bool(PRINT_ANY, COLOR_NONE, "root", "root ", true);
	} else {
		snprintf(text, sizeof(text), t->tcm_parent & 0xffff ? "%x:%x" : "%x:",
			 t->tcm_parent >> 16, t->tcm_parent & 0xffff);
		print_string("parent", "parent %s ", text);
	}
	if (t->tcm_info != 1)
		print_u64("refcnt", "refcnt %llu ", t->tcm_info);
	json_open("options", '{');
	qu->print_qopt(qu, stdout, tb[TCA_OPTIONS]);
	json_close('}');
	print_nl();
	if (stats_wanted && tb[TCA_STATS2]) {
		xstats = print_stats(tb[TCA_STATS2]);
		if (xstats) {
			qu->print_xstats(qu, stdout, xstats);
			print_nl();
		}
	}
	json_close('}');
}

/* Say what the kernel does about its answer, which is an ACK, an error or the end of all. */
static int tell(struct nlmsghdr *n)
{
	struct rtattr *tb[NLMSGERR_ATTR_MAX + 1] = {};
	int error = *(int *)NLMSG_DATA(n);
	const char *said = NULL;
	size_t head;

	/* With NETLINK_CAP_ACK only the head of the request is repeated. */
	head = n->nlmsg_type == NLMSG_ERROR ? sizeof(struct nlmsgerr) : sizeof(error);
	if (n->nlmsg_flags & NLM_F_ACK_TLVS)
		parse_rtattr(tb, NLMSGERR_ATTR_MAX,
			     (void *)((char *)NLMSG_DATA(n) + NLMSG_ALIGN(head)),
			     NLMSG_PAYLOAD(n, head));
	if (tb[NLMSGERR_ATTR_MSG])
		said = RTA_DATA(tb[NLMSGERR_ATTR_MSG]);
	if (said && *said)
		fprintf(stderr, "%s: %s%s\n", error ? "Error" : "Warning", said,
			said[strlen(said) - 1] == '.' ? "" : ".");
	else if (error)
		fprintf(stderr, "RTNETLINK answers: %s\n", strerror(-error));
	return error ? REFUSED : 0;
}

/* Send a request, and print the qdiscs of the answer that are @wanted. */
static int ask(struct nlmsghdr *request, const struct tcmsg *wanted)
{
	static union {
		struct nlmsghdr n;
		char room[ANSWER_MAX];
	} answer;
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	bool interrupted = false;
	struct nlmsghdr *n;
	int sock, on = 1;
	ssize_t got;
	int len;

	sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (sock < 0 || connect(sock, (void *)&kernel, sizeof(kernel)) ||
	    setsockopt(sock, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on)) ||
	    setsockopt(sock, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on)) ||
	    send(sock, request, request->nlmsg_len, 0) < 0)
		goto failed;
	for (;;) {
		got = recv(sock, &answer, sizeof(answer), MSG_TRUNC);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			goto failed;
		if ((size_t)got > sizeof(answer)) {
			errno = EMSGSIZE;
			goto failed;
		}
		for (n = &answer.n, len = got; NLMSG_OK(n, len); n = NLMSG_NEXT(n, len)) {
			interrupted |= n->nlmsg_flags & NLM_F_DUMP_INTR;
			if (n->nlmsg_type == NLMSG_ERROR || n->nlmsg_type == NLMSG_DONE) {
				if (interrupted)
					fprintf(stderr, "Changed while it was read\n");
				close(sock);
				return tell(n);
			}
			if (n->nlmsg_type == RTM_NEWQDISC)
				print_qdisc(n, wanted);
		}
	}
failed:
	fprintf(stderr, "Cannot talk to the kernel: %s\n", strerror(errno));
	if (sock >= 0)
		close(sock);
	return FAILED;
}

/* Words */

static const struct verb {
	const char *name;
	int type;
	int flags;
} verbs[] = {
	{ "add", RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL },
	{ "replace", RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE },
	{ "change", RTM_NEWQDISC, NLM_F_ACK },
	{ "del", RTM_DELQDISC, NLM_F_ACK },
	{ "show", RTM_GETQDISC, NLM_F_DUMP },
	{}
};

static int usage(void)
{
	unsigned int i;

	fprintf(stderr,
		"Usage: shortfirst-nl qdisc { add | replace | change } dev DEV { root | parent X:Y }\n"
		"                     [ handle X: ] KIND [ OPTIONS | help ]\n"
		"       shortfirst-nl qdisc del dev DEV { root | parent X:Y } [ handle X: ] [ KIND ]\n"
		"       shortfirst-nl [ -s ] [ -j ] qdisc show [ dev DEV ] [ root | parent X:Y ]\n"
		"                     [ handle X: ]\n"
		"KIND: ");
	for (i = 0; i < sizeof(plugins) / sizeof(*plugins); i++)
		fprintf(stderr, "%s%s", i ? " | " : "", plugins[i]->util.id);
	fprintf(stderr, "\n");
	return FAILED;
}

/* Read "1:" or, if it may be a class, "1:2", in hexadecimal digits. */
static bool get_handle(const char *what, const char *arg, bool class, __u32 *handle)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	size_t major = strspn(arg, digits), minor = 0;

	if (arg[major] == ':')
		minor = strspn(arg + major + 1, digits);
	if (!major || major > 4 || arg[major] != ':' || minor > (class ? 4 : 0) ||
	    arg[major + 1 + minor]) {
		fprintf(stderr, "%s: \"%s\" is not %s\n", what, arg,
			class ? "the number of a class, such as 1:2" :
				"that of a qdisc, such as 1:");
		return false;
	}
	*handle = strtoul(arg, NULL, 16) << 16 | strtoul(arg + major + 1, NULL, 16);
	return true;
}

/* Take "dev DEV" and the like, up to what is none of these; false after a message. */
static bool get_place(int *argc, char ***argv, struct tcmsg *t, const char **dev)
{
	char **arg;

	for (; *argc > 0; --*argc, ++*argv) {
		arg = *argv;
		if (!strcmp(*arg, "root")) {
			t->tcm_parent = TC_H_ROOT;
			continue;
		}
		if (strcmp(*arg, "dev") && strcmp(*arg, "parent") && strcmp(*arg, "handle"))
			break;
		if (*argc < 2) {
			fprintf(stderr, "%s: something is missing after it\n", *arg);
			return false;
		}
		--*argc;
		++*argv;
		if (!strcmp(*arg, "dev")) {
			*dev = arg[1];
			t->tcm_ifindex = if_nametoindex(arg[1]);
			if (!t->tcm_ifindex) {
				fprintf(stderr, "Cannot find device \"%s\"\n", arg[1]);
				return false;
			}
		} else if (!strcmp(*arg, "parent")) {
			if (!get_handle(*arg, arg[1], true, &t->tcm_parent))
				return false;
		} else if (!get_handle(*arg, arg[1], false, &t->tcm_handle)) {
			return false;
		}
	}
	return true;
}

static int qdisc(const struct verb *verb, int argc, char **argv)
{
	struct request request = {
		.n = {
			.nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)),
			.nlmsg_type = verb->type,
			.nlmsg_flags = NLM_F_REQUEST | verb->flags,
		},
	};
	struct nlmsghdr *n = &request.n;
	const struct qdisc_util *qu;
	struct tcmsg wanted = {};
	const char *dev = NULL;
	int status;

	if (!get_place(&argc, &argv, &wanted, &dev))
		return FAILED;
	if (verb->type == RTM_GETQDISC) {
		if (argc)
			return usage();
		json_open(NULL, '[');
		status = ask(n, &wanted);
		json_close(']');
		if (in_json)
			putchar('\n');
		return status;
	}
	if (!dev || !wanted.tcm_parent) {
		fprintf(stderr, "%s\n", dev ? "root or parent X:Y is missing" :
					      "dev DEV is missing");
		return usage();
	}
	*tcm_of(n) = wanted;
	if (argc) {
		qu = find_kind(*argv);
		if (!qu) {
			fprintf(stderr, "\"%s\" is no kind that shortfirst-nl knows\n", *argv);
			return usage();
		}
		if (addattr_l(n, TC_GLUE_MSG_MAX, TCA_KIND, qu->id, strlen(qu->id) + 1))
			return FAILED;
		if (verb->type == RTM_DELQDISC && argc > 1)
			return usage();
		if (verb->type == RTM_NEWQDISC &&
		    qu->parse_qopt(qu, argc - 1, argv + 1, n, dev))
			return FAILED;
	} else if (verb->type == RTM_NEWQDISC) {
		fprintf(stderr, "KIND is missing\n");
		return usage();
	}
	return ask(n, &wanted);
}

int main(int argc, char **argv)
{
	const struct verb *verb;
	int status;

	for (argc--, argv++; argc && **argv == '-'; argc--, argv++) {
		if (!strcmp(*argv, "-s"))
			stats_wanted = true;
		else if (!strcmp(*argv, "-j"))
			in_json = true;
		else
			return usage();
	}
	if (argc < 2 || strcmp(*argv, "qdisc"))
		return usage();
	for (verb = verbs; verb->name && strcmp(verb->name, argv[1]); verb++)
		;
	if (!verb->name)
		return usage();
	status = qdisc(verb, argc - 2, argv + 2);
	if (fflush(stdout) || ferror(stdout)) {
		perror("shortfirst-nl");
		return FAILED;
	}
	return status;
}
