// SPDX-License-Identifier: BSD-3-Clause
// What a client of TLS has offered, and why its handshake has failed, for whoever looks for the
// reason. Private to lib/stream.
#pragma once

#include <stdbool.h>

#include <openssl/ssl.h>

#include "stream_refusals.h"

// Writes the versions, the names of ALPN and the server's name of a ClientHello: "1.0-1.2 alpn=h2
// sni=turn.example". Each part may be missing. A version is 1.0 or 3.0 (SSL) and so on, "?" where
// it is none that is known. Bytes that are no plain text stand as \xNN. What is too long ends in
// "...".
// For SSL_CTX_set_client_hello_cb; arg is not used. The SSL's app data is its struct conn.
int tls_offer_note(SSL *ssl, int *alert, void *arg);
// Why a handshake has failed, by the errors that libssl has left in this thread's queue, and by
// errno. left: the client has closed the connection.
enum stream_refusal tls_offer_why(bool left);
