// SPDX-License-Identifier: BSD-3-Clause
// A client that requests both families.
#include "dual_world.h"

void dual_world_open(struct dual_world *w, const struct turn_config *c)
{
	struct turn_config long_nonces = *c;

	long_nonces.nonce_lifetime_s = 36000;
	long_nonces.nonce_secret = (char *)"the same for all policies";
	fixture_open(&w->f, &long_nonces, 1);
	w->ivan = fixture_client("198.51.100.7", 5000);
}

int dual_world_teardown(void **state)
{
	struct dual_world *w = *state;

	fixture_close(&w->f);
	return 0;
}

void dual_world_begin(struct dual_world *w)
{
	fixture_begin(&w->f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&w->f.w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put_u32(&w->f.w, STUN_ADDITIONAL_ADDRESS_FAMILY, 2u << 24);
}

void dual_world_read(struct dual_world *w)
{
	const struct stun_msg *m = &w->f.answer;
	uint16_t pos = 0, off, alen;
	unsigned int nb = 0;

	w->v4 = w->v6 = (struct endpoint){0};
	while (stun_next(m, STUN_XOR_RELAYED_ADDRESS, &pos, &off, &alen)) {
		struct endpoint e;
		int family;

		assert_true(stun_decode_xor_addr(m, off, alen, &e, &family));
		*(family == 4 ? &w->v4 : &w->v6) = e;
		nb++;
	}
	assert_int_equal(nb, (w->v4.port != 0) + (w->v6.port != 0)); // each family once
}

unsigned int dual_world_ask(struct dual_world *w)
{
	const unsigned int code = fixture_ask(&w->f, &w->ivan);

	if (code == 0)
		dual_world_read(w);
	return code;
}

unsigned int dual_world_allocate(struct dual_world *w)
{
	dual_world_begin(w);
	return dual_world_ask(w);
}

unsigned int dual_world_address_error(const struct dual_world *w, unsigned int *family)
{
	const struct stun_msg *m = &w->f.answer;
	const uint8_t *value = m->data + m->off[STUN_ADDRESS_ERROR_CODE];

	*family = 0;
	if (!stun_has(m, STUN_ADDRESS_ERROR_CODE))
		return 0;
	assert_true(m->alen[STUN_ADDRESS_ERROR_CODE] >= 4);
	// RFC 8656 18.12: family, 13 bits of zeros, class, number
	assert_int_equal(value[1], 0);
	assert_in_range(value[2], 3, 6);
	assert_in_range(value[3], 0, 99);
	*family = value[0];
	return value[2] * 100u + value[3];
}

unsigned int dual_world_refresh(struct dual_world *w, int family, uint32_t lifetime_s)
{
	fixture_begin(&w->f, STUN_REQUEST, STUN_REFRESH);
	stun_put_u32(&w->f.w, STUN_LIFETIME, lifetime_s);
	if (family != 0)
		stun_put_u32(&w->f.w, STUN_REQUESTED_ADDRESS_FAMILY, (family == 4 ? 1u : 2u) << 24);
	return fixture_ask(&w->f, &w->ivan);
}

unsigned int dual_world_permit(struct dual_world *w, const char *const peers[])
{
	fixture_begin(&w->f, STUN_REQUEST, STUN_CREATE_PERMISSION);
	for (; *peers != NULL; peers++) {
		const struct endpoint e = fixture_endpoint(*peers, 1);

		stun_put_xor_addr(&w->f.w, STUN_XOR_PEER_ADDRESS, &e);
	}
	return fixture_ask(&w->f, &w->ivan);
}

const struct turn_plan *dual_world_send(struct dual_world *w, const char *peer, uint16_t port)
{
	const struct endpoint e = fixture_endpoint(peer, port);

	fixture_begin(&w->f, STUN_INDICATION, STUN_SEND);
	stun_put_xor_addr(&w->f.w, STUN_XOR_PEER_ADDRESS, &e);
	stun_put(&w->f.w, STUN_DATA_ATTR, "media", 5);
	return fixture_send(&w->f, &w->ivan);
}

static struct turn_path path_of(struct dual_world *w)
{
	const struct turn_plan *p = &w->f.burst.plan;
	struct turn_path path = {w->f.burst.side.src, w->f.burst.side.dst, NULL};

	assert_true(p->verdict == TURN_RELAY || p->verdict == TURN_SEND);
	if (p->verdict == TURN_RELAY)
		turn_route_path(w->f.shard, p->flow, &path);
	return path;
}

struct endpoint dual_world_src(struct dual_world *w)
{
	return path_of(w).src;
}

struct endpoint dual_world_dst(struct dual_world *w)
{
	return path_of(w).dst;
}
