// SPDX-License-Identifier: BSD-3-Clause
// What the tests of dual allocations share: one client that asks for both families (RFC 8656 7.1,
// 18.11). Asserts with cmocka.
#pragma once

#include "turn_fixture.h"

struct dual_world {
	struct fixture f;
	struct fixture_client ivan;
	struct endpoint v4, v6; // ivan's relayed transport addresses, from his last Allocate
};

// Opens a fixture with this configuration, and ivan. dual_world_teardown closes it.
void dual_world_open(struct dual_world *w, const struct turn_config *c);
int dual_world_teardown(void **state);
// Begins an Allocate that asks for both families.
void dual_world_begin(struct dual_world *w);
// Allocates both. Returns the answer's code; of a success v4 and v6 are read, one of them may be
// missing (port 0).
unsigned int dual_world_allocate(struct dual_world *w);
// The same for an Allocate that is begun. dual_world_read reads the answer alone.
unsigned int dual_world_ask(struct dual_world *w);
void dual_world_read(struct dual_world *w);
// Code of ADDRESS-ERROR-CODE in the last answer and the family that it is about; 0 = it has none.
unsigned int dual_world_address_error(const struct dual_world *w, unsigned int *family);
// Refreshes the allocation of a family, 4 or 6, or of both (0). Returns the answer's code.
unsigned int dual_world_refresh(struct dual_world *w, int family, uint32_t lifetime_s);
// Asks for permissions of peers, NULL at the end. Returns the answer's code.
unsigned int dual_world_permit(struct dual_world *w, const char *const peers[]);
// Sends "media" to a peer by a Send indication.
const struct turn_plan *dual_world_send(struct dual_world *w, const char *peer, uint16_t port);
// Where the last plan has a datagram leave from, and go to.
struct endpoint dual_world_src(struct dual_world *w);
struct endpoint dual_world_dst(struct dual_world *w);
