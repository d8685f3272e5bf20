// SPDX-License-Identifier: BSD-3-Clause
// Fixture of the tests of dual allocations: a client that requests both families (RFC 8656 7.1,
// 18.11). Asserts with cmocka.
#pragma once

#include "turn_fixture.h"

struct dual_world {
	struct fixture f;
	struct fixture_client ivan;
	struct endpoint v4, v6; // ivan's relayed transport addresses, from the last Allocate
};

// Opens a fixture with this configuration, and client ivan. dual_world_teardown closes it.
void dual_world_open(struct dual_world *w, const struct turn_config *c);
int dual_world_teardown(void **state);
// Begins an Allocate that requests both families.
void dual_world_begin(struct dual_world *w);
// Allocates both. Returns the code of the answer. After a success v4 and v6 are set; one of them
// may be missing (port 0).
unsigned int dual_world_allocate(struct dual_world *w);
// Sends an Allocate that was begun, like dual_world_allocate. dual_world_read only reads the
// answer.
unsigned int dual_world_ask(struct dual_world *w);
void dual_world_read(struct dual_world *w);
// Code of ADDRESS-ERROR-CODE in the last answer and its family; 0 = not there.
unsigned int dual_world_address_error(const struct dual_world *w, unsigned int *family);
// Refreshes the allocation of a family, 4 or 6, or of both (0). Returns the code of the answer.
unsigned int dual_world_refresh(struct dual_world *w, int family, uint32_t lifetime_s);
// Requests permissions for a NULL-terminated list of peers. Returns the code of the answer.
unsigned int dual_world_permit(struct dual_world *w, const char *const peers[]);
// Sends "media" to a peer by a Send indication.
const struct turn_plan *dual_world_send(struct dual_world *w, const char *peer, uint16_t port);
// Source and destination of the datagram in the last plan.
struct endpoint dual_world_src(struct dual_world *w);
struct endpoint dual_world_dst(struct dual_world *w);
