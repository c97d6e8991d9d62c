// SPDX-License-Identifier: GPL-2.0
/*
 * In place of screen.c and names.c, where there is no ncurses to build with
 */
#include "screen.h"

bool screen_open(void)
{
	return false;
}

void screen_run(struct monitor *m, const struct screen_options *how)
{
	(void)m;
	(void)how;
}

void screen_close(void)
{
}
