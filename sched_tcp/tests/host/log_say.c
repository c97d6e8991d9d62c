// SPDX-License-Identifier: GPL-2.0
/* log_say: lines of the standard input, each "MILLISECONDS PRIORITY EVENT VALUE", are logged as if
 * it was so late, as value=VALUE; of VALUE % and two hex digits are a byte. log_say -f logs one of
 * each conversion.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../log.h"

static long now;	/* ms */

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	(void)clock;
	time->tv_sec = now / 1000;
	time->tv_nsec = now % 1000 * 1000000;
	return 0;
}

static void decode(char *text)
{
	char *to = text;

	for (; *text; text++) {
		unsigned int byte;

		if (*text == '%' && sscanf(text + 1, "%2x", &byte) == 1) {
			*to++ = (char)byte;
			text += 2;
		} else {
			*to++ = *text;
		}
	}
	*to = 0;
}

static void formats(void)
{
	now = 5000;
	errno = ENOENT;
	log_line(LOG_DEBUG, "hidden", "a=%d", 1);
	log_line(LOG_ERR, "all",
		 "s=%s i=%d u=%u x=%08x z=%zu l=%ld q=%llu c=%c f=%.2f cut=%.*s p=100%% at=[%s]:%u m=%m",
		 "text", -1, ~0U, 255U, SIZE_MAX, -2L, ~0ULL, 'c', 1.5, 2, "abc", "::1", 80U);
	if (errno != ENOENT)
		exit(1);
	log_line(LOG_INFO, "nothing", " ");
}

int main(int argc, char **argv)
{
	static char line[1 << 20], value[1 << 20];
	char event[64];
	int priority;

	if (argc > 1 && !strcmp(argv[1], "-f")) {
		formats();
		return 0;
	}
	while (fgets(line, sizeof(line), stdin)) {
		value[0] = 0;
		if (sscanf(line, "%ld %d %63s %s", &now, &priority, event, value) < 3)
			return 1;
		decode(value);
		log_line(priority, event, "value=%s", value);
	}
	return 0;
}
