// SPDX-License-Identifier: BSD-3-Clause
// stream_change.c: what of a configuration stream threads take up while they run.
#pragma once

#include <stddef.h>

struct stream_config;
struct stream_renewal; // certificates, read and ready for use
struct streams;

// Takes the limits by source and network, trusted, idle_s, handshake_s, rate, burst and nap_us of
// c, and the DSCP and the balancers of its listeners, which are those of stream_start in their
// order. Connections keep the DSCP that they have, their client, and whether they are trusted; all
// else holds for them, too. Peers over TCP are judged anew by ops.may_be_peer, which follows the
// new rules by now. One thread at a time, which may be any.
void stream_change(struct streams *s, const struct stream_config *c);

// Listens at the addresses of c, whose listeners are those of stream_start in their order, where
// these are others. Connections go on as long as the kernel has theirs. -1 with the reason in error
// (len bytes): some listener stays where it was. Takes what binding the ports takes, as the start
// does. In the namespace of the process; one thread at a time.
int stream_move(struct streams *s, const struct stream_config *c, char *error, size_t len);

// Reads the TLS files that c names for its listeners, which are those of stream_start. NULL with a
// reason in error (len bytes). Any thread.
struct stream_renewal *stream_renewal_load(const struct stream_config *c, char *error, size_t len);
void stream_renewal_free(struct stream_renewal *r); // NULL is fine
// Uses them for connections and sessions from now on; takes r. It cannot fail. One thread at a
// time.
void stream_renew(struct streams *s, struct stream_renewal *r);
