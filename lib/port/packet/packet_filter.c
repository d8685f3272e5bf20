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

#include "bpf/insn.h"
#include "bytes.h"
#include "net.h"
#include "packet/packet_moving.h"
#include "port.h"

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

struct writer {
	struct insns p;
	enum packet_filter_for whom;
	int moving; // descriptor of a struct packet_moving
	struct insn_jumps ours, theirs; // to the ends
	struct insn_jumps ip4, ip6, udp4, udp6, find4, find6, later, icmp4, icmp6, behind;
};

// --- instructions --------------------------------------------------------------------------------

static void load_field(struct writer *w, size_t offset) // r0 = a field of __sk_buff
{
	insn_load(&w->p, BPF_W, 0, 6, (int32_t)offset);
}

// Copies the first `bytes` bytes of the frame to the stack.
static void copy_head(struct writer *w, int32_t bytes)
{
	insn_alu_reg(&w->p, BPF_MOV, 1, 6);
	insn_alu(&w->p, BPF_MOV, 2, 0);
	insn_alu_reg(&w->p, BPF_MOV, 3, 10);
	insn_alu(&w->p, BPF_ADD, 3, HEAD_AT);
	insn_alu(&w->p, BPF_MOV, 4, bytes);
	insn_put(&w->p,
		(struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_skb_load_bytes});
	insn_jump_if(&w->p, BPF_JNE, 0, 0, &w->theirs);
}

// Copies the frame up to the end of a UDP header over IPv4. The last fragment of a datagram may be
// shorter: then the ports are zero.
static void copy_head4(struct writer *w)
{
	struct insn_jumps whole = {0}, done = {0};

	insn_put(&w->p,
		(struct bpf_insn){.code = BPF_ST | BPF_MEM | BPF_DW,
			.dst_reg = 10,
			.off = HEAD_AT + L3 + NET_IP4_LEN});
	load_field(w, offsetof(struct __sk_buff, len));
	insn_jump_if(&w->p, BPF_JLT, 0, L3 + NET_IP4_LEN, &w->theirs);
	insn_jump_if(&w->p, BPF_JGE, 0, HEAD4, &whole);
	copy_head(w, L3 + NET_IP4_LEN);
	insn_jump(&w->p, &done);
	insn_land(&w->p, &whole);
	copy_head(w, HEAD4);
	insn_land(&w->p, &done);
}

// r0 = bytes of the copied headers, in host byte order.
static void load_head(struct writer *w, uint8_t size, int32_t offset)
{
	insn_load(&w->p, size, 0, 10, HEAD_AT + offset);
	if (size != BPF_B)
		insn_put(&w->p,
			(struct bpf_insn){.code = BPF_ALU | BPF_END | BPF_TO_BE,
				.imm = size == BPF_H ? 16 : 32});
}

static void end_with(struct writer *w, int32_t value)
{
	insn_alu(&w->p, BPF_MOV, 0, value);
	insn_exit(&w->p);
}

// --- addresses and ports -------------------------------------------------------------------------

static uint32_t addr_word(const struct port_own *o, unsigned int i)
{
	return load_be32(o->addr.b + 4 * i);
}

// Jumps if a register is not a word of an address, or the word in memory if the address may move.
static void jump_unless_word(struct writer *w, uint8_t reg, const struct port_own *owned,
	unsigned int i, struct insn_jumps *jumps)
{
	if (owned->moves) {
		insn_load(
			&w->p, BPF_W, 2, 1, (int32_t)packet_moving_at(addr_is_v4(&owned->addr), i));
		insn_jump_unless_same(&w->p, reg, 2, jumps);
	} else {
		insn_jump_if(&w->p, BPF_JNE, reg, addr_word(owned, i), jumps);
	}
}

// Compares the single address of owned[0, nb), and its ports.
static void put_address(struct writer *w, const struct port_own *owned, uint32_t nb)
{
	struct insn_jumps mismatch = {0};

	if (owned->moves)
		insn_load_map(&w->p, 1, w->moving); // addresses that may move
	jump_unless_word(w, 7, owned, 3, &mismatch);
	for (unsigned int i = 0; i < 3 && !addr_is_v4(&owned->addr); i++) {
		load_head(w, BPF_W, L3 + NET_IP6_ADDRS_AT + 16 + 4 * (int32_t)i);
		jump_unless_word(w, 0, owned, i, &mismatch);
	}
	for (uint32_t i = 0; i < nb; i++) {
		struct insn_jumps below = {0};

		insn_jump_if(&w->p, BPF_JLT, 8, owned[i].lo, &below);
		insn_jump_if(&w->p, BPF_JLE, 8, owned[i].hi, &w->ours);
		insn_land(&w->p, &below);
	}
	insn_jump(&w->p, &w->theirs);
	insn_land(&w->p, &mismatch);
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
	struct insn_jumps upper = {0};
	uint32_t n;

	if (w->p.failed)
		return;
	if (middle > 0) {
		insn_jump_if(&w->p, BPF_JGE, 7, addr_word(&owned[middle], 3), &upper);
		put_search(w, owned, middle);
		insn_land(&w->p, &upper);
		put_search(w, owned + middle, nb - middle);
		return;
	}
	for (; nb > 0; owned += n, nb -= n) {
		n = same_address(owned, nb);
		put_address(w, owned, n);
	}
	insn_jump(&w->p, &w->theirs);
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
	struct insn_jumps untagged = {0};

	insn_alu_reg(&w->p, BPF_MOV, 6, 1);
	load_field(w, offsetof(struct __sk_buff, vlan_present));
	insn_jump_if(&w->p, BPF_JEQ, 0, 0, &untagged);
	// a tagged frame belongs to another interface; id 0 is only a priority tag
	load_field(w, offsetof(struct __sk_buff, vlan_tci));
	insn_alu(&w->p, BPF_AND, 0, VLAN_ID);
	insn_jump_if(&w->p, BPF_JNE, 0, 0, &w->theirs);
	insn_land(&w->p, &untagged);
	copy_head4(w);
	load_head(w, BPF_H, NET_ETH_TYPE_AT);
	insn_jump_if(&w->p, BPF_JEQ, 0, NET_ETHERTYPE_IP4, &w->ip4);
	insn_jump_if(&w->p, BPF_JEQ, 0, NET_ETHERTYPE_IP6, &w->ip6);
	if (for_socket(w))
		insn_jump_if(&w->p, BPF_JEQ, 0, NET_ETHERTYPE_ARP, &w->ours);
	insn_jump(&w->p, &w->theirs);
}

static void put_ip4(struct writer *w)
{
	struct insn_jumps no_options = {0};

	insn_land(&w->p, &w->ip4);
	load_head(w, BPF_B, L3);
	insn_alu(&w->p, BPF_AND, 0, 0xf);
	insn_alu(&w->p, BPF_LSH, 0, 2);
	insn_alu(&w->p, BPF_ADD, 0, L3);
	insn_alu_reg(&w->p, BPF_MOV, 9, 0);
	load_head(w, BPF_W, L3 + NET_IP4_ADDRS_AT + 4);
	insn_alu_reg(&w->p, BPF_MOV, 7, 0);
	load_head(w, BPF_B, L3 + NET_IP4_PROTO_AT);
	insn_jump_if(&w->p, BPF_JEQ, 0, NET_PROTO_UDP, &w->udp4);
	if (for_socket(w))
		insn_jump_if(&w->p, BPF_JEQ, 0, NET_PROTO_ICMP, &w->icmp4);
	insn_jump(&w->p, &w->theirs);

	insn_land(&w->p, &w->udp4);
	load_head(w, BPF_H, L3 + NET_IP4_FRAGMENT_AT);
	insn_alu(&w->p, BPF_AND, 0, IP4_OFFSET);
	insn_jump_if(&w->p, BPF_JNE, 0, 0, &w->later);
	load_head(w, BPF_H, L3 + NET_IP4_LEN + 2);
	insn_jump_if(&w->p, BPF_JEQ, 9, L3 + NET_IP4_LEN, &no_options);
	insn_load_frame(&w->p, BPF_H, 9, 2);
	insn_land(&w->p, &no_options);
	insn_alu_reg(&w->p, BPF_MOV, 8, 0);
	insn_jump(&w->p, &w->find4);
}

// Skips an extension header, if it is one: r8 = the next header, r9 = its offset.
static void put_extension(struct writer *w)
{
	struct insn_jumps extension = {0};

	insn_jump_if(&w->p, BPF_JEQ, 8, NET_PROTO_HOP_BY_HOP, &extension);
	insn_jump_if(&w->p, BPF_JEQ, 8, NET_PROTO_ROUTING, &extension);
	insn_jump_if(&w->p, BPF_JEQ, 8, NET_PROTO_DESTINATION, &extension);
	insn_jump(&w->p, &w->behind);
	insn_land(&w->p, &extension);
	insn_load_frame(&w->p, BPF_B, 9, 0);
	insn_alu_reg(&w->p, BPF_MOV, 8, 0);
	insn_load_frame(&w->p, BPF_B, 9, 1);
	insn_alu(&w->p, BPF_ADD, 0, 1);
	insn_alu(&w->p, BPF_LSH, 0, 3);
	insn_alu_reg(&w->p, BPF_ADD, 9, 0);
}

static void put_ip6(struct writer *w)
{
	struct insn_jumps whole = {0}, no_extension = {0};

	insn_land(&w->p, &w->ip6);
	load_field(w, offsetof(struct __sk_buff, len));
	insn_jump_if(&w->p, BPF_JLT, 0, HEAD6, &w->theirs);
	copy_head(w, HEAD6);
	load_head(w, BPF_B, L3 + NET_IP6_NEXT_AT);
	insn_alu_reg(&w->p, BPF_MOV, 8, 0);
	insn_alu(&w->p, BPF_MOV, 9, L3 + NET_IP6_LEN);
	for (unsigned int i = 0; i < EXTENSIONS; i++)
		put_extension(w);
	insn_land(&w->p, &w->behind);
	insn_jump_if(&w->p, BPF_JNE, 8, NET_PROTO_FRAGMENT, &whole);
	insn_load_frame(&w->p, BPF_B, 9, 0);
	insn_alu_reg(&w->p, BPF_MOV, 8, 0);
	insn_jump_if(&w->p, BPF_JNE, 8, NET_PROTO_UDP, &w->theirs);
	insn_load_frame(&w->p, BPF_H, 9, 2);
	insn_alu(&w->p, BPF_AND, 0, IP6_OFFSET);
	insn_jump_if(&w->p, BPF_JNE, 0, 0, &w->later);
	insn_alu(&w->p, BPF_ADD, 9, 8);
	insn_land(&w->p, &whole);
	insn_jump_if(&w->p, BPF_JEQ, 8, NET_PROTO_UDP, &w->udp6);
	if (for_socket(w))
		insn_jump_if(&w->p, BPF_JEQ, 8, NET_PROTO_ICMP6, &w->icmp6);
	insn_jump(&w->p, &w->theirs);

	insn_land(&w->p, &w->udp6);
	load_head(w, BPF_H, L3 + NET_IP6_LEN + 2);
	insn_jump_if(&w->p, BPF_JEQ, 9, L3 + NET_IP6_LEN, &no_extension);
	insn_load_frame(&w->p, BPF_H, 9, 2);
	insn_land(&w->p, &no_extension);
	insn_alu_reg(&w->p, BPF_MOV, 8, 0);
	load_head(w, BPF_W, L3 + NET_IP6_ADDRS_AT + 28);
	insn_alu_reg(&w->p, BPF_MOV, 7, 0);
	insn_jump(&w->p, &w->find6);
}

// Packets for the socket only: errors about UDP, and neighbour discovery.
static void put_icmp(struct writer *w)
{
	if (!for_socket(w))
		return;
	insn_land(&w->p, &w->icmp4);
	insn_load_frame(&w->p, BPF_B, 9, 0);
	for (unsigned int i = 0; i < 3; i++) {
		static const uint8_t errors[] = {3, 11, 12};
		struct insn_jumps no = {0};

		insn_jump_if(&w->p, BPF_JNE, 0, errors[i], &no);
		insn_load_frame(&w->p, BPF_B, 9, 8 + NET_IP4_PROTO_AT);
		insn_jump_if(&w->p, BPF_JEQ, 0, NET_PROTO_UDP, &w->ours);
		insn_jump(&w->p, &w->theirs);
		insn_land(&w->p, &no);
	}
	insn_jump(&w->p, &w->theirs);

	insn_land(&w->p, &w->icmp6);
	insn_load_frame(&w->p, BPF_B, 9, 0);
	insn_jump_if(&w->p, BPF_JEQ, 0, 135, &w->ours);
	insn_jump_if(&w->p, BPF_JEQ, 0, 136, &w->ours);
	insn_jump_if(&w->p, BPF_JGT, 0, 4, &w->theirs);
	insn_load_frame(&w->p, BPF_B, 9, 8 + NET_IP6_NEXT_AT);
	insn_jump_if(&w->p, BPF_JEQ, 0, NET_PROTO_UDP, &w->ours);
	insn_jump_if(&w->p, BPF_JEQ, 0, NET_PROTO_FRAGMENT, &w->ours);
	insn_jump(&w->p, &w->theirs);
}

static void put_ends(struct writer *w)
{
	insn_land(&w->p, &w->later);
	insn_jump(&w->p, for_socket(w) ? &w->ours : &w->theirs);
	insn_land(&w->p, &w->ours);
	end_with(w, for_socket(w) ? TAKE_ALL : TCX_DROP);
	insn_land(&w->p, &w->theirs);
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
	insn_land(&w->p, &w->find4);
	put_family(w, owned, v4);
	insn_land(&w->p, &w->find6);
	put_family(w, owned + v4, nb - v4);
	put_ends(w);
}

struct bpf_insn *packet_filter_make(const struct packet_filter *f, uint32_t *nb)
{
	struct writer w = {.p = {.room = INSN_MAX}, .whom = f->whom, .moving = f->moving};

	w.p.insn = calloc(w.p.room, sizeof(*w.p.insn));
	if (w.p.insn == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	put_all(&w, f->owned, f->nb_own);
	*nb = w.p.nb;
	if (!w.p.failed)
		return w.p.insn;
	free(w.p.insn);
	errno = E2BIG;
	return NULL;
}
