// SPDX-License-Identifier: BSD-3-Clause
// Writes the program instruction by instruction. It has no loops, and most branches take the same
// direction for nearly all frames.
#include "steer/steer_program.h"

#include <stddef.h>

#include <arpa/inet.h>
#include <rte_debug.h>

#include "net.h"
#include "steer/steer_table.h"

// r0 has the last loaded value, r1 and r2 are temporary.
enum {
	FRAME = 6, // the frame's struct __sk_buff, where loads expect it
	HASH = 7,
	TABLE = 8,
	PORTS = 9,
};

#define TABLE_AT(field) ((int32_t)offsetof(struct steer_table, field))
#define DST4 (NET_IP4_ADDRS_AT + 4)
#define DST6 (NET_IP6_ADDRS_AT + 16)
#define JUMPS_MAX 64

struct writer {
	struct bpf_insn *out;
	unsigned int n;
	int32_t l3; // offset of the IP header
};

// Jumps to a position that is not written yet.
struct jumps {
	unsigned int n, pos[JUMPS_MAX];
};

static void put_insn(struct writer *w, uint8_t code, uint8_t dst, uint8_t src, int32_t imm)
{
	RTE_VERIFY(w->n < STEER_INSNS_MAX);
	w->out[w->n++] = (struct bpf_insn){
		.code = code, .dst_reg = dst & 15, .src_reg = src & 15, .imm = imm};
}

static void put_jump(struct writer *w, struct jumps *j, uint8_t condition, int32_t value)
{
	RTE_VERIFY(j->n < JUMPS_MAX);
	j->pos[j->n++] = w->n;
	put_insn(w, (uint8_t)(BPF_JMP | condition | BPF_K), 0, 0, value);
}

// Sets the target of all these jumps to the next instruction.
static void land_jumps(struct writer *w, const struct jumps *j)
{
	for (unsigned int i = 0; i < j->n; i++)
		w->out[j->pos[i]].off = (int16_t)(w->n - j->pos[i] - 1);
}

// r0 = a field of the packet, in host byte order. Beyond its end the program ends with 0.
static void load_field(struct writer *w, uint8_t size, int32_t offset)
{
	put_insn(w, (uint8_t)(BPF_LD | BPF_ABS | size), 0, 0, w->l3 + offset);
}

// r0 = a field after a header whose length is in PORTS.
static void load_behind(struct writer *w, uint8_t size)
{
	put_insn(w, (uint8_t)(BPF_LD | BPF_IND | size), 0, PORTS, w->l3);
}

// r = the table's value at an offset.
static void load_mem(struct writer *w, uint8_t size, uint8_t r, uint8_t base, int32_t offset)
{
	put_insn(w, (uint8_t)(BPF_LDX | BPF_MEM | size), r, base, 0);
	w->out[w->n - 1].off = (int16_t)offset;
}

static void put_alu(struct writer *w, uint8_t operation, uint8_t r, int32_t value)
{
	put_insn(w, (uint8_t)(BPF_ALU64 | operation | BPF_K), r, 0, value);
}

static void put_alu_reg(struct writer *w, uint8_t operation, uint8_t r, uint8_t src)
{
	put_insn(w, (uint8_t)(BPF_ALU64 | operation | BPF_X), r, src, 0);
}

// Adds the contribution of r0 as word number `word` of the tuple to the hash.
static void hash_word(struct writer *w, unsigned int word)
{
	for (unsigned int i = 0; i < 8; i++) {
		put_alu_reg(w, BPF_MOV, 1, 0);
		put_alu(w, BPF_RSH, 1, (int32_t)(28 - 4 * i));
		put_alu(w, BPF_AND, 1, 15);
		put_alu(w, BPF_LSH, 1, 2);
		put_alu_reg(w, BPF_ADD, 1, TABLE);
		load_mem(w, BPF_W, 2, 1, TABLE_AT(sum[8 * word + i]));
		put_alu_reg(w, BPF_XOR, HASH, 2);
	}
}

static void hash_words(struct writer *w, unsigned int first, unsigned int n, int32_t offset)
{
	for (unsigned int i = 0; i < n; i++) {
		load_field(w, BPF_W, offset + (int32_t)(4 * i));
		hash_word(w, first + i);
	}
}

// Ends the program with the queue of a rule for the address at that place and the port, if any.
static void match_rule(struct writer *w, bool is_v4, unsigned int place)
{
	struct jumps none = {0};

	put_alu_reg(w, BPF_MOV, 1, PORTS);
	put_alu(w, BPF_AND, 1, 0xffff);
	put_alu_reg(w, BPF_ADD, 1, TABLE);
	put_alu(w, BPF_ADD, 1, TABLE_AT(port[is_v4][place]));
	load_mem(w, BPF_B, 0, 1, 0);
	put_jump(w, &none, BPF_JEQ, 0);
	put_alu(w, BPF_SUB, 0, 1);
	put_insn(w, BPF_JMP | BPF_EXIT, 0, 0, 0);
	land_jumps(w, &none);
}

// Jumps if the word at that offset of the table differs from r0.
static void unless_equal(struct writer *w, struct jumps *j, int32_t offset)
{
	load_mem(w, BPF_W, 1, TABLE, offset);
	put_jump(w, j, BPF_JNE, 0);
	w->out[w->n - 1].code = BPF_JMP | BPF_JNE | BPF_X;
	w->out[w->n - 1].src_reg = 1;
}

static void match_rules4(struct writer *w)
{
	load_field(w, BPF_W, DST4);
	for (unsigned int i = 0; i < STEER_ADDRS; i++) {
		struct jumps mismatch = {0};

		unless_equal(w, &mismatch, TABLE_AT(addr4[i]));
		match_rule(w, true, i);
		if (i < STEER_ADDRS - 1)
			load_field(w, BPF_W, DST4); // the rule look-up has changed r0
		land_jumps(w, &mismatch);
	}
}

static void match_rules6(struct writer *w)
{
	load_field(w, BPF_W, DST6 + 12); // addresses of one network differ in their last word
	for (unsigned int i = 0; i < STEER_ADDRS; i++) {
		struct jumps end = {0}, mismatch = {0};

		unless_equal(w, &end, TABLE_AT(addr6[i][3]));
		for (unsigned int k = 0; k < 3; k++) {
			load_field(w, BPF_W, DST6 + (int32_t)(4 * k));
			unless_equal(w, &mismatch, TABLE_AT(addr6[i][k]));
		}
		match_rule(w, false, i);
		land_jumps(w, &mismatch);
		if (i < STEER_ADDRS - 1)
			load_field(w, BPF_W, DST6 + 12);
		land_jumps(w, &end);
	}
}

// With the ports in r0: checks the rules, for UDP, and adds the ports to the hash.
static void match_ports(struct writer *w, bool is_v4, const struct jumps *is_tcp)
{
	struct jumps end = {0};

	put_alu_reg(w, BPF_MOV, PORTS, 0);
	if (is_v4)
		match_rules4(w);
	else
		match_rules6(w);
	put_alu_reg(w, BPF_MOV, 0, PORTS);
	put_jump(w, &end, BPF_JA, 0);
	land_jumps(w, is_tcp);
	if (is_v4)
		load_behind(w, BPF_W);
	else
		load_field(w, BPF_W, NET_IP6_LEN);
	land_jumps(w, &end);
	hash_word(w, is_v4 ? 2 : 8);
}

// Ends at once for TCP, which a packet port never takes, and which may be most of the traffic.
static void skip_tcp(struct writer *w, int32_t proto_at, struct jumps *unmatched)
{
	load_field(w, BPF_B, proto_at);
	put_jump(w, unmatched, BPF_JEQ, NET_PROTO_TCP);
}

static void hash_ip4(struct writer *w, struct jumps *hashed)
{
	struct jumps tcp = {0};

	hash_words(w, 0, 2, NET_IP4_ADDRS_AT);
	load_field(w, BPF_H, NET_IP4_FRAGMENT_AT);
	put_jump(w, hashed, BPF_JSET, NET_IP4_FRAGMENTED);
	load_field(w, BPF_B, 0);
	put_alu_reg(w, BPF_MOV, PORTS, 0);
	put_alu(w, BPF_AND, PORTS, 15);
	put_alu(w, BPF_LSH, PORTS, 2);
	load_field(w, BPF_B, NET_IP4_PROTO_AT);
	put_jump(w, &tcp, BPF_JEQ, NET_PROTO_TCP);
	put_jump(w, hashed, BPF_JNE, NET_PROTO_UDP);
	load_behind(w, BPF_W);
	match_ports(w, true, &tcp);
}

static void hash_ip6(struct writer *w, struct jumps *hashed)
{
	struct jumps tcp = {0};

	hash_words(w, 0, 8, NET_IP6_ADDRS_AT);
	load_field(w, BPF_B, NET_IP6_NEXT_AT);
	put_jump(w, &tcp, BPF_JEQ, NET_PROTO_TCP);
	put_jump(w, hashed, BPF_JNE, NET_PROTO_UDP);
	load_field(w, BPF_W, NET_IP6_LEN);
	match_ports(w, false, &tcp);
}

// Jumps if the kernel says that the packet has, or does not have, a protocol.
static void if_type(struct writer *w, struct jumps *j, uint8_t condition, uint16_t type)
{
	// struct __sk_buff has it in network byte order
	put_jump(w, j, condition, w->l3 == 0 ? htons(type) : type);
}

unsigned int steer_program_make(
	struct bpf_insn out[STEER_INSNS_MAX], int table, enum steer_begins begins)
{
	struct jumps is_v4 = {0}, unmatched = {0}, hashed = {0};
	struct writer w = {.out = out, .l3 = begins == STEER_AT_IP ? 0 : NET_ETH_LEN};

	put_alu_reg(&w, BPF_MOV, FRAME, 1);
	put_insn(&w, BPF_LD | BPF_IMM | BPF_DW, TABLE, BPF_PSEUDO_MAP_VALUE, table);
	put_insn(&w, 0, 0, 0, 0); // upper half of the instruction: an offset
	put_alu(&w, BPF_MOV, HASH, 0);
	if (begins == STEER_AT_IP)
		load_mem(&w, BPF_W, 0, FRAME, offsetof(struct __sk_buff, protocol));
	else
		load_field(&w, BPF_H, NET_ETH_TYPE_AT - NET_ETH_LEN);
	if_type(&w, &is_v4, BPF_JEQ, NET_ETHERTYPE_IP4);
	if_type(&w, &unmatched, BPF_JNE, NET_ETHERTYPE_IP6);
	if (begins == STEER_AT_IP)
		skip_tcp(&w, NET_IP6_NEXT_AT, &unmatched);
	hash_ip6(&w, &hashed);
	put_jump(&w, &hashed, BPF_JA, 0);
	land_jumps(&w, &is_v4);
	if (begins == STEER_AT_IP)
		skip_tcp(&w, NET_IP4_PROTO_AT, &unmatched);
	hash_ip4(&w, &hashed);
	land_jumps(&w, &hashed);
	put_alu(&w, BPF_AND, HASH, STEER_RETA - 1);
	put_alu_reg(&w, BPF_ADD, HASH, TABLE);
	load_mem(&w, BPF_B, 0, HASH, TABLE_AT(reta));
	put_insn(&w, BPF_JMP | BPF_EXIT, 0, 0, 0);
	land_jumps(&w, &unmatched);
	put_alu(&w, BPF_MOV, 0, 0);
	put_insn(&w, BPF_JMP | BPF_EXIT, 0, 0, 0);
	return w.n;
}
