// SPDX-License-Identifier: BSD-3-Clause
// Splits the bursts of a device with VLANs into one burst for each port. Only one port receives
// from the device. Frames are sorted by their tags; their validity is checked later: a frame with
// an unknown tag stays with the port that receives, whose rules (struct net_rx) give the drop
// reason. A super-frame is sorted whole, because it has one tag.
#include <errno.h>
#include <stdlib.h>

#include "link/vlans.h"
#include "bytes.h"
#include "datapath.h"
#include "net.h"
#include "path/worker.h"

#define IDS 4096
#define ID_MASK 0x0fff

_Static_assert(DP_BURST <= 32, "a burst fits the bits of a word");

int vlans_learn(struct dp *d, unsigned int port)
{
	const struct conf_port *c = d->port[port].conf;
	struct dp_port *on = &d->port[c->on];

	if (on->by_tag == NULL) {
		on->by_tag = malloc(IDS);
		if (on->by_tag == NULL)
			return -ENOMEM;
		memset(on->by_tag, c->on, IDS);
	}
	on->by_tag[c->vlan & ID_MASK] = (uint8_t)port;
	return 0;
}

void vlans_free(struct dp *d)
{
	for (unsigned int p = 0; p < CONF_PORTS_MAX; p++)
		free(d->port[p].by_tag);
}

// The VLAN id of a frame, from the mbuf if the port has removed the tag, else from the frame. 0:
// untagged. If there are two tags the outer one counts; the parser drops such frames.
static unsigned int tag_of(const struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);

	if ((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0)
		return m->vlan_tci & ID_MASK;
	if (m->data_len < NET_ETH_LEN + NET_VLAN_LEN ||
		load_be16(data + NET_ETH_TYPE_AT) != NET_ETHERTYPE_VLAN)
		return 0;
	return load_be16(data + NET_ETH_LEN) & ID_MASK;
}

void vlans_begin(struct worker *w, uint8_t port, unsigned int n)
{
	const uint8_t *by_tag = w->dp->port[port].by_tag;
	struct sorting *s = &w->sorting;

	for (unsigned int i = 0; i < n; i++) {
		s->m[i] = w->burst.m[i];
		s->port[i] = by_tag[tag_of(s->m[i])];
	}
	s->left = (uint32_t)((UINT64_C(1) << n) - 1);
}

unsigned int vlans_next(struct worker *w, uint8_t *port)
{
	struct sorting *s = &w->sorting;
	unsigned int n = 0;

	if (s->left == 0)
		return 0;
	*port = s->port[__builtin_ctz(s->left)];
	for (uint32_t left = s->left; left != 0; left &= left - 1) {
		const unsigned int i = (unsigned int)__builtin_ctz(left);

		if (s->port[i] != *port)
			continue;
		w->burst.m[n++] = s->m[i];
		s->left &= ~(UINT32_C(1) << i);
	}
	return n;
}
