// SPDX-License-Identifier: GPL-2.0
/*
 * pace - when packets leave a qdisc that shapes
 *
 * A device, pace0, that takes no time to send: what its qdisc lets go is gone, and when that was
 * is noted. As long as it is told to, the module keeps the qdisc full, and fills it up whenever a
 * packet has left. The packets are of TCP, in 100 flows by turns.
 *
 * Write to /sys/kernel/debug/pace:
 *
 *	start RATE SIZE SEGS DEPTH ROOM
 *			fill it until DEPTH packets wait. They are of SIZE bytes, or of 64, 300
 *			and 1514 at random with 0; with SEGS a bundle of so many of SIZE. ROOM is
 *			how many departures are noted, and RATE what the qdisc shapes to, bit/s
 *	rate RATE	it is that from now on
 *	stop		fill it no more
 *
 * and read what there was until then:
 *
 *	in, out		packets, those of a bundle counted one by one
 *	noted		departures
 *	least, most	bit/s over any second, which is from one departure to the first one that is
 *			a second later or more; 0 if there was none
 *	early		by how much any 20 departures in a row were faster than RATE, in 1/1000 of
 *			the time of the largest of all that have left
 *	late		ns, the most that any departure was later than RATE allowed
 */

#include <linux/debugfs.h>
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/prandom.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <net/sch_generic.h>

#define PACE_FLOWS	100
#define PACE_ROW	20	/* departures */
#define PACE_HEADERS	(ETH_HLEN + sizeof(struct iphdr) + sizeof(struct tcphdr))

struct pace_departure {
	u64	at;		/* ns */
	u64	before;		/* bytes on the wire that had left before */
};

static struct net_device *pace_dev;
static struct dentry *pace_file;
static DEFINE_MUTEX(pace_lock);		/* of what is written and read */
static struct rnd_state pace_random;

/* What was told */
static u64 pace_rate = 1;	/* bit/s */
static unsigned int pace_size, pace_segs, pace_depth, pace_room;
static bool pace_full;			/* it is to be kept so */

/* What there was: written with the lock of the device's queue, but for pace_in */
static struct pace_departure *pace_noted;
static unsigned int pace_count, pace_last, pace_largest;	/* the latter two in bytes */
static u64 pace_in, pace_out, pace_bytes;
static u64 pace_since;			/* ns: the last departure, or a later change of the rate */
static s64 pace_late;

static u64 pace_ns(u64 bytes)
{
	return mul_u64_u64_div_u64(bytes * 8, NSEC_PER_SEC, pace_rate);
}

static struct sk_buff *pace_skb(void)
{
	static const u16 sizes[] = { 64, 300, 1514 };
	unsigned int size = pace_size ?: sizes[prandom_u32_state(&pace_random) % 3];
	unsigned int segs = max(pace_segs, 1U), data = (size - PACE_HEADERS) * segs;
	struct sk_buff *skb = alloc_skb(NET_SKB_PAD + PACE_HEADERS + data, GFP_ATOMIC);
	struct tcphdr *tcp;
	struct iphdr *ip;

	if (!skb)
		return NULL;
	skb_reserve(skb, NET_SKB_PAD);
	skb->dev = pace_dev;
	skb->protocol = htons(ETH_P_IP);
	skb_reset_mac_header(skb);
	eth_zero_addr(skb_put_zero(skb, ETH_HLEN));
	eth_hdr(skb)->h_proto = skb->protocol;

	skb_set_network_header(skb, ETH_HLEN);
	ip = skb_put_zero(skb, sizeof(*ip));
	ip->version = 4;
	ip->ihl = 5;
	ip->tot_len = htons(sizeof(*ip) + sizeof(*tcp) + data);
	ip->protocol = IPPROTO_TCP;
	ip->ttl = 64;
	ip->saddr = htonl(0x0a000001);
	ip->daddr = htonl(0x0aff0001);

	skb_set_transport_header(skb, ETH_HLEN + sizeof(*ip));
	tcp = skb_put_zero(skb, sizeof(*tcp));
	tcp->source = htons(1024 + div_u64(pace_in, segs) % PACE_FLOWS);
	tcp->dest = htons(443);
	tcp->seq = htonl(pace_in * (size - PACE_HEADERS));
	tcp->doff = sizeof(*tcp) / 4;
	tcp->ack = 1;
	skb_put_zero(skb, data);

	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
	if (segs > 1) {
		skb_shinfo(skb)->gso_size = size - PACE_HEADERS;
		skb_shinfo(skb)->gso_segs = segs;
		skb_shinfo(skb)->gso_type = SKB_GSO_TCPV4;
	}
	pace_in += segs;
	return skb;
}

/* Until nothing more goes in */
static void pace_fill(struct work_struct *work)
{
	unsigned int i, waiting;
	struct sk_buff *skb;

	for (i = 0; i < pace_depth && READ_ONCE(pace_full); i++) {
		rcu_read_lock();
		waiting = READ_ONCE(rcu_dereference(pace_dev->qdisc)->q.qlen);
		rcu_read_unlock();
		if (waiting >= pace_depth)
			break;
		skb = pace_skb();
		if (!skb || dev_queue_xmit(skb) != NET_XMIT_SUCCESS)
			break;
	}
}

static DECLARE_WORK(pace_work, pace_fill);

static netdev_tx_t pace_xmit(struct sk_buff *skb, struct net_device *dev)
{
	unsigned int segs = max_t(unsigned int, skb_shinfo(skb)->gso_segs, 1);
	unsigned int wire = skb->len + (segs - 1) * PACE_HEADERS;
	u64 now = ktime_get_ns();

	if (pace_last)
		pace_late = max_t(s64, pace_late, now - pace_since - pace_ns(pace_last));
	pace_since = now;
	pace_last = wire;
	if (pace_count < pace_room) {
		pace_noted[pace_count].at = now;
		pace_noted[pace_count++].before = pace_bytes;
	}
	pace_largest = max(pace_largest, wire);
	pace_bytes += wire;
	pace_out += segs;
	consume_skb(skb);
	schedule_work(&pace_work);
	return NETDEV_TX_OK;
}

static const struct net_device_ops pace_ops = { .ndo_start_xmit = pace_xmit };

static int pace_start(const char *text)
{
	struct pace_departure *noted;
	unsigned int size, segs, depth, room;
	u64 rate;

	if (sscanf(text, "%llu %u %u %u %u", &rate, &size, &segs, &depth, &room) != 5 || !rate ||
	    (size ? size <= PACE_HEADERS || size > 1514 : segs) || segs > 40)
		return -EINVAL;
	noted = vzalloc(array_size(room, sizeof(*noted)));
	if (!noted)
		return -ENOMEM;
	netif_tx_lock_bh(pace_dev);
	swap(pace_noted, noted);
	pace_rate = rate;
	pace_size = size;
	pace_segs = segs;
	pace_depth = depth;
	pace_room = room;
	pace_count = 0;
	pace_last = 0;
	pace_largest = 0;
	pace_in = 0;
	pace_out = 0;
	pace_bytes = 0;
	pace_late = 0;
	netif_tx_unlock_bh(pace_dev);
	vfree(noted);
	prandom_seed_state(&pace_random, 1);
	WRITE_ONCE(pace_full, true);
	schedule_work(&pace_work);
	return 0;
}

static int pace_change(const char *text)
{
	u64 rate;

	if (kstrtoull(text, 10, &rate) || !rate)
		return -EINVAL;
	netif_tx_lock_bh(pace_dev);
	pace_rate = rate;
	pace_since = ktime_get_ns();
	netif_tx_unlock_bh(pace_dev);
	return 0;
}

static void pace_stop(void)
{
	WRITE_ONCE(pace_full, false);
	flush_work(&pace_work);
}

static ssize_t pace_write(struct file *file, const char __user *from, size_t size, loff_t *pos)
{
	char line[80] = {};
	int err = 0;

	if (size >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, size))
		return -EFAULT;
	mutex_lock(&pace_lock);
	if (str_has_prefix(line, "start "))
		err = pace_start(line + strlen("start "));
	else if (str_has_prefix(line, "rate "))
		err = pace_change(line + strlen("rate "));
	else if (str_has_prefix(line, "stop"))
		pace_stop();
	else
		err = -EINVAL;
	mutex_unlock(&pace_lock);
	return err ?: size;
}

static void pace_show_rates(struct seq_file *s, const struct pace_departure *of, unsigned int n)
{
	u64 least = U64_MAX, most = 0;
	unsigned int i, j = 0;

	for (i = 0; i < n; i++) {
		u64 rate;

		while (j < n && of[j].at < of[i].at + NSEC_PER_SEC)
			j++;
		if (j == n)
			break;
		rate = mul_u64_u64_div_u64((of[j].before - of[i].before) * 8, NSEC_PER_SEC,
					   of[j].at - of[i].at);
		least = min(least, rate);
		most = max(most, rate);
	}
	seq_printf(s, "least=%llu\nmost=%llu\n", most ? least : 0, most);
}

static void pace_show_early(struct seq_file *s, const struct pace_departure *of, unsigned int n)
{
	s64 early = 0;
	unsigned int i;

	for (i = PACE_ROW - 1; i < n; i++) {
		const struct pace_departure *first = &of[i - (PACE_ROW - 1)];
		s64 least = pace_ns(of[i].before - first->before);

		early = max_t(s64, early, least - (s64)(of[i].at - first->at));
	}
	seq_printf(s, "early=%llu\n", pace_largest ?
		   mul_u64_u64_div_u64(early, 1000, pace_ns(pace_largest) ?: 1) : 0);
}

static int pace_show(struct seq_file *s, void *unused)
{
	struct pace_departure *noted;
	unsigned int n;

	mutex_lock(&pace_lock);
	netif_tx_lock_bh(pace_dev);
	noted = pace_noted;
	n = pace_count;
	seq_printf(s, "in=%llu\nout=%llu\nnoted=%u\nlate=%lld\n", pace_in, pace_out, n, pace_late);
	netif_tx_unlock_bh(pace_dev);
	/* What is noted stays as it is. */
	pace_show_rates(s, noted, n);
	pace_show_early(s, noted, n);
	mutex_unlock(&pace_lock);
	return 0;
}

static int pace_open(struct inode *inode, struct file *file)
{
	return single_open(file, pace_show, NULL);
}

static const struct file_operations pace_fops = {
	.owner		= THIS_MODULE,
	.open		= pace_open,
	.read		= seq_read,
	.write		= pace_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static void pace_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &pace_ops;
	dev->flags |= IFF_NOARP;
	/* Bundles go out as they are */
	dev->features |= NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_TSO;
	eth_hw_addr_random(dev);
}

static int __init pace_init(void)
{
	int err;

	pace_dev = alloc_netdev(0, "pace%d", NET_NAME_ENUM, pace_setup);
	if (!pace_dev)
		return -ENOMEM;
	err = register_netdev(pace_dev);
	if (err) {
		free_netdev(pace_dev);
		return err;
	}
	pace_file = debugfs_create_file("pace", 0600, NULL, NULL, &pace_fops);
	return 0;
}

static void __exit pace_exit(void)
{
	debugfs_remove(pace_file);
	pace_stop();
	unregister_netdev(pace_dev);
	cancel_work_sync(&pace_work);
	free_netdev(pace_dev);
	vfree(pace_noted);
}

module_init(pace_init);
module_exit(pace_exit);
MODULE_AUTHOR("shortfirst contributors");
MODULE_DESCRIPTION("Tells when packets leave a qdisc that shapes");
MODULE_LICENSE("GPL");
