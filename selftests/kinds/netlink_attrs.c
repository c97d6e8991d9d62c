// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that tc cannot send: attributes of the wrong length, unknown ones, what
 * is not nested, and values out of range beside good ones. Each has to be refused,
 * with a message about the right attribute, and change nothing.
 *
 *	netlink_attrs KIND DEVICE	prints TAP
 *
 * DEVICE is a dummy without a qdisc of its own.
 */

#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include "../../sch_las/pkt_las.h"
#include "../../sch_run2c/pkt_run2c.h"
#include "../../sch_sift/pkt_sift.h"
#include "../../sch_sqf/pkt_sqf.h"

#define HANDLE	0x100000

/* One bad attribute: @len bytes of @value */
struct bad {
	int type;
	int len;
	__u32 value;
	const char *text;	/* in what the kernel says */
};

/* What is outside is tried at both ends, and the largest value of all. */
struct range {
	int type;
	__u32 low, high;
	const char *text;
};

/* What a kind takes: each list ends in type 0 */
static const struct kind {
	const char *name;
	int max;			/* the last attribute; the first four are
					 * the same everywhere
					 */
	const char *names[24];
	__u32 good[24];			/* values other than by default */
	struct range ranges[24];
	struct bad values[24];
} kinds[] = {
	{
		.name = "las",
		.max = TCA_LAS_MAX,
		.names = {
			[TCA_LAS_LIMIT] = "limit", [TCA_LAS_MEMORY_LIMIT] = "memory_limit",
			[TCA_LAS_FLOWS] = "flows", [TCA_LAS_IDLE] = "idle",
			[TCA_LAS_FAIR] = "fair", [TCA_LAS_FORGIVE] = "forgive",
			[TCA_LAS_LOG] = "log", [TCA_LAS_SPLIT_GSO] = "split_gso",
			[TCA_LAS_BUFFER] = "buffer",
			[TCA_LAS_FORGIVE_SHARE] = "forgive_share",
		},
		.good = {
			[TCA_LAS_LIMIT] = 7, [TCA_LAS_MEMORY_LIMIT] = 8192,
			[TCA_LAS_FLOWS] = 16, [TCA_LAS_IDLE] = 9, [TCA_LAS_FAIR] = 20000,
			[TCA_LAS_FORGIVE] = 3, [TCA_LAS_LOG] = 2000,
			[TCA_LAS_SPLIT_GSO] = 0, [TCA_LAS_BUFFER] = 77,
			[TCA_LAS_FORGIVE_SHARE] = 11,
		},
		.ranges = {
			{ TCA_LAS_LIMIT, TC_LAS_LIMIT_MIN, TC_LAS_LIMIT_MAX,
			  "las: limit must be 1 to " },
			{ TCA_LAS_MEMORY_LIMIT, TC_LAS_MEMORY_MIN, TC_LAS_MEMORY_MAX,
			  "las: memory_limit must be 4096 to " },
			{ TCA_LAS_FLOWS, TC_LAS_FLOWS_MIN, TC_LAS_FLOWS_MAX,
			  "las: flows must be a power of two, 8 to " },
			{ TCA_LAS_IDLE, TC_LAS_IDLE_MIN, TC_LAS_IDLE_MAX,
			  "las: idle must be 1 to " },
			{ TCA_LAS_FAIR, TC_LAS_FAIR_MIN, TC_LAS_FAIR_MAX,
			  "las: fair must be 0 or 16384 to " },
			{ TCA_LAS_LOG, TC_LAS_LOG_MIN, TC_LAS_LOG_MAX,
			  "las: log must be 0.25 to 4" },
			{ TCA_LAS_BUFFER, TC_LAS_BUFFER_MIN, TC_LAS_BUFFER_MAX,
			  "las: buffer must be 0 or 10 to " },
		},
		.values = {
			{ TCA_LAS_FLOWS, 4, 0, "las: flows must be a power of two, 8 to " },
			{ TCA_LAS_FLOWS, 4, 4, "las: flows must be a power of two, 8 to " },
			{ TCA_LAS_FLOWS, 4, 9, "las: flows must be a power of two, 8 to " },
			{ TCA_LAS_FLOWS, 4, 0x80000000,
			  "las: flows must be a power of two, 8 to " },
			{ TCA_LAS_FAIR, 4, 1, "las: fair must be 0 or 16384 to " },
			{ TCA_LAS_FORGIVE, 4, TC_LAS_FORGIVE_MAX + 1U,
			  "las: forgive must be 0 to " },
			{ TCA_LAS_FORGIVE, 4, 0xffffffff, "las: forgive must be 0 to " },
			{ TCA_LAS_LOG, 4, 0, "las: log must be 0.25 to 4" },
			{ TCA_LAS_SPLIT_GSO, 4, 2, "las: split_gso must be 0 or 1" },
			{ TCA_LAS_SPLIT_GSO, 4, 0xffffffff, "las: split_gso must be 0 or 1" },
			{ TCA_LAS_BUFFER, 4, 1, "las: buffer must be 0 or 10 to " },
			{ TCA_LAS_FORGIVE_SHARE, 4, 101,
			  "las: forgive_share must be 0 to 100" },
			{ TCA_LAS_FORGIVE_SHARE, 4, 0xffffffff,
			  "las: forgive_share must be 0 to 100" },
		},
	}, {
		.name = "run2c",
		.max = TCA_RUN2C_MAX,
		.names = {
			[TCA_RUN2C_LIMIT] = "limit",
			[TCA_RUN2C_MEMORY_LIMIT] = "memory_limit",
			[TCA_RUN2C_FLOWS] = "flows", [TCA_RUN2C_IDLE] = "idle",
			[TCA_RUN2C_THRESHOLD] = "threshold", [TCA_RUN2C_SPAN] = "span",
			[TCA_RUN2C_ORDER] = "order", [TCA_RUN2C_LEARN] = "learn",
			[TCA_RUN2C_OTHER] = "other", [TCA_RUN2C_GUARANTEE] = "guarantee",
			[TCA_RUN2C_SPLIT_GSO] = "split_gso", [TCA_RUN2C_BUFFER] = "buffer",
		},
		.good = {
			[TCA_RUN2C_LIMIT] = 7, [TCA_RUN2C_MEMORY_LIMIT] = 8192,
			[TCA_RUN2C_FLOWS] = 16, [TCA_RUN2C_IDLE] = 9,
			[TCA_RUN2C_THRESHOLD] = 8192, [TCA_RUN2C_SPAN] = 65536,
			[TCA_RUN2C_ORDER] = 0, [TCA_RUN2C_LEARN] = 0,
			[TCA_RUN2C_OTHER] = TC_RUN2C_OTHER_LOW,
			[TCA_RUN2C_GUARANTEE] = 5, [TCA_RUN2C_SPLIT_GSO] = 0,
			[TCA_RUN2C_BUFFER] = 77,
		},
		.ranges = {
			{ TCA_RUN2C_LIMIT, TC_RUN2C_LIMIT_MIN, TC_RUN2C_LIMIT_MAX,
			  "run2c: limit must be 1 to " },
			{ TCA_RUN2C_MEMORY_LIMIT, TC_RUN2C_MEMORY_MIN, TC_RUN2C_MEMORY_MAX,
			  "run2c: memory_limit must be 4096 to " },
			{ TCA_RUN2C_FLOWS, TC_RUN2C_FLOWS_MIN, TC_RUN2C_FLOWS_MAX,
			  "run2c: flows must be a power of two, 8 to " },
			{ TCA_RUN2C_IDLE, TC_RUN2C_IDLE_MIN, TC_RUN2C_IDLE_MAX,
			  "run2c: idle must be 1 to " },
			{ TCA_RUN2C_THRESHOLD, TC_RUN2C_THRESHOLD_MIN, TC_RUN2C_THRESHOLD_MAX,
			  "run2c: threshold must be a power of two, 1024 to " },
			{ TCA_RUN2C_SPAN, TC_RUN2C_SPAN_MIN, TC_RUN2C_SPAN_MAX,
			  "run2c: span must be a power of two, 4096 to " },
			{ TCA_RUN2C_GUARANTEE, 0, TC_RUN2C_GUARANTEE_MAX,
			  "run2c: guarantee must be 0 to 99 percent" },
		},
		.values = {
			{ TCA_RUN2C_FLOWS, 4, 0,
			  "run2c: flows must be a power of two, 8 to " },
			{ TCA_RUN2C_FLOWS, 4, 9,
			  "run2c: flows must be a power of two, 8 to " },
			{ TCA_RUN2C_THRESHOLD, 4, 0,
			  "run2c: threshold must be a power of two, 1024 to " },
			{ TCA_RUN2C_THRESHOLD, 4, 1025,
			  "run2c: threshold must be a power of two, 1024 to " },
			{ TCA_RUN2C_THRESHOLD, 4, TC_RUN2C_THRESHOLD_MAX,
			  "run2c: threshold must be less than span" },
			{ TCA_RUN2C_SPAN, 4, 0,
			  "run2c: span must be a power of two, 4096 to " },
			{ TCA_RUN2C_SPAN, 4, TC_RUN2C_SPAN_MIN + 1,
			  "run2c: span must be a power of two, 4096 to " },
			{ TCA_RUN2C_SPAN, 4, TC_RUN2C_SPAN_MIN,
			  "run2c: threshold must be less than span" },
			{ TCA_RUN2C_ORDER, 4, 2,
			  "run2c: order must be 0 or 1" },
			{ TCA_RUN2C_LEARN, 4, 2,
			  "run2c: learn must be 0 or 1" },
			{ TCA_RUN2C_OTHER, 4, 2,
			  "run2c: other must be 0 (high) or 1 (low)" },
			{ TCA_RUN2C_BUFFER, 4, 1,
			  "run2c: buffer must be 0 or 10 to " },
			{ TCA_RUN2C_SPLIT_GSO, 4, 2,
			  "run2c: split_gso must be 0 or 1" },
			{ TCA_RUN2C_SPLIT_GSO, 4, 0xffffffff,
			  "run2c: split_gso must be 0 or 1" },
		},
	}, {
		.name = "sift",
		.max = TCA_SIFT_MAX,
		.names = {
			[TCA_SIFT_LIMIT] = "limit",
			[TCA_SIFT_MEMORY_LIMIT] = "memory_limit",
			[TCA_SIFT_FLOWS] = "flows", [TCA_SIFT_IDLE] = "idle",
			[TCA_SIFT_PROBABILITY] = "probability", [TCA_SIFT_EVERY] = "every",
			[TCA_SIFT_SAMPLES] = "samples", [TCA_SIFT_BYTES] = "bytes",
			[TCA_SIFT_SLOW] = "slow", [TCA_SIFT_GUARANTEE] = "guarantee",
			[TCA_SIFT_HIGH] = "high", [TCA_SIFT_LOW] = "low",
			[TCA_SIFT_RED] = "red", [TCA_SIFT_RED_MIN] = "red_min",
			[TCA_SIFT_RED_MAX] = "red_max",
			[TCA_SIFT_RED_PROBABILITY] = "red_probability",
			[TCA_SIFT_RED_WEIGHT] = "red_weight",
			[TCA_SIFT_RED_BANDWIDTH] = "red_bandwidth", [TCA_SIFT_ECN] = "ecn",
			[TCA_SIFT_SPLIT_GSO] = "split_gso", [TCA_SIFT_SEED] = "seed",
			[TCA_SIFT_BUFFER] = "buffer",
		},
		.good = {
			[TCA_SIFT_LIMIT] = 7, [TCA_SIFT_MEMORY_LIMIT] = 8192,
			[TCA_SIFT_FLOWS] = 16, [TCA_SIFT_IDLE] = 9,
			[TCA_SIFT_PROBABILITY] = 500, [TCA_SIFT_EVERY] = 3,
			[TCA_SIFT_SAMPLES] = 2, [TCA_SIFT_BYTES] = 1,
			[TCA_SIFT_SLOW] = 2000, [TCA_SIFT_GUARANTEE] = 5,
			[TCA_SIFT_HIGH] = 8, [TCA_SIFT_LOW] = 9,
			[TCA_SIFT_RED] = TC_SIFT_LOW, [TCA_SIFT_RED_MIN] = 2,
			[TCA_SIFT_RED_MAX] = 900, [TCA_SIFT_RED_PROBABILITY] = 77,
			[TCA_SIFT_RED_WEIGHT] = 3, [TCA_SIFT_RED_BANDWIDTH] = 4000,
			[TCA_SIFT_ECN] = 1, [TCA_SIFT_SPLIT_GSO] = 0, [TCA_SIFT_SEED] = 11,
			[TCA_SIFT_BUFFER] = 77,
		},
		.ranges = {
			{ TCA_SIFT_LIMIT, TC_SIFT_LIMIT_MIN, TC_SIFT_LIMIT_MAX,
			  "sift: limit must be 1 to " },
			{ TCA_SIFT_MEMORY_LIMIT, TC_SIFT_MEMORY_MIN, TC_SIFT_MEMORY_MAX,
			  "sift: memory_limit must be 4096 to " },
			{ TCA_SIFT_FLOWS, TC_SIFT_FLOWS_MIN, TC_SIFT_FLOWS_MAX,
			  "sift: flows must be a power of two, 8 to " },
			{ TCA_SIFT_IDLE, TC_SIFT_IDLE_MIN, TC_SIFT_IDLE_MAX,
			  "sift: idle must be 1 to " },
			{ TCA_SIFT_PROBABILITY, 0, TC_SIFT_ONE,
			  "sift: probability must be 0 to 1" },
			{ TCA_SIFT_EVERY, 0, TC_SIFT_EVERY_MAX,
			  "sift: every must be 0 to " },
			{ TCA_SIFT_SAMPLES, TC_SIFT_SAMPLES_MIN, TC_SIFT_SAMPLES_MAX,
			  "sift: samples must be 1 to " },
			{ TCA_SIFT_GUARANTEE, 0, TC_SIFT_GUARANTEE_MAX,
			  "sift: guarantee must be 0 to 99 percent" },
			{ TCA_SIFT_HIGH, 0, TC_SIFT_LIMIT_MAX,
			  "sift: high must be 0 to " },
			{ TCA_SIFT_LOW, 0, TC_SIFT_LIMIT_MAX,
			  "sift: low must be 0 to " },
			{ TCA_SIFT_RED_WEIGHT, TC_SIFT_WEIGHT_MIN, TC_SIFT_WEIGHT_MAX,
			  "sift: red_weight must be 1 to 16" },
		},
		.values = {
			{ TCA_SIFT_FLOWS, 4, 0,
			  "sift: flows must be a power of two, 8 to " },
			{ TCA_SIFT_FLOWS, 4, 9,
			  "sift: flows must be a power of two, 8 to " },
			{ TCA_SIFT_SLOW, 4, 1,
			  "sift: slow must be 0 or 1000 to " },
			{ TCA_SIFT_SLOW, 4, TC_SIFT_SLOW_MAX + 1,
			  "sift: slow must be 0 or 1000 to " },
			{ TCA_SIFT_RED, 4, 4,
			  "sift: red must be 0, 1 (high), 2 (low) or 3 (both)" },
			{ TCA_SIFT_RED_MIN, 4, 0,
			  "sift: red_min must be 1 to " },
			{ TCA_SIFT_RED_MIN, 4, TC_SIFT_RED_MAX + 1,
			  "sift: red_min must be 1 to " },
			{ TCA_SIFT_RED_MAX, 4, 0,
			  "sift: red_max must be 1 to " },
			{ TCA_SIFT_RED_MAX, 4, TC_SIFT_RED_MAX + 1,
			  "sift: red_max must be 1 to " },
			{ TCA_SIFT_RED_MAX, 4, 1,
			  "sift: red_min must be less than red_max" },
			{ TCA_SIFT_RED_PROBABILITY, 4, 0,
			  "sift: red_probability must be " },
			{ TCA_SIFT_RED_PROBABILITY, 4, TC_SIFT_ONE + 1,
			  "sift: red_probability must be " },
			{ TCA_SIFT_RED_BANDWIDTH, 4, 999,
			  "sift: red_bandwidth must be 1000 to " },
			{ TCA_SIFT_BUFFER, 4, 1,
			  "sift: buffer must be 0 or 10 to " },
			{ TCA_SIFT_BYTES, 4, 2,
			  "sift: bytes must be 0 or 1" },
			{ TCA_SIFT_ECN, 4, 2,
			  "sift: ecn must be 0 or 1" },
			{ TCA_SIFT_SPLIT_GSO, 4, 2,
			  "sift: split_gso must be 0 or 1" },
			{ TCA_SIFT_SPLIT_GSO, 4, 0xffffffff,
			  "sift: split_gso must be 0 or 1" },
		},
	}, {
		.name = "sqf",
		.max = TCA_SQF_MAX,
		.names = {
			[TCA_SQF_LIMIT] = "limit", [TCA_SQF_MEMORY_LIMIT] = "memory_limit",
			[TCA_SQF_FLOWS] = "flows", [TCA_SQF_IDLE] = "idle",
			[TCA_SQF_POLICY] = "policy", [TCA_SQF_QUANTUM] = "quantum",
			[TCA_SQF_DROP_HEAD] = "drop", [TCA_SQF_SPLIT_GSO] = "split_gso",
		},
		.good = {
			[TCA_SQF_LIMIT] = 7, [TCA_SQF_MEMORY_LIMIT] = 8192,
			[TCA_SQF_FLOWS] = 16, [TCA_SQF_IDLE] = 9,
			[TCA_SQF_POLICY] = TC_SQF_POLICY_FQ, [TCA_SQF_QUANTUM] = 300,
			[TCA_SQF_DROP_HEAD] = 1, [TCA_SQF_SPLIT_GSO] = 0,
		},
		.ranges = {
			{ TCA_SQF_LIMIT, TC_SQF_LIMIT_MIN, TC_SQF_LIMIT_MAX,
			  "sqf: limit must be 1 to " },
			{ TCA_SQF_MEMORY_LIMIT, TC_SQF_MEMORY_MIN, TC_SQF_MEMORY_MAX,
			  "sqf: memory_limit must be 4096 to " },
			{ TCA_SQF_FLOWS, TC_SQF_FLOWS_MIN, TC_SQF_FLOWS_MAX,
			  "sqf: flows must be a power of two, 8 to " },
			{ TCA_SQF_IDLE, TC_SQF_IDLE_MIN, TC_SQF_IDLE_MAX,
			  "sqf: idle must be 1 to " },
			{ TCA_SQF_QUANTUM, TC_SQF_QUANTUM_MIN, TC_SQF_QUANTUM_MAX,
			  "sqf: quantum must be 256 to " },
		},
		.values = {
			{ TCA_SQF_FLOWS, 4, 0, "sqf: flows must be a power of two, 8 to " },
			{ TCA_SQF_FLOWS, 4, 9, "sqf: flows must be a power of two, 8 to " },
			{ TCA_SQF_QUANTUM, 4, 0, "sqf: quantum must be 256 to " },
			{ TCA_SQF_POLICY, 4, TC_SQF_POLICY_MAX + 1,
			  "sqf: policy must be 0 (sqf), 1 (lqf) or 2 (fq)" },
			{ TCA_SQF_POLICY, 4, 0xffffffff,
			  "sqf: policy must be 0 (sqf), 1 (lqf) or 2 (fq)" },
			{ TCA_SQF_DROP_HEAD, 4, 2, "sqf: drop_head must be 0 or 1" },
			{ TCA_SQF_SPLIT_GSO, 4, 2, "sqf: split_gso must be 0 or 1" },
			{ TCA_SQF_SPLIT_GSO, 4, 0xffffffff, "sqf: split_gso must be 0 or 1" },
		},
	},
};

static const struct kind *kind;
static struct nl_sock *sock;
static int ifindex;
static int count, failed;

/* What the kernel has answered */
struct answer {
	int error;
	char text[256];
	int offset;		/* of the attribute it is about, or -1 */
};

static void report(bool good, const char *format, ...)
{
	va_list args;

	failed += !good;
	printf("%sok %d ", good ? "" : "not ", ++count);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static void die(const char *what)
{
	printf("Bail out! %s\n", what);
	exit(1);
}

static struct nl_msg *request(int type, int flags)
{
	struct tcmsg tc = {
		.tcm_family = AF_UNSPEC,
		.tcm_ifindex = ifindex,
		.tcm_handle = HANDLE,
		.tcm_parent = TC_H_ROOT,
	};
	struct nl_msg *msg = nlmsg_alloc_simple(type, flags);

	if (!msg || nlmsg_append(msg, &tc, sizeof(tc), NLMSG_ALIGNTO))
		die("no memory");
	if (type == RTM_NEWQDISC && nla_put_string(msg, TCA_KIND, kind->name))
		die("no memory");
	return msg;
}

/* Send a request, which is freed, and wait for what the kernel says. */
static struct answer ask_kernel(struct nl_msg *msg)
{
	struct answer answer = { .offset = -1 };
	struct nlattr *tb[NLMSGERR_ATTR_MAX + 1];
	struct sockaddr_nl from;
	struct nlmsghdr *head;
	unsigned char *buffer;
	struct nlmsgerr *err;

	if (nl_send_auto(sock, msg) < 0 ||
	    nl_recv(sock, &from, &buffer, NULL) <= 0)
		die("cannot talk to the kernel");
	nlmsg_free(msg);
	head = (struct nlmsghdr *)buffer;
	if (head->nlmsg_type != NLMSG_ERROR)
		die("no acknowledgment");
	err = nlmsg_data(head);
	answer.error = -err->error;
	if (head->nlmsg_flags & NLM_F_ACK_TLVS) {
		/* NETLINK_CAP_ACK: the request itself is not repeated. */
		if (nlmsg_parse(head, sizeof(*err), tb, NLMSGERR_ATTR_MAX, NULL))
			die("cannot read the acknowledgment");
		if (tb[NLMSGERR_ATTR_MSG])
			snprintf(answer.text, sizeof(answer.text), "%s",
				 nla_get_string(tb[NLMSGERR_ATTR_MSG]));
		if (tb[NLMSGERR_ATTR_OFFS])
			answer.offset = nla_get_u32(tb[NLMSGERR_ATTR_OFFS]);
	}
	free(buffer);
	return answer;
}

/* The options of the qdisc as the kernel shows them; their length, 0 without one */
static int shown_options(unsigned char *to, int size)
{
	struct nl_msg *msg = request(RTM_GETQDISC, NLM_F_ECHO);
	struct sockaddr_nl from;
	unsigned char *buffer;
	struct nlmsghdr *head;
	bool found = false;
	struct nlattr *nest;
	int len = 0;

	if (nl_send_auto(sock, msg) < 0 ||
	    nl_recv(sock, &from, &buffer, NULL) <= 0)
		die("cannot talk to the kernel");
	nlmsg_free(msg);
	head = (struct nlmsghdr *)buffer;
	if (head->nlmsg_type == RTM_NEWQDISC) {
		found = true;
		nest = nlmsg_find_attr(head, sizeof(struct tcmsg), TCA_OPTIONS);
		len = nest ? nla_len(nest) : 0;
		if (len > size)
			die("more options than expected");
		if (len)
			memcpy(to, nla_data(nest), len);
	}
	free(buffer);
	/* The acknowledgment, since libnl asks for one */
	if (found && nl_recv(sock, &from, &buffer, NULL) > 0)
		free(buffer);
	return len;
}

static void put(struct nl_msg *msg, int type, __u32 value, int len)
{
	__u32 data[2] = { value };

	if (nla_put(msg, type, len, data))
		die("no memory");
}

/* How a bad attribute may come along */
enum company { ALONE, BEFORE_GOOD, AFTER_GOOD, TWICE, COMPANIES };

static const char * const companies[] = {
	"alone", "before a good one", "after a good one", "after itself, good",
};

/* A request with the bad attribute; @at becomes the place of it. */
static struct nl_msg *spoilt(const struct bad *bad, enum company company,
			     int flags, int *at)
{
	struct nl_msg *msg = request(RTM_NEWQDISC, flags);
	struct nlattr *nest = nla_nest_start(msg, TCA_OPTIONS);
	int other = bad->type == TCA_LAS_LIMIT ? TCA_LAS_IDLE : TCA_LAS_LIMIT;

	nest->nla_type |= NLA_F_NESTED;
	if (company == AFTER_GOOD)
		put(msg, other, kind->good[other], sizeof(__u32));
	if (company == TWICE && bad->type <= kind->max)
		put(msg, bad->type, kind->good[bad->type], sizeof(__u32));
	*at = nlmsg_hdr(msg)->nlmsg_len;
	put(msg, bad->type, bad->value, bad->len);
	if (company == BEFORE_GOOD)
		put(msg, other, kind->good[other], sizeof(__u32));
	nla_nest_end(msg, nest);
	return msg;
}

static void expect(const struct answer *answer, int error, const char *text,
		   int at, const char *name)
{
	bool right = answer->error == error && strstr(answer->text, text) &&
		     (at < 0 || answer->offset == at);

	report(right, "%s", name);
	if (!right)
		printf("# %s, \"%s\" about the attribute at %d, not %s, \"%s\" at %d\n",
		       strerror(answer->error), answer->text, answer->offset,
		       strerror(error), text, at);
}

static const char *name_of(int type)
{
	return type <= kind->max ? kind->names[type] : "unknown";
}

static void try_bad(const struct bad *bad, const char *how, int flags)
{
	unsigned char before[256], after[256];
	int had, have, company, at;
	struct answer answer;
	char text[160];

	for (company = 0; company < COMPANIES; company++) {
		had = shown_options(before, sizeof(before));
		answer = ask_kernel(spoilt(bad, company, flags, &at));
		snprintf(text, sizeof(text), "%s, %s of %d bytes, %#x, %s", how,
			 name_of(bad->type), bad->len, bad->value,
			 companies[company]);
		expect(&answer, EINVAL, bad->text, at, text);
		have = shown_options(after, sizeof(after));
		if (had != have || memcmp(before, after, had))
			report(false, "%s: changed something", text);
	}
}

static void try_all(const char *how, int flags)
{
	static const int lengths[] = { 0, 1, 2, 3, 5, 8 };
	const struct range *range;
	const struct bad *value;
	struct bad bad = { 0 };
	unsigned int i;

	for (bad.type = 1; bad.type <= kind->max; bad.type++) {
		bad.value = kind->good[bad.type];
		bad.text = "invalid attribute length";
		for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
			bad.len = lengths[i];
			try_bad(&bad, how, flags);
		}
	}
	bad.type = kind->max + 1;
	bad.len = 4;
	bad.text = "Unknown attribute type";
	try_bad(&bad, how, flags);
	for (range = kind->ranges; range->type; range++) {
		bad.type = range->type;
		bad.text = range->text;
		bad.value = range->low - 1;
		try_bad(&bad, how, flags);
		bad.value = range->high + 1U;
		try_bad(&bad, how, flags);
		bad.value = 0xffffffff;
		try_bad(&bad, how, flags);
	}
	for (value = kind->values; value->type; value++)
		try_bad(value, how, flags);
}

/* What is wrong with TCA_OPTIONS itself */
static void try_nest(const char *how, int flags)
{
	static const char tail[] = { 1, 1, 1, 1, 1 };
	static const struct nlattr beyond = { .nla_len = 200, .nla_type = 1 };
	unsigned char before[256], after[256];
	int had = shown_options(before, sizeof(before)), have, i;
	struct answer answer;
	struct nl_msg *msg;
	struct nlattr *nest;
	char text[80], *end;
	const struct {
		const char *name, *text;
	} cases[] = {
		{ "not marked as nested", "NLA_F_NESTED is missing" },
		{ "bytes left over", "bytes leftover after parsing attributes" },
		{ "an attribute beyond the end", "bytes leftover after parsing attributes" },
		{ "half the head of an attribute", "bytes leftover after parsing attributes" },
	};

	for (i = 0; i < 4; i++) {
		msg = request(RTM_NEWQDISC, flags);
		nest = nla_nest_start(msg, TCA_OPTIONS);
		nest->nla_type &= ~NLA_F_NESTED;
		if (i)
			nest->nla_type |= NLA_F_NESTED;
		put(msg, TCA_LAS_LIMIT, kind->good[TCA_LAS_LIMIT], sizeof(__u32));
		if (i == 1)
			nlmsg_append(msg, (void *)tail, sizeof(tail), 0);
		else if (i == 2)
			nlmsg_append(msg, (void *)&beyond, sizeof(beyond), 0);
		else if (i == 3)
			nlmsg_append(msg, (void *)tail, 2, 0);
		/* nlmsg_tail() would be after the padding that is not there */
		end = (char *)nlmsg_hdr(msg) + nlmsg_hdr(msg)->nlmsg_len;
		nest->nla_len = end - (char *)nest;
		answer = ask_kernel(msg);
		snprintf(text, sizeof(text), "%s, %s", how, cases[i].name);
		expect(&answer, EINVAL, cases[i].text, -1, text);
		have = shown_options(after, sizeof(after));
		if (had != have || memcmp(before, after, had))
			report(false, "%s: changed something", text);
	}
}

/* That good values are taken shows that nothing else is wrong with the requests above. */
static void try_good(const char *how, int flags)
{
	struct nl_msg *msg = request(RTM_NEWQDISC, flags);
	struct nlattr *nest = nla_nest_start(msg, TCA_OPTIONS), *attr;
	unsigned char now[256];
	struct answer answer;
	bool all = true;
	int type, len;

	nest->nla_type |= NLA_F_NESTED;
	for (type = 1; type <= kind->max; type++)
		put(msg, type, kind->good[type], sizeof(__u32));
	nla_nest_end(msg, nest);
	answer = ask_kernel(msg);
	expect(&answer, 0, "", -1, how);
	len = shown_options(now, sizeof(now));
	for (type = 1; type <= kind->max; type++) {
		attr = nla_find((struct nlattr *)now, len, type);
		all = all && attr && nla_get_u32(attr) == kind->good[type];
	}
	report(all && len, "%s: all values are what was sent", how);
}

int main(int argc, char **argv)
{
	const int on = 1;
	unsigned int i;
	int fd;

	for (i = 0; argc == 3 && i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!strcmp(kinds[i].name, argv[1]))
			kind = &kinds[i];
	}
	ifindex = kind ? if_nametoindex(argv[2]) : 0;
	if (!ifindex)
		die("usage: netlink_attrs KIND DEVICE");
	sock = nl_socket_alloc();
	if (!sock || nl_connect(sock, NETLINK_ROUTE))
		die("no netlink socket");
	fd = nl_socket_get_fd(sock);
	if (setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on)))
		die("no extended acknowledgments");

	try_all("add", NLM_F_CREATE | NLM_F_EXCL);
	try_nest("add", NLM_F_CREATE | NLM_F_EXCL);
	try_good("add", NLM_F_CREATE | NLM_F_EXCL);
	try_all("change", 0);
	try_nest("change", 0);
	try_all("replace", NLM_F_CREATE | NLM_F_REPLACE);
	try_nest("replace", NLM_F_CREATE | NLM_F_REPLACE);
	try_good("change", 0);
	nl_socket_free(sock);
	printf("1..%d\n", count);
	return failed > 0;
}
