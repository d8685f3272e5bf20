// SPDX-License-Identifier: BSD-3-Clause
// The echo through the server. Each try has a payload of its own.
#include "client/echo.h"

#include <poll.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "clock.h"

#define TRIES 3

static void payload_make(struct payload *p)
{
	static const char text[] = "slipring-probe: ";

	memcpy(p->bytes, text, sizeof(text) - 1);
	if (getrandom(p->bytes + sizeof(text) - 1, PAYLOAD_LEN - sizeof(text) + 1, 0) < 0)
		memset(p->bytes + sizeof(text) - 1, (int)clock_monotonic_ms(), 8);
}

// The time by which one way of one try must be over.
static uint64_t way_deadline_ms(const struct client *c)
{
	return clock_monotonic_ms() + c->timeout_ms / TRIES;
}

// Waits for the payload on a UDP socket.
static bool socket_expect(int fd, const struct payload *p, uint64_t deadline_ms)
{
	uint8_t in[PAYLOAD_LEN + 1];

	while (conn_wait(fd, POLLIN, deadline_ms))
		if (recv(fd, in, sizeof(in), 0) == PAYLOAD_LEN &&
			memcmp(in, p->bytes, PAYLOAD_LEN) == 0)
			return true;
	return false;
}

enum fault echo_peer(struct client *c, int fd)
{
	enum fault worst = FAULT_TO_RELAY, fault;
	struct payload p;
	struct endpoint source;

	for (unsigned int i = 0; i < TRIES && !conn_stopped; i++) {
		payload_make(&p);
		conn_send_to(fd, &c->relayed, p.bytes, PAYLOAD_LEN);
		fault = client_expect(c, &p, &source, way_deadline_ms(c));
		if (fault != FAULT_NONE)
			return fault;
		if (source.port == 0)
			continue;
		worst = FAULT_FROM_RELAY;
		payload_make(&p);
		fault = client_send(c, &source, &p);
		if (fault != FAULT_NONE)
			return fault;
		if (socket_expect(fd, &p, way_deadline_ms(c)))
			return FAULT_NONE;
	}
	return worst;
}

// One way: from the relayed transport address of a to that of b. *got tells if it has arrived.
static enum fault one_way(struct client *a, struct client *b, bool *got)
{
	struct payload p;
	struct endpoint source;
	enum fault fault;

	payload_make(&p);
	*got = false;
	fault = client_send(a, &b->relayed, &p);
	if (fault == FAULT_NONE)
		fault = client_expect(b, &p, &source, way_deadline_ms(b));
	*got = fault == FAULT_NONE && source.port != 0;
	return fault;
}

enum fault echo_pair(struct client *a, struct client *b)
{
	enum fault fault;
	bool got;

	for (unsigned int i = 0; i < TRIES && !conn_stopped; i++) {
		fault = one_way(a, b, &got);
		if (fault == FAULT_NONE && got)
			fault = one_way(b, a, &got);
		if (fault != FAULT_NONE || got)
			return fault;
	}
	return FAULT_PAIR;
}
