// SPDX-License-Identifier: GPL-2.0
#include <curses.h>
#include <stdarg.h>
#include <string.h>

#include "draw.h"
#include "format.h"
#include "names.h"
#include "output.h"
#include "screen.h"

#define GRAPH_LABEL	24	/* columns */
#define TALL		40	/* lines, from which on graphs are higher */

enum colour { PLAIN, COLOUR_SHORT, COLOUR_NEW, COLOUR_LONG, COLOUR_BAD };

static bool coloured, more_than_ascii;
static int line_y;	/* where text_at() and text() write */

void draw_begin(bool colour, bool wide)
{
	more_than_ascii = wide;
	coloured = colour && has_colors() && start_color() == OK && use_default_colors() == OK;
	if (!coloured)
		return;
	init_pair(COLOUR_SHORT, COLOR_GREEN, -1);
	init_pair(COLOUR_NEW, COLOR_CYAN, -1);
	init_pair(COLOUR_LONG, COLOR_YELLOW, -1);
	init_pair(COLOUR_BAD, COLOR_RED, -1);
}

static attr_t in(enum colour colour)
{
	return coloured ? COLOR_PAIR(colour) : 0;
}

static enum colour colour_of(const struct entry *e)
{
	if (e->over || e->sort == TC_SF_SORT_LONG)
		return COLOUR_LONG;
	return e->sort == TC_SF_SORT_NEW ? COLOUR_NEW : COLOUR_SHORT;
}

/* Go to the beginning of a line; false if the screen has none there. */
static bool text_at(int y)
{
	line_y = y;
	return y >= 0 && move(y, 0) != ERR;
}

/* Append what fits to the line. */
GCC_PRINTFLIKE(1, 2)
static void text(const char *format, ...)
{
	char buffer[256];
	va_list args;
	int y, x;

	getyx(stdscr, y, x);
	if (y != line_y)	/* the line is full */
		return;
	va_start(args, format);
	vsnprintf(buffer, sizeof(buffer), format, args);
	va_end(args);
	addnstr(buffer, COLS - x);
}

/* The rest of the line looks like this, too. */
static void fill(attr_t attr)
{
	if (getcury(stdscr) == line_y)
		chgat(-1, attr & ~A_COLOR, PAIR_NUMBER(attr), NULL);
}

/* The head */

static bool shown(const struct view *v, const struct qdisc *q)
{
	return !v->choice.ifindex || v->choice.ifindex == q->ifindex;
}

/* All that is shown, as one */
static struct qdisc sum(const struct view *v, unsigned int *n)
{
	const struct snapshot *s = &v->m->now;
	struct qdisc all = {};
	size_t i;
	int sort;

	*n = 0;
	for (i = 0; i < s->n_qdiscs; i++) {
		const struct qdisc *q = &s->qdiscs[i];

		if (!shown(v, q))
			continue;
		++*n;
		all.drops += q->drops;
		all.marks += q->marks;
		all.qlen += q->qlen;
		all.backlog += q->backlog;
		all.rates_known |= q->rates_known;
		all.rate += q->rate;
		all.packet_rate += q->packet_rate;
		all.drop_rate += q->drop_rate;
		all.mark_rate += q->mark_rate;
		all.hosts += q->hosts;
		all.hosts_over += q->hosts_over;
		for (sort = 0; sort < SORTS; sort++) {
			struct tally *to = &all.sorts[sort];
			const struct tally *from = &q->sorts[sort];

			to->known += from->known;
			to->waiting += from->waiting;
			to->backlog += from->backlog;
			if (from->waited > to->waited)
				to->waited = from->waited;
		}
	}
	return all;
}

static void draw_title(const struct view *v, unsigned int n)
{
	const struct snapshot *s = &v->m->now;
	char handle[NUMBER_MAX], parent[NUMBER_MAX];
	const char *tabs = v->choice.hosts ? " Flows [Hosts]" : "[Flows] Hosts ";
	size_t i;

	if (!text_at(0))
		return;
	attron(A_REVERSE);
	text("sftop  %s", *v->dev ? v->dev : "all interfaces");
	for (i = 0; n == 1 && i < s->n_qdiscs; i++) {
		const struct qdisc *q = &s->qdiscs[i];

		if (shown(v, q))
			text("%s%s  %s %s %s", *v->dev ? "" : ": ", *v->dev ? "" : q->name, q->kind,
			     format_handle(handle, q->handle), format_handle(parent, q->parent));
	}
	if (n > 1)
		text("  %u qdiscs", n);
	else if (!n && *v->dev)
		text("  no qdisc of shortfirst there now");
	fill(A_REVERSE);
	if (COLS > 60) {
		move(0, COLS - strlen(tabs));
		text("%s", tabs);
	}
	attroff(A_REVERSE);
}

static void draw_sums(const struct qdisc *all)
{
	const struct tally *t = all->sorts;
	char a[NUMBER_MAX], b[NUMBER_MAX];

	if (!text_at(1))
		return;
	if (all->rates_known)
		text("%sbit/s %s packets/s  ", format_count(a, 8 * all->rate),
		     format_count(b, all->packet_rate));
	attron(all->drop_rate > 0 ? in(COLOUR_BAD) : 0);
	text("dropped %s/s", format_count(a, all->drop_rate));
	attroff(in(COLOUR_BAD));
	text("  marked %s/s", format_count(a, all->mark_rate));
	text("  waiting %sB in %u packets", format_count(a, all->backlog), all->qlen);
	if (!text_at(2))
		return;
	text("flows (waiting): ");
	attron(in(COLOUR_NEW));
	text("%u (%u) new  ", t[TC_SF_SORT_NEW].known, t[TC_SF_SORT_NEW].waiting);
	attroff(in(COLOUR_NEW));
	attron(in(COLOUR_SHORT));
	text("%u (%u) short  ", t[TC_SF_SORT_SHORT].known, t[TC_SF_SORT_SHORT].waiting);
	attroff(in(COLOUR_SHORT));
	attron(in(COLOUR_LONG));
	text("%u (%u) long", t[TC_SF_SORT_LONG].known, t[TC_SF_SORT_LONG].waiting);
	attroff(in(COLOUR_LONG));
	if (all->hosts)
		text("  hosts (over): %u (%u)", all->hosts, all->hosts_over);
}

/* The longest wait that was so many looks ago */
static __u32 wait_of(const struct view *v, enum history which, unsigned int ago)
{
	const struct snapshot *s = &v->m->now;
	__u32 most = 0, waited;
	size_t i;

	for (i = 0; i < s->n_qdiscs; i++) {
		if (!s->qdiscs[i].history || !shown(v, &s->qdiscs[i]))
			continue;
		waited = s->qdiscs[i].history[(v->m->number - ago) % HISTORY][which];
		if (waited > most)
			most = waited;
	}
	return most;
}

/* Of a bar of @level eighths what is @row rows above the lowest one */
static const char *bar(unsigned int level, unsigned int row)
{
	static const char * const blocks[] = {
		" ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"
	};
	static const char * const ascii[] = { " ", ".", ".", ":", ":", "|", "|", "#", "#" };
	unsigned int part = level <= 8 * row ? 0 : level - 8 * row;

	if (part > 8)
		part = 8;
	return more_than_ascii ? blocks[part] : ascii[part];
}

static void draw_graph(const struct view *v, enum history which, const char *label, int y,
		       int height)
{
	unsigned int columns = COLS, ago, level;
	char now[NUMBER_MAX], max[NUMBER_MAX];
	__u32 most = 0, waited;
	int row;

	columns -= columns > GRAPH_LABEL ? GRAPH_LABEL : columns;
	if (columns > HISTORY - 1)
		columns = HISTORY - 1;
	for (ago = 0; ago < columns; ago++) {
		waited = wait_of(v, which, ago);
		most = waited > most ? waited : most;
	}
	attron(in(which == HISTORY_LONG ? COLOUR_LONG : COLOUR_SHORT));
	if (text_at(y))
		text("%s %s, most %s", label, format_time(now, wait_of(v, which, 0)),
		     format_time(max, most));
	for (row = 0; row < height; row++) {
		if (move(y + height - 1 - row, GRAPH_LABEL) == ERR)
			continue;
		for (ago = columns; ago--;) {
			waited = wait_of(v, which, ago);
			level = most ? ((__u64)waited * 8 * height + most - 1) / most : 0;
			addstr(bar(level, row));
		}
	}
	attroff(in(which == HISTORY_LONG ? COLOUR_LONG : COLOUR_SHORT));
}

/* The table */

struct column {
	const char *name;
	int width;		/* 0: it shares what the others leave */
	int order;		/* by which it is sorted, or -1 */
	bool flows, hosts;
	bool roomy;		/* only if there is room */
	bool left;
	const char *(*value)(char *to, const struct view *v, const struct entry *e);
};

#define CELL_MAX	96

static const char *cell_number(char *to, __u64 n)
{
	return format_count(to, n);
}

static const char *cell_dev(char *to, const struct view *v, const struct entry *e)
{
	(void)to;
	return qdisc_of(&v->m->now, e)->name;
}

static const char *cell_sort(char *to, const struct view *v, const struct entry *e)
{
	(void)v;
	to[0] = format_sort(e)[0] - 'a' + 'A';
	to[1] = 0;
	return to;
}

static const char *cell_over(char *to, const struct view *v, const struct entry *e)
{
	(void)to;
	(void)v;
	return e->over ? "over" : "";
}

static const char *cell_proto(char *to, const struct view *v, const struct entry *e)
{
	(void)v;
	return format_proto(to, e);
}

static const char *end_of(char *to, const struct view *v, const struct entry *e, bool dst)
{
	const char *name = NULL;

	if (v->names && (dst ? TOLD(e, DST) : TOLD(e, SRC)))
		name = name_of(dst ? e->dst : e->src, e->address_len);
	return format_end(to, e, dst, name);
}

static const char *cell_src(char *to, const struct view *v, const struct entry *e)
{
	end_of(to, v, e, false);
	return *to || TOLD(e, DST) ? to : format_unnamed(to, e);
}

static const char *cell_dst(char *to, const struct view *v, const struct entry *e)
{
	return end_of(to, v, e, true);
}

static const char *cell_rate(char *to, const struct view *v, const struct entry *e)
{
	(void)v;
	return e->rate_known ? format_count(to, 8.0 * e->rate) : "-";
}

static const char *cell_waiting(char *to, const struct view *v, const struct entry *e)
{
	(void)v;
	return cell_number(to, e->backlog);
}

static const char *cell_waited(char *to, const struct view *v, const struct entry *e)
{
	(void)v;
	return TOLD(e, WAITED) ? format_time(to, e->waited) : "";
}

static const char *cell_drops(char *to, const struct view *v, const struct entry *e)
{
	(void)v;
	return cell_number(to, e->drops);
}

static const char *cell_bytes(char *to, const struct view *v, const struct entry *e)
{
	(void)v;
	return cell_number(to, e->bytes);
}

static const char *cell_attained(char *to, const struct view *v, const struct entry *e)
{
	(void)v;
	return TOLD(e, ATTAINED) ? cell_number(to, e->attained) : "";
}

static const char *cell_packets(char *to, const struct view *v, const struct entry *e)
{
	(void)v;
	return cell_number(to, e->packets);
}

static const char *cell_marks(char *to, const struct view *v, const struct entry *e)
{
	(void)v;
	return cell_number(to, e->marks);
}

static const char *cell_flows(char *to, const struct view *v, const struct entry *e)
{
	(void)v;
	return cell_number(to, e->flows);
}

static const char *cell_level(char *to, const struct view *v, const struct entry *e)
{
	(void)v;
	return TOLD(e, LEVEL) ? cell_number(to, e->level) : "";
}

static const char *cell_silent(char *to, const struct view *v, const struct entry *e)
{
	(void)v;
	return TOLD(e, SILENT) ? format_time(to, e->silent * 1000ull) : "";
}

static const char *cell_host(char *to, const struct view *v, const struct entry *e)
{
	(void)v;
	if (!TOLD(e, HOST))
		return "";
	snprintf(to, CELL_MAX, "%u", e->host);
	return to;
}

static const char *cell_record(char *to, const struct view *v, const struct entry *e)
{
	(void)v;
	if (!TOLD(e, RECORD))
		return "";
	snprintf(to, CELL_MAX, "%u", e->record);
	return to;
}

#define BOTH	.flows = true, .hosts = true

static const struct column columns[] = {
	{ "DEV", 8, -1, BOTH, .left = true, .value = cell_dev },
	{ "S", 1, -1, .flows = true, .left = true, .value = cell_sort },
	{ "PROTO", 5, -1, .flows = true, .left = true, .value = cell_proto },
	{ "SOURCE", 0, -1, BOTH, .left = true, .value = cell_src },
	{ "DESTINATION", 0, -1, BOTH, .left = true, .value = cell_dst },
	{ "SHARE", 5, -1, .hosts = true, .left = true, .value = cell_over },
	{ "FLOWS", 5, -1, .hosts = true, .value = cell_flows },
	{ "BIT/S", 5, BY_RATE, BOTH, .value = cell_rate },
	{ "WAITS", 5, BY_WAITING, BOTH, .value = cell_waiting },
	{ "WAITED", 6, BY_WAITED, .flows = true, .value = cell_waited },
	{ "DROPS", 5, BY_DROPS, BOTH, .value = cell_drops },
	{ "SENT", 4, BY_BYTES, BOTH, .value = cell_bytes },
	{ "ATTAINED", 8, BY_ATTAINED, .flows = true, .roomy = true, .value = cell_attained },
	{ "LEVEL", 5, -1, .hosts = true, .roomy = true, .value = cell_level },
	{ "MARKS", 5, -1, BOTH, .roomy = true, .value = cell_marks },
	{ "PACKETS", 7, -1, BOTH, .roomy = true, .value = cell_packets },
	{ "SILENT", 6, -1, .flows = true, .roomy = true, .value = cell_silent },
	{ "HOST", 5, -1, BOTH, .roomy = true, .value = cell_host },
	{ "RECORD", 7, -1, .flows = true, .roomy = true, .value = cell_record },
};

#define COLUMNS		(sizeof(columns) / sizeof(*columns))
#define ROOMY		130	/* columns of the screen from which on there is room */
#define END_WIDTH_MAX	(END_MAX - 1)

static bool several_interfaces(const struct view *v)
{
	const struct snapshot *s = &v->m->now;
	size_t i;

	for (i = 1; !*v->dev && i < s->n_qdiscs; i++) {
		if (s->qdiscs[i].ifindex != s->qdiscs[0].ifindex)
			return true;
	}
	return false;
}

static bool is_drawn(const struct column *c, const struct view *v)
{
	if (c->value == cell_dev && !several_interfaces(v))
		return false;
	return (v->choice.hosts ? c->hosts : c->flows) && (!c->roomy || COLS >= ROOMY);
}

/* What is left for each of those that share it */
static int shared_width(const struct view *v)
{
	int left = COLS, sharing = 0, width;
	size_t i;

	for (i = 0; i < COLUMNS; i++) {
		if (!is_drawn(&columns[i], v))
			continue;
		left -= columns[i].width + 1;
		sharing += !columns[i].width;
	}
	width = (left + 1) / sharing;
	if (width < 8)
		width = 8;
	return width < END_WIDTH_MAX ? width : END_WIDTH_MAX;
}

/* What is too long loses its middle: the beginning of an address tells as much as its end. */
static void cell(const char *value, int width, bool left)
{
	int len = strlen(value), head = (width - 1) / 2;

	if (len <= width)
		text(left ? "%-*s" : "%*s", width, value);
	else if (left && width > 8)
		text("%.*s~%s", head, value, value + len - (width - 1 - head));
	else
		text("%.*s", width, value);
}

static void draw_header(const struct view *v, int y, int shared)
{
	bool begun = false;
	size_t i;

	if (!text_at(y))
		return;
	attron(A_REVERSE);
	for (i = 0; i < COLUMNS; i++) {
		const struct column *c = &columns[i];
		bool by = c->order == (int)v->choice.order;

		if (!is_drawn(c, v))
			continue;
		if (begun)
			text(" ");
		begun = true;
		if (by)
			attron(A_BOLD | A_UNDERLINE);
		cell(c->name, c->width ? c->width : shared, c->left);
		if (by)
			attroff(A_BOLD | A_UNDERLINE);
	}
	attroff(A_REVERSE);
	fill(A_REVERSE);
}

static void draw_row(const struct view *v, const struct entry *e, int y, int shared, bool selected)
{
	char value[CELL_MAX];
	bool begun = false;
	size_t i;

	if (!text_at(y))
		return;
	attron(selected ? A_REVERSE : in(colour_of(e)));
	for (i = 0; i < COLUMNS; i++) {
		const struct column *c = &columns[i];

		if (!is_drawn(c, v))
			continue;
		if (begun)
			text(" ");
		begun = true;
		cell(c->value(value, v, e), c->width ? c->width : shared, c->left);
	}
	attroff(selected ? A_REVERSE : in(colour_of(e)));
	if (selected)
		fill(A_REVERSE);
}

/* Some of the list, beginning with @from, @n in all, in @height lines */
static void draw_pane(struct view *v, int pane, size_t from, size_t n, int y, int height,
		      int shared)
{
	bool here = v->selected >= from && v->selected < from + n;
	size_t *top = &v->top[pane];
	int row;

	if (height <= 0)
		return;
	if (here) {
		size_t at = v->selected - from;

		v->page = height;
		if (at < *top)
			*top = at;
		if (at >= *top + height)
			*top = at - height + 1;
	}
	if (*top + height > n)
		*top = n > (size_t)height ? n - height : 0;
	for (row = 0; row < height && *top + row < n; row++) {
		size_t at = from + *top + row;

		draw_row(v, &v->m->now.entries[v->list.items[at].entry], y + row, shared,
			 at == v->selected);
	}
}

static void draw_line(int y, const char *what, size_t n)
{
	char number[64];

	if (!text_at(y))
		return;
	snprintf(number, sizeof(number), " %s: %zu flows ", what, n);
	attron(A_DIM);
	hline(more_than_ascii ? ACS_HLINE : '-', COLS);
	attroff(A_DIM);
	move(y, 2);
	attron(in(COLOUR_LONG) | A_BOLD);
	text("%s", number);
	attroff(in(COLOUR_LONG) | A_BOLD);
}

static void draw_table(struct view *v, int y, int end)
{
	size_t n_first = v->list.n_first, n_long = v->list.n - n_first;
	int shared = shared_width(v), rows = end - y - 1, rows_long;

	draw_header(v, y++, shared);
	if (v->choice.hosts) {
		draw_pane(v, 0, 0, v->list.n, y, rows, shared);
		return;
	}
	rows--;
	rows_long = rows / 2;
	if (n_long < (size_t)rows_long)
		rows_long = n_long;
	if (n_first < (size_t)(rows - rows_long > 0 ? rows - rows_long : 0))
		rows_long = rows - n_first;
	draw_pane(v, 0, 0, n_first, y, rows - rows_long, shared);
	draw_line(y + rows - rows_long, "long", n_long);
	draw_pane(v, 1, n_first, n_long, y + rows - rows_long + 1, rows_long, shared);
}

/* What lies over it */

static void draw_help(int y)
{
	static const char * const lines[] = {
		"arrows, PgUp, PgDn, Home, End   move",
		"Tab, F        flows or hosts",
		"i             the next interface, or all",
		"s             what to sort by; < and > for the one before and the next",
		"R W T D B A   sort by rate, what waits, how long it has waited, drops,",
		"              bytes sent, bytes attained",
		"I             the least first",
		"/             only what has this in it; Esc: all again",
		"r             names of addresses; asks the name server",
		"q             quit",
		"",
		"S: N new, nothing was sent of it yet; S short, goes first; L long",
		"BIT/S: lately  WAITS: bytes  WAITED: its first packet, so far",
		"ATTAINED: bytes that count against a flow (what is forgiven is not)",
		"The graphs are the longest that a first packet has waited.",
	};
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		if (!text_at(y + i))
			return;
		clrtoeol();
		text("  %s", lines[i]);
	}
}

static void draw_menu(const struct view *v, int y)
{
	int i;

	for (i = -1; i < ORDERS; i++) {
		if (!text_at(y + 1 + i))
			return;
		attron(i == (int)v->menu || i < 0 ? A_REVERSE : 0);
		text(" %-9s ", i < 0 ? "Sort by" : order_names[i]);
		attroff(A_REVERSE);
		text("|");
	}
}

static void draw_foot(const struct view *v)
{
	int last = LINES - 1;

	if (!text_at(last))
		return;
	attron(A_REVERSE);
	if (v->overlay == FILTER) {
		text("Filter: %s_", v->filter);
	} else if (v->m->now.error) {
		text("Cannot read from the kernel: %s", v->m->now.error);
	} else {
		text("h Help  q Quit  Tab %s  i Interface  s Sort  / Filter",
		     v->choice.hosts ? "Flows" : "Hosts");
		if (*v->filter)
			text(": %s", v->filter);
		text("  r Names%s", v->names ? " off" : "");
	}
	attroff(A_REVERSE);
	fill(A_REVERSE);
}

/* Why there is nothing, or no address */
static bool draw_advice(const struct view *v, int y)
{
	const char *notice = output_notice(&v->m->now);

	if (!v->m->now.n_qdiscs && text_at(y + 1)) {
		text("  No qdisc of shortfirst here. Set one:");
		if (text_at(y + 2))
			text("    shortfirst start DEV --up RATE --down RATE");
		if (text_at(y + 3))
			text("    tc qdisc replace dev DEV root las");
		return true;
	}
	if (notice && text_at(y)) {
		attron(A_BOLD);
		text("%s", notice);
		attroff(A_BOLD);
	}
	return false;
}

void draw(struct view *v)
{
	int lines = LINES, height = lines >= TALL ? 4 : 1, y = 3;
	unsigned int n;
	struct qdisc all = sum(v, &n);

	erase();
	v->page = 1;
	draw_title(v, n);
	draw_sums(&all);
	draw_graph(v, HISTORY_FIRST, "short", y, height);
	y += height;
	draw_graph(v, HISTORY_LONG, "long ", y, height);
	y += height;
	if (!draw_advice(v, y)) {
		y += !!output_notice(&v->m->now);
		draw_table(v, y, lines - 1);
	}
	if (v->overlay == HELP)
		draw_help(3);
	else if (v->overlay == SORT_MENU)
		draw_menu(v, y);
	draw_foot(v);
	refresh();
}
