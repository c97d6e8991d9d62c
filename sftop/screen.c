// SPDX-License-Identifier: GPL-2.0
/*
 * The screen: what keys do, and when it is time to look again
 */
#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <time.h>
#include <unistd.h>

#include "draw.h"
#include "format.h"
#include "names.h"
#include "screen.h"

#define ESCAPE		27
#define NAMES_MS	200	/* until a name that has come is drawn */

static SCREEN *terminal;

/* A terminal whose cursor cannot be moved has no screen. */
static bool has_screen(void)
{
	const char *cup;
	bool moves;
	int err;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    setupterm(NULL, STDOUT_FILENO, &err) == ERR)
		return false;
	cup = tigetstr("cup");
	moves = cup && cup != (char *)-1;
	del_curterm(cur_term);
	return moves;
}

bool screen_open(void)
{
	const char *no_color = getenv("NO_COLOR");

	if (!has_screen())
		return false;
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal)
		return false;
	cbreak();
	noecho();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	draw_begin(!no_color || !*no_color, !strcmp(nl_langinfo(CODESET), "UTF-8"));
	return true;
}

void screen_close(void)
{
	endwin();
	delscreen(terminal);
	terminal = NULL;
}

/* The list anew, by what was read or chosen last. The interface may have another number now. */
static void make_list(struct view *v)
{
	const struct snapshot *s = &v->m->now;
	size_t i;

	v->choice.ifindex = *v->dev ? -1 : 0;
	for (i = 0; *v->dev && i < s->n_qdiscs; i++) {
		if (!strcmp(s->qdiscs[i].name, v->dev))
			v->choice.ifindex = s->qdiscs[i].ifindex;
	}
	list_make(&v->list, s, &v->choice);
	if (v->selected >= v->list.n)
		v->selected = v->list.n ? v->list.n - 1 : 0;
}

/* After the interface shown, that of the first other qdisc behind its own; after the last, all */
static void next_interface(struct view *v)
{
	const struct snapshot *s = &v->m->now;
	bool passed = !*v->dev;
	size_t i;

	for (i = 0; i < s->n_qdiscs; i++) {
		bool same = !strcmp(s->qdiscs[i].name, v->dev);

		if (passed && !same) {
			memcpy(v->dev, s->qdiscs[i].name, sizeof(v->dev));
			break;
		}
		passed |= same;
	}
	if (i == s->n_qdiscs)
		*v->dev = 0;
	v->selected = 0;
}

static void sort_by(struct view *v, enum order order)
{
	v->choice.order = order;
	v->selected = 0;
}

static void move_by(struct view *v, long rows)
{
	long last = v->list.n ? v->list.n - 1 : 0, to = (long)v->selected + rows;

	v->selected = to < 0 ? 0 : to > last ? last : to;
}

/* What can be typed is added to the filter. */
static void filter_key(struct view *v, int key)
{
	size_t len = strlen(v->filter);

	if (key == ESCAPE)
		memset(v->filter, 0, sizeof(v->filter));
	if (key == ESCAPE || key == '\n' || key == '\r' || key == KEY_ENTER)
		v->overlay = NOTHING;
	else if (key == KEY_BACKSPACE || key == 127 || key == '\b')
		v->filter[len ? len - 1 : 0] = 0;
	else if (key >= ' ' && key <= '~' && len + 1 < sizeof(v->filter))
		v->filter[len] = key;	/* all behind it is 0 */
	v->selected = 0;
}

static void menu_key(struct view *v, int key)
{
	if (key == KEY_UP && v->menu > 0)
		v->menu--;
	else if (key == KEY_DOWN && v->menu + 1 < ORDERS)
		v->menu++;
	else if (key == '\n' || key == '\r' || key == KEY_ENTER)
		sort_by(v, v->menu);
	if (key != KEY_UP && key != KEY_DOWN && key != KEY_RESIZE)
		v->overlay = NOTHING;
}

/* False: quit */
static bool list_key(struct view *v, int key)
{
	static const struct {
		int key;
		enum order order;
	} orders[] = {
		{ 'R', BY_RATE }, { 'W', BY_WAITING }, { 'T', BY_WAITED }, { 'D', BY_DROPS },
		{ 'B', BY_BYTES }, { 'A', BY_ATTAINED },
	};
	size_t i;

	for (i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		if (orders[i].key == key)
			sort_by(v, orders[i].order);
	}
	switch (key) {
	case 'q':
	case KEY_F(10):
		return false;
	case 'h':
	case '?':
	case KEY_F(1):
		v->overlay = HELP;
		break;
	case '\t':
	case 'F':
		v->choice.hosts = !v->choice.hosts;
		v->selected = 0;
		break;
	case 'i':
		next_interface(v);
		break;
	case 's':
	case KEY_F(6):
		v->overlay = SORT_MENU;
		v->menu = v->choice.order;
		break;
	case '<':
		sort_by(v, (v->choice.order + ORDERS - 1) % ORDERS);
		break;
	case '>':
		sort_by(v, (v->choice.order + 1) % ORDERS);
		break;
	case 'I':
		v->choice.least = !v->choice.least;
		v->selected = 0;
		break;
	case '/':
	case KEY_F(4):
		v->overlay = FILTER;
		break;
	case ESCAPE:
		memset(v->filter, 0, sizeof(v->filter));
		break;
	case 'r':
		v->names = !v->names;
		break;
	case KEY_UP:
		move_by(v, -1);
		break;
	case KEY_DOWN:
		move_by(v, 1);
		break;
	case KEY_PPAGE:
		move_by(v, -v->page);
		break;
	case KEY_NPAGE:
		move_by(v, v->page);
		break;
	case KEY_HOME:
		v->selected = 0;
		break;
	case KEY_END:
		move_by(v, v->list.n);
		break;
	}
	return true;
}

static bool take_key(struct view *v, int key)
{
	switch (v->overlay) {
	case HELP:
		if (key != KEY_RESIZE)
			v->overlay = NOTHING;
		return true;
	case SORT_MENU:
		menu_key(v, key);
		return true;
	case FILTER:
		filter_key(v, key);
		return true;
	default:
		return list_key(v, key);
	}
}

static __u64 now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

/* Do what keys say until it is time to look again; false: quit. */
static bool keys_until(struct view *v, __u64 when)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	__u64 now, left;
	int key;

	for (now = now_ms(); now < when; now = now_ms()) {
		draw(v);
		left = when - now;
		if (v->names && names_pending() && left > NAMES_MS)
			left = NAMES_MS;
		if (poll(&input, 1, left) < 0 && errno != EINTR)
			return false;
		if (input.revents & (POLLHUP | POLLERR | POLLNVAL))
			return false;
		while ((key = getch()) != ERR) {
			if (!take_key(v, key))
				return false;
			make_list(v);
		}
	}
	return true;
}

void screen_run(struct monitor *m, const struct screen_options *how)
{
	struct view v = { .m = m, .choice = { .apart = true, .order = how->order } };
	__u64 when = now_ms(), every = how->delay * 1000;
	long i = 0;

	v.choice.filter = v.filter;
	if (m->n_wanted == 1)
		format_printable(v.dev, *m->wanted, sizeof(v.dev));
	do {
		when += every;
		if (when < now_ms())	/* it was stopped, or is too slow */
			when = now_ms() + every;
		make_list(&v);
		if (!keys_until(&v, when))
			break;
		monitor_refresh(m);
	} while (!how->count || ++i < how->count);
	list_free(&v.list);
}
