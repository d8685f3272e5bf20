// SPDX-License-Identifier: BSD-3-Clause
// In every second configuration there are reloads of another configuration at random moments:
// users, realms, quotas, peers, limits of answers, DSCP, routes. They have their own random
// numbers, so that frames are the same without them.
#include "datapath.h"
#include "dp_blocks.h"
#include "feature_names.h"
#include "fuzz.h"
#include "turn_blocks.h"

#include <stdlib.h>

#define EVERY 400 // rounds from one reload to the next, on average

static struct test_rand rand_;
static bool reloads;

static uint32_t reloads_below(uint32_t bound)
{
	return test_rand_below(&rand_, bound);
}

void fuzz_reloads_open(void)
{
	rand_.s = fuzz.configuration * 0xd1342543de82ef95 | 1;
	reloads = reloads_below(2) == 0;
	fuzz.rerouted = false;
}

// A client or a user's peer is denied, or eve is removed, or quotas are lower.
static void pick_policy(struct conf *c)
{
	static struct prefix deny, client;
	struct turn_limits *l = &c->turn.limits;

	if (reloads_below(4) == 0 && fuzz.nb_clients > 0) {
		client.addr = fuzz.client[reloads_below(fuzz.nb_clients)].c.endpoint.addr;
		client.len = 128;
		c->turn.client_deny = &client;
		c->turn.nb_client_deny = 1;
	}

	if (reloads_below(4) == 0 && fuzz.nb_clients > 0) {
		deny.addr = fuzz.client[reloads_below(fuzz.nb_clients)].peer[0].addr;
		deny.len = 128;
		c->turn.deny = &deny;
		c->turn.nb_deny = 1;
	}
	if (reloads_below(4) == 0)
		c->turn.first.nb_users = 1;
#ifdef FEATURE_TOKENS
	if (reloads_below(4) == 0)
		c->turn.first.oauth.nb_keys = 0;
#endif
#ifdef FEATURE_REALMS
	if (reloads_below(3) == 0)
		c->turn.nb_realms = c->turn.nb_realms > 0 ? 0 : c->turn.realms != NULL;
	// separate networks come and go with the realms
	fuzz.rerouted = fuzz.rerouted || c->turn.nb_realms != fuzz.world.conf.turn.nb_realms;
#endif
	c->lower_ends = reloads_below(2) == 0;
	if (reloads_below(4) == 0)
		l->per_user = 1 + reloads_below(20);
	if (reloads_below(8) == 0)
		l->per_source = 1 + reloads_below(20);
#ifdef FEATURE_RATES
	for (unsigned int i = 0; i < 2 * TURN_RATE_OF_END && reloads_below(3) == 0; i++)
		l->rates.flow[i / 2][i % 2] = (struct turn_flow_rate){
			reloads_below(2) * (1 + reloads_below(1000)), reloads_below(100)};
#endif
	l->permissions = l->channels = reloads_below(2) == 0 ? 3 : 16;
}

static void pick_answers(struct conf *c)
{
	static struct turn_listener listeners[RTE_DIM(fuzz.world.listeners)];

	memcpy(listeners, fuzz.world.listeners, sizeof(listeners));
	for (unsigned int i = 0; i < c->turn.nb_listeners && i < RTE_DIM(listeners); i++)
		listeners[i].dscp = (uint8_t)reloads_below(65);
	c->turn.listeners = listeners;
	c->requests = 1 + reloads_below(32);
	c->icmp_rate = reloads_below(3) * 10;
	c->icmp_errors_in = reloads_below(2) == 0 ? 1 : 1000;
	c->icmp_errors_out = reloads_below(1000);
	c->icmp_errors_each = reloads_below(10);
	c->icmp_unreachable = reloads_below(2) == 0;
	c->dtls.idle_s = 5 + reloads_below(100);
}

// With or without the second port's routes. Packets that wait for a neighbour may leave by the old
// route later.
static void pick_routes(struct conf *c)
{
	static struct conf_port ports[2];

	if (c->nb_ports < 2 || fuzz.world.ports[1].nb_routes == 0 || reloads_below(2) == 0)
		return;
	memcpy(ports, fuzz.world.ports, sizeof(ports));
	ports[1].nb_routes = reloads_below(2);
	c->ports = ports;
	fuzz.rerouted = true;
}

static void begin(void)
{
	struct conf c = fuzz.world.conf;
	char error[256];

	pick_policy(&c);
	pick_answers(&c);
	pick_routes(&c);
	assert_true(conf_routes_gather(&c));
	assert_int_equal(dp_reload_begin(fuzz.world.dp, &c, false, error, sizeof(error)), 0);
	free(c.turn.routes);
}

// Blocks a client, in place of the one before, or nobody.
static void block_somebody(void)
{
	struct turn_blocks *next = NULL;
	unsigned int ended = 0;
	struct prefix p = {.len = 128};

	if (!dp_blocks_step(fuzz.world.dp, &ended) || reloads_below(EVERY) != 0)
		return;
	if (reloads_below(2) == 0 && fuzz.nb_clients > 0) {
		p.addr = fuzz.client[reloads_below(fuzz.nb_clients)].c.endpoint.addr;
		next = turn_blocks_make(&p, 1, NULL, 0);
		assert_non_null(next);
	}
	assert_true(dp_blocks_set(fuzz.world.dp, next, true));
}

void fuzz_reloads_round(void)
{
	if (!reloads)
		return;
	block_somebody();
	if (fuzz.world.dp->reload != NULL)
		fuzz.seen.reloads += dp_reload_step(fuzz.world.dp) >= 0;
	else if (reloads_below(EVERY) == 0)
		begin();
}
