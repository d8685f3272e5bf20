// SPDX-License-Identifier: BSD-3-Clause
// Sends the measured datagrams in modes that measure media. Sender's lane.
#pragma once

#include <stdint.h>

struct lane;

// Begins a trial: sequence numbers start again, and the flows that are ready now take part.
void media_begin(struct lane *l);
// Makes n datagrams and puts them into the outbox or on their connections.
void media_send(struct lane *l, uint32_t n);
