// SPDX-License-Identifier: GPL-2.0
/*
 * The flows of a session that can be served, in a heap: who has data and credit. A flow's rank
 * changes only when it is served, gets data, or its carrier sends, so that each step is a move of
 * one entry.
 */
#include <stdlib.h>

#include "core.h"

#define FIRST	((uint64_t)1 << 62)	/* of fair: ranks below are of those who are late */
#define LONGEST	((uint64_t)1 << 61)	/* ns after now that one of those may be expected to end */

const char * const policy_names[POLICIES] = {
	[POLICY_TCP] = "tcp",
	[POLICY_SRPT] = "srpt",
	[POLICY_LAS] = "las",
	[POLICY_FAIR] = "fair",
	[POLICY_MU] = "mu",
};

static bool before(const struct flow *a, const struct flow *b)
{
	return a->rank != b->rank ? a->rank < b->rank : a->since < b->since;
}

static void put(struct session *session, size_t place, struct flow *flow)
{
	session->heap[place] = flow;
	flow->place = place;
}

static void sift(struct session *session, struct flow *flow)
{
	struct flow **heap = session->heap;
	size_t place = flow->place, child;

	for (; place > 1 && before(flow, heap[place / 2]); place /= 2)
		put(session, place, heap[place / 2]);
	for (; (child = 2 * place) <= session->n_heap; place = child) {
		if (child < session->n_heap && before(heap[child + 1], heap[child]))
			child++;
		if (!before(heap[child], flow))
			break;
		put(session, place, heap[child]);
	}
	put(session, place, flow);
}

void policy_remove(struct flow *flow)
{
	struct session *session = flow->session;
	size_t place = flow->place;
	struct flow *last;

	if (!place)
		return;
	flow->place = 0;
	last = session->heap[session->n_heap--];
	if (last == flow)
		return;
	put(session, place, last);
	sift(session, last);
}

static void insert(struct flow *flow)
{
	struct session *session = flow->session;

	flow->since = ++session->order;
	put(session, ++session->n_heap, flow);
	sift(session, flow);
}

/* What it has had of this transmission */
static uint64_t attained(const struct flow *flow)
{
	return flow->sent - flow->base;
}

/* Who told too small a size is no shorter than what he has sent and what waits */
static uint64_t remaining(const struct flow *flow)
{
	if (flow->size > attained(flow))
		return flow->size - attained(flow);
	return flow->ended ? flow_queued(flow) : attained(flow) + flow_queued(flow);
}

/*
 * When it would have ended under tcp (section 4.2): its carrier goes on with what it has in flight
 * now, and at least with the mean, as a young one soon will. Whose carrier has already carried as
 * much as the flow has is late, and goes first, in the order in which that came to be.
 */
static uint64_t finish(struct flow *flow)
{
	const struct session *session = flow->session;
	uint64_t rest = flow->carrier->virtual_queue, flight = flow->carrier->flight;
	double wait;

	if (flow->size > attained(flow) + flow_queued(flow))	/* what is still to be read */
		rest += flow->size - attained(flow) - flow_queued(flow);
	if (!rest && !flow->late)
		flow->late = ++flow->session->order;
	if (flow->late)
		return flow->late;
	if (session->n_flights && flight < session->flights / session->n_flights)
		flight = session->flights / session->n_flights;
	wait = (double)rest * session->rtt / (flight + 1);
	return FIRST + now_ns() + (wait < LONGEST ? (uint64_t)wait : LONGEST);
}

static uint64_t rank(struct flow *flow)
{
	switch (flow->session->peer->policy) {
	case POLICY_SRPT:
		return remaining(flow);
	case POLICY_FAIR:
		return finish(flow);
	case POLICY_MU:
		return (uint64_t)flow->type << 48 | (attained(flow) & (((uint64_t)1 << 48) - 1));
	default:
		return attained(flow);
	}
}

static bool can_be_served(const struct flow *flow)
{
	return !flow->dead && flow->limit > flow->sent && flow_queued(flow);
}

void policy_update(struct flow *flow)
{
	struct session *session = flow->session;

	if (!can_be_served(flow)) {
		policy_remove(flow);
		return;
	}
	flow->rank = rank(flow);
	if (flow->place) {
		sift(session, flow);
		return;
	}
	insert(flow);
	/* Which had nothing to send, if all that waits lacked credit */
	carrier_wake(flow->carrier);
}

struct flow *policy_next(struct session *session, struct carrier *carrier)
{
	if (session->peer->policy == POLICY_TCP && carrier->number != SHARED)
		return carrier->flow && carrier->flow->place ? carrier->flow : NULL;
	return session->n_heap ? session->heap[1] : NULL;
}
