// SPDX-License-Identifier: BSD-3-Clause
// The default configuration, and the names of its values.
#include "options/config.h"

#define DEFAULT_PORT_LO 10000
#define DEFAULT_PORT_HI 59999

static const char *const mode_names[MODE_NB] = {
	[MODE_CHANNEL] = "channel",
	[MODE_SEND] = "send",
	[MODE_DIRECT] = "direct",
	[MODE_BINDING] = "binding",
	[MODE_ALLOC] = "alloc",
	[MODE_ALLOC_HOLD] = "alloc-hold",
	[MODE_INVALID] = "invalid",
	[MODE_UNAUTH] = "unauth",
	[MODE_HANDSHAKE] = "handshake",
};

const char *config_mode_name(enum mode m)
{
	return m < MODE_NB ? mode_names[m] : "?";
}

const char *config_transport_name(enum transport t)
{
	static const char *const names[] = {"udp", "tcp", "tls", "dtls"};

	return names[t];
}

const char *config_way_name(enum direction d)
{
	static const char *const names[DIRECTION_NB] = {"up", "down", "echo"};

	return d < DIRECTION_NB ? names[d] : "?";
}

const char *config_direction_name(const struct config *c)
{
	if (c->direction[DIRECTION_UP] && c->direction[DIRECTION_DOWN])
		return "both";
	for (unsigned int d = 0; d < DIRECTION_NB; d++)
		if (c->direction[d])
			return config_way_name(d);
	return "none";
}

const char *config_search_name(enum search_wanted w)
{
	switch (w) {
	case WANT_NDR:
		return "ndr";
	case WANT_PDR:
		return "pdr";
	case WANT_ALLOC_RATE:
		return "alloc-rate";
	case WANT_NO_SEARCH:
		break;
	}
	return NULL;
}

void config_defaults(struct config *c)
{
	*c = (struct config){
		.role = ROLE_BOTH,
		.client = {.device = "0", .port_lo = DEFAULT_PORT_LO, .port_hi = DEFAULT_PORT_HI},
		.peer = {.port_lo = DEFAULT_PORT_LO, .port_hi = DEFAULT_PORT_HI},
		.senders = 1,
		.receivers = 1,
		.mtu = 1500,
		.ring = 1024,
		.clients = 1,
		.lifetime_s = 600,
		.setup_rate = 1000,
		.window = 256,
		.direction = {[DIRECTION_UP] = true},
		.rate = 1000,
		.burst = 1,
		.nb_sizes = 1,
		.size = {120},
		.duration_s = 10,
		.warmup_s = 1,
		.drain_s = 0.5,
		.search_loss = 0.005,
		.search_lo = 1000,
		.search_hi = 10e6,
		.search_resolution = 0.01,
		.search_repeats = 3,
		.stats_period_s = 1,
	};
}
