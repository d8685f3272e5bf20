// SPDX-License-Identifier: BSD-3-Clause
// Additions to stream.h for TCP to peers (RFC 6062) (lib/features/meson.build).
#pragma once

#include "stream_relay.h"

#define TCP_SETTINGS(X) X(struct stream_relay, relay)
// its data starts with a struct stream_order; conn is the client's connection
#define TCP_MESSAGE_KINDS(X) X(STREAM_ORDER)
