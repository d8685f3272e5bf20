// SPDX-License-Identifier: BSD-3-Clause
// The hosts of a dp_world send and receive datagrams that are longer than the MTU.
#include "bytes.h"
#include "datapath.h"
#include "dp_world.h"
#include "nicmodel.h"

void world_send_long(struct dp_world *w, const struct ip_long *d, uint32_t mtu, bool swapped)
{
	const unsigned int index = world_port_of(w, &d->dst.addr);
	struct port *p = w->dp->port[index].port;
	const uint16_t queue = (uint16_t)test_rand_below(&w->rand, p->nb_rxq);
	static struct ip_pieces pieces;
	uint8_t macs[12];

	memcpy(macs, p->mac, 6);
	world_mac(w, &d->src.addr, macs + 6);
	ip_pieces_cut(&pieces, d, macs, mtu);
	for (unsigned int i = 0; i < pieces.n; i++) {
		const unsigned int piece = swapped ? (i + 1) % pieces.n : i;

		if (w->nic)
			nicmodel_put(p, pieces.frame[piece], pieces.len[piece]);
		else
			softport_put(p, queue, pieces.frame[piece], pieces.len[piece]);
	}
}

bool world_take_long(struct dp_world *w, const struct endpoint *dst, struct ip_long *out)
{
	for (unsigned int i = 0; i < w->nb_longs; i++) {
		if (!endpoint_eq(&w->longs[i].dst, dst))
			continue;
		*out = w->longs[i];
		w->nb_longs--;
		memmove(&w->longs[i], &w->longs[i + 1], (w->nb_longs - i) * sizeof(w->longs[0]));
		return true;
	}
	return false;
}

bool world_see_fragment(struct dp_world *w, const struct port *p, uint8_t *frame, size_t len)
{
	uint8_t mac[6];
	struct ip_long *d = &w->longs[w->nb_longs];

	if (p->vlan != 0) {
		if (load_be16(frame + 12) != 0x8100 || load_be16(frame + 14) != p->vlan)
			return false;
		len -= 4;
		memmove(frame + 12, frame + 16, len - 12);
	}
	if (!ip_pieces_is(frame))
		return false;
	assert_in_range(len, 0, 14u + p->mtu);
	assert_true(w->nb_longs < WORLD_LONGS);
	if (!ip_assembly_put(&w->assembly, frame, len, d))
		return true;
	world_mac(w, &d->dst.addr, mac);
	assert_memory_equal(frame, mac, 6);
	w->nb_longs++;
	return true;
}

void world_see_long(struct dp_world *w, const struct endpoint *src, const struct endpoint *dst,
	const void *data, uint32_t len)
{
	struct ip_long *l = &w->longs[w->nb_longs++];

	assert_true(w->nb_longs <= WORLD_LONGS);
	l->src = *src;
	l->dst = *dst;
	l->len = len;
	memcpy(l->data, data, len);
}
