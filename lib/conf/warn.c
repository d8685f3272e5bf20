// SPDX-License-Identifier: BSD-3-Clause
// What works but should be known.
#include "conf_int.h"

#include <inttypes.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

// Realm bytes up to which a 401 is at most 3 times the shortest Allocate, in whole IP packets.
#define REALM_SHORT 16
#define NONCE_SECRET_SHORT 16
#define SEEN_TWICE "net_af_packet"

struct warner {
	const struct conf *conf;
	void (*say)(void *ctx, const char *line);
	void *ctx;
};

__attribute__((format(printf, 3, 4))) static void warn(
	const struct warner *w, const char *key, const char *fmt, ...)
{
	char line[CONF_ERROR_LEN];
	const int n = snprintf(line, sizeof(line), "%s: %s: ", w->conf->path, key);
	va_list ap;

	va_start(ap, fmt);
	if (n > 0 && (size_t)n < sizeof(line))
		vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, ap);
	va_end(ap);
	w->say(w->ctx, line);
}

static bool is_ascii(const char *s)
{
	while (*s != '\0' && (unsigned char)*s < 0x80)
		s++;
	return *s == '\0';
}

static void warn_auth(const struct warner *w)
{
	const struct turn_config *t = &w->conf->turn;
	const size_t realm = strlen(t->realm);
	struct stat st;

	// Every configuration holds a password, a key or a secret
	if (stat(w->conf->path, &st) == 0 && (st.st_mode & S_IROTH) != 0)
		warn(w, "auth",
			"everyone on this host can read the secrets in the file: chmod o-r");
	if (realm > REALM_SHORT)
		warn(w, "auth.realm",
			"%zu bytes: up to %u keep unauthenticated answers well within 3 times "
			"their request, longer ones amplify",
			realm, REALM_SHORT);
	for (uint32_t i = 0; i < t->nb_users; i++) {
		const struct turn_user *u = &t->users[i];

		if (is_ascii(u->name) && (u->password == NULL || is_ascii(u->password)))
			continue;
		warn(w, "auth.users",
			"entry %u has a name or password beyond ASCII: bytes are taken as they "
			"are, without the normalisation of RFC 8265 that clients may apply",
			i);
	}
	if (t->nonce_secret[0] != '\0' && strlen(t->nonce_secret) < NONCE_SECRET_SHORT)
		warn(w, "auth.nonce.secret", "shorter than %u characters: it may be guessed",
			NONCE_SECRET_SHORT);
}

// Packets that may wait in the backlog of a worker: of known clients and of strangers each
// requests and as many datagrams behind them, and again as many of clients over TCP and TLS.
static uint32_t backlog_packets(const struct conf *c)
{
	for (uint32_t i = 0; i < c->turn.nb_listeners; i++)
		if (turn_listener_is_stream(&c->turn.listeners[i]))
			return 5 * c->backlog;
	return 4 * c->backlog;
}

static void warn_workers(const struct warner *w)
{
	const struct conf *c = w->conf;
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const uint64_t workers = c->workers > 0 ? c->workers : 1;
	const uint64_t waiting = workers * backlog_packets(c);
	uint64_t each = 0; // descriptors of one queue of every port

	for (uint32_t i = 0; i < c->nb_ports; i++) {
		const struct conf_port *p = &c->ports[i];

		each += (p->rx_ring != 0 ? p->rx_ring : c->rx_ring) +
			(p->tx_ring != 0 ? p->tx_ring : c->tx_ring);
	}
	if (cpus > 0 && (long)c->workers > cpus)
		warn(w, "workers.count", "%u workers on %ld CPUs: they will take turns", c->workers,
			cpus);
	if (each * workers > c->mbufs)
		warn(w, "buffers.mbufs",
			"%u buffers cannot fill the rings of %u ports, %u workers and %" PRIu64
			" descriptors for each: packets may be dropped for want of buffers",
			c->mbufs, c->nb_ports, (uint32_t)workers, each);
	else if (each * workers + waiting > c->mbufs)
		warn(w, "buffers.mbufs",
			"%u buffers fill the descriptors of all workers, but not %u for each that "
			"wait in its backlog: a storm of requests may leave none for packets",
			c->mbufs, backlog_packets(c));
}

static void warn_exceptions(const struct warner *w)
{
	const struct conf *c = w->conf;
	const uint64_t workers = c->workers > 0 ? c->workers : 1;
	uint64_t waiting = 0;

	for (uint32_t i = 0; i < c->nb_ports; i++)
		if (c->ports[i].exception.name != NULL)
			waiting += workers * c->ports[i].exception.buffers;
	if (waiting > c->mbufs / 2)
		warn(w, "buffers.mbufs",
			"of %u buffers %" PRIu64
			" may wait for exception ports: a flood for the kernel may "
			"leave few for packets to be relayed",
			c->mbufs, waiting);
}

// The kernel sees the packets of such a port, too.
static void warn_seen_twice(const struct warner *w)
{
	for (uint32_t i = 0; i < w->conf->nb_ports; i++) {
		const struct conf_port *p = &w->conf->ports[i];
		char key[64];

		if (p->exception.name == NULL || p->exception.netns != NULL ||
			strncmp(p->device, SEEN_TWICE, strlen(SEEN_TWICE)) != 0)
			continue;
		snprintf(key, sizeof(key), "ports[%u].exception.netns", i);
		warn(w, key,
			"with " SEEN_TWICE " the kernel receives every packet itself, and would "
			"answer clients for the addresses of %s: name a namespace for it",
			p->exception.name);
	}
}

// Peers are judged by the IPv4 address they carry, so a rule for the carrier never matches.
static void warn_prefixes(
	const struct warner *w, const char *key, const struct prefix *list, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++) {
		const struct addr first = addr_canonical(list[i].addr);
		const struct addr_range r = prefix_range(&list[i]);
		const struct addr last = addr_canonical(r.hi);
		char text[ADDR_TEXT_LEN];

		if (addr_eq(&last, &r.hi) || addr_is_v4(&first) != addr_is_v4(&last))
			continue;
		warn(w, key,
			"%s/%u never matches: peers are judged by the IPv4 address embedded in it, "
			"write that",
			addr_format(&list[i].addr, text, sizeof(text)), list[i].len);
	}
}

// Relay addresses of a family that are fewer than the workers are cut into slices of port bits
// 1 to 6.
static void warn_relay(const struct warner *w)
{
	const struct turn_config *t = &w->conf->turn;
	const uint32_t range = (uint32_t)t->port_hi - t->port_lo + 1;
	uint32_t nb[2] = {0, 0};

	if (t->shared)
		return;
	for (uint32_t i = 0; i < t->nb_relay; i++)
		nb[addr_is_v4(&t->relay[i])]++;
	for (unsigned int v4 = 0; v4 < 2; v4++) {
		if (nb[v4] > 0 && nb[v4] < w->conf->workers && range < 2 * TURN_SLICES)
			warn(w, "relay.ports",
				"%u ports are too few for every worker to have some of IPv%c: use "
				"at least %u ports, or as many addresses as workers",
				range, v4 != 0 ? '4' : '6', 2 * TURN_SLICES);
	}
}

void conf_warnings(const struct conf *c, void (*say)(void *ctx, const char *line), void *ctx)
{
	const struct warner w = {c, say, ctx};

	warn_workers(&w);
	warn_exceptions(&w);
	warn_seen_twice(&w);
	warn_relay(&w);
	warn_auth(&w);
	warn_prefixes(&w, "peers.allow", c->turn.allow, c->turn.nb_allow);
	warn_prefixes(&w, "peers.deny", c->turn.deny, c->turn.nb_deny);
}
