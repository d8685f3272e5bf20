// SPDX-License-Identifier: BSD-3-Clause
// How an ethdev spreads packets over its queues. Private to lib/port.
#pragma once

#include <stdint.h>

struct ethdev;

// Chooses key and hash types from what the driver offers. e->rss_hf stays 0 when the NIC cannot
// spread. key: as port_config.rss_key.
void port_rss_plan(struct ethdev *e, const uint8_t *key);
// After the start: fills the redirection table round-robin, then reads key and table back. Sets
// port.rss and port.rss_udp only when they are what the NIC really does.
void port_rss_apply(struct ethdev *e);
