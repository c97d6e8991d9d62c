/* SPDX-License-Identifier: GPL-2.0 */
/* What is true of a kind with two bands (shortfirst/band_queues.h), whatever has happened to it */
#ifndef _FUZZ_BANDS_H
#define _FUZZ_BANDS_H

#define SCHED	OF_KIND(KIND, _sched)

static struct SCHED *kind_of(void)
{
	return qdisc_priv(t.sch);
}

/* What may be examined where all packets leave their queues, and perhaps come to others */
static u32 all_examined(u32 times)
{
	return LOOP_MOST * sched()->held;
}

static bool is_udp(const struct packet *packet)
{
	u32 shape = (packet->flow - 1) >> 17;

	return shape == UDP4 || shape == UDP6;
}

/* What the two kinds do not share */
#ifdef _SF_TCP_SEQ_H
#define IS_RUN2C	1
#define QUANTUM_MOST	TC_RUN2C_QUANTUM_MAX

static bool is_sorted(void)
{
	return kind_of()->opt[TCA_RUN2C_ORDER];
}

static bool is_counted(void)
{
	return kind_of()->opt[TCA_RUN2C_OTHER] == TC_RUN2C_OTHER_COUNT;
}

static u32 own_causes(void)
{
	return 0;
}

/* Is another option what it is because of these? */
static bool implied(u32 attr, const bool *asked)
{
	return false;
}

/*
 * What is only seen where several options are other ones: without records, or all by rank; where as
 * much waits as comes; where flags are believed
 */
static void ask_special(struct request *r, u8 how)
{
	put_option(r, how & 1 ? TCA_RUN2C_ORDER : TCA_RUN2C_LEARN, how & 1);
	put_option(r, TCA_RUN2C_OTHER, how >> 1 & 1);
	if (how & 4)
		put_option(r, TCA_RUN2C_BUFFER, 0);
	if (how & 8)
		put_option(r, TCA_RUN2C_LINGER, 0);
}
#else
#define IS_RUN2C	0
#define QUANTUM_MOST	TC_SIFT_QUANTUM_MAX

static bool is_sorted(void)
{
	return false;
}

static bool is_counted(void)
{
	return true;
}

static u32 own_causes(void)
{
	const struct SCHED *q = kind_of();

	return q->drop_band + q->own[SF_HIGH].early + q->own[SF_LOW].early;
}

static bool implied(u32 attr, const bool *asked)
{
	return attr == TCA_SIFT_EVERY && asked[TCA_SIFT_PROBABILITY];
}

/* RED; where as much waits as comes; where flags are believed */
static void ask_special(struct request *r, u8 how)
{
	put_option(r, TCA_SIFT_RED, how % 4);
	put_option(r, TCA_SIFT_RED_MIN, 1 + (how >> 2) % 4);
	put_option(r, TCA_SIFT_RED_WEIGHT, TC_SIFT_WEIGHT_MIN);
	if (how & 16)
		put_option(r, TCA_SIFT_BUFFER, 0);
	if (how & 32)
		put_option(r, TCA_SIFT_LINGER, 0);
}
#endif

/*
 * What is in the high band leaves before what came later and is in the low one, as long as that is
 * guaranteed nothing and the rules stay. Of TCP run2c knows better, and lets what is sent once more
 * pass. Where a class is chosen for a packet it need not be that of the one before.
 */
static bool keeps_order(const struct packet *packet)
{
	return !t.disturbed && !packet->classed && (!IS_RUN2C || is_udp(packet));
}

static void options_changed(void)
{
	t.disturbed |= t.sch->q.qlen || kind_of()->bands.guarantee.percent || is_sorted() ||
		       !is_counted();
}

static void was_reset(void)
{
	t.disturbed = false;
	options_changed();
}

static u32 check_causes(void)
{
	const struct SCHED *q = kind_of();

	return q->s.drop_limit + q->s.drop_memory + q->s.drop_buffer + own_causes();
}

/* Classes tell what waits of those that have a record, in whichever band. */
static void check_walk(u32 packets, u32 bytes)
{
	const struct packet *packet;
	struct sk_buff *skb;

	list_for_each_entry(packet, &kernel.packets, all) {
		if (packet->owner != QDISC || sf_cb(&packet->skb)->flow == SF_NO_FLOW)
			continue;
		packets--;
		bytes -= qdisc_pkt_len(&packet->skb);
	}
	skb_queue_walk(&t.sch->gso_skb, skb) {
		if (sf_cb(skb)->flow == SF_NO_FLOW)
			continue;
		packets++;
		bytes += qdisc_pkt_len(skb);
	}
	CHECK(!packets);
	CHECK(!bytes);
}

/* What is said of a record by its packets */
struct counted {
	u32	queue;
	u32	backlog;
};

static void count_packet(struct counted *of, const struct sk_buff *skb)
{
	u32 flow = sf_cb(skb)->flow;

	if (flow == SF_NO_FLOW)
		return;
	CHECK(flow < kind_of()->s.table.sets * SF_WAYS);
	of[flow].queue++;
	of[flow].backlog += qdisc_pkt_len(skb);
}

static void check_band(const struct sf_band *band, struct counted *of, struct sums *sums)
{
	const struct sf_bands *bands = &kind_of()->bands;
	u32 i, used = 0, at, was = sums->packets, bytes = sums->bytes;
	const struct sf_queue *queue;
	struct sk_buff *skb;

	for (i = 0; i < bands->queues; i++) {
		queue = &band->queues[i];
		used += queue->qlen > 0;
		sum_queue(sums, queue, false);
		for (skb = queue->qlen ? queue->head : NULL; skb; skb = skb->next)
			count_packet(of, skb);
		check_deficit(queue->deficit, QUANTUM_MOST);
	}
	CHECK_EQUAL(band->used, used);
	for (i = 0, at = band->first; i < used; i++) {
		CHECK(band->queues[at].qlen);
		CHECK_EQUAL(band->queues[band->queues[at].listed.next].listed.prev, at);
		at = band->queues[at].listed.next;
	}
	if (used)
		CHECK_EQUAL(at, band->first);
	CHECK_EQUAL(band->qlen, sums->packets - was);
	CHECK_EQUAL(band->backlog, sums->bytes - bytes);
}

#if IS_RUN2C
/* By rank: the first queue of the low band counts what is in the tree. */
static void check_sorted(struct counted *of, struct sums *sums)
{
	const struct sf_band *low = &kind_of()->bands.band[SF_LOW];
	const struct sk_buff *skb, *before = NULL;
	struct rb_node *node;

	for (node = rb_first_cached(&kind_of()->sorted); node; node = rb_next(node)) {
		skb = sf_sorted_skb(node);
		sum_packet(sums, skb);
		count_packet(of, skb);
		if (before)
			CHECK(sf_cb(before)->rank < sf_cb(skb)->rank ||
			      (sf_cb(before)->rank == sf_cb(skb)->rank &&
			       sf_earlier(before, skb)));
		before = skb;
	}
	CHECK_EQUAL(low->qlen, sums->packets);
	CHECK_EQUAL(low->backlog, sums->bytes);
	CHECK_EQUAL(low->queues[0].qlen, sums->packets);
	CHECK_EQUAL(low->queues[0].backlog, sums->bytes);
	CHECK(!kind_of()->bands.band[SF_HIGH].qlen);
}
#else
static void check_sorted(struct counted *of, struct sums *sums)
{
}
#endif

static void check_records(const struct counted *of)
{
	const struct sf_table *table = &kind_of()->s.table;
	const struct sf_flow *f;
	u32 i, queued = 0;

	for (i = 0; i < table->sets * SF_WAYS; i++) {
		f = &table->flows[i];
		if (!(table->tags[i / SF_WAYS] & sf_tag_at(0xff, i % SF_WAYS))) {
			CHECK(!of[i].queue);
			continue;
		}
		CHECK_EQUAL(f->queue, of[i].queue);
		if (f->queue)
			CHECK_EQUAL(f->backlog, of[i].backlog);
		queued += f->queue > 0;
	}
	CHECK_EQUAL(kind_of()->recent.queued, queued);
	CHECK_EQUAL(table->used, count_tags(table));
	CHECK(table->used <= kind_of()->recent.peak || !table->used);
}

static void check_kind(struct sums *sums)
{
	struct SCHED *q = kind_of();
	struct counted *of = calloc(q->s.table.sets * SF_WAYS + 1, sizeof(*of));

	if (is_sorted()) {
		check_sorted(of, sums);
	} else {
		check_band(&q->bands.band[SF_HIGH], of, sums);
		check_band(&q->bands.band[SF_LOW], of, sums);
	}
	check_records(of);
	free(of);
	/* Nobody is there: what was is forgotten. */
	if (!t.sch->q.qlen)
		was_reset();
}

#endif
