/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between kernels, and nothing else knows it. A feature is
 * recognised by itself rather than by the version number, since distribution
 * kernels carry backports.
 */
#ifndef _SF_COMPAT_H
#define _SF_COMPAT_H

#include <net/pkt_sched.h>
#include <net/sch_generic.h>

/*
 * Kernels that have the macro ask for "net-sch-KIND"; older ones ask for the
 * module by its name, sch_KIND, and need no alias.
 */
#ifndef MODULE_ALIAS_NET_SCH
#define MODULE_ALIAS_NET_SCH(id)
#endif

#endif
