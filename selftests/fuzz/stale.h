/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the most drop candidates are out of order for one packet: many bulk flows have sent since
 * the heap saw how long they were, and a packet comes that does not fit. What it may examine then
 * is checked as for every packet: check_examined().
 *
 *	SENT flows	[ ][ ][ ] sent [ ]
 *	KEPT flows	[ ][ ]			then one packet more
 */
#ifndef _FUZZ_STALE_H
#define _FUZZ_STALE_H

#define SENT		1024
#define KEPT		512
#define BULK_FROM	16384

static void stale_send(u32 flow, u32 count)
{
	struct recipe r = {
		.shape = TCP4, .flow = flow, .len = 1514, .linear = 2048, .flags = 0x10,
	};

	while (count--)
		send(&r, 0);
}

static void stale_create(void)
{
	static const struct sf_policy_attributes *at = &OF_KIND(KIND, _attributes);
	struct netlink_ext_ack extack = {};
	struct request *r = request_new();
	u32 i;

	root_new();
	attach(1000);
	for (i = 0; i < OPTIONS.count; i++)
		if (OPTIONS.rows[i].fixed && OPTIONS.rows[i].attr <= at->last)
			put_option(r, OPTIONS.rows[i].attr, 16 * SENT);
	put_option(r, OF_KIND(KIND, _common).limit, 3 * SENT + 2 * KEPT);
	put_option(r, at->buffer, 0);
	put_option(r, at->target, 0);
	put_option(r, at->last + 1 + SF_NUMBER_FAIR, BULK_FROM);
	put_option(r, at->last + 1 + SF_NUMBER_FORGIVE_SHARE, 0);
	CHECK(!kernel.ops->init(t.sch, &r->nest, &extack));
	free(r);
	options_changed();
	fuzz_counts.made++;
}

static void stale(void)
{
	u32 i, drops;

	stale_create();
	for (i = 0; i < SENT + KEPT; i++) {
		stale_send(i, BULK_FROM / 1000);
		while (t.sch->q.qlen)
			dequeue();
	}
	for (i = 0; i < SENT; i++)
		stale_send(i, 4);
	for (i = 0; i < SENT; i++)
		dequeue();
	for (i = 0; i < KEPT; i++)
		stale_send(SENT + i, 2);
	drops = t.sch->qstats.drops;
	CHECK_EQUAL(groups()->top.queues[SF_BULK], SENT + KEPT);
	stale_send(SENT, 1);
	CHECK_EQUAL(t.sch->qstats.drops, drops + 1);
	check_all();
	destroy(true);
}

#endif
