// SPDX-License-Identifier: GPL-2.0
/* Sessions: the flows and carriers of one origin process and one far end. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core.h"
#include "log.h"

#define TRIES	16	/* carriers that are asked whether they have room for what is to be told */

static struct session *session_new(struct peer_config *peer, const unsigned char *id)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	session->peer = peer;
	session->origin = !id;
	if (id)
		memcpy(session->id, id, ID_LEN);
	else if (getrandom(session->id, ID_LEN, 0) != ID_LEN)
		goto fail;
	TAILQ_INIT(&session->carriers);
	TAILQ_INIT(&session->ready);
	TAILQ_INIT(&session->up);
	TAILQ_INIT(&session->telling);
	TAILQ_INIT(&session->dirty);
	TAILQ_INSERT_TAIL(&core.sessions, session, link);
	return session;
fail:
	free(session);
	return NULL;
}

void session_free(struct session *session)
{
	TAILQ_REMOVE(&core.sessions, session, link);
	free(session->heap);
	free(session);
}

struct session *session_for(struct peer_config *peer)
{
	struct session *session;

	if (!peer->reached)
		return NULL;
	TAILQ_FOREACH(session, &core.sessions, link) {
		if (session->origin && session->peer == peer)
			return session;
	}
	return session_new(peer, NULL);
}

struct session *session_greet(struct peer_config *peer, const struct hello *hello)
{
	struct session *session;

	TAILQ_FOREACH(session, &core.sessions, link) {
		if (!session->origin && session->peer == peer &&
		    !memcmp(session->id, hello->id, ID_LEN))
			return session;
	}
	return session_new(peer, hello->id);
}

/*
 * Numbers rise; of the last SEEN one bit each tells whether that flow was there. What is
 * behind these is long gone.
 */
bool session_seen(struct session *session, uint32_t id, bool note)
{
	int32_t ahead = id - session->highest;
	unsigned char *byte = &session->seen[id % SEEN / 8], bit = 1 << id % 8;

	if (ahead <= -SEEN / 2)
		return true;
	if (ahead <= 0 && *byte & bit)
		return true;
	if (!note)
		return false;
	if (ahead >= SEEN / 2) {
		memset(session->seen, 0, sizeof(session->seen));
		session->highest = id;
	}
	for (; ahead > 0 && session->highest != id; ahead--) {
		uint32_t clear = ++session->highest + SEEN / 2;

		session->seen[clear % SEEN / 8] &= ~(1 << clear % 8);
	}
	*byte |= bit;
	return false;
}

/* Data of a carrier's own flow that wait */
uint64_t session_own(const struct carrier *carrier)
{
	if (carrier->number == SHARED)
		return carrier->session->queued;
	return carrier->flow ? flow_queued(carrier->flow) : 0;
}

/*
 * session_settle - restore the invariant that the virtual queues are together what the queues are
 *
 * Where data were dropped with a flow, or room with a carrier, the difference is that between the
 * queues and the virtual queues of those that are left, so that bringing some of these
 * nearer to each other settles all of it. A flow that was not read from, because as much should
 * have been sent by its carrier first, may have room then.
 */
void session_settle(struct session *session)
{
	struct carrier *carrier;

	TAILQ_FOREACH(carrier, &session->carriers, link) {
		uint64_t own = session_own(carrier), waits = carrier->virtual_queue;
		uint64_t debt = session->debt < 0 ? -session->debt : session->debt;
		uint64_t difference = session->debt > 0 ? own - waits : waits - own;

		if (!debt)
			return;
		if (session->debt > 0 ? own <= waits : own >= waits)
			continue;
		if (difference > debt)
			difference = debt;
		if (session->debt > 0) {
			carrier->virtual_queue += difference;
			session->debt -= difference;
		} else {
			carrier->virtual_queue -= difference;
			session->debt += difference;
			if (carrier->flow)
				flow_resume(carrier->flow);
		}
		carrier_wake(carrier);
	}
}

/* What a carrier that broke was telling may be lost; told twice it does no harm */
void session_retell(struct session *session)
{
	struct flow *flow, *next;

	HASH_ITER(hh, session->flows, flow, next)
		flow_retell(flow);
}

/* What is to be told goes by the flow's own carrier, or by one that has room */
static void session_tell(struct session *session)
{
	struct flow *flow = TAILQ_FIRST(&session->telling);
	struct carrier *carrier = flow->carrier;
	int i;

	for (i = 0; i < TRIES; i++) {
		if (carrier && carrier->state == CARRIER_UP && carrier->pump != WAITING &&
		    !carrier->bye_sent) {
			carrier_wake(carrier);
			return;
		}
		carrier = TAILQ_FIRST(&session->up);
		if (!carrier)
			return;
		TAILQ_REMOVE(&session->up, carrier, up_link);
		TAILQ_INSERT_TAIL(&session->up, carrier, up_link);
	}
}

void session_work(struct session *session)
{
	struct carrier *carrier;
	struct flow *flow;

	while ((flow = TAILQ_FIRST(&session->dirty)))
		flow_flush(flow);
	if (!TAILQ_EMPTY(&session->telling))
		session_tell(session);
	while ((carrier = TAILQ_FIRST(&session->ready)))
		carrier_pump(carrier);
	if (!TAILQ_EMPTY(&session->carriers))
		return;
	session->welcomed = false;
	if (session->flows)
		session_fail(session, "no carrier is left");
	if (!session->origin)
		session_free(session);
}

void session_fail(struct session *session, const char *why)
{
	struct carrier *carrier, *next_carrier;
	unsigned char id[ID_LEN];
	struct flow *flow, *next;

	if (session->flows)
		log_line(LOG_WARNING, "session-failed", "peer=%s flows=%u why=%s",
			 session->peer->name, HASH_COUNT(session->flows), why);
	session->welcomed = false;
	HASH_ITER(hh, session->flows, flow, next)
		flow_break(flow, FAILED, false);
	HASH_ITER(hh, session->flows, flow, next)
		flow_bury(flow);
	for (carrier = TAILQ_FIRST(&session->carriers); carrier; carrier = next_carrier) {
		next_carrier = TAILQ_NEXT(carrier, link);
		carrier_die(carrier);
	}
	/* The far end may not have heard of it: what comes next is of another session */
	if (session->origin && getrandom(id, ID_LEN, 0) == ID_LEN)
		memcpy(session->id, id, ID_LEN);
}

void session_policy(struct session *session)
{
	struct carrier *carrier;
	struct flow *flow, *next;

	/* Under tcp a carrier can send its own flow's data only */
	TAILQ_FOREACH(carrier, &session->carriers, link) {
		if (session->peer->policy != POLICY_TCP)
			continue;
		carrier->virtual_queue = session_own(carrier);
		if (carrier->flow)
			flow_resume(carrier->flow);
	}
	HASH_ITER(hh, session->flows, flow, next) {
		policy_remove(flow);
		if (!flow->dead)
			policy_update(flow);
	}
	TAILQ_FOREACH(carrier, &session->carriers, link)
		carrier_wake(carrier);
}
