// SPDX-License-Identifier: GPL-2.0
/*
 * What a qdisc calls of the kernel, where its own code is not linked: packets, memory that runs out
 * when a test wants it to, a clock that stands, the parent, filters, and no locks.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/flow_dissector.h>
#include <net/netfilter/nf_conntrack_tuple.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <net/sock.h>
#include "kernel.h"

struct kernel kernel;
struct net_device device;
struct sock who_asks;
struct net init_net;
struct module __this_module;
static struct task_struct task;
struct task_struct *cpu_tasks[NR_CPUS] = { &task };
typeof(jiffies) jiffies;

static unsigned long jiffies_from;

/* Memory */

/* Does this allocation fail? */
static bool runs_out(void)
{
	return kernel.fail_in && !--kernel.fail_in;
}

void *__kvmalloc_node_noprof(DECL_KMALLOC_PARAMS(size, b, token), unsigned long align, gfp_t flags,
			     int node)
{
	void *memory = runs_out() ? NULL : flags & __GFP_ZERO ? calloc(1, size) : malloc(size);

	kernel.blocks += !!memory;
	return memory;
}

void kvfree(const void *memory)
{
	kernel.blocks -= !!memory;
	free((void *)memory);
}

void kfree(const void *memory)
{
	kvfree(memory);
}

void *kmemdup_noprof(const void *memory, size_t size, gfp_t flags)
{
	void *copy = runs_out() ? NULL : malloc(size);

	if (!copy)
		return NULL;
	kernel.blocks++;
	return memcpy(copy, memory, size);
}

/* Time */

/* The clock stands still but for this. */
void kernel_clock(u64 ns)
{
	kernel.now += ns;
	jiffies = jiffies_from + div_u64(kernel.now, TICK_NSEC);
}

void kernel_jiffies(unsigned long from)
{
	jiffies_from = from;
	kernel_clock(0);
}

ktime_t ktime_get(void)
{
	return kernel.now;
}

unsigned long __msecs_to_jiffies(const unsigned int ms)
{
	return (int)ms < 0 ? MAX_JIFFY_OFFSET : _msecs_to_jiffies(ms);
}

/* Random numbers: splitmix64 */

u64 get_random_u64(void)
{
	u64 z = kernel.random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

u32 get_random_u32(void)
{
	return get_random_u64();
}

void get_random_bytes(void *to, size_t len)
{
	u8 *bytes = to;
	size_t i;

	for (i = 0; i < len; i++)
		bytes[i] = get_random_u64();
}

/* Packets */

/* What is behind the linear part is not to be touched. */
#define PACKET_GAP	64

static u32 packet_end(u32 linear)
{
	return ALIGN(NET_SKB_PAD + linear, SMP_CACHE_BYTES) + PACKET_GAP;
}

/* @head has room for what is linear, and for what is shared. */
static void packet_head(struct sk_buff *skb, u8 *head, u32 linear)
{
	u32 end = packet_end(linear);

	skb->head = head;
	skb->data = skb->head + NET_SKB_PAD;
	skb->end = end;
	skb_set_tail_pointer(skb, linear);
#ifdef __SANITIZE_ADDRESS__
	__asan_poison_memory_region(skb->data + linear, end - NET_SKB_PAD - linear);
#endif
}

/* A packet of @len bytes, of which the first @copied are given and @linear in the linear part */
struct packet *packet_new(const u8 *bytes, u32 copied, u32 len, u32 linear)
{
	struct packet *packet = calloc(1, sizeof(*packet) + packet_end(linear) +
					  sizeof(struct skb_shared_info));
	struct sk_buff *skb = &packet->skb;

	packet_head(skb, packet->head, linear);
	skb->len = len;
	skb->data_len = len - linear;
	skb->truesize = SKB_TRUESIZE(len);
	skb->dev = &device;
	skb->sk = &who_asks;
	refcount_set(&skb->users, 1);
	packet->copied = min_t(u32, copied, PACKET_ROOM);
	memcpy(packet->bytes, bytes, packet->copied);
	memcpy(skb->data, bytes, min(packet->copied, linear));
	list_add_tail(&packet->all, &kernel.packets);
	kernel.alive++;
	return packet;
}

/* What a packet has begun with goes with it. */
static void free_head(const struct packet *packet, u8 *head)
{
	if (head != packet->head)
		free(head);
}

void packet_free(struct packet *packet)
{
	CHECK(packet->owner != FREED);
	packet->owner = FREED;
	list_del(&packet->all);
	kernel.alive--;
	free_head(packet, packet->skb.head);
	free(packet);
}

/*
 * A buffer of the qdisc, in which it asks conntrack for the reply to a packet. It counts as a block
 * of memory, not as a packet, and has no socket.
 */
struct sk_buff *__alloc_skb(unsigned int size, gfp_t flags, int how, int node)
{
	struct sk_buff *skb = runs_out() ? NULL : calloc(1, sizeof(*skb) + size);

	if (!skb)
		return NULL;
	kernel.blocks++;
	skb->head = (u8 *)(skb + 1);
	skb->data = skb->head;
	skb->end = size;
	return skb;
}

static bool is_scratch(const struct sk_buff *skb)
{
	return !skb->sk;
}

void sk_skb_reason_drop(const struct sock *sk, struct sk_buff *skb, enum skb_drop_reason reason)
{
	if (!skb || is_scratch(skb)) {
		kvfree(skb);
		return;
	}
	kernel.freed++;
	packet_free(packet_of(skb));
}

void rtnl_kfree_skbs(struct sk_buff *head, struct sk_buff *tail)
{
	struct sk_buff *skb, *next;

	CHECK(kernel.rtnl);
	for (skb = head; skb; skb = next) {
		next = skb == tail ? NULL : skb->next;
		kernel.freed_later++;
		packet_free(packet_of(skb));
	}
}

int skb_copy_bits(const struct sk_buff *skb, int offset, void *to, int len)
{
	struct packet *packet = packet_of(skb);
	u8 *bytes = to;
	u32 i, at;

	if (offset < 0 || len < 0 || offset > (int)skb->len - len)
		return -EFAULT;
	for (i = 0; i < len; i++) {
		at = offset + i;
		if (at < skb_headlen(skb))
			bytes[i] = skb->data[at];
		else
			bytes[i] = at < packet->copied ? packet->bytes[at] : 0;
	}
	return 0;
}

void *__pskb_pull_tail(struct sk_buff *skb, int delta)
{
	u32 linear = skb_headlen(skb);
	struct sk_buff was = *skb;

	if (delta > skb->data_len || runs_out())
		return NULL;
	packet_head(skb, calloc(1, packet_end(linear + delta) + sizeof(struct skb_shared_info)),
		    linear + delta);
	*skb_shinfo(skb) = *skb_shinfo(&was);
	memcpy(skb->data, was.data, linear);
	skb_copy_bits(skb, linear, skb->data + linear, delta);
	skb->data_len -= delta;
	free_head(packet_of(skb), was.head);
	return skb_tail_pointer(skb);
}

struct vlan_type_depth __vlan_get_protocol_offset(const struct sk_buff *skb, __be16 type,
						  int mac_offset)
{
	struct vlan_type_depth none = {}, found = { .type = type, .depth = ETH_HLEN };
	struct vlan_hdr tag;
	int i;

	for (i = 0; i < 8 && eth_type_vlan(found.type); i++, found.depth += VLAN_HLEN) {
		if (skb_copy_bits(skb, mac_offset + found.depth, &tag, sizeof(tag)))
			return none;
		found.type = tag.h_vlan_encapsulated_proto;
	}
	return eth_type_vlan(found.type) ? none : found;
}

netdev_features_t netif_skb_features(struct sk_buff *skb)
{
	return NETIF_F_GSO_MASK;
}

/* Where the data of a GSO packet begins, from skb->data on; 0: there is none */
static u32 segments_data(const struct sk_buff *skb)
{
	struct tcphdr th;
	int at;

	if (!skb_transport_header_was_set(skb))
		return 0;
	at = skb->encapsulation ? skb_inner_transport_offset(skb) : skb_transport_offset(skb);
	if (!(skb_shinfo(skb)->gso_type & (SKB_GSO_TCPV4 | SKB_GSO_TCPV6)))
		return at + sizeof(struct udphdr);
	if (skb_copy_bits(skb, at, &th, sizeof(th)) || th.doff < 5)
		return 0;
	return at + th.doff * 4;
}

static struct packet *segment_new(const struct packet *whole, u32 data, u32 from, u32 len)
{
	const struct sk_buff *skb = &whole->skb;
	struct packet *packet = packet_new(whole->bytes, min(whole->copied, data), data + len,
					   min(data, skb_headlen(skb)));
	struct sk_buff *seg = &packet->skb;
	int at = skb_transport_offset(skb);
	struct tcphdr *th;

	seg->truesize *= max_t(u32, 1, skb->truesize / SKB_TRUESIZE(skb->len));
	memcpy(seg->cb, skb->cb, sizeof(seg->cb));
	seg->protocol = skb->protocol;
	seg->priority = skb->priority;
	seg->encapsulation = skb->encapsulation;
	skb_set_mac_header(seg, 0);
	skb_set_network_header(seg, skb_network_offset(skb));
	skb_set_transport_header(seg, at);
	seg->inner_transport_header = skb->inner_transport_header;
	th = (struct tcphdr *)(seg->data + at);
	if (!skb->encapsulation && at + sizeof(*th) <= skb_headlen(seg) &&
	    skb_shinfo(skb)->gso_type & (SKB_GSO_TCPV4 | SKB_GSO_TCPV6)) {
		th->seq = htonl(ntohl(th->seq) + from);
		if (data + from + len < skb->len)
			th->fin = 0;
	}
	packet->owner = QDISC;
	packet->flow = whole->flow;
	packet->number = ++kernel.numbers;
	packet->filter = whole->filter;
	packet->classid = whole->classid;
	packet->classed = whole->classed;
	return packet;
}

struct sk_buff *__skb_gso_segment(struct sk_buff *skb, netdev_features_t features, bool tx_path)
{
	u32 size = skb_shinfo(skb)->gso_size, data = segments_data(skb), from;
	struct sk_buff *first = NULL, **end = &first, *seg;
	u32 numbers = kernel.numbers;

	kernel.unsplit++;
	if (kernel.no_segments)
		return kernel.no_segments == 1 ? NULL : ERR_PTR(-EINVAL);
	if (!data || data > PACKET_ROOM || data >= skb->len)
		return ERR_PTR(-EINVAL);
	for (from = 0; from < skb->len - data; from += size) {
		if (runs_out()) {
			while ((seg = first)) {
				first = seg->next;
				packet_free(packet_of(seg));
			}
			kernel.numbers = numbers;
			return ERR_PTR(-ENOMEM);
		}
		*end = &segment_new(packet_of(skb), data, from,
				    min(size, skb->len - data - from))->skb;
		end = &(*end)->next;
	}
	kernel.unsplit--;
	return first;
}

/* Messages */

/* What a dump is written to, of so much room */
struct packet *message_new(u32 room)
{
	struct packet *packet = packet_new((const u8 *)"", 0, 0, 0);
	struct sk_buff *skb = &packet->skb;

	skb->head = calloc(1, room + sizeof(struct skb_shared_info));
	skb->data = skb->head;
	skb_reset_tail_pointer(skb);
	skb->end = room;
	return packet;
}

void *skb_put(struct sk_buff *skb, unsigned int len)
{
	void *tail = skb_tail_pointer(skb);

	CHECK(skb_tailroom(skb) >= len);
	skb->tail += len;
	skb->len += len;
	return tail;
}

void skb_trim(struct sk_buff *skb, unsigned int len)
{
	CHECK(!skb_is_nonlinear(skb));
	if (len < skb->len)
		__skb_set_length(skb, len);
}

bool ns_capable_noaudit(struct user_namespace *ns, int cap)
{
	return kernel.reader_capable;
}

bool sk_net_capable(const struct sock *sk, int cap)
{
	return kernel.capable;
}

void do_trace_netlink_extack(const char *message)
{
}

/* Conntrack knows replies from even ports. What they answer comes from one of ten hosts. */
static bool reply_tuple(struct nf_conntrack_tuple *tuple, const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);
	const struct udphdr *udp = (const struct udphdr *)(ip + 1);

	CHECK(skb->dev == &device && skb->len >= sizeof(*ip) + sizeof(*udp));
	CHECK(ip->version == 4 && ip->ihl == 5 && !ip->frag_off);
	CHECK(ip->protocol == IPPROTO_TCP || ip->protocol == IPPROTO_UDP);
	if (ntohs(udp->source) & 1)
		return false;
	memset(tuple, 0, sizeof(*tuple));
	tuple->src.l3num = NFPROTO_IPV4;
	tuple->src.u3.ip = htonl(0x0a000001 + ntohs(udp->dest) % 10);
	tuple->dst.u3.ip = ip->saddr;
	return true;
}

/* Conntrack: what it says of a packet are its addresses before NAT, of one of ten hosts. */
bool nf_ct_get_tuple_skb(struct nf_conntrack_tuple *tuple, const struct sk_buff *skb)
{
	const struct packet *packet = packet_of(skb);
	bool ip6 = skb->protocol == htons(ETH_P_IPV6);

	if (is_scratch(skb))
		return reply_tuple(tuple, skb);
	if (!kernel.tracked || !packet->flow)
		return false;
	memset(tuple, 0, sizeof(*tuple));
	tuple->src.l3num = ip6 ? NFPROTO_IPV6 : NFPROTO_IPV4;
	tuple->src.u3.all[ip6 ? 3 : 0] = htonl(0x0a000001 + packet->flow % 10);
	tuple->dst.u3.all[ip6 ? 3 : 0] = htonl(0x0b000001 + packet->flow % 7);
	return true;
}

/* The core of the schedulers */

int register_qdisc(struct Qdisc_ops *ops)
{
	kernel.ops = ops;
	return 0;
}

void unregister_qdisc(struct Qdisc_ops *ops)
{
	kernel.ops = NULL;
}

/* As the kernel's does it, of which the parent is the only one to be told */
void qdisc_tree_reduce_backlog(struct Qdisc *sch, int n, int len)
{
	struct Qdisc *parent = kernel.parent;
	bool had;

	if (!parent)
		return;
	had = parent->q.qlen;
	if (!sch->q.qlen) {
		kernel.parent_active = false;
		kernel.told_empty = true;
	}
	parent->q.qlen -= n;
	parent->qstats.backlog -= len;
	parent->qstats.drops += max(n, 0);
	/* No ancestor is to see a class lose its last packet that has some. */
	CHECK(!had || parent->q.qlen || !sch->q.qlen);
	CHECK((int)parent->q.qlen >= 0);
}

void qdisc_watchdog_init(struct qdisc_watchdog *watchdog, struct Qdisc *sch)
{
	watchdog->qdisc = sch;
}

void qdisc_watchdog_schedule_range_ns(struct qdisc_watchdog *watchdog, u64 at, u64 range)
{
	CHECK(watchdog->qdisc);
	kernel.wake_at = at ?: 1;
}

void qdisc_watchdog_cancel(struct qdisc_watchdog *watchdog)
{
	CHECK(watchdog->qdisc);
	kernel.wake_at = 0;
}

int tcf_block_get_ext(struct tcf_block **block, struct Qdisc *sch, struct tcf_block_ext_info *info,
		      struct netlink_ext_ack *extack)
{
	*block = runs_out() ? NULL : calloc(1, 1);
	if (!*block)
		return -ENOMEM;
	kernel.blocks++;
	kernel.filters = *info;
	return 0;
}

void change_filters(struct tcf_proto *first)
{
	kernel.filters.chain_head_change(first, kernel.filters.chain_head_change_priv);
}

void tcf_block_put(struct tcf_block *block)
{
	if (!block)
		return;
	kernel.blocks--;
	change_filters(NULL);
	kernel.filters = (struct tcf_block_ext_info) {};
	free(block);
}

int tcf_classify(struct sk_buff *skb, const struct tcf_block *block, const struct tcf_proto *filter,
		 struct tcf_result *res, bool compat_mode)
{
	const struct packet *packet = packet_of(skb);

	*res = (struct tcf_result) { .classid = packet->classid };
	return packet->filter;
}

/* What there is no lock to be held for, or nobody to see */

struct static_key_false bpf_stats_enabled_key;

int um_get_signals(void)
{
	return 0;
}

int um_set_signals(int enable)
{
	return 0;
}

void migrate_disable(void)
{
}

void migrate_enable(void)
{
}

unsigned long long sched_clock(void)
{
	return kernel.now;
}

int ___ratelimit(struct ratelimit_state *state, const char *function)
{
	return 0;
}

int rtnl_is_locked(void)
{
	return kernel.rtnl;
}

int __cond_resched(void)
{
	return 0;
}

void __local_bh_enable_ip(unsigned long ip, unsigned int count)
{
	__preempt_count_sub(count);
}

int _printk(const char *format, ...)
{
	return 0;
}

void panic(const char *format, ...)
{
	fail(__FILE__, __LINE__, "panic");
	__builtin_unreachable();
}

void warn_slowpath_fmt(const char *file, int line, unsigned int taint, const char *format, ...)
{
	fail(file, line, "WARN");
}

/* All is as it was when the machine started. */
void kernel_begin(void)
{
	memset(&kernel, 0, sizeof(kernel));
	INIT_LIST_HEAD(&kernel.packets);
	kernel.capable = true;
	kernel.reader_capable = true;
	device.mtu = ETH_DATA_LEN;
	device.hard_header_len = ETH_HLEN;
	write_pnet(&device.nd_net, &init_net);
	write_pnet(&who_asks.sk_net, &init_net);
	flow_dissector_init();
}
