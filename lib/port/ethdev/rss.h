// SPDX-License-Identifier: BSD-3-Clause
// How an ethdev spreads packets over its queues. Private to lib/port.
#pragma once

struct ethdev;

// Chooses key and hash types from what the driver offers. e->rss_hf stays 0 when the NIC cannot
// spread.
void port_rss_plan(struct ethdev *e);
// After the start: fills the redirection table round-robin, then reads key and table back. Sets
// port.rss and port.rss_udp only when they are what the NIC really does.
void port_rss_apply(struct ethdev *e);
