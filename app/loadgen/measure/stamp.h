// SPDX-License-Identifier: BSD-3-Clause
// The stamp in every measured datagram: its sender, flow, number and sending time, and a check over
// these. The rest of the payload is a fixed pattern that the receiver compares, so that any
// changed, moved or missing byte shows. PURE.
//
//	0      4      8      12    14    15    16           24      28
//	| tag  | flow | seq  | len | dir |epoch| TSC ticks  | check | pattern ...
//
// All fields are big-endian. tag is random for every process, so datagrams from a reflector or an
// older run are never taken for our own. check is the CRC-32C of the 24 bytes before it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STAMP_LEN 28
#define STAMP_PAYLOAD_MAX 9216

struct stamp {
	uint32_t tag, flow, seq;
	uint16_t len; // of the whole payload in bytes, at least STAMP_LEN
	uint8_t dir; // enum direction the datagram was sent in
	uint8_t epoch; // low byte of the trial's number
	uint64_t ticks; // TSC when the stamp was made
};

// Fills the pattern. Call it once, before any other function here and before other threads start.
// The bytes are the same in every process.
void stamp_init(void);
// Returns the pattern, STAMP_PAYLOAD_MAX bytes. Byte i of a payload is byte i of the pattern, for
// i >= STAMP_LEN. Each byte differs from the 64 bytes before it, so every shift by up to 64 bytes
// changes every byte.
const uint8_t *stamp_pattern(void);
// Writes the 28 bytes; the caller puts the pattern after them. Returns their sum as big-endian
// 16-bit words (not folded), for the UDP checksum.
uint32_t stamp_write(uint8_t *payload, const struct stamp *s);

enum stamp_verdict {
	STAMP_OK,
	STAMP_CORRUPT, // check, length or pattern is wrong: *s may have any value
};

// Reads and verifies a payload of len bytes from any source. Anybody can make a valid stamp, so
// compare s->tag with our own, and check flow, dir and epoch before they index anything.
enum stamp_verdict stamp_read(const uint8_t *payload, size_t len, struct stamp *s);
