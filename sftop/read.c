// SPDX-License-Identifier: GPL-2.0
/*
 * Messages of the kernel, which may have more in them than is known here, and less.
 */
#include <string.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "../sch_las/pkt_las.h"
#include "../sch_sift/pkt_sift.h"
#include "../sch_sqf/pkt_sqf.h"
#include "format.h"
#include "read.h"

static const char * const kinds[] = { KINDS };	/* by the Makefile */

/* Attributes whose size is not as it should be make a message one that is not understood. */
static struct nla_policy tc_policy[TCA_MAX + 1] = {
	[TCA_KIND] = { .type = NLA_STRING, .maxlen = sizeof(((struct qdisc *)0)->kind) },
};

static struct nla_policy stats_policy[TCA_STATS_MAX + 1] = {
	[TCA_STATS_BASIC] = { .minlen = 12 },	/* and padding, where a u64 is aligned to 8 */
	[TCA_STATS_PKT64] = { .minlen = sizeof(__u64) },
	[TCA_STATS_QUEUE] = { .minlen = sizeof(struct gnet_stats_queue) },
};

static struct nla_policy class_policy[TCA_SF_CLASS_MAX + 1] = {
	[TCA_SF_CLASS_TYPE] = { .type = NLA_U32 },
	[TCA_SF_CLASS_RECORD] = { .type = NLA_U32 },
	[TCA_SF_CLASS_SORT] = { .type = NLA_U32 },
	[TCA_SF_CLASS_HOST] = { .type = NLA_U32 },
	[TCA_SF_CLASS_ETHERTYPE] = { .type = NLA_U16 },
	[TCA_SF_CLASS_PROTO] = { .type = NLA_U8 },
	[TCA_SF_CLASS_SRC] = { .minlen = 4, .maxlen = 16 },
	[TCA_SF_CLASS_DST] = { .minlen = 4, .maxlen = 16 },
	[TCA_SF_CLASS_SPORT] = { .type = NLA_U16 },
	[TCA_SF_CLASS_DPORT] = { .type = NLA_U16 },
	[TCA_SF_CLASS_NAMED] = { .type = NLA_U32 },
	[TCA_SF_CLASS_ATTAINED] = { .type = NLA_U64 },
	[TCA_SF_CLASS_BYTES] = { .type = NLA_U64 },
	[TCA_SF_CLASS_PACKETS] = { .type = NLA_U64 },
	[TCA_SF_CLASS_DROPS] = { .type = NLA_U32 },
	[TCA_SF_CLASS_MARKS] = { .type = NLA_U32 },
	[TCA_SF_CLASS_WAITED] = { .type = NLA_U32 },
	[TCA_SF_CLASS_SILENT] = { .type = NLA_U32 },
	[TCA_SF_CLASS_FLOWS] = { .type = NLA_U32 },
	[TCA_SF_CLASS_LEVEL] = { .type = NLA_U32 },
	[TCA_SF_CLASS_OVER] = { .type = NLA_U32 },
	[TCA_SF_CLASS_INNER] = { .type = NLA_U32 },
};

static struct nla_policy link_policy[IFLA_MAX + 1] = {
	[IFLA_IFNAME] = { .type = NLA_STRING, .maxlen = IFNAMSIZ },
};

static bool of_ours(const char *kind)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!strcmp(kind, kinds[i]))
			return true;
	}
	return false;
}

/* The text of a string, which may lack its end, into @to of @size bytes */
static void read_string(char *to, size_t size, const struct nlattr *attr)
{
	nla_strlcpy(to, attr, size);
}

bool read_link(struct nlmsghdr *n, struct link *link)
{
	struct nlattr *tb[IFLA_MAX + 1];
	struct ifinfomsg *head;

	if (n->nlmsg_type != RTM_NEWLINK ||
	    nlmsg_parse(n, sizeof(*head), tb, IFLA_MAX, link_policy) || !tb[IFLA_IFNAME])
		return false;
	head = nlmsg_data(n);
	link->ifindex = head->ifi_index;
	read_string(link->raw, sizeof(link->raw), tb[IFLA_IFNAME]);
	format_printable(link->name, link->raw, sizeof(link->name));
	return true;
}

static struct tcmsg *read_tc(struct nlmsghdr *n, int type, struct nlattr *tb[])
{
	char kind[sizeof(((struct qdisc *)0)->kind)];

	if (n->nlmsg_type != type ||
	    nlmsg_parse(n, sizeof(struct tcmsg), tb, TCA_MAX, tc_policy) || !tb[TCA_KIND])
		return NULL;
	read_string(kind, sizeof(kind), tb[TCA_KIND]);
	return of_ours(kind) ? nlmsg_data(n) : NULL;
}

struct stats {
	struct gnet_stats_basic basic;
	struct gnet_stats_queue queue;
	__u64 packets;
	struct nlattr *app;	/* of the kind */
};

static bool read_stats(struct stats *stats, struct nlattr *attr)
{
	struct nlattr *tb[TCA_STATS_MAX + 1] = {};

	memset(stats, 0, sizeof(*stats));
	if (attr && nla_parse_nested(tb, TCA_STATS_MAX, attr, stats_policy))
		return false;
	if (tb[TCA_STATS_BASIC])
		memcpy(&stats->basic, nla_data(tb[TCA_STATS_BASIC]), 12);
	if (tb[TCA_STATS_QUEUE])
		memcpy(&stats->queue, nla_data(tb[TCA_STATS_QUEUE]), sizeof(stats->queue));
	stats->packets = tb[TCA_STATS_PKT64] ? nla_get_u64(tb[TCA_STATS_PKT64]) :
					       stats->basic.packets;
	stats->app = tb[TCA_STATS_APP];
	return true;
}

static __u64 number_at(const struct nlattr *attr, size_t offset, size_t size)
{
	__u64 wide = 0;
	__u32 narrow = 0;

	if ((size_t)nla_len(attr) < offset + size)
		return 0;
	if (size == sizeof(wide)) {
		memcpy(&wide, (char *)nla_data(attr) + offset, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, (char *)nla_data(attr) + offset, sizeof(narrow));
	return narrow;
}

/* Generic statistics have no marks: a kind tells them in its own, or marks nothing. */
static __u64 read_marks(const char *kind, const struct nlattr *app)
{
	static const struct {
		const char *kind;
		size_t offset, size;
	} places[] = {
		{ "las", offsetof(struct tc_las_xstats, marked), sizeof(__u64) },
		{ "sqf", offsetof(struct tc_sqf_xstats, marked), sizeof(__u64) },
		{ "sift", offsetof(struct tc_sift_xstats, high.marked), sizeof(__u32) },
		{ "sift", offsetof(struct tc_sift_xstats, low.marked), sizeof(__u32) },
	};
	__u64 marks = 0;
	size_t i;

	for (i = 0; app && i < sizeof(places) / sizeof(*places); i++) {
		if (!strcmp(kind, places[i].kind))
			marks += number_at(app, places[i].offset, places[i].size);
	}
	return marks;
}

bool read_qdisc(struct nlmsghdr *n, struct qdisc *q)
{
	struct nlattr *tb[TCA_MAX + 1];
	struct tcmsg *head = read_tc(n, RTM_NEWQDISC, tb);
	struct stats stats;

	if (!head || !read_stats(&stats, tb[TCA_STATS2]))
		return false;
	memset(q, 0, sizeof(*q));
	q->ifindex = head->tcm_ifindex;
	q->handle = head->tcm_handle;
	q->parent = head->tcm_parent;
	read_string(q->kind, sizeof(q->kind), tb[TCA_KIND]);
	q->bytes = stats.basic.bytes;
	q->packets = stats.packets;
	q->drops = stats.queue.drops;
	q->marks = read_marks(q->kind, stats.app);
	q->requeues = stats.queue.requeues;
	q->qlen = stats.queue.qlen;
	q->backlog = stats.queue.backlog;
	return true;
}

static __u32 get_u32(struct nlattr *tb[], int type)
{
	return tb[type] ? nla_get_u32(tb[type]) : 0;
}

static __u64 get_u64(struct nlattr *tb[], int type)
{
	return tb[type] ? nla_get_u64(tb[type]) : 0;
}

static __u16 get_net16(struct nlattr *tb[], int type)
{
	return tb[type] ? ntohs(nla_get_u16(tb[type])) : 0;
}

/* Both addresses of a flow are of one length; false if it is none of IP. */
static bool read_address(struct entry *e, __u8 to[16], struct nlattr *attr)
{
	int len;

	if (!attr)
		return true;
	len = nla_len(attr);
	if ((len != 4 && len != 16) || (e->address_len && len != e->address_len))
		return false;
	e->address_len = len;
	memcpy(to, nla_data(attr), len);
	return true;
}

bool read_class(struct nlmsghdr *n, struct entry *e, int *ifindex, __u32 *qdisc)
{
	struct nlattr *tb[TCA_SF_CLASS_MAX + 1], *tc[TCA_MAX + 1];
	struct tcmsg *head = read_tc(n, RTM_NEWTCLASS, tc);
	struct stats stats;
	__u32 type, sort;
	int i;

	if (!head || !tc[TCA_OPTIONS] || !read_stats(&stats, tc[TCA_STATS2]) ||
	    nla_parse_nested(tb, TCA_SF_CLASS_MAX, tc[TCA_OPTIONS], class_policy))
		return false;
	type = get_u32(tb, TCA_SF_CLASS_TYPE);
	if (type < TC_SF_CLASS_FLOW || type > TC_SF_CLASS_OVERFLOW)
		return false;
	memset(e, 0, sizeof(*e));
	if (!read_address(e, e->src, tb[TCA_SF_CLASS_SRC]) ||
	    !read_address(e, e->dst, tb[TCA_SF_CLASS_DST]))
		return false;
	for (i = 1; i <= TCA_SF_CLASS_MAX; i++)
		e->told |= tb[i] ? 1u << i : 0;
	e->type = type;
	sort = get_u32(tb, TCA_SF_CLASS_SORT);
	e->sort = sort < SORTS ? sort : TC_SF_SORT_UNSPEC;
	e->record = get_u32(tb, TCA_SF_CLASS_RECORD);
	e->host = get_u32(tb, TCA_SF_CLASS_HOST);
	e->ethertype = get_net16(tb, TCA_SF_CLASS_ETHERTYPE);
	e->proto = tb[TCA_SF_CLASS_PROTO] ? nla_get_u8(tb[TCA_SF_CLASS_PROTO]) : 0;
	e->sport = get_net16(tb, TCA_SF_CLASS_SPORT);
	e->dport = get_net16(tb, TCA_SF_CLASS_DPORT);
	e->named = get_u32(tb, TCA_SF_CLASS_NAMED);
	e->attained = get_u64(tb, TCA_SF_CLASS_ATTAINED);
	e->bytes = get_u64(tb, TCA_SF_CLASS_BYTES);
	e->packets = get_u64(tb, TCA_SF_CLASS_PACKETS);
	e->drops = get_u32(tb, TCA_SF_CLASS_DROPS);
	e->marks = get_u32(tb, TCA_SF_CLASS_MARKS);
	e->waited = get_u32(tb, TCA_SF_CLASS_WAITED);
	e->silent = get_u32(tb, TCA_SF_CLASS_SILENT);
	e->flows = get_u32(tb, TCA_SF_CLASS_FLOWS);
	e->level = get_u32(tb, TCA_SF_CLASS_LEVEL);
	e->over = get_u32(tb, TCA_SF_CLASS_OVER);
	e->inner = get_u32(tb, TCA_SF_CLASS_INNER);
	e->qlen = stats.queue.qlen;
	e->backlog = stats.queue.backlog;
	*ifindex = head->tcm_ifindex;
	*qdisc = TC_H_MAJ(head->tcm_handle);
	return true;
}
