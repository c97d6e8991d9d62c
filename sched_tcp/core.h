/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flows, carriers and sessions: gtcp of sched-tcp-ayesta2014, section 3, on top of the kernel's TCP
 * (Algorithm 4).
 *
 *	applications            flows                    carriers              far end
 *	  a -----------------> queue of a --+         +--> TCP of a ------+
 *	  b -----------------> queue of b --+ policy -+--> TCP of b ------+--> flows in order
 *	  c -----------------> queue of c --+         +--> TCP of c ------+
 *
 * Each flow has a carrier, a TCP connection to the far end that begins and ends as the
 * application's own would have. A carrier that has room may send as many bytes as its own flow
 * would still have waiting in it: its virtual queue. Whose bytes these are the policy says. So the
 * network sees what it would have seen.
 *
 * Invariant: of a session the sum of all virtual queues is the sum of all queues. So while there
 * is data some carrier may send it. What is lost with a flow or a carrier that breaks is
 * settled at once: session_settle().
 *
 * Everything is one thread's. Callbacks of events note what there is to do, and core_work() does it
 * when they have returned: flushes flows, tells the far end, pumps carriers. What is dead is freed
 * at the end of that, so that no pointer that a function holds goes away under it.
 */
#ifndef SCHED_TCP_CORE_H
#define SCHED_TCP_CORE_H

#include <event2/buffer.h>
#include <event2/event.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "config.h"
#include "flow.h"
#include "wire.h"

#define NSEC		1000000000LL
#define SHARED		0		/* the number of a carrier that stands for all flows */
/* what each flow may have on the way, however many there are */
#define CREDIT_LEAST	65536
#define CREDIT_FIRST	(512 << 10)	/* and at first, if there is as much */
#define QUEUE_LEAST	32768		/* the same of what waits for carriers */
/* what an application's own socket would have had room for */
#define VIRTUAL_MAX	(4U << 20)
/* numbers of flows of which it is known whether they were there */
#define SEEN		65536

struct session;
struct carrier;

/* What is to be told to the far end, before any data */
enum {
	TELL_OPEN	= 1 << 0,
	TELL_OPENED	= 1 << 1,
	TELL_RESET	= 1 << 2,
	TELL_CREDIT	= 1 << 3,
	TELL_FIN	= 1 << 4,	/* and there are no data with which it could go */
	TELL_ANSWER	= 1 << 5,	/* to RESET, or that the flow is no more */
};

/* A part that came before what is ahead of it */
struct piece {
	uint64_t offset;
	uint32_t len;
	UT_hash_handle hh;
	unsigned char data[];
};

struct flow {
	struct session *session;
	uint32_t id;
	UT_hash_handle hh;
	struct carrier *carrier;	/* its own */

	int fd;				/* the application's, or -1 */
	struct event *readable, *writable;
	/* far end: connect() is under way; it has been told OPENED */
	bool connecting, open;
	/* It is no more, but has still something to tell, or waits for the answer to RESET */
	bool dead, stays;
	struct lookup *lookup;		/* of the target's name */
	bool stalled;			/* not read from until there is memory: in core.stalled */
	TAILQ_ENTRY(flow) stalled_link;
	struct opening opening;
	void (*opened)(void *arg, int fd, enum outcome outcome);
	void *arg;

	/* To the far end. sent <= limit; sent + the queue's length is what was read. */
	struct evbuffer *queue;
	uint64_t sent, confirmed, limit;
	bool ended, fin_sent;		/* the application has; the far end was told */

	/* From the far end. delivered <= next <= granted */
	struct evbuffer *held;		/* in order, for the application */
	struct piece *pieces;
	size_t pieces_room;		/* bytes that these take */
	uint64_t next, delivered, granted, window;
	uint64_t farthest;		/* up to where something has come */
	uint64_t fin_at;		/* where the end is, if fin */
	bool fin, fin_delivered, fin_confirmed;
	bool dirty;			/* in session->dirty */
	TAILQ_ENTRY(flow) dirty_link;

	unsigned int tell;
	bool telling;			/* in session->telling */
	TAILQ_ENTRY(flow) telling_link;
	enum outcome broken;		/* what RESET tells */

	/* For the policy */
	uint8_t type;
	uint64_t size;			/* of this transmission, 0: not known */
	uint64_t base;			/* where this transmission began */
	int64_t idle_since;		/* ns, when the queue was last emptied */
	bool looked;			/* whether its data tell the size */
	uint64_t rank, since;
	uint64_t late;			/* fair: when, in order, it would have ended; 0: not yet */
	size_t place;			/* in the heap, 1 and more; 0: it is not there */
};

/* Bytes of a flow that went by a carrier, up to where; until the far end has confirmed them */
struct carried {
	uint32_t flow;
	uint64_t end;
};

enum carrier_state {
	CARRIER_EXPECTED,	/* its flow is or was here, the connection is still to come */
	CARRIER_CONNECTING,
	CARRIER_HANDSHAKE,	/* TLS */
	CARRIER_GREETING,	/* HELLO is not yet read */
	CARRIER_UP,
};

struct carrier {
	struct session *session;	/* NULL until HELLO is read */
	uint32_t number;		/* that of its flow; SHARED */
	UT_hash_handle hh;
	TAILQ_ENTRY(carrier) link;	/* in session->carriers, or core.greeting */
	struct flow *flow;		/* NULL if that is over, or, unless met, not there yet */
	bool met;
	enum carrier_state state;
	bool dead;
	struct peer_config *peer;	/* NULL until it is known */
	union address from;
	int fd;
	SSL *ssl;
	struct event *readable, *writable, *deadline;
	bool stranger;			/* it came, and who it is has still to be proven */
	int64_t came;			/* ns */

	uint64_t virtual_queue;
	/* bytes: of a segment, of one write, that may wait in the socket */
	size_t mss, chunk, unsent;
	uint64_t flight;		/* bytes on the way; in session->flights */
	int64_t looked;			/* ns, when these were last determined */

	unsigned char *rest;		/* what the socket has not taken yet */
	size_t rest_at, rest_len;
	unsigned char *part;		/* of a frame that is not all there */
	size_t part_len;
	struct carried *carried;
	size_t n_carried, room_carried;

	enum {
		IDLE,
		READY,			/* to be pumped: in session->ready */
		WAITING,		/* for room in the socket */
	} pump;
	TAILQ_ENTRY(carrier) pump_link;
	TAILQ_ENTRY(carrier) up_link;	/* in session->up: its state is that, and no BYE is sent */
	/* ended: all that is sent has been taken by the socket; over: and all has been read */
	bool bye_sent, bye_received, ended, over;
	uint32_t carrying;		/* the flow whose data it carried last */
};

TAILQ_HEAD(carriers, carrier);
TAILQ_HEAD(flows, flow);

struct session {
	TAILQ_ENTRY(session) link;
	struct peer_config *peer;
	unsigned char id[ID_LEN];
	bool origin;
	bool welcomed;			/* origin: the far end's process is known */
	unsigned char far[ID_LEN];
	/* of flows: origin's next; far end: the last ones that were seen */
	uint32_t next_id, highest;
	unsigned char seen[SEEN / 8];
	struct flow *flows;		/* by id */
	struct carrier *numbers;	/* carriers by number */
	struct carriers carriers, ready;
	struct carriers up;		/* by which something may be told: no BYE was sent */
	unsigned int come;		/* carriers that are not only expected */
	unsigned int there;		/* of these, by which something may come: no BYE has */
	struct flows telling, dirty;
	/* flows that have data and credit, the least rank first, from 1 on */
	struct flow **heap;
	size_t n_heap, room_heap;
	uint64_t order;			/* counts what is put into the heap */
	/* sum of queues less that of virtual queues, to be settled */
	int64_t debt;
	uint64_t sent, received;	/* bytes of data */
	size_t queued, held;
	/* bytes on the way of all carriers that have some to send; ns */
	uint64_t flights, rtt;
	unsigned int n_flights;		/* how many these are */
	unsigned int dead;		/* flows of which the far end may not know that they are */
};

TAILQ_HEAD(sessions, session);

/* The daemon's */
extern struct core {
	struct event_base *base;
	struct evdns_base *dns;
	struct config *config;
	unsigned char process[ID_LEN];
	struct sessions sessions;
	size_t queued;			/* bytes of all that wait for carriers */
	/* and that the far ends may send, or that wait for applications */
	size_t granted;
	unsigned int flows;
	unsigned int handshakes;	/* of strangers */
	struct flows stalled;
	struct event *work, *look;
	struct carriers greeting;	/* those without a session, the oldest first */
	struct flows dead_flows;
	struct carriers dead_carriers;
	int64_t started;
} core;

/* Of what there is one half is for what waits for carriers, the other for what far ends may send */
static inline size_t half_of_memory(void)
{
	return core.config->memory / 2;
}

static inline bool queues_full(void)
{
	return core.queued >= half_of_memory();
}

/* core.c */
int64_t now_ns(void);	/* CLOCK_MONOTONIC */
int socket_error(int fd);	/* what has gone wrong with it since this was asked; 0: nothing */
bool core_start(void);
void core_stop(void);
void core_work(void);	/* what there is to do is done when the callbacks have returned */

/* flow.c */
void flow_frame(struct session *session, const struct frame *frame, const char **wrong);
struct flow *flow_find(struct session *session, uint32_t id);
size_t flow_queued(const struct flow *flow);
void flow_take(struct flow *flow, unsigned char *to, size_t len);	/* bytes of its queue */
void flow_flush(struct flow *flow);	/* to the application */
void flow_told(struct flow *flow, unsigned int what);	/* a frame says it now */
void flow_break(struct flow *flow, enum outcome outcome, bool tell);
void flow_resume(struct flow *flow);	/* there may be room to read again */
void flows_look(void);			/* for resets of who is not read from */
void flow_bury(struct flow *flow);	/* the far end knows that it is dead */
void flow_retell(struct flow *flow);	/* what may have been on a carrier that broke */
void flow_free(struct flow *flow);

/* carrier.c */
struct carrier *carrier_new(struct session *session, uint32_t number);
void carrier_connect(struct carrier *carrier);
void carrier_accept(int fd, const union address *from);
bool carrier_room(void);	/* may another one be accepted? */
void carrier_wake(struct carrier *carrier);	/* it may have something to send */
void carrier_pump(struct carrier *carrier);
void carrier_break(struct carrier *carrier, const char *why);
void carrier_die(struct carrier *carrier);	/* without a word */
void carrier_forget(struct session *session, uint32_t number);	/* if it has not come */
void carrier_free(struct carrier *carrier);
void carriers_look(struct session *session);	/* for resets of who has said all */

/* session.c */
struct session *session_for(struct peer_config *peer);	/* in which we are the origin */
struct session *session_greet(struct peer_config *peer, const struct hello *hello);
uint64_t session_own(const struct carrier *carrier);	/* what waits of its own flow */
void session_settle(struct session *session);
void session_retell(struct session *session);
void session_work(struct session *session);
void session_free(struct session *session);
void session_fail(struct session *session, const char *why);
void session_policy(struct session *session);	/* it has changed */
/* was a flow there before? */
bool session_seen(struct session *session, uint32_t id, bool note);

/* policy.c */
/* its rank, or whether it can be served, may have changed */
void policy_update(struct flow *flow);
void policy_remove(struct flow *flow);
struct flow *policy_next(struct session *session, struct carrier *carrier);

#endif
