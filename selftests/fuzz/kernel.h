/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rest of the kernel, as far as a qdisc meets it, and what a test may do with it: kernel.c.
 */
#ifndef _FUZZ_KERNEL_H
#define _FUZZ_KERNEL_H

#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/pkt_sched.h>
#include <net/pkt_cls.h>
#include <net/sch_generic.h>
#include "host.h"

/* Who has a packet */
enum owner { OUTSIDE, QDISC, FREED };

/* What packets are made of has so much room; what is behind the headers is not there, but zeros. */
#define PACKET_ROOM	320

struct packet {
	struct sk_buff	skb;
	struct list_head all;
	enum owner	owner;
	u32		flow;		/* whose order is to be kept; 0: nobody's */
	u32		number;		/* of all packets, in the order in which they came */
	int		filter;		/* what tc filters say of it: TC_ACT_*, */
	u32		classid;	/* and where they send it */
	bool		classed;	/* they, or its priority, may have chosen its class */
	u32		copied;		/* bytes of @bytes that are there */
	u8		bytes[PACKET_ROOM];	/* the headers and more, linear or not */
	u8		head[];			/* what skb->head is at first */
};

/* What a test may read, and set */
struct kernel {
	struct list_head packets;	/* all that are not freed */
	u32		alive;		/* how many */
	u32		freed;		/* by the qdisc itself, in this operation: */
	u32		freed_later;	/* by rtnl_kfree_skbs() */
	u32		blocks;		/* memory that was allocated and is not freed */
	u32		unsplit;	/* GSO packets that could not be split */
	u32		fail_in;	/* the allocation that fails, of those to come; 0: none */
	u8		no_segments;	/* 1, 2: GSO packets cannot be split */
	bool		capable;	/* who opened the socket may know all classes, */
	bool		reader_capable;	/* and who reads from it */
	bool		tracked;	/* packets have an entry in conntrack */
	bool		rtnl;		/* is held */
	u32		numbers;	/* of packets so far */
	u64		now;		/* ns */
	u64		random;
	u64		wake_at;	/* what the watchdog is set to; 0: it is not */
	const struct Qdisc_ops *ops;	/* of the kind */
	struct Qdisc	*parent;	/* of the qdisc, or NULL */
	bool		parent_active;	/* that is the class that it is in */
	bool		told_empty;	/* it was told so in this operation */
	struct tcf_proto *filter;	/* NULL: there are none */
	struct tcf_block_ext_info filters;	/* the qdisc's */
};

extern struct kernel kernel;
extern struct net_device device;
extern struct sock who_asks;

/* Of the module */
int init_module(void);
void cleanup_module(void);

/* net/core/flow_dissector.c: when the kernel starts */
int flow_dissector_init(void);

/* Of the sanitizer */
void __asan_poison_memory_region(const void *at, size_t size);

/* libc's; its headers and the kernel's cannot meet */
void *aligned_alloc(size_t align, size_t size);
void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void free(void *p);
void abort(void);

#define CHECK(what)						\
	do {							\
		if (unlikely(!(what)))				\
			fail(__FILE__, __LINE__, #what);	\
	} while (0)

#define CHECK_EQUAL(a, b)						\
	do {								\
		long long __a = (a), __b = (b);				\
									\
		if (unlikely(__a != __b))				\
			fail_values(__FILE__, __LINE__, #a " == " #b, __a, __b); \
	} while (0)

static inline struct packet *packet_of(const struct sk_buff *skb)
{
	return container_of(skb, struct packet, skb);
}

void kernel_begin(void);
void change_filters(struct tcf_proto *first);
void kernel_clock(u64 ns);
void kernel_jiffies(unsigned long from);
struct packet *packet_new(const u8 *bytes, u32 copied, u32 len, u32 linear);
struct packet *message_new(u32 room);
void packet_free(struct packet *packet);

#endif
