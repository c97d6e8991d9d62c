/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A loop examines a queue, or a host: its @nth, from 0 on. The programs of selftests/fuzz count
 * that, and check that no request or packet makes the qdisc examine more than it has to.
 */
#ifndef _SF_EXAMINED_H
#define _SF_EXAMINED_H

#ifndef sf_examined
#define sf_examined(nth)	do { } while (0)
#endif

#endif
