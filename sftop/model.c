// SPDX-License-Identifier: GPL-2.0
/*
 * From messages to snapshots, from two of these to rates, and from one to a list in order.
 */
#include <stdlib.h>
#include <string.h>
#include <linux/rtnetlink.h>

#include "format.h"
#include "kernel.h"
#include "model.h"
#include "read.h"

const char * const order_names[ORDERS] = {
	[BY_RATE] = "rate",
	[BY_WAITING] = "waiting",
	[BY_WAITED] = "waited",
	[BY_DROPS] = "drops",
	[BY_BYTES] = "bytes",
	[BY_ATTAINED] = "attained",
};

/* Make room for one more of @n, up to @max; NULL if there is none. */
static void *with_room(void *array, size_t n, size_t *room, size_t size, size_t max)
{
	size_t more = *room ? 2 * *room : 64;
	void *grown;

	if (n < *room)
		return array;
	if (n >= max)
		return NULL;
	more = more < max ? more : max;
	grown = realloc(array, more * size);
	if (grown)
		*room = more;
	return grown;
}

/* Reading */

static void take_link(struct nlmsghdr *n, void *to)
{
	struct snapshot *s = to;
	struct link link, *links;

	if (!read_link(n, &link))
		return;
	links = with_room(s->links, s->n_links, &s->room_links, sizeof(link), LINKS_MAX);
	if (!links) {
		s->left_out++;
		return;
	}
	s->links = links;
	links[s->n_links++] = link;
}

static const struct link *find_link(const struct snapshot *s, int ifindex)
{
	size_t i;

	for (i = 0; i < s->n_links; i++) {
		if (s->links[i].ifindex == ifindex)
			return &s->links[i];
	}
	return NULL;
}

static bool is_wanted(const struct monitor *m, const struct link *link)
{
	int i;

	for (i = 0; i < m->n_wanted; i++) {
		if (!strcmp(m->wanted[i], link->raw))
			return true;
	}
	return !m->n_wanted;
}

static void take_qdisc(struct nlmsghdr *n, void *to)
{
	struct monitor *m = to;
	struct snapshot *s = &m->now;
	const struct link *link;
	struct qdisc q, *qdiscs;

	if (!read_qdisc(n, &q))
		return;
	link = find_link(s, q.ifindex);
	if (!link || !is_wanted(m, link))
		return;
	memcpy(q.name, link->name, sizeof(q.name));
	q.time = kernel_now();
	qdiscs = with_room(s->qdiscs, s->n_qdiscs, &s->room_qdiscs, sizeof(q), QDISCS_MAX);
	if (!qdiscs) {
		s->left_out++;
		return;
	}
	s->qdiscs = qdiscs;
	qdiscs[s->n_qdiscs++] = q;
}

static void count(struct qdisc *q, const struct entry *e)
{
	struct tally *tally = &q->sorts[e->sort];

	if (e->type == TC_SF_CLASS_HOST) {
		q->hosts++;
		q->hosts_over += !!e->over;
		return;
	}
	tally->known += e->type == TC_SF_CLASS_FLOW;
	tally->waiting += e->qlen > 0;
	tally->backlog += e->backlog;
	if (e->waited > tally->waited)
		tally->waited = e->waited;
}

/* Several qdiscs of an interface may have no handle: then classes are the first one's. */
static void take_class(struct nlmsghdr *n, void *to)
{
	struct snapshot *s = to;
	struct entry e, *entries;
	__u32 handle;
	int ifindex;
	size_t i;

	if (!read_class(n, &e, &ifindex, &handle)) {
		s->left_out++;
		return;
	}
	for (i = 0; i < s->n_qdiscs; i++) {
		if (s->qdiscs[i].ifindex == ifindex && s->qdiscs[i].handle == handle)
			break;
	}
	if (i == s->n_qdiscs)	/* it is newer than the list of qdiscs */
		return;
	count(&s->qdiscs[i], &e);
	e.qdisc = i;
	entries = with_room(s->entries, s->n_entries, &s->room_entries, sizeof(e), ENTRIES_MAX);
	if (!entries) {
		s->left_out++;
		return;
	}
	s->entries = entries;
	entries[s->n_entries++] = e;
}

static void read_all(struct monitor *m)
{
	struct snapshot *s = &m->now;
	size_t i, j;

	s->error = kernel_ask(RTM_GETLINK, 0, take_link, s);
	if (!s->error)
		s->error = kernel_ask(RTM_GETQDISC, 0, take_qdisc, m);
	for (i = 0; !s->error && i < s->n_qdiscs; i++) {
		if (s->qdiscs[i].class_time)	/* with another one of its interface */
			continue;
		for (j = i; j < s->n_qdiscs; j++) {
			if (s->qdiscs[j].ifindex == s->qdiscs[i].ifindex)
				s->qdiscs[j].class_time = kernel_now();
		}
		s->error = kernel_ask(RTM_GETTCLASS, s->qdiscs[i].ifindex, take_class, s);
	}
}

/* Finding again */

static bool same_qdisc(const struct qdisc *a, const struct qdisc *b)
{
	return a->ifindex == b->ifindex && a->handle == b->handle && a->parent == b->parent &&
	       !strcmp(a->kind, b->kind);
}

static size_t hash(__u32 qdisc, const struct entry *e)
{
	__u64 key = (__u64)qdisc << 34 | (__u64)e->type << 32;

	key |= e->type == TC_SF_CLASS_HOST ? e->host : e->record;
	return key * 0x9e3779b97f4a7c15ull >> 32;
}

/* Who it is, as far as that is told */
static bool same_entry(const struct entry *a, const struct entry *b)
{
	return a->type == b->type && a->record == b->record && a->proto == b->proto &&
	       (a->type != TC_SF_CLASS_HOST || a->host == b->host) &&
	       a->ethertype == b->ethertype && a->address_len == b->address_len &&
	       a->sport == b->sport && a->dport == b->dport && a->named == b->named &&
	       !memcmp(a->src, b->src, sizeof(a->src)) && !memcmp(a->dst, b->dst, sizeof(a->dst));
}

/* Without memory for it nothing is found again, and no rates are known. */
static void index_entries(struct snapshot *s)
{
	size_t wanted = 64, i, slot;
	__u32 *slots;

	while (wanted < 2 * s->n_entries)
		wanted *= 2;
	if (wanted > s->n_slots || wanted < s->n_slots / 8) {
		slots = realloc(s->slots, wanted * sizeof(*slots));
		if (!slots) {
			free(s->slots);
			s->slots = NULL;
			s->n_slots = 0;
			return;
		}
		s->slots = slots;
		s->n_slots = wanted;
	}
	memset(s->slots, 0, s->n_slots * sizeof(*s->slots));
	for (i = 0; i < s->n_entries; i++) {
		slot = hash(s->entries[i].qdisc, &s->entries[i]);
		while (s->slots[slot & (s->n_slots - 1)])
			slot++;
		s->slots[slot & (s->n_slots - 1)] = i + 1;
	}
}

static const struct entry *find_entry(const struct snapshot *s, __u32 qdisc,
				      const struct entry *wanted)
{
	size_t slot = hash(qdisc, wanted);
	const struct entry *e;
	__u32 number;

	while (s->n_slots) {
		number = s->slots[slot++ & (s->n_slots - 1)];
		if (!number)
			break;
		e = &s->entries[number - 1];
		if (e->qdisc == qdisc && same_entry(e, wanted))
			return e;
	}
	return NULL;
}

/* Rates */

static double per_second(__u64 now, __u64 before, __u64 ns)
{
	return ns && now >= before ? (now - before) * 1e9 / ns : 0;
}

static void find_qdisc_rates(struct qdisc *q, struct snapshot *before)
{
	__u64 ns;
	size_t i;

	for (i = 0; i < before->n_qdiscs; i++) {
		if (same_qdisc(q, &before->qdiscs[i]))
			q->before = &before->qdiscs[i];
	}
	/* one that counts anew is another with the same handle */
	if (!q->before || q->bytes < q->before->bytes || q->packets < q->before->packets) {
		q->before = NULL;
		return;
	}
	ns = q->time - q->before->time;
	q->rates_known = true;
	q->rate = per_second(q->bytes, q->before->bytes, ns);
	q->packet_rate = per_second(q->packets, q->before->packets, ns);
	q->drop_rate = per_second((__u32)(q->drops - q->before->drops), 0, ns);
	q->mark_rate = per_second(q->marks, q->before->marks, ns);
}

/* What was not there before, or counts anew, has sent all of it since. */
static void find_rate(struct snapshot *s, struct entry *e, const struct snapshot *before)
{
	const struct qdisc *q = qdisc_of(s, e);
	const struct entry *was;
	__u64 ns;

	if (!q->before)
		return;
	ns = q->class_time - q->before->class_time;
	was = find_entry(before, q->before - before->qdiscs, e);
	if (was && (was->bytes > e->bytes || was->packets > e->packets))
		was = NULL;
	e->rate_known = true;
	e->rate = per_second(e->bytes, was ? was->bytes : 0, ns);
	e->drop_rate = per_second((__u32)(e->drops - (was ? was->drops : 0)), 0, ns);
}

static __u32 most(__u32 a, __u32 b)
{
	return a > b ? a : b;
}

static void note_history(struct qdisc *q, unsigned int number)
{
	__u32 *sample;

	if (q->before) {
		q->history = q->before->history;
		q->before->history = NULL;
	}
	if (!q->history)
		q->history = calloc(HISTORY, sizeof(*q->history));
	if (!q->history)
		return;
	sample = q->history[number % HISTORY];
	sample[HISTORY_LONG] = q->sorts[TC_SF_SORT_LONG].waited;
	sample[HISTORY_FIRST] = most(most(q->sorts[TC_SF_SORT_NEW].waited,
					  q->sorts[TC_SF_SORT_SHORT].waited),
				     q->sorts[TC_SF_SORT_UNSPEC].waited);
}

/* Keep the memory for the next one, unless it is much more than was used. */
static void empty(struct snapshot *s)
{
	size_t i;

	for (i = 0; i < s->n_qdiscs; i++)
		free(s->qdiscs[i].history);
	if (s->room_entries > 1024 && s->n_entries < s->room_entries / 8) {
		free(s->entries);
		s->entries = NULL;
		s->room_entries = 0;
	}
	s->n_links = 0;
	s->n_qdiscs = 0;
	s->n_entries = 0;
	s->left_out = 0;
	s->error = NULL;
}

void monitor_refresh(struct monitor *m)
{
	struct snapshot older = m->before;
	size_t i;

	m->before = m->now;
	m->now = older;
	m->number++;
	empty(&m->now);
	m->now.unprivileged = !kernel_lists_flows();
	read_all(m);
	for (i = 0; i < m->now.n_qdiscs; i++) {
		find_qdisc_rates(&m->now.qdiscs[i], &m->before);
		note_history(&m->now.qdiscs[i], m->number);
	}
	for (i = 0; i < m->now.n_entries; i++)
		find_rate(&m->now, &m->now.entries[i], &m->before);
	for (i = 0; i < m->now.n_qdiscs; i++)
		m->now.qdiscs[i].before = NULL;
	index_entries(&m->now);
}

static void free_snapshot(struct snapshot *s)
{
	empty(s);
	free(s->links);
	free(s->qdiscs);
	free(s->entries);
	free(s->slots);
	memset(s, 0, sizeof(*s));
}

void monitor_free(struct monitor *m)
{
	free_snapshot(&m->now);
	free_snapshot(&m->before);
}

/* Lists */

static __u64 key_of(const struct entry *e, enum order order)
{
	switch (order) {
	case BY_RATE:
		return e->rate;
	case BY_WAITING:
		return (__u64)e->backlog << 24 | (e->qlen & 0xffffff);
	case BY_WAITED:
		return e->waited;
	case BY_DROPS:
		return e->drops;
	case BY_ATTAINED:
		return e->attained;
	default:
		return e->bytes;
	}
}

/* What is alike keeps its place, so that the screen is quiet. */
static int compare(const void *one, const void *other)
{
	const struct item *a = one, *b = other;

	if (a->key != b->key)
		return a->key < b->key ? 1 : -1;
	return a->entry < b->entry ? -1 : 1;
}

static int compare_least(const void *one, const void *other)
{
	const struct item *a = one, *b = other;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->entry < b->entry ? -1 : 1;
}

static bool is_chosen(const struct snapshot *s, const struct entry *e, const struct choice *choice)
{
	bool host = e->type == TC_SF_CLASS_HOST;
	char text[ROW_TEXT_MAX];

	if (host != choice->hosts)
		return false;
	if (choice->ifindex && qdisc_of(s, e)->ifindex != choice->ifindex)
		return false;
	if (!choice->filter || !*choice->filter)
		return true;
	format_row_text(text, sizeof(text), s, e);
	return strcasestr(text, choice->filter);
}

/* Those of a sort that is long, or those of the others; hosts are no sort. */
static bool list_add(struct list *list, const struct snapshot *s, const struct choice *choice,
		     bool of_long)
{
	struct item *items;
	size_t i;

	for (i = 0; i < s->n_entries; i++) {
		const struct entry *e = &s->entries[i];
		bool is_long = e->sort == TC_SF_SORT_LONG;

		if (is_long != of_long || !is_chosen(s, e, choice))
			continue;
		items = with_room(list->items, list->n, &list->room, sizeof(*items), ENTRIES_MAX);
		if (!items)
			return false;
		list->items = items;
		items[list->n++] = (struct item){ key_of(e, choice->order), i };
	}
	return true;
}

static void sort(struct item *items, size_t n, const struct choice *choice)
{
	if (n)
		qsort(items, n, sizeof(*items), choice->least ? compare_least : compare);
}

bool list_make(struct list *list, const struct snapshot *s, const struct choice *choice)
{
	bool complete;

	list->n = 0;
	complete = list_add(list, s, choice, false);
	list->n_first = list->n;
	complete = list_add(list, s, choice, true) && complete;
	if (!choice->apart)
		list->n_first = list->n;
	sort(list->items, list->n_first, choice);
	if (list->n > list->n_first)
		sort(list->items + list->n_first, list->n - list->n_first, choice);
	return complete;
}

void list_free(struct list *list)
{
	free(list->items);
	memset(list, 0, sizeof(*list));
}
