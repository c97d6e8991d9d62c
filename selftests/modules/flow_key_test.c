// SPDX-License-Identifier: GPL-2.0
/*
 * flow_key_test - does the direct reader of headers agree with the dissector?
 *
 * Loading it tries many packets, says what it found and fails with EAGAIN if all
 * is well, so that it does not stay; with EINVAL if it is not. The packets are
 * built at random from headers that are good, then a few bytes are changed, and
 * they are cut short anywhere, also in the middle of the linear part. Some have a
 * hash, as packets of tunnels have.
 *
 *	count	packets (module parameter)
 *	seed	of the random numbers
 */

#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/prandom.h>
#include <linux/skbuff.h>
#include <shortfirst/compat.h>
#include <shortfirst/flow_key.h>

static unsigned int count = 1000000;
module_param(count, uint, 0);
static unsigned int seed = 1;
module_param(seed, uint, 0);

static struct rnd_state rnd;

static u32 below(u32 n)
{
	return prandom_u32_state(&rnd) % n;
}

static bool chance(u32 percent)
{
	return below(100) < percent;
}

static void put_transport(struct sk_buff *skb, u8 proto)
{
	u8 *data = skb_put(skb, 20 + below(40));

	prandom_bytes_state(&rnd, data, skb_tail_pointer(skb) - data);
	if (proto == IPPROTO_TCP)
		data[12] = 0x50;
}

static void put_ip(struct sk_buff *skb, u8 proto)
{
	struct iphdr *ip = skb_put_zero(skb, sizeof(*ip));

	prandom_bytes_state(&rnd, (u8 *)&ip->saddr, 8);
	ip->version = 4;
	ip->ihl = 5;
	ip->tos = below(256);
	ip->id = below(65536);
	ip->ttl = 64;
	ip->protocol = proto;
	ip->tot_len = htons(60);
	if (chance(10))
		ip->frag_off = htons(prandom_u32_state(&rnd));
	if (chance(10)) {
		ip->ihl = 6 + below(10);
		memset(skb_put(skb, ip->ihl * 4 - sizeof(*ip)), IPOPT_NOP,
		       ip->ihl * 4 - sizeof(*ip));
	}
	put_transport(skb, proto);
}

static void put_ipv6(struct sk_buff *skb, u8 proto)
{
	struct ipv6hdr *ip6 = skb_put_zero(skb, sizeof(*ip6));
	u8 *extension;

	prandom_bytes_state(&rnd, (u8 *)&ip6->saddr, 32);
	ip6->version = 6;
	ip6->flow_lbl[1] = chance(50) ? below(256) : 0;
	ip6->nexthdr = proto;
	ip6->hop_limit = 64;
	ip6->payload_len = htons(40);
	if (chance(15)) {
		extension = skb_put_zero(skb, 8);
		extension[0] = proto;
		ip6->nexthdr = chance(50) ? NEXTHDR_HOP : NEXTHDR_FRAGMENT;
	}
	put_transport(skb, proto);
}

static void make_packet(struct sk_buff *skb)
{
	static const u8 protos[] = {
		IPPROTO_TCP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDP,
		IPPROTO_ICMP, IPPROTO_ICMPV6, IPPROTO_GRE, IPPROTO_ESP,
		IPPROTO_IPIP, IPPROTO_IPV6, IPPROTO_SCTP, IPPROTO_AH,
	};
	u8 proto = protos[below(ARRAY_SIZE(protos))];
	__be16 ethertype = htons(chance(50) ? ETH_P_IP : ETH_P_IPV6);
	bool linear_end = chance(10);
	u32 i, tags = chance(20) ? 1 + below(3) : 0;
	__be16 *vlan;

	skb_trim(skb, 0);
	skb->data_len = 0;
	skb_reset_mac_header(skb);
	skb_put_zero(skb, ETH_HLEN);
	skb_set_network_header(skb, skb->len);
	skb->protocol = ethertype;
	if (tags)
		skb->protocol = htons(chance(50) ? ETH_P_8021Q : ETH_P_8021AD);
	*(__be16 *)(skb->data + 12) = skb->protocol;
	for (i = 0; i < tags; i++) {
		vlan = skb_put(skb, VLAN_HLEN);
		vlan[0] = htons(below(4096));
		vlan[1] = i + 1 < tags ? htons(ETH_P_8021Q) : ethertype;
	}
	if (tags && chance(50))		/* as packet sockets do */
		skb_set_network_header(skb, skb->len);
	if (ethertype == htons(ETH_P_IP))
		put_ip(skb, proto);
	else
		put_ipv6(skb, proto);
	if (chance(20)) {
		for (i = 1 + below(4); i; i--)
			skb->data[below(skb->len)] = below(256);
	}
	if (linear_end)
		skb_trim(skb, below(skb->len + 1));
	skb->l4_hash = chance(20);
	skb->sw_hash = chance(20);
	skb->hash = prandom_u32_state(&rnd);
	skb->skb_iif = below(2);
}

static int __init flow_key_test_init(void)
{
	struct sk_buff *skb = alloc_skb(512, GFP_KERNEL);
	u32 i, direct = 0, tagged = 0, inner = 0, wrong = 0;
	struct sf_flow_key a, b;
	u8 flags_a, flags_b;

	if (!skb)
		return -ENOMEM;
	skb->dev = init_net.loopback_dev;	/* the dissector wants a net */
	prandom_seed_state(&rnd, seed);
	for (i = 0; i < count; i++) {
		make_packet(skb);
		memset(&a, 0xff, sizeof(a));
		if (!sf_flow_key_direct(skb, &a, &flags_a))
			continue;
		direct++;
		inner += a.inner;
		tagged += eth_type_vlan(*(__be16 *)(skb_network_header(skb) - 2));
		flags_b = sf_flow_key_dissect(skb, &b);
		if (!memcmp(&a, &b, sizeof(a)) && flags_a == flags_b)
			continue;
		if (!wrong++)
			print_hex_dump(KERN_NOTICE, "flow_key_test: ", DUMP_PREFIX_OFFSET,
				       16, 1, skb->data, skb->len, false);
		if (!(i & 1023))
			cond_resched();
	}
	kfree_skb(skb);
	pr_notice("flow_key_test: %u packets, %u read directly, %u of them tagged, %u inner, %u wrong\n",
		  count, direct, tagged, inner, wrong);
	return direct > count / 10 && tagged > count / 100 && inner > count / 100 && !wrong ?
	       -EAGAIN : -EINVAL;
}

static void __exit flow_key_test_exit(void)
{
}

module_init(flow_key_test_init)
module_exit(flow_key_test_exit)
MODULE_AUTHOR("shortfirst contributors");
MODULE_DESCRIPTION("Tests the reader of headers against the flow dissector");
MODULE_LICENSE("GPL");
