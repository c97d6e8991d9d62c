/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Splitting of GSO packets, as cake and tbf do it: a bundle of 64 kB is more than
 * 50 ms of a 10 Mbit/s link, during which nothing else could go first.
 */
#ifndef _SF_GSO_H
#define _SF_GSO_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include "compat.h"

/**
 * sf_stab_len - the length of a packet by a size table (tc-stab(8))
 * @stab: the table, or NULL
 * @len: bytes
 *
 * What the kernel does for packets that are enqueued, but exports to no module.
 *
 * Return: bytes
 */
static inline int sf_stab_len(const struct qdisc_size_table *stab, int len)
{
	const struct tc_sizespec *sz;
	u32 slot;

	if (!stab)
		return len;
	sz = &stab->szopts;
	len += sz->overhead;
	if (sz->tsize) {
		slot = max(len + sz->cell_align, 0) >> sz->cell_log;
		len = stab->data[slot % sz->tsize] +
		      stab->data[sz->tsize - 1] * (slot / sz->tsize);
		len <<= sz->size_log;
	}
	return max(len, 1);
}

/*
 * sf_gso_count - how many segments a packet is, 1 if it is not GSO
 *
 * What comes from outside, as from a guest, does not tell: then as many as are full.
 */
static inline u32 sf_gso_count(const struct sk_buff *skb)
{
	const struct skb_shared_info *shared = skb_shinfo(skb);
	u32 count = shared->gso_segs;

	if (likely(!shared->gso_size))
		return 1;
	if (!count || shared->gso_type & SKB_GSO_DODGY)
		count = skb->len / shared->gso_size;
	return max(count, 1U);
}

/**
 * sf_gso_segments - the segments of a GSO packet, ready to be queued
 * @skb: the packet; it is left alone, and the caller's to free
 * @sch: the qdisc; the root's size table counts for each segment, as it does for
 *     packets, and not the qdisc's own
 *
 * Return: the segments, linked by next, or NULL if there is no memory or no way.
 */
static inline struct sk_buff *sf_gso_segments(struct sk_buff *skb,
					      struct Qdisc *sch)
{
	const struct qdisc_size_table *stab;
	netdev_features_t features = netif_skb_features(skb);
	struct sk_buff *segs, *seg;

	stab = rcu_dereference_bh(qdisc_root_bh(sch)->stab);
	segs = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segs))
		return NULL;
	for (seg = segs; seg; seg = seg->next)
		sf_set_pkt_len(seg, sf_stab_len(stab, seg->len));
	return segs;
}

#endif
