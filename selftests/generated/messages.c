// SPDX-License-Identifier: GPL-2.0
/*
 * messages - requests of tc made at random, good ones and mutated ones
 *
 *	messages [--seed N] [--count N] [--each N] --table FILE --dev DEV...
 *
 * Each is one that is good by itself - add, change, replace, delete and graft qdiscs,
 * set up and delete classes and filters, ask for one of these or for all - and then as
 * likely left alone as mutated up to three times: attributes are left out, doubled, cut
 * short, too long, nested where they do not belong, of another number, length or value;
 * bits are turned, and the message is cut. The kinds whose options the table has are
 * set up at the root and as leaves of others. Packets of some flows are sent meanwhile,
 * so that there is something in the queues.
 *
 * After each so many messages what there is has to make sense: who has children has as
 * many packets as these; an interface that goes down has none; when all is deleted none of
 * our qdiscs, no class and no filter is left, and the modules are used by nobody.
 *
 * The same seed sends the same messages, unless an interface decides by the clock what
 * is left in a queue. Printed is what became of them.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <sys/ioctl.h>
#include "generator.h"

#define DEVS_MAX	4
#define SLOTS		16		/* parents whose qdiscs are remembered: root, X:Y */
#define MUTATIONS	3
#define ERRORS		200
#define PATIENCE	2000		/* ms until queues agree */
#define FRAME_MAX	1500
#define PROGRESS	10000		/* messages from one line to the next */

#define HANDLES		8
#define OURS(n)		((0x10U + (n)) << 16)	/* handles: of our kinds, so many */
#define OTHERS(n)	((1U + (n)) << 16)	/* and of others; 3 each */

/* What others there are, which come with options that are good */
enum {
	PRIO, HTB, DRR, TBF, NETEM, MQ, FQ_CODEL, PFIFO, INGRESS, CLSACT, OTHER_KINDS
};

static const char *const other_names[OTHER_KINDS] = {
	[PRIO] = "prio", [HTB] = "htb", [DRR] = "drr", [TBF] = "tbf", [NETEM] = "netem",
	[MQ] = "mq", [FQ_CODEL] = "fq_codel", [PFIFO] = "pfifo",
	[INGRESS] = "ingress", [CLSACT] = "clsact",
};

/* Requests, and how often they are made, in percent */
enum {
	ADD, CHANGE, REPLACE, DELETE, GRAFT, SHOW, CLASS, CLASS_DELETE, CLASS_SHOW, FILTER,
	FILTER_DELETE, FILTER_SHOW, SORTS
};

static const struct {
	const char *name;
	unsigned int percent;
	int type;
} sorts[SORTS] = {
	[ADD] = { "add", 8, RTM_NEWQDISC },
	[CHANGE] = { "change", 26, RTM_NEWQDISC },
	[REPLACE] = { "replace", 22, RTM_NEWQDISC },
	[DELETE] = { "delete", 5, RTM_DELQDISC },
	[GRAFT] = { "graft", 6, RTM_NEWQDISC },
	[SHOW] = { "show", 3, RTM_GETQDISC },
	[CLASS] = { "class", 8, RTM_NEWTCLASS },
	[CLASS_DELETE] = { "class-delete", 3, RTM_DELTCLASS },
	[CLASS_SHOW] = { "class-show", 5, RTM_GETTCLASS },
	[FILTER] = { "filter", 8, RTM_NEWTFILTER },
	[FILTER_DELETE] = { "filter-delete", 3, RTM_DELTFILTER },
	[FILTER_SHOW] = { "filter-show", 3, RTM_GETTFILTER },
};

/* An interface, and what is remembered of it, which need not be so */
static struct dev {
	const char *name;
	int index, sock;
	bool bare;			/* nothing was set up since all was deleted */
	int other;			/* the kind of its root, if it is no one of ours, or -1 */
	__u32 major;			/* its handle */
	unsigned int classes;		/* bits: those that it has */
	struct slot {
		__u32 handle;	/* 0: not known */
		int kind;		/* of ours, or -1: there is none */
	} slots[SLOTS];
} devs[DEVS_MAX];
static unsigned int ndevs;

static struct counts {
	unsigned long long sent, accepted;
} by_sort[SORTS], by_mutations[MUTATIONS + 1];
static unsigned long long by_error[ERRORS], unanswered, frames, checks;
static struct request request;
static struct attr *attrs;		/* of the message that is being made */
static unsigned long long users[KINDS_MAX];	/* of the modules, at the beginning */

/* Where things are */

static void forget(struct dev *d)
{
	for (struct slot *s = d->slots; s < d->slots + SLOTS; s++)
		*s = (struct slot){ .kind = -1 };
	d->other = -1;
	d->major = 0;
	d->classes = 0;
}

static __u32 parent_of(const struct dev *d, unsigned int slot)
{
	if (!slot)
		return TC_H_ROOT;
	return (d->major && chance(95) ? d->major : OTHERS(below(3))) | slot;
}

/* 0 is the root. */
static unsigned int choose_slot(const struct dev *d)
{
	unsigned int slot;

	if (chance(5))
		return below(SLOTS);
	if (!d->classes || chance(10))
		return 0;
	do
		slot = below(SLOTS);
	while (!(d->classes & 1 << slot));
	return slot;
}

static __u32 some_handle(const struct dev *d)
{
	const struct slot *s;

	for (int i = 0; i < 4; i++) {
		s = &d->slots[below(SLOTS)];
		if (s->kind >= 0 && s->handle)
			return s->handle;
	}
	switch (below(8)) {
	case 0:
		return 0;
	case 1:
		return OTHERS(below(3));
	case 2:
		return OURS(below(HANDLES));
	default:
		return d->slots[0].handle | d->major;
	}
}

static __u32 some_class(const struct dev *d)
{
	static const __u32 minors[] = { 0, 1, 2, 3, 4, 0x4000, 0x4002, 0x8000, 0x8001, 0xffff };

	return some_handle(d) | minors[below(ARRAY_SIZE(minors))];
}

/* Good requests */

static void add_other_options(int other)
{
	static const struct tc_prio_qopt prio = {
		3, { 1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1 },
	};
	static const struct tc_htb_glob htb = { .version = 3, .rate2quantum = 10, .defcls = 1 };
	struct tc_netem_qopt netem = { .limit = 1000, .duplicate = chance(30) ? 1U << 30 : 0 };
	struct tc_tbf_qopt tbf = {
		.rate = { .rate = 1000 << below(20), .linklayer = TC_LINKLAYER_ETHERNET },
		.limit = 1 << (10 + below(10)), .buffer = 100000,
	};
	struct attr *nest;

	switch (other) {
	case PRIO:
		add(&attrs, TCA_OPTIONS, &prio, sizeof(prio));
		break;
	case HTB:
		nest = add(&attrs, TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
		add(&nest->child, TCA_HTB_INIT, &htb, sizeof(htb));
		break;
	case TBF:
		nest = add(&attrs, TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
		add(&nest->child, TCA_TBF_PARMS, &tbf, sizeof(tbf));
		add_u32(&nest->child, TCA_TBF_BURST, 2000 + below(100000));
		break;
	case NETEM:
		add(&attrs, TCA_OPTIONS, &netem, sizeof(netem));
		break;
	}
}

/* What any qdisc may have beside its options */
static void add_common(void)
{
	struct tc_sizespec spec = { .cell_log = below(12), .size_log = below(12), .tsize = 4 };
	static const struct tc_estimator estimator = { .interval = -2, .ewma_log = 1 };
	__u16 sizes[4] = { 1, 2, below(100), 3 };
	struct attr *nest;

	if (chance(4))
		add(&attrs, TCA_RATE, &estimator, sizeof(estimator));
	if (chance(4)) {
		nest = add(&attrs, TCA_STAB | NLA_F_NESTED, NULL, 0);
		add(&nest->child, TCA_STAB_BASE, &spec, sizeof(spec));
		add(&nest->child, TCA_STAB_DATA, sizes, sizeof(sizes));
	}
	if (chance(1))
		add_u32(&attrs, TCA_INGRESS_BLOCK, below(3));
}

static void make_ours(struct dev *d, int kind, unsigned int slot, bool exists)
{
	request.t.tcm_parent = parent_of(d, slot);
	add_text(&attrs, TCA_KIND, kinds[kind].name);
	add_options(&attrs, &kinds[kind], exists);
	add_common();
}

static void make_other(int other)
{
	if (other == INGRESS || other == CLSACT) {
		request.t.tcm_parent = TC_H_INGRESS;
		request.t.tcm_handle = TC_H_INGRESS & TC_H_MAJ_MASK;
	} else {
		request.t.tcm_parent = TC_H_ROOT;
		request.t.tcm_handle = OTHERS(below(3));
	}
	add_text(&attrs, TCA_KIND, other_names[other]);
	add_other_options(other);
}

static void make_change(struct dev *d)
{
	unsigned int slot = choose_slot(d);
	struct slot *s = &d->slots[slot];

	make_ours(d, s->kind >= 0 ? s->kind : (int)below(nkinds), slot, true);
	request.t.tcm_handle = chance(70) ? s->handle : 0;
}

static void make_class(struct dev *d)
{
	struct tc_htb_opt htb = {
		.rate.rate = 1000 << below(20), .ceil.rate = 1000 << below(24),
		.buffer = 1000, .cbuffer = 1000, .quantum = 1514,
	};
	struct attr *nest;

	request.t.tcm_parent = chance(80) ? d->major : some_handle(d);
	request.t.tcm_handle = chance(80) ? d->major | (1 + below(5)) : some_class(d);
	if (d->other == HTB || chance(10)) {
		nest = add(&attrs, TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
		add(&nest->child, TCA_HTB_PARMS, &htb, sizeof(htb));
		add_text(&attrs, TCA_KIND, "htb");
	} else {
		nest = add(&attrs, TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
		add_u32(&nest->child, TCA_DRR_QUANTUM, 1 + below(3000));
		add_text(&attrs, TCA_KIND, "drr");
	}
}

static __u32 some_info(void)
{
	static const __u16 protocols[] = { ETH_P_ALL, ETH_P_IP, ETH_P_IPV6, 0 };

	return (1 + below(4)) << 16 | htons(protocols[below(ARRAY_SIZE(protocols))]);
}

static void make_filter(struct dev *d)
{
	request.t.tcm_parent = some_handle(d);
	request.t.tcm_handle = add_filter(&attrs, chance(90) ? some_class(d) : edge(), true);
	if (chance(10))
		request.t.tcm_handle = below(4);
	request.t.tcm_info = some_info();
}

/* A request that is good by itself; @d is the interface, and @sort what is wanted. */
static void make(struct dev *d, int sort)
{
	static const int flags[SORTS] = {
		[ADD] = NLM_F_CREATE | NLM_F_EXCL, [REPLACE] = NLM_F_CREATE | NLM_F_REPLACE,
		[GRAFT] = NLM_F_CREATE | NLM_F_REPLACE, [CLASS] = NLM_F_CREATE,
		[FILTER] = NLM_F_CREATE,
	};
	struct slot *s = &d->slots[below(SLOTS)];

	used = 0;
	attrs = NULL;
	request.n = (struct nlmsghdr){
		.nlmsg_type = sorts[sort].type,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags[sort],
		.nlmsg_seq = 1,
	};
	request.t = (struct tcmsg){ .tcm_ifindex = d->index };
	switch (sort) {
	case ADD:
	case REPLACE:
		if (chance(d->bare ? 75 : 10)) {
			make_other(d->bare ? below(FQ_CODEL) : below(OTHER_KINDS));
			break;
		}
		make_ours(d, below(nkinds), choose_slot(d), false);
		request.t.tcm_handle = chance(70) ? OURS(below(HANDLES)) : 0;
		break;
	case CHANGE:
		make_change(d);
		break;
	case GRAFT:
		request.t.tcm_parent = parent_of(d, choose_slot(d));
		request.t.tcm_handle = chance(50) && s->handle ? s->handle : some_handle(d);
		if (s->kind >= 0 && chance(50))
			add_text(&attrs, TCA_KIND, kinds[s->kind].name);
		break;
	case DELETE:
		request.t.tcm_parent = parent_of(d, choose_slot(d));
		request.t.tcm_handle = chance(50) ? some_handle(d) : 0;
		break;
	case CLASS:
		make_class(d);
		break;
	case FILTER:
		make_filter(d);
		break;
	default:
		request.t.tcm_parent = chance(30) ? TC_H_ROOT : some_class(d);
		request.t.tcm_handle = chance(50) ? some_class(d) : 0;
		if (sorts[sort].type == RTM_DELTFILTER || sorts[sort].type == RTM_GETTFILTER)
			request.t.tcm_info = chance(50) ? some_info() : 0;
		if (sort == SHOW || sort == CLASS_SHOW || sort == FILTER_SHOW)
			request.n.nlmsg_flags |= chance(80) ? NLM_F_DUMP : 0;
		if (chance(10))
			add(&attrs, TCA_DUMP_INVISIBLE, NULL, 0);
	}
}

/* Mutations */

/* What points to it, if it is in the message still */
static struct attr **link_of(struct attr **list, const struct attr *a)
{
	struct attr **found;

	for (; *list; list = &(*list)->next) {
		if (*list == a)
			return list;
		found = link_of(&(*list)->child, a);
		if (found)
			return found;
	}
	return NULL;
}

static bool is_in(struct attr *a, const struct attr *what)
{
	return a == what || link_of(&a->child, what);
}

static void mutate_attr(void)
{
	struct attr *a = &pool[below(used)], **link = link_of(&attrs, a), *other, **to;
	__u64 value = edge();

	if (!link)
		return;
	switch (below(10)) {
	case 0:				/* none */
		*link = a->next;
		break;
	case 1:				/* twice, and maybe not alike */
		other = add(&attrs, a->type, a->data, a->len);
		if (!other)
			return;
		other->child = a->child;
		if (a->len >= 4 && chance(50))
			memcpy(other->data, &value, 4);
		/* Beside it, not at the end of the message */
		for (to = &attrs; *to != other; to = &(*to)->next)
			;
		*to = NULL;
		other->next = a->next;
		a->next = other;
		break;
	case 2:				/* cut short */
		a->len = a->len ? below(a->len) : 0;
		a->child = NULL;
		break;
	case 3:				/* too long */
		value = a->len + 1 + below(chance(80) ? 12 : DATA_MAX - a->len);
		if (value > DATA_MAX)
			return;
		junk(a->data + a->len, value - a->len);
		a->len = value;
		break;
	case 4:				/* says another length than it has */
		a->lie = chance(50) ? (int)below(9) - 4 : (int)below(1 << 17) - (1 << 16);
		break;
	case 5:				/* in itself, or in another one */
		other = chance(50) ? a : &pool[below(used)];
		to = link_of(&attrs, other);
		if (!to || (a != other && is_in(a, other)))
			return;
		if (a == other) {
			other = add(&attrs, a->type, NULL, 0);
			if (!other)
				return;
			for (to = &attrs; *to != other; to = &(*to)->next)
				;
			*to = NULL;
			other->next = a->next;
			a->next = NULL;
			other->child = a;
			*link_of(&attrs, a) = other;
			break;
		}
		*link = a->next;
		a->next = other->child;
		other->child = a;
		break;
	case 6:				/* flags */
		a->type ^= chance(50) ? NLA_F_NESTED : NLA_F_NET_BYTEORDER;
		break;
	case 7:				/* another one's number */
		a->type = chance(80) ? below(40) | (a->type & NLA_F_NESTED) : number();
		break;
	case 8:				/* another value */
		if (a->len)
			memcpy(a->data, &value, a->len < sizeof(value) ? a->len : sizeof(value));
		break;
	case 9:
		if (a->len)
			a->data[below(a->len)] ^= 1 << below(8);
		break;
	}
}

static void mutate_head(void)
{
	static const __u16 flags[] = {
		NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_APPEND, NLM_F_DUMP, NLM_F_ECHO,
	};
	__u8 *t = (__u8 *)&request.t;

	switch (below(8)) {
	case 0:
		request.n.nlmsg_flags ^= flags[below(ARRAY_SIZE(flags))];
		break;
	case 1:
		request.n.nlmsg_type = sorts[below(SORTS)].type;
		break;
	case 2:
		request.t.tcm_handle = chance(50) ? edge() : some_class(&devs[below(ndevs)]);
		break;
	case 3:
		request.t.tcm_parent = chance(50) ? edge() : some_class(&devs[below(ndevs)]);
		break;
	case 4:
		request.t.tcm_ifindex = chance(50) ? devs[below(ndevs)].index : (int)edge();
		break;
	case 5:
		request.t.tcm_info = chance(50) ? some_info() : edge();
		break;
	default:
		t[below(sizeof(request.t))] ^= 1 << below(8);
	}
}

/* Bytes of the whole message */
static void mutate_bytes(size_t *len)
{
	__u8 *bytes = (__u8 *)&request;

	if (chance(50)) {
		*len = sizeof(request.n) + below(*len - sizeof(request.n) + 1);
		request.n.nlmsg_len = chance(70) ? *len : request.n.nlmsg_len;
	} else {
		bytes[sizeof(request.n) + below(*len - sizeof(request.n))] ^= 1 << below(8);
	}
}

/* What happens in between */

static void send_frames(struct dev *d)
{
	__u8 frame[FRAME_MAX] = { 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45 };

	for (unsigned int n = 1 + below(16); n; n--) {
		unsigned int len = between(60, sizeof(frame));

		frame[17] = (len - 14) & 0xff;
		frame[16] = (len - 14) >> 8;
		frame[23] = chance(50) ? 6 : 17;
		frame[26] = 10;
		frame[30] = 10;
		frame[29] = 1 + below(4);
		frame[33] = 9;
		frame[35] = below(32);
		frame[37] = 80;
		frame[47] = chance(10) ? below(64) : 0x10;	/* TCP's flags */
		/* That there is no room is what queues are for. */
		frames += send(d->sock, frame, len, MSG_DONTWAIT) > 0;
	}
}

/* Remember what was done, by what was asked for. */
static void note(struct dev *d, int sort)
{
	/* What there are from the beginning */
	static const unsigned int classes[OTHER_KINDS] = {
		[PRIO] = 0xe, [TBF] = 2, [NETEM] = 2, [MQ] = 0x1e,
	};
	unsigned int slot = request.t.tcm_parent == TC_H_ROOT ? 0 : request.t.tcm_parent & 0xffff;
	unsigned int minor = request.t.tcm_handle & 0xffff;
	const char *name = attrs ? (char *)attrs->data : "";

	if (request.n.nlmsg_type == RTM_NEWTCLASS && minor < SLOTS)
		d->classes |= 1 << minor;
	if (request.n.nlmsg_type == RTM_DELTCLASS && minor < SLOTS)
		d->classes &= ~(1 << minor);
	if (request.n.nlmsg_type == RTM_DELQDISC && slot < SLOTS) {
		d->slots[slot].kind = -1;
		if (!slot)
			forget(d);
	}
	if ((sort != ADD && sort != REPLACE) || slot >= SLOTS)
		return;
	d->bare = false;
	for (int i = 0; i < INGRESS; i++) {
		if (slot || strcmp(other_names[i], name))
			continue;
		forget(d);
		d->other = i;
		d->major = request.t.tcm_handle & TC_H_MAJ_MASK;
		d->classes = classes[i];
		return;
	}
	for (unsigned int i = 0; i < nkinds; i++) {
		if (strcmp(kinds[i].name, name))
			continue;
		if (!slot)
			forget(d);
		d->slots[slot] = (struct slot){ request.t.tcm_handle & TC_H_MAJ_MASK, i };
	}
}

static void send_message(struct dev *d, int sort, int mutations)
{
	size_t len;
	int error;

	make(d, sort);
	for (int i = 0; i < mutations; i++) {
		if (used && chance(70))
			mutate_attr();
		else
			mutate_head();
	}
	finish(&request, attrs);
	len = request.n.nlmsg_len;
	if (mutations && chance(15))
		mutate_bytes(&len);
	error = ask(&request, len, NULL, NULL);
	by_sort[sort].sent++;
	by_mutations[mutations].sent++;
	if (error < 0) {
		unanswered++;
	} else if (!error) {
		by_sort[sort].accepted++;
		by_mutations[mutations].accepted++;
		note(d, sort);
	} else {
		by_error[error < ERRORS ? error : ERRORS - 1]++;
	}
}

static int choose_sort(const struct dev *d)
{
	bool without = (d->other == HTB || d->other == DRR) && !(d->classes & (d->classes - 1));
	unsigned int at = below(100);
	int sort = 0;

	if (without && chance(40))
		return CLASS;
	while (at >= sorts[sort].percent)
		at -= sorts[sort++].percent;
	/* Few have classes that are made. */
	return sort == CLASS && d->other != HTB && d->other != DRR && chance(80) ? CHANGE : sort;
}

/* Does it make sense? */

struct tree {
	int index;
	unsigned int n;
	struct told all[64];
};

static void take_qdisc(const struct nlmsghdr *n, void *arg)
{
	struct tree *tree = arg;

	if (tree->n == ARRAY_SIZE(tree->all))
		errx(1, "more than %zu qdiscs on an interface", ARRAY_SIZE(tree->all));
	tree->n += read_qdisc(n, tree->index, &tree->all[tree->n]);
}

static void count_message(const struct nlmsghdr *n, void *arg)
{
	unsigned int *count = arg;

	*count += n->nlmsg_type >= RTM_BASE;
}

static void ask_for(int type, int flags, int index, __u32 parent,
		    void (*take)(const struct nlmsghdr *n, void *arg), void *arg)
{
	int error;

	used = 0;
	attrs = NULL;
	request.n = (struct nlmsghdr){
		.nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags,
	};
	request.t = (struct tcmsg){ .tcm_ifindex = index, .tcm_parent = parent };
	if (type == RTM_GETQDISC)
		add(&attrs, TCA_DUMP_INVISIBLE, NULL, 0);
	finish(&request, attrs);
	error = ask(&request, request.n.nlmsg_len, take, arg);
	/* To delete what is not there is refused. */
	if (error && flags == NLM_F_DUMP)
		errx(1, "request %d: %s", type, error < 0 ? "no answer" : strerror(error));
}

static bool is_ours(const struct told *q)
{
	for (unsigned int i = 0; i < nkinds; i++)
		if (!strcmp(q->kind, kinds[i].name))
			return true;
	return false;
}

static void look(const struct dev *d, struct tree *tree)
{
	tree->index = d->index;
	tree->n = 0;
	ask_for(RTM_GETQDISC, NLM_F_DUMP, d->index, 0, take_qdisc, tree);
}

/* Have these as many packets as their children? NULL if all have, or what is wrong */
static const char *disagreement(const struct tree *tree)
{
	static const char *const sums[] = { "prio", "drr", "tbf" };
	static char said[200];

	for (const struct told *q = tree->all; q < tree->all + tree->n; q++) {
		unsigned int qlen = 0;
		bool sum = false;

		if (is_ours(q) && !q->queue.qlen != !q->queue.backlog) {
			snprintf(said, sizeof(said), "%.15s %x: has %u packets of %u bytes",
				 q->kind, q->handle, q->queue.qlen, q->queue.backlog);
			return said;
		}
		for (unsigned int i = 0; i < ARRAY_SIZE(sums); i++)
			sum |= !strcmp(q->kind, sums[i]);
		if (!sum || !q->handle)
			continue;
		for (const struct told *c = tree->all; c < tree->all + tree->n; c++)
			if (c->parent != TC_H_ROOT && !((c->parent ^ q->handle) >> 16))
				qlen += c->queue.qlen;
		if (qlen != q->queue.qlen) {
			snprintf(said, sizeof(said), "%.15s %x: has %u packets, those below it %u",
				 q->kind, q->handle, q->queue.qlen, qlen);
			return said;
		}
	}
	return NULL;
}

static void set_up(const struct dev *d, bool up)
{
	struct ifreq ifr = {};

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", d->name);
	if (ioctl(d->sock, SIOCGIFFLAGS, &ifr))
		err(1, "%s", d->name);
	ifr.ifr_flags = up ? ifr.ifr_flags | IFF_UP : ifr.ifr_flags & ~IFF_UP;
	if (ioctl(d->sock, SIOCSIFFLAGS, &ifr))
		err(1, "%s", d->name);
}

static void check_empty(const struct dev *d)
{
	struct tree tree;

	look(d, &tree);
	for (const struct told *q = tree.all; q < tree.all + tree.n; q++)
		if (q->queue.qlen || q->queue.backlog)
			errx(1, "%s is down, and %s %x has %u packets of %u bytes", d->name,
			     q->kind, q->handle, q->queue.qlen, q->queue.backlog);
}

static void check_nothing_left(const struct dev *d)
{
	unsigned int left = 0;
	struct tree tree;

	look(d, &tree);
	for (const struct told *q = tree.all; q < tree.all + tree.n; q++)
		if (is_ours(q))
			errx(1, "all was deleted on %s, and there is %s %x", d->name, q->kind,
			     q->handle);
	ask_for(RTM_GETTCLASS, NLM_F_DUMP, d->index, 0, count_message, &left);
	ask_for(RTM_GETTFILTER, NLM_F_DUMP, d->index, TC_H_INGRESS, count_message, &left);
	if (left)
		errx(1, "all was deleted on %s, and there are %u classes and filters", d->name,
		     left);
}

static unsigned long long users_of(const struct kind *k)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/module/sch_%s/refcnt", k->name);
	return read_number(path);
}

static void delete_all(int index)
{
	ask_for(RTM_DELQDISC, 0, index, TC_H_INGRESS, NULL, NULL);
	ask_for(RTM_DELQDISC, 0, index, TC_H_ROOT, NULL, NULL);
}

static void check(void)
{
	const char *wrong;
	struct tree tree;
	struct dev *d;

	checks++;
	for (d = devs; d < devs + ndevs; d++) {
		/* Packets may leave between what is told of one and of another. */
		for (int i = 0; ; i++) {
			look(d, &tree);
			wrong = disagreement(&tree);
			if (!wrong)
				break;
			if (i == PATIENCE)
				errx(1, "%s: %s", d->name, wrong);
			usleep(1000);
		}
		set_up(d, false);
		check_empty(d);
		set_up(d, true);
		delete_all(d->index);
		check_nothing_left(d);
		forget(d);
		d->bare = true;
	}
	delete_all(index_of("lo"));	/* where mutations may have led */
	for (unsigned int i = 0; i < nkinds; i++) {
		for (int n = 0; users_of(&kinds[i]) != users[i]; n++) {
			if (n == PATIENCE)
				errx(1, "all was deleted, and sch_%s is used %llu times",
				     kinds[i].name, users_of(&kinds[i]) - users[i]);
			usleep(1000);
		}
	}
}

static void tell(unsigned long long first)
{
	unsigned long long sent = 0, accepted = 0;

	for (int i = 0; i < SORTS; i++) {
		sent += by_sort[i].sent;
		accepted += by_sort[i].accepted;
		printf("%s %llu of %llu, ", sorts[i].name, by_sort[i].accepted, by_sort[i].sent);
	}
	printf("\nmutated:");
	for (int i = 0; i <= MUTATIONS; i++)
		printf(" %d times %llu of %llu%s", i, by_mutations[i].accepted,
		       by_mutations[i].sent, i < MUTATIONS ? "," : "\n");
	printf("refused:");
	for (int i = 0; i < ERRORS; i++)
		if (by_error[i])
			printf(" %s %llu", strerrorname_np(i), by_error[i]);
	printf("\nmessages: seed %llu, %llu sent, %llu accepted, %llu unanswered, ", first, sent,
	       accepted, unanswered);
	printf("%llu frames, %llu checks\n", frames, checks);
}

static void open_dev(const char *name)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET };
	struct dev *d = &devs[ndevs++];
	int size = 8 << 20;

	if (ndevs > DEVS_MAX)
		errx(1, "more than %d interfaces", DEVS_MAX);
	*d = (struct dev){ .name = name, .index = index_of(name), .bare = true };
	forget(d);
	d->sock = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	at.sll_ifindex = d->index;
	if (d->sock < 0 || bind(d->sock, (struct sockaddr *)&at, sizeof(at)) ||
	    setsockopt(d->sock, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		err(1, "%s", name);
}

int main(int argc, char **argv)
{
	unsigned long long numbers[TABLE] = { 1, 10000, 500 };
	struct dev *d;

	read_table(read_options(argc, argv, numbers, open_dev));
	open_netlink();
	for (unsigned int i = 0; i < nkinds; i++)
		users[i] = users_of(&kinds[i]);
	setlinebuf(stdout);
	seed = numbers[SEED];
	for (unsigned long long n = 1; n <= numbers[COUNT]; n++) {
		d = &devs[below(ndevs)];
		send_message(d, choose_sort(d), below(2) ? 0 : 1 + below(MUTATIONS));
		if (chance(15))
			send_frames(d);
		if (n % numbers[EACH] == 0 || n == numbers[COUNT])
			check();
		if (n % PROGRESS == 0)
			printf("progress %llu of %llu\n", n, numbers[COUNT]);
	}
	tell(numbers[SEED]);
	return 0;
}
