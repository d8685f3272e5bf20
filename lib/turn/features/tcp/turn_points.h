// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/turn for TCP to peers (RFC 6062) (lib/features/meson.build).
#pragma once

#include "features/tcp/tcp.h"
#include "features/tcp/tcp_table.h"
#include "features/tcp/tcp_usage.h"

#define TCP_IS_ORDERED(r) ((r)->ordered)
#define TCP_NOTHING(...) ((void)0)

#define TCP_REQUEST(X) X(bool, ordered)
#define TCP_METHODS(X)                                   \
	X(STUN_CONNECT, true, tcp_is_on, method_connect) \
	X(STUN_CONNECTION_BIND, false, tcp_is_on, method_connection_bind)
#define TCP_TRANSPORTS(X) X(IPPROTO_TCP, tcp_is_on, tcp_may_ask, tcp_allocate)
#define TCP_REFRESHED(X) X(tcp_refreshed)
#define TCP_ANSWERS(X) X(TCP_IS_ORDERED, tcp_answer)
#define TCP_PARTS(X) \
	X(struct tcp_table, tcp, tcp_table_size, tcp_table_init, TCP_NOTHING, TCP_NOTHING)
#define TCP_TICKS(X) X(tcp_usage_tick)
#define TCP_KINDS(X) X(ALLOC_TCP, tcp_table_begin, tcp_table_made, tcp_table_close, tcp_table_end)
#define TCP_SHOWN(X) X(tcp_usage_show, tcp_table_show)
