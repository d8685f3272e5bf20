// SPDX-License-Identifier: BSD-3-Clause
// A stream thread that does DTLS handshakes when the test calls it. One at a time.
#pragma once

#include "stream.h"

// Opens it with the workers, ops, ctx and dtls of a configuration. Its certificate is that of
// dtls_identities.
void dtls_thread_open(const struct stream_config *c);
// Forgets all handshakes, without notice to the workers.
void dtls_thread_close(void);
// Allows this number of sessions at the same time.
void dtls_thread_limit(uint32_t sessions);
// Handles a message of worker w, of any kind except STREAM_BYTES. The caller keeps the message.
void dtls_thread_take(unsigned int w, const struct stream_message *m);
// Handles the next waiting datagram. False if no more wait.
bool dtls_thread_work(void);
// Handles all of them, reports outcomes to the workers, and runs timers at this time.
void dtls_thread_round(uint64_t now_ms);
struct stream_stats dtls_thread_stats(void);
