/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between kernels, and nothing else knows it. A feature is
 * recognised by itself rather than by the version number, since distribution
 * kernels carry backports.
 */
#ifndef _SF_COMPAT_H
#define _SF_COMPAT_H

#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/rbtree.h>
#include <net/gen_stats.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <net/secure_seq.h>

/* Kernels without it ask for the module by its name, sch_KIND. */
#ifndef MODULE_ALIAS_NET_SCH
#define MODULE_ALIAS_NET_SCH(id)	MODULE_ALIAS("net-sch-" id)
#endif

/* Before 5.12: put @node behind those that are less or equal. */
#ifndef SF_HAVE_RB_ADD
static inline struct rb_node *rb_add_cached(struct rb_node *node, struct rb_root_cached *tree,
					    bool (*less)(struct rb_node *, const struct rb_node *))
{
	struct rb_node **at = &tree->rb_root.rb_node, *parent = NULL;
	bool first = true;

	while (*at) {
		parent = *at;
		if (less(node, parent)) {
			at = &parent->rb_left;
		} else {
			at = &parent->rb_right;
			first = false;
		}
	}
	rb_link_node(node, parent, at);
	rb_insert_color_cached(node, tree, first);
	return first ? node : NULL;
}
#endif

/* Before 6.2: show a class to who walks them all; false: no more of them. */
#ifndef SF_HAVE_STATS_DUMP
static inline bool tc_qdisc_stats_dump(struct Qdisc *sch, unsigned long cl,
				       struct qdisc_walker *arg)
{
	if (arg->count >= arg->skip && arg->fn(sch, cl, arg) < 0) {
		arg->stop = 1;
		return false;
	}
	arg->count++;
	return true;
}
#endif

/* Before 5.16 the counters of what was sent were other ones. */
static inline int sf_copy_basic(struct gnet_dump *d, u64 bytes, u64 packets)
{
#ifdef SF_HAVE_BASIC_SYNC
	struct gnet_stats_basic_sync sent;

	gnet_stats_basic_sync_init(&sent);
	u64_stats_set(&sent.bytes, bytes);
	u64_stats_set(&sent.packets, packets);
	return gnet_stats_copy_basic(d, NULL, &sent, false);
#else
	struct gnet_stats_basic_packed sent = { .bytes = bytes, .packets = packets };

	return gnet_stats_copy_basic(NULL, d, NULL, &sent);
#endif
}

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

/* The segments of a packet, as qdiscs count them */
static inline unsigned int sf_pkt_segs(const struct sk_buff *skb)
{
#ifdef SF_HAVE_PKT_SEGS
	return qdisc_pkt_segs(skb);
#else
	return skb_is_gso(skb) ? skb_shinfo(skb)->gso_segs : 1;
#endif
}

/* Ask a qdisc's filters; what they cannot do there (redirect) counts as a drop. */
static inline int sf_classify(struct sk_buff *skb, const struct tcf_proto *filter,
			      struct tcf_result *res)
{
#ifdef SF_HAVE_CLASSIFY_QDISC
	return tcf_classify_qdisc(skb, filter, res, false);
#elif defined(SF_HAVE_CLASSIFY_BLOCK)
	return tcf_classify(skb, NULL, filter, res, false);
#else
	return tcf_classify(skb, filter, res, false);
#endif
}

/*
 * Why a packet is dropped when one comes, for those who watch drops: there was no room
 * for all; its band had none; RED or CoDel wanted it; or else, as what cannot be split.
 * Before qdiscs had reasons of their own, theirs were among those of all packets. Still
 * older kernels tell nobody more than that it was a qdisc.
 */
#ifdef SF_HAVE_DROP_REASON
#define SF_DROP_OVERLIMIT	QDISC_DROP_OVERLIMIT
#define SF_DROP_BAND_LIMIT	QDISC_DROP_BAND_LIMIT
#define SF_DROP_CONGESTED	QDISC_DROP_CONGESTED
#define SF_DROP_GENERIC		QDISC_DROP_GENERIC
#define sf_set_drop_reason(skb, reason)	tcf_set_qdisc_drop_reason(skb, reason)
#elif defined(SF_HAVE_SKB_DROP_REASON)
#define SF_DROP_OVERLIMIT	SKB_DROP_REASON_QDISC_OVERLIMIT
#define SF_DROP_BAND_LIMIT	SKB_DROP_REASON_QDISC_OVERLIMIT
#define SF_DROP_CONGESTED	SKB_DROP_REASON_QDISC_CONGESTED
#define SF_DROP_GENERIC		SKB_DROP_REASON_QDISC_DROP
#define sf_set_drop_reason(skb, reason)	tcf_set_drop_reason(skb, reason)
#else
enum { SF_DROP_OVERLIMIT, SF_DROP_BAND_LIMIT, SF_DROP_CONGESTED, SF_DROP_GENERIC };

static inline void sf_set_drop_reason(const struct sk_buff *skb, u32 reason)
{
}
#endif

/*
 * Drop a packet that was to leave. Newer kernels free it when the root's lock is no longer
 * held, if the flag is set.
 */
#ifdef SF_HAVE_DEQUEUE_DROP
#define SF_DEQUEUE_DROPS	TCQ_F_DEQUEUE_DROPS
#define sf_dequeue_drop(sch, skb, reason)	qdisc_dequeue_drop(sch, skb, reason)
#else
#define SF_DEQUEUE_DROPS	0

static inline void sf_dequeue_drop(struct Qdisc *sch, struct sk_buff *skb, u32 reason)
{
#ifdef SF_HAVE_SKB_DROP_REASON
	kfree_skb_reason(skb, reason);
#else
	kfree_skb(skb);
#endif
}
#endif

/*
 * The kernel's functions that choose initial sequence numbers of TCP, as a probe sees
 * them: SF_ISN_PORT is which argument is the local port. The first half of the result is
 * the number, the second the offset of timestamps, which older kernels choose elsewhere.
 */
#ifdef SF_HAVE_SEQ_AND_TS_OFF
#define SF_ISN_IPV4	"secure_tcp_seq_and_ts_off"
#define SF_ISN_IPV6	"secure_tcpv6_seq_and_ts_off"
#define SF_ISN_PORT	3
#else
#define SF_ISN_IPV4	"secure_tcp_seq"
#define SF_ISN_IPV6	"secure_tcpv6_seq"
#define SF_ISN_PORT	2
#endif

/* Where arguments can be read, and the result is in one register and so read and set */
#if defined(CONFIG_HAVE_FUNCTION_ARG_ACCESS_API) && \
	(defined(CONFIG_X86_64) || defined(CONFIG_ARM64) || \
	 (defined(CONFIG_RISCV) && defined(CONFIG_64BIT)))
#define SF_ISN_SUPPORTED	true

/* As the function begins: the local port. The rest of its register may be anything. */
static inline u16 sf_isn_port(struct pt_regs *regs)
{
	return ntohs((__force __be16)regs_get_kernel_argument(regs, SF_ISN_PORT));
}

/* As it returns: clear bits of the number. */
static inline void sf_isn_clear(struct pt_regs *regs, u32 bits)
{
#ifdef SF_HAVE_SEQ_AND_TS_OFF
	union tcp_seq_and_ts_off result = { .hash64 = regs_return_value(regs) };

	result.seq &= ~bits;
	regs_set_return_value(regs, result.hash64);
#else
	regs_set_return_value(regs, regs_return_value(regs) & ~(u64)bits);
#endif
}
#else
#define SF_ISN_SUPPORTED	false

static inline u16 sf_isn_port(struct pt_regs *regs)
{
	return 0;
}

static inline void sf_isn_clear(struct pt_regs *regs, u32 bits)
{
}
#endif

#endif
