/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between kernels, and nothing else knows it. A feature is
 * recognised by itself rather than by the version number, since distribution
 * kernels carry backports.
 */
#ifndef _SF_COMPAT_H
#define _SF_COMPAT_H

#include <linux/module.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

/* Kernels without it ask for the module by its name, sch_KIND. */
#ifndef MODULE_ALIAS_NET_SCH
#define MODULE_ALIAS_NET_SCH(id)	MODULE_ALIAS("net-sch-" id)
#endif

/* skb_gso_segment() has moved out of netdevice.h. */
#ifdef SF_HAVE_GSO_H
#include <net/gso.h>
#endif

/* Set the length of a packet that is not GSO, in bytes. */
static inline void sf_set_pkt_len(struct sk_buff *skb, unsigned int len)
{
	qdisc_skb_cb(skb)->pkt_len = len;
#ifdef SF_HAVE_PKT_SEGS
	qdisc_skb_cb(skb)->pkt_segs = 1;
#endif
}

/* Ask a qdisc's filters; what they cannot do there (redirect) counts as a drop. */
static inline int sf_classify(struct sk_buff *skb, const struct tcf_proto *filter,
			      struct tcf_result *res)
{
#ifdef SF_HAVE_CLASSIFY_QDISC
	return tcf_classify_qdisc(skb, filter, res, false);
#else
	return tcf_classify(skb, NULL, filter, res, false);
#endif
}

/* Drop a packet for want of room, and tell so those who watch drops. */
static inline void sf_drop_overlimit(struct sk_buff *skb,
				     struct sk_buff **to_free)
{
#ifdef SF_HAVE_DROP_REASON
	tcf_set_qdisc_drop_reason(skb, QDISC_DROP_OVERLIMIT);
#endif
	__qdisc_drop(skb, to_free);
}

#endif
