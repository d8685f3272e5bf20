// SPDX-License-Identifier: BSD-3-Clause
// A TURN client (RFC 8656) on one connection: requests with their answers, and indications.
#pragma once

#include "client/auth.h"
#include "net/conn.h"

struct client {
	struct conn conn;
	struct auth auth; // the caller has filled it by auth_init()
	uint32_t timeout_ms; // of a request with its repetitions
	bool allocated; // the server has an allocation of this client, as far as known
	uint8_t family; // REQUESTED-ADDRESS-FAMILY; 0 = none is sent
	struct endpoint mapped, relayed;
	// Since the last request: a message that is no answer; an answer with a wrong integrity.
	bool odd, forged;
	// of the last error response
	unsigned int code; // 0 = none
	char reason[DETAIL_SIZE];
	struct endpoint alternate; // of a 300; port 0 = none
	char alternate_name[NAME_MAX_LEN + 1]; // ALTERNATE-DOMAIN; may be empty
	uint8_t answer[CONN_MESSAGE_MAX];
};

// Each request returns FAULT_NONE after a success response. FAULT_CODE: the server has refused, and
// code and reason tell why. Other faults: there was no valid answer.

enum fault client_bind(struct client *c); // Binding; fills mapped
enum fault client_allocate(struct client *c); // answers a challenge; fills relayed
enum fault client_permit(struct client *c, const struct endpoint *peer); // CreatePermission
// Refresh with lifetime 0. FAULT_NONE, too, if there is no allocation.
enum fault client_release(struct client *c);

#define PAYLOAD_LEN 32

// Data of a datagram that goes through the server.
struct payload {
	uint8_t bytes[PAYLOAD_LEN];
};

// Sends a payload to a peer in a Send indication.
enum fault client_send(struct client *c, const struct endpoint *peer, const struct payload *p);
// Waits for a Data indication with exactly this payload. *peer gets its source, port 0 if none
// comes until the deadline.
enum fault client_expect(
	struct client *c, const struct payload *p, struct endpoint *peer, uint64_t deadline_ms);
// Asks a server for the address of a UDP socket that is not connected. False if no answer comes.
bool client_bind_socket(int fd, const struct endpoint *server, struct endpoint *mapped);
