// SPDX-License-Identifier: BSD-3-Clause
// stream_change.c: what of a configuration stream threads take up while they run.
#pragma once

struct stream_config;
struct streams;

// Takes the limits by source and network, idle_s, handshake_s, rate, burst and nap_us of c, and the
// DSCP of its listeners, which are those of stream_start in their order. Connections keep the DSCP
// that they have; all else holds for them, too. One thread at a time, which may be any.
void stream_change(struct streams *s, const struct stream_config *c);
