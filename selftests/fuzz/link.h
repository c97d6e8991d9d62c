/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Does a flow that is backlogged send a packet in the time that las and sqf guarantee? A link of a
 * constant rate, and senders of all sorts, for some seconds; lab/models/pause.py says what is
 * guaranteed, and docs/design.md why.
 *
 *	senders:	steady | bursts | greedy | tuples | pages
 *				v
 *			the qdisc, with its defaults
 *				v
 *			the link: a packet at a time
 */
#ifndef _FUZZ_LINK_H
#define _FUZZ_LINK_H

#define LINK_PAUSE	(5 * (u64)NSEC_PER_SEC)
#define LINK_TURNS	20	/* packets of each backlogged flow: half of what is guaranteed */
#define SENDERS		24
#define LINK_FLOWS	65536
#define LINK_NUMBERS	BIT(17)	/* of packets that may wait at once, a power of two */
#define LINK_PACKETS	3000	/* sent by the link: then senders end */

enum pattern { STEADY, BURSTS, GREEDY, TUPLES, PAGES, PATTERNS };

struct sender {
	enum pattern pattern;
	u8	shape;
	u32	flow;		/* that sends now */
	u32	len;		/* bytes of a packet */
	u32	burst;		/* packets at a time */
	u32	left;		/* packets of a page's connection */
	u32	each;		/* of each connection; 0: at random */
	u64	gap;		/* ns from one burst to the next; of a greedy one its timeout */
	u64	next;		/* ns */
};

static struct {
	struct sender sender[SENDERS];
	u32	senders;
	bool	crowd;		/* most begin connections */
	u32	flows;		/* that were used */
	u64	rate;		/* bytes per second */
	u64	free;		/* ns: from then on the link can send */
	u32	most;		/* flows that were backlogged at once */
	u32	longest;	/* packet, in bytes */
	bool	overload;	/* of short flows */
	u64	sent[LINK_FLOWS];	/* ns: when the last packet of each was */
	u32	flow_of[LINK_NUMBERS];	/* by the packet's number */
	u64	came[LINK_NUMBERS];	/* ns */
	u8	by[LINK_NUMBERS];	/* the sender */
} *l;

static u32 below(u32 most)
{
	return reciprocal_scale(get_random_u32(), most);
}

/* Of any order of magnitude from @least on */
static u64 magnitude(u64 least, u32 powers)
{
	u32 power = below(powers);

	return (least << power) + (((u64)get_random_u32() * (least << power)) >> 32);
}

static void link_flow(struct sender *s)
{
	s->flow = l->flows++ % LINK_FLOWS;
	l->sent[s->flow] = 0;
}

static void link_sender(struct sender *s)
{
	static const u8 shape[] = { TCP4, UDP4, TCP6, UDP6 };
	static const u32 length[] = { 60, 200, 513, 1000, 1514, 1514 };
	u64 own;

	s->pattern = l->crowd && below(4) ? PAGES : below(PATTERNS);
	s->shape = shape[below(ARRAY_SIZE(shape))];
	s->len = length[below(ARRAY_SIZE(length))];
	s->burst = s->pattern == STEADY || s->pattern == TUPLES ? 1 : 1 + below(40);
	s->left = 0;
	s->each = l->crowd ? 2 + below(32) : 0;
	/* From a 32nd of the link to twice that */
	own = max_t(u64, l->rate >> 5, 1) << below(7);
	s->gap = div64_u64((u64)s->burst * s->len * NSEC_PER_SEC, own);
	if (s->pattern == GREEDY)
		s->gap = magnitude(NSEC_PER_SEC / 8, 5);
	s->next = kernel.now + below(NSEC_PER_SEC);
	link_flow(s);
}

static void link_send(struct sender *s, u32 count)
{
	struct recipe r = { .shape = s->shape, .len = s->len, .linear = 2048, .flags = 0x10 };
	u32 number;

	while (count--) {
		if (s->pattern == TUPLES || (s->pattern == PAGES && !s->left--)) {
			link_flow(s);
			s->left = s->each ? s->each - 1 : below(64);
		}
		r.flow = s->flow;
		number = (kernel.numbers + 1) % LINK_NUMBERS;
		l->flow_of[number] = s->flow;
		l->came[number] = kernel.now;
		l->by[number] = s - l->sender;
		send(&r, 0);
	}
}

/* A packet has left: was that in time? */
static void link_left(const struct packet *packet)
{
	u32 number = packet->number % LINK_NUMBERS, flow = l->flow_of[number];
	struct sender *s = &l->sender[l->by[number]];
	u64 pause = kernel.now - max(l->came[number], l->sent[flow]);
	u64 turns = div64_u64((u64)LINK_TURNS * l->most * l->longest * NSEC_PER_SEC, l->rate);
	u64 part = div64_u64(pause * 1000, LINK_PAUSE + turns);

	if (part > fuzz_counts.pause)
		fuzz_counts.pause = part;
	if (pause > LINK_PAUSE + turns)
		fail_values(__FILE__, __LINE__, "a flow waits too long: ms, allowed",
			    div_u64(pause, NSEC_PER_MSEC),
			    div_u64(LINK_PAUSE + turns, NSEC_PER_MSEC));
	l->sent[flow] = kernel.now;
	if (s->pattern == GREEDY && s->flow == flow)
		s->left += 1 + !below(8);
}

static void link_serve(bool ended)
{
	const struct sf_table *table = &sched()->table;
	struct sender *s;
	u32 len;

	l->most = max(l->most, sf_table_queued(table) + !!table->overflow);
	l->overload |= ((struct sf_policy *)sched())->top.overload;
	if (!dequeue())
		return;
	len = qdisc_pkt_len(t.sent);
	link_left(packet_of(t.sent));
	l->free = kernel.now + div64_u64((u64)len * NSEC_PER_SEC, l->rate);
	/* What has arrived lets a greedy one send more. */
	s = &l->sender[l->by[packet_of(t.sent)->number % LINK_NUMBERS]];
	if (s->pattern == GREEDY && s->left && !ended) {
		link_send(s, min(s->left, s->burst));
		s->left = 0;
	}
}

/* With its defaults */
static void link_create(void)
{
	struct netlink_ext_ack extack = {};

	root_new();
	attach(1000);
	CHECK(!kernel.ops->init(t.sch, NULL, &extack));
	options_changed();
	fuzz_counts.made++;
}

static void link_sequence(void)
{
	u64 end, next, until = fuzz_counts.sent + LINK_PACKETS;
	u32 i, which;

	link_create();
	l->rate = magnitude(1 << 13, 6);
	l->free = 0;
	l->flows = 0;
	l->most = 0;
	l->longest = ETH_FRAME_LEN;
	l->overload = false;
	l->senders = 1 + below(SENDERS);
	l->crowd = !below(4);
	for (i = 0; i < l->senders; i++)
		link_sender(&l->sender[i]);
	end = kernel.now + magnitude(NSEC_PER_SEC, 5);
	while (t.sch->q.qlen || kernel.now < end) {
		if (fuzz_counts.sent > until)
			end = 0;
		for (i = 0, which = 0; i < l->senders; i++)
			if (l->sender[i].next < l->sender[which].next)
				which = i;
		next = l->sender[which].next;
		if (t.sch->q.qlen && (l->free <= next || kernel.now >= end)) {
			pass(max(l->free, kernel.now) - kernel.now);
			link_serve(kernel.now >= end);
			continue;
		}
		pass(max(next, kernel.now) - kernel.now);
		if (kernel.now >= end)
			continue;
		l->sender[which].next = kernel.now + l->sender[which].gap;
		link_send(&l->sender[which], l->sender[which].burst);
		if (!below(256))
			link_sender(&l->sender[which]);
	}
	fuzz_counts.overloads += l->overload;
	check_all();
	destroy(true);
}

static void link_run(u64 sequences)
{
	l = calloc(1, sizeof(*l));
	while (sequences--)
		link_sequence();
	free(l);
}

#endif
