/* SPDX-License-Identifier: GPL-2.0 */
/* What fetch and packets are told of a group of flows: NAME:KEY=NUMBER,KEY=NUMBER,... */
#ifndef LAB_GROUP_H
#define LAB_GROUP_H

#include <err.h>
#include <stdlib.h>
#include <string.h>

#define NAME_ROOM	16

/* @value[i] is what the i-th of the @keys is; one that is not there stays as it was. */
static inline void parse_group(const char *arg, char *name, char *const *keys, double *value)
{
	char *copy = strdup(arg), *rest, *number, *end;
	size_t len = strcspn(arg, ":");
	int key;

	if (!copy)
		err(1, "%s", arg);
	if (!len || len >= NAME_ROOM || !arg[len])
		errx(1, "%s: no NAME:KEY=NUMBER,...", arg);
	memcpy(name, arg, len);
	name[len] = 0;
	for (rest = copy + len + 1; *rest;) {
		key = getsubopt(&rest, keys, &number);
		if (key < 0 || !number)
			errx(1, "%s: no KEY=NUMBER at \"%s\"", arg, number ? number : "");
		value[key] = strtod(number, &end);
		if (!*number || *end || !(value[key] >= 0))
			errx(1, "%s: %s is no number of 0 or more", arg, number);
	}
	free(copy);
}

#endif
