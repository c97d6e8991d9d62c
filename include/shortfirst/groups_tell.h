/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is told of flows, hosts and all of it: classes.h, and statistics
 */
#ifndef _SF_GROUPS_TELL_H
#define _SF_GROUPS_TELL_H

#include <linux/jiffies.h>
#include <linux/rtnetlink.h>
#include "classes.h"
#include "groups_take.h"

/* The sort of a flow; without packets by what it was when its last one left */
static inline u32 sf_groups_tell_sort(const struct sf_groups *g, const struct sf_flow *f,
				      const struct sf_queue *queue)
{
	bool attained = f->attained >= g->fair_from && !f->priority;

	if (queue->group == SF_NOBODYS ? !f->known : sf_groups_is_new(queue->group))
		return TC_SF_SORT_NEW;
	if (queue->group == SF_NOBODYS ? attained : queue->group == SF_LONG_FLOWS)
		return TC_SF_SORT_LONG;
	return TC_SF_SORT_SHORT;
}

/*
 * The host of a flow, that of its last packet; 0 if nobody knows any more, since its record is
 * another's now. By its addresses that is plain unless they are not the host's: then by time.
 */
static inline u32 sf_groups_tell_host_of(const struct sf_groups *g, u32 i)
{
	const struct sf_flow *f = &g->s.table.flows[i];
	u32 n = g->hosts.of_flow[i], now = jiffies;

	if (f->queue)
		return g->s.table.queues[f->queue].host;
	if (n < SF_HOST_FIRST || sf_host_is(&g->hosts, n, &f->key))
		return n;
	if (!g->hosts.nat && sf_host_record(&g->hosts, n)->key.ethertype)
		return 0;
	return now - f->seen <= now - g->hosts.host[n].since ? n : 0;
}

static inline void sf_groups_tell_queue(const struct sf_queue *queue, struct sf_told *told)
{
	if (!queue->qlen)
		return;
	told->qlen = queue->qlen;
	told->backlog = queue->backlog;
	told->timed = true;
	told->waited = codel_time_to_us(codel_get_time() - sf_groups_codel_time(queue->head));
}

static inline void sf_groups_tell_host(const struct sf_groups *g, u32 n, struct sf_told *told)
{
	struct sf_host h = g->hosts.host[n];	/* What has leaked is not noted. */
	const struct sf_flow *f = sf_host_record(&g->hosts, n);

	*told = (struct sf_told) {
		.type		= TC_SF_CLASS_HOST,
		.number		= n,
		.sums		= *sf_host_sums(&g->hosts, n),
		.backlog	= h.backlog,
		.flows		= h.queues,
		.over		= sf_host_over(&g->hosts, &h),
		.level		= sf_host_level(&g->hosts, &h, jiffies),
	};
	if (!f)
		return;
	told->key = f->key;
	told->source = g->hosts.source;
	told->dest = g->hosts.dest;
	told->is_silent = !h.queues;
	told->silent = jiffies_to_msecs((u32)jiffies - f->seen);
}

/* For the class operation dump: all that is told of a class is of one time. */
static int sf_groups_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb,
				struct tcmsg *tcm)
{
	struct sf_groups *g = qdisc_priv(sch);
	u32 place = cl - SF_PLACE_0, flows = sf_class_flows(&g->s);
	const struct sf_queue *queue;
	const struct sf_flow *f;

	sch_tree_lock(sch);
	if (place > flows) {
		sf_groups_tell_host(g, place - flows, &g->s.told);
	} else if (place == flows) {
		g->s.told = (struct sf_told) {
			.type	= TC_SF_CLASS_OVERFLOW,
			.sort	= TC_SF_SORT_LONG,
			.host	= g->hosts.by ? SF_HOST_SHARED : 0,
			.sums	= *sf_sums_of(&g->s.table, SF_NO_FLOW),
		};
		sf_groups_tell_queue(&g->s.table.queues[SF_ELSEWHERE], &g->s.told);
	} else {
		f = &g->s.table.flows[place];
		queue = &g->s.table.queues[f->queue];
		sf_tell_flow(sch, place);
		g->s.told.sort = sf_groups_tell_sort(g, f, queue);
		g->s.told.host = sf_groups_tell_host_of(g, place);
		sf_groups_tell_queue(queue, &g->s.told);
	}
	sch_tree_unlock(sch);
	return sf_class_put(sch, skb, tcm);
}

/* The numbers of hosts that there may be, from SF_HOST_SHARED on */
static inline u32 sf_groups_hosts(const struct sf_groups *g)
{
	return g->hosts.by ? g->hosts.table.sets * SF_WAYS + SF_HOST_FIRST - 1 : 0;
}

/* For the class operation walk: after flows come those without a record, and hosts. */
static void sf_groups_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	struct sf_groups *g = qdisc_priv(sch);
	u32 flows = sf_class_flows(&g->s), hosts = sf_groups_hosts(g), n;
	bool known;

	sf_class_walk(sch, arg);
	while (!arg->stop && arg->count <= flows + hosts) {
		n = arg->count - flows;
		if (!n)
			known = sf_class_rest(&g->s.table);
		else if (n == SF_HOST_SHARED)
			known = READ_ONCE(g->hosts.host[n].queues) ||
				sf_class_rest(&g->hosts.table);
		else
			known = sf_class_known(&g->hosts.table, n - SF_HOST_FIRST);
		sf_class_tell(sch, arg, known);
	}
}

/* Tell what the statistics of every such kind have, under the lock; @st is the kind's. */
#define sf_groups_tell(sch, st)							\
	do {									\
		struct Qdisc *__sch = (sch);					\
		const struct sf_groups *__g = qdisc_priv(__sch);		\
		typeof(st) __st = (st);						\
										\
		sf_assert_locked(__sch);					\
		__st->memory = __g->s.memory;					\
		__st->memory_peak = __g->s.memory_peak;				\
		__st->drop_limit = __g->s.drop_limit;				\
		__st->drop_memory = __g->s.drop_memory;				\
		__st->drop_buffer = __g->s.drop_buffer;				\
		__st->drop_new = __g->drop_new;					\
		__st->drop_codel = __g->codel_stats.drop_count;			\
		__st->marked = (u64)__g->codel_stats.ecn_mark +			\
			       __g->codel_stats.ce_mark;			\
		__st->flows_new = __g->top.newcomers;				\
		__st->flows_long = __g->top.queues[SF_LONG_FLOWS];		\
		__st->flows_queued = sf_table_queued(&__g->s.table) +		\
				     !!__g->s.table.elsewhere;			\
		__st->flows_seen = __g->s.table.assigned;			\
		__st->records = __g->s.table.used;				\
		__st->evictions = __g->s.table.evictions;			\
		__st->overflow = __g->s.overflow;				\
		__st->gso_split = __g->s.gso_split;				\
		__st->room = sf_link_room(&__g->s.link);			\
		__st->hosts_known = __g->hosts.table.used;			\
		__st->hosts_over = __g->hosts.turns.size;			\
		__st->host_evictions = __g->hosts.table.evictions;		\
	} while (0)

#endif
