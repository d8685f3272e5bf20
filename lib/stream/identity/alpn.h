// SPDX-License-Identifier: BSD-3-Clause
// Selection of the application protocol of TLS and DTLS (ALPN, RFC 7301). Private to lib/stream.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ssl_ctx_st; // libssl's SSL_CTX
struct stream_tls;

// Lets a context choose among the names of tls, which it copies. Refuses a client that offers names
// but none of these (RFC 7301 3.2); accepts one without ALPN. If tls has no names, offers of
// clients are ignored. False without memory, or if a name is empty or longer than 255 bytes.
bool alpn_use(struct ssl_ctx_st *c, const struct stream_tls *tls);
