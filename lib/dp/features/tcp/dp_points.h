// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/dp for TCP to peers (RFC 6062) (lib/features/meson.build).
#pragma once

#include "features/tcp/relay_tcp.h"

#define TCP_STREAMS(X) X(relay, relay_tcp_config)
#define TCP_REPLIES(X) X(TURN_PLAN_ORDER, relay_tcp_order)
#define TCP_UP(X)                                                                 \
	X(MBUF_META_ATTEMPT, struct stream_attempt, attempt, relay_tcp_attempted) \
	X(MBUF_META_UNOPENED, struct stream_alloc, unopened, relay_tcp_not_opened)
#define TCP_DOWN(X) X(MBUF_META_ORDER, STREAM_ORDER, RELAY_TCP_ADMITS)
