// SPDX-License-Identifier: GPL-2.0
/*
 * sch_srpt - Shortest Remaining Processing Time, by one who has been told the sizes
 *
 * No scheduler in a network knows them: this is what the lab measures others by. The
 * sender tells how long a flow will be, "SENDER-PORT RECEIVER-PORT BYTES" in one write to
 * /sys/kernel/debug/sch_srpt, before its SYN comes by. That is kept until the module goes,
 * and is for one qdisc at a time.
 *
 * The flow with least left goes first, and each flow's packets in order. Left is the size
 * less the bytes that have gone out here, each counted once: what the link has still to do
 * for it. So what is sent again has the rank of its flow and not of its place in it. When
 * there is no room, the flow with most left loses its last packet.
 *
 *	no data, SYNs        [first][rest ...]
 *	a flow, 1000 left    [first][rest ...]
 *	a flow, 9000 left    [first][rest ...]
 *	nobody has told      [first][rest ...]
 *	      the first ones are in a tree by rank (sorted.h)
 *
 * Only an end without data goes with its flow: to pass by data would look like a loss of
 * them. tc has no plugin for this qdisc, so that options are the module's parameters.
 */

#include <linux/debugfs.h>
#include <linux/hashtable.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/vmalloc.h>
#include <shortfirst/compat.h>
#include <shortfirst/sched.h>
#include <shortfirst/sorted.h>

#define SRPT_FLOWS	BIT(17)		/* pairs of ports */

/* Those that are no flows */
enum { SRPT_NO_DATA, SRPT_UNKNOWN, SRPT_FIRST };

static unsigned int limit = 10000;
module_param(limit, uint, 0644);
MODULE_PARM_DESC(limit, "packets, of the next qdisc");

struct srpt_flow {
	struct hlist_node node;
	u32		ports;
	u32		seq;		/* of its first byte */
	u64		size;		/* bytes */
	u64		sent;		/* of them, each once */
	u64		end;		/* of the last ones that have been sent */
	struct sk_buff	*first;		/* of its packets, in srpt_sched.sorted, or NULL */
	struct sk_buff_head rest;
};

/* What has been told; it stays until the module goes. */
static struct srpt_flow *srpt_flows;
static u32 srpt_count = SRPT_FIRST;
static DEFINE_HASHTABLE(srpt_by_ports, 16);
static DEFINE_SPINLOCK(srpt_lock);

static struct dentry *srpt_file;
static bool srpt_taken;			/* there is a qdisc */

struct srpt_sched {
	struct sf_sched	s;
	struct sf_queue	all;		/* only counts */
	struct rb_root_cached sorted;	/* the flows' first packets */
	bool		owner;		/* false: it was refused */
};

struct srpt_segment {
	u32	seq;
	u32	len;			/* bytes of data */
	u32	ports;			/* the sender's, and the receiver's below */
	bool	begins;
	bool	ends;
};

/* What a TCP segment has to say; false if it is something else */
static bool srpt_read(const struct sk_buff *skb, struct srpt_segment *seg)
{
	int offset = skb_network_offset(skb), len;
	const struct ipv6hdr *ip6;
	const struct tcphdr *tcp;
	const struct iphdr *ip;
	union {
		struct iphdr ip;
		struct ipv6hdr ip6;
		struct tcphdr tcp;
	} buf;

	if (skb->protocol == htons(ETH_P_IP)) {
		ip = skb_header_pointer(skb, offset, sizeof(*ip), &buf);
		if (!ip || ip->protocol != IPPROTO_TCP || ip_is_fragment(ip))
			return false;
		offset += ip->ihl * 4;
	} else if (skb->protocol == htons(ETH_P_IPV6)) {
		ip6 = skb_header_pointer(skb, offset, sizeof(*ip6), &buf);
		if (!ip6 || ip6->nexthdr != IPPROTO_TCP)
			return false;
		offset += sizeof(*ip6);
	} else {
		return false;
	}
	tcp = skb_header_pointer(skb, offset, sizeof(*tcp), &buf);
	if (!tcp)
		return false;
	/* The lab's packets are not padded. */
	len = skb->len - offset - tcp->doff * 4;
	seg->seq = ntohl(tcp->seq);
	seg->len = max(len, 0);
	seg->ports = (u32)ntohs(tcp->source) << 16 | ntohs(tcp->dest);
	seg->begins = tcp->syn;
	seg->ends = tcp->fin;
	return true;
}

/* Under srpt_lock: the number of the flow with these ports, or SRPT_UNKNOWN */
static u32 srpt_find(u32 ports)
{
	struct srpt_flow *f;

	hash_for_each_possible(srpt_by_ports, f, node, ports) {
		if (f->ports == ports)
			return f - srpt_flows;
	}
	return SRPT_UNKNOWN;
}

/* Where a packet belongs; a flow may begin with it. */
static u32 srpt_place(const struct sk_buff *skb)
{
	struct srpt_segment seg;
	struct srpt_flow *f;
	u32 i;

	if (!srpt_read(skb, &seg) || !(seg.begins || seg.ends || seg.len))
		return SRPT_NO_DATA;
	spin_lock(&srpt_lock);
	i = srpt_find(seg.ports);
	spin_unlock(&srpt_lock);
	if (!seg.begins)
		return i;
	if (i >= SRPT_FIRST) {
		f = &srpt_flows[i];
		f->seq = seg.seq + 1;
		f->sent = 0;
		f->end = 0;
	}
	return SRPT_NO_DATA;
}

static u64 srpt_rank(u32 i)
{
	const struct srpt_flow *f = &srpt_flows[i];
	u64 size = READ_ONCE(f->size);

	switch (i) {
	case SRPT_NO_DATA:
		return 0;
	case SRPT_UNKNOWN:
		return U64_MAX;
	default:
		return size - min(size, f->sent);
	}
}

/* Let a packet be the first of its flow's; there may be none. */
static void srpt_set_first(struct srpt_sched *q, u32 i, struct sk_buff *skb)
{
	srpt_flows[i].first = skb;
	if (!skb)
		return;
	sf_cb(skb)->rank = srpt_rank(i);
	sf_sort(&q->sorted, skb, false);
}

static bool srpt_insert(struct Qdisc *sch, struct sk_buff *skb, struct sf_place *to)
{
	struct srpt_sched *q = qdisc_priv(sch);
	struct sf_skb_cb *cb = sf_cb(skb);

	cb->flow = srpt_place(skb);
	cb->arrival = q->s.arrivals++;
	cb->truesize = skb->truesize;
	if (srpt_flows[cb->flow].first)
		__skb_queue_tail(&srpt_flows[cb->flow].rest, skb);
	else
		srpt_set_first(q, cb->flow, skb);
	sf_count_in(sch, &q->all, skb);
	return true;
}

/* Take the first packet of a flow, or the last one. */
static struct sk_buff *srpt_take(struct Qdisc *sch, u32 i, bool last)
{
	struct srpt_sched *q = qdisc_priv(sch);
	struct srpt_flow *f = &srpt_flows[i];
	struct sk_buff *skb = last ? __skb_dequeue_tail(&f->rest) : NULL;

	if (!skb) {
		skb = f->first;
		sf_unsort(&q->sorted, skb, sch);
		srpt_set_first(q, i, __skb_dequeue(&f->rest));
	}
	sf_uncount(sch, &q->all, skb);
	q->all.qlen--;
	return skb;
}

static struct sk_buff *srpt_take_victim(struct Qdisc *sch)
{
	struct srpt_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;

	sf_count_drop(&q->s);
	skb = srpt_take(sch, sf_cb(sf_sorted_last(&q->sorted))->flow, true);
	sf_set_drop_reason(skb, SF_DROP_OVERLIMIT);
	return skb;
}

static const struct sf_kind srpt_kind = {
	.insert		= srpt_insert,
	.take_victim	= srpt_take_victim,
};

static int srpt_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct sf_place to = {};

	return sf_enqueue(skb, sch, &to, to_free, &srpt_kind);
}

/*
 * Count what is sent. Before the end as many bytes count as are missing there: the others
 * have been sent before.
 */
static void srpt_count_sent(struct srpt_flow *f, const struct sk_buff *skb)
{
	struct srpt_segment seg;
	u64 begin, end, again;

	if (!srpt_read(skb, &seg))
		return;
	begin = f->end + (s32)(seg.seq - f->seq - (u32)f->end);
	/* Of a connection before, which had the same port */
	if ((s64)begin < 0)
		return;
	end = begin + seg.len;
	again = min(end, f->end) - min(begin, f->end);
	f->sent += min(again, f->end - f->sent) + seg.len - again;
	f->end = max(f->end, end);
}

static struct sk_buff *srpt_dequeue(struct Qdisc *sch)
{
	struct srpt_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = sf_sorted_first(&q->sorted);

	if (!skb)
		return NULL;
	if (sf_cb(skb)->flow >= SRPT_FIRST)
		srpt_count_sent(&srpt_flows[sf_cb(skb)->flow], skb);
	srpt_take(sch, sf_cb(skb)->flow, false);
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void srpt_reset(struct Qdisc *sch)
{
	struct srpt_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;

	while ((skb = sf_sorted_first(&q->sorted))) {
		srpt_take(sch, sf_cb(skb)->flow, false);
		rtnl_kfree_skbs(skb, skb);
	}
}

/* Init and destroy are under RTNL. */
static int srpt_init(struct Qdisc *sch, struct nlattr *nla, struct netlink_ext_ack *extack)
{
	struct srpt_sched *q = qdisc_priv(sch);

	q->sorted = RB_ROOT_CACHED;
	if (srpt_taken) {
		NL_SET_ERR_MSG(extack, "srpt: there is one already");
		return -EBUSY;
	}
	srpt_taken = true;
	q->owner = true;
	q->s.victim = SF_NO_FLOW;
	q->s.limit = limit;
	q->s.memory_limit = U32_MAX;
	return 0;
}

static void srpt_destroy(struct Qdisc *sch)
{
	struct srpt_sched *q = qdisc_priv(sch);

	if (q->owner)
		srpt_taken = false;
}

static struct Qdisc_ops srpt_qdisc_ops __read_mostly = {
	.id		=	"srpt",
	.priv_size	=	sizeof(struct srpt_sched),
	.enqueue	=	srpt_enqueue,
	.dequeue	=	srpt_dequeue,
	.peek		=	qdisc_peek_dequeued,
	.init		=	srpt_init,
	.reset		=	srpt_reset,
	.destroy	=	srpt_destroy,
	.owner		=	THIS_MODULE,
};

/* Take what one flow's size is. */
static ssize_t srpt_write(struct file *file, const char __user *from, size_t len, loff_t *at)
{
	u32 sender, receiver, ports, i;
	struct srpt_flow *f;
	char line[64];
	u64 size;

	if (len >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, len))
		return -EFAULT;
	line[len] = '\0';
	if (sscanf(line, "%u %u %llu", &sender, &receiver, &size) != 3 ||
	    sender > U16_MAX || receiver > U16_MAX)
		return -EINVAL;
	ports = sender << 16 | receiver;
	spin_lock_bh(&srpt_lock);
	i = srpt_find(ports);
	if (i == SRPT_UNKNOWN) {
		i = srpt_count;
		if (i == SRPT_FLOWS) {
			spin_unlock_bh(&srpt_lock);
			return -ENOSPC;
		}
		srpt_count++;
		f = &srpt_flows[i];
		f->ports = ports;
		hash_add(srpt_by_ports, &f->node, ports);
	}
	WRITE_ONCE(srpt_flows[i].size, size);
	spin_unlock_bh(&srpt_lock);
	return len;
}

static const struct file_operations srpt_fops = {
	.owner		= THIS_MODULE,
	.write		= srpt_write,
};

static int __init srpt_module_init(void)
{
	int err;
	u32 i;

	srpt_flows = vzalloc(array_size(SRPT_FLOWS, sizeof(*srpt_flows)));
	if (!srpt_flows)
		return -ENOMEM;
	for (i = 0; i < SRPT_FLOWS; i++)
		__skb_queue_head_init(&srpt_flows[i].rest);
	err = register_qdisc(&srpt_qdisc_ops);
	if (err) {
		vfree(srpt_flows);
		return err;
	}
	srpt_file = debugfs_create_file("sch_srpt", 0200, NULL, NULL, &srpt_fops);
	return 0;
}

static void __exit srpt_module_exit(void)
{
	debugfs_remove(srpt_file);
	unregister_qdisc(&srpt_qdisc_ops);
	vfree(srpt_flows);
}

module_init(srpt_module_init);
module_exit(srpt_module_exit);
MODULE_AUTHOR("shortfirst contributors");
MODULE_DESCRIPTION("Shortest Remaining Processing Time, by sizes told (lab only)");
MODULE_LICENSE("GPL");
