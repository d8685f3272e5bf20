// SPDX-License-Identifier: BSD-3-Clause
// Writes the program instruction by instruction. It has no loops, and branches that are taken the
// same way for nearly all frames.
#include "steer/steer_program.h"

#include <stddef.h>

#include <arpa/inet.h>
#include <rte_debug.h>

#include "net.h"
#include "steer/steer_table.h"

// r0 is what was loaded last, r1 and r2 are for the moment.
enum {
	FRAME = 6, // its description, where loads expect it
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
	int32_t l3; // where the IP header begins
};

// Jumps to a place that is not there yet.
struct jumps {
	unsigned int n, at[JUMPS_MAX];
};

static void put(struct writer *w, uint8_t code, uint8_t dst, uint8_t src, int32_t imm)
{
	RTE_VERIFY(w->n < STEER_INSNS_MAX);
	w->out[w->n++] = (struct bpf_insn){
		.code = code, .dst_reg = dst & 15, .src_reg = src & 15, .imm = imm};
}

static void jump(struct writer *w, struct jumps *j, uint8_t condition, int32_t value)
{
	RTE_VERIFY(j->n < JUMPS_MAX);
	j->at[j->n++] = w->n;
	put(w, (uint8_t)(BPF_JMP | condition | BPF_K), 0, 0, value);
}

// They all go to what is written next.
static void land(struct writer *w, const struct jumps *j)
{
	for (unsigned int i = 0; i < j->n; i++)
		w->out[j->at[i]].off = (int16_t)(w->n - j->at[i] - 1);
}

// r0 = a field of the packet, in host byte order. Beyond its end the program ends with 0.
static void load(struct writer *w, uint8_t size, int32_t at)
{
	put(w, (uint8_t)(BPF_LD | BPF_ABS | size), 0, 0, w->l3 + at);
}

// The same behind a header whose length is in PORTS.
static void load_behind(struct writer *w, uint8_t size)
{
	put(w, (uint8_t)(BPF_LD | BPF_IND | size), 0, PORTS, w->l3);
}

// r = what the table has at a place.
static void look(struct writer *w, uint8_t size, uint8_t r, uint8_t base, int32_t at)
{
	put(w, (uint8_t)(BPF_LDX | BPF_MEM | size), r, base, 0);
	w->out[w->n - 1].off = (int16_t)at;
}

static void set(struct writer *w, uint8_t operation, uint8_t r, int32_t value)
{
	put(w, (uint8_t)(BPF_ALU64 | operation | BPF_K), r, 0, value);
}

static void move(struct writer *w, uint8_t operation, uint8_t r, uint8_t by)
{
	put(w, (uint8_t)(BPF_ALU64 | operation | BPF_X), r, by, 0);
}

// Adds to the hash what r0 is worth as word number `word` of the tuple.
static void hash_word(struct writer *w, unsigned int word)
{
	for (unsigned int i = 0; i < 8; i++) {
		move(w, BPF_MOV, 1, 0);
		set(w, BPF_RSH, 1, (int32_t)(28 - 4 * i));
		set(w, BPF_AND, 1, 15);
		set(w, BPF_LSH, 1, 2);
		move(w, BPF_ADD, 1, TABLE);
		look(w, BPF_W, 2, 1, TABLE_AT(sum[8 * word + i]));
		move(w, BPF_XOR, HASH, 2);
	}
}

static void hash_words(struct writer *w, unsigned int first, unsigned int n, int32_t at)
{
	for (unsigned int i = 0; i < n; i++) {
		load(w, BPF_W, at + (int32_t)(4 * i));
		hash_word(w, first + i);
	}
}

// Ends with the queue of a rule for the address at that place and the port, if there is one.
static void rule(struct writer *w, bool is_v4, unsigned int place)
{
	struct jumps none = {0};

	move(w, BPF_MOV, 1, PORTS);
	set(w, BPF_AND, 1, 0xffff);
	move(w, BPF_ADD, 1, TABLE);
	set(w, BPF_ADD, 1, TABLE_AT(port[is_v4][place]));
	look(w, BPF_B, 0, 1, 0);
	jump(w, &none, BPF_JEQ, 0);
	set(w, BPF_SUB, 0, 1);
	put(w, BPF_JMP | BPF_EXIT, 0, 0, 0);
	land(w, &none);
}

// Jumps when the word at that offset of the table is not r0's.
static void unless_equal(struct writer *w, struct jumps *j, int32_t at)
{
	look(w, BPF_W, 1, TABLE, at);
	jump(w, j, BPF_JNE, 0);
	w->out[w->n - 1].code = BPF_JMP | BPF_JNE | BPF_X;
	w->out[w->n - 1].src_reg = 1;
}

static void rules4(struct writer *w)
{
	load(w, BPF_W, DST4);
	for (unsigned int i = 0; i < STEER_ADDRS; i++) {
		struct jumps other = {0};

		unless_equal(w, &other, TABLE_AT(addr4[i]));
		rule(w, true, i);
		if (i < STEER_ADDRS - 1)
			load(w, BPF_W, DST4); // the look-up of a rule has changed r0
		land(w, &other);
	}
}

static void rules6(struct writer *w)
{
	load(w, BPF_W, DST6 + 12); // addresses of one network differ at their ends
	for (unsigned int i = 0; i < STEER_ADDRS; i++) {
		struct jumps end = {0}, other = {0};

		unless_equal(w, &end, TABLE_AT(addr6[i][3]));
		for (unsigned int k = 0; k < 3; k++) {
			load(w, BPF_W, DST6 + (int32_t)(4 * k));
			unless_equal(w, &other, TABLE_AT(addr6[i][k]));
		}
		rule(w, false, i);
		land(w, &other);
		if (i < STEER_ADDRS - 1)
			load(w, BPF_W, DST6 + 12);
		land(w, &end);
	}
}

// With the ports in r0: rules, for UDP, and their part of the hash.
static void ports(struct writer *w, bool is_v4, const struct jumps *is_tcp)
{
	struct jumps end = {0};

	move(w, BPF_MOV, PORTS, 0);
	if (is_v4)
		rules4(w);
	else
		rules6(w);
	move(w, BPF_MOV, 0, PORTS);
	jump(w, &end, BPF_JA, 0);
	land(w, is_tcp);
	if (is_v4)
		load_behind(w, BPF_W);
	else
		load(w, BPF_W, NET_IP6_LEN);
	land(w, &end);
	hash_word(w, is_v4 ? 2 : 8);
}

// Has what never reaches a packet port, and may be most of what comes in, end at once.
static void skip_tcp(struct writer *w, int32_t proto_at, struct jumps *other)
{
	load(w, BPF_B, proto_at);
	jump(w, other, BPF_JEQ, NET_PROTO_TCP);
}

static void ip4(struct writer *w, struct jumps *hashed)
{
	struct jumps tcp = {0};

	hash_words(w, 0, 2, NET_IP4_ADDRS_AT);
	load(w, BPF_H, NET_IP4_FRAGMENT_AT);
	jump(w, hashed, BPF_JSET, NET_IP4_FRAGMENTED);
	load(w, BPF_B, 0);
	move(w, BPF_MOV, PORTS, 0);
	set(w, BPF_AND, PORTS, 15);
	set(w, BPF_LSH, PORTS, 2);
	load(w, BPF_B, NET_IP4_PROTO_AT);
	jump(w, &tcp, BPF_JEQ, NET_PROTO_TCP);
	jump(w, hashed, BPF_JNE, NET_PROTO_UDP);
	load_behind(w, BPF_W);
	ports(w, true, &tcp);
}

static void ip6(struct writer *w, struct jumps *hashed)
{
	struct jumps tcp = {0};

	hash_words(w, 0, 8, NET_IP6_ADDRS_AT);
	load(w, BPF_B, NET_IP6_NEXT_AT);
	jump(w, &tcp, BPF_JEQ, NET_PROTO_TCP);
	jump(w, hashed, BPF_JNE, NET_PROTO_UDP);
	load(w, BPF_W, NET_IP6_LEN);
	ports(w, false, &tcp);
}

// Jumps where the kernel says that the packet is, or is not, of a protocol.
static void if_type(struct writer *w, struct jumps *j, uint8_t condition, uint16_t type)
{
	// a description has it in network byte order
	jump(w, j, condition, w->l3 == 0 ? htons(type) : type);
}

unsigned int steer_program_make(
	struct bpf_insn out[STEER_INSNS_MAX], int table, enum steer_begins begins)
{
	struct jumps is_v4 = {0}, other = {0}, hashed = {0};
	struct writer w = {.out = out, .l3 = begins == STEER_AT_IP ? 0 : NET_ETH_LEN};

	move(&w, BPF_MOV, FRAME, 1);
	put(&w, BPF_LD | BPF_IMM | BPF_DW, TABLE, BPF_PSEUDO_MAP_VALUE, table);
	put(&w, 0, 0, 0, 0); // its upper half: an offset
	set(&w, BPF_MOV, HASH, 0);
	if (begins == STEER_AT_IP)
		look(&w, BPF_W, 0, FRAME, offsetof(struct __sk_buff, protocol));
	else
		load(&w, BPF_H, NET_ETH_TYPE_AT - NET_ETH_LEN);
	if_type(&w, &is_v4, BPF_JEQ, NET_ETHERTYPE_IP4);
	if_type(&w, &other, BPF_JNE, NET_ETHERTYPE_IP6);
	if (begins == STEER_AT_IP)
		skip_tcp(&w, NET_IP6_NEXT_AT, &other);
	ip6(&w, &hashed);
	jump(&w, &hashed, BPF_JA, 0);
	land(&w, &is_v4);
	if (begins == STEER_AT_IP)
		skip_tcp(&w, NET_IP4_PROTO_AT, &other);
	ip4(&w, &hashed);
	land(&w, &hashed);
	set(&w, BPF_AND, HASH, STEER_RETA - 1);
	move(&w, BPF_ADD, HASH, TABLE);
	look(&w, BPF_B, 0, HASH, TABLE_AT(reta));
	put(&w, BPF_JMP | BPF_EXIT, 0, 0, 0);
	land(&w, &other);
	set(&w, BPF_MOV, 0, 0);
	put(&w, BPF_JMP | BPF_EXIT, 0, 0, 0);
	return w.n;
}
