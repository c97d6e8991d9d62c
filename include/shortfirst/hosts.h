/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hosts, so that what one does is its own loss (policy.h). A host is an address, the source or
 * the destination of its packets, or a pair of both: one record each, in a table like that of
 * the flows (flow_table.h), and bounded like it. Who finds no room there is of host 1, which all
 * such share. What has no host is of host 0, and everything is if `by` says so. A tc filter may
 * name the host instead (filter.h).
 *
 *	host	record: tag	struct sf_host: level	own: lists
 *	2	81000		640000			new, short, long | heap: the least
 *	3	82514		12000			long		 v tag is next
 *
 * Long flows wait in lists of their host's own, and hosts send in turn, the same number of bytes
 * each. A tag is what a host has sent in its turns; one that had nothing to send is no more than
 * SF_HOST_LAG behind the others when it comes back.
 *
 * Newcomers and short flows of all hosts go first, as long as their host has had no more than
 * its share of that lately: they fill a bucket, of which three quarters of a share leak. A share is
 * an equal part of the link's rate for each host that is active, or if that is more, an equal part
 * of what is left to those who want more: who had packets in lists of their own, since they are
 * over their share or have long flows, or were refused some. If more is in the bucket than
 * `limit`, the host is over, and all that it has waits in lists of its own. These are served as the
 * top ones are: the quiet flows of a host that is busy go first there. What is sent so fills the
 * bucket, too: who does not stop is over his share for good. A host that is alone never is.
 */
#ifndef _SF_HOSTS_H
#define _SF_HOSTS_H

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/netfilter.h>
#include <linux/sizes.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/udp.h>
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
#include <net/netfilter/nf_conntrack_tuple.h>
#endif
#include "alloc.h"
#include "examined.h"
#include "flow_heap.h"
#include "flow_key.h"
#include "flow_table.h"
#include "link_rate.h"
#include "lists.h"

/* Who is a host: the values of the option */
enum { SF_HOSTS_NONE, SF_HOSTS_SRC, SF_HOSTS_DST, SF_HOSTS_BOTH };

#define SF_HOST_LAG		(32 << 10)	/* bytes */
#define SF_HOST_LIMIT		SZ_1M		/* bytes, or what the link sends in a second */
#define SF_HOST_MARGIN_SHIFT	3		/* none is filled to more than such a part beyond */
#define SF_HOST_FALL_SHIFT	3		/* they fall by no more than such a part */
#define SF_HOST_LEAK_SHIFT	16

/*
 * Who has less waiting, which is no more than a full packet, loses none while another one has as
 * much. So a host that sends one packet at a time is not in a heap.
 */
#define SF_HOST_MUCH		(ETH_FRAME_LEN + 1)

/* Who is of host 1 has no record. */
#define SF_HOST_SHARED		1
#define SF_HOST_FIRST		2

/* So many queues of hosts that have come to be over their share are moved at a time. */
#define SF_MOVED		8

/* Only the bucket of host 1 has as much, and it never leaks. */
#define SF_HOST_ALWAYS		U32_MAX

/* What each packet needs of its host */
struct sf_host {
	u32		level;		/* bytes in its bucket */
	u32		seen;		/* jiffies: what was due until then has leaked */
	u32		queues;		/* with packets */
	u32		backlog;	/* bytes that wait, in whatever lists */
	u32		grown;		/* arrival of the packet with which that became more */
	u32		most;		/* the backlog that its place in the heap tells; if it is
					 * not there, SF_HOST_MUCH
					 */
	u8		epoch;		/* the last in which it was active, */
	u8		wanted;		/* and in which it wanted more than it had */
	bool		busy;		/* it has packets in lists of its own */
	bool		heaped;
	u32		since;		/* jiffies when it got its record, if it has one */
};

static_assert(sizeof(struct sf_host) == 32);

struct sf_hosts {
	u32		by;		/* SF_HOSTS_* */
	bool		nat;		/* addresses are those before NAT */
	struct sf_host	*host;		/* by number, */
	struct sf_lists	*own;		/* their lists */
	u16		*of_flow;	/* by the flow's record: its host's number, or another's */
	u32		flows;		/* how many records */
	__be32		source;		/* a mask of the address, if it counts, or else 0 */
	__be32		dest;
	struct sf_table	table;		/* of a record, queue is whether it has packets, rest its
					 * tag, and attained its level when it had none any more,
					 * by which equally silent ones go
					 */
	u64		shared_tag;	/* of host 1 */
	struct sf_flow_key key;		/* of the host that is sought; not on the stack: sched.h */
	struct sk_buff	*reply;		/* scratch headers of sf_host_tuple_by_reply() */
	struct sf_heap	turns;		/* of those with packets in lists of their own */
	struct sf_heap	most;		/* all who have SF_HOST_MUCH waiting, and some who had */
	u32		waiting;	/* hosts with packets */
	u64		now;		/* the highest tag of a host that was served */
	u64		leak;		/* bytes per jiffy << SF_HOST_LEAK_SHIFT */
	u32		limit;		/* bytes of level; SF_HOST_ALWAYS: the link is not known */
	u32		cap;		/* no level becomes more; 0: the same */
	u8		epoch;		/* as of policy.h; wraps. In this one: */
	u32		seen;		/* hosts that were active, */
	u32		active;		/* in the one before it, */
	u32		wanting;	/* those that wanted more than they had, */
	u64		spent;		/* and bytes of short flows of all others */
};

/* The record of a host, NULL for the one without */
static inline struct sf_flow *sf_host_record(const struct sf_hosts *hosts, u32 n)
{
	return n < SF_HOST_FIRST ? NULL : &hosts->table.flows[n - SF_HOST_FIRST];
}

static inline struct sf_sums *sf_host_sums(const struct sf_hosts *hosts, u32 n)
{
	return sf_sums_of(&hosts->table, n - SF_HOST_FIRST);
}

static inline u64 *sf_host_tag(struct sf_hosts *hosts, u32 n)
{
	struct sf_flow *f = sf_host_record(hosts, n);

	return f ? &f->rest : &hosts->shared_tag;
}

/* What is in its bucket: what is due has leaked. */
static inline u32 sf_host_level(const struct sf_hosts *hosts, struct sf_host *h, u32 now)
{
	u32 elapsed = now - h->seen;

	if (elapsed && h->level != SF_HOST_ALWAYS) {
		h->level -= min_t(u64, h->level,
				  mul_u64_u32_shr(hosts->leak, elapsed, SF_HOST_LEAK_SHIFT));
		h->seen = now;
	}
	return h->level;
}

/*
 * Is a host over its share? Those without a record are, for nobody knows how many they are. One
 * that is alone is not: no other has sent anything of late, or has packets waiting.
 */
static inline bool sf_host_over(const struct sf_hosts *hosts, struct sf_host *h)
{
	if (h->level <= hosts->limit)
		return false;
	return max3(hosts->active, hosts->seen, hosts->waiting) > 1 &&
	       sf_host_level(hosts, h, jiffies) > hosts->limit;
}

/* It has sent @len bytes of short flows. */
static inline void sf_host_attain(struct sf_hosts *hosts, struct sf_host *h, u32 len)
{
	if (!h->busy && h->wanted != hosts->epoch)
		hosts->spent += len;
	/* What leaks is for the time before, else a quiet host would have saved it up. */
	if (sf_host_level(hosts, h, jiffies) < hosts->cap)
		h->level += min(len, hosts->cap - h->level);
}

/* It wants more than it has: packets of it wait in lists of its own, or were refused. */
static inline void sf_host_wants(struct sf_hosts *hosts, struct sf_host *h)
{
	hosts->wanting += !h->busy && h->wanted != hosts->epoch;
	h->wanted = hosts->epoch;
}

/* It is active. What is not IP, as ARP, has a record, and is nobody. */
static inline void sf_host_seen(struct sf_hosts *hosts, u32 n)
{
	struct sf_host *h = &hosts->host[n];
	struct sf_flow *f;

	if (likely(h->epoch == hosts->epoch))
		return;
	h->epoch = hosts->epoch;
	f = sf_host_record(hosts, n);
	if (f)
		hosts->seen += f->key.ethertype == htons(ETH_P_IP) ||
			       f->key.ethertype == htons(ETH_P_IPV6) || f->key.v4.src;
}

/* Is it that of packets with these addresses? */
static inline bool sf_host_is(const struct sf_hosts *hosts, u32 n, const struct sf_flow_key *key)
{
	const struct sf_flow *f = sf_host_record(hosts, n);

	if (!f || f->key.ethertype != key->ethertype)
		return false;
	if (sf_flow_key_short(key))
		return !(((f->key.v4.src ^ key->v4.src) & hosts->source) |
			 ((f->key.v4.dst ^ key->v4.dst) & hosts->dest));
	return (!hosts->source || !memcmp(f->key.v6.src, key->v6.src, sizeof(key->v6.src))) &&
	       (!hosts->dest || !memcmp(f->key.v6.dst, key->v6.dst, sizeof(key->v6.dst)));
}

#if IS_ENABLED(CONFIG_NF_CONNTRACK)
/*
 * Look up the reply to a packet with @key. If conntrack knows it, @tuple is that of the packet
 * before NAT. In a tunnel @key is the inner flow's, and so is @tuple. The lock of the qdisc guards
 * the scratch headers, of which nf_ct_get_tuple_skb() reads addresses, protocol and ports.
 */
static noinline bool sf_host_tuple_by_reply(const struct sf_hosts *hosts, const struct sk_buff *skb,
					    const struct sf_flow_key *key,
					    struct nf_conntrack_tuple *tuple)
{
	const __be16 *ports = (const __be16 *)&key->ports;
	struct iphdr *ip = ip_hdr(hosts->reply);
	struct udphdr *udp = (struct udphdr *)(ip + 1);

	/* Fragments have no ports; encrypted tunnels have a hash in their place. */
	if (!sf_flow_key_short(key) || !key->ports || key->inner ||
	    (key->proto != IPPROTO_TCP && key->proto != IPPROTO_UDP))
		return false;
	ip->protocol = key->proto;
	ip->saddr = key->v4.dst;
	ip->daddr = key->v4.src;
	udp->source = ports[1];
	udp->dest = ports[0];
	hosts->reply->dev = skb->dev;
	return nf_ct_get_tuple_skb(tuple, hosts->reply);
}
#endif

/*
 * Replace the addresses of @key by those that the connection had before NAT. There are three cases:
 *
 * - The packet has a conntrack entry, which has its tuple.
 * - It arrives and has not passed conntrack yet, as on ifb. Conntrack knows its tuple and returns
 *   the one of the other direction, which has to be turned.
 * - It leaves by a flowtable of nftables, which translates packets and gives them no entry.
 *   Conntrack does not know its tuple, but that of its reply, and returns the one before NAT.
 *
 * Otherwise, or without conntrack, nothing changes. A packet without an entry is looked up only if
 * it is IPv4, since nf_ct_get_tuple_skb() takes anything else for IPv4, too.
 */
static inline void sf_host_before_nat(const struct sf_hosts *hosts, const struct sk_buff *skb,
				      struct sf_flow_key *key)
{
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
	bool turned = !skb_nfct(skb);
	struct nf_conntrack_tuple tuple;
	const union nf_inet_addr *src, *dst;

	if (turned && skb->protocol != htons(ETH_P_IP))
		return;
	if (!nf_ct_get_tuple_skb(&tuple, skb)) {
		if (!sf_host_tuple_by_reply(hosts, skb, key, &tuple))
			return;
		turned = false;
	}
	src = turned ? &tuple.dst.u3 : &tuple.src.u3;
	dst = turned ? &tuple.src.u3 : &tuple.dst.u3;
	memset(key, 0, sizeof(*key));
	if (tuple.src.l3num == NFPROTO_IPV4) {
		key->ethertype = htons(ETH_P_IP);
		key->v4.src = src->ip;
		key->v4.dst = dst->ip;
	} else {
		key->ethertype = htons(ETH_P_IPV6);
		memcpy(key->v6.src, src->ip6, sizeof(key->v6.src));
		memcpy(key->v6.dst, dst->ip6, sizeof(key->v6.dst));
	}
#endif
}

/* Give a record to the host that was sought; its number, or SF_HOST_SHARED if there is none. */
static noinline u32 sf_host_assign(struct sf_hosts *hosts, u32 hash)
{
	struct sf_table *t = &hosts->table;
	u32 now = jiffies, way = sf_table_victim(t, sf_table_set(t, hash), now), n;
	struct sf_flow *f;
	struct sf_host *h;

	if (way == SF_WAYS)
		return SF_HOST_SHARED;
	f = sf_table_assign(t, &hosts->key, hash, way, now);
	f->rest = hosts->now;
	n = f - t->flows + SF_HOST_FIRST;
	h = &hosts->host[n];
	h->level = 0;
	h->seen = now;
	h->since = now;
	h->epoch = 0;
	h->wanted = 0;
	sf_host_seen(hosts, n);
	return n;
}

/**
 * sf_host_find - the number of the host that a packet is of
 * @hosts: the hosts
 * @skb: the packet
 * @key: of its flow
 * @named: the host that a filter has named, 0 if none has
 * @fresh: it may get a record if it has none
 *
 * Return: the number of one with a record, or SF_HOST_SHARED if there is none to be had. 0 if it
 * has none and is not to get one.
 */
static noinline u32 sf_host_find(struct sf_hosts *hosts, const struct sk_buff *skb,
				 const struct sf_flow_key *key, u32 named, bool fresh)
{
	struct sf_table *t = &hosts->table;
	struct sf_flow_key *host = &hosts->key;
	struct sf_flow *f;
	u32 hash, n;

	*host = *key;
	if (hosts->nat && !named)
		sf_host_before_nat(hosts, skb, host);
	host->ports = 0;
	host->proto = 0;
	host->inner = 0;
	if (unlikely(named)) {
		/* What has no EtherType has no addresses, either. */
		memset(host, 0, sizeof(*host));
		host->v4.src = htonl(named);
	} else if (sf_flow_key_short(host)) {
		host->v4.src &= hosts->source;
		host->v4.dst &= hosts->dest;
	} else {
		if (!hosts->source)
			memset(host->v6.src, 0, sizeof(host->v6.src));
		if (!hosts->dest)
			memset(host->v6.dst, 0, sizeof(host->v6.dst));
	}
	hash = sf_flow_key_hash(host, &t->secret);
	f = sf_table_find(t, host, hash);
	if (unlikely(!f))
		return fresh ? sf_host_assign(hosts, hash) : 0;
	n = f - t->flows + SF_HOST_FIRST;
	sf_host_seen(hosts, n);
	return n;
}

static inline struct sf_heap_node sf_host_waiting(const struct sf_hosts *hosts, u32 n)
{
	const struct sf_host *h = &hosts->host[n];

	return (struct sf_heap_node) { U32_MAX - h->backlog, ~h->grown, n };
}

/* A queue of the host has packets now: its record stays. */
static inline void sf_host_take(struct sf_hosts *hosts, u32 n)
{
	struct sf_flow *f;

	sf_count(hosts->host[n].queues, 1);
	if (hosts->host[n].queues > 1)
		return;
	hosts->waiting++;
	f = sf_host_record(hosts, n);
	if (f)
		WRITE_ONCE(f->queue, 1);
}

/* It is no longer in the heap of those with the most waiting. */
static inline void sf_host_spare(struct sf_hosts *hosts, u32 n)
{
	hosts->host[n].heaped = false;
	hosts->host[n].most = SF_HOST_MUCH;
	sf_heap_remove(&hosts->most, n);
}

/*
 * A queue of it has none any more. With the last one its record may go, at once if all others of
 * its set have packets.
 */
static inline void sf_host_release(struct sf_hosts *hosts, u32 n)
{
	struct sf_host *h = &hosts->host[n];
	struct sf_flow *f;

	sf_count(h->queues, -1);
	if (h->queues)
		return;
	hosts->waiting--;
	f = sf_host_record(hosts, n);
	if (f) {
		WRITE_ONCE(f->queue, 0);
		WRITE_ONCE(f->seen, jiffies);
		/* Of a short flow's packet it is known already: sf_host_attain(). */
		f->attained = sf_host_level(hosts, h, f->seen);
	}
	if (h->heaped)
		sf_host_spare(hosts, n);
}

/* More of it waits than its place in the heap tells, or so much that it comes there. */
static noinline void sf_host_climb(struct sf_hosts *hosts, u32 n)
{
	struct sf_host *h = &hosts->host[n];
	struct sf_heap_node node = sf_host_waiting(hosts, n);

	h->most = h->backlog;
	if (h->heaped) {
		sf_heap_up(&hosts->most, hosts->most.at[n], node);
		return;
	}
	h->heaped = true;
	sf_heap_add(&hosts->most, node);
}

/*
 * @len bytes more of it wait, since the packet that came as number @arrival. If more have waited
 * since it has come to its place in the heap, this is soon enough when somebody asks.
 */
static inline void sf_host_grown(struct sf_hosts *hosts, u32 n, u32 len, u32 arrival)
{
	struct sf_host *h = &hosts->host[n];

	h->backlog += len;
	h->grown = arrival;
	if (h->backlog >= h->most)
		sf_host_climb(hosts, n);
}

/*
 * The host with the most bytes waiting, or 0 if none has SF_HOST_MUCH. If many have sent since they
 * came to their places in the heap, it may be one of them, with less.
 */
static inline u32 sf_host_most(struct sf_hosts *hosts)
{
	struct sf_heap_node first, node;
	struct sf_host *h;
	u32 i;

	for (i = 0; hosts->most.size && i < SF_SEARCH_MAX; i++) {
		sf_examined(i);
		first = hosts->most.node[0];
		h = &hosts->host[first.queue];
		if (h->backlog < SF_HOST_MUCH) {
			sf_host_spare(hosts, first.queue);
			continue;
		}
		node = sf_host_waiting(hosts, first.queue);
		if (node.rank == first.rank && node.arrival == first.arrival)
			return first.queue;
		h->most = h->backlog;
		sf_heap_lower(&hosts->most, node);
	}
	return hosts->most.size ? hosts->most.node[0].queue : 0;
}

/* It has packets in lists of its own now; @arrivals orders those that are alike. */
static inline void sf_host_begin(struct sf_hosts *hosts, u32 n, u32 arrivals)
{
	struct sf_host *h = &hosts->host[n];
	u64 *tag = sf_host_tag(hosts, n);

	sf_host_wants(hosts, h);
	h->busy = true;
	if (*tag + SF_HOST_LAG < hosts->now)
		*tag = hosts->now - SF_HOST_LAG;
	sf_heap_add(&hosts->turns, (struct sf_heap_node) { *tag, arrivals, n });
}

/* And no longer. If it had some all the time it is counted among the wanting, too. */
static inline void sf_host_end(struct sf_hosts *hosts, u32 n)
{
	hosts->host[n].wanted = hosts->epoch;
	hosts->host[n].busy = false;
	sf_heap_remove(&hosts->turns, n);
}

/* The next host in the round-robin; one has packets in its own lists */
static inline u32 sf_host_next(struct sf_hosts *hosts)
{
	/* Not less than it was: else each that comes back would be behind the one before. */
	hosts->now = max(hosts->now, hosts->turns.node[0].rank);
	return hosts->turns.node[0].queue;
}

/* One with packets in lists of its own, not the next unless it is alone; 0 if there is none */
static inline u32 sf_host_not_next(const struct sf_hosts *hosts)
{
	return hosts->turns.size ? hosts->turns.node[hosts->turns.size - 1].queue : 0;
}

/* It has sent @len bytes in its turn; @arrivals as in sf_host_begin(). */
static inline void sf_host_sent(struct sf_hosts *hosts, u32 n, u32 len, u32 arrivals)
{
	u64 *tag = sf_host_tag(hosts, n);

	*tag += len;
	if (hosts->host[n].busy)
		sf_heap_lower(&hosts->turns, (struct sf_heap_node) { *tag, arrivals, n });
}

/* An epoch begins. */
static inline void sf_hosts_begin_epoch(struct sf_hosts *hosts)
{
	/* Of what has no record yet it is 0. */
	if (!++hosts->epoch)
		hosts->epoch = 1;
	hosts->seen = 0;
	hosts->wanting = hosts->turns.size;
	hosts->spent = 0;
}

/* An epoch ends, in whose @lasted jiffies the link could have sent @bytes. */
static inline void sf_hosts_share_out(struct sf_hosts *hosts, u64 bytes, u32 lasted)
{
	u64 equal = div_u64(bytes, max(hosts->seen, 1U)), left = bytes;

	hosts->active = hosts->seen;
	if (hosts->wanting)
		left = div_u64(bytes - min(bytes, hosts->spent), hosts->wanting);
	hosts->leak = div_u64(max(equal, left) * 3 << (SF_HOST_LEAK_SHIFT - 2), lasted);
}

/* A host's bucket may have so much, or SF_HOST_LIMIT. */
static inline void sf_hosts_let(struct sf_hosts *hosts, u64 bytes)
{
	hosts->limit = min_t(u64, bytes, SF_HOST_LIMIT);
	hosts->cap = hosts->limit + (hosts->limit >> SF_HOST_MARGIN_SHIFT);
}

/* The link has sent @bytes in @elapsed jiffies, in which something waited all the time. */
static inline void sf_hosts_measured(struct sf_hosts *hosts, u64 bytes, u32 elapsed)
{
	u64 second = div_u64(bytes * HZ, elapsed);

	/* It falls slowly: who is over is not pardoned by one moment in which the link is slow. */
	hosts->limit = hosts->cap ? hosts->limit - (hosts->limit >> SF_HOST_FALL_SHIFT) : 0;
	sf_hosts_let(hosts, max_t(u64, hosts->limit, second));
}

/*
 * The link sends @now bytes in SF_MEASURE, and sent @was; the epoch goes on. Who was over his share
 * is after it, too, and who was not is not.
 */
static inline void sf_hosts_scale(struct sf_hosts *hosts, u64 now, u64 was)
{
	u32 i, records = hosts->table.sets * SF_WAYS, limit = hosts->limit;
	u32 at = jiffies;
	struct sf_host *h;
	u64 level;

	if (!hosts->by || !hosts->cap)
		return;
	/* The limit may have been less than a second of the old rate. */
	sf_hosts_let(hosts, max(mul_u64_u64_div_u64(hosts->limit, now, was),
				div_u64(now * HZ, SF_MEASURE)));
	for (i = 0; i < records; i++) {
		h = &hosts->host[i + SF_HOST_FIRST];
		if (!h->level)
			continue;
		/* By the rate that was; rounded up, so that beyond the limit remains beyond it. */
		level = (u64)sf_host_level(hosts, h, at) * hosts->limit;
		h->level = min_t(u64, div_u64(level + limit - 1, limit), hosts->cap);
	}
	hosts->leak = mul_u64_u64_div_u64(hosts->leak, now, was);
}

/* Nothing is known of the link: no host is over its share. */
static inline void sf_hosts_forget_link(struct sf_hosts *hosts)
{
	u32 i;

	for (i = 0; i < hosts->table.sets * SF_WAYS; i++)
		hosts->host[i + SF_HOST_FIRST].level = 0;
	hosts->active = 0;
	hosts->limit = SF_HOST_ALWAYS;
	hosts->cap = 0;
	sf_hosts_begin_epoch(hosts);
}

/* Forget all hosts; none has packets. The table may have no records, if init has failed. */
static inline void sf_hosts_clear(struct sf_hosts *hosts)
{
	sf_table_clear(&hosts->table);
	if (hosts->of_flow)
		memset(hosts->of_flow, 0, hosts->flows * sizeof(*hosts->of_flow));
	hosts->now = 0;
	hosts->shared_tag = 0;
}

/* Allocate the scratch headers of sf_host_tuple_by_reply(); 0 or -ENOMEM. */
static inline int sf_hosts_init_reply(struct sf_hosts *hosts)
{
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
	struct iphdr *ip;

	hosts->reply = alloc_skb(sizeof(*ip) + sizeof(struct udphdr), SF_GFP_TABLE);
	if (!hosts->reply)
		return -ENOMEM;
	skb_reset_network_header(hosts->reply);
	ip = skb_put_zero(hosts->reply, sizeof(*ip) + sizeof(struct udphdr));
	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
#endif
	return 0;
}

/* Allocate for so many hosts and flows, powers of two; 0 or -ENOMEM, then sf_hosts_free(). */
static inline int sf_hosts_init(struct sf_hosts *hosts, u32 records, u32 flows)
{
	u32 i;

	hosts->of_flow = kvcalloc(flows, sizeof(*hosts->of_flow), SF_GFP_TABLE);
	if (!hosts->of_flow)
		return -ENOMEM;
	hosts->flows = flows;
	hosts->host = kvcalloc(records + SF_HOST_FIRST, sizeof(*hosts->host), SF_GFP_TABLE);
	hosts->own = kvcalloc(records + SF_HOST_FIRST, sizeof(*hosts->own), SF_GFP_TABLE);
	if (!hosts->host || !hosts->own)
		return -ENOMEM;
	for (i = 0; i < records + SF_HOST_FIRST; i++) {
		hosts->own[i].ranked = RB_ROOT_CACHED;
		hosts->host[i].most = SF_HOST_MUCH;
	}
	hosts->host[SF_HOST_SHARED].level = SF_HOST_ALWAYS;
	return sf_hosts_init_reply(hosts) ?:
	       sf_table_init(&hosts->table, records, SF_FIRST_QUEUE) ?:
	       sf_heap_init(&hosts->turns, records + SF_HOST_FIRST) ?:
	       sf_heap_init(&hosts->most, records + SF_HOST_FIRST);
}

static inline void sf_hosts_free(struct sf_hosts *hosts)
{
	sf_heap_free(&hosts->most);
	sf_heap_free(&hosts->turns);
	sf_table_free(&hosts->table);
	consume_skb(hosts->reply);
	kvfree(hosts->own);
	kvfree(hosts->host);
	kvfree(hosts->of_flow);
}

#endif
