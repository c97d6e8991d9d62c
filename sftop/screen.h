/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SFTOP_SCREEN_H
#define SFTOP_SCREEN_H

#include "model.h"

/* What to do where there is no qdisc of ours */
#define SCREEN_ADVICE \
	"Set one: shortfirst start DEV --up RATE --down RATE, or tc qdisc replace dev DEV root las"

struct screen_options {
	enum order order;
	double delay;
	long count;		/* refreshes; 0: no end */
};

/* False if the terminal can show none, or sftop was built without */
bool screen_open(void);
void screen_run(struct monitor *m, const struct screen_options *how);
void screen_close(void);

#endif
