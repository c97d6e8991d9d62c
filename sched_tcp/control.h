/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control socket, by which `sched-tcp status` and `sched-tcp policy PEER POLICY` talk to the
 * daemon: a line of text each, answered by a document of JSON, then closed.
 */
#ifndef SCHED_TCP_CONTROL_H
#define SCHED_TCP_CONTROL_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>

#include "config.h"

/* Of the daemon: what there is, as JSON; and a peer's policy from now on (-1: no such peer) */
json_t *status_json(bool flows);
int status_policy(const char *peer, enum policy policy);

bool control_open(struct event_base *base, const char *path);
void control_close(void);

/* control_client - say @line to the daemon and print what it answers
 * @json: as it comes; else as tables for a person
 *
 * Return: the exit status
 */
int control_client(const char *path, const char *line, bool json);

#endif
