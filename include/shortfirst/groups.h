/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A scheduler of flows under which nobody starves, whatever the others send. How a kind
 * ranks its short flows is its own.
 *
 * Flows with packets are in three groups:
 *
 *	new	flow A: [ ]  flow B: [ ][ ]  flow C: [ ]	by arrival: a list
 *		flow D: [ ]					of each sort, in turn
 *
 *	short	flow E: [ ][ ]		  rank 3750		by rank: an rbtree
 *		flow F: [ ][ ]...[ ]	  rank 97500
 *
 *	long	flow G: [ ][ ]...[ ]				in turn: a list
 *		all that have no record: [ ]...[ ]
 *
 *	losers	G, F, E, B					who is to lose a packet: a heap
 *
 * - A newcomer has had nothing served yet. Newcomers go first, but while there are any, the
 *   short flows are owed `known_share` of the bytes (bands.h), and there are no more than
 *   `newcomers` of them: what is one too many is dropped and not remembered. Ever new
 *   tuples are the cheapest of attacks: they hurt newcomers only, and of these only those
 *   of their own sort, by the size of the first packet and whether it is of TCP. A quarter
 *   of `newcomers` of a sort may wait, however many others do. Who sends of all sorts has
 *   to share his rate among them. Without `known_share` there are no sorts.
 * - A short flow is one of a low rank or of a high one: the lowest goes first. Of equal
 *   ranks it is the one whose first packet has waited for longest. Where it grows shorter as it
 *   waits, by 1 byte for so many that the link sends, which is the kind's patience, its rank is
 *
 *	what the link had sent when its first packet came + patience * its size
 *
 *   and whoever comes once the link has sent that much goes behind it, however short he is.
 *   Who sends more than one packet of each tuple makes them known. So short flows come to be a
 *   crowd when as many of them wait as `newcomers`, or SF_CROWD that have half of what may wait,
 *   and are one until none of them waits. A few larger ones are none: who is smaller passes by.
 *   As long as they are, who is young, which is not yet of SF_AGE, comes to the newcomers, known or
 *   not, and remains there: what waits already is served by and by, and of the others each sort
 *   has its turn, and its room. To be old takes packets in SF_AGE epochs (groups_state.h), and
 *   `forgive_share`. Without `known_share` nothing is a crowd.
 * - A long flow has attained more than `fair`, or than the link sends in half of `buffer`.
 *   Long flows are served in turn, `quantum` bytes each, after all others, but they are owed
 *   `long_share` of the bytes. Until that comes to SF_DEBT it costs short ones nothing: what long
 *   ones have had beyond it counts, as does a time in which none of them waited. Then they are
 *   late: owed as much as fair queueing would give them, up to SF_LATE_MOST, until no other flow
 *   has packets waiting. A time in which none of them waits does not count then.
 *   Of what newcomers and short flows send those short ones have that part, too, that have
 *   waited for SF_OVERDUE; in a crowd those who have for SF_CROWDED have `known_share`, if that is
 *   more. A short flow that is the first and has no more than SF_SMALL waiting, such as a call,
 *   goes ahead of all these, whatever they are owed, for an eighth of what they send (SF_AHEAD);
 *   they share the rest. A long flow's own queue is held short by CoDel
 *   (codel.h). Short flows are left alone: a drop would cost them a timeout.
 *
 * What a flow has attained leaks, but never what waits. A stream is a flow of SF_AGE that does not
 * stand, which is to mostly have packets waiting. It is forgiven an equal part of the link's rate,
 * two of them as long as all streams together send no more than half of what the link could, and no
 * less than the level as long as they send less than three quarters. The level is what modest
 * streams leave of the link, divided among the other flows of SF_AGE, and no more than half of it.
 * A stream is modest in an epoch in which it has not attained more than the level, or than a
 * packet, and is not long. So streams have what max-min fairness among flows of SF_AGE would give
 * them. They are forgiven it also for the time that they
 * wait.
 * All others are forgiven `forgive_share` of a part, and nothing for the time in which they wait:
 * else who is kept waiting for long would come to be as short as a newcomer. Of more than SF_FEW
 * flows a part becomes less, down to this share of it. So
 * who takes no more than he is forgiven, such as a call, a VPN or a video, stays a short flow
 * however long he does, and what has been a bulk transfer is one again soon after. How many there
 * are, and what streams send, is of the last second or so, not of one epoch alone. Streams that do
 * not pause, or all together, keep no more of the link than three quarters, or an equal part each;
 * what others are forgiven has no bound.
 *
 * Whose turn it is loses first what has waited while the link has sent SF_STALE times what may
 * wait, and for as many times `buffer`, but for the last packet: who sent it has long sent it
 * again, or given up. A link that stands still makes nothing stale, nor, before that time is over,
 * does one that was faster.
 *
 * A full buffer takes from the longest queue of a long flow (a heap, flow_heap.h) if long
 * flows have more than their share waiting, else as sf_groups_victim() says. 16 kB for each
 * new or short flow come on top of `buffer`, up to an eighth more (SF_SPARED), so that a web
 * page's connections do not lose their initial windows. The records of the flows, with packets
 * or without, and the queues of those with packets are in a table of fixed size
 * (flow_table.h). What finds no room in it waits in one queue, that of a long flow.
 *
 * With `hosts` long flows wait in lists of their host, which send in turn; so do all flows of a
 * host that is over its share. For those who are not, the lists of the others are one long
 * flow's (hosts.h).
 *
 * The limits are what 10 Gbit/s need. On slower links `buffer` bounds what waits to
 * what the link sends in that time (link_rate.h).
 *
 * All of this is under the root qdisc's lock; sched.h says what a dump reads without. No
 * packet may bypass the queue (TCQ_F_CAN_BYPASS): it would not be attained. struct
 * sf_groups is the first member of a kind's private data.
 *
 *	groups_state.h		what is known: of all flows together, and constants
 *	groups_place.h		the group of a flow, and its place there
 *	groups_forgive.h	what it is forgiven
 *	groups_loss.h		whose packet is dropped
 *	groups_take.h		whose packet is sent
 *	groups_tell.h		what is told of it
 *
 * Here a packet comes, and options are set.
 */
#ifndef _SF_GROUPS_H
#define _SF_GROUPS_H

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/codel.h>
#include "compat.h"
#include "groups_forgive.h"
#include "groups_loss.h"
#include "groups_place.h"
#include "groups_state.h"
#include "groups_take.h"
#include "groups_tell.h"
#include "hosts.h"
#include "sched.h"

/* For sf_kind.take_victim: take the packet that goes if there is no room. */
static __always_inline struct sk_buff *sf_groups_take_victim(struct Qdisc *sch,
							     const struct sf_order *order)
{
	struct sf_groups *g = qdisc_priv(sch);
	u32 host = sf_groups_losing_host(g);
	struct sf_queue *queue = sf_groups_victim(g, host, order);
	struct sk_buff *skb;
	struct sf_flow *f;

	if (g->losers.size && g->losers.node[0].queue == sf_groups_number(g, queue))
		queue = sf_groups_draw(g, host, order);
	g->s.victim = queue->flow;
	sf_count_drop(&g->s);
	/*
	 * A short flow loses its second packet: those behind it tell TCP of the loss at once,
	 * and by the age of the first one the flow goes before others at last.
	 */
	if (g->drop_head)
		skb = sf_take_first(sch, queue);
	else if (g->known_share && queue->group != SF_LONG_FLOWS)
		skb = sf_take_second(sch, queue);
	else
		skb = sf_take_last(sch, queue);
	sf_groups_uncount(g, queue, qdisc_pkt_len(skb));
	sf_groups_count_drop(g, queue->flow, queue->host);
	if (unlikely(sf_is_elsewhere(queue))) {
		sf_elsewhere_del(&g->s.table, sf_groups_overflow_set(skb));
	} else {
		f = sf_groups_flow(g, queue);
		if (queue->group != SF_LONG_FLOWS)
			f->attained -= min_t(u64, f->attained, qdisc_pkt_len(skb));
	}
	if (!queue->qlen) {
		sf_groups_emptied(g, queue);
	} else {
		sf_groups_place(g, queue, order);
		if (queue->heaped)
			sf_groups_loser_moved(g, queue, order);
	}
	sf_set_drop_reason(skb, SF_DROP_OVERLIMIT);
	return skb;
}

/*
 * Does a packet with these flags of TCP begin another flow, though of the same ports? Not
 * one that comes soon: else a SYN in each packet would make each a newcomer's.
 */
static __always_inline bool sf_groups_begins(const struct sf_flow *f, u8 flags, u32 now)
{
	return flags & SF_TCP_SYN && !f->queue && now - f->seen >= SF_SILENCE;
}

/* sf_get() of a flow, which may be another one of the same ports */
static __always_inline void sf_groups_get(struct sf_groups *g, struct sf_flow *f, u8 flags,
					  struct sf_place *to)
{
	u32 now = jiffies;

	sf_get(&g->s, f, now, to);
	f = to->flow;
	if (unlikely(!f))
		return;
	if (unlikely(sf_groups_begins(f, flags, now)))
		sf_flow_forget(&g->s.table, f);
}

/*
 * When a packet comes to a queue. CoDel has to know of those of long flows; to read the clock takes
 * 40 instructions, so that of others it is when the first one came in this jiffy. If they become a
 * long flow's, CoDel waits for an interval.
 */
static __always_inline codel_time_t sf_groups_time(struct sf_groups *g,
						   const struct sf_queue *queue)
{
	u32 now = jiffies;

	if (queue->group == SF_LONG_FLOWS)
		return codel_get_time();
	if (g->tick != now) {
		g->tick = now;
		g->tick_time = codel_get_time();
	}
	return g->tick_time;
}

/* For sf_kind.insert: put a packet in its place. */
static __always_inline bool sf_groups_insert(struct Qdisc *sch, struct sk_buff *skb,
					     struct sf_place *to, const struct sf_order *order)
{
	struct sf_groups *g = qdisc_priv(sch);
	struct sf_table *t = &g->s.table;
	struct sf_skb_cb *cb = sf_cb(skb);
	struct sf_queue *queue;
	u32 i = SF_ELSEWHERE;

	cb->arrival = g->s.arrivals++;
	cb->truesize = skb->truesize;
	if (likely(to->flow)) {
		sf_groups_comes(g, to->flow, jiffies);
		cb->rank = g->sent;
		i = to->flow->queue;
		if (!i) {
			i = sf_queue_take(t, to->flow);
			t->queues[i].host = to->host;
		}
		to->flow->attained += qdisc_pkt_len(skb);
	} else {
		cb->rank = sf_table_set(t, to->hash);
		sf_elsewhere_add(t, cb->rank);
		t->queues[i].host = g->hosts.by ? SF_HOST_SHARED : 0;
	}

	queue = &t->queues[i];
	sf_append(sch, queue, skb);
	if (queue->group != SF_NOBODYS)
		sf_groups_count(g, queue, qdisc_pkt_len(skb));
	sf_groups_place(g, queue, order);
	cb->flow = sf_groups_time(g, queue);
	if (unlikely(queue->host))
		sf_host_grown(&g->hosts, queue->host, qdisc_pkt_len(skb), cb->arrival);
	sf_groups_lose(g, queue, order);
	g->last = max(g->last, i);
	/* A busy period begins. */
	if (g->s.held == 1) {
		g->last = i;
		sf_link_restart(&g->s.link);
		sf_lists_forget_debt(&g->top, g->debt_max);
	}
	if (to->flow && to->flow->stream)
		sf_groups_streamed(g, to->flow, qdisc_pkt_len(skb));
	return true;
}

/*
 * There are too many newcomers for one more. Would @skb be one's? It is not remembered
 * then, either. @f is the record of its flow, if it has one.
 */
static noinline bool sf_groups_refused(struct sf_groups *g, const struct sf_lists *l,
				       const struct sk_buff *skb, const struct sf_flow *f, u8 flags)
{
	u32 now = jiffies, room = g->newcomers_max / SF_SORTS;
	u8 sort = sf_groups_sort(&g->s.key, skb);

	/* The segments of a bundle, all but the last of one length */
	if (sf_is_split(&g->s, skb) && skb_gso_validate_mac_len(skb, SF_SMALL))
		sort &= ~SF_LARGE;
	if (g->known_share && l->queues[SF_NEW_FLOWS + sort] < room)
		return false;
	if (!f || f->queue)
		return !f;
	return !f->known || now - f->seen > g->s.table.idle || sf_groups_begins(f, flags, now) ||
	       (f->attained < g->fair_from && sf_groups_crowded_out(g, l, f));
}

/*
 * The host of a packet of flow @f, if that has a record. If addresses alone tell who it is, that is
 * the one that it had before, as long as this has the same record. 0 if there is no room for
 * newcomers, and the host has no record.
 */
static __always_inline u32 sf_groups_find_host(struct sf_groups *g, const struct sk_buff *skb,
					       const struct sf_flow *f, u32 named, bool may_refuse)
{
	struct sf_hosts *hosts = &g->hosts;
	u32 n;

	if (f && !named && !hosts->nat) {
		n = hosts->of_flow[f - g->s.table.flows];
		if (sf_host_is(hosts, n, &g->s.key)) {
			sf_host_seen(hosts, n);
			return n;
		}
	}
	return sf_host_find(hosts, skb, &g->s.key, named,
			    !may_refuse || g->top.newcomers < g->newcomers_max);
}

/* For sf_kind.dropped */
static inline void sf_groups_dropped(struct Qdisc *sch, const struct sf_place *to)
{
	struct sf_groups *g = qdisc_priv(sch);

	sf_groups_count_drop(g, to->flow ? to->flow - g->s.table.flows : SF_NO_FLOW, to->host);
}

/* Is there no room for one more newcomer, and would @skb, that @may_refuse be, be one's? */
static __always_inline bool sf_groups_full(struct sf_groups *g, const struct sf_lists *l,
					   const struct sk_buff *skb, const struct sf_flow *f,
					   u8 flags, bool may_refuse)
{
	return unlikely(l->newcomers >= g->newcomers_max) && may_refuse &&
	       sf_groups_refused(g, l, skb, f, flags);
}

/*
 * sf_groups_host() if some lists, of all or of host @n, have no room for newcomers. Who is over his
 * share has lists of his own. Of what is refused no record is made of a host, either.
 */
static noinline u32 sf_groups_host_if_full(struct sf_groups *g, const struct sk_buff *skb,
					   const struct sf_flow *f, u8 flags, u32 named, u32 n)
{
	struct sf_host *h = &g->hosts.host[n];
	const struct sf_lists *l = &g->top;

	if (n && sf_host_over(&g->hosts, h))
		l = &g->hosts.own[n];
	if (!sf_groups_full(g, l, skb, f, flags, true))
		return n ?: sf_host_find(&g->hosts, skb, &g->s.key, named, true);
	if (n) {
		sf_host_wants(&g->hosts, h);
		sf_host_sums(&g->hosts, n)->drops++;
	}
	return SF_ANY_HOST;
}

/* The host, or SF_ANY_HOST if it may have no more newcomers and @skb would be one's */
static __always_inline u32 sf_groups_host(struct sf_groups *g, const struct sk_buff *skb,
					  const struct sf_flow *f, u8 flags, u32 named,
					  bool may_refuse)
{
	u32 n;

	/* Of what waits of a flow all is of one host. */
	if (f && f->queue) {
		n = g->s.table.queues[f->queue].host;
		sf_host_seen(&g->hosts, n);
		return n;
	}
	n = sf_groups_find_host(g, skb, f, named, may_refuse);
	if (!may_refuse ||
	    likely(g->top.newcomers < g->newcomers_max && !g->hosts.host[n].busy))
		return n;
	return sf_groups_host_if_full(g, skb, f, flags, named, n);
}

/* sf_groups_enqueue - what enqueue is to return, for a packet of class @to->class */
static __always_inline int sf_groups_enqueue(struct sk_buff *skb, struct Qdisc *sch,
					     struct sf_place *to, bool may_refuse,
					     struct sk_buff **to_free,
					     const struct sf_kind *kind)
{
	struct sf_groups *g = qdisc_priv(sch);
	u8 flags = sf_read(&g->s, skb, to);
	struct sf_flow *f = sf_find(&g->s, to);
	bool refused;

	/* Before anything of this packet counts: it is of the next one. */
	if (!g->s.held && (u32)jiffies - g->epoch_from >= SF_EPOCH)
		sf_groups_end_epoch(g, SF_EPOCH);
	to->host = 0;
	if (unlikely(g->hosts.by)) {
		to->host = sf_groups_host(g, skb, f, flags, to->named >> SF_NAMED_SHIFT,
					  may_refuse);
		refused = to->host == SF_ANY_HOST;
	} else {
		refused = sf_groups_full(g, &g->top, skb, f, flags, may_refuse);
	}
	if (unlikely(refused)) {
		g->drop_new++;
		if (f)
			sf_flow_sums(&g->s.table, f)->drops++;
		sf_drop(skb, sch, to_free, SF_DROP_OVERLIMIT);
		return NET_XMIT_DROP;
	}
	sf_groups_get(g, f, flags, to);
	return sf_enqueue(skb, sch, to, to_free, kind);
}

static __always_inline struct sk_buff *sf_groups_dequeue(struct Qdisc *sch,
							 const struct sf_order *order)
{
	struct sf_groups *g = qdisc_priv(sch);
	struct sk_buff *skb;

	if (!g->s.held || sf_shaper_waits(sch, &g->s.shaper))
		return NULL;
	skb = sf_groups_take_from(sch, &g->top, true, order);
	sf_groups_sent(g, qdisc_pkt_len(skb));
	sf_shaper_sent(&g->s.shaper, skb, g->s.held);
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void sf_groups_reset(struct Qdisc *sch)
{
	struct sf_groups *g = qdisc_priv(sch);
	struct sf_queue *queue;
	u32 i, queues = sf_table_queues(g->s.table.sets * SF_WAYS);

	for (i = SF_ELSEWHERE; g->s.held && i < queues; i++) {
		queue = &g->s.table.queues[i];
		if (!queue->qlen)
			continue;
		sf_groups_uncount(g, queue, queue->backlog);
		sf_groups_emptied(g, queue);
		g->s.held -= queue->qlen;
		queue->qlen = 0;
		queue->backlog = 0;
		rtnl_kfree_skbs(queue->head, queue->tail);
	}
	g->s.memory = 0;
	sf_shaper_reset(&g->s.shaper);
	sf_lists_forget_turns(&g->top);
	g->overflow.deficit = 0;
	sf_groups_forget_link(g);
	sf_table_clear(&g->s.table);
	sf_hosts_clear(&g->hosts);
}

/* The attributes of the options that every such kind has; options.h has their rows. */
struct sf_groups_attributes {
	u16	plain;
	u16	buffer;
	u16	target;
	u16	ecn;
	u16	hosts;
	u16	nat;
	u16	last;		/* of all */
};

#define SF_GROUPS_ATTRIBUTES(KIND)					\
	{								\
		.plain		= TCA_ ## KIND ## _PLAIN,		\
		.buffer		= TCA_ ## KIND ## _BUFFER,		\
		.target		= TCA_ ## KIND ## _TARGET,		\
		.ecn		= TCA_ ## KIND ## _ECN,			\
		.hosts		= TCA_ ## KIND ## _HOSTS,		\
		.nat		= TCA_ ## KIND ## _NAT,			\
		.last		= TCA_ ## KIND ## _MAX,			\
	}

/* In units of codel.h */
static inline codel_time_t sf_codel_us(u32 us)
{
	return (u64)us * NSEC_PER_USEC >> CODEL_SHIFT;
}

/*
 * If hosts are told apart in another way, forget all of them, and find them anew: flows with
 * packets are of host 1 until they have none. Returns whether they are.
 */
static bool sf_groups_set_hosts(struct sf_groups *g, u32 by, bool nat)
{
	u32 i, queues = sf_table_queues(g->s.table.sets * SF_WAYS);
	struct sf_queue *queue;

	if (by == g->hosts.by && (nat == g->hosts.nat || !by)) {
		g->hosts.nat = nat;
		return false;
	}
	for (i = SF_ELSEWHERE; g->s.held && i < queues; i++) {
		queue = &g->s.table.queues[i];
		if (!queue->qlen)
			continue;
		sf_groups_uncount(g, queue, queue->backlog);
		sf_groups_leave(g, queue);
		if (queue->host)
			sf_host_release(&g->hosts, queue->host);
		queue->host = by ? SF_HOST_SHARED : 0;
	}
	sf_hosts_clear(&g->hosts);
	g->hosts.by = by;
	g->hosts.source = by == SF_HOSTS_DST ? 0 : ~(__force __be32)0;
	g->hosts.dest = by == SF_HOSTS_SRC ? 0 : ~(__force __be32)0;
	g->hosts.nat = nat;
	return true;
}

/* When `plain` changes, so do the bounds on what waits, unless they are given, too. */
static inline void sf_groups_follow_plain(const struct sf_groups_attributes *at,
					  struct nlattr **tb, const u64 *live, u64 *opt)
{
	bool plain = opt[at->plain], was = live && live[at->plain];

	if (plain != was && !tb[at->buffer])
		opt[at->buffer] = plain ? 0 : SF_GROUPS_BUFFER;
	if (plain != was && !tb[at->target])
		opt[at->target] = plain ? 0 : SF_GROUPS_TARGET;
}

/* The numbers of the policy: `plain` has none of its rules. */
static void sf_groups_set_policy(struct sf_groups *g, const u64 *opt, u16 last, bool plain)
{
	u32 known_share = sf_number(opt, last, SF_NUMBER_KNOWN_SHARE, plain ? 0 : SF_KNOWN_SHARE);
	u32 share = sf_number(opt, last, SF_NUMBER_FORGIVE_SHARE, plain ? 0 : SF_FORGIVE_SHARE);

	g->fair = sf_number(opt, last, SF_NUMBER_FAIR, plain ? 0 : SF_FAIR) ?: SF_NEVER;
	g->share = (share << SF_LEAK_SHIFT) / 100;
	g->newcomers_max = sf_number(opt, last, SF_NUMBER_NEWCOMERS, plain ? 0 : SF_NEWCOMERS) ?:
			   U32_MAX;
	/* While it is 0 the sorts do not take turns, whatever they have had. */
	if (!g->known_share != !known_share)
		sf_lists_forget_turns(&g->top);
	g->known_share = known_share;
	g->long_share = sf_number(opt, last, SF_NUMBER_LONG_SHARE, plain ? 0 : SF_LONG_SHARE);
	g->quantum = sf_number(opt, last, SF_NUMBER_QUANTUM, ETH_FRAME_LEN);
	g->visible = sf_number(opt, last, SF_NUMBER_RANK, !plain);
}

/*
 * CoDel's interval is 20 times its target (RFC 8289), or with `ingress` 10 times: a bottleneck
 * elsewhere holds more the later a flow slows down. It is a millisecond at least.
 */
static void sf_groups_set_codel(struct sf_groups *g, u32 target, bool ecn)
{
	u32 interval = target * (g->s.shaper.opt.ingress ? 10 : 20);

	g->aqm = target;
	g->codel.target = sf_codel_us(target);
	g->codel.interval = sf_codel_us(max_t(u32, interval, USEC_PER_MSEC));
	g->codel.ecn = ecn;
}

/*
 * Let it be as those options, @opt by attribute, after sf_set_options(); the rate that was set is
 * @was, as in link.set. @others than the shaper's have changed.
 */
static void sf_groups_set_options(struct sf_groups *g, const struct sf_groups_attributes *at,
				  const u64 *opt, u64 was, bool others)
{
	bool other_hosts;

	sf_groups_set_codel(g, opt[at->target], opt[at->ecn]);
	if (!others) {
		sf_groups_follow_link(g, was);
		return;
	}
	other_hosts = sf_groups_set_hosts(g, opt[at->hosts], opt[at->nat]);
	g->hosts.table.idle = g->s.table.idle;
	sf_groups_set_policy(g, opt, at->last, opt[at->plain]);
	g->stale_time = sf_codel_us(jiffies_to_usecs(g->s.link.buffer * SF_STALE));
	if (other_hosts)
		sf_groups_forget_link(g);
	else
		sf_groups_follow_link(g, was);
}

/* What waits in a queue is of another host now. */
static inline void sf_groups_move_to_host(struct sf_groups *g, const struct sf_queue *queue)
{
	u32 arrival = sf_cb(queue->tail)->arrival;
	u32 grown = g->hosts.host[queue->host].grown;

	if ((s32)(arrival - grown) < 0)
		arrival = grown;
	sf_host_grown(&g->hosts, queue->host, queue->backlog, arrival);
}

/* The options have changed: the order may be another one. */
static __always_inline void sf_groups_sort_again(struct sf_groups *g,
						 const struct sf_order *order)
{
	u32 i, queues = sf_table_queues(g->s.table.sets * SF_WAYS);
	struct sf_queue *queue;

	for (i = SF_ELSEWHERE; i < queues; i++) {
		queue = &g->s.table.queues[i];
		if (!queue->qlen)
			continue;
		if (queue->host && queue->group == SF_NOBODYS)
			sf_groups_move_to_host(g, queue);
		sf_groups_place(g, queue, order);
		sf_groups_lose(g, queue, order);
	}
}

/* For init, before anything can fail */
static inline void sf_groups_begin(struct Qdisc *sch)
{
	struct sf_groups *g = qdisc_priv(sch);

	sch->flags |= SF_DEQUEUE_DROPS;
	g->top.ranked = RB_ROOT_CACHED;
	sf_begin(sch);
	codel_params_init(&g->codel);
	codel_stats_init(&g->codel_stats);
	g->codel.mtu = psched_mtu(qdisc_dev(sch));
	g->tick = jiffies - 1;
	sf_link_begin(&g->s.link, SF_ROOM_MIN);
	sf_groups_forget_link(g);
}

/* Allocate for so many flows; on failure the core calls destroy, if not reset, too. */
static inline int sf_groups_init(struct sf_groups *g, const u64 *opt, u16 last, u32 flows)
{
	u32 hosts = max_t(u32, flows / SF_HOST_FLOWS, SF_WAYS);
	u32 queues = sf_table_queues(flows);

	hosts = sf_number(opt, last, SF_NUMBER_HOST_RECORDS, hosts);
	return sf_table_init(&g->s.table, flows, queues) ?: sf_heap_init(&g->losers, queues) ?:
	       sf_hosts_init(&g->hosts, hosts, flows);
}

static inline void sf_groups_free(struct sf_groups *g)
{
	sf_hosts_free(&g->hosts);
	sf_heap_free(&g->losers);
	sf_table_free(&g->s.table);
}

#endif
