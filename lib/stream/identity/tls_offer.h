// SPDX-License-Identifier: BSD-3-Clause
// Describes the offer of a TLS client, and the reason why its handshake failed, for operators.
// Private to lib/stream.
#pragma once

#include <stdbool.h>

#include <openssl/ssl.h>

#include "stream_refusals.h"

// Writes the versions, the ALPN names and the server name of a ClientHello: "1.0-1.2 alpn=h2
// sni=turn.example". Each part may be missing. A version is 1.0 or 3.0 (SSL) and so on, "?" if it
// is unknown. Bytes that are not printable are written as \xNN. A text that is too long ends in
// "...". For SSL_CTX_set_client_hello_cb; arg is not used. The SSL's app data is its struct conn.
int tls_offer_note(SSL *ssl, int *alert, void *arg);
// Returns the reason why a handshake failed, by libssl's errors in this thread's queue, and by
// errno. left: the client has closed the connection.
enum stream_refusal tls_offer_why(bool left);
