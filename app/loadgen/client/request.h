// SPDX-License-Identifier: BSD-3-Clause
// One request of a client, from its first transmission to its end. Only the files of client/
// include it.
#pragma once

#include "client/client.h"

// Begins a request of client i and arms its timer. A Refresh has lifetime 0 when cl->deleting.
// Returns the length to send, or 0 when the request cannot be made; then no request is under way.
size_t request_begin(
	struct clients *p, uint32_t i, enum stun_method method, uint64_t now_ms, uint8_t *out);
// Repeats the request after a challenge, as a new transaction. Returns the length to send.
size_t request_renew(struct clients *p, uint32_t i, uint64_t now_ms, uint8_t *out);
// Transmits the request again. Returns the length, or 0 after the last transmission.
size_t request_again(struct clients *p, uint32_t i, uint64_t now_ms, uint8_t *out);
// True if m answers the request under way.
bool request_matches(const struct client *cl, const struct stun_msg *m);
// Ends the request, answered or given up: no request is under way and no timer runs.
void request_end(struct clients *p, uint32_t i);
// Arms the timer of client i for when_ms.
void request_timer(struct clients *p, uint32_t i, uint64_t when_ms);
