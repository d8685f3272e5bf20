// SPDX-License-Identifier: BSD-3-Clause
// Writes the program instruction by instruction. It has no loops, and most branches take the same
// direction for nearly all frames.
#include "steer/steer_program.h"

#include <stddef.h>

#include <arpa/inet.h>
#include <rte_debug.h>

#include "bpf/insn.h"
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

struct writer {
	struct insns p;
	int32_t l3; // offset of the IP header
};

// r0 = a field of the packet, in host byte order. Beyond its end the program ends with 0.
static void load_field(struct writer *w, uint8_t size, int32_t offset)
{
	insn_put(&w->p,
		(struct bpf_insn){
			.code = (uint8_t)(BPF_LD | BPF_ABS | size), .imm = w->l3 + offset});
}

// Adds the contribution of r0 as word number `word` of the tuple to the hash.
static void hash_word(struct writer *w, unsigned int word)
{
	for (unsigned int i = 0; i < 8; i++) {
		insn_alu_reg(&w->p, BPF_MOV, 1, 0);
		insn_alu(&w->p, BPF_RSH, 1, (int32_t)(28 - 4 * i));
		insn_alu(&w->p, BPF_AND, 1, 15);
		insn_alu(&w->p, BPF_LSH, 1, 2);
		insn_alu_reg(&w->p, BPF_ADD, 1, TABLE);
		insn_load(&w->p, BPF_W, 2, 1, TABLE_AT(sum[8 * word + i]));
		insn_alu_reg(&w->p, BPF_XOR, HASH, 2);
	}
}

static void hash_words(struct writer *w, unsigned int first, unsigned int n, int32_t offset)
{
	for (unsigned int i = 0; i < n; i++) {
		load_field(w, BPF_W, offset + (int32_t)(4 * i));
		hash_word(w, first + i);
	}
}

// Ends the program with the queue of a rule for the address at that index and the port, if any.
static void match_rule(struct writer *w, bool is_v4, unsigned int index)
{
	struct insn_jumps none = {0};

	insn_alu_reg(&w->p, BPF_MOV, 1, PORTS);
	insn_alu(&w->p, BPF_AND, 1, 0xffff);
	insn_alu_reg(&w->p, BPF_ADD, 1, TABLE);
	insn_alu(&w->p, BPF_ADD, 1, TABLE_AT(port[is_v4][index]));
	insn_load(&w->p, BPF_B, 0, 1, 0);
	insn_jump_if(&w->p, BPF_JEQ, 0, 0, &none);
	insn_alu(&w->p, BPF_SUB, 0, 1);
	insn_exit(&w->p);
	insn_land(&w->p, &none);
}

// Jumps if the word at that offset of the table differs from r0.
static void unless_equal(struct writer *w, struct insn_jumps *j, int32_t offset)
{
	insn_load(&w->p, BPF_W, 1, TABLE, offset);
	insn_jump_unless_same(&w->p, 0, 1, j);
}

static void match_rules4(struct writer *w)
{
	load_field(w, BPF_W, DST4);
	for (unsigned int i = 0; i < STEER_ADDRS; i++) {
		struct insn_jumps mismatch = {0};

		unless_equal(w, &mismatch, TABLE_AT(addr4[i]));
		match_rule(w, true, i);
		if (i < STEER_ADDRS - 1)
			load_field(w, BPF_W, DST4); // the rule look-up has changed r0
		insn_land(&w->p, &mismatch);
	}
}

static void match_rules6(struct writer *w)
{
	load_field(w, BPF_W, DST6 + 12); // addresses of one network differ in their last word
	for (unsigned int i = 0; i < STEER_ADDRS; i++) {
		struct insn_jumps end = {0}, mismatch = {0};

		unless_equal(w, &end, TABLE_AT(addr6[i][3]));
		for (unsigned int k = 0; k < 3; k++) {
			load_field(w, BPF_W, DST6 + (int32_t)(4 * k));
			unless_equal(w, &mismatch, TABLE_AT(addr6[i][k]));
		}
		match_rule(w, false, i);
		insn_land(&w->p, &mismatch);
		if (i < STEER_ADDRS - 1)
			load_field(w, BPF_W, DST6 + 12);
		insn_land(&w->p, &end);
	}
}

// r0 holds the ports. Checks the rules if the packet is UDP, and adds the ports to the hash.
static void match_ports(struct writer *w, bool is_v4, const struct insn_jumps *is_tcp)
{
	struct insn_jumps end = {0};

	insn_alu_reg(&w->p, BPF_MOV, PORTS, 0);
	if (is_v4)
		match_rules4(w);
	else
		match_rules6(w);
	insn_alu_reg(&w->p, BPF_MOV, 0, PORTS);
	insn_jump(&w->p, &end);
	insn_land(&w->p, is_tcp);
	if (is_v4)
		insn_load_frame(&w->p, BPF_W, PORTS, w->l3);
	else
		load_field(w, BPF_W, NET_IP6_LEN);
	insn_land(&w->p, &end);
	hash_word(w, is_v4 ? 2 : 8);
}

// Ends the program at once for TCP: a packet port never takes TCP, which may be most of the
// traffic.
static void skip_tcp(struct writer *w, int32_t proto_at, struct insn_jumps *unmatched)
{
	load_field(w, BPF_B, proto_at);
	insn_jump_if(&w->p, BPF_JEQ, 0, NET_PROTO_TCP, unmatched);
}

static void hash_ip4(struct writer *w, struct insn_jumps *hashed)
{
	struct insn_jumps tcp = {0};

	hash_words(w, 0, 2, NET_IP4_ADDRS_AT);
	load_field(w, BPF_H, NET_IP4_FRAGMENT_AT);
	insn_jump_if(&w->p, BPF_JSET, 0, NET_IP4_FRAGMENTED, hashed);
	load_field(w, BPF_B, 0);
	insn_alu_reg(&w->p, BPF_MOV, PORTS, 0);
	insn_alu(&w->p, BPF_AND, PORTS, 15);
	insn_alu(&w->p, BPF_LSH, PORTS, 2);
	load_field(w, BPF_B, NET_IP4_PROTO_AT);
	insn_jump_if(&w->p, BPF_JEQ, 0, NET_PROTO_TCP, &tcp);
	insn_jump_if(&w->p, BPF_JNE, 0, NET_PROTO_UDP, hashed);
	insn_load_frame(&w->p, BPF_W, PORTS, w->l3);
	match_ports(w, true, &tcp);
}

static void hash_ip6(struct writer *w, struct insn_jumps *hashed)
{
	struct insn_jumps tcp = {0};

	hash_words(w, 0, 8, NET_IP6_ADDRS_AT);
	load_field(w, BPF_B, NET_IP6_NEXT_AT);
	insn_jump_if(&w->p, BPF_JEQ, 0, NET_PROTO_TCP, &tcp);
	insn_jump_if(&w->p, BPF_JNE, 0, NET_PROTO_UDP, hashed);
	load_field(w, BPF_W, NET_IP6_LEN);
	match_ports(w, false, &tcp);
}

// Jumps if the kernel says that the packet has, or does not have, a protocol.
static void if_type(struct writer *w, struct insn_jumps *j, uint8_t condition, uint16_t type)
{
	// struct __sk_buff has it in network byte order
	insn_jump_if(&w->p, condition, 0, w->l3 == 0 ? htons(type) : type, j);
}

unsigned int steer_program_make(
	struct bpf_insn out[STEER_INSNS_MAX], int table, enum steer_begins begins)
{
	struct insn_jumps is_v4 = {0}, unmatched = {0}, hashed = {0};
	struct writer w = {.p = {.insn = out, .room = STEER_INSNS_MAX},
		.l3 = begins == STEER_AT_IP ? 0 : NET_ETH_LEN};

	insn_alu_reg(&w.p, BPF_MOV, FRAME, 1);
	insn_load_map(&w.p, TABLE, table);
	insn_alu(&w.p, BPF_MOV, HASH, 0);
	if (begins == STEER_AT_IP)
		insn_load(&w.p, BPF_W, 0, FRAME, offsetof(struct __sk_buff, protocol));
	else
		load_field(&w, BPF_H, NET_ETH_TYPE_AT - NET_ETH_LEN);
	if_type(&w, &is_v4, BPF_JEQ, NET_ETHERTYPE_IP4);
	if_type(&w, &unmatched, BPF_JNE, NET_ETHERTYPE_IP6);
	if (begins == STEER_AT_IP)
		skip_tcp(&w, NET_IP6_NEXT_AT, &unmatched);
	hash_ip6(&w, &hashed);
	insn_jump(&w.p, &hashed);
	insn_land(&w.p, &is_v4);
	if (begins == STEER_AT_IP)
		skip_tcp(&w, NET_IP4_PROTO_AT, &unmatched);
	hash_ip4(&w, &hashed);
	insn_land(&w.p, &hashed);
	insn_alu(&w.p, BPF_AND, HASH, STEER_RETA - 1);
	insn_alu_reg(&w.p, BPF_ADD, HASH, TABLE);
	insn_load(&w.p, BPF_B, 0, HASH, TABLE_AT(reta));
	insn_exit(&w.p);
	insn_land(&w.p, &unmatched);
	insn_alu(&w.p, BPF_MOV, 0, 0);
	insn_exit(&w.p);
	RTE_VERIFY(!w.p.failed);
	return w.p.nb;
}
