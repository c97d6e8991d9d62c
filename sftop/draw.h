/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is on the screen: a head with the sums and the graphs of the longest wait, and a table. Of
 * flows it has two panes, one above the other: new and short ones, and long ones.
 *
 *	sftop  eth0 las 1: root                                      [Flows] Hosts
 *	12Mbit/s 1.2k packets/s  dropped 0/s  marked 0/s  waiting 64kB in 50 packets
 *	...
 *	S PROTO SOURCE ...
 *	S tcp  10.0.0.1:1234 ...
 *	--- long: 3 flows
 *	L tcp  10.0.0.2:4321 ...
 *	h Help  q Quit  ...
 */
#ifndef SFTOP_DRAW_H
#define SFTOP_DRAW_H

#include "model.h"

#define FILTER_MAX	48
#define PANES		2

enum overlay { NOTHING, HELP, SORT_MENU, FILTER };

struct view {
	struct monitor *m;
	struct choice choice;
	struct list list;
	char dev[IFNAMSIZ];	/* the name to be printed; "": all */
	char filter[FILTER_MAX];
	size_t selected;	/* of the list */
	size_t top[PANES];	/* the first that is shown of each, counted in the pane */
	int page;		/* rows of the pane with the selected one */
	bool names;
	enum overlay overlay;
	enum order menu;	/* what is selected in it */
};

/* With colours if @colour, and with more than ASCII if @wide */
void draw_begin(bool colour, bool wide);
void draw(struct view *v);

#endif
