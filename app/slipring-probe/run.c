// SPDX-License-Identifier: BSD-3-Clause
// Goes through the steps of one transport, takes their times, and follows one alternate.
#include "run.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "client/echo.h"
#include "net/tls.h"
#include "report/words.h"

#define PORT_TURN 3478

struct run {
	const struct opts *o;
	struct result *r;
	struct client client;
	struct client second; // another allocation, if this host may not be a peer
	struct client *last; // the client that acted last, for its errors
	int peer_fd; // the peer's socket; -1 = none
};

// --- steps ---------------------------------------------------------------------------------------

static enum fault resolve_host(struct run *u)
{
	const struct addrinfo hints = {
		.ai_family = u->o->family, .ai_socktype = SOCK_DGRAM, .ai_flags = AI_ADDRCONFIG};
	struct result *r = u->r;
	struct addrinfo *found = NULL;
	const int error = getaddrinfo(u->o->uri.host, NULL, &hints, &found);

	if (error != 0) {
		snprintf(r->detail, sizeof(r->detail), "%s", gai_strerror(error));
		return FAULT_NAME;
	}
	r->server.port = uri_port(&u->o->uri, r->transport);
	if (found->ai_family == AF_INET)
		r->server.addr = addr_from_v4(&((struct sockaddr_in *)found->ai_addr)->sin_addr);
	else
		r->server.addr = addr_from_v6(&((struct sockaddr_in6 *)found->ai_addr)->sin6_addr);
	freeaddrinfo(found);
	return FAULT_NONE;
}

static enum fault open_connection(struct run *u)
{
	return conn_open(&u->last->conn, u->r->transport, &u->r->server,
		clock_monotonic_ms() + u->o->timeout_ms);
}

static enum fault shake_hands(struct run *u)
{
	const struct tls_params p = {.ca = u->o->ca, .name = u->r->name};

	return tls_open(
		&u->last->conn, &p, &u->r->not_after_s, clock_monotonic_ms() + u->o->timeout_ms);
}

static enum fault bind_client(struct run *u)
{
	const enum fault fault = client_bind(u->last);

	u->r->mapped = u->last->mapped;
	return fault;
}

static enum fault allocate_relay(struct run *u)
{
	const enum fault fault = client_allocate(u->last);

	u->r->relayed = u->last->relayed;
	result_text(u->r->realm, sizeof(u->r->realm), u->last->auth.realm);
	return fault;
}

// Opens the second client and makes each the other's peer.
static enum fault permit_pair(struct run *u)
{
	enum fault fault;

	u->r->paired = true;
	u->last = &u->second;
	fault = open_connection(u);
	if (fault == FAULT_NONE && transport_is_secure(u->r->transport))
		fault = shake_hands(u);
	if (fault == FAULT_NONE)
		fault = client_bind(&u->second);
	if (fault == FAULT_NONE)
		fault = client_allocate(&u->second);
	if (fault == FAULT_NONE)
		fault = client_permit(&u->second, &u->client.relayed);
	if (fault != FAULT_NONE)
		return fault;
	u->last = &u->client;
	return client_permit(&u->client, &u->second.relayed);
}

// Finds the address that the peer's socket has outside: by a Binding over UDP, else that of the
// client. False if none is known in the family of the relayed transport address.
static bool find_peer(struct run *u)
{
	const bool v4 = addr_is_v4(&u->client.relayed.addr);
	struct endpoint server = u->r->server;

	u->peer_fd = conn_udp_socket(&u->client.relayed);
	if (u->peer_fd < 0 || addr_is_v4(&server.addr) != v4)
		return false;
	if (transport_is_secure(u->r->transport))
		server.port = PORT_TURN;
	u->r->peer = u->client.mapped;
	client_bind_socket(u->peer_fd, &server, &u->r->peer);
	return addr_is_v4(&u->r->peer.addr) == v4;
}

static enum fault permit_peer(struct run *u)
{
	enum fault fault;

	if (!find_peer(u))
		return permit_pair(u);
	fault = client_permit(&u->client, &u->r->peer);
	return fault == FAULT_CODE && u->client.code == 403 ? permit_pair(u) : fault;
}

static enum fault echo_data(struct run *u)
{
	return u->r->paired ? echo_pair(&u->client, &u->second) : echo_peer(&u->client, u->peer_fd);
}

static enum fault release_all(struct run *u)
{
	const enum fault fault = client_release(&u->client);

	return u->r->paired && fault == FAULT_NONE ? client_release(&u->second) : fault;
}

// --- their order ---------------------------------------------------------------------------------

// Stores the details of a fault in the result.
static void keep_fault(struct run *u, enum fault fault)
{
	const struct words_facts facts = {u->r->user, u->client.auth.from_secret, clock_wall_s()};
	struct result *r = u->r;

	r->fault = conn_stopped ? FAULT_STOPPED : fault;
	if (fault == FAULT_CODE) {
		r->code = u->last->code;
		r->fault = words_fault(r->step, r->code, &facts);
		result_text(r->detail, sizeof(r->detail), u->last->reason);
	} else if (r->detail[0] == '\0') {
		result_text(r->detail, sizeof(r->detail), u->last->conn.detail);
	}
	if (r->fault == FAULT_ALTERNATE && u->last->alternate.port != 0)
		addr_format_endpoint(&u->last->alternate, r->detail, sizeof(r->detail));
}

static bool do_step(struct run *u, enum step step, enum fault (*work)(struct run *u))
{
	const uint64_t begin_ns = clock_monotonic_ns();
	enum fault fault;

	u->r->step = step;
	fault = conn_stopped ? FAULT_STOPPED : work(u);
	u->r->us[step] = (int64_t)(clock_monotonic_ns() - begin_ns) / 1000;
	if (fault == FAULT_NONE)
		return true;
	keep_fault(u, fault);
	return false;
}

static bool open_and_bind(struct run *u)
{
	if (!do_step(u, STEP_CONNECT, open_connection))
		return false;
	if (transport_is_datagram(u->r->transport))
		u->r->us[STEP_CONNECT] = STEP_NOT_DONE;
	if (transport_is_secure(u->r->transport) && !do_step(u, STEP_HANDSHAKE, shake_hands))
		return false;
	return do_step(u, STEP_BINDING, bind_client);
}

// Turns to the alternate that a 300 has named, if it is the first one and has an address.
static bool follow_alternate(struct run *u)
{
	struct result *r = u->r;

	if (r->fault != FAULT_ALTERNATE || r->alternate.port != 0 || u->client.alternate.port == 0)
		return false;
	r->alternate = r->server = u->client.alternate;
	if (u->client.alternate_name[0] != '\0' && u->o->name == NULL)
		result_text(r->name, sizeof(r->name), u->client.alternate_name);
	r->fault = FAULT_NONE;
	r->code = 0;
	r->detail[0] = '\0';
	conn_close(&u->client.conn);
	u->client.auth.challenged = false;
	return open_and_bind(u) && do_step(u, STEP_ALLOCATE, allocate_relay);
}

static bool all_steps(struct run *u)
{
	if (!do_step(u, STEP_RESOLVE, resolve_host) || !open_and_bind(u))
		return false;
	u->r->authless = u->client.auth.user[0] == '\0';
	if (u->r->authless)
		return true;
	if (!do_step(u, STEP_ALLOCATE, allocate_relay) && !follow_alternate(u))
		return false;
	return do_step(u, STEP_PERMISSION, permit_peer) && do_step(u, STEP_ECHO, echo_data) &&
		do_step(u, STEP_RELEASE, release_all);
}

static bool begin_run(struct run *u)
{
	const struct opts *o = u->o;
	const uint64_t now_s = clock_wall_s();

	u->client.timeout_ms = u->second.timeout_ms = o->timeout_ms;
	u->client.conn.fd = u->second.conn.fd = u->peer_fd = -1;
	u->last = &u->client;
	snprintf(u->r->name, sizeof(u->r->name), "%s", o->name != NULL ? o->name : o->uri.host);
	if (!auth_init(&u->client.auth, o->user, o->password, o->secret, now_s) ||
		!auth_init(&u->second.auth, o->user, o->password, o->secret, now_s))
		return false;
	snprintf(u->r->user, sizeof(u->r->user), "%s", u->client.auth.user);
	return true;
}

static void end_run(struct run *u)
{
	client_release(&u->client);
	client_release(&u->second);
	conn_close(&u->client.conn);
	conn_close(&u->second.conn);
	if (u->peer_fd >= 0)
		close(u->peer_fd);
	auth_free(&u->client.auth);
	auth_free(&u->second.auth);
}

void run_transport(const struct opts *o, enum transport t, struct result *r)
{
	struct run u = {.o = o, .r = r};

	result_init(r, t);
	if (begin_run(&u))
		r->ok = all_steps(&u);
	else
		r->fault = FAULT_SYSTEM;
	end_run(&u);
	r->absent = !r->ok && !o->asked && r->step <= STEP_BINDING && r->alternate.port == 0 &&
		(r->fault == FAULT_REFUSED || r->fault == FAULT_NO_ANSWER);
}
