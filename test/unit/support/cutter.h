// SPDX-License-Identifier: BSD-3-Clause
// Cuts a UDP super-frame as the hardware or kernel behind a port does. It is written independently
// of lib/port/super.c: byte by byte, with checksums computed in full. Aborts if the super-frame
// breaks a promise of lib/port/super.h.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

typedef void cutter_out(void *arg, const uint8_t *frame, size_t len);

// Calls out with the frame of each datagram, in order. Returns the number of datagrams.
unsigned int cutter_cut(const struct rte_mbuf *m, cutter_out *out, void *arg);
