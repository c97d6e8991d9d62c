/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SFTOP_OUTPUT_H
#define SFTOP_OUTPUT_H

#include "model.h"

struct output {
	enum order order;
	size_t limit;		/* flows, and as many hosts */
	bool hosts;		/* of --prometheus */
};

/* For people, of the last refresh */
void output_table(const struct monitor *m, const struct output *how);
/* One object, as docs/sftop.schema.json has it */
void output_json(const struct monitor *m, const struct output *how);
/* For the textfile collector of Prometheus */
void output_prometheus(const struct monitor *m, const struct output *how);

/* What is to be said beside it, or NULL */
const char *output_notice(const struct snapshot *s);

#endif
