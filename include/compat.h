/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between kernels, and nothing else knows it. A feature is
 * recognised by itself rather than by the version number, since distribution
 * kernels carry backports.
 */
#ifndef _SF_COMPAT_H
#define _SF_COMPAT_H

#include <linux/module.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

/* Kernels without it ask for the module by its name, sch_KIND. */
#ifndef MODULE_ALIAS_NET_SCH
#define MODULE_ALIAS_NET_SCH(id)	MODULE_ALIAS("net-sch-" id)
#endif

#endif
