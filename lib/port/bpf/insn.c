// SPDX-License-Identifier: BSD-3-Clause
// Until insn_land() sets its target, the offset of a jump links it to the jump before it.
#include "bpf/insn.h"

#ifndef BPF_JMP32 // Linux 5.1
#define BPF_JMP32 0x06
#endif

void insn_put(struct insns *p, struct bpf_insn i)
{
	if (p->nb == p->room)
		p->failed = true;
	else
		p->insn[p->nb++] = i;
}

static void put_jump(struct insns *p, struct bpf_insn i, struct insn_jumps *jumps)
{
	i.off = jumps->last;
	insn_put(p, i);
	jumps->last = (int16_t)p->nb;
}

void insn_jump(struct insns *p, struct insn_jumps *jumps)
{
	put_jump(p, (struct bpf_insn){.code = BPF_JMP | BPF_JA}, jumps);
}

void insn_jump_if(
	struct insns *p, uint8_t how, uint8_t reg, uint32_t value, struct insn_jumps *jumps)
{
	const struct bpf_insn i = {
		.code = (uint8_t)(BPF_JMP32 | BPF_K | how), .dst_reg = reg, .imm = (int32_t)value};

	put_jump(p, i, jumps);
}

void insn_jump_unless_same(struct insns *p, uint8_t reg, uint8_t second, struct insn_jumps *jumps)
{
	const struct bpf_insn i = {
		.code = BPF_JMP32 | BPF_X | BPF_JNE, .dst_reg = reg, .src_reg = second};

	put_jump(p, i, jumps);
}

void insn_land(struct insns *p, const struct insn_jumps *jumps)
{
	int16_t before;

	for (int16_t place = jumps->last; place != 0 && !p->failed; place = before) {
		before = p->insn[place - 1].off;
		p->insn[place - 1].off = (int16_t)((int32_t)p->nb - place);
	}
}

void insn_alu(struct insns *p, uint8_t how, uint8_t reg, int32_t value)
{
	insn_put(p,
		(struct bpf_insn){
			.code = (uint8_t)(BPF_ALU64 | BPF_K | how), .dst_reg = reg, .imm = value});
}

void insn_alu_reg(struct insns *p, uint8_t how, uint8_t reg, uint8_t second)
{
	insn_put(p,
		(struct bpf_insn){.code = (uint8_t)(BPF_ALU64 | BPF_X | how),
			.dst_reg = reg,
			.src_reg = second});
}

void insn_load(struct insns *p, uint8_t size, uint8_t reg, uint8_t base, int32_t offset)
{
	insn_put(p,
		(struct bpf_insn){.code = (uint8_t)(BPF_LDX | BPF_MEM | size),
			.dst_reg = reg,
			.src_reg = base,
			.off = (int16_t)offset});
}

void insn_load_frame(struct insns *p, uint8_t size, uint8_t base, int32_t offset)
{
	insn_put(p,
		(struct bpf_insn){.code = (uint8_t)(BPF_LD | BPF_IND | size),
			.src_reg = base,
			.imm = offset});
}

void insn_load_map(struct insns *p, uint8_t reg, int map)
{
	insn_put(p,
		(struct bpf_insn){.code = BPF_LD | BPF_DW | BPF_IMM,
			.dst_reg = reg,
			.src_reg = BPF_PSEUDO_MAP_VALUE,
			.imm = map});
	insn_put(p, (struct bpf_insn){0}); // upper half of the 64-bit value: an offset
}

void insn_exit(struct insns *p)
{
	insn_put(p, (struct bpf_insn){.code = BPF_JMP | BPF_EXIT});
}
