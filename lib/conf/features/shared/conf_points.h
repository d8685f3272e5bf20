// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/conf for shared relay ports (lib/features/meson.build).
#pragma once

#include "schema/schema.h"

struct conf_ctx;

extern const struct conf_choice conf_shared_choices[];

// If relay ports are shared: sets what the file leaves out, and checks that there are enough ports
// for all workers, and not too many. Returns 0 or -EINVAL.
int conf_shared_fill(struct conf_ctx *x);

#define SHARED_FILLS(X) X(conf_shared_fill)
#define SHARED_HOT_KEYS(X) X("relay.peer-share") X("relay.peers-per-allocation")
#define SHARED_HOT_FIELDS(X) X(shared.peers) X(shared.peer_share)
// clang-format off
#define SHARED_RELAY_ROWS(X) \
X({"relay.mode", CONF_CHOICE, ONE(conf, turn.shared.enabled), .choices = conf_shared_choices, \
	.def = "unique", \
	.help = "`unique`: every allocation has its own relayed transport address, as RFC 8656 " \
	"requires. `shared`: all allocations share the few ports of `relay.ports`, for firewalls " \
	"that open no more. These are 3480-3487 by default, and at most 4096 on all addresses " \
	"together. Each belongs to one worker, and every worker needs one of each family. The " \
	"peer's address and port tell allocations apart, so peers must send from the exact port " \
	"to which the client has bound a channel or sent data. EVEN-PORT and RESERVATION-TOKEN " \
	"get 508. On one shared address only one client can use a given peer address and port: a " \
	"ChannelBind of another client gets 508, and its Sends are dropped. New allocations go " \
	"where there are fewest such peers: N shared addresses of a worker carry N clients of " \
	"one conference server. Here `limits.allocations` is 100000 by default and cannot be 0, " \
	"and `limits.per-user` is a quarter of it by default."}) \
X({"relay.peers-per-allocation", CONF_NUMBER, ONE(conf, turn.shared.peers), RANGE(1, 65535), \
	.def = "256", \
	.help = "With shared ports: addresses and ports of peers that an allocation can " \
	"register, by a channel or by sending to them. A registration lasts as long as the " \
	"permission for the address, or the channel."})
// Percent of shared addresses on which a user may have one peer. If unset: 50, or 100 for the only
// user. Then the number of peers on shared relay ports. If unset: two for each allocation.
#define SHARED_CONSTANT_ROWS(X) \
X({TESTS "relay.peer-share", CONF_NUMBER, ONE(conf, turn.shared.peer_share), RANGE(1, 100)}) \
X({TESTS "limits.pool.peers", CONF_NUMBER, ONE(conf, turn.pools.endpoints), RANGE(1, 268435456)})
// clang-format on
