// SPDX-License-Identifier: GPL-2.0
/*
 * A kind, unchanged, and all that may happen to a qdisc, as the input's bytes say; after each
 * operation what has to be true is checked.
 *
 * The module is compiled with the headers of the native kernel (vm/kernels.py), which is a program
 * of user space as this is, and linked with what that kernel has for it, from its own sources:
 * netlink attributes, rbtrees, the flow dissector, statistics. Headers of our own would be an
 * opinion about the kernel, and would have to follow it. What is left to write is in kernel.c:
 * packets, memory, the clock and the parent, which is what an input is to decide about.
 *
 * Whoever plays the kernel here is the test: the caller of a qdisc as the root, with packets that
 * come back from the driver, or as the leaf of a class, which counts what it is told, peeks, and
 * sleeps when it is told that the qdisc is empty.
 *
 *	input:	how the qdisc is made | operation, its arguments | operation, ...
 *
 * All that is read beyond the end of the input is 0.
 */
#include <linux/types.h>

/* Queues and hosts that the kind has examined in an operation, and in a loop: examined.h */
static u32 examined, examined_in_loop;

static void examine(u32 nth)
{
	examined++;
	if (examined_in_loop <= nth)
		examined_in_loop = nth + 1;
}

#define sf_examined	examine
#include KIND_SOURCE
#include "host.h"
#include "kernel.h"
#include "packet.h"

#define PASTE(a, b)	a ## b
#define OF_KIND(kind, name)	PASTE(kind, name)
#define OPTIONS		OF_KIND(KIND, _options)

#define HANDLE		0x80010000
#define OPTIONS_MOST	80
#define MESSAGE		4096
#define FLOWS		256	/* of which the input speaks by a byte */
#define REMEMBERED	4096

/* Queues and hosts that the kind may examine in a loop for a packet, and in all loops for one */
#define LOOP_MOST	128
#define EXAMINED_MOST	1024

struct fuzz_counts fuzz_counts;

/* What is told by a dump */
struct told {
	u64	value[OPTIONS_MOST];
};

static struct {
	/* Where operations come from: bytes, or if there are none random ones */
	const u8	*data;
	size_t		left;
	bool		random;
	u64		until;		/* packets have come */

	struct Qdisc	*sch;
	struct Qdisc	*root;		/* the same, or what it is the leaf of */
	struct netdev_queue queue;
	bool		refused;	/* packets that came, since options have changed */
	bool		disturbed;	/* packets may pass by others of their flow: bands.h */
	bool		asleep;		/* nobody asks for packets until the watchdog does */
	u8		verdict;	/* from which on those of filters are taken */
	bool		untracked;	/* by conntrack, so far */
	u32		place;		/* of a class, from which on others are told */
	u32		flood;		/* flows of which there was one packet each */
	u32		seq[FLOWS];
	struct sk_buff	*sent;		/* that may come back */
	struct sk_buff	*free;		/* what the qdisc has dropped */
	struct {
		u32	flow, number;
	} last[REMEMBERED];		/* of each flow, by its number: the packet sent last */
	u64		sent_bytes;	/* counted by the qdisc so far */
	u64		sent_packets;
	u64		uncaused;	/* drops that have no counter of their own */
	u32		checks;
} t;

/* The input */

static u8 byte(void)
{
	if (t.random)
		return get_random_u64() >> 32;
	if (!t.left)
		return 0;
	t.left--;
	return *t.data++;
}

static u32 word(u32 bytes)
{
	u32 value = 0;

	while (bytes--)
		value = value << 8 | byte();
	return value;
}

/* Something of any order of magnitude: the first byte, and then by how many bits it is shifted */
static u64 scaled(u32 bits)
{
	u64 value = byte();

	return value << byte() % bits;
}

static bool more(void)
{
	return t.random ? fuzz_counts.came < t.until : t.left;
}

/* How far it came: libFuzzer keeps what reaches another order of magnitude, as it does a line. */

enum quantity {
	PACKETS, BYTES, MEMORY, LENGTH, OWED, QUANTITIES
};

static u8 reached[QUANTITIES][65] __section("__libfuzzer_extra_counters");

static void reach(enum quantity what, u64 value)
{
	reached[what][fls64(value)] = 1;
}

/* Invariants */

static struct sf_sched *sched(void)
{
	return qdisc_priv(t.sch);
}

/* What the queue holds, as its packets tell */
struct sums {
	u32	packets;
	u32	bytes;
	u32	memory;
};

static void sum_packet(struct sums *sums, const struct sk_buff *skb)
{
	CHECK(packet_of(skb)->owner == QDISC);
	CHECK_EQUAL(sf_cb(skb)->truesize, skb->truesize);
	sums->packets++;
	sums->bytes += qdisc_pkt_len(skb);
	sums->memory += sf_cb(skb)->truesize;
}

/* Packets of a queue, which are as it says, and come as they have arrived if it is @sorted so */
static void sum_queue(struct sums *sums, const struct sf_queue *queue, bool sorted)
{
	struct sk_buff *skb = queue->head, *before = NULL;
	struct sums own = {};
	u32 i;

	for (i = 0; i < queue->qlen; i++) {
		CHECK(skb);
		CHECK(skb->prev == before);
		sum_packet(&own, skb);
		if (before && sorted)
			CHECK(sf_earlier(before, skb));
		before = skb;
		skb = skb->next;
	}
	if (queue->qlen) {
		CHECK(!skb);
		CHECK(queue->tail == before);
	}
	CHECK_EQUAL(queue->backlog, own.bytes);
	sums->packets += own.packets;
	sums->bytes += own.bytes;
	sums->memory += own.memory;
}

static u32 count_tags(const struct sf_table *table)
{
	u32 i, count = 0;

	for (i = 0; i < table->sets * SF_WAYS; i++)
		count += !!(table->tags[i / SF_WAYS] & sf_tag_at(0xff, i % SF_WAYS));
	return count;
}

/* What a flow or a queue may send of its turn: nobody is given more than one, or owes but some. */
static void check_deficit(s32 deficit, s32 quantum_most)
{
	CHECK(deficit <= quantum_most);
	CHECK(deficit >= -SF_TURNS_OWED * quantum_most);
	reach(OWED, max(-deficit, 0));
}

/* Options */

struct request {
	union {
		struct nlattr nest;
		u8	bytes[MESSAGE];
	};
	u64		value[OPTIONS_MOST];	/* of each attribute that is asked for */
	bool		asked[OPTIONS_MOST];
	bool		mangled;
};

static const struct sf_option *row_of(u32 attr)
{
	u32 i;

	for (i = 0; i < OPTIONS.count; i++)
		if (OPTIONS.rows[i].attr == attr)
			return &OPTIONS.rows[i];
	return NULL;
}

static void put_attribute(struct request *r, u16 type, const void *value, u16 len)
{
	u32 at = r->nest.nla_len;
	struct nlattr *attr = (struct nlattr *)(r->bytes + at);

	if (at + NLA_HDRLEN + NLA_ALIGN(len) > MESSAGE)
		return;
	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + len;
	memcpy(nla_data(attr), value, len);
	r->nest.nla_len = at + NLA_HDRLEN + NLA_ALIGN(len);
}

static void put_option(struct request *r, u32 attr, u64 value)
{
	const struct sf_option *row = row_of(attr);
	u32 value32 = value;

	if (row && row->policy.type == NLA_U64)
		put_attribute(r, attr, &value, sizeof(value));
	else
		put_attribute(r, attr, &value32, sizeof(value32));
	say("option %u: %llu\n", attr, value);
	if (!row)
		return;
	r->asked[attr] = true;
	r->value[attr] = row->policy.type == NLA_U64 ? value :
			 row->policy.type == NLA_S32 ? (s64)(s32)value32 : value32;
}

#ifdef _SF_POLICY_H
#include "groups.h"
#else
#include "bands.h"
#endif

/* What is looked at whenever something has been done, however large the tables are */
static void check(void)
{
	const struct Qdisc *sch = t.sch, *parent = kernel.parent;
	const struct sf_sched *s = sched();
	struct sk_buff *skb;
	u32 outside = 0;

	skb_queue_walk(&sch->gso_skb, skb) {
		CHECK(packet_of(skb)->owner == QDISC);
		outside++;
	}
	CHECK_EQUAL(outside, skb_queue_len(&sch->gso_skb));
	/* All locks that keep bottom halves out are free again. */
	CHECK(!preempt_count());
	CHECK_EQUAL(sch->q.qlen, s->held + outside);
	CHECK(s->held <= s->limit);
	CHECK(s->memory <= s->memory_limit);
	CHECK(s->memory <= s->memory_peak || !s->held);
	CHECK(kernel.alive == sch->q.qlen + !!t.sent);
	CHECK_EQUAL(u64_stats_read(&sch->bstats.packets), t.sent_packets);
	CHECK_EQUAL(u64_stats_read(&sch->bstats.bytes), t.sent_bytes);
	if (t.asleep)
		CHECK(kernel.wake_at && kernel.wake_at <= max(s->shaper.next, kernel.now));
	if (!parent)
		return;
	CHECK_EQUAL(parent->q.qlen, sch->q.qlen);
	CHECK_EQUAL(parent->qstats.backlog, sch->qstats.backlog);
	CHECK_EQUAL(kernel.parent_active, sch->q.qlen > 0);
}

/* All there is to look at, after an operation */
static void check_all(void)
{
	const struct Qdisc *sch = t.sch;
	const struct sf_sched *s = sched();
	struct sums sums = {};
	struct packet *packet;
	struct sk_buff *skb;
	u32 inside = 0, bytes = 0;

	list_for_each_entry(packet, &kernel.packets, all) {
		if (packet->owner != QDISC)
			continue;
		inside++;
		bytes += qdisc_pkt_len(&packet->skb);
	}
	CHECK_EQUAL(sch->q.qlen, inside);
	CHECK_EQUAL(sch->qstats.backlog, bytes);

	reach(PACKETS, sch->q.qlen);
	reach(BYTES, sch->qstats.backlog);
	reach(MEMORY, s->memory);
	check_kind(&sums);
	CHECK_EQUAL(s->held, sums.packets);
	CHECK_EQUAL(s->memory, sums.memory);
	skb_queue_walk(&sch->gso_skb, skb)
		sums.bytes += qdisc_pkt_len(skb);
	CHECK_EQUAL(sch->qstats.backlog, sums.bytes);
	CHECK_EQUAL(sch->qstats.drops, (u32)(check_causes() + kernel.unsplit + t.uncaused));
}

/* Drops, and what else is freed in an operation */

static void begin(bool rtnl)
{
	kernel.freed = 0;
	kernel.freed_later = 0;
	kernel.told_empty = false;
	kernel.rtnl = rtnl;
	examined = 0;
	examined_in_loop = 0;
	fuzz_counts.operations++;
}

/* Free what is on such a list; how many that were. */
static u32 free_all(struct sk_buff **list)
{
	struct sk_buff *skb;
	u32 count = 0;

	while ((skb = *list)) {
		*list = skb->next;
		CHECK(packet_of(skb)->owner == QDISC);
		packet_free(packet_of(skb));
		count++;
	}
	fuzz_counts.dropped += count;
	return count;
}

/* What the kind has examined while it took or gave packets, of which so many were dropped */
static void check_examined(u32 drops)
{
	u32 each = examined / (1 + drops);

	CHECK(examined_in_loop <= LOOP_MOST);
	CHECK(each <= EXAMINED_MOST);
	fuzz_counts.in_loop = max(fuzz_counts.in_loop, examined_in_loop);
	fuzz_counts.examined = max(fuzz_counts.examined, each);
}

/* Operations */

/* The class of the parent is put to sleep if the qdisc is empty. */
static void dequeued(const struct sk_buff *skb)
{
	struct Qdisc *parent = kernel.parent;

	if (!parent)
		return;
	parent->q.qlen--;
	parent->qstats.backlog -= qdisc_pkt_len(skb);
	if (!t.sch->q.qlen)
		kernel.parent_active = false;
}

/* A packet leaves the qdisc's own queues, to be sent or to be parked. */
static void left(struct sk_buff *skb)
{
	struct packet *packet = packet_of(skb);
	u32 at = packet->flow % REMEMBERED;

	say("  leaves: flow %x, number %u, %u bytes\n", packet->flow, packet->number,
	    qdisc_pkt_len(skb));
	CHECK(packet->owner == QDISC);
	CHECK(!skb->next || skb_queue_len(&t.sch->gso_skb));
	reach(LENGTH, qdisc_pkt_len(skb));
	t.sent_bytes += qdisc_pkt_len(skb);
	t.sent_packets += sf_pkt_segs(skb);
	if (!packet->flow || !keeps_order(packet))
		return;
	if (t.last[at].flow == packet->flow)
		CHECK(t.last[at].number < packet->number);
	t.last[at].flow = packet->flow;
	t.last[at].number = packet->number;
}

/* What the qdisc has dropped, instead of sending it */
static void dropped_at_dequeue(u32 drops)
{
	u32 count = kernel.freed;

	fuzz_counts.dropped += kernel.freed;
	count += free_all(&t.root->to_free);
	CHECK_EQUAL(t.sch->qstats.drops - drops, count);
	check_examined(count);
	CHECK(!kernel.told_empty);
}

static void nothing_dequeued(void)
{
	if (!t.sch->q.qlen)
		return;
	/* Else its caller would never ask again. */
	CHECK(kernel.wake_at > kernel.now);
	t.asleep = true;
}

static bool dequeue(void)
{
	bool parked = skb_queue_len(&t.sch->gso_skb);
	u32 drops = t.sch->qstats.drops;
	struct sk_buff *skb;

	begin(false);
	if (t.sent) {
		packet_free(packet_of(t.sent));
		t.sent = NULL;
		fuzz_counts.sent++;
	}
	skb = qdisc_dequeue_peeked(t.sch);
	dropped_at_dequeue(drops);
	if (!skb) {
		nothing_dequeued();
		check();
		return false;
	}
	if (!parked)
		left(skb);
	t.asleep = false;
	packet_of(skb)->owner = OUTSIDE;
	t.sent = skb;
	dequeued(skb);
	check();
	return true;
}

/* Only what has a parent is peeked at. */
static void peek(void)
{
	bool parked = skb_queue_len(&t.sch->gso_skb);
	u32 drops = t.sch->qstats.drops, qlen = t.sch->q.qlen;
	struct sk_buff *skb;

	if (!kernel.parent)
		return;
	begin(false);
	skb = t.sch->ops->peek(t.sch);
	dropped_at_dequeue(drops);
	if (skb) {
		CHECK_EQUAL(t.sch->q.qlen, qlen - (t.sch->qstats.drops - drops));
		if (!parked)
			left(skb);
		CHECK(t.sch->ops->peek(t.sch) == skb);
	} else {
		nothing_dequeued();
	}
	check();
}

/* The driver has no room: the root has it back. */
static void requeue(void)
{
	struct sk_buff *skb = t.sent;

	if (kernel.parent || !skb)
		return;
	begin(false);
	t.sent = NULL;
	packet_of(skb)->owner = QDISC;
	__skb_queue_tail(&t.sch->gso_skb, skb);
	t.sch->qstats.requeues++;
	qdisc_qstats_backlog_inc(t.sch, skb);
	qdisc_qlen_inc(t.sch);
	check();
}

/* Of what came, what is still in the qdisc, and what is of its flow and came before */
static u32 kept(u32 from, u32 to)
{
	struct packet *packet;
	u32 count = 0;

	list_for_each_entry_reverse(packet, &kernel.packets, all) {
		if (packet->number - from > to - from)
			break;
		count += packet->owner == QDISC;
	}
	return count;
}

static void check_result(int ret, u32 stayed, u32 qlen)
{
	u32 code = ret & NET_XMIT_MASK;

	if (ret & (__NET_XMIT_STOLEN | __NET_XMIT_BYPASS)) {
		CHECK(!stayed);
		CHECK(code == NET_XMIT_SUCCESS);
		return;
	}
	CHECK(code == NET_XMIT_SUCCESS || code == NET_XMIT_DROP || code == NET_XMIT_CN);
	CHECK_EQUAL(code == NET_XMIT_DROP, !stayed);
	/* None but what came is there: it has replaced all others. */
	if (stayed && stayed == t.sch->q.qlen && qlen)
		CHECK(code == NET_XMIT_CN);
}

static void enqueue(struct packet *packet)
{
	struct sk_buff *skb = &packet->skb;
	u32 len = qdisc_pkt_len(skb), qlen = t.sch->q.qlen, drops = t.sch->qstats.drops, stayed;
	bool gso = skb_is_gso(skb), filtered = kernel.filter, again = t.asleep;
	u32 first = packet->number, flow = packet->flow, segments, count;
	int ret;

	begin(false);
	packet->owner = QDISC;
	ret = t.sch->enqueue(skb, t.sch, &t.free);
	say("comes: flow %x, number %u, %u bytes, gso %u: %d, %u waiting\n", flow, first, len,
	    gso, ret, t.sch->q.qlen);
	/* What was split is gone, and its segments are there instead. */
	segments = kernel.numbers - first;
	CHECK_EQUAL(kernel.freed, segments > 0);
	if (segments)
		CHECK(gso);
	fuzz_counts.came += segments ?: 1;
	count = free_all(&t.free);
	stayed = kept(first, kernel.numbers);
	check_result(ret, stayed, qlen);
	if (ret & __NET_XMIT_STOLEN)
		drops--;
	else if (ret & __NET_XMIT_BYPASS)
		t.uncaused++;
	if (ret & (__NET_XMIT_STOLEN | __NET_XMIT_BYPASS))
		CHECK(filtered && count == 1);
	CHECK_EQUAL(t.sch->qstats.drops - drops, count);
	check_examined(count);
	t.refused |= !stayed;
	if (kernel.parent && ret == NET_XMIT_SUCCESS) {
		CHECK(t.sch->q.qlen);
		kernel.parent_active = true;
		kernel.parent->q.qlen++;
		kernel.parent->qstats.backlog += len;
	}
	t.asleep = again && t.sch->q.qlen;
	check();
}

/* Requests */

/* A value for an option, mostly a good one */
static u64 choose(const struct sf_option *row)
{
	bool is_signed = row && row->policy.type == NLA_S32;
	u64 low = 0, most = U32_MAX, value;
	u8 how = byte();

	/* Else most of them would make it a qdisc that nobody has. */
	if (row && t.random && how & 0x40)
		return row->value;
	if (row && is_signed) {
		low = row->policy.range_signed->min;
		most = row->policy.range_signed->max;
	} else if (row) {
		low = row->policy.range->min;
		most = row->policy.range->max;
	}
	if (row && row->power && how & 0x80)
		return 1ULL << how % 32;
	switch (how % 16) {
	case 0:
		return low;
	case 1:
		return most;
	case 2:
		return low - 1;
	case 3:
		return most + 1;
	case 4:
		return 0;
	case 5:
		return row ? row->value : 0;
	case 6:
		return row && row->least ? row->least - (how >> 4 & 1) : low + (how >> 4);
	case 7:
	case 8:
		return low + word(2);
	case 9:
		return word(4);
	case 10:
		value = word(4);
		return value << 32 | word(4);
	default:
		if (most - low < 256)
			return low + byte() % (most - low + 1);
		return low + scaled(24);
	}
}

static void ask(struct request *r, u32 count)
{
	u64 junk = 0x0102030405060708ULL;
	u32 attr;
	u8 how;

	while (count--) {
		attr = 1 + byte() % (OPTIONS.max + 2);
		if (attr != OPTIONS.pad)
			put_option(r, attr, choose(row_of(attr)));
	}
	how = byte();
	if (how < 240)
		return;
	r->mangled = true;
	switch (how % 6) {
	case 0:
		r->nest.nla_type &= ~NLA_F_NESTED;
		break;
	case 1:
		attr = 1 + byte() % OPTIONS.max;
		put_attribute(r, attr, &junk, byte() % 9);
		break;
	case 2:
		put_attribute(r, word(2), &junk, 4);
		break;
	case 3:
		if (r->nest.nla_len > NLA_HDRLEN + 4)
			r->nest.nla_len -= 1 + byte() % 7;
		break;
	case 4:
		put_attribute(r, OPTIONS.pad, &junk, byte() % 9);
		break;
	case 5:
		how = byte();
		if (r->nest.nla_len > NLA_HDRLEN)
			r->bytes[NLA_HDRLEN + byte() % (r->nest.nla_len - NLA_HDRLEN)] ^= how;
		break;
	}
}

/*
 * Some of those that have few values, at once: they decide what is done, and there are states that
 * only several of them together lead to.
 */
static void ask_modes(struct request *r)
{
	const struct sf_option *row;
	const struct netlink_range_validation *range;
	u32 values;
	u8 how;

	for (row = OPTIONS.rows; row < OPTIONS.rows + OPTIONS.count; row++) {
		range = row->policy.range;
		if (row->policy.type != NLA_U32 || row->fixed || range->max - range->min > 3)
			continue;
		values = range->max - range->min + 1;
		how = byte();
		if (how & 1)
			put_option(r, row->attr, range->min + (how >> 1) % values);
	}
}

/* Bits of the byte that says how options are asked for */
enum {
	ANY		= 7,		/* so many, of all */
	MODES		= 8,
	NO_MORE		= 0xc0,		/* memory, if both are set */
};

static void ask_some(struct request *r, u8 how)
{
	if (how & MODES)
		ask_modes(r);
	ask(r, how & ANY);
}

static struct request *request_new(void)
{
	struct request *r = calloc(1, sizeof(*r));

	r->nest.nla_type = TCA_OPTIONS | NLA_F_NESTED;
	r->nest.nla_len = NLA_HDRLEN;
	return r;
}

/* What the qdisc tells of its options */
static void tell(struct told *told)
{
	struct packet *message = message_new(MESSAGE);
	const struct nlattr *nest, *attr;
	const struct sf_option *row;
	int left;

	memset(told, 0, sizeof(*told));
	CHECK(t.sch->ops->dump(t.sch, &message->skb) >= 0);
	nest = (const struct nlattr *)message->skb.data;
	CHECK_EQUAL(nla_type(nest), TCA_OPTIONS);
	CHECK_EQUAL(nest->nla_len, message->skb.len);
	nla_for_each_nested(attr, nest, left) {
		row = row_of(nla_type(attr));
		if (row)
			told->value[row->attr] = sf_option_get(row, attr);
		else
			CHECK_EQUAL(nla_type(attr), OPTIONS.pad);
	}
	packet_free(message);
}

/* After a request that was granted: those asked for are as they were asked for, others as before */
static void check_told(const struct told *was, const struct told *is, const struct request *r)
{
	u32 i;

	for (i = 1; i <= OPTIONS.max; i++) {
		if (!row_of(i) || r->mangled)
			continue;
		if (r->asked[i])
			CHECK_EQUAL(is->value[i], r->value[i]);
		else if (!implied(i, r->asked))
			CHECK_EQUAL(is->value[i], was->value[i]);
	}
}

static void change(void)
{
	struct netlink_ext_ack extack = {};
	struct request *r = request_new();
	u32 drops = t.sch->qstats.drops, blocks = kernel.blocks, qlen = t.sch->q.qlen;
	u32 most = all_examined(3);
	u8 how = byte();
	struct told was, is;
	int err;

	ask_some(r, how);
	begin(true);
	tell(&was);
	if ((how & NO_MORE) == NO_MORE)
		kernel.fail_in = 1 + byte() % 8;
	err = t.sch->ops->change(t.sch, &r->nest, &extack);
	tell(&is);
	say("options: %d\n", err);
	fuzz_counts.changes++;
	fuzz_counts.dropped += kernel.freed_later;
	CHECK_EQUAL(t.sch->qstats.drops - drops, kernel.freed_later);
	CHECK_EQUAL(qlen - t.sch->q.qlen, kernel.freed_later);
	CHECK(!kernel.freed);
	/* They are found, leave their hosts, and are put in order. */
	CHECK(examined <= most + EXAMINED_MOST * kernel.freed_later);
	if (err) {
		fuzz_counts.refused++;
		CHECK(err == -EINVAL || err == -EOPNOTSUPP || err == -ENOMEM || err == -ERANGE);
		CHECK(err == -ENOMEM || extack._msg);
		CHECK_EQUAL(kernel.blocks, blocks);
		CHECK(!memcmp(&was, &is, sizeof(was)));
		CHECK(!kernel.freed_later);
	} else {
		check_told(&was, &is, r);
		options_changed();
	}
	t.asleep = t.asleep && t.sch->q.qlen;
	free(r);
	check();
}

/* Dumps */

static void dump(void)
{
	u32 room = byte() < 64 ? byte() * 8 : MESSAGE;
	struct packet *message = message_new(room);
	struct gnet_dump d;
	int err;

	begin(true);
	err = t.sch->ops->dump(t.sch, &message->skb);
	CHECK(err >= 0 || (err == -EMSGSIZE && room < MESSAGE && !message->skb.len));
	if (gnet_stats_start_copy_compat(&message->skb, TCA_STATS2, TCA_STATS, TCA_XSTATS, NULL, &d,
					 TCA_PAD) >= 0 &&
	    t.sch->ops->dump_stats(t.sch, &d) >= 0)
		gnet_stats_finish_copy(&d);
	/* Where it does not fit, the core leaves that to gnet_stats_finish_copy(). */
	CHECK(message->skb.len <= room);
	packet_free(message);
	check();
}

struct walk {
	struct qdisc_walker w;
	u32	room;
	u32	stop_in;
	u32	listed;		/* classes, */
	u32	packets;	/* and what waits in them */
	u32	bytes;
};

static int tell_class(struct Qdisc *sch, unsigned long cl, struct qdisc_walker *w)
{
	struct walk *walk = container_of(w, struct walk, w);
	struct packet *message = message_new(walk->room);
	struct tcmsg tcm = { .tcm_handle = HANDLE };
	const struct sf_sched *s = sched();
	struct gnet_dump d;
	int err;

	if (walk->stop_in && !--walk->stop_in) {
		packet_free(message);
		return -EMSGSIZE;
	}
	err = sch->ops->cl_ops->dump(sch, cl, &message->skb, &tcm);
	if (err >= 0) {
		walk->listed++;
		walk->packets += s->told.type == TC_SF_CLASS_HOST ? 0 : s->told.qlen;
		walk->bytes += s->told.type == TC_SF_CLASS_HOST ? 0 : s->told.backlog;
		CHECK(tcm.tcm_handle > HANDLE);
		if (gnet_stats_start_copy_compat(&message->skb, TCA_STATS2, TCA_STATS, TCA_XSTATS,
						 NULL, &d, TCA_PAD) >= 0 &&
		    sch->ops->cl_ops->dump_stats(sch, cl, &d) >= 0)
			gnet_stats_finish_copy(&d);
	} else {
		CHECK(kernel.capable ? err == -EMSGSIZE && walk->room < MESSAGE : err == -EPERM);
	}
	packet_free(message);
	return err;
}

static void walk(void)
{
	const struct Qdisc_class_ops *ops = t.sch->ops->cl_ops;
	struct walk walk = { .room = MESSAGE };
	u8 how = byte();
	bool from_start = !(how & 8);

	begin(true);
	kernel.capable = !(how & 1) || how & 16;
	kernel.reader_capable = !(how & 1) || !(how & 16);
	if (how & 2)
		walk.room = byte() * 2;
	CHECK(!ops->leaf(t.sch, 1));
	CHECK(!ops->find(t.sch, HANDLE + 1));
	CHECK(!ops->tcf_block(t.sch, 1, NULL));
	CHECK(ops->tcf_block(t.sch, 0, NULL));
	ops->unbind_tcf(t.sch, ops->bind_tcf(t.sch, 0, HANDLE + 1));
	/* In parts, each of which goes on where the one before has ended, or another walk did */
	walk.w.count = from_start ? 0 : t.place;
	do {
		walk.stop_in = how & 4 ? 2 + how / 16 : 0;
		walk.w = (struct qdisc_walker) { .skip = walk.w.count, .fn = tell_class };
		ops->walk(t.sch, &walk.w);
	} while (walk.w.stop && walk.room == MESSAGE);
	t.place = walk.w.count / 2;
	if (how & 1)
		CHECK(!walk.listed && !walk.w.stop);
	else if (walk.room == MESSAGE && from_start)
		check_walk(walk.packets, walk.bytes);
	kernel.capable = true;
	kernel.reader_capable = true;
	check();
}

/* Qdiscs */

/* Lengths are others: with something added, or from a table, short or as long as they may be */
static struct qdisc_size_table *stab_new(u8 how)
{
	struct qdisc_size_table *stab = calloc(1, sizeof(*stab) + 4 * sizeof(u16));
	u32 i, most;

	stab->szopts.overhead = (s8)byte();
	if (how & 1)
		return stab;
	stab->szopts.tsize = 4;
	stab->szopts.cell_log = byte() % 12;
	/* Entries have 16 bits: with these 15 there are the lengths next to 2^31. */
	how = byte();
	stab->szopts.size_log = how & 0x80 ? 15 : how % 31;
	most = min(U16_MAX, INT_MAX >> stab->szopts.size_log);
	for (i = 0; i < 4; i++) {
		how = byte();
		stab->data[i] = how & 1 ? most >> how / 2 % 4 : how / 2;
	}
	return stab;
}

static struct Qdisc *qdisc_new(const struct Qdisc_ops *ops, u32 size)
{
	struct Qdisc *sch = aligned_alloc(SMP_CACHE_BYTES, ALIGN(sizeof(*sch) + size,
								 SMP_CACHE_BYTES));

	memset(sch, 0, sizeof(*sch) + size);
	__skb_queue_head_init(&sch->gso_skb);
	__skb_queue_head_init(&sch->skb_bad_txq);
	gnet_stats_basic_sync_init(&sch->bstats);
	sch->ops = ops;
	sch->dev_queue = &t.queue;
	refcount_set(&sch->refcnt, 1);
	return sch;
}

static void empty_list(struct sk_buff_head *list)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(list))) {
		packet_free(packet_of(skb));
		fuzz_counts.dropped++;
	}
}

/* As the core does it, and the parent that takes it back */
static void reset(void)
{
	struct Qdisc *sch = t.sch;
	u32 held = sched()->held, qlen = sch->q.qlen, backlog = sch->qstats.backlog;
	u32 most = all_examined(2);

	say("all is lost\n");
	begin(true);
	sch->ops->reset(sch);
	CHECK_EQUAL(kernel.freed_later, held);
	CHECK(!kernel.freed && !kernel.wake_at);
	CHECK(examined <= most);
	fuzz_counts.dropped += held;
	empty_list(&sch->gso_skb);
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
	if (kernel.parent)
		qdisc_tree_reduce_backlog(sch, qlen, backlog);
	t.asleep = false;
	was_reset();
}

/* The end of a qdisc; that of one whose init has failed need not be reset. */
static void destroy(bool is_reset)
{
	if (is_reset)
		reset();
	begin(true);
	if (t.sent) {
		packet_free(packet_of(t.sent));
		t.sent = NULL;
		fuzz_counts.sent++;
	}
	t.sch->ops->destroy(t.sch);
	CHECK_EQUAL(kernel.blocks, 0);
	CHECK_EQUAL(kernel.alive, 0);
	CHECK(!kernel.wake_at);
	free((void *)t.root->stab);
	free(t.sch);
	free(kernel.parent);
	kernel.parent = NULL;
	t.sch = NULL;
}

/* Bits of the bytes that say how */
enum {
	LEAF		= 1,
	DEQUEUE_DROPS	= 2,
	UNNAMED		= 4,
	STAB		= 8,
	NO_MEMORY	= 16,
	WRAP		= 32,
	LATE		= 64,
	DEFAULT		= 128,
};

enum {
	SHAPED		= 32,
	SMALL		= 64,
	SPECIAL		= 128,
};

/* A qdisc of the kind as a root, of which nothing has been sent */
static struct Qdisc *root_new(void)
{
	struct Qdisc *sch = qdisc_new(kernel.ops, kernel.ops->priv_size);

	begin(true);
	memset(t.last, 0, sizeof(t.last));
	t.sent_bytes = 0;
	t.sent_packets = 0;
	t.uncaused = 0;
	kernel.unsplit = 0;
	sch->enqueue = kernel.ops->enqueue;
	sch->dequeue = kernel.ops->dequeue;
	sch->handle = HANDLE;
	sch->parent = TC_H_ROOT;
	t.sch = sch;
	t.root = sch;
	return sch;
}

/* Let the device have it, or what it is the leaf of. */
static void attach(unsigned long jiffies_from)
{
	t.queue.dev = &device;
	t.queue.qdisc = t.root;
	t.queue.qdisc_sleeping = t.root;
	kernel.now = NSEC_PER_SEC;
	kernel_jiffies(jiffies_from);
}

/* Make one, or fail to. */
static bool create(void)
{
	struct netlink_ext_ack extack = {};
	struct request *r = request_new();
	u8 how = byte(), sizes = byte();
	struct Qdisc *sch;
	u32 i;
	int err;

	sch = root_new();
	if (how & UNNAMED)
		sch->handle = 0;
	if (how & LEAF) {
		kernel.parent = qdisc_new(NULL, 0);
		kernel.parent->flags = how & DEQUEUE_DROPS ? TCQ_F_DEQUEUE_DROPS : 0;
		kernel.parent_active = false;
		sch->parent = 0x10001;
		t.root = kernel.parent;
	}
	if (how & STAB)
		t.root->stab = stab_new(byte());
	attach(how & LATE ? U32_MAX - (u32)byte() * HZ : 1000);
	/* What they do when they are full is what is of interest: small tables, mostly. */
	for (i = 0; i < OPTIONS.count; i++)
		if (OPTIONS.rows[i].fixed)
			put_option(r, OPTIONS.rows[i].attr, 8 << (sizes % 32 < 28 ? sizes % 5 : 7));
	if (sizes & SHAPED)
		put_option(r, OF_KIND(KIND, _common).rate, 1 + scaled(20));
	if (sizes & SMALL)
		put_option(r, OF_KIND(KIND, _common).limit, 1 + byte());
	if (sizes & SPECIAL)
		ask_special(r, byte());
	if (!(how & DEFAULT))
		ask_some(r, byte());
	kernel.fail_in = how & NO_MEMORY ? byte() % 24 : 0;
	err = kernel.ops->init(sch, sizes == 255 ? NULL : &r->nest, &extack);
	free(r);
	kernel.fail_in = 0;
	fuzz_counts.made++;
	if (!err) {
		options_changed();
		if (how & WRAP)
			sched()->arrivals = -(u32)byte();
		check();
		return true;
	}
	CHECK(err == -ENOMEM || extack._msg);
	/* A default one is reset then. */
	destroy(sizes & 1);
	return false;
}

/* What comes to it */

/* What filters can say */
static const int verdicts[] = {
	TC_ACT_OK, TC_ACT_OK, TC_ACT_OK, TC_ACT_OK, TC_ACT_UNSPEC, TC_ACT_SHOT, TC_ACT_STOLEN,
	TC_ACT_QUEUED, TC_ACT_TRAP, TC_ACT_REDIRECT, TC_ACT_PIPE, TC_ACT_RECLASSIFY,
};

static const u32 classids[] = {
	HANDLE | 1, HANDLE | 2, HANDLE | 3, 0x12340001, 0x12350000, 0xffff0002, 2,
};

static const u32 lengths[] = {
	60, 64, 74, 98, 200, 512, 513, 526, 590, 1000, 1514, 1514, 1518, 9014, 0, 0,
};

enum {
	IS_GSO		= 1,
	IS_PAGES	= 2,
	TO_1		= 4,
	TO_2		= 8,
	IS_FAT		= 32,
	IS_CUT		= 64,
	IS_OLD		= 128,
};

static void send(const struct recipe *r, u8 more)
{
	struct packet *packet = make_packet(r);
	struct sk_buff *skb = &packet->skb;
	u32 i = r->flow + r->shape;

	packet->number = ++kernel.numbers;
	if (t.root->stab)
		qdisc_skb_cb(skb)->pkt_len = sf_stab_len(t.root->stab, qdisc_pkt_len(skb));
	if (more & (TO_1 | TO_2))
		skb->priority = HANDLE | (more & TO_1 ? 1 : 2);
	if (more & IS_FAT)
		skb->truesize <<= r->flow % 16;
	packet->filter = verdicts[t.verdict ? (t.verdict + i) % ARRAY_SIZE(verdicts) : 0];
	packet->classid = classids[(t.verdict + i / 3) % ARRAY_SIZE(classids)];
	packet->classed = more & (TO_1 | TO_2) || kernel.filter;
	if (t.untracked)
		skb->_nfct = 0;
	else if (kernel.tracked)
		skb->_nfct = (unsigned long)&t;
	enqueue(packet);
}

static struct recipe recipe(u32 flow, u8 *more)
{
	static const u8 flags[] = { 0x10, 0x02, 0x11, 0x14 };
	u8 shape = byte(), how = byte();
	struct recipe r = {
		.shape	= shape & 4 ? (shape >> 3 & 15) + (shape & 3) * 3 : shape & 3,
		.flow	= flow,
		.len	= lengths[how & 15],
		.flags	= flags[how >> 4 & 3],
		.ecn	= how >> 6,
		.linear	= 2048,
	};

	r.shape = r.shape % SHAPES;
	if (!r.len)
		r.len = 60 + word(2) % 1455;
	*more = shape & 0x80 ? byte() : 0;
	if (*more & IS_GSO) {
		r.gso_size = 8 + byte() * 6;
		r.len += r.gso_size * (1 + byte() % 45);
		r.len = min(r.len, 65535U);
		r.dodgy = how & 0x40;
	}
	if (*more & IS_PAGES)
		r.linear = ETH_HLEN + byte() % 80;
	if (*more & IS_CUT)
		r.cut = byte() | 1;
	return r;
}

/* A packet of one of a few flows */
static void one(void)
{
	u8 flow = byte(), more;
	struct recipe r = recipe(flow, &more);

	r.seq = t.seq[flow];
	if (more & IS_OLD)
		r.seq -= (u32)scaled(24);
	else
		t.seq[flow] += r.len - 40;
	send(&r, more);
}

/* Several of one flow, */
static void burst(void)
{
	u8 flow = byte(), count = byte(), more;
	struct recipe r = recipe(flow, &more);

	for (; count; count--) {
		r.seq = t.seq[flow];
		t.seq[flow] += r.len - 40;
		send(&r, more);
	}
}

/* or of as many flows as there are packets */
static void flood(void)
{
	u8 count = byte(), more;
	struct recipe r = recipe(0, &more);

	for (; count; count--) {
		r.flow = FLOWS + t.flood++ % 65536;
		r.seq = r.flow * 77777;
		send(&r, more);
	}
}

/* Time */

/* So much later; the watchdog is late, if it wanted to wake sooner. */
static void pass(u64 ns)
{
	bool wakes, sends;

	say("after %llu ns\n", ns);
	kernel_clock(ns);
	wakes = kernel.wake_at && kernel.wake_at <= kernel.now;
	if (!wakes)
		return;
	kernel.wake_at = 0;
	t.asleep = false;
	sends = dequeue();
	/* It may have been set for what is gone since; then it is set again. */
	CHECK(sends || !t.sch->q.qlen || sched()->shaper.next > kernel.now);
}

static void clock_step(void)
{
	u8 how = byte();

	pass((u64)(byte() + 1) << how % 40);
}

static void wake(void)
{
	if (kernel.wake_at > kernel.now)
		pass(kernel.wake_at - kernel.now + scaled(16));
}

/* The driver asks for a packet, as soon as there may be one, and then time passes. */
static void ask_for_one(u64 gap)
{
	if (t.asleep)
		wake();
	else
		dequeue();
	pass(gap);
}

/* No machine is that old: a clock of the kernel's goes to 2^63 ns. */
static bool too_old(void)
{
	return kernel.now > BIT_ULL(61);
}

static void drain(void)
{
	u8 count = byte();
	u64 gap = scaled(24);

	for (; count && !too_old(); count--)
		ask_for_one(gap);
}

/* One flow's packets, as a call has them: it does not wait and grows old. */
static void stream(void)
{
	u8 flow = byte(), count = byte(), more;
	u64 gap = scaled(24);
	struct recipe r = recipe(flow, &more);

	for (; count && !too_old(); count--) {
		r.seq = t.seq[flow];
		t.seq[flow] += r.len - 40;
		send(&r, more);
		ask_for_one(gap);
	}
}

/* What else may be */
static void surround(void)
{
	u8 how = byte();

	kernel.tracked = how & 1;
	t.untracked = how & 2;
	kernel.no_segments = how >> 2 & 3;
	kernel.filter = how & 16 ? (struct tcf_proto *)&t : NULL;
	begin(true);
	change_filters(kernel.filter);
	CHECK(!kernel.filter || !(t.sch->flags & TCQ_F_CAN_BYPASS));
	t.verdict = byte();
	kernel.fail_in = how & 32 ? byte() : 0;
}

static void remake(void)
{
	destroy(true);
	while (!create())
		;
}

/* Whether something happens that random operations are to do no more often than in 1 of @n */
static bool seldom(u32 n)
{
	return !t.random || !(get_random_u32() % n);
}

static void operation(void)
{
	u32 each;

	if (too_old())
		remake();
	switch (byte() % 32) {
	case 0 ... 9:
		one();
		break;
	case 10:
		if (seldom(4))
			burst();
		break;
	case 11:
		if (seldom(16))
			flood();
		break;
	case 12:
		drain();
		break;
	case 13 ... 18:
		dequeue();
		break;
	case 19:
		peek();
		break;
	case 20:
		requeue();
		break;
	case 21:
		clock_step();
		break;
	case 22:
		if (seldom(16))
			stream();
		break;
	case 23:
		wake();
		break;
	case 24 ... 26:
		if (seldom(16))
			change();
		break;
	case 27:
		if (seldom(32))
			dump();
		break;
	case 28:
		if (seldom(64))
			walk();
		break;
	case 29:
		if (seldom(256))
			reset();
		break;
	case 30:
		if (seldom(16))
			surround();
		break;
	case 31:
		if (seldom(256))
			remake();
		break;
	}
	/* The more there is to look at, the less often */
	each = (sched()->table.sets / 16 + sched()->held / 16 + 1) * (t.random ? 32 : 1);
	if (!(++t.checks % each))
		check_all();
}

#ifdef _SF_POLICY_H
#include "link.h"
#include "stale.h"
#endif

static void begin_all(void)
{
	unsigned int i;

	kernel_begin();
	CHECK(!init_module());
	memset(&t, 0, sizeof(t));
	for (i = 0; i < FLOWS; i++)
		t.seq[i] = i * 0x1234567;
}

static void run(void)
{
	/* At the end of the input it does not fail. */
	while (!create())
		;
	while (more())
		operation();
	check_all();
	destroy(true);
	cleanup_module();
	CHECK(!kernel.ops);
}

void fuzz_input(const unsigned char *data, unsigned long size)
{
	begin_all();
	t.data = data;
	t.left = size;
	run();
}

void fuzz_link(unsigned long long seed, unsigned long long sequences)
{
	begin_all();
	kernel.random = seed;
	t.random = true;
#ifdef _SF_POLICY_H
	link_run(sequences);
#endif
	cleanup_module();
}

void fuzz_random(unsigned long long seed, unsigned long long packets)
{
	begin_all();
	kernel.random = seed;
	t.random = true;
	t.until = packets;
#ifdef _SF_POLICY_H
	stale();
#endif
	run();
}
