// SPDX-License-Identifier: BSD-3-Clause
// The protocols that a server of TLS or DTLS takes (ALPN, RFC 7301). Private to lib/stream.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ssl_ctx_st; // libssl's SSL_CTX
struct stream_tls;

// Has a context choose among the names of tls, of which it keeps a copy. A client that offers names
// and none of these is refused (RFC 7301 3.2), one that offers nothing is not. Without names what
// clients offer is not looked at. False without memory, or when a name is empty or longer than 255
// bytes.
bool alpn_use(struct ssl_ctx_st *c, const struct stream_tls *tls);
