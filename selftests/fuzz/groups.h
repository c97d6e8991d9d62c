/* SPDX-License-Identifier: GPL-2.0 */
/* What is true of a kind with groups of flows (shortfirst/policy.h), whatever has happened to it */
#ifndef _FUZZ_GROUPS_H
#define _FUZZ_GROUPS_H

/* What a bulk flow may send in its turn, in bytes */
#define QUANTUM_MOST	BIT(20)

static struct sf_policy *groups(void)
{
	return qdisc_priv(t.sch);
}

/* What may be examined where each backlogged queue is so many times */
static u32 all_examined(u32 times)
{
	const struct sf_table *table = &groups()->s.table;

	return table->spare ? times * (sf_table_queued(table) + !!table->overflow) : 0;
}

/* All packets of a flow wait in one queue. */
static bool keeps_order(const struct packet *packet)
{
	return true;
}

static void options_changed(void)
{
	t.refused = false;
}

static void was_reset(void)
{
}

/*
 * What is only seen where several options are other ones: hosts; where as much waits as comes;
 * where nobody is owed anything, as published; where there is no room for newcomers
 */
static void ask_special(struct request *r, u8 how)
{
	static const struct sf_policy_attributes *at = &OF_KIND(KIND, _attributes);

	put_option(r, at->hosts, how & 3);
	if (how & 4)
		put_option(r, OF_KIND(KIND, _common).buffer, 0);
	if (how & 8) {
		put_option(r, at->last + 1 + SF_NUMBER_KNOWN_SHARE, 0);
		put_option(r, at->last + 1 + SF_NUMBER_LONG_SHARE, 0);
	}
	if (how & 16)
		put_option(r, at->last + 1 + SF_NUMBER_NEWCOMERS, 1 + how / 32);
}

/* Is another option what it is because of these? */
static bool implied(u32 attr, const bool *asked)
{
	static const struct sf_policy_attributes *at = &OF_KIND(KIND, _attributes);

	return asked[at->plain] && (attr == at->buffer || attr == at->target);
}

/* Packets that were dropped, by counters of what they were dropped for */
static u32 check_causes(void)
{
	const struct sf_policy *g = groups();

	return g->s.drop_limit + g->s.drop_memory + g->s.drop_buffer + g->drop_new +
	       g->codel_stats.drop_count;
}

/* What classes tell, all of them */
static void check_walk(u32 packets, u32 bytes)
{
	const struct sk_buff *skb;

	CHECK_EQUAL(packets, groups()->s.held);
	skb_queue_walk(&t.sch->gso_skb, skb)
		bytes += qdisc_pkt_len(skb);
	CHECK_EQUAL(bytes, t.sch->qstats.backlog);
}

static void check_heap(const struct sf_heap *heap)
{
	u32 i;

	for (i = 0; i < heap->size; i++) {
		CHECK_EQUAL(heap->at[heap->node[i].queue], i);
		if (i)
			CHECK(!sf_heap_less(heap->node[i],
					    heap->node[(i - 1) / SF_HEAP_CHILDREN]));
	}
}

/*
 * What the heap of drop candidates tells of a queue: its class, and no less than it has waiting,
 * unless bytes wrap around.
 */
static void check_candidate(const struct sf_queue *queue)
{
	const struct sf_heap *heap = &groups()->drop_heap;
	const struct sf_heap_node *node = &heap->node[heap->at[sf_policy_number(groups(), queue)]];

	CHECK_EQUAL(node->queue, sf_policy_number(groups(), queue));
	CHECK_EQUAL(node->rank <= U32_MAX, queue->class == SF_BULK);
	if (!t.root->stab)
		CHECK(node->rank <=
		      sf_policy_drop_node(groups(), queue, &OF_KIND(KIND, _order)).rank);
}

/* Lists are of those queues that say that they are in them; @own of a host, or the top ones */
static void check_lists(const struct sf_lists *l, bool top)
{
	const struct sf_queue *queues = groups()->s.table.queues, *queue, *before = NULL;
	u32 list, i, at, count = 0, newcomers = 0;
	struct rb_node *node;

	for (list = SF_NEW; list <= SF_BULK; list++) {
		/* For the top ones all that is in hosts' own lists is of long flows. */
		count = l->queues[list];
		if (top && list == SF_BULK && groups()->hosts.by)
			count = 0;
		CHECK_EQUAL(!l->first[list], !count);
		at = l->first[list];
		for (i = 0; i < count; i++) {
			queue = &queues[at];
			CHECK(queue->qlen);
			CHECK_EQUAL(queue->class, list);
			CHECK_EQUAL(queue->in_host_lists, !top);
			CHECK_EQUAL(queues[queue->listed.next].listed.prev, at);
			at = queue->listed.next;
		}
		CHECK_EQUAL(at, l->first[list]);
		if (list != SF_BULK)
			newcomers += l->queues[list];
	}
	CHECK_EQUAL(l->new_flows, newcomers);
	count = 0;
	for (node = rb_first_cached(&l->ranked); node; node = rb_next(node)) {
		queue = sf_policy_queue_of(node);
		CHECK(queue->qlen);
		CHECK_EQUAL(queue->class, SF_SHORT);
		CHECK_EQUAL(queue->in_host_lists, !top);
		if (before)
			CHECK(!sf_policy_less((struct rb_node *)node,
					      &before->node));
		before = queue;
		count++;
	}
	CHECK_EQUAL(l->queues[SF_SHORT], count);
	for (list = SF_NEW; list < SF_CLASSES; list++)
		CHECK_EQUAL(!!(l->busy & BIT(list)), l->queues[list] > 0);
	CHECK(l->express <= (s32)SF_EXPRESS);
}

/* What queues say of the lists that they are in, and of their hosts */
struct counted {
	u32	queues[SF_CLASSES];
	u32	waiting[SF_CLASSES];
	u32	of_host;
	u32	backlog;
};

static void check_counted(const struct sf_lists *l, const struct counted *c)
{
	u32 i;

	for (i = SF_NEW; i < SF_CLASSES; i++) {
		CHECK_EQUAL(l->queues[i], c->queues[i]);
		CHECK_EQUAL(l->backlog[i], c->waiting[i]);
	}
}

static void check_host(u32 n, const struct counted *c)
{
	const struct sf_hosts *hosts = &groups()->hosts;
	const struct sf_host *h = &hosts->host[n];
	const struct sf_flow *f = sf_host_record(hosts, n);

	CHECK_EQUAL(h->queues, c->of_host);
	if (h->queues)
		CHECK_EQUAL(h->backlog, c->backlog);
	CHECK_EQUAL(h->busy, hosts->own[n].busy != 0);
	if (f)
		CHECK_EQUAL(f->queue, h->queues > 0);
	if (h->heaped)
		CHECK_EQUAL(hosts->most.node[hosts->most.at[n]].queue, n);
	if (h->busy)
		CHECK_EQUAL(hosts->turns.node[hosts->turns.at[n]].queue, n);
	/* Who has much waiting is sought among those. */
	if (h->queues && h->backlog >= SF_HOST_MUCH && !t.root->stab)
		CHECK(h->heaped);
	check_counted(&hosts->own[n], c);
	check_lists(&hosts->own[n], false);
}

static void check_hosts(const struct counted *of)
{
	const struct sf_hosts *hosts = &groups()->hosts;
	u32 i, count = hosts->table.sets * SF_WAYS + SF_HOST_FIRST, waiting = 0, busy = 0;
	u32 heaped = 0;

	for (i = 0; i < count; i++) {
		if (!i && !of[i].of_host)
			continue;
		check_host(i, &of[i]);
		waiting += hosts->host[i].queues > 0;
		busy += hosts->host[i].busy;
		heaped += hosts->host[i].heaped;
	}
	CHECK_EQUAL(hosts->waiting, waiting);
	CHECK_EQUAL(hosts->turns.size, busy);
	CHECK_EQUAL(hosts->most.size, heaped);
	check_heap(&hosts->turns);
	check_heap(&hosts->most);
	CHECK_EQUAL(hosts->table.used, count_tags(&hosts->table));
}

static void check_table(const struct sf_table *table)
{
	u32 i, elsewhere = 0, spares = 0, queues = sf_table_queues(table->sets * SF_WAYS);
	s32 quantum = QUANTUM_MOST;
	const struct sf_flow *f;

	for (i = 0; i < table->sets; i++)
		elsewhere += table->overflow_of[i];
	CHECK_EQUAL(table->overflow, elsewhere);
	CHECK_EQUAL(table->queues[SF_OVERFLOW].qlen, elsewhere);
	for (i = 0; i < table->sets * SF_WAYS; i++) {
		f = &table->flows[i];
		check_deficit(f->deficit, quantum);
		if (!f->queue)
			continue;
		CHECK(table->tags[i / SF_WAYS] & sf_tag_at(0xff, i % SF_WAYS));
		CHECK_EQUAL(table->queues[f->queue].flow, i);
		CHECK(table->queues[f->queue].qlen);
	}
	for (i = SF_FIRST_QUEUE; i < queues; i++)
		spares += !table->queues[i].qlen;
	CHECK_EQUAL(table->spares, spares);
	for (i = 0; i < spares; i++)
		CHECK(!table->queues[table->spare[i]].qlen);
	CHECK_EQUAL(table->used, count_tags(table));
	CHECK(!table->queues[SF_NO_QUEUE].qlen);
}

/*
 * Of a flow of which a packet was refused less is attained, as far as it is forgiven then; its rank
 * is that of before until the next one comes. So is that of an old flow, which tells of what the
 * link had sent when it was measured last, and of whether the flow was old by then.
 */
static void check_rank(const struct sf_queue *queue)
{
	const struct sf_flow *f = &groups()->s.table.flows[queue->flow];
	u64 rank = OF_KIND(KIND, _order).rank(groups(), f, queue);

	if (f->age == SF_AGE)
		return;
	if (t.refused)
		CHECK(queue->rank >= rank);
	else
		CHECK_EQUAL(queue->rank, rank);
}

static void check_kind(struct sums *sums)
{
	const struct sf_policy *g = groups();
	u32 i, queues = sf_table_queues(g->s.table.sets * SF_WAYS), heaped = 0;
	u32 hosts = g->hosts.table.sets * SF_WAYS + SF_HOST_FIRST;
	struct counted *of = calloc(hosts + 1, sizeof(*of)), *top = &of[hosts];
	const struct sf_queue *queue;
	u8 group;

	check_table(&g->s.table);
	for (i = SF_OVERFLOW; i < queues; i++) {
		queue = &g->s.table.queues[i];
		heaped += queue->on_drop_heap;
		if (!queue->qlen) {
			CHECK(!queue->on_drop_heap);
			CHECK_EQUAL(queue->class, SF_UNASSIGNED);
			continue;
		}
		sum_queue(sums, queue, true);
		if (queue->on_drop_heap)
			check_candidate(queue);
		if (queue->class == SF_SHORT)
			check_rank(queue);
		CHECK(queue->class != SF_UNASSIGNED);
		CHECK_EQUAL(queue->host > 0, g->hosts.by > 0);
		group = queue->class;
		of[queue->host].of_host++;
		of[queue->host].backlog += queue->backlog;
		if (queue->in_host_lists) {
			of[queue->host].queues[group]++;
			of[queue->host].waiting[group] += queue->backlog;
			group = SF_BULK;
		}
		top->queues[group]++;
		top->waiting[group] += queue->backlog;
	}
	CHECK_EQUAL(g->drop_heap.size, heaped);
	check_heap(&g->drop_heap);
	check_counted(&g->top, top);
	check_lists(&g->top, true);
	if (g->hosts.by)
		check_hosts(of);
	free(of);
}

#endif
