// SPDX-License-Identifier: BSD-3-Clause
// What the hardware or kernel behind a port does with a UDP super-frame, written independently of
// lib/port/segment.c: byte by byte, checksums in full. Aborts when the super-frame is not such as
// lib/port/segment.h says.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

typedef void cutter_out(void *arg, const uint8_t *frame, size_t len);

// Calls out with each datagram's frame in order; returns how many.
unsigned int cutter_cut(const struct rte_mbuf *m, cutter_out *out, void *arg);
