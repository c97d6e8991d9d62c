/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The policy of las and sqf: short flows first, and no class of flows starves.
 *
 * Backlogged flows are in one of three classes; the next packet is from the first that has any:
 *
 *	new	flow A: [ ]  flow B: [ ][ ]		a list by arrival for each of four
 *		flow C: [ ]				subclasses, in turn
 *
 *	short	flow D: [ ][ ]		rank 3750	a tree by rank
 *		flow E: [ ][ ]...[ ]	rank 97500
 *
 *	bulk	flow F: [ ][ ]...[ ]			a list, round-robin, with CoDel
 *		packets without a record: [ ]...[ ]
 *
 *	drop	F, E, D					a heap of drop candidates
 *
 * 1. A flow is new until a packet of it was sent, bulk from SF_BULK_FROM bytes attained on, and
 *    short in between. The rank of a short flow is up to the qdisc: policy_state.h.
 * 2. Bulk flows have SF_BULK_SHARE of the bytes. They may lack that for SF_DEBT; then they are
 *    overdue, and have the share that fair queueing would give them, up to half.
 * 3. Short flows have half of what new and short flows send. Those that have waited for
 *    SF_OVERDUE_WAIT have SF_BULK_SHARE of it, round-robin.
 * 4. The first short flow goes before all others if it has SF_SMALL bytes at most, for an eighth of
 *    what the others send: a call.
 * 5. New flows are bounded to SF_NEW_MAX, so a flood of new tuples delays new flows only. A
 *    flood of short flows is an overload: until it ends young flows are new again, and take turns.
 * 6. What a flow has attained decays while it has no backlog. Sparse flows keep what max-min
 *    fairness would give them, so that calls, video and VPNs remain short: policy_decay.h.
 * 7. A full buffer drops from the class that holds more than its share: policy_drop.h. Beyond
 *    `buffer` there is room for first windows. What has waited for too long is dropped.
 * 8. With `hosts` bulk flows are in lists of their host, and so are all flows of a host that is
 *    over its share. Hosts take turns as bulk flows do: hosts.h.
 *
 * So every backlogged flow sends a packet within a time that is bounded: docs/design.md has the
 * proof, and for each rule the case that needs it.
 *
 *	policy_state.h	numbers, state, ranks
 *	policy_class.h	the class of a flow, and its place there
 *	policy_next.h	the packet that is sent next
 *	policy_drop.h	the queue that drops a packet
 *	policy_decay.h	decay of attained service
 *	policy_dump.h	classes and statistics
 *	policy_backlogged.h	all backlogged queues
 *
 * All of this is under the root qdisc's lock; sched.h has what a dump reads without. struct
 * sf_policy is the first member of a qdisc's private data. Here packets arrive, and options are
 * set.
 */
#ifndef _SF_POLICY_H
#define _SF_POLICY_H

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/codel.h>
#include "compat.h"
#include "examined.h"
#include "policy_backlogged.h"
#include "policy_decay.h"
#include "policy_drop.h"
#include "policy_class.h"
#include "policy_state.h"
#include "policy_next.h"
#include "policy_dump.h"
#include "hosts.h"
#include "sched.h"

/* sf_kind.take_victim: take the packet that goes when there is no room. */
static __always_inline struct sk_buff *sf_policy_take_victim(struct Qdisc *sch,
							     const struct sf_order *order)
{
	struct sf_policy *p = qdisc_priv(sch);
	u32 host = sf_policy_victim_host(p);
	struct sf_queue *queue = sf_policy_victim(p, host, order);
	struct sk_buff *skb;
	struct sf_flow *f;

	if (p->drop_heap.size && p->drop_heap.node[0].queue == sf_policy_number(p, queue))
		queue = sf_policy_pick_equal(p, host, order);
	p->s.victim = queue->flow;
	sf_count_drop(&p->s);
	/*
	 * A short flow drops its second packet: those behind it tell TCP of the loss at once, and
	 * the wait of the first one still counts.
	 */
	if (p->drop_head)
		skb = sf_take_first(sch, queue);
	else if (p->short_share && queue->class != SF_BULK)
		skb = sf_take_second(sch, queue);
	else
		skb = sf_take_last(sch, queue);
	sf_policy_uncount(p, queue, qdisc_pkt_len(skb));
	sf_policy_count_drop(p, queue->flow, queue->host);
	if (unlikely(sf_is_overflow(queue))) {
		sf_overflow_del(&p->s.table, sf_policy_overflow_set(skb));
	} else {
		f = sf_policy_flow(p, queue);
		if (queue->class != SF_BULK)
			f->attained -= min_t(u64, f->attained, qdisc_pkt_len(skb));
	}
	if (!queue->qlen) {
		sf_policy_emptied(p, queue);
	} else {
		sf_policy_place(p, queue, order);
		if (queue->on_drop_heap)
			sf_policy_drop_node_moved(p, queue, order);
	}
	sf_set_drop_reason(skb, SF_DROP_OVERLIMIT);
	return skb;
}

/*
 * A packet with these TCP flags begins another flow of the same ports. One that comes within a
 * second does not: each packet could be a SYN.
 */
static __always_inline bool sf_policy_is_new_connection(const struct sf_flow *f, u8 flags, u32 now)
{
	return flags & SF_TCP_SYN && !f->queue && now - f->seen >= SF_EPOCH;
}

/* sf_get(), where a new connection has the record of an old one */
static __always_inline void sf_policy_get(struct sf_policy *p, struct sf_flow *f, u8 flags,
					  struct sf_place *to)
{
	u32 now = jiffies;

	sf_get(&p->s, f, now, to);
	f = to->flow;
	if (unlikely(!f))
		return;
	if (unlikely(sf_policy_is_new_connection(f, flags, now)))
		sf_flow_forget(&p->s.table, f);
}

/*
 * The time at which a packet comes to a queue. CoDel needs it for bulk flows. Reading the clock
 * takes 40 instructions, so others have that of the first packet of the jiffy; CoDel waits for an
 * interval if such a flow becomes bulk.
 */
static __always_inline codel_time_t sf_policy_time(struct sf_policy *p,
						   const struct sf_queue *queue)
{
	u32 now = jiffies;

	if (queue->class == SF_BULK)
		return codel_get_time();
	if (p->tick != now) {
		p->tick = now;
		p->tick_time = codel_get_time();
	}
	return p->tick_time;
}

/* sf_kind.insert */
static __always_inline bool sf_policy_insert(struct Qdisc *sch, struct sk_buff *skb,
					     struct sf_place *to, const struct sf_order *order)
{
	struct sf_policy *p = qdisc_priv(sch);
	struct sf_table *t = &p->s.table;
	struct sf_skb_cb *cb = sf_cb(skb);
	struct sf_queue *queue;
	u32 i = SF_OVERFLOW;

	cb->arrival = p->s.arrivals++;
	cb->truesize = skb->truesize;
	if (likely(to->flow)) {
		sf_policy_on_arrival(p, to->flow, jiffies);
		cb->rank = p->sent;
		i = to->flow->queue;
		if (!i) {
			i = sf_queue_take(t, to->flow);
			t->queues[i].host = to->host;
		}
		to->flow->attained += qdisc_pkt_len(skb);
	} else {
		cb->rank = sf_table_set(t, to->hash);
		sf_overflow_add(t, cb->rank);
		t->queues[i].host = p->hosts.by ? SF_HOST_SHARED : 0;
	}

	queue = &t->queues[i];
	sf_append(sch, queue, skb);
	if (queue->class != SF_UNASSIGNED)
		sf_policy_count(p, queue, qdisc_pkt_len(skb));
	sf_policy_place(p, queue, order);
	cb->flow = sf_policy_time(p, queue);
	if (unlikely(queue->host))
		sf_host_grown(&p->hosts, queue->host, qdisc_pkt_len(skb), cb->arrival);
	sf_policy_update_drop_heap(p, queue, order);
	p->scan_last = max(p->scan_last, i);
	/* A busy period begins. */
	if (p->s.held == 1) {
		p->scan_last = i;
		sf_link_restart(&p->s.link);
		sf_lists_forget_debt(&p->top, p->debt_max);
	}
	if (to->flow && to->flow->sparse)
		sf_policy_count_sparse(p, to->flow, qdisc_pkt_len(skb));
	return true;
}

/*
 * There are new_max new flows. Refuse @skb if it would begin another one and its subclass has more
 * than its part; no record is made. @f is its flow's record, or NULL.
 */
static noinline bool sf_policy_refuses(struct sf_policy *p, const struct sf_lists *l,
				       const struct sk_buff *skb, const struct sf_flow *f, u8 flags)
{
	u32 now = jiffies, room = p->new_max / SF_SUBCLASSES;
	u8 subclass = sf_policy_subclass(&p->s.key, skb);

	/* Segments of a GSO packet have one length, but for the last. */
	if (sf_is_split(&p->s, skb) && skb_gso_validate_mac_len(skb, SF_SMALL))
		subclass &= ~SF_LARGE;
	if (p->short_share && l->queues[SF_NEW + subclass] < room)
		return false;
	if (!f || f->queue)
		return !f;
	return !f->established || now - f->seen > p->s.table.idle ||
	       sf_policy_is_new_connection(f, flags, now) ||
	       (f->attained < p->bulk_from && sf_policy_crowds_out(p, l, f));
}

/*
 * The host of a packet of flow @f. If only addresses tell, it is the host that the flow had, as
 * long as that has the same record. 0: it has no record, and is to get none since there are too
 * many new flows
 */
static __always_inline u32 sf_policy_find_host(struct sf_policy *p, const struct sk_buff *skb,
					       const struct sf_flow *f, u32 named, bool may_refuse)
{
	struct sf_hosts *hosts = &p->hosts;
	u32 n;

	if (f && !named && !hosts->nat) {
		n = hosts->of_flow[f - p->s.table.flows];
		if (sf_host_is(hosts, n, &p->s.key)) {
			sf_host_seen(hosts, n);
			return n;
		}
	}
	return sf_host_find(hosts, skb, &p->s.key, named,
			    !may_refuse || p->top.new_flows < p->new_max);
}

/* sf_kind.dropped */
static inline void sf_policy_dropped(struct Qdisc *sch, const struct sf_place *to)
{
	struct sf_policy *p = qdisc_priv(sch);

	sf_policy_count_drop(p, to->flow ? to->flow - p->s.table.flows : SF_NO_FLOW, to->host);
}

static __always_inline bool sf_policy_new_flows_full(struct sf_policy *p, const struct sf_lists *l,
						     const struct sk_buff *skb,
						     const struct sf_flow *f, u8 flags,
						     bool may_refuse)
{
	return unlikely(l->new_flows >= p->new_max) && may_refuse &&
	       sf_policy_refuses(p, l, skb, f, flags);
}

/*
 * sf_policy_host() when the top lists, or those of host @n, have no room for new flows. Refused
 * packets make no record of a host, either.
 */
static noinline u32 sf_policy_host_if_full(struct sf_policy *p, const struct sk_buff *skb,
					   const struct sf_flow *f, u8 flags, u32 named, u32 n)
{
	struct sf_host *h = &p->hosts.host[n];
	const struct sf_lists *l = &p->top;

	if (n && sf_host_over(&p->hosts, h))
		l = &p->hosts.own[n];
	if (!sf_policy_new_flows_full(p, l, skb, f, flags, true))
		return n ?: sf_host_find(&p->hosts, skb, &p->s.key, named, true);
	if (n) {
		sf_host_wants(&p->hosts, h);
		sf_host_sums(&p->hosts, n)->drops++;
	}
	return SF_ANY_HOST;
}

/* The host of a packet, or SF_ANY_HOST if the packet is refused */
static __always_inline u32 sf_policy_host(struct sf_policy *p, const struct sk_buff *skb,
					  const struct sf_flow *f, u8 flags, u32 named,
					  bool may_refuse)
{
	u32 n;

	/* A flow's backlog belongs to one host. */
	if (f && f->queue) {
		n = p->s.table.queues[f->queue].host;
		sf_host_seen(&p->hosts, n);
		return n;
	}
	n = sf_policy_find_host(p, skb, f, named, may_refuse);
	if (!may_refuse ||
	    likely(p->top.new_flows < p->new_max && !p->hosts.host[n].busy))
		return n;
	return sf_policy_host_if_full(p, skb, f, flags, named, n);
}

/* sf_policy_enqueue - what enqueue is to return, for a packet of class @to->class */
static __always_inline int sf_policy_enqueue(struct sk_buff *skb, struct Qdisc *sch,
					     struct sf_place *to, bool may_refuse,
					     struct sk_buff **to_free,
					     const struct sf_kind *kind)
{
	struct sf_policy *p = qdisc_priv(sch);
	u8 flags = sf_read(&p->s, skb, to);
	struct sf_flow *f = sf_find(&p->s, to);
	bool refused;

	/* Before this packet counts, which belongs to the next epoch */
	if (!p->s.held && (u32)jiffies - p->epoch_from >= SF_EPOCH)
		sf_policy_end_epoch(p, SF_EPOCH);
	to->host = 0;
	if (unlikely(p->hosts.by)) {
		to->host = sf_policy_host(p, skb, f, flags, to->named >> SF_NAMED_SHIFT,
					  may_refuse);
		refused = to->host == SF_ANY_HOST;
	} else {
		refused = sf_policy_new_flows_full(p, &p->top, skb, f, flags, may_refuse);
	}
	if (unlikely(refused)) {
		p->drop_new++;
		if (f)
			sf_flow_sums(&p->s.table, f)->drops++;
		sf_drop(skb, sch, to_free, SF_DROP_OVERLIMIT);
		return NET_XMIT_DROP;
	}
	sf_policy_get(p, f, flags, to);
	return sf_enqueue(skb, sch, to, to_free, kind);
}

static __always_inline struct sk_buff *sf_policy_dequeue(struct Qdisc *sch,
							 const struct sf_order *order)
{
	struct sf_policy *p = qdisc_priv(sch);
	struct sk_buff *skb;

	if (!p->s.held || sf_shaper_waits(sch, &p->s.shaper))
		return NULL;
	skb = sf_policy_take_from(sch, &p->top, true, order);
	sf_policy_sent(p, qdisc_pkt_len(skb));
	sf_shaper_sent(&p->s.shaper, skb, p->s.held);
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void sf_policy_reset(struct Qdisc *sch)
{
	struct sf_policy *p = qdisc_priv(sch);
	struct sf_table *t = &p->s.table;
	u32 i, first = t->spares, count = sf_policy_write_backlogged(p);
	struct sf_queue *queue;

	/* The number of a queue that is released is written over one that was read. */
	for (i = 0; i < count; i++) {
		sf_examined(0);
		queue = &t->queues[t->spare[first + i]];
		sf_policy_uncount(p, queue, queue->backlog);
		sf_policy_emptied(p, queue);
		p->s.held -= queue->qlen;
		queue->qlen = 0;
		queue->backlog = 0;
		rtnl_kfree_skbs(queue->head, queue->tail);
	}
	p->s.memory = 0;
	sf_shaper_reset(&p->s.shaper);
	sf_lists_forget_turns(&p->top);
	p->overflow.deficit = 0;
	sf_policy_forget_link(p);
	sf_table_clear(&p->s.table);
	sf_hosts_clear(&p->hosts);
}

/* Attributes of the options that las and sqf share; options.h has their rows. */
struct sf_policy_attributes {
	u16	plain;
	u16	buffer;
	u16	target;
	u16	ecn;
	u16	hosts;
	u16	nat;
	u16	last;		/* of all */
};

#define SF_POLICY_ATTRIBUTES(KIND)					\
	{								\
		.plain		= TCA_ ## KIND ## _PLAIN,		\
		.buffer		= TCA_ ## KIND ## _BUFFER,		\
		.target		= TCA_ ## KIND ## _TARGET,		\
		.ecn		= TCA_ ## KIND ## _ECN,			\
		.hosts		= TCA_ ## KIND ## _HOSTS,		\
		.nat		= TCA_ ## KIND ## _NAT,			\
		.last		= TCA_ ## KIND ## _MAX,			\
	}

static inline codel_time_t sf_codel_us(u32 us)
{
	return (u64)us * NSEC_PER_USEC >> CODEL_SHIFT;
}

/*
 * Set which address is a host's, and whether NAT is undone. If that changes, all host records are
 * cleared, and backlogged flows belong to host 1 until their queue is empty. Returns whether it
 * changed.
 */
static bool sf_policy_set_hosts(struct sf_policy *p, u32 by, bool nat)
{
	const struct sf_table *t = &p->s.table;
	struct sf_queue *queue;
	u32 i;

	if (by == p->hosts.by && (nat == p->hosts.nat || !by)) {
		p->hosts.nat = nat;
		return false;
	}
	for (i = 0; i < p->to_sort; i++) {
		sf_examined(0);
		queue = &t->queues[t->spare[t->spares + i]];
		sf_policy_uncount(p, queue, queue->backlog);
		sf_policy_leave(p, queue);
		if (queue->host)
			sf_host_release(&p->hosts, queue->host);
		queue->host = by ? SF_HOST_SHARED : 0;
	}
	sf_hosts_clear(&p->hosts);
	p->hosts.by = by;
	p->hosts.source = by == SF_HOSTS_DST ? 0 : ~(__force __be32)0;
	p->hosts.dest = by == SF_HOSTS_SRC ? 0 : ~(__force __be32)0;
	p->hosts.nat = nat;
	return true;
}

/* When `plain` changes, the bounds on the backlog change, too, unless they are given. */
static inline void sf_policy_follow_plain(const struct sf_policy_attributes *at,
					  struct nlattr **tb, const u64 *live, u64 *opt)
{
	bool plain = opt[at->plain], was = live && live[at->plain];

	if (plain != was && !tb[at->buffer])
		opt[at->buffer] = plain ? 0 : SF_POLICY_BUFFER;
	if (plain != was && !tb[at->target])
		opt[at->target] = plain ? 0 : SF_POLICY_TARGET;
}

/* Set the numbers of the policy; `plain` has none of its rules. */
static void sf_policy_set_policy(struct sf_policy *p, const u64 *opt, u16 last, bool plain)
{
	u32 short_share = sf_number(opt, last, SF_NUMBER_KNOWN_SHARE, plain ? 0 : SF_SHORT_SHARE);
	u32 share = sf_number(opt, last, SF_NUMBER_FORGIVE_SHARE, plain ? 0 : SF_DECAY_SHARE);

	p->bulk_most = sf_number(opt, last, SF_NUMBER_FAIR, plain ? 0 : SF_BULK_FROM) ?: SF_NEVER;
	p->decay_share = (share << SF_DECAY_SHIFT) / 100;
	p->new_max = sf_number(opt, last, SF_NUMBER_NEWCOMERS, plain ? 0 : SF_NEW_MAX) ?:
			   U32_MAX;
	/* While it is 0 subclasses take no turns. */
	if (!p->short_share != !short_share)
		sf_lists_forget_turns(&p->top);
	p->short_share = short_share;
	p->bulk_share = sf_number(opt, last, SF_NUMBER_LONG_SHARE, plain ? 0 : SF_BULK_SHARE);
	p->quantum = sf_number(opt, last, SF_NUMBER_QUANTUM, ETH_FRAME_LEN);
	p->visible = sf_number(opt, last, SF_NUMBER_RANK, !plain);
}

/*
 * CoDel's interval is 20 times its target (RFC 8289), or with `ingress` 10 times: the
 * bottleneck is then another device's, and holds more the later a flow slows down. It is a
 * millisecond at least.
 */
static void sf_policy_set_codel(struct sf_policy *p, u32 target, bool ecn)
{
	u32 interval = target * (p->s.shaper.opt.ingress ? 10 : 20);

	p->aqm = target;
	p->codel.target = sf_codel_us(target);
	p->codel.interval = sf_codel_us(max_t(u32, interval, USEC_PER_MSEC));
	p->codel.ecn = ecn;
}

/*
 * Apply @opt, by attribute, after sf_set_options(). The rate that was set before is @was; @others
 * than the shaper's options have changed.
 */
static void sf_policy_set_options(struct sf_policy *p, const struct sf_policy_attributes *at,
				  const u64 *opt, u64 was, bool others)
{
	bool other_hosts;

	sf_policy_set_codel(p, opt[at->target], opt[at->ecn]);
	if (!others) {
		sf_policy_follow_link(p, was);
		return;
	}
	p->to_sort = sf_policy_write_backlogged(p);
	other_hosts = sf_policy_set_hosts(p, opt[at->hosts], opt[at->nat]);
	p->hosts.table.idle = p->s.table.idle;
	sf_policy_set_policy(p, opt, at->last, opt[at->plain]);
	p->expire_time = sf_codel_us(jiffies_to_usecs(p->s.link.buffer * SF_EXPIRE));
	if (other_hosts)
		sf_policy_forget_link(p);
	else
		sf_policy_follow_link(p, was);
}

/* The backlog of a queue belongs to another host now. */
static inline void sf_policy_move_to_host(struct sf_policy *p, const struct sf_queue *queue)
{
	u32 arrival = sf_cb(queue->tail)->arrival;
	u32 grown = p->hosts.host[queue->host].grown;

	if ((s32)(arrival - grown) < 0)
		arrival = grown;
	sf_host_grown(&p->hosts, queue->host, queue->backlog, arrival);
}

/* After sf_policy_set_options(): put all backlogged queues in order. */
static __always_inline void sf_policy_sort_again(struct sf_policy *p,
						 const struct sf_order *order)
{
	const struct sf_table *t = &p->s.table;
	struct sf_queue *queue;
	u32 i;

	for (i = 0; i < p->to_sort; i++) {
		sf_examined(0);
		queue = &t->queues[t->spare[t->spares + i]];
		if (queue->host && queue->class == SF_UNASSIGNED)
			sf_policy_move_to_host(p, queue);
		sf_policy_place(p, queue, order);
		sf_policy_update_drop_heap(p, queue, order);
	}
}

/* For init, before anything can fail */
static inline void sf_policy_begin(struct Qdisc *sch)
{
	struct sf_policy *p = qdisc_priv(sch);

	sch->flags |= SF_DEQUEUE_DROPS;
	p->top.ranked = RB_ROOT_CACHED;
	sf_begin(sch);
	codel_params_init(&p->codel);
	codel_stats_init(&p->codel_stats);
	p->codel.mtu = psched_mtu(qdisc_dev(sch));
	p->tick = jiffies - 1;
	sf_link_begin(&p->s.link, SF_ROOM_MIN);
	sf_policy_forget_link(p);
}

/* Allocate for that many flows. On failure the core calls destroy. */
static inline int sf_policy_init(struct sf_policy *p, const u64 *opt, u16 last, u32 flows)
{
	u32 hosts = max_t(u32, flows / SF_HOST_FLOWS, SF_WAYS);
	u32 queues = sf_table_queues(flows);

	hosts = sf_number(opt, last, SF_NUMBER_HOST_RECORDS, hosts);
	return sf_table_init(&p->s.table, flows, queues) ?: sf_heap_init(&p->drop_heap, queues) ?:
	       sf_hosts_init(&p->hosts, hosts, flows);
}

static inline void sf_policy_free(struct sf_policy *p)
{
	sf_hosts_free(&p->hosts);
	sf_heap_free(&p->drop_heap);
	sf_table_free(&p->s.table);
}

#endif
