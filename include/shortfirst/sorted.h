/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets by rank, sf_cb()->rank; of equal ranks the first to come goes first. A tree with
 * its first packet at hand: O(log n), and the last one is as far away as it is deep.
 */
#ifndef _SF_SORTED_H
#define _SF_SORTED_H

#include <linux/rbtree.h>
#include <linux/skbuff.h>
#include "sched.h"

static inline struct sk_buff *sf_sorted_skb(struct rb_node *node)
{
	return node ? rb_entry(node, struct sk_buff, rbnode) : NULL;
}

static inline struct sk_buff *sf_sorted_first(const struct rb_root_cached *sorted)
{
	return sf_sorted_skb(rb_first_cached(sorted));
}

static inline struct sk_buff *sf_sorted_last(const struct rb_root_cached *sorted)
{
	return sf_sorted_skb(rb_last(&sorted->rb_root));
}

/*
 * Put a packet where its rank wants it: after those of the same rank, or @late after those
 * of them that came before it.
 */
static noinline void sf_sort(struct rb_root_cached *sorted, struct sk_buff *skb, bool late)
{
	struct rb_node **at = &sorted->rb_root.rb_node, *parent = NULL;
	u64 rank = sf_cb(skb)->rank, other;
	bool first = true;

	while (*at) {
		parent = *at;
		other = sf_cb(sf_sorted_skb(parent))->rank;
		if (rank < other ||
		    (late && rank == other && sf_earlier(skb, sf_sorted_skb(parent)))) {
			at = &parent->rb_left;
		} else {
			at = &parent->rb_right;
			first = false;
		}
	}
	rb_link_node(&skb->rbnode, parent, at);
	rb_insert_color_cached(&skb->rbnode, sorted, first);
}

/* Take a packet out again; where it was linked it has other fields. */
static inline void sf_unsort(struct rb_root_cached *sorted, struct sk_buff *skb,
			     struct Qdisc *sch)
{
	rb_erase_cached(&skb->rbnode, sorted);
	skb->next = NULL;
	skb->prev = NULL;
	skb->dev = qdisc_dev(sch);
}

#endif
