// SPDX-License-Identifier: BSD-3-Clause
// Applies changes of the configuration to running stream threads.
#pragma once

#include <stddef.h>

struct stream_config;
struct stream_renewal; // certificates, read and ready for use
struct streams;

// Applies the limits by source and network, trusted, idle_s, handshake_s, handshakes and nap_us of
// c, and the DSCP and balancers of its listeners, which are those of stream_start in the same
// order. Open connections keep their DSCP, their client and their trusted state; everything else
// applies to them, too. Peers over TCP are checked again with ops.may_be_peer, and clients
// by stream_review_clients: both must follow the new rules already. Any thread, one at a time.
void stream_change(struct streams *s, const struct stream_config *c);
// Closes the connections of clients that ops.refuses now refuses, within a second. Any thread.
void stream_review_clients(struct streams *s);

// Moves listeners whose address in c is new. The listeners of c are those of stream_start in the
// same order. Connections continue while the kernel has their local address. Returns -1 with the
// reason in error (len bytes) if a listener keeps its old address. Needs the same privileges for
// binding ports as the start. Call it in the namespace of the process, one thread at a time.
int stream_move(struct streams *s, const struct stream_config *c, char *error, size_t len);

// Reads the TLS files that c names for its listeners, which are those of stream_start. Returns NULL
// with a reason in error (len bytes) on failure. Any thread.
struct stream_renewal *stream_renewal_load(const struct stream_config *c, char *error, size_t len);
void stream_renewal_free(struct stream_renewal *r); // NULL is fine
// Uses them for new connections and sessions; takes ownership of r. Cannot fail. One thread at a
// time.
void stream_renew(struct streams *s, struct stream_renewal *r);
