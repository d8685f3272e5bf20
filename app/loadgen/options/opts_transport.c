// SPDX-License-Identifier: BSD-3-Clause
// Clients over TCP, TLS and DTLS: connections of this host's kernel.
#include "options/opts_transport.h"

#define TLS_PORT 5349 // RFC 8656 section 4.1

int opts_transport_take(struct opts *o, const struct opt_row *row, const char *text)
{
	static const char *const names[] = {"udp", "tcp", "tls", "dtls"};
	const int i = option_word(o, text, names, 4);

	if (i < 0)
		return -1;
	o->config->transport = (enum transport)i;
	return 0;
}

int opts_transport_tls_max(struct opts *o, const struct opt_row *row, const char *text)
{
	static const char *const names[] = {"1.2", "1.3"};
	const int i = option_word(o, text, names, 2);

	if (i < 0)
		return -1;
	o->config->tls_12 = i == 0;
	return 0;
}

static int check_mode(struct opts *o)
{
	const struct config *c = o->config;
	const char *name = config_transport_name(c->transport);

	switch (c->mode) {
	case MODE_CHANNEL:
	case MODE_SEND:
	case MODE_ALLOC_HOLD:
	case MODE_HANDSHAKE:
		break;
	default:
		return option_fail(o, option_given(o, OPT_MODE) ? OPT_MODE : OPT_TRANSPORT,
			"over %s only channel, send, alloc-hold and handshake are possible", name);
	}
	if (c->search != WANT_NO_SEARCH)
		return option_fail(o, OPT_SEARCH,
			"not over %s, where a full connection holds back instead of losing", name);
	return 0;
}

// Refuses options for the clients' port, since connections use none.
static int check_unused(struct opts *o)
{
	static const struct {
		enum opt id;
		const char *reason;
	} rows[] = {
		{OPT_CLIENT_PORT, "this host's kernel connects"},
		{OPT_CLIENT_PORTS, "this host's kernel chooses them"},
		{OPT_CLIENT_GATEWAY, "this host's kernel has routes"},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (option_given(o, rows[i].id))
			return option_fail(o, rows[i].id, "over %s %s: leave it out",
				config_transport_name(o->config->transport), rows[i].reason);
	return 0;
}

int opts_transport_check(struct opts *o)
{
	struct config *c = o->config;
	const bool tls = c->transport == TRANSPORT_TLS || c->transport == TRANSPORT_DTLS;

	if (option_given(o, OPT_CA) && !tls)
		return option_fail(o, OPT_CA, "for --transport tls and dtls: leave it out");
	if (option_given(o, OPT_TLS_MAX) && c->transport != TRANSPORT_TLS)
		return option_fail(o, OPT_TLS_MAX, "for --transport tls: leave it out");
	if (!config_links(c)) {
		if (c->mode == MODE_HANDSHAKE)
			return option_fail(o, OPT_MODE, "needs --transport tcp, tls or dtls");
		return 0;
	}
	if (check_mode(o) != 0 || check_unused(o) != 0)
		return -1;
	if (option_given(o, OPT_RECEIVERS) && c->receivers != c->senders)
		return option_fail(o, OPT_RECEIVERS,
			"the lane that writes to a connection also reads it: as many as --senders");
	c->receivers = c->senders;
	if (tls && !o->server_port)
		c->server.port = TLS_PORT;
	return 0;
}
