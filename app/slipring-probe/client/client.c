// SPDX-License-Identifier: BSD-3-Clause
// Requests, their repetitions over UDP and DTLS (RFC 8489 6.2.1), and their answers.
#include "client/client.h"

#include <poll.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "clock.h"

#define RTO_MS 500
#define CHALLENGES_MAX 3 // answers 401 and 438 to one request
#define PROTOCOL_UDP (17u << 24)
#define FAMILY_V4 1
#define FAMILY_V6 2

struct ask {
	enum stun_method method;
	const struct endpoint *peer; // XOR-PEER-ADDRESS
	bool deletes; // LIFETIME 0
};

static void make_tid(uint8_t tid[STUN_TID_LEN])
{
	if (getrandom(tid, STUN_TID_LEN, 0) != STUN_TID_LEN)
		memset(tid, 0, STUN_TID_LEN);
}

// Writes a request. Returns its length, or 0 if it cannot be made.
static size_t write_request(
	const struct client *c, const struct ask *a, const uint8_t *tid, uint8_t *out)
{
	struct stun_writer w;

	stun_begin(&w, out, CONN_MESSAGE_MAX, STUN_REQUEST, a->method, tid);
	if (a->method == STUN_ALLOCATE)
		stun_put_u32(&w, STUN_REQUESTED_TRANSPORT, PROTOCOL_UDP);
	if (a->method == STUN_ALLOCATE && c->family != 0)
		stun_put_u32(&w, STUN_REQUESTED_ADDRESS_FAMILY, (uint32_t)c->family << 24);
	if (a->deletes)
		stun_put_u32(&w, STUN_LIFETIME, 0);
	if (a->peer != NULL)
		stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, a->peer);
	if (a->method != STUN_BINDING)
		auth_sign(&c->auth, &w);
	return stun_end(&w);
}

// --- answers -------------------------------------------------------------------------------------

// ALTERNATE-SERVER has the plain form of MAPPED-ADDRESS (RFC 8489 14.1).
static void keep_alternate(struct client *c, const struct stun_msg *m)
{
	const uint8_t *v = m->data + m->off[STUN_ALTERNATE_SERVER];
	const uint16_t len = m->alen[STUN_ALTERNATE_SERVER], name = m->alen[STUN_ALTERNATE_DOMAIN];

	c->alternate = (struct endpoint){0};
	c->alternate_name[0] = '\0';
	if (len == 8 && v[1] == FAMILY_V4)
		c->alternate = (struct endpoint){addr_from_v4(v + 4), load_be16(v + 2)};
	else if (len == 20 && v[1] == FAMILY_V6)
		c->alternate = (struct endpoint){addr_from_v6(v + 4), load_be16(v + 2)};
	if (name <= NAME_MAX_LEN)
		snprintf(c->alternate_name, sizeof(c->alternate_name), "%.*s", name,
			(const char *)m->data + m->off[STUN_ALTERNATE_DOMAIN]);
}

// Keeps code and reason of an error response; false if it has no code.
static bool keep_error(struct client *c, const struct stun_msg *m)
{
	const uint8_t *v = m->data + m->off[STUN_ERROR_CODE];
	const uint16_t len = m->alen[STUN_ERROR_CODE];

	c->code = len >= 4 ? (v[2] & 7) * 100u + v[3] : 0;
	if (c->code < 300 || c->code > 699)
		return false;
	snprintf(c->reason, sizeof(c->reason), "%.*s", len - 4, (const char *)v + 4);
	keep_alternate(c, m);
	return true;
}

// True if a message is a good answer to the request.
static bool is_answer(
	struct client *c, const struct ask *a, const uint8_t *tid, const struct stun_msg *m)
{
	const bool is_signed = a->method != STUN_BINDING && c->auth.challenged;

	if (m->method != a->method || memcmp(stun_tid(m), tid, STUN_TID_LEN) != 0)
		return false;
	if (m->cls != STUN_SUCCESS && (m->cls != STUN_ERROR || !keep_error(c, m))) {
		c->odd = true;
		return false;
	}
	// a server may sign 401 and 438 with another key, or not at all
	if (!is_signed || (m->cls == STUN_ERROR && (c->code == 401 || c->code == 438)))
		return true;
	if (auth_verify(&c->auth, m))
		return true;
	c->forged = true;
	return false;
}

// Waits for the answer. *got is false if none comes until the deadline.
static enum fault await_answer(struct client *c, const struct ask *a, const uint8_t *tid,
	struct stun_msg *m, uint64_t deadline_ms)
{
	enum fault fault;
	size_t len;

	for (;;) {
		fault = conn_receive(&c->conn, c->answer, &len, deadline_ms);
		if (fault != FAULT_NONE)
			return fault;
		if (len == 0)
			return FAULT_NO_ANSWER;
		if (stun_parse(c->answer, len, m) != 0)
			c->odd = true;
		else if (is_answer(c, a, tid, m))
			return m->cls == STUN_SUCCESS ? FAULT_NONE : FAULT_CODE;
	}
}

// Sends a request until it is answered.
static enum fault ask_once(struct client *c, const struct ask *a, struct stun_msg *m)
{
	const uint64_t deadline_ms = clock_monotonic_ms() + c->timeout_ms;
	uint8_t out[CONN_MESSAGE_MAX], tid[STUN_TID_LEN];
	uint64_t again_ms, rto_ms = RTO_MS;
	enum fault fault;
	size_t len;

	make_tid(tid);
	c->odd = c->forged = false;
	c->code = 0;
	len = write_request(c, a, tid, out);
	if (len == 0)
		return FAULT_SYSTEM;
	do {
		fault = conn_send(&c->conn, out, len, deadline_ms);
		if (fault != FAULT_NONE)
			return fault;
		again_ms = clock_monotonic_ms() + rto_ms;
		if (again_ms > deadline_ms || !transport_is_datagram(c->conn.transport))
			again_ms = deadline_ms;
		rto_ms *= 2;
		fault = await_answer(c, a, tid, m, again_ms);
	} while (fault == FAULT_NO_ANSWER && again_ms < deadline_ms && !conn_stopped);
	if (fault == FAULT_NO_ANSWER && (c->odd || c->forged))
		return c->forged ? FAULT_INTEGRITY : FAULT_BAD_ANSWER;
	return fault;
}

// Sends a request, and again after a challenge.
static enum fault ask_signed(struct client *c, const struct ask *a, struct stun_msg *m)
{
	enum fault fault = FAULT_NONE;
	bool had_key;

	for (unsigned int i = 0; i <= CHALLENGES_MAX; i++) {
		had_key = c->auth.challenged;
		fault = ask_once(c, a, m);
		if (fault != FAULT_CODE || (c->code != 438 && (c->code != 401 || had_key)))
			return fault;
		if (auth_challenge(&c->auth, m) != FAULT_NONE)
			return FAULT_BAD_ANSWER;
	}
	return fault;
}

// --- requests ------------------------------------------------------------------------------------

static bool read_address(const struct stun_msg *m, enum stun_attr attr, struct endpoint *out)
{
	int family;

	return stun_has(m, attr) &&
		stun_decode_xor_addr(m, m->off[attr], m->alen[attr], out, &family) &&
		out->port != 0;
}

enum fault client_bind(struct client *c)
{
	const struct ask a = {.method = STUN_BINDING};
	struct stun_msg m;
	const enum fault fault = ask_once(c, &a, &m);

	if (fault == FAULT_NONE && !read_address(&m, STUN_XOR_MAPPED_ADDRESS, &c->mapped))
		return FAULT_BAD_ANSWER;
	return fault;
}

enum fault client_allocate(struct client *c)
{
	const struct ask a = {.method = STUN_ALLOCATE};
	struct stun_msg m;
	enum fault fault;

	c->family = addr_is_v4(&c->mapped.addr) ? 0 : FAMILY_V6;
	fault = ask_signed(c, &a, &m);
	if (fault == FAULT_CODE && c->code == 440 && c->family != 0) {
		c->family = 0; // the server has clients over IPv6, but only IPv4 relay addresses
		fault = ask_signed(c, &a, &m);
	}
	if (fault != FAULT_NONE)
		return fault;
	c->allocated = true;
	return read_address(&m, STUN_XOR_RELAYED_ADDRESS, &c->relayed) ? FAULT_NONE
								       : FAULT_BAD_ANSWER;
}

enum fault client_permit(struct client *c, const struct endpoint *peer)
{
	const struct ask a = {.method = STUN_CREATE_PERMISSION, .peer = peer};
	struct stun_msg m;

	return ask_signed(c, &a, &m);
}

enum fault client_release(struct client *c)
{
	const struct ask a = {.method = STUN_REFRESH, .deletes = true};
	struct stun_msg m;

	if (!c->allocated)
		return FAULT_NONE;
	c->allocated = false;
	return ask_signed(c, &a, &m);
}

// --- data ----------------------------------------------------------------------------------------

enum fault client_send(struct client *c, const struct endpoint *peer, const struct payload *p)
{
	uint8_t out[CONN_MESSAGE_MAX], tid[STUN_TID_LEN];
	struct stun_writer w;

	make_tid(tid);
	stun_begin(&w, out, sizeof(out), STUN_INDICATION, STUN_SEND, tid);
	stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, peer);
	stun_put(&w, STUN_DATA_ATTR, p->bytes, PAYLOAD_LEN);
	return conn_send(&c->conn, out, stun_end(&w), clock_monotonic_ms() + c->timeout_ms);
}

enum fault client_expect(
	struct client *c, const struct payload *p, struct endpoint *peer, uint64_t deadline_ms)
{
	struct stun_msg m;
	enum fault fault;
	size_t len;

	for (;;) {
		fault = conn_receive(&c->conn, c->answer, &len, deadline_ms);
		peer->port = 0;
		if (fault != FAULT_NONE || len == 0)
			return fault;
		if (stun_parse(c->answer, len, &m) == 0 && m.cls == STUN_INDICATION &&
			m.method == STUN_DATA && m.alen[STUN_DATA_ATTR] == PAYLOAD_LEN &&
			memcmp(m.data + m.off[STUN_DATA_ATTR], p->bytes, PAYLOAD_LEN) == 0 &&
			read_address(&m, STUN_XOR_PEER_ADDRESS, peer))
			return FAULT_NONE;
	}
}

// Waits for the answer to a Binding request.
static bool await_mapped(int fd, const uint8_t *tid, struct endpoint *mapped, uint64_t deadline_ms)
{
	uint8_t in[CONN_MESSAGE_MAX];
	struct stun_msg m;
	ssize_t n;

	while (conn_wait(fd, POLLIN, deadline_ms)) {
		n = recv(fd, in, sizeof(in), 0);
		if (n > 0 && stun_parse(in, (size_t)n, &m) == 0 && m.cls == STUN_SUCCESS &&
			m.method == STUN_BINDING && memcmp(stun_tid(&m), tid, STUN_TID_LEN) == 0)
			return read_address(&m, STUN_XOR_MAPPED_ADDRESS, mapped);
	}
	return false;
}

bool client_bind_socket(int fd, const struct endpoint *server, struct endpoint *mapped)
{
	uint8_t out[STUN_HEADER_LEN], tid[STUN_TID_LEN];
	struct stun_writer w;

	make_tid(tid);
	stun_begin(&w, out, sizeof(out), STUN_REQUEST, STUN_BINDING, tid);
	stun_end(&w);
	for (unsigned int i = 0; i < 3; i++)
		if (conn_send_to(fd, server, out, sizeof(out)) &&
			await_mapped(fd, tid, mapped, clock_monotonic_ms() + RTO_MS))
			return true;
	return false;
}
