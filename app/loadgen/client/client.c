// SPDX-License-Identifier: BSD-3-Clause
// The states of TURN clients: what a client does after an answer or a time-out.
#include "client/client.h"

#include "client/auth.h"
#include "client/population.h"
#include "client/request.h"

#define PERMISSION_REFRESH_MS (240 * 1000) // a permission lives 300 s (RFC 8656 9)
#define CHANNEL_REFRESH_MS (540 * 1000) // a channel lives 600 s (RFC 8656 12)
#define CHALLENGES_MAX 5 // for one request
#define MISMATCHES_MAX 5 // for one Allocate
#define LINGER_MS 1500 // first estimate of the time for which a server answers 437 after a deletion
#define LINGER_MAX_MS 6000
#define TICK_MAX 64 // timers that one call may run without making a datagram

// --- states --------------------------------------------------------------------------------------

static void state_set(struct clients *p, uint32_t i, enum client_state state)
{
	struct client *cl = &p->client[i];

	stat_add(&p->stats.state[cl->state], UINT64_MAX); // adds -1
	stat_add(&p->stats.state[state], 1);
	cl->state = (uint8_t)state;
}

// No request is under way: sets the timer for the next refresh.
static void idle_timer(struct clients *p, uint32_t i)
{
	const struct client *cl = &p->client[i];
	uint64_t when_ms = cl->refresh_ms;

	if (cl->permission_ms < when_ms)
		when_ms = cl->permission_ms;
	if (cl->channel_ms < when_ms)
		when_ms = cl->channel_ms;
	request_timer(p, i, when_ms);
}

// The client has failed. An allocation that the server still holds would block another attempt, so
// it is released first, unless the server does not answer or would not understand.
static size_t fail_client(
	struct clients *p, uint32_t i, enum client_fault fault, uint64_t now_ms, uint8_t *out)
{
	struct client *cl = &p->client[i];
	size_t len = 0;

	if (!cl->doomed)
		stat_add(&p->stats.fault[fault], 1);
	if (cl->allocated && !cl->deleting &&
		(fault == CLIENT_FAULT_REFUSED || fault == CLIENT_FAULT_BAD_ANSWER)) {
		cl->doomed = cl->deleting = true;
		len = request_begin(p, i, STUN_REFRESH, now_ms, out);
	}
	if (len == 0)
		request_end(p, i);
	state_set(p, i, len > 0 ? CLIENT_RELEASING : CLIENT_FAILED);
	return len;
}

static size_t send_request(
	struct clients *p, uint32_t i, enum stun_method method, uint64_t now_ms, uint8_t *out)
{
	const size_t len = request_begin(p, i, method, now_ms, out);

	return len > 0 ? len : fail_client(p, i, CLIENT_FAULT_REQUEST, now_ms, out);
}

// Sends Allocate. If the server still answers 437 after the last deletion, sets a timer instead.
static size_t send_allocate(struct clients *p, uint32_t i, uint64_t now_ms, uint8_t *out)
{
	const struct client *cl = &p->client[i];
	const uint32_t rested_ms = (uint32_t)now_ms - cl->ended_ms;

	if (!cl->ended || rested_ms >= p->linger_ms)
		return send_request(p, i, STUN_ALLOCATE, now_ms, out);
	request_timer(p, i, now_ms + p->linger_ms - rested_ms);
	return 0;
}

size_t client_start(struct clients *p, uint32_t i, uint64_t now_ms, uint8_t *out)
{
	struct client *cl = &p->client[i];

	if (cl->state != CLIENT_IDLE && cl->state != CLIENT_FAILED)
		return 0;
	cl->deleting = cl->allocated = cl->doomed = false;
	cl->mismatches = 0;
	cl->refresh_ms = cl->permission_ms = cl->channel_ms = NEVER;
	state_set(p, i, CLIENT_ALLOCATING);
	return send_allocate(p, i, now_ms, out);
}

size_t client_release(struct clients *p, uint32_t i, uint64_t now_ms, uint8_t *out)
{
	struct client *cl = &p->client[i];

	if (cl->state != CLIENT_READY)
		return 0;
	cl->deleting = true;
	state_set(p, i, CLIENT_RELEASING);
	return send_request(p, i, STUN_REFRESH, now_ms, out);
}

void client_cut(struct clients *p, uint32_t i)
{
	struct client *cl = &p->client[i];

	cl->allocated = false;
	if (cl->state == CLIENT_RELEASING && !cl->doomed) { // counts as released
		request_end(p, i);
		state_set(p, i, CLIENT_IDLE);
	} else if (cl->state != CLIENT_IDLE && cl->state != CLIENT_FAILED) {
		fail_client(p, i, CLIENT_FAULT_CONNECTION, 0, NULL);
	}
}

// --- success responses ---------------------------------------------------------------------------

// Takes LIFETIME from an answer; false when it is missing or zero. The refresh is due when a sixth
// of the lifetime is left: from 237 s on, that is more time than a request needs to time out.
static bool lifetime_take(struct client *cl, const struct stun_msg *m, uint64_t now_ms)
{
	uint32_t lifetime_s;

	if (!stun_get_u32(m, STUN_LIFETIME, &lifetime_s) || lifetime_s == 0)
		return false;
	cl->refresh_ms = now_ms + (uint64_t)lifetime_s * 1000 * 5 / 6;
	return true;
}

static bool relay_take(struct clients *p, struct client *cl, const struct stun_msg *m)
{
	int family;

	return stun_has(m, STUN_XOR_RELAYED_ADDRESS) &&
		stun_decode_xor_addr(m, m->off[STUN_XOR_RELAYED_ADDRESS],
			m->alen[STUN_XOR_RELAYED_ADDRESS], &cl->relay, &family) &&
		(family == 4) == p->relay_v4 && cl->relay.port != 0;
}

static size_t become_ready(struct clients *p, uint32_t i)
{
	state_set(p, i, CLIENT_READY);
	idle_timer(p, i);
	return 0;
}

static size_t handle_allocated(
	struct clients *p, uint32_t i, const struct stun_msg *m, uint64_t now_ms, uint8_t *out)
{
	struct client *cl = &p->client[i];

	stat_add(&p->stats.allocations, 1);
	cl->allocated = true;
	cl->ended = false;
	if (!relay_take(p, cl, m) || !lifetime_take(cl, m, now_ms))
		return fail_client(p, i, CLIENT_FAULT_BAD_ANSWER, now_ms, out);
	switch (p->config->mode) {
	case MODE_CHANNEL:
		state_set(p, i, CLIENT_BINDING);
		return send_request(p, i, STUN_CHANNEL_BIND, now_ms, out);
	case MODE_SEND:
		state_set(p, i, CLIENT_BINDING);
		return send_request(p, i, STUN_CREATE_PERMISSION, now_ms, out);
	default:
		return become_ready(p, i);
	}
}

// The server has deleted the client's allocation.
static size_t handle_deleted(struct clients *p, uint32_t i, uint64_t now_ms, uint8_t *out)
{
	struct client *cl = &p->client[i];

	cl->deleting = cl->allocated = false;
	cl->ended = true;
	cl->ended_ms = (uint32_t)now_ms;
	if (cl->state == CLIENT_ALLOCATING) // the old allocation that was in the way
		return send_allocate(p, i, now_ms, out);
	stat_add(&p->stats.releases, 1);
	state_set(p, i, cl->doomed ? CLIENT_FAILED : CLIENT_IDLE);
	return 0;
}

// ChannelBind or CreatePermission has succeeded; both refresh the permission (RFC 8656 9).
static size_t handle_permitted(struct clients *p, uint32_t i, uint64_t now_ms)
{
	struct client *cl = &p->client[i];

	cl->permission_ms = now_ms + PERMISSION_REFRESH_MS;
	if (cl->method == STUN_CHANNEL_BIND)
		cl->channel_ms = now_ms + CHANNEL_REFRESH_MS;
	if (cl->state == CLIENT_BINDING)
		return become_ready(p, i);
	stat_add(&p->stats.refreshes, 1);
	idle_timer(p, i);
	return 0;
}

static size_t handle_success(
	struct clients *p, uint32_t i, const struct stun_msg *m, uint64_t now_ms, uint8_t *out)
{
	struct client *cl = &p->client[i];

	if (cl->method == STUN_ALLOCATE)
		return handle_allocated(p, i, m, now_ms, out);
	if (cl->method != STUN_REFRESH)
		return handle_permitted(p, i, now_ms);
	if (cl->deleting)
		return handle_deleted(p, i, now_ms, out);
	if (!lifetime_take(cl, m, now_ms))
		return fail_client(p, i, CLIENT_FAULT_BAD_ANSWER, now_ms, out);
	stat_add(&p->stats.refreshes, 1);
	idle_timer(p, i);
	return 0;
}

// --- error responses -----------------------------------------------------------------------------

// Returns the code of an error response (RFC 8489 14.8); 0 if it has no valid code.
static unsigned int error_code(const struct stun_msg *m)
{
	const uint8_t *value = m->data + m->off[STUN_ERROR_CODE];
	unsigned int class;

	if (m->cls != STUN_ERROR || m->alen[STUN_ERROR_CODE] < 4)
		return 0;
	class = value[2] & 7;
	return class >= 3 && class <= 6 && value[3] <= 99 ? class * 100 + value[3] : 0;
}

// 437 to Allocate. If this client's allocation was deleted just now, the server needs more time
// than the population has measured until now: the client rests longer. Otherwise an older
// allocation is in the way: the client deletes it.
static size_t handle_mismatch(struct clients *p, uint32_t i, uint64_t now_ms, uint8_t *out)
{
	struct client *cl = &p->client[i];
	const uint32_t rested_ms = cl->sent_ms - cl->ended_ms;

	if (++cl->mismatches >= MISMATCHES_MAX)
		return fail_client(p, i, CLIENT_FAULT_REFUSED, now_ms, out);
	if (!cl->ended || rested_ms >= LINGER_MAX_MS) {
		cl->deleting = true;
		return send_request(p, i, STUN_REFRESH, now_ms, out);
	}
	for (uint32_t ms = LINGER_MS; p->linger_ms <= rested_ms; ms *= 2)
		p->linger_ms = ms;
	return send_allocate(p, i, now_ms, out);
}

static size_t handle_error(
	struct clients *p, uint32_t i, unsigned int code, uint64_t now_ms, uint8_t *out)
{
	struct client *cl = &p->client[i];

	stat_add(&p->stats.error[code - 300], 1);
	if (code != 437)
		return fail_client(p, i, CLIENT_FAULT_REFUSED, now_ms, out);
	// RFC 8656 8.3: 437 counts as success. The answer to an earlier transmission may be lost
	if (cl->deleting)
		return handle_deleted(p, i, now_ms, out);
	if (cl->method == STUN_ALLOCATE)
		return handle_mismatch(p, i, now_ms, out);
	cl->allocated = false;
	return fail_client(p, i, CLIENT_FAULT_LOST, now_ms, out);
}

// 401 and 438. A second 401 to the same request means that the server refuses these credentials.
static size_t handle_challenge(
	struct clients *p, uint32_t i, const struct stun_msg *m, uint64_t now_ms, uint8_t *out)
{
	struct client *cl = &p->client[i];
	const unsigned int code = error_code(m);
	enum client_fault fault;
	size_t len;

	if (!p->named || (code == 401 && cl->challenged))
		return handle_error(p, i, code, now_ms, out);
	if (cl->challenges++ == CHALLENGES_MAX)
		return fail_client(p, i, CLIENT_FAULT_STALE_NONCE, now_ms, out);
	fault = auth_challenge(p, i, m, code);
	if (fault != CLIENT_NB_FAULTS)
		return fail_client(p, i, fault, now_ms, out);
	stat_add(&p->stats.challenges, 1);
	cl->challenged |= code == 401;
	len = request_renew(p, i, now_ms, out);
	return len > 0 ? len : fail_client(p, i, CLIENT_FAULT_REQUEST, now_ms, out);
}

// --- input: answers and time ---------------------------------------------------------------------

size_t client_input(struct clients *p, uint32_t i, const uint8_t *data, size_t len, uint64_t now_ms,
	uint8_t *out)
{
	struct client *cl = &p->client[i];
	struct stun_msg m;
	unsigned int code;

	if (stun_parse(data, len, &m) != 0 || m.fingerprint_bad || !request_matches(cl, &m)) {
		stat_add(&p->stats.stray, 1);
		return 0;
	}
	code = error_code(&m);
	if (!auth_verify(p, i, &m, code)) {
		stat_add(&p->stats.ignored, 1);
		cl->tampered = true;
		return 0;
	}
	request_end(p, i);
	stat_add(&p->stats.answers, 1);
	if (p->answered != NULL)
		p->answered(p->ctx, cl->method, (uint32_t)now_ms - cl->sent_ms);
	// RFC 8489 6.3.3, 6.3.4
	if (m.nb_unknown > 0 || (m.cls == STUN_ERROR && code == 0))
		return fail_client(p, i, CLIENT_FAULT_BAD_ANSWER, now_ms, out);
	if (m.cls == STUN_SUCCESS)
		return handle_success(p, i, &m, now_ms, out);
	if (code == 401 || code == 438)
		return handle_challenge(p, i, &m, now_ms, out);
	return handle_error(p, i, code, now_ms, out);
}

// Sends the refresh that is due. The channel goes first, because ChannelBind refreshes the
// permission too.
static size_t refresh_due(struct clients *p, uint32_t i, uint64_t now_ms, uint8_t *out)
{
	const struct client *cl = &p->client[i];

	if (cl->refresh_ms <= now_ms)
		return send_request(p, i, STUN_REFRESH, now_ms, out);
	if (cl->channel_ms <= now_ms)
		return send_request(p, i, STUN_CHANNEL_BIND, now_ms, out);
	if (cl->permission_ms <= now_ms)
		return send_request(p, i, STUN_CREATE_PERMISSION, now_ms, out);
	idle_timer(p, i);
	return 0;
}

static size_t timer_fired(struct clients *p, uint32_t i, uint64_t now_ms, uint8_t *out)
{
	const struct client *cl = &p->client[i];
	size_t len;

	if (!cl->pending)
		return cl->state == CLIENT_ALLOCATING ? send_allocate(p, i, now_ms, out)
						      : refresh_due(p, i, now_ms, out);
	len = request_again(p, i, now_ms, out);
	if (len > 0)
		return len;
	// RFC 8489 9.2.5: answers came, but their integrity was wrong, so it is no timeout
	return fail_client(
		p, i, cl->tampered ? CLIENT_FAULT_INTEGRITY : CLIENT_FAULT_TIMEOUT, now_ms, out);
}

size_t clients_tick(struct clients *p, uint64_t now_ms, uint32_t *i, uint8_t *out)
{
	size_t len;

	for (unsigned int n = 0; n < TICK_MAX; n++) {
		if (wheel_expire(&p->wheel, now_ms * WHEEL_TICK_MS, i, 1) == 0)
			return 0;
		len = timer_fired(p, *i, now_ms, out);
		if (len > 0)
			return len;
	}
	return 0;
}
