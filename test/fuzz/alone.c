// SPDX-License-Identifier: BSD-3-Clause
// Pure code reads packet buffers, and ASan does not know where a packet ends in its buffer. Here
// the same code reads the same frames and messages in blocks of exactly their length.
#include "datapath.h"
#include "dtls_hello.h"
#include "exception/exception.h"
#include "fuzz.h"
#include "send_indication.h"
#include "udp.h"

#include <stdlib.h>

static uint8_t *block(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);

	assert_non_null(copy);
	memcpy(copy, data, len);
	return copy;
}

static void stun(const uint8_t *data, size_t len)
{
	uint16_t pos = 0, off, alen, type;
	struct endpoint peer;
	struct stun_msg m;
	int family;

	if (stun_parse(data, len, &m) != 0 && stun_parse_rfc3489(data, len, &m) != 0)
		return;
	while (stun_next(&m, STUN_XOR_PEER_ADDRESS, &pos, &off, &alen))
		stun_decode_xor_addr(&m, off, alen, &peer, &family);
	for (pos = 0; stun_next_unknown(&m, &pos, &type);)
		;
	stun_integrity_ok(fuzz.world.crypto, &m, &fuzz.client[below(fuzz.nb_clients)].c.key);
}

void fuzz_message_alone(const uint8_t *data, size_t len)
{
	const struct fuzz_client *c = &fuzz.client[below(fuzz.nb_clients)];
	uint8_t *copy = block(data, len);
	struct dtls_hello hello;
	uint16_t data_len, payload_off;

	stun(copy, len);
	if (len >= CHANNEL_HEADER_LEN) {
		payload_off = send_indication(
			copy, (uint16_t)len, &c->peer[below(FUZZ_PEERS)], &data_len);
		assert_true(payload_off == 0 || payload_off + data_len <= len);
	}
	if (dtls_hello_is(copy, len) && dtls_hello_read(copy, len, &hello))
		assert_true(hello.cookie + hello.cookie_len < copy + len);
	free(copy);
}

// Runs the inline parser on frames that are long enough for it.
static void scan(const struct dp_port *p, const uint8_t *copy, size_t len)
{
	const bool good = chance(50);

	if (len < NET_ETH_LEN + NET_IP4_LEN + NET_UDP_LEN + CHANNEL_HEADER_LEN)
		return;
	if (udp_masked_eq(copy, p->udp.v4.value, p->udp.v4.mask))
		net_udp_scan4(copy, len, good, good);
	else if (udp_masked_eq(copy, p->udp.v6.value, p->udp.v6.mask))
		net_udp_scan6(copy, len, good);
}

static void parsed(const struct net_frame *f, uint8_t *copy, size_t len, unsigned int port)
{
	const struct exception *e = fuzz.world.dp->exception[port];
	struct exception_flow about;
	struct net_neigh_msg msg;

	if (f->kind != NET_ARP)
		assert_true((size_t)f->payload_off + f->payload_len <= len);
	net_neigh_parse(copy, len, f, &msg);
	if (f->kind == NET_UDP)
		fuzz_message_alone(copy + f->payload_off, f->payload_len);
	if (f->kind != NET_ICMP && f->kind != NET_ICMP6)
		return;
	if (e != NULL)
		exception_rules_icmp_in(&e->rules, f, copy + f->payload_off, &about);
	net_echo_reply(copy, f, fuzz_port(port)->mac);
}

void fuzz_frame_alone(const uint8_t *frame, size_t len, unsigned int port)
{
	const struct dp_port *p = &fuzz.world.dp->port[port];
	uint8_t *copy = block(frame, len);
	const struct learn_rules learn = {true, true, chance(50) ? p->port->vlan : 0};
	struct net_frame f;

	scan(p, copy, len);
	learn_rules_in(&learn, copy, len);
	learn_rules_out(&learn, copy, len);
	if (net_frame_parse(copy, len, &p->rx[below(4)], &f) == NET_OK)
		parsed(&f, copy, len, port);
	free(copy);
}
