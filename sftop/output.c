// SPDX-License-Identifier: GPL-2.0
/*
 * What is printed once: a table, JSON, metrics.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <linux/pkt_sched.h>

#include "format.h"
#include "output.h"

const char *output_notice(const struct snapshot *s)
{
	if (s->n_entries == ENTRIES_MAX)
		return "There are more flows than sftop keeps";
	if (!s->n_qdiscs || s->n_entries)
		return NULL;
	if (s->left_out)
		return "The modules are older than sftop and do not tell of flows";
	return s->unprivileged ? "Flows and hosts are listed only for root, or with CAP_NET_ADMIN" :
				 NULL;
}

/* The table */

static void print_qdisc(const struct qdisc *q)
{
	char handle[NUMBER_MAX], parent[NUMBER_MAX], a[NUMBER_MAX], b[NUMBER_MAX], c[NUMBER_MAX];
	int sort;

	printf("%s %s %s %s: ", q->name, q->kind, format_handle(handle, q->handle),
	       format_handle(parent, q->parent));
	if (q->rates_known)
		printf("%sbit/s, %s packets/s, ", format_count(a, 8 * q->rate),
		       format_count(b, q->packet_rate));
	printf("sent %sB, dropped %llu, marked %llu, waiting %sB in %u packets\n",
	       format_count(c, q->bytes), (unsigned long long)q->drops,
	       (unsigned long long)q->marks, format_count(a, q->backlog), q->qlen);
	for (sort = 0; sort < SORTS; sort++) {
		const struct tally *t = &q->sorts[sort];
		const struct entry e = { .sort = sort };

		if (!t->known && !t->waiting)
			continue;
		printf("  %-5s %u flows, waiting: %u with %sB, for up to %s\n", format_sort(&e),
		       t->known, t->waiting, format_count(a, t->backlog),
		       format_time(b, t->waited));
	}
	if (q->hosts)
		printf("  %u hosts, %u over their share\n", q->hosts, q->hosts_over);
}

static const char *rate_text(char to[NUMBER_MAX], const struct entry *e)
{
	return e->rate_known ? format_count(to, 8.0 * e->rate) : "-";
}

static const char *waited_text(char to[NUMBER_MAX], const struct entry *e)
{
	return TOLD(e, WAITED) ? format_time(to, e->waited) : "-";
}

/* Columns of both ends, as wide as the widest of what is listed */
struct ends {
	int src, dst;
};

static const char *src_text(char to[END_MAX], const struct entry *e)
{
	char number[NUMBER_MAX];

	format_end(to, e, false, NULL);
	if (!*to && !TOLD(e, DST))
		snprintf(to, END_MAX, "%s", format_unnamed(number, e));
	return to;
}

static void widen(struct ends *ends, const struct entry *e)
{
	char text[END_MAX];
	int len;

	len = strlen(src_text(text, e));
	ends->src = len > ends->src ? len : ends->src;
	len = strlen(format_end(text, e, true, NULL));
	ends->dst = len > ends->dst ? len : ends->dst;
}

static void print_flow(const struct snapshot *s, const struct entry *e, const struct ends *ends)
{
	char rate[NUMBER_MAX], waits[NUMBER_MAX], waited[NUMBER_MAX], sent[NUMBER_MAX];
	char src[END_MAX], dst[END_MAX], proto[NUMBER_MAX];

	printf("%-10s %-5s %-5s %-*s %-*s %5s %6s %6s %6u %6s\n", qdisc_of(s, e)->name,
	       format_sort(e), format_proto(proto, e), ends->src, src_text(src, e), ends->dst,
	       format_end(dst, e, true, NULL), rate_text(rate, e), format_count(waits, e->backlog),
	       waited_text(waited, e), e->drops, format_count(sent, e->bytes));
}

static void print_host(const struct snapshot *s, const struct entry *e, const struct ends *ends)
{
	char rate[NUMBER_MAX], waits[NUMBER_MAX], sent[NUMBER_MAX];
	char src[END_MAX], dst[END_MAX];

	printf("%-10s %-5s %-*s %-*s %5s %6s %6u %6u %6s\n", qdisc_of(s, e)->name,
	       e->over ? "over" : "-", ends->src, src_text(src, e), ends->dst,
	       format_end(dst, e, true, NULL), rate_text(rate, e), format_count(waits, e->backlog),
	       e->flows, e->drops, format_count(sent, e->bytes));
}

static void print_list(const struct monitor *m, const struct output *how, bool hosts)
{
	struct ends ends = { strlen("SOURCE"), strlen("DESTINATION") };
	struct choice choice = { .hosts = hosts, .order = how->order };
	const struct snapshot *s = &m->now;
	struct list list = {};
	size_t i;

	list_make(&list, s, &choice);
	for (i = 0; i < list.n && i < how->limit; i++)
		widen(&ends, &s->entries[list.items[i].entry]);
	if (list.n && hosts)
		printf("\n%-10s %-5s %-*s %-*s %5s %6s %6s %6s %6s\n", "DEV", "SHARE", ends.src,
		       "SOURCE", ends.dst, "DESTINATION", "BIT/S", "WAITS", "FLOWS", "DROPS",
		       "SENT");
	else if (list.n)
		printf("\n%-10s %-5s %-5s %-*s %-*s %5s %6s %6s %6s %6s\n", "DEV", "SORT",
		       "PROTO", ends.src, "SOURCE", ends.dst, "DESTINATION", "BIT/S", "WAITS",
		       "WAITED", "DROPS", "SENT");
	for (i = 0; i < list.n && i < how->limit; i++)
		(hosts ? print_host : print_flow)(s, &s->entries[list.items[i].entry], &ends);
	if (list.n > how->limit)
		printf("and %zu more\n", list.n - how->limit);
	list_free(&list);
}

void output_table(const struct monitor *m, const struct output *how)
{
	size_t i;

	for (i = 0; i < m->now.n_qdiscs; i++)
		print_qdisc(&m->now.qdiscs[i]);
	print_list(m, how, false);
	print_list(m, how, true);
}

/* JSON: what is not told is left out. Texts are printable ASCII already (format_printable()). */

static bool first;

static void json_key(const char *key)
{
	if (!first)
		putchar(',');
	first = false;
	if (key)
		printf("\"%s\":", key);
}

static void json_open(const char *key, char bracket)
{
	json_key(key);
	putchar(bracket);
	first = true;
}

static void json_close(char bracket)
{
	putchar(bracket);
	first = false;
}

static void quoted(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

static void json_text(const char *key, const char *text)
{
	json_key(key);
	quoted(text);
}

static void json_number(const char *key, __u64 n)
{
	json_key(key);
	printf("%llu", (unsigned long long)n);
}

static void json_rate(const char *key, double n)
{
	json_key(key);
	printf("%.1f", n);
}

static void json_place(const struct qdisc *q)
{
	char text[NUMBER_MAX];

	json_text("dev", q->name);
	json_text("handle", format_handle(text, q->handle));
	json_text("parent", format_handle(text, q->parent));
}

static void json_qdisc(const struct qdisc *q)
{
	int sort;

	json_open(NULL, '{');
	json_place(q);
	json_text("kind", q->kind);
	json_number("bytes", q->bytes);
	json_number("packets", q->packets);
	json_number("drops", q->drops);
	json_number("marks", q->marks);
	json_number("requeues", q->requeues);
	json_number("backlog", q->backlog);
	json_number("qlen", q->qlen);
	if (q->rates_known) {
		json_rate("rate", q->rate);
		json_rate("packet_rate", q->packet_rate);
		json_rate("drop_rate", q->drop_rate);
		json_rate("mark_rate", q->mark_rate);
	}
	json_open("flows", '{');
	for (sort = 0; sort < SORTS; sort++) {
		const struct entry e = { .sort = sort };

		json_open(format_sort(&e), '{');
		json_number("known", q->sorts[sort].known);
		json_number("waiting", q->sorts[sort].waiting);
		json_number("backlog", q->sorts[sort].backlog);
		json_number("waited_us", q->sorts[sort].waited);
		json_close('}');
	}
	json_close('}');
	json_number("hosts", q->hosts);
	json_number("hosts_over", q->hosts_over);
	json_close('}');
}

/* By the names that tc has for them */
static void json_ends(const struct entry *e)
{
	char text[ADDRESS_MAX], number[NUMBER_MAX];

	if (TOLD(e, ETHERTYPE))
		json_text("proto", format_proto(number, e));
	if (TOLD(e, SRC))
		json_text("src", format_address(text, e, false));
	if (TOLD(e, SPORT))
		json_number("sport", e->sport);
	if (TOLD(e, DST))
		json_text("dst", format_address(text, e, true));
	if (TOLD(e, DPORT))
		json_number("dport", e->dport);
	if (TOLD(e, INNER))
		json_number("inner", e->inner);
}

static void json_entry(const struct snapshot *s, const struct entry *e)
{
	static const char * const types[] = {
		[TC_SF_CLASS_FLOW] = "flow",
		[TC_SF_CLASS_HOST] = "host",
		[TC_SF_CLASS_OVERFLOW] = "rest",
	};

	json_open(NULL, '{');
	json_place(qdisc_of(s, e));
	json_text("type", types[e->type]);
	if (TOLD(e, RECORD))
		json_number("record", e->record);
	if (e->type != TC_SF_CLASS_HOST)
		json_text("sort", format_sort(e));
	if (TOLD(e, HOST))
		json_number("host", e->host);
	if (TOLD(e, NAMED))
		json_number("named", e->named);
	json_ends(e);
	if (TOLD(e, ATTAINED))
		json_number("attained", e->attained);
	json_number("bytes", e->bytes);
	json_number("packets", e->packets);
	json_number("drops", e->drops);
	json_number("marks", e->marks);
	json_number("backlog", e->backlog);
	json_number("qlen", e->qlen);
	if (TOLD(e, WAITED))
		json_number("waited_us", e->waited);
	if (TOLD(e, SILENT))
		json_number("silent_ms", e->silent);
	if (TOLD(e, FLOWS))
		json_number("flows", e->flows);
	if (TOLD(e, LEVEL))
		json_number("level", e->level);
	if (TOLD(e, OVER)) {
		json_key("over");
		printf(e->over ? "true" : "false");
	}
	if (e->rate_known) {
		json_rate("rate", e->rate);
		json_rate("drop_rate", e->drop_rate);
	}
	json_close('}');
	putchar('\n');	/* for those who read it by lines */
}

static void json_list(const char *key, const struct monitor *m, const struct output *how,
		      bool hosts)
{
	struct choice choice = { .hosts = hosts, .order = how->order };
	struct list list = {};
	size_t i;

	list_make(&list, &m->now, &choice);
	json_open(key, '[');
	for (i = 0; i < list.n && i < how->limit; i++)
		json_entry(&m->now, &m->now.entries[list.items[i].entry]);
	json_close(']');
	list_free(&list);
}

void output_json(const struct monitor *m, const struct output *how)
{
	const char *notice = output_notice(&m->now);
	struct timespec now;
	size_t i;

	clock_gettime(CLOCK_REALTIME, &now);
	first = true;
	json_open(NULL, '{');
	json_number("version", 1);
	json_key("time");
	printf("%lld.%03ld", (long long)now.tv_sec, now.tv_nsec / 1000000);
	if (notice)
		json_text("notice", notice);
	json_open("qdiscs", '[');
	for (i = 0; i < m->now.n_qdiscs; i++)
		json_qdisc(&m->now.qdiscs[i]);
	json_close(']');
	json_list("flows", m, how, false);
	json_list("hosts", m, how, true);
	json_close('}');
	putchar('\n');
}

/* Metrics. All of a name stand together, as the format wants it. */

struct metric {
	const char *name, *type, *help;
	size_t offset, size;	/* of its value */
	double divisor;		/* 0: none */
};

static const struct metric of_qdiscs[] = {
	{ "sent_bytes_total", "counter", "Bytes sent.",
	  offsetof(struct qdisc, bytes), sizeof(__u64) },
	{ "sent_packets_total", "counter", "Packets sent.",
	  offsetof(struct qdisc, packets), sizeof(__u64) },
	{ "dropped_packets_total", "counter", "Packets dropped.",
	  offsetof(struct qdisc, drops), sizeof(__u64) },
	{ "marked_packets_total", "counter", "Packets marked by ECN.",
	  offsetof(struct qdisc, marks), sizeof(__u64) },
	{ "requeues_total", "counter", "Packets that the device did not take at once.",
	  offsetof(struct qdisc, requeues), sizeof(__u32) },
	{ "backlog_bytes", "gauge", "Bytes that wait.",
	  offsetof(struct qdisc, backlog), sizeof(__u32) },
	{ "backlog_packets", "gauge", "Packets that wait.",
	  offsetof(struct qdisc, qlen), sizeof(__u32) },
	{ "hosts", "gauge", "Hosts that are known.", offsetof(struct qdisc, hosts), sizeof(__u32) },
	{ "hosts_over", "gauge", "Hosts over their share.",
	  offsetof(struct qdisc, hosts_over), sizeof(__u32) },
	{}
};

static const struct metric of_sorts[] = {
	{ "flows", "gauge", "Flows that are remembered.",
	  offsetof(struct tally, known), sizeof(__u32) },
	{ "flows_waiting", "gauge", "Flows with packets that wait.",
	  offsetof(struct tally, waiting), sizeof(__u32) },
	{ "flows_backlog_bytes", "gauge", "Bytes that wait, by sort of flow.",
	  offsetof(struct tally, backlog), sizeof(__u64) },
	{ "flows_longest_wait_seconds", "gauge",
	  "How long the first packet of a flow has waited, the longest of all.",
	  offsetof(struct tally, waited), sizeof(__u32), 1e6 },
	{}
};

static const struct metric of_hosts[] = {
	{ "host_sent_bytes_total", "counter", "Bytes sent since the host is known.",
	  offsetof(struct entry, bytes), sizeof(__u64) },
	{ "host_sent_packets_total", "counter", "Packets sent since the host is known.",
	  offsetof(struct entry, packets), sizeof(__u64) },
	{ "host_dropped_packets_total", "counter", "Packets dropped since the host is known.",
	  offsetof(struct entry, drops), sizeof(__u32) },
	{ "host_backlog_bytes", "gauge", "Bytes of the host that wait.",
	  offsetof(struct entry, backlog), sizeof(__u32) },
	{ "host_flows_waiting", "gauge", "Flows of the host with packets that wait.",
	  offsetof(struct entry, flows), sizeof(__u32) },
	{}
};

static void print_head(const struct metric *m)
{
	printf("# HELP shortfirst_%s %s\n# TYPE shortfirst_%s %s\n", m->name, m->help, m->name,
	       m->type);
}

/* What a sample begins with; more labels, or "}", come next. */
static void print_place(const struct metric *m, const struct qdisc *q)
{
	char handle[NUMBER_MAX], parent[NUMBER_MAX];

	printf("shortfirst_%s{device=", m->name);
	quoted(q->name);
	printf(",kind=\"%s\",qdisc=\"%s\",parent=\"%s\"", q->kind, format_handle(handle, q->handle),
	       format_handle(parent, q->parent));
}

static void print_value(const struct metric *m, const void *of)
{
	__u64 wide;
	__u32 narrow;

	if (m->size == sizeof(wide)) {
		memcpy(&wide, (const char *)of + m->offset, sizeof(wide));
	} else {
		memcpy(&narrow, (const char *)of + m->offset, sizeof(narrow));
		wide = narrow;
	}
	if (m->divisor)
		printf("} %.9g\n", wide / m->divisor);
	else
		printf("} %llu\n", (unsigned long long)wide);
}

static void print_qdiscs(const struct metric *m, const struct snapshot *s)
{
	size_t i;

	print_head(m);
	for (i = 0; i < s->n_qdiscs; i++) {
		print_place(m, &s->qdiscs[i]);
		print_value(m, &s->qdiscs[i]);
	}
}

static void print_sorts(const struct metric *m, const struct snapshot *s)
{
	size_t i;
	int sort;

	print_head(m);
	for (i = 0; i < s->n_qdiscs; i++) {
		for (sort = TC_SF_SORT_NEW; sort < SORTS; sort++) {
			const struct entry e = { .sort = sort };

			print_place(m, &s->qdiscs[i]);
			printf(",sort=\"%s\"", format_sort(&e));
			print_value(m, &s->qdiscs[i].sorts[sort]);
		}
	}
}

static void print_hosts(const struct metric *m, const struct snapshot *s, const struct list *list,
			size_t limit)
{
	char src[ADDRESS_MAX], dst[ADDRESS_MAX];
	size_t i;

	print_head(m);
	for (i = 0; i < list->n && i < limit; i++) {
		const struct entry *e = &s->entries[list->items[i].entry];

		print_place(m, qdisc_of(s, e));
		printf(",host=\"%u\",source=\"%s\",destination=\"%s\"", e->host,
		       format_address(src, e, false), format_address(dst, e, true));
		print_value(m, e);
	}
}

void output_prometheus(const struct monitor *monitor, const struct output *how)
{
	struct choice choice = { .hosts = true, .order = how->order };
	const struct snapshot *s = &monitor->now;
	const struct metric *m;
	struct list list = {};

	for (m = of_qdiscs; m->name; m++)
		print_qdiscs(m, s);
	for (m = of_sorts; m->name; m++)
		print_sorts(m, s);
	if (!how->hosts)
		return;
	list_make(&list, s, &choice);
	for (m = of_hosts; m->name; m++)
		print_hosts(m, s, &list, how->limit);
	list_free(&list);
}
