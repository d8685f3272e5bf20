// SPDX-License-Identifier: BSD-3-Clause
// RSS of an ethdev. Private to lib/port.
#pragma once

#include <stdint.h>

struct ethdev;

// Chooses key and hash types from those that the driver supports. e->rss_hf stays 0 if the NIC has
// no RSS. key: see port_config.rss_key.
void port_rss_plan(struct ethdev *e, const uint8_t *key);
// After the start: fills the redirection table round-robin, then reads key and table back. Sets
// port.rss and port.rss_udp only if the NIC really uses them.
void port_rss_apply(struct ethdev *e);
