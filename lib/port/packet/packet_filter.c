// SPDX-License-Identifier: BSD-3-Clause
// Makes the programs as eBPF instructions. Both receivers have the same code, except for packets
// other than UDP and the return values. Addresses are found by a binary search over their last
// words, written as jumps. Addresses that may move are compared first, with memory.
//
// Headers are copied to the program's stack by one call and read there. Fields after IPv4 options
// or extension headers are loaded one by one, and each load may be a call: it is for a frame that
// the kernel keeps in several buffers.
//
// Registers: r6 the frame, where loads expect it; r7 last word of the destination; r8 destination
// port; r9 offset of the current header. Loads change r0 to r5. A load beyond the frame ends the
// program with 0: the socket refuses such a frame, and the kernel gets it.
#include "packet/packet_filter.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <linux/bpf.h>

#include "bytes.h"
#include "net.h"
#include "packet/packet_moving.h"
#include "port.h"

#ifndef BPF_JMP32 // Linux 5.1
#define BPF_JMP32 0x06
#endif

#define TCX_NEXT (-1)
#define TCX_DROP 2
#define TAKE_ALL (-1) // bytes of the frame for the socket

#define L3 NET_ETH_LEN
#define HEAD4 (L3 + NET_IP4_LEN + NET_UDP_LEN) // bytes to copy
#define HEAD6 (L3 + NET_IP6_LEN + NET_UDP_LEN)
#define HEAD_AT (-66) // offset on the stack, where words of addresses are aligned
#define EXTENSIONS 4 // IPv6 extension headers before UDP that are skipped
#define VLAN_ID 0x0fff
#define IP4_OFFSET 0x1fff // fragment offset
#define IP6_OFFSET 0xfff8

enum label {
	OURS,
	THEIRS,
	IP4,
	IP6,
	UDP4,
	UDP6,
	FIND4,
	FIND6,
	LATER,
	ICMP4,
	ICMP6,
	BEHIND,
	LABELS
};

struct writer {
	enum packet_filter_for whom;
	struct bpf_insn *insn;
	uint8_t *target; // by instruction: 1 + the label that it jumps to, else 0
	uint32_t nb, room;
	uint32_t label[LABELS];
	int moving; // descriptor of a struct packet_moving
	bool failed;
};

// --- instructions --------------------------------------------------------------------------------

static void put_insn(struct writer *w, struct bpf_insn i)
{
	if (w->nb == w->room)
		w->failed = true;
	else
		w->insn[w->nb++] = i;
}

static void set_label(struct writer *w, enum label l)
{
	w->label[l] = w->nb;
}

// Jumps to a label if the comparison of a register with a value holds.
static void jump_if(struct writer *w, uint8_t how, uint8_t reg, uint32_t value, enum label l)
{
	if (w->nb < w->room)
		w->target[w->nb] = (uint8_t)(l + 1);
	put_insn(w,
		(struct bpf_insn){.code = (uint8_t)(BPF_JMP32 | BPF_K | how),
			.dst_reg = reg,
			.imm = (int32_t)value});
}

static void put_jump(struct writer *w, enum label l)
{
	if (w->nb < w->room)
		w->target[w->nb] = (uint8_t)(l + 1);
	put_insn(w, (struct bpf_insn){.code = BPF_JMP | BPF_JA});
}

// Jumps if the comparison of a register with a value holds; land_jump() sets the target later.
static uint32_t skip_if(struct writer *w, uint8_t how, uint8_t reg, uint32_t value)
{
	put_insn(w,
		(struct bpf_insn){.code = (uint8_t)(BPF_JMP32 | BPF_K | how),
			.dst_reg = reg,
			.imm = (int32_t)value});
	return w->nb - 1;
}

// Jumps if two registers differ; land_jump() sets the target later.
static uint32_t skip_unless_same(struct writer *w, uint8_t reg, uint8_t second)
{
	put_insn(w,
		(struct bpf_insn){
			.code = BPF_JMP32 | BPF_X | BPF_JNE, .dst_reg = reg, .src_reg = second});
	return w->nb - 1;
}

static void land_jump(struct writer *w, uint32_t origin)
{
	const uint32_t far = w->nb - origin - 1;

	if (far > INT16_MAX)
		w->failed = true;
	else if (!w->failed)
		w->insn[origin].off = (int16_t)far;
}

// r0 = bytes of the frame at r9 + offset, in host byte order.
static void load_behind(struct writer *w, uint8_t size, int32_t offset)
{
	put_insn(w,
		(struct bpf_insn){
			.code = (uint8_t)(BPF_LD | BPF_IND | size), .src_reg = 9, .imm = offset});
}

static void put_alu(struct writer *w, uint8_t how, uint8_t reg, int32_t value)
{
	put_insn(w,
		(struct bpf_insn){
			.code = (uint8_t)(BPF_ALU64 | BPF_K | how), .dst_reg = reg, .imm = value});
}

static void put_move(struct writer *w, uint8_t dst, uint8_t src)
{
	put_insn(w,
		(struct bpf_insn){
			.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = dst, .src_reg = src});
}

static void load_field(struct writer *w, size_t offset) // r0 = a field of __sk_buff
{
	put_insn(w,
		(struct bpf_insn){
			.code = BPF_LDX | BPF_MEM | BPF_W, .src_reg = 6, .off = (int16_t)offset});
}

// Copies the first `bytes` bytes of the frame to the stack.
static void copy_head(struct writer *w, int32_t bytes)
{
	put_move(w, 1, 6);
	put_alu(w, BPF_MOV, 2, 0);
	put_move(w, 3, 10);
	put_alu(w, BPF_ADD, 3, HEAD_AT);
	put_alu(w, BPF_MOV, 4, bytes);
	put_insn(w, (struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_skb_load_bytes});
	jump_if(w, BPF_JNE, 0, 0, THEIRS);
}

// Copies the frame up to the end of a UDP header over IPv4. The last fragment of a datagram may be
// shorter: then the ports are zero.
static void copy_head4(struct writer *w)
{
	uint32_t whole, done;

	put_insn(w,
		(struct bpf_insn){.code = BPF_ST | BPF_MEM | BPF_DW,
			.dst_reg = 10,
			.off = HEAD_AT + L3 + NET_IP4_LEN});
	load_field(w, offsetof(struct __sk_buff, len));
	jump_if(w, BPF_JLT, 0, L3 + NET_IP4_LEN, THEIRS);
	whole = skip_if(w, BPF_JGE, 0, HEAD4);
	copy_head(w, L3 + NET_IP4_LEN);
	done = w->nb;
	put_insn(w, (struct bpf_insn){.code = BPF_JMP | BPF_JA});
	land_jump(w, whole);
	copy_head(w, HEAD4);
	land_jump(w, done);
}

// r0 = bytes of the copied headers, in host byte order.
static void load_head(struct writer *w, uint8_t size, int32_t offset)
{
	put_insn(w,
		(struct bpf_insn){.code = (uint8_t)(BPF_LDX | BPF_MEM | size),
			.src_reg = 10,
			.off = (int16_t)(HEAD_AT + offset)});
	if (size != BPF_B)
		put_insn(w,
			(struct bpf_insn){.code = BPF_ALU | BPF_END | BPF_TO_BE,
				.imm = size == BPF_H ? 16 : 32});
}

static void end_with(struct writer *w, int32_t value)
{
	put_alu(w, BPF_MOV, 0, value);
	put_insn(w, (struct bpf_insn){.code = BPF_JMP | BPF_EXIT});
}

// --- addresses and ports -------------------------------------------------------------------------

static uint32_t addr_word(const struct port_own *o, unsigned int i)
{
	return load_be32(o->addr.b + 4 * i);
}

// r1 = pointer to the addresses that may move.
static void load_moving(struct writer *w)
{
	put_insn(w,
		(struct bpf_insn){.code = BPF_LD | BPF_DW | BPF_IMM,
			.dst_reg = 1,
			.src_reg = BPF_PSEUDO_MAP_VALUE,
			.imm = w->moving});
	put_insn(w, (struct bpf_insn){0});
}

// Compares a register with a word of an address, or with the word in memory if the address may
// move.
static uint32_t skip_other(
	struct writer *w, uint8_t reg, const struct port_own *owned, unsigned int i)
{
	if (!owned->moves)
		return skip_if(w, BPF_JNE, reg, addr_word(owned, i));
	put_insn(w,
		(struct bpf_insn){.code = BPF_LDX | BPF_MEM | BPF_W,
			.dst_reg = 2,
			.src_reg = 1,
			.off = (int16_t)packet_moving_at(addr_is_v4(&owned->addr), i)});
	return skip_unless_same(w, reg, 2);
}

// Compares the single address of owned[0, nb), and its ports.
static void put_address(struct writer *w, const struct port_own *owned, uint32_t nb)
{
	uint32_t skips[4], nb_other = 0;

	if (owned->moves)
		load_moving(w);
	skips[nb_other++] = skip_other(w, 7, owned, 3);
	for (unsigned int i = 0; i < 3 && !addr_is_v4(&owned->addr); i++) {
		load_head(w, BPF_W, L3 + NET_IP6_ADDRS_AT + 16 + 4 * (int32_t)i);
		skips[nb_other++] = skip_other(w, 0, owned, i);
	}
	for (uint32_t i = 0; i < nb; i++) {
		const uint32_t below = skip_if(w, BPF_JLT, 8, owned[i].lo);

		jump_if(w, BPF_JLE, 8, owned[i].hi, OURS);
		land_jump(w, below);
	}
	put_jump(w, THEIRS);
	for (uint32_t i = 0; i < nb_other; i++)
		land_jump(w, skips[i]);
}

// Returns the number of rows with the address of the first row.
static uint32_t same_address(const struct port_own *owned, uint32_t nb)
{
	uint32_t n = 1;

	while (n < nb && addr_eq(&owned[n].addr, &owned[0].addr))
		n++;
	return n;
}

// Returns the start of the upper half of owned[0, nb), with rows of equal last words together; 0 if
// it cannot be split.
static uint32_t find_half(const struct port_own *owned, uint32_t nb)
{
	uint32_t middle = nb / 2;

	while (middle > 0 && addr_word(&owned[middle - 1], 3) == addr_word(&owned[middle], 3))
		middle--;
	return middle;
}

// Writes the search of one family. The recursion is no deeper than the number of rows, because each
// part is shorter than the whole.
static void put_search(struct writer *w, const struct port_own *owned, uint32_t nb)
{
	const uint32_t middle = nb > 1 ? find_half(owned, nb) : 0;
	uint32_t upper, n;

	if (w->failed)
		return;
	if (middle > 0) {
		upper = skip_if(w, BPF_JGE, 7, addr_word(&owned[middle], 3));
		put_search(w, owned, middle);
		land_jump(w, upper);
		put_search(w, owned + middle, nb - middle);
		return;
	}
	for (; nb > 0; owned += n, nb -= n) {
		n = same_address(owned, nb);
		put_address(w, owned, n);
	}
	put_jump(w, THEIRS);
}

// Writes one family: first the address that may move, which has the first rows.
static void put_family(struct writer *w, const struct port_own *owned, uint32_t nb)
{
	uint32_t n = 0;

	while (n < nb && owned[n].moves)
		n++;
	if (n > 0)
		put_address(w, owned, n);
	put_search(w, owned + n, nb - n);
}

static int compare_owned(const void *a, const void *b)
{
	const struct port_own *l = a, *r = b;
	const bool l4 = addr_is_v4(&l->addr), r4 = addr_is_v4(&r->addr);

	if (l4 != r4)
		return l4 ? -1 : 1;
	if (l->moves != r->moves)
		return l->moves ? -1 : 1;
	for (unsigned int i = 4; i-- > 0;)
		if (addr_word(l, i) != addr_word(r, i))
			return addr_word(l, i) < addr_word(r, i) ? -1 : 1;
	return l->lo != r->lo ? (l->lo < r->lo ? -1 : 1) : (l->hi > r->hi) - (l->hi < r->hi);
}

void packet_filter_sort(struct port_own *owned, uint32_t nb)
{
	qsort(owned, nb, sizeof(*owned), compare_owned);
}

// --- headers -------------------------------------------------------------------------------------

static bool for_socket(const struct writer *w)
{
	return w->whom == PACKET_FILTER_SOCKET;
}

static void put_ethernet(struct writer *w)
{
	uint32_t untagged;

	put_move(w, 6, 1);
	load_field(w, offsetof(struct __sk_buff, vlan_present));
	untagged = skip_if(w, BPF_JEQ, 0, 0);
	// a tagged frame belongs to another interface; id 0 is only a priority tag
	load_field(w, offsetof(struct __sk_buff, vlan_tci));
	put_alu(w, BPF_AND, 0, VLAN_ID);
	jump_if(w, BPF_JNE, 0, 0, THEIRS);
	land_jump(w, untagged);
	copy_head4(w);
	load_head(w, BPF_H, NET_ETH_TYPE_AT);
	jump_if(w, BPF_JEQ, 0, NET_ETHERTYPE_IP4, IP4);
	jump_if(w, BPF_JEQ, 0, NET_ETHERTYPE_IP6, IP6);
	if (for_socket(w))
		jump_if(w, BPF_JEQ, 0, NET_ETHERTYPE_ARP, OURS);
	put_jump(w, THEIRS);
}

static void put_ip4(struct writer *w)
{
	uint32_t no_options;

	set_label(w, IP4);
	load_head(w, BPF_B, L3);
	put_alu(w, BPF_AND, 0, 0xf);
	put_alu(w, BPF_LSH, 0, 2);
	put_alu(w, BPF_ADD, 0, L3);
	put_move(w, 9, 0);
	load_head(w, BPF_W, L3 + NET_IP4_ADDRS_AT + 4);
	put_move(w, 7, 0);
	load_head(w, BPF_B, L3 + NET_IP4_PROTO_AT);
	jump_if(w, BPF_JEQ, 0, NET_PROTO_UDP, UDP4);
	if (for_socket(w))
		jump_if(w, BPF_JEQ, 0, NET_PROTO_ICMP, ICMP4);
	put_jump(w, THEIRS);

	set_label(w, UDP4);
	load_head(w, BPF_H, L3 + NET_IP4_FRAGMENT_AT);
	put_alu(w, BPF_AND, 0, IP4_OFFSET);
	jump_if(w, BPF_JNE, 0, 0, LATER);
	load_head(w, BPF_H, L3 + NET_IP4_LEN + 2);
	no_options = skip_if(w, BPF_JEQ, 9, L3 + NET_IP4_LEN);
	load_behind(w, BPF_H, 2);
	land_jump(w, no_options);
	put_move(w, 8, 0);
	put_jump(w, FIND4);
}

// Skips an extension header, if it is one: r8 = the next header, r9 = its offset.
static void put_extension(struct writer *w)
{
	const uint32_t matches[] = {skip_if(w, BPF_JEQ, 8, NET_PROTO_HOP_BY_HOP),
		skip_if(w, BPF_JEQ, 8, NET_PROTO_ROUTING),
		skip_if(w, BPF_JEQ, 8, NET_PROTO_DESTINATION)};

	put_jump(w, BEHIND);
	for (unsigned int i = 0; i < sizeof(matches) / sizeof(matches[0]); i++)
		land_jump(w, matches[i]);
	load_behind(w, BPF_B, 0);
	put_move(w, 8, 0);
	load_behind(w, BPF_B, 1);
	put_alu(w, BPF_ADD, 0, 1);
	put_alu(w, BPF_LSH, 0, 3);
	put_insn(w, (struct bpf_insn){.code = BPF_ALU64 | BPF_ADD | BPF_X, .dst_reg = 9});
}

static void put_ip6(struct writer *w)
{
	uint32_t whole, no_extension;

	set_label(w, IP6);
	load_field(w, offsetof(struct __sk_buff, len));
	jump_if(w, BPF_JLT, 0, HEAD6, THEIRS);
	copy_head(w, HEAD6);
	load_head(w, BPF_B, L3 + NET_IP6_NEXT_AT);
	put_move(w, 8, 0);
	put_alu(w, BPF_MOV, 9, L3 + NET_IP6_LEN);
	for (unsigned int i = 0; i < EXTENSIONS; i++)
		put_extension(w);
	set_label(w, BEHIND);
	whole = skip_if(w, BPF_JNE, 8, NET_PROTO_FRAGMENT);
	load_behind(w, BPF_B, 0);
	put_move(w, 8, 0);
	jump_if(w, BPF_JNE, 8, NET_PROTO_UDP, THEIRS);
	load_behind(w, BPF_H, 2);
	put_alu(w, BPF_AND, 0, IP6_OFFSET);
	jump_if(w, BPF_JNE, 0, 0, LATER);
	put_alu(w, BPF_ADD, 9, 8);
	land_jump(w, whole);
	jump_if(w, BPF_JEQ, 8, NET_PROTO_UDP, UDP6);
	if (for_socket(w))
		jump_if(w, BPF_JEQ, 8, NET_PROTO_ICMP6, ICMP6);
	put_jump(w, THEIRS);

	set_label(w, UDP6);
	load_head(w, BPF_H, L3 + NET_IP6_LEN + 2);
	no_extension = skip_if(w, BPF_JEQ, 9, L3 + NET_IP6_LEN);
	load_behind(w, BPF_H, 2);
	land_jump(w, no_extension);
	put_move(w, 8, 0);
	load_head(w, BPF_W, L3 + NET_IP6_ADDRS_AT + 28);
	put_move(w, 7, 0);
	put_jump(w, FIND6);
}

// Packets for the socket only: errors about UDP, and neighbour discovery.
static void put_icmp(struct writer *w)
{
	if (!for_socket(w))
		return;
	set_label(w, ICMP4);
	load_behind(w, BPF_B, 0);
	for (unsigned int i = 0; i < 3; i++) {
		static const uint8_t errors[] = {3, 11, 12};
		const uint32_t no = skip_if(w, BPF_JNE, 0, errors[i]);

		load_behind(w, BPF_B, 8 + NET_IP4_PROTO_AT);
		jump_if(w, BPF_JEQ, 0, NET_PROTO_UDP, OURS);
		put_jump(w, THEIRS);
		land_jump(w, no);
	}
	put_jump(w, THEIRS);

	set_label(w, ICMP6);
	load_behind(w, BPF_B, 0);
	jump_if(w, BPF_JEQ, 0, 135, OURS);
	jump_if(w, BPF_JEQ, 0, 136, OURS);
	jump_if(w, BPF_JGT, 0, 4, THEIRS);
	load_behind(w, BPF_B, 8 + NET_IP6_NEXT_AT);
	jump_if(w, BPF_JEQ, 0, NET_PROTO_UDP, OURS);
	jump_if(w, BPF_JEQ, 0, NET_PROTO_FRAGMENT, OURS);
	put_jump(w, THEIRS);
}

static void put_ends(struct writer *w)
{
	set_label(w, LATER);
	put_jump(w, for_socket(w) ? OURS : THEIRS);
	set_label(w, OURS);
	end_with(w, for_socket(w) ? TAKE_ALL : TCX_DROP);
	set_label(w, THEIRS);
	end_with(w, for_socket(w) ? 0 : TCX_NEXT);
}

// --- the whole -----------------------------------------------------------------------------------

static void put_all(struct writer *w, const struct port_own *owned, uint32_t nb)
{
	uint32_t v4 = 0;

	if (nb == 0 && !for_socket(w)) { // the kernel refuses programs with unreachable code
		end_with(w, TCX_NEXT);
		return;
	}
	while (v4 < nb && addr_is_v4(&owned[v4].addr))
		v4++;
	put_ethernet(w);
	put_ip4(w);
	put_ip6(w);
	put_icmp(w);
	set_label(w, FIND4);
	put_family(w, owned, v4);
	set_label(w, FIND6);
	put_family(w, owned + v4, nb - v4);
	put_ends(w);
	for (uint32_t i = 0; i < w->nb && !w->failed; i++) {
		if (w->target[i] != 0 && w->label[w->target[i] - 1] - i - 1 > INT16_MAX)
			w->failed = true;
		else if (w->target[i] != 0)
			w->insn[i].off = (int16_t)(w->label[w->target[i] - 1] - i - 1);
	}
}

struct bpf_insn *packet_filter_make(const struct packet_filter *f, uint32_t *nb)
{
	struct writer w = {.whom = f->whom, .room = PACKET_FILTER_CODE_MAX, .moving = f->moving};

	w.insn = calloc(w.room, sizeof(*w.insn));
	w.target = calloc(w.room, sizeof(*w.target));
	if (w.insn != NULL && w.target != NULL)
		put_all(&w, f->owned, f->nb_own);
	else
		errno = ENOMEM;
	if (w.failed)
		errno = E2BIG;
	if (w.failed || w.target == NULL) {
		free(w.insn);
		w.insn = NULL;
	}
	free(w.target);
	*nb = w.nb;
	return w.insn;
}
