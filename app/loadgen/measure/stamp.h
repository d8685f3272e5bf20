// SPDX-License-Identifier: BSD-3-Clause
// What every measured datagram carries: whose it is, which, and when it was sent, with a check over
// it; the rest of the payload is a fixed pattern that is compared on arrival, so that any changed,
// moved or missing byte shows. PURE.
//
//	0      4      8      12    14    15    16           24      28
//	| tag  | flow | seq  | len | dir |epoch| TSC ticks  | check | pattern ...
//
// All big-endian. tag is random for every process, so that a reflector's or an older run's
// datagrams are never taken for one's own. check is the CRC-32C of the 24 bytes before it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STAMP_LEN 28
#define STAMP_PAYLOAD_MAX 9216

struct stamp {
	uint32_t tag, flow, seq;
	uint16_t len; // of the whole payload, STAMP_LEN at least
	uint8_t dir; // enum direction of the sender
	uint8_t epoch; // of the trial
	uint64_t ticks; // TSC when it was made
};

// Fills the pattern once, before any other call and before other threads use it. Same bytes in
// every process.
void stamp_init(void);
// The pattern: STAMP_PAYLOAD_MAX bytes; byte i of a payload is byte i of the pattern for
// i >= STAMP_LEN. No byte occurs twice within 64, so every shift by up to 64 bytes changes every
// byte.
const uint8_t *stamp_pattern(void);
// Writes the 28 bytes; the caller has put the pattern behind them. Returns their sum as big-endian
// 16-bit words (not folded): for the UDP checksum.
uint32_t stamp_write(uint8_t *payload, const struct stamp *s);

enum stamp_verdict {
	STAMP_OK,
	STAMP_CORRUPT, // check, length or pattern wrong: *s may hold anything
};

// Reads and verifies a payload of len bytes, whoever's it is: anybody can make a valid one, so
// compare s->tag with one's own, and check flow, dir and epoch before they index anything.
enum stamp_verdict stamp_read(const uint8_t *payload, size_t len, struct stamp *s);
