// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/stream for TCP to peers (RFC 6062) (lib/features/meson.build). Private to
// lib/stream.
#pragma once

#include "features/tcp/orders.h"
#include "features/tcp/relay.h"
#include "features/tcp/splice.h"

#define TCP_COMMON(X) X(struct hub *, hub, relay_make, relay_end, relay_files, relay_changed)
#define TCP_THREAD(X) X(struct relay_part, relay)
#define TCP_ROUNDS(X) \
	X(relay_enter, relay_ask, relay_wait_ms, relay_retry, relay_tick, relay_review)
#define TCP_MESSAGES(X) X(STREAM_ORDER, orders_take)
#define TCP_WATCHES(X)             \
	X(WATCH_PORT, orders_port) \
	X(WATCH_PEER, orders_peer)
#define TCP_CONNS(X) X(struct splice *, splice, relay_is_bind, splice_work, splice_closed)
