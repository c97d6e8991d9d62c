/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is known of qdiscs, flows and hosts. A snapshot is what the kernel has told at once; rates
 * are the difference of two.
 */
#ifndef SFTOP_MODEL_H
#define SFTOP_MODEL_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include <shortfirst/pkt_class.h>

#define SORTS		(TC_SF_SORT_LONG + 1)
#define HISTORY		512		/* samples of the longest wait */
#define LINKS_MAX	65536
#define QDISCS_MAX	1024
#define ENTRIES_MAX	262144	/* flows and hosts of all interfaces; the rest is counted */

enum history { HISTORY_FIRST, HISTORY_LONG, HISTORIES };	/* new and short ones, long ones */

struct link {
	int ifindex;
	char raw[IFNAMSIZ];	/* its name as the kernel has it */
	char name[IFNAMSIZ];	/* the same to be printed */
};

/* Flows of one sort, or all of them */
struct tally {
	__u32 known, waiting;	/* flows; with packets */
	__u32 waited;		/* us, the longest */
	__u64 backlog;
};

struct qdisc {
	int ifindex;
	__u32 handle, parent;
	char kind[16];
	char name[IFNAMSIZ];
	__u64 bytes, packets;
	__u64 drops, marks;
	__u32 requeues, qlen, backlog;
	__u64 time, class_time;	/* ns, when it and its classes were told */
	/* by the classes */
	struct tally sorts[SORTS];
	__u32 hosts, hosts_over;
	/* by the snapshot before */
	struct qdisc *before;		/* only while rates are told */
	bool rates_known;
	double rate, packet_rate, drop_rate, mark_rate;	/* bytes or packets per second */
	__u32 (*history)[HISTORIES];	/* us, by the number of the snapshot modulo HISTORY */
};

/* A flow, a host, or the flows that have no record */
struct entry {
	__u32 qdisc;		/* its number in the snapshot */
	__u32 told;		/* bits by TCA_SF_CLASS_*: what is not is 0 */
	__u8 type, sort, proto, address_len;
	bool rate_known;
	__u16 ethertype, sport, dport;	/* host's byte order */
	__u32 record, host, named;
	__u8 src[16], dst[16];
	__u64 attained, bytes, packets;
	__u32 drops, marks, waited, silent, flows, level, over, inner;
	__u32 qlen, backlog;
	float rate, drop_rate;	/* bytes, packets per second */
};

#define TOLD(entry, what)	((entry)->told >> TCA_SF_CLASS_##what & 1)

struct snapshot {
	struct link *links;
	size_t n_links, room_links;
	struct qdisc *qdiscs;
	size_t n_qdiscs, room_qdiscs;
	struct entry *entries;
	size_t n_entries, room_entries;
	__u32 *slots;	/* numbers of entries and 1, by hash */
	size_t n_slots;		/* a power of two */
	size_t left_out;	/* messages for want of memory, or not understood */
	bool unprivileged;	/* the kernel lists no flow or host for this process */
	const char *error;	/* why there may be nothing */
};

struct monitor {
	const char * const *wanted;	/* interfaces; none: all */
	int n_wanted;
	unsigned int number;		/* of the snapshot */
	struct snapshot now, before;
};

/* Read all there is now; rates are by what the call before has read. */
void monitor_refresh(struct monitor *m);
void monitor_free(struct monitor *m);

static inline const struct qdisc *qdisc_of(const struct snapshot *s, const struct entry *e)
{
	return &s->qdiscs[e->qdisc];
}

/* What tables are ordered by, the most first */
enum order { BY_RATE, BY_WAITING, BY_WAITED, BY_DROPS, BY_BYTES, BY_ATTAINED, ORDERS };
extern const char * const order_names[ORDERS];

/* A list of entries of a snapshot */
struct list {
	struct item {
		__u64 key;
		__u32 entry;
	} *items;
	size_t n, room;
	size_t n_first;		/* apart: these are new or short, the others long */
};

struct choice {
	bool hosts;			/* and not flows */
	bool apart;			/* long flows after the others, and list.n_first */
	int ifindex;			/* 0: all */
	enum order order;
	bool least;			/* first */
	const char *filter;		/* a part of what row_text() says, or NULL */
};

/* Of the snapshot what is chosen, in its order; false if there is no memory. */
bool list_make(struct list *list, const struct snapshot *s, const struct choice *choice);
void list_free(struct list *list);

#endif
