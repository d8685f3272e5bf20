// SPDX-License-Identifier: BSD-3-Clause
// Defaults that depend on other options, and checks of options against each other.
#include "options/opts_check.h"

#include <string.h>

#include "options/opts.h"
#include "options/opts_addr.h"
#include "options/opts_transport.h"

#define VOIP_PPS 50 // a packet every 20 ms
#define VOIP_SIZE 160 // 20 ms of G.711
#define UDP_LEN 8
#define CHANNEL_LEN 4
#define DTLS_LEN 64 // bytes that a record adds, at most, with any cipher

static bool one_of(const char *text, const char *const *list)
{
	for (; *list != NULL; list++)
		if (strcmp(text, *list) == 0)
			return true;
	return false;
}

// --- roles and directions ------------------------------------------------------------------------

// True if the answers set the pace when no rate is given.
static bool mode_cycles(enum mode m)
{
	return m == MODE_ALLOC || m == MODE_ALLOC_HOLD || m == MODE_HANDSHAKE;
}

static bool mode_allocates(enum mode m)
{
	return m == MODE_ALLOC || m == MODE_ALLOC_HOLD;
}

// Without media no client talks to peers, so the default is no peers.
static int settle_role(struct opts *o)
{
	struct config *c = o->config;

	if (c->role == ROLE_BOTH && !option_given(o, OPT_ROLE) && !config_media(c))
		c->role = ROLE_CLIENT;
	if (c->role == ROLE_PEER) {
		if (!config_media(c))
			return option_fail(
				o, OPT_MODE, "has no peers: --role peer has nothing to do");
		if (!option_given(o, OPT_PEER_PORT))
			c->peer.device = "0";
		if (!option_given(o, OPT_DURATION))
			c->duration_s = 0;
	}
	c->shared_port = c->role == ROLE_BOTH && !config_links(c) && c->peer.device != NULL &&
		strcmp(c->client.device, c->peer.device) == 0;
	return 0;
}

// Refuses options that would have no effect in this run.
static int check_use(struct opts *o)
{
	const struct config *c = o->config;

	for (unsigned int id = 0; id < OPT_NB; id++) {
		const unsigned int use = option_row(id)->use;

		if (!option_given(o, id))
			continue;
		if ((use & USE_CLIENT) != 0 && (c->role & ROLE_CLIENT) == 0)
			return option_fail(
				o, id, "for clients; --role peer has no clients: leave it out");
		if ((use & USE_MEDIA) != 0 && !config_media(c))
			return option_fail(o, id,
				"for media; --mode %s sends no media: leave it out",
				config_mode_name(c->mode));
		if ((use & USE_PEER) != 0 && (c->role & ROLE_PEER) == 0 && config_media(c))
			return option_fail(o, id, "for peers of this process: needs --role both");
		if ((use & USE_SEARCH) != 0 && c->search == WANT_NO_SEARCH)
			return option_fail(o, id, "for searches: give --search, or leave it out");
	}
	if (c->mode == MODE_DIRECT && option_given(o, OPT_SERVER))
		return option_fail(
			o, OPT_SERVER, "--mode direct goes past any server: leave it out");
	return 0;
}

static int check_given_direction(struct opts *o)
{
	if (o->down && (!o->direction[DIRECTION_DOWN] || o->direction[DIRECTION_UP]))
		return option_fail(o, OPT_DIRECTION, "--mode peer-to-client is --direction down");
	if (o->config->role == ROLE_CLIENT && !o->direction[DIRECTION_ECHO])
		return option_fail(o, OPT_DIRECTION,
			"measured at both ends: needs --role both (--role client: echo)");
	return 0;
}

static int settle_direction(struct opts *o)
{
	struct config *c = o->config;

	memset(c->direction, 0, sizeof(c->direction));
	if ((c->role & ROLE_CLIENT) == 0 || mode_allocates(c->mode))
		return 0;
	if (!config_media(c)) {
		c->direction[DIRECTION_ECHO] = true; // probes and their answers count as echo
		return 0;
	}
	if (option_given(o, OPT_DIRECTION)) {
		memcpy(c->direction, o->direction, sizeof(c->direction));
		return check_given_direction(o);
	}
	if (o->down && c->role == ROLE_CLIENT)
		return option_fail(o, OPT_MODE, "peers send: needs --role both");
	if (o->down)
		c->direction[DIRECTION_DOWN] = true;
	else
		c->direction[c->role == ROLE_BOTH ? DIRECTION_UP : DIRECTION_ECHO] = true;
	return 0;
}

static int settle_reflector(struct opts *o)
{
	struct config *c = o->config;

	if ((c->role & ROLE_PEER) == 0)
		return 0;
	if (!option_given(o, OPT_REFLECT))
		c->peer_echo = c->role == ROLE_PEER || c->direction[DIRECTION_ECHO];
	if ((c->role & ROLE_CLIENT) != 0 && c->peer_echo != c->direction[DIRECTION_ECHO])
		return option_fail(o, OPT_REFLECT, "--direction %s needs peers that %s",
			config_direction_name(c), c->peer_echo ? "sink" : "echo");
	if (option_given(o, OPT_IMPAIR) && !c->peer_echo)
		return option_fail(o, OPT_IMPAIR,
			"nothing is reflected: needs --direction echo, or --reflect echo");
	return 0;
}

// --- rates and sizes -----------------------------------------------------------------------------

static double mean_size(const struct config *c)
{
	double sum = 0;

	for (unsigned int i = 0; i < c->nb_sizes; i++)
		sum += c->size[i];
	return sum / c->nb_sizes;
}

// Takes the rate from the one option that gives it.
static int settle_rate(struct opts *o)
{
	static const enum opt rates[] = {OPT_PPS, OPT_MBPS, OPT_PPS_PER_CLIENT, OPT_VOIP};
	const enum opt none = OPT_NB;
	struct config *c = o->config;
	enum opt given = none;

	for (unsigned int i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		if (!option_given(o, rates[i]))
			continue;
		if (given != none)
			return option_fail(o, given,
				"the rate is also given by --%s: leave one out",
				option_row(rates[i])->name);
		given = rates[i];
	}
	c->rate_given = given != none;
	if (c->rate_given && c->mode == MODE_ALLOC_HOLD)
		return option_fail(
			o, given, "--mode alloc-hold sends no traffic: give --setup-rate");
	if (c->rate_given && c->search != WANT_NO_SEARCH)
		return option_fail(o, given, "a search looks for the rate: give --from and --to");
	if (given == OPT_MBPS)
		c->rate = o->mbps * 1e6 / 8 / mean_size(c);
	else if (given == OPT_PPS_PER_CLIENT)
		c->rate = o->per_client * c->clients;
	else if (given == OPT_VOIP)
		c->rate = (double)VOIP_PPS * c->clients *
			(c->direction[DIRECTION_UP] && c->direction[DIRECTION_DOWN] ? 2 : 1);
	else if (given == none && mode_cycles(c->mode))
		c->rate = 0;
	if (c->rate > CONFIG_RATE_MAX)
		return option_fail(
			o, given, "that is %.3g a second: %.3g at most", c->rate, CONFIG_RATE_MAX);
	return 0;
}

// Returns the bytes that are added to a payload of n bytes before it meets an MTU, on the leg where
// more are added. TCP may split it, so only the peer's leg counts there.
static unsigned int header_overhead(const struct config *c, unsigned int n)
{
	const bool peer4 = addr_is_v4(&c->peer.addrs.lo);
	const unsigned int ip_client = addr_is_v4(&c->client.addrs.lo) ? 20 : 40;
	const unsigned int ip_peer = peer4 ? 20 : 40;
	unsigned int mode = c->transport == TRANSPORT_DTLS ? DTLS_LEN : 0;

	if (config_reliable(c))
		return UDP_LEN + ip_peer;
	if (c->mode == MODE_CHANNEL)
		mode += CHANNEL_LEN;
	else if (c->mode == MODE_SEND) // header, XOR-PEER-ADDRESS, DATA with its padding
		mode += (peer4 ? 36 : 48) + (4 - n % 4) % 4;
	return UDP_LEN + (ip_client + mode > ip_peer ? ip_client + mode : ip_peer);
}

static int check_sizes(struct opts *o)
{
	struct config *c = o->config;
	const bool v6 = !addr_is_v4(&c->client.addrs.lo) || !addr_is_v4(&c->peer.addrs.lo);

	if (option_given(o, OPT_VOIP) && !option_given(o, OPT_SIZE)) {
		c->nb_sizes = 1;
		c->size[0] = VOIP_SIZE;
	}
	if ((c->role & ROLE_CLIENT) == 0 || !config_media(c))
		return 0;
	if (v6 && c->mtu < 1280)
		return option_fail(o, OPT_MTU, "1280 at least with IPv6");
	for (unsigned int i = 0; i < c->nb_sizes; i++) {
		const unsigned int n = c->size[i], extra = header_overhead(c, n);
		const unsigned int most = c->mtu - header_overhead(c, 0);

		if (n + extra > c->mtu)
			return option_fail(o, OPT_SIZE,
				"%u bytes and %u of headers do not fit into an MTU of %u: %u at "
				"most, or give --mtu",
				n, extra, c->mtu, c->mode == MODE_SEND ? most & ~3u : most);
	}
	return 0;
}

// --- the rest ------------------------------------------------------------------------------------

static int check_credentials(struct opts *o)
{
	if (option_given(o, OPT_PASSWORD) && option_given(o, OPT_SECRET))
		return option_fail(o, OPT_PASSWORD, "not together with --secret, which makes them");
	if (option_given(o, OPT_PASSWORD) && !option_given(o, OPT_USER))
		return option_fail(o, OPT_PASSWORD, "whose password? Give --user");
	if (option_given(o, OPT_USER) && !option_given(o, OPT_PASSWORD) &&
		!option_given(o, OPT_SECRET))
		return option_fail(o, OPT_USER, "needs --password (or --secret, for a REST name)");
	if (option_given(o, OPT_USER_PER_CLIENT) && !option_given(o, OPT_USER))
		return option_fail(
			o, OPT_USER_PER_CLIENT, "numbers are appended to --user: give it");
	return 0;
}

static int check_search_mode(struct opts *o)
{
	struct config *c = o->config;

	if (c->search == WANT_ALLOC_RATE) {
		if (c->mode != MODE_ALLOC)
			return option_fail(o, OPT_MODE, "--search alloc-rate needs --mode alloc");
	} else if (!config_media(c) && c->mode != MODE_BINDING && c->mode != MODE_UNAUTH) {
		return option_fail(o, OPT_MODE,
			"not with --search %s, which looks for a rate of %s", o->text[OPT_SEARCH],
			"datagrams that come back or arrive");
	}
	if (c->interactive)
		return option_fail(o, OPT_INTERACTIVE, "not together with --search");
	return 0;
}

static int check_search(struct opts *o)
{
	struct config *c = o->config;

	if (c->search == WANT_NO_SEARCH)
		return 0;
	if (check_search_mode(o) != 0)
		return -1;
	if (c->search == WANT_ALLOC_RATE && !option_given(o, OPT_FROM))
		c->search_lo = 100;
	if (c->search == WANT_ALLOC_RATE && !option_given(o, OPT_TO))
		c->search_hi = 1e6;
	if (option_given(o, OPT_LOSS) && c->search != WANT_PDR)
		return option_fail(o, OPT_LOSS, "--search %s accepts no loss: use --search pdr",
			o->text[OPT_SEARCH]);
	if (c->search != WANT_PDR)
		c->search_loss = 0;
	if (c->search_lo >= c->search_hi)
		return option_fail(o, option_given(o, OPT_FROM) ? OPT_FROM : OPT_TO,
			"the search is from %.10g to %.10g: nothing is between", c->search_lo,
			c->search_hi);
	if (c->search_repeats % 2 == 0)
		return option_fail(o, OPT_REPEATS, "an odd number, for the majority decides");
	return 0;
}

static int check_output(struct opts *o)
{
	static const char *const formats[] = {".svg", ".png", ".pdf", NULL};
	const struct config *c = o->config;
	const char *suffix = c->plot != NULL ? strrchr(c->plot, '.') : NULL;

	if (c->plot != NULL && (suffix == NULL || !one_of(suffix, formats)))
		return option_fail(o, OPT_PLOT, "not a name that ends in .svg, .png or .pdf");
	if (c->telemetry != NULL && strchr(c->telemetry, '/') != NULL)
		return option_fail(o, OPT_TELEMETRY, "a file prefix (--file-prefix), not a path");
	if (c->stats_period_s > 0 && c->stats_period_s < 0.1)
		return option_fail(o, OPT_STATS_PERIOD, "0.1 at least, or 0 for none");
	if (c->senders + c->receivers > CONFIG_LANES_MAX)
		return option_fail(o, option_given(o, OPT_SENDERS) ? OPT_SENDERS : OPT_RECEIVERS,
			"%d lcores at most, senders and receivers together", CONFIG_LANES_MAX);
	return 0;
}

// Clients without peers still ask for relayed transport addresses of some family: the server's.
static void settle_family(struct opts *o)
{
	static const uint8_t any4[4];
	struct config *c = o->config;

	if (!option_given(o, OPT_PEER_ADDR) && (c->role & ROLE_CLIENT) != 0 && !config_media(c) &&
		addr_is_v4(&c->server.addr))
		c->peer.addrs.lo = c->peer.addrs.hi = addr_from_v4(any4);
	if (option_given(o, OPT_PEER_ADDR) && c->peer.prefix_len == 0)
		c->peer.prefix_len = 128;
}

int opts_check(struct opts *o)
{
	static int (*const steps[])(struct opts *) = {settle_role, check_use, opts_transport_check,
		settle_direction, settle_reflector, opts_addr_check, check_sizes, settle_rate,
		check_credentials, check_search, check_output};

	if (o->config->search == WANT_ALLOC_RATE && !option_given(o, OPT_MODE))
		o->config->mode = MODE_ALLOC;
	for (unsigned int i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (steps[i](o) != 0)
			return OPTS_ERROR;
	settle_family(o);
	return OPTS_RUN;
}
