// SPDX-License-Identifier: BSD-3-Clause
// Writes the instructions of a BPF program. All its jumps go forward. PURE. Private to lib/port.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <linux/bpf.h>

#define INSN_MAX 32000 // longer programs have jumps that the instructions cannot encode

// A program that is being written.
struct insns {
	struct bpf_insn *insn; // room for `room` of them, at most INSN_MAX; owned by the caller
	uint32_t nb, room;
	bool failed; // the room was too small: the program is of no use
};

// The jumps to one target; {0} = no jumps yet.
struct insn_jumps {
	int16_t last; // 1 + index of the last jump; the offset of each jump links the one before
};

void insn_put(struct insns *p, struct bpf_insn i);
// An unconditional jump.
void insn_jump(struct insns *p, struct insn_jumps *jumps);
// Jumps if a comparison (BPF_JEQ, ...) of a 32-bit register with a value holds.
void insn_jump_if(
	struct insns *p, uint8_t how, uint8_t reg, uint32_t value, struct insn_jumps *jumps);
// Jumps if two 32-bit registers differ.
void insn_jump_unless_same(struct insns *p, uint8_t reg, uint8_t second, struct insn_jumps *jumps);
// Makes the next instruction the target of all these jumps.
void insn_land(struct insns *p, const struct insn_jumps *jumps);
// An operation (BPF_ADD, ...) of a 64-bit register and a value.
void insn_alu(struct insns *p, uint8_t how, uint8_t reg, int32_t value);
// An operation of two 64-bit registers; the first one gets the result.
void insn_alu_reg(struct insns *p, uint8_t how, uint8_t reg, uint8_t second);
// reg = the value (BPF_B, ...) in memory at base + offset.
void insn_load(struct insns *p, uint8_t size, uint8_t reg, uint8_t base, int32_t offset);
// r0 = bytes of the frame at base + offset, in host byte order. The frame is in r6.
void insn_load_frame(struct insns *p, uint8_t size, uint8_t base, int32_t offset);
// reg = the address of a map's memory (bpf_sys_share).
void insn_load_map(struct insns *p, uint8_t reg, int map);
// Ends the program with the value in r0.
void insn_exit(struct insns *p);
