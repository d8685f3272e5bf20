// SPDX-License-Identifier: BSD-3-Clause
// Metadata of a frame to or from the kernel, in the private area of its mbuf.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum exception_class { EXC_TCP, EXC_UDP, EXC_ICMP, EXC_ARP, EXC_ND, EXC_CLASSES };

struct exception_note {
	uint8_t class; // enum exception_class
	bool is_super;
	uint16_t verdict; // from the kernel: DP_OK = send it, EXC_ANSWERED, or a drop reason
	uint32_t frames, bytes; // frames and bytes that the frame has on the wire
};
#define EXC_ANSWERED (UINT16_MAX) // the data path has already answered the request in it
