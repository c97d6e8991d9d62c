/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Log lines for people and programs: "<priority>event key=value key="a value"", as journald and
 * logfmt have them, on stderr.
 */
#ifndef SCHED_TCP_LOG_H
#define SCHED_TCP_LOG_H

#include <syslog.h>

/* log_line - print a line
 * @priority: LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO or LOG_DEBUG
 * @event: what has happened, words with - between them: "handshake-failed"
 * @format: "key=%s other=%u": a value that has blanks, quotes or control characters is quoted,
 *          and what is not printable in it escaped, since strangers choose such values
 *
 * Of one event at most 20 lines a second are printed, then how many were not.
 */
void log_line(int priority, const char *event, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

extern int log_level;	/* lines of a higher number are not printed; LOG_INFO unless told */

#endif
