// SPDX-License-Identifier: BSD-3-Clause
// What senders send in modes that measure media.
#pragma once

#include <stdint.h>

struct lane;

// A trial begins: numbers start anew, and the flows that are ready take part.
void media_begin(struct lane *l);
// Makes n datagrams.
void media_send(struct lane *l, uint32_t n);
