// SPDX-License-Identifier: BSD-3-Clause
// A population of TURN clients: its memory, and what it derives from the configuration.
#include "client/clients.h"

#include <stdlib.h>

#include "client/auth.h"
#include "client/population.h"

static void client_init(struct clients *p, uint32_t i)
{
	const struct config *c = p->config;
	const uint32_t number = client_number(p, i);

	p->client[i] = (struct client){.local = side_host(&c->client, number),
		.peer = side_host(&c->peer, number % side_hosts(&c->peer)),
		.state = CLIENT_IDLE};
	// An allocation has one channel, so all could use the same channel number. Neighbours get
	// different numbers, so that ChannelData sent to the wrong client is noticed.
	if (c->mode == MODE_CHANNEL)
		p->client[i].channel =
			(uint16_t)(CHANNEL_MIN + number % (CHANNEL_MAX - CHANNEL_MIN + 1));
}

// The relayed transport addresses have the family of the peers, or of the server when there are no
// peers. The request names this family, except IPv4, the default, if the server has an IPv4 address
// (RFC 8656 7.2).
static void family_init(struct clients *p)
{
	static const struct addr none = {.d = {0, 0}};
	const struct config *c = p->config;
	const bool server_v4 = addr_is_v4(&c->server.addr);

	p->relay_v4 = addr_eq(&c->peer.addrs.lo, &none) ? server_v4 : addr_is_v4(&c->peer.addrs.lo);
	if (!p->relay_v4)
		p->family = 2; // IPv6 (RFC 8656 18.6)
	else if (!server_v4)
		p->family = 1;
}

static void message_init(struct clients *p)
{
	const size_t headers = addr_is_v4(&p->config->server.addr) ? 20 + 8 : 40 + 8;
	const size_t mtu = p->config->mtu > headers ? p->config->mtu - headers : 0;

	p->message_max = mtu < CLIENT_MESSAGE_MAX ? mtu : CLIENT_MESSAGE_MAX;
}

static bool memory_init(struct clients *p, uint64_t wall_s)
{
	const size_t n = p->count > 0 ? p->count : 1;

	p->client = calloc(n, sizeof(*p->client));
	p->node = calloc(n, sizeof(*p->node));
	p->crypto = stun_crypto_create();
	return auth_init(p, wall_s) && p->client != NULL && p->node != NULL && p->crypto != NULL;
}

struct clients *clients_create(const struct clients_params *params)
{
	struct clients *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->config = params->config;
	p->first = params->first;
	p->step = params->step;
	p->count = params->count;
	p->rng = params->rng;
	p->answered = params->answered;
	p->ctx = params->ctx;
	if (!memory_init(p, params->wall_s)) {
		clients_free(p);
		return NULL;
	}
	family_init(p);
	message_init(p);
	wheel_init(&p->wheel, p->node, p->count, params->now_ms * WHEEL_TICK_MS);
	for (uint32_t i = 0; i < p->count; i++)
		client_init(p, i);
	p->stats.state[CLIENT_IDLE] = p->count;
	return p;
}

void clients_free(struct clients *p)
{
	if (p == NULL)
		return;
	auth_free(p);
	stun_crypto_free(p->crypto);
	free(p->node);
	free(p->client);
	free(p);
}

struct client *clients_at(struct clients *p, uint32_t i)
{
	return &p->client[i];
}

const struct client_stats *clients_stats(const struct clients *p)
{
	return &p->stats;
}
