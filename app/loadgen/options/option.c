// SPDX-License-Identifier: BSD-3-Clause
// The table of all options, and the options that are words or rates.
#include "options/option.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "options/opts.h"
#include "options/opts_addr.h"
#include "options/opts_transport.h"
#include "options/opts_values.h"

#define BURST_MAX 64

// --- words ---------------------------------------------------------------------------------------

int option_word(struct opts *o, const char *text, const char *const *names, int n)
{
	char all[160];
	size_t len = 0;

	for (int i = 0; i < n; i++) {
		if (strcmp(text, names[i]) == 0)
			return i;
		len += (size_t)snprintf(
			all + len, sizeof(all) - len, "%s%s", i > 0 ? ", " : "", names[i]);
	}
	return option_fail(o, o->now, "not one of %s", all);
}

static int take_role(struct opts *o, const struct opt_row *row, const char *text)
{
	static const char *const names[] = {"client", "peer", "both"};
	const int i = option_word(o, text, names, 3);

	if (i < 0)
		return -1;
	o->config->role = (enum role)(i + ROLE_CLIENT);
	return 0;
}

static int take_mode(struct opts *o, const struct opt_row *row, const char *text)
{
	const char *names[MODE_NB + 1];
	int i;

	for (int m = 0; m < MODE_NB; m++)
		names[m] = config_mode_name((enum mode)m);
	names[MODE_NB] = "peer-to-client";
	i = option_word(o, text, names, MODE_NB + 1);
	if (i < 0)
		return -1;
	o->down = i == MODE_NB;
	o->config->mode = o->down ? MODE_CHANNEL : (enum mode)i;
	return 0;
}

static int take_direction(struct opts *o, const struct opt_row *row, const char *text)
{
	static const char *const names[] = {"up", "down", "echo", "both"};
	const int i = option_word(o, text, names, 4);

	if (i < 0)
		return -1;
	for (int d = 0; d < DIRECTION_NB; d++)
		o->direction[d] = i == d || (i == 3 && d != DIRECTION_ECHO);
	return 0;
}

static int take_integrity(struct opts *o, const struct opt_row *row, const char *text)
{
	static const char *const names[] = {"sha1", "sha256"};
	const int i = option_word(o, text, names, 2);

	if (i < 0)
		return -1;
	o->config->integrity = (enum integrity)i;
	return 0;
}

static int take_uso(struct opts *o, const struct opt_row *row, const char *text)
{
	static const char *const names[] = {"auto", "on", "off"};
	const int i = option_word(o, text, names, 3);

	if (i < 0)
		return -1;
	o->config->uso = (enum uso)i;
	return 0;
}

static int take_reflect(struct opts *o, const struct opt_row *row, const char *text)
{
	static const char *const names[] = {"sink", "echo"};
	const int i = option_word(o, text, names, 2);

	if (i < 0)
		return -1;
	o->config->peer_echo = i == 1;
	return 0;
}

static int take_search(struct opts *o, const struct opt_row *row, const char *text)
{
	static const char *const names[] = {"ndr", "pdr", "alloc-rate"};
	const int i = option_word(o, text, names, 3);

	if (i < 0)
		return -1;
	o->config->search = (enum search_wanted)(i + WANT_NDR);
	return 0;
}

// --- rates ---------------------------------------------------------------------------------------

static int take_rate(struct opts *o, const char *text, double *out)
{
	if (!opts_values_number(text, out))
		return option_fail(o, o->now, "not a number (500, 0.5, 1k, 2.5M)");
	return *out > 0 ? 0 : option_fail(o, o->now, "more than 0");
}

static int take_pps(struct opts *o, const struct opt_row *row, const char *text)
{
	if (strcmp(text, "flood") == 0) {
		o->config->rate = 0;
		return 0;
	}
	return take_rate(o, text, &o->config->rate);
}

static int take_mbps(struct opts *o, const struct opt_row *row, const char *text)
{
	return take_rate(o, text, &o->mbps);
}

static int take_pps_per_client(struct opts *o, const struct opt_row *row, const char *text)
{
	return take_rate(o, text, &o->per_client);
}

// --help and --version take nothing: read_option acts on them.
static int take_nothing(struct opts *o, const struct opt_row *row, const char *text)
{
	return 0;
}

// --- the table -----------------------------------------------------------------------------------

#define AT(field) offsetof(struct config, field), sizeof(((struct config *)NULL)->field)
#define COUNT(name, use, field, lo, hi)                                            \
	{                                                                          \
		name, required_argument, use, opts_values_count, AT(field), lo, hi \
	}
#define REAL(name, use, field, lo, hi)                                            \
	{                                                                         \
		name, required_argument, use, opts_values_real, AT(field), lo, hi \
	}
#define SHARE(name, use, field, lo, hi)                                            \
	{                                                                          \
		name, required_argument, use, opts_values_share, AT(field), lo, hi \
	}
#define TEXT(name, use, field)                                            \
	{                                                                 \
		name, required_argument, use, opts_values_text, AT(field) \
	}
#define STRING(name, use, field)                                            \
	{                                                                   \
		name, required_argument, use, opts_values_string, AT(field) \
	}
#define FLAG(name, use, field)                                      \
	{                                                           \
		name, no_argument, use, opts_values_flag, AT(field) \
	}
#define TAKE(name, use, take)                      \
	{                                          \
		name, required_argument, use, take \
	}
#define SIDE(name, use, take, field)                          \
	{                                                     \
		name, required_argument, use, take, AT(field) \
	}

static const struct opt_row table[OPT_NB] = {
	[OPT_ROLE] = TAKE("role", 0, take_role),
	[OPT_CLIENT_PORT] = STRING("client-port", USE_CLIENT, client.device),
	[OPT_PEER_PORT] = STRING("peer-port", USE_PEER, peer.device),
	[OPT_SENDERS] = COUNT("senders", 0, senders, 1, CONFIG_LANES_MAX),
	[OPT_RECEIVERS] = COUNT("receivers", 0, receivers, 1, CONFIG_LANES_MAX),
	[OPT_MTU] = COUNT("mtu", 0, mtu, 576, 9600),
	[OPT_RING] = COUNT("ring", 0, ring, 64, 32768),
	[OPT_MBUFS] = COUNT("mbufs", 0, mbufs, 1024, 16 << 20),

	[OPT_SERVER] = TAKE("server", USE_CLIENT, opts_addr_server),
	[OPT_TRANSPORT] = TAKE("transport", USE_CLIENT, opts_transport_take),
	[OPT_CA] = STRING("ca", USE_CLIENT, ca),
	[OPT_TLS_MAX] = TAKE("tls-max", USE_CLIENT, opts_transport_tls_max),
	[OPT_CLIENT_ADDR] = SIDE("client-addr", USE_CLIENT, opts_addr_range, client),
	[OPT_CLIENT_PORTS] = SIDE("client-ports", USE_CLIENT, opts_addr_ports, client),
	[OPT_CLIENT_GATEWAY] =
		SIDE("client-gateway", USE_CLIENT, opts_addr_gateway, client.gateway),
	[OPT_PEER_ADDR] = SIDE("peer-addr", 0, opts_addr_range, peer),
	[OPT_PEER_PORTS] = SIDE("peer-ports", 0, opts_addr_ports, peer),
	[OPT_PEER_GATEWAY] = SIDE("peer-gateway", USE_PEER, opts_addr_gateway, peer.gateway),

	[OPT_CLIENTS] = COUNT("clients", USE_CLIENT, clients, 1, CONFIG_CLIENTS_MAX),
	[OPT_USER] = TEXT("user", USE_CLIENT, user),
	[OPT_PASSWORD] = TEXT("password", USE_CLIENT, password),
	[OPT_SECRET] = TEXT("secret", USE_CLIENT, secret),
	[OPT_USER_PER_CLIENT] = FLAG("user-per-client", USE_CLIENT, user_per_client),
	[OPT_INTEGRITY] = TAKE("integrity", USE_CLIENT, take_integrity),
	[OPT_DONT_FRAGMENT] = FLAG("dont-fragment", USE_CLIENT, dont_fragment),
	[OPT_LIFETIME] = COUNT("lifetime", USE_CLIENT, lifetime_s, 10, 86400),
	[OPT_SETUP_RATE] = REAL("setup-rate", USE_CLIENT, setup_rate, 0, 1e6),
	[OPT_WINDOW] = COUNT("window", USE_CLIENT, window, 1, 65536),

	[OPT_MODE] = TAKE("mode", 0, take_mode),
	[OPT_DIRECTION] = TAKE("direction", USE_CLIENT | USE_MEDIA, take_direction),
	[OPT_PPS] = TAKE("pps", USE_CLIENT, take_pps),
	[OPT_MBPS] = TAKE("mbps", USE_CLIENT | USE_MEDIA, take_mbps),
	[OPT_PPS_PER_CLIENT] = TAKE("pps-per-client", USE_CLIENT, take_pps_per_client),
	[OPT_VOIP] = {"voip", no_argument, USE_CLIENT | USE_MEDIA, take_nothing},
	[OPT_SIZE] = TAKE("size", USE_CLIENT | USE_MEDIA, opts_values_sizes),
	[OPT_BURST] = COUNT("burst", USE_CLIENT | USE_MEDIA, burst, 1, BURST_MAX),
	[OPT_USO] = TAKE("uso", USE_MEDIA, take_uso),
	[OPT_DURATION] = REAL("duration", 0, duration_s, 0.05, 1e7),
	[OPT_WARMUP] = REAL("warmup", USE_CLIENT, warmup_s, 0, 3600),
	[OPT_DRAIN] = REAL("drain", USE_CLIENT, drain_s, 0, 60),

	[OPT_REFLECT] = TAKE("reflect", USE_PEER | USE_MEDIA, take_reflect),
	[OPT_IMPAIR] = TAKE("impair", USE_PEER | USE_MEDIA, opts_values_impair),

	[OPT_SEARCH] = TAKE("search", USE_CLIENT, take_search),
	[OPT_LOSS] = SHARE("loss", USE_CLIENT | USE_SEARCH, search_loss, 1e-6, 0.5),
	[OPT_FROM] = REAL("from", USE_CLIENT | USE_SEARCH, search_lo, 1, CONFIG_RATE_MAX),
	[OPT_TO] = REAL("to", USE_CLIENT | USE_SEARCH, search_hi, 1, CONFIG_RATE_MAX),
	[OPT_RESOLUTION] =
		SHARE("resolution", USE_CLIENT | USE_SEARCH, search_resolution, 0.001, 0.5),
	[OPT_REPEATS] = COUNT("repeats", USE_CLIENT | USE_SEARCH, search_repeats, 1, 15),

	[OPT_STATS_PERIOD] = REAL("stats-period", 0, stats_period_s, 0, 3600),
	[OPT_JSON] = {"json", optional_argument, 0, opts_values_string, AT(json)},
	[OPT_TELEMETRY] = STRING("telemetry", USE_CLIENT, telemetry),
	[OPT_PLOT] = STRING("plot", USE_CLIENT | USE_SEARCH, plot),
	[OPT_INTERACTIVE] = FLAG("interactive", USE_CLIENT, interactive),
	[OPT_HELP] = {"help", no_argument, 0, take_nothing},
	[OPT_VERSION] = {"version", no_argument, 0, take_nothing},
};

const struct opt_row *option_row(enum opt id)
{
	return &table[id];
}

int option_fail(struct opts *o, enum opt id, const char *fmt, ...)
{
	const char *text = o->text[id] != NULL ? o->text[id] : "";
	va_list ap;
	int n;

	n = snprintf(o->error, OPTS_ERROR_LEN, "--%s%s%.100s: ", table[id].name,
		text[0] != '\0' ? " " : "", text);
	va_start(ap, fmt);
	vsnprintf(o->error + n, OPTS_ERROR_LEN - (size_t)n, fmt, ap);
	va_end(ap);
	return -1;
}
