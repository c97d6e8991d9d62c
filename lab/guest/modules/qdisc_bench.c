// SPDX-License-Identifier: GPL-2.0
/*
 * qdisc_bench - what a packet costs in a qdisc
 *
 * Puts packets into the root qdisc of a device that is down, and takes them out
 * again, itself: nothing is sent, and no other packet comes. Only the qdisc's
 * enqueue and dequeue are timed, one call at a time, under its lock and with
 * interrupts off; making and freeing packets is not. What timing a call costs is
 * measured with a function that does nothing, and subtracted.
 *
 * The clock is the time stamp counter. In the lab's virtual machines that is the
 * number of instructions executed, exactly. In user-mode Linux it is the
 * processor's own, which a call may have to share with whatever else runs there.
 *
 * Write a case to /sys/kernel/debug/qdisc_bench, then read the result:
 *
 *	dev=d0 flows=100 queued=10 count=10000
 *
 * with any of these words, which may also stand alone:
 *
 *	flows=N		packets are of N flows, at random; half are TCP, half UDP. TCP's
 *			sequence numbers begin all over the space, and grow
 *	hosts=N		to so many addresses; one unless told
 *	queued=N	packets that wait all the time: each that comes in is
 *			followed by one that goes out
 *	count=N		packets that are timed
 *	drop		none goes out: each that comes in makes one drop
 *	new		each is the SYN of a new flow
 *	tcp		all flows are TCP
 *	known		skb->hash is known
 *	ipv6
 *	segs=N		each is a GSO packet of N segments; all go out before the
 *			next
 *	before=N	packets that are not timed; else as many as wait, and then as
 *			many as there are flows
 *	recycle		what has come out is put in again, as a packet of another flow
 *	cold=N		before each call that is timed N KiB of other memory are read,
 *			so that caches up to that size hold nothing of the qdisc's
 *	most=N		a call of more cycles was interrupted, and is not counted
 */

#include <linux/debugfs.h>
#include <linux/hash.h>
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/parser.h>
#include <linux/prandom.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/timex.h>
#include <linux/uaccess.h>
#include <linux/udp.h>
#include <linux/vmalloc.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <net/tcp.h>
#include <shortfirst/compat.h>

#define BENCH_PORTS	50000		/* of an address, from BENCH_PORT on */
#define BENCH_PORT	1024
#define BENCH_PAYLOAD	1000		/* bytes of TCP or UDP payload */
#define BENCH_ALL_FLOWS	U32_MAX		/* packets before: not told */
#define BENCH_MOST_COLD	(256 << 10)	/* KiB */

struct bench_case {
	char	dev[IFNAMSIZ];
	u32	flows;
	u32	hosts;
	u32	queued;
	u32	count;
	u32	segs;
	u32	before;
	u32	cold;		/* KiB */
	u32	most;		/* cycles; 0: any number */
	bool	drop;
	bool	new;
	bool	tcp;
	bool	known;
	bool	ipv6;
	bool	recycle;
};

/* What calls of one kind have cost */
struct bench_cost {
	u64	calls;
	u64	sum;
	u64	max;
};

struct bench_result {
	struct bench_cost enqueue;
	struct bench_cost dequeue;
	u32	drops;		/* packets that were put in and did not come out */
	u32	qlen;		/* after the last */
	u32	interrupted;	/* calls */
};

/* Of one run */
struct bench_state {
	const struct bench_case *c;
	struct bench_result *r;
	struct sk_buff_head out;	/* what has come out, to be put in again */
	u8	*other;			/* memory to be read, where caches are to be cold */
	u64	own_enqueue;		/* what it costs to time a call */
	u64	own_dequeue;
};

static DEFINE_MUTEX(bench_lock);
static struct bench_case bench_case;
static struct bench_result bench_result;
static struct rnd_state bench_random;
static u32 bench_next;		/* flow, where each packet is of a new one */
static u32 bench_bytes;		/* of all flows so far */
static struct dentry *bench_file;

#ifndef CONFIG_X86
#define tsc_khz 0	/* nobody knows it */
#endif

#ifdef CONFIG_UML
/* There are no cycles, but it is a program of an x86. */
static u64 bench_clock(void)
{
	u32 low, high;

	asm volatile("lfence; rdtsc; lfence" : "=a" (low), "=d" (high) : : "memory");
	return (u64)high << 32 | low;
}
#else
static u64 bench_clock(void)
{
	return get_cycles();
}
#endif

/* An empty packet with room for so many bytes: a new one, or the one that came out first. */
static struct sk_buff *bench_empty_skb(struct bench_state *s, u32 size)
{
	struct sk_buff *skb = __skb_dequeue(&s->out);

	if (!skb)
		return alloc_skb(size, GFP_KERNEL);
	skb->data = skb->head;
	skb->len = 0;
	skb_reset_tail_pointer(skb);
	skb_clear_hash(skb);
	memset(skb->cb, 0, sizeof(skb->cb));
	return skb;
}

static struct sk_buff *bench_skb(struct net_device *dev, struct bench_state *s)
{
	const struct bench_case *c = s->c;
	u32 flow = c->new ? bench_next++ : prandom_u32_state(&bench_random) % c->flows;
	bool tcp = c->new || c->tcp || c->segs > 1 || flow & 1;
	u32 addr = flow / BENCH_PORTS, network_len, transport_len, len;
	struct sk_buff *skb;
	struct ipv6hdr *ip6;
	struct tcphdr *th;
	struct udphdr *uh;
	struct iphdr *ip;

	network_len = c->ipv6 ? sizeof(*ip6) : sizeof(*ip);
	transport_len = tcp ? sizeof(*th) : sizeof(*uh);
	len = BENCH_PAYLOAD * max(c->segs, 1U);
	/* UDP's next user may be TCP */
	skb = bench_empty_skb(s, LL_MAX_HEADER + network_len + sizeof(*th) + len);
	if (!skb)
		return NULL;
	skb_reserve(skb, LL_MAX_HEADER);
	skb->dev = dev;
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->protocol = htons(c->ipv6 ? ETH_P_IPV6 : ETH_P_IP);

	skb_reset_network_header(skb);
	if (c->ipv6) {
		ip6 = skb_put_zero(skb, sizeof(*ip6));
		ip6->version = 6;
		ip6->payload_len = htons(transport_len + len);
		ip6->nexthdr = tcp ? IPPROTO_TCP : IPPROTO_UDP;
		ip6->hop_limit = 64;
		ip6->saddr.s6_addr32[0] = htonl(0xfd000000);
		ip6->saddr.s6_addr32[3] = htonl(addr + 1);
		ip6->daddr.s6_addr32[0] = htonl(0xfd000001);
		ip6->daddr.s6_addr32[3] = htonl(flow % c->hosts);
	} else {
		ip = skb_put_zero(skb, sizeof(*ip));
		ip->version = 4;
		ip->ihl = 5;
		ip->tot_len = htons(network_len + transport_len + len);
		ip->protocol = tcp ? IPPROTO_TCP : IPPROTO_UDP;
		ip->ttl = 64;
		ip->saddr = htonl(0x0a000001 + addr);
		ip->daddr = htonl(0x0aff0001 + flow % c->hosts);
	}

	skb_set_transport_header(skb, network_len);
	skb->csum_start = skb_transport_header(skb) - skb->head;
	if (tcp) {
		th = skb_put_zero(skb, sizeof(*th));
		th->source = htons(BENCH_PORT + flow % BENCH_PORTS);
		th->dest = htons(443);
		th->seq = htonl(hash_32(flow, 32) + bench_bytes);
		th->doff = sizeof(*th) / 4;
		th->syn = c->new;
		th->ack = !c->new;
		skb->csum_offset = offsetof(struct tcphdr, check);
	} else {
		uh = skb_put_zero(skb, sizeof(*uh));
		uh->source = htons(BENCH_PORT + flow % BENCH_PORTS);
		uh->dest = htons(443);
		uh->len = htons(sizeof(*uh) + len);
		skb->csum_offset = offsetof(struct udphdr, check);
	}
	skb_put_zero(skb, len);
	bench_bytes += len;

	skb_push(skb, ETH_HLEN);
	memset(skb->data, 0, ETH_HLEN);
	skb_reset_mac_header(skb);
	eth_hdr(skb)->h_proto = skb->protocol;
	if (c->segs > 1) {
		skb_shinfo(skb)->gso_size = BENCH_PAYLOAD;
		skb_shinfo(skb)->gso_segs = c->segs;
		skb_shinfo(skb)->gso_type = c->ipv6 ? SKB_GSO_TCPV6 : SKB_GSO_TCPV4;
	}
	sf_set_pkt_len(skb, skb->len);
	if (c->known)
		skb_get_hash(skb);
	return skb;
}

static int bench_noop_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			      struct sk_buff **to_free)
{
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *bench_noop_dequeue(struct Qdisc *sch)
{
	return NULL;
}

static noinline int
bench_time_enqueue(int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch,
				  struct sk_buff **to_free),
		   struct sk_buff *skb, struct Qdisc *sch,
		   struct sk_buff **to_free, u64 *cost)
{
	unsigned long flags;
	u64 began;
	int ret;

	spin_lock_bh(qdisc_lock(sch));
	local_irq_save(flags);
	began = bench_clock();
	ret = enqueue(skb, sch, to_free);
	*cost = bench_clock() - began;
	local_irq_restore(flags);
	spin_unlock_bh(qdisc_lock(sch));
	return ret;
}

static noinline struct sk_buff *
bench_time_dequeue(struct sk_buff *(*dequeue)(struct Qdisc *sch),
		   struct Qdisc *sch, u64 *cost)
{
	struct sk_buff *skb;
	unsigned long flags;
	u64 began;

	spin_lock_bh(qdisc_lock(sch));
	local_irq_save(flags);
	began = bench_clock();
	skb = dequeue(sch);
	*cost = bench_clock() - began;
	local_irq_restore(flags);
	spin_unlock_bh(qdisc_lock(sch));
	return skb;
}

static void bench_count(struct bench_state *s, struct bench_cost *cost, u64 cycles, u64 own)
{
	cycles -= min(cycles, own);
	if (s->c->most && cycles > s->c->most) {
		s->r->interrupted++;
		return;
	}
	cost->calls++;
	cost->sum += cycles;
	cost->max = max(cost->max, cycles);
}

static void bench_make_cold(const struct bench_state *s)
{
	u32 i;

	for (i = 0; i < s->c->cold << 10; i += L1_CACHE_BYTES)
		READ_ONCE(s->other[i]);
}

/* One packet in; how many packets were dropped for it. */
static int bench_enqueue(struct bench_state *s, struct Qdisc *sch, bool timed)
{
	struct sk_buff *skb = bench_skb(qdisc_dev(sch), s), *to_free = NULL;
	u32 qlen = sch->q.qlen, put = max(s->c->segs, 1U);
	u64 cycles;

	if (!skb)
		return -ENOMEM;
	if (timed)
		bench_make_cold(s);
	bench_time_enqueue(sch->enqueue, skb, sch, &to_free, &cycles);
	if (timed)
		bench_count(s, &s->r->enqueue, cycles, s->own_enqueue);
	kfree_skb_list(to_free);
	return put - (sch->q.qlen - qlen);
}

static bool bench_dequeue(struct bench_state *s, struct Qdisc *sch, bool timed)
{
	struct sk_buff *skb;
	u64 cycles;

	if (timed)
		bench_make_cold(s);
	skb = bench_time_dequeue(sch->dequeue, sch, &cycles);
	if (!skb)
		return false;
	if (timed)
		bench_count(s, &s->r->dequeue, cycles, s->own_dequeue);
	if (s->c->recycle)
		__skb_queue_tail(&s->out, skb);
	else
		kfree_skb(skb);
	return true;
}

/* What timing itself costs: the least of some calls of a function that does nothing. */
static void bench_time_nothing(struct bench_state *s, struct Qdisc *sch)
{
	struct sk_buff *to_free = NULL;
	u64 cycles;
	u32 i;

	s->own_enqueue = U64_MAX;
	s->own_dequeue = U64_MAX;
	for (i = 0; i < 16; i++) {
		bench_make_cold(s);
		bench_time_enqueue(bench_noop_enqueue, NULL, sch, &to_free,
				   &cycles);
		s->own_enqueue = min(s->own_enqueue, cycles);
		bench_make_cold(s);
		bench_time_dequeue(bench_noop_dequeue, sch, &cycles);
		s->own_dequeue = min(s->own_dequeue, cycles);
	}
}

static int bench_packets(struct bench_state *s, struct Qdisc *sch)
{
	const struct bench_case *c = s->c;
	u32 i;

	for (i = 0; i < c->before + c->count; i++) {
		bool timed = i >= c->before;
		int drops = bench_enqueue(s, sch, timed);

		if (drops < 0)
			return drops;
		if (timed)
			s->r->drops += drops;
		if (i >= c->queued && !c->drop) {
			while (bench_dequeue(s, sch, timed) &&
			       sch->q.qlen > c->queued)
				;
		}
		if (!(i & 255))
			cond_resched();
	}
	s->r->qlen = sch->q.qlen;
	return 0;
}

static int bench_run(struct Qdisc *sch, const struct bench_case *c,
		     struct bench_result *r)
{
	struct bench_state s = { .c = c, .r = r };
	int err;

	memset(r, 0, sizeof(*r));
	__skb_queue_head_init(&s.out);
	if (c->cold) {
		s.other = vzalloc(c->cold << 10);
		if (!s.other)
			return -ENOMEM;
	}
	prandom_seed_state(&bench_random, 1);
	bench_bytes = 0;
	bench_time_nothing(&s, sch);
	err = bench_packets(&s, sch);
	__skb_queue_purge(&s.out);
	vfree(s.other);
	return err;
}

enum {
	BENCH_DEV, BENCH_FLOWS, BENCH_HOSTS, BENCH_QUEUED, BENCH_COUNT, BENCH_SEGS,
	BENCH_BEFORE, BENCH_COLD, BENCH_MOST,
	BENCH_DROP, BENCH_NEW, BENCH_TCP, BENCH_KNOWN, BENCH_IPV6,
	BENCH_RECYCLE, BENCH_WHAT
};

static const match_table_t bench_words = {
	{ BENCH_DEV, "dev=%s" },
	{ BENCH_FLOWS, "flows=%u" },
	{ BENCH_HOSTS, "hosts=%u" },
	{ BENCH_QUEUED, "queued=%u" },
	{ BENCH_COUNT, "count=%u" },
	{ BENCH_SEGS, "segs=%u" },
	{ BENCH_BEFORE, "before=%u" },
	{ BENCH_COLD, "cold=%u" },
	{ BENCH_MOST, "most=%u" },
	{ BENCH_DROP, "drop" },
	{ BENCH_NEW, "new" },
	{ BENCH_TCP, "tcp" },
	{ BENCH_KNOWN, "known" },
	{ BENCH_IPV6, "ipv6" },
	{ BENCH_RECYCLE, "recycle" },
	{ BENCH_WHAT, NULL }
};

static int bench_parse(char *text, struct bench_case *c)
{
	substring_t arg[MAX_OPT_ARGS];
	u64 number;
	char *word;
	int token;

	while ((word = strsep(&text, " "))) {
		if (!*word)
			continue;
		token = match_token(word, bench_words, arg);
		if (token >= BENCH_FLOWS && token <= BENCH_MOST &&
		    (match_u64(arg, &number) || number > U32_MAX))
			return -EINVAL;
		switch (token) {
		case BENCH_DEV:
			match_strlcpy(c->dev, arg, sizeof(c->dev));
			break;
		case BENCH_FLOWS:
			c->flows = number;
			break;
		case BENCH_HOSTS:
			c->hosts = number;
			break;
		case BENCH_QUEUED:
			c->queued = number;
			break;
		case BENCH_COUNT:
			c->count = number;
			break;
		case BENCH_SEGS:
			c->segs = number;
			break;
		case BENCH_BEFORE:
			c->before = number;
			break;
		case BENCH_COLD:
			c->cold = number;
			break;
		case BENCH_MOST:
			c->most = number;
			break;
		case BENCH_DROP:
			c->drop = true;
			break;
		case BENCH_NEW:
			c->new = true;
			break;
		case BENCH_TCP:
			c->tcp = true;
			break;
		case BENCH_KNOWN:
			c->known = true;
			break;
		case BENCH_IPV6:
			c->ipv6 = true;
			break;
		case BENCH_RECYCLE:
			c->recycle = true;
			break;
		default:
			return -EINVAL;
		}
	}
	if (!c->flows || !c->hosts || !c->count || c->segs >= 64 || c->cold > BENCH_MOST_COLD)
		return -EINVAL;
	if (c->recycle && c->segs > 1)	/* segments are not as large */
		return -EINVAL;
	if (c->before == BENCH_ALL_FLOWS)
		c->before = c->queued + (c->new ? 0 : c->flows);
	return 0;
}

static ssize_t bench_write(struct file *file, const char __user *buf,
			   size_t count, loff_t *ppos)
{
	struct bench_case c = {
		.flows = 1, .hosts = 1, .count = 1000, .before = BENCH_ALL_FLOWS
	};
	struct net_device *dev;
	struct Qdisc *sch;
	char text[128];
	int err;

	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, buf, count))
		return -EFAULT;
	text[count] = 0;
	err = bench_parse(strim(text), &c);
	if (err)
		return err;

	mutex_lock(&bench_lock);
	rtnl_lock();
	dev = __dev_get_by_name(current->nsproxy->net_ns, c.dev);
	sch = dev ? rtnl_dereference(dev->qdisc) : NULL;
	err = -ENODEV;
	if (sch && !(dev->flags & IFF_UP) && sch->handle &&
	    !(sch->flags & TCQ_F_NOLOCK)) {
		err = bench_run(sch, &c, &bench_result);
		bench_case = c;
	}
	rtnl_unlock();
	mutex_unlock(&bench_lock);
	return err ?: count;
}

static void bench_show_cost(struct seq_file *s, const char *name,
			    const struct bench_cost *cost)
{
	seq_printf(s, "%s_calls=%llu\n%s_sum=%llu\n%s_max=%llu\n", name,
		   cost->calls, name, cost->sum, name, cost->max);
}

static int bench_show(struct seq_file *s, void *unused)
{
	mutex_lock(&bench_lock);
	bench_show_cost(s, "enqueue", &bench_result.enqueue);
	bench_show_cost(s, "dequeue", &bench_result.dequeue);
	seq_printf(s, "drops=%u\nqlen=%u\ninterrupted=%u\nkhz=%u\n",
		   bench_result.drops, bench_result.qlen,
		   bench_result.interrupted, tsc_khz);
	mutex_unlock(&bench_lock);
	return 0;
}

static int bench_open(struct inode *inode, struct file *file)
{
	return single_open(file, bench_show, NULL);
}

static const struct file_operations bench_fops = {
	.owner		=	THIS_MODULE,
	.open		=	bench_open,
	.read		=	seq_read,
	.write		=	bench_write,
	.llseek		=	seq_lseek,
	.release	=	single_release,
};

static int __init bench_init(void)
{
	bench_file = debugfs_create_file("qdisc_bench", 0600, NULL, NULL,
					 &bench_fops);
	return PTR_ERR_OR_ZERO(bench_file);
}

static void __exit bench_exit(void)
{
	debugfs_remove(bench_file);
}

module_init(bench_init)
module_exit(bench_exit)
MODULE_AUTHOR("shortfirst contributors");
MODULE_DESCRIPTION("Measures what a packet costs in a qdisc");
MODULE_LICENSE("GPL");
