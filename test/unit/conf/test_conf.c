// SPDX-License-Identifier: BSD-3-Clause
// The configuration that valid files produce.
#include <glob.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <syslog.h>

#include "addr_text.h"
#include "conf_file.h"
#include "feature_names.h"
#include "reading/value.h"
#include "schema/schema.h"
#include "test.h"

static struct conf *load(const char *path)
{
	char error[CONF_ERROR_LEN], full[512];
	struct conf *c;

	snprintf(full, sizeof(full), SOURCE_ROOT "/%s", path);
	c = conf_load(full, error);
	if (c == NULL)
		fail_msg("%s", error);
	return c;
}

static struct conf *load_text(const char *text)
{
	char error[CONF_ERROR_LEN];
	struct conf *c = conf_file_load(text, strlen(text), error);

	if (c == NULL)
		fail_msg("%s", error);
	return c;
}

static void assert_prefix(const struct prefix *p, const char *text)
{
	struct prefix want;

	assert_int_equal(addr_prefix_parse(text, &want), 0);
	assert_true(addr_eq(&p->addr, &want.addr));
	assert_int_equal(p->len, want.len);
}

// The file that the fixed keys were published with.
static void test_issue_file(void **state)
{
	struct conf *c = load("test/unit/conf/data/issue.yaml");
	const struct turn_config *t = &c->turn;

	assert_string_equal(c->eal_lcores, "0@(0-1),1@0,2@1");
	assert_string_equal(c->eal_file_prefix, "slipring");
	assert_int_equal(c->nb_eal_args, 0);
	assert_int_equal(c->workers, 2);
	assert_int_equal(c->idle, CONF_IDLE_ADAPTIVE);
	assert_int_equal(c->nb_ports, 1);
	assert_string_equal(c->ports[0].name, "wan");
	assert_string_equal(c->ports[0].device, "net_af_packet0,iface=d0,qpairs=2");
	assert_int_equal(c->ports[0].nb_addresses, 2);
	assert_addr(&c->ports[0].addresses[0].addr, "10.99.0.1");
	assert_int_equal(c->ports[0].addresses[0].prefix_len, 120);
	assert_addr(&c->ports[0].addresses[1].addr, "fd99::1");
	assert_int_equal(c->ports[0].addresses[1].prefix_len, 64);
	assert_int_equal(c->ports[0].nb_gateways, 1);
	assert_addr(&c->ports[0].gateways[0], "10.99.0.254");
	assert_int_equal(c->ports[0].vlan, 0);
	assert_int_equal(c->ports[0].mtu, 1500);
	assert_int_equal(c->ports[0].steering, CONF_STEERING_AUTO);
	assert_int_equal(c->ports[0].uso, CONF_USO_AUTO);

	assert_int_equal(t->nb_listeners, 2);
	assert_addr(&t->listeners[1].endpoint.addr, "fd99::1");
	assert_int_equal(t->listeners[1].endpoint.port, 3478);
	assert_int_equal(t->listeners[1].transport, TURN_OVER_UDP);
	assert_int_equal(t->nb_relay, 2);
	assert_addr(&t->relay[0], "10.99.0.1");
	assert_int_equal(t->port_lo, 49152);
	assert_int_equal(t->port_hi, 65535);
	assert_int_equal(t->quarantine_s, 120);
	assert_string_equal(t->first.name, "turn.test");
	assert_int_equal(t->first.nb_users, 1);
	assert_string_equal(t->first.users[0].name, "ivan");
	assert_string_equal(t->first.users[0].password, "pw");
	assert_int_equal(t->first.users[0].md5.len, 0);
	assert_int_equal(t->first.nb_secrets, 1);
	assert_string_equal(t->first.secrets[0], "s3cret");
	assert_int_equal(t->nonce_lifetime_s, 600);
	assert_string_equal(t->nonce_secret, "");
	assert_int_equal(t->limits.allocations, 100000);
	assert_int_equal(t->limits.per_user, 0);
	assert_int_equal(t->limits.per_source, 0);
	assert_int_equal(t->limits.lifetime_default_s, 600);
	assert_int_equal(t->limits.lifetime_max_s, 3600);
	assert_int_equal(t->limits.unauthenticated.rate, 20);
	assert_int_equal(t->limits.unauthenticated.burst, 100);
	assert_int_equal(t->limits.stale_nonce.rate, 10);
	assert_int_equal(t->limits.stale_nonce.burst, 20);
	assert_int_equal(t->limits.guesses.rate, 20);
	assert_int_equal(t->limits.guesses.burst, 100);
	assert_int_equal(t->limits.binding.rate, 1000);
	assert_int_equal(t->limits.binding.burst, 2000);
	assert_int_equal(c->handshakes.rate, 200);
	assert_int_equal(c->handshakes.burst, 2000);
	assert_int_equal(t->nb_allow, 2);
	assert_prefix(&t->allow[0], "10.99.0.0/24");
	assert_prefix(&t->allow[1], "fd99::/64");
	assert_int_equal(t->nb_deny, 0);
	assert_true(t->hairpin);
	assert_int_equal(c->log.target, CONF_LOG_STDERR);
	assert_int_equal(c->log.level, LOG_INFO);
	// gathered from the ports
	assert_int_equal(t->nb_local, 2);
	assert_addr(&t->local[1].addr, "fd99::1");
	assert_prefix(&t->local[1].subnet, "fd99::/64");
	assert_prefix(&t->local[0].subnet, "10.99.0.0/24");
	assert_int_equal(t->nb_gateways, 1);
	assert_addr(&t->gateways[0], "10.99.0.254");
	conf_free(c);
}

static void assert_same_limits(const struct conf *c, const struct conf *d)
{
	const struct turn_limits *l = &c->turn.limits, *m = &d->turn.limits;

	assert_int_equal(l->allocations, 2 * m->allocations); // one, against one of each family
	assert_int_equal(l->per_user, m->per_user);
	assert_int_equal(l->per_source, m->per_source);
	assert_int_equal(l->permissions, m->permissions);
	assert_int_equal(l->channels, m->channels);
	assert_int_equal(l->lifetime_default_s, m->lifetime_default_s);
	assert_int_equal(l->lifetime_max_s, m->lifetime_max_s);
	assert_memory_equal(&l->unauthenticated, &m->unauthenticated, sizeof(l->binding));
	assert_memory_equal(&l->stale_nonce, &m->stale_nonce, sizeof(l->binding));
	assert_memory_equal(&l->guesses, &m->guesses, sizeof(l->binding));
	assert_memory_equal(&l->binding, &m->binding, sizeof(l->binding));
}

// conf/slipring.yaml gives the defaults: a file without these keys must produce the same
// configuration.
static void test_reference_file_tells_defaults(void **state)
{
	struct conf *c, *d;

	if (!FEATURES_ALL)
		skip(); // the file has keys of all features
	c = load("conf/slipring.yaml");
	d = load("conf/minimal.yaml");
	assert_null(c->eal_lcores);
	assert_null(d->eal_lcores);
	assert_string_equal(c->eal_file_prefix, d->eal_file_prefix);
	assert_int_equal(c->nb_eal_args, d->nb_eal_args);
	assert_int_equal(d->workers, 0);
	assert_int_equal(c->workers, 0);
	assert_int_equal(c->idle, d->idle);
	assert_int_equal(c->idle_sleep_us, d->idle_sleep_us);
	assert_int_equal(d->idle_sleep_us, 0);
	assert_int_equal(c->ports[0].vlan, d->ports[0].vlan);
	assert_int_equal(c->ports[0].mtu, d->ports[0].mtu);
	assert_int_equal(c->ports[0].steering, d->ports[0].steering);
	assert_int_equal(c->ports[0].uso, d->ports[0].uso);
	assert_null(c->drivers_dir);
	assert_null(d->drivers_dir);
	assert_null(c->drivers);
	assert_int_equal(c->turn.listeners[0].transport, d->turn.listeners[0].transport);
	assert_int_equal(c->turn.listeners[0].endpoint.port, d->turn.listeners[0].endpoint.port);
	assert_int_equal(c->turn.listeners[0].dscp, d->turn.listeners[0].dscp);
	assert_int_equal(c->turn.port_lo, d->turn.port_lo);
	assert_int_equal(c->turn.port_hi, d->turn.port_hi);
	assert_int_equal(c->turn.quarantine_s, d->turn.quarantine_s);
	assert_int_equal(c->turn.first.nb_users, d->turn.first.nb_users);
	assert_int_equal(c->turn.nonce_lifetime_s, d->turn.nonce_lifetime_s);
	assert_string_equal(c->turn.nonce_secret, d->turn.nonce_secret);
	assert_same_limits(c, d);
	assert_int_equal(c->turn.nb_allow, d->turn.nb_allow);
	assert_int_equal(c->turn.nb_deny, d->turn.nb_deny);
	assert_int_equal(c->turn.nb_nat64, d->turn.nb_nat64);
	assert_int_equal(c->turn.hairpin, d->turn.hairpin);
	assert_int_equal(c->log.target, d->log.target);
	assert_int_equal(c->log.format, d->log.format);
	assert_string_equal(c->log.journal, d->log.journal);
	assert_int_equal(c->log.level, d->log.level);
	assert_int_equal(c->log.rate, d->log.rate);
	assert_int_equal(d->log.rate, 200);
	assert_int_equal(c->log.bursts_s, d->log.bursts_s);
	assert_memory_equal(&c->records, &d->records, sizeof(c->records));
	assert_int_equal(c->records.rotate, 100 * 1024 * 1024);
	assert_null(c->records.file);
	assert_int_equal(c->turn.interim_s, d->turn.interim_s);
	assert_int_equal(c->events, d->events);
	assert_false(c->debug.core_dumps);
	assert_false(d->debug.core_dumps);
	assert_false(c->debug.faults);
	assert_memory_equal(&c->watch, &d->watch, sizeof(c->watch));
	assert_memory_equal(&c->crash, &d->crash, sizeof(c->crash));
	assert_memory_equal(&c->debug, &d->debug, sizeof(c->debug));
	assert_int_equal(c->watch.abort_ms, 2000);
	assert_int_equal(c->mbufs, d->mbufs);
	assert_int_equal(c->rx_ring, d->rx_ring);
	assert_int_equal(c->tx_ring, d->tx_ring);
	assert_int_equal(c->handover_ring, d->handover_ring);
	assert_int_equal(c->requests, d->requests);
	assert_int_equal(c->backlog, d->backlog);
	assert_int_equal(c->neigh_entries, d->neigh_entries);
	assert_int_equal(c->neigh_held, d->neigh_held);
	assert_memory_equal(&c->fragments, &d->fragments, sizeof(c->fragments));
	assert_int_equal(c->neigh_held_each, d->neigh_held_each);
	assert_int_equal(c->neigh_ask_rate, d->neigh_ask_rate);
	assert_int_equal(c->icmp_rate, d->icmp_rate);
	assert_int_equal(c->turn.icmp_tell, d->turn.icmp_tell);
	assert_int_equal(c->turn.default_family, d->turn.default_family);
	assert_null(c->streams.netns);
	assert_null(d->streams.netns);
	assert_memory_equal(&c->streams, &d->streams, sizeof(c->streams));
	assert_memory_equal(&c->dtls, &d->dtls, sizeof(c->dtls));
	assert_null(c->tls.certificate);
	assert_int_equal(c->tls.min_version, d->tls.min_version);
	conf_free(c);
	conf_free(d);
}

// TCP and TLS are handled by the kernel: their listeners may be on addresses of no port, and next
// to UDP. DTLS shares UDP's port.
static void test_stream_example(void **state)
{
	static const enum turn_transport transports[] = {TURN_OVER_UDP, TURN_OVER_DTLS,
		TURN_OVER_DTLS, TURN_OVER_TCP, TURN_OVER_TLS, TURN_OVER_AUTO};
	struct conf *c = load("conf/streams.yaml");

	assert_int_equal(c->turn.nb_listeners, 6);
	for (unsigned int i = 0; i < 6; i++) {
		assert_int_equal(c->turn.listeners[i].transport, transports[i]);
		assert_int_equal(turn_listener_is_stream(&c->turn.listeners[i]), i > 2);
	}
	assert_int_equal(c->dtls.sessions, 20000);
	assert_int_equal(c->dtls.half_open, 256);
	assert_int_equal(c->turn.nb_local, 1);
	assert_string_equal(c->tls.key, "/etc/slipring/privkey.pem");
	assert_int_equal(c->tls.min_version, CONF_TLS_1_2);
	assert_int_equal(c->streams.connections, 20000);
	assert_int_equal(c->streams.idle_s, 120);
	conf_free(c);
}

// The published defaults, as numbers.
static void test_defaults(void **state)
{
	struct conf *d = load("conf/minimal.yaml");

	assert_int_equal(d->turn.quarantine_s, 120);
	assert_int_equal(d->turn.limits.permissions, 256);
	assert_int_equal(d->turn.limits.channels, 256);
	assert_int_equal(d->turn.limits.lifetime_default_s, 600); // RFC 8656 section 3.2
	assert_int_equal(d->turn.limits.lifetime_max_s, 3600); // RFC 8656 section 7.2
	assert_int_equal(d->turn.limits.allocations, 16384); // the number of relay ports
	assert_int_equal(d->turn.limits.per_user, 4096); // a quarter
	assert_int_equal(d->turn.listeners[0].endpoint.port, 3478); // RFC 8656 section 6
	assert_int_equal(d->turn.port_lo, 49152); // RFC 6335 section 6
	assert_true(d->turn.hairpin);
	assert_int_equal(d->requests, 8);
	assert_int_equal(d->backlog, 512);
	assert_int_equal(d->neigh_entries, 4096);
	assert_int_equal(d->neigh_held, 1024);
	assert_int_equal(d->fragments.flows, 64);
	assert_int_equal(d->fragments.longest, 9000);
	assert_int_equal(d->neigh_held_each, 16);
	assert_int_equal(d->neigh_ask_rate, 1000);
	assert_int_equal(d->icmp_rate, 1000);
	assert_int_equal(d->turn.icmp_tell, TURN_ICMP_TELL_RFC8489);
	assert_int_equal(d->turn.default_family, TURN_FAMILY_IPV4);
	assert_int_equal(d->mbufs, 16384);
	conf_free(d);
}

static void test_example_files_load(void **state)
{
	glob_t g;

	if (!FEATURES_ALL)
		skip(); // the files have keys of all features
	assert_int_equal(glob(SOURCE_ROOT "/conf/*.yaml", 0, NULL, &g), 0);
	assert_true(g.gl_pathc >= 5);
	for (size_t i = 0; i < g.gl_pathc; i++)
		conf_free(load(g.gl_pathv[i] + strlen(SOURCE_ROOT "/")));
	globfree(&g);
}

// Every key of the manual appears in the reference file, by name.
static void test_reference_file_is_whole(void **state)
{
	char *page = NULL, *file = calloc(1, 65536), *line, *save;
	size_t len = 0;
	FILE *out = open_memstream(&page, &len),
	     *in = fopen(SOURCE_ROOT "/conf/slipring.yaml", "re");
	unsigned int keys = 0;

	conf_manual(out);
	fclose(out);
	assert_non_null(in);
	assert_true(fread(file, 1, 65535, in) > 0);
	fclose(in);
	for (line = strtok_r(page, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
		char path[64], leaf[66];
		const char *dot;

		if (sscanf(line, "| `%63[^`]`", path) != 1)
			continue;
		dot = strrchr(path, '.');
		snprintf(leaf, sizeof(leaf), "%s:", dot != NULL ? dot + 1 : path);
		if (strstr(file, leaf) == NULL)
			fail_msg("conf/slipring.yaml lacks %s", path);
		keys++;
	}
	assert_true(keys > 45);
	free(page);
	free(file);
}

// The manual's text of the bounds of a value; "" = no bounds.
static void bounds_of(const struct conf_key *k, char buf[48])
{
	buf[0] = '\0';
	if (k->type == CONF_HEX)
		snprintf(buf, 48, "%u hexadecimal digits", 2 * k->max);
	else if (k->type == CONF_PREFIX_FILES)
		snprintf(buf, 48, " up to %u", k->max);
	else if (k->max > 0)
		snprintf(buf, 48, " %u-%u", k->min, k->max);
}

// The manual gives the greatest number of entries of every list, and the bounds of every value:
// anything beyond is an error.
static void test_manual_has_all_bounds(void **state)
{
	char *page = NULL, bounds[48], head[80];
	const struct conf_key *k;
	unsigned int lists = 0;
	size_t len = 0;
	FILE *out = open_memstream(&page, &len);

	conf_manual(out);
	fclose(out);
	for (unsigned int i = 0; (k = conf_schema_at(&conf_file_keys, i)) != NULL; i++) {
		if ((k->flags & CONF_HIDDEN) != 0)
			break;
		const bool list = conf_value_kind(k->type) == CONF_LIST;
		const bool top = k->type == CONF_ITEMS && strchr(k->path, '.') == NULL;
		const char *row, *end;

		lists += list;
		bounds_of(k, bounds);
		if (list && bounds[0] == '\0')
			fail_msg("%s may have any number of entries", k->path);
		if (bounds[0] == '\0')
			continue;
		snprintf(head, sizeof(head), top ? "\n## %s\n" : "\n| `%s` | ", k->path);
		row = strstr(page, head);
		assert_non_null(row);
		row += strlen(head) - 1; // the blank before the value
		end = top ? strstr(row, "\n|") : strstr(row, " | ");
		if (memmem(row, (size_t)(end - row), bounds, strlen(bounds)) == NULL)
			fail_msg("the manual lacks%s of %s", bounds, k->path);
	}
	assert_true(lists > (FEATURES_ALL ? 30 : 20));
	free(page);
}

static void test_good_text(void **state)
{
	struct conf *c = load_text(conf_good);

	assert_int_equal(c->nb_ports, 2);
	assert_int_equal(c->ports[1].nb_addresses, 9);
	assert_addr(&c->ports[1].addresses[0].addr, "10.1.0.1");
	assert_addr(&c->ports[1].addresses[8].addr, "10.1.0.9");
	assert_int_equal(c->ports[1].addresses[8].prefix_len, 112);
	assert_int_equal(c->ports[1].nb_gateways, 0);
	assert_int_equal(c->turn.nb_local, 11);
	assert_int_equal(c->turn.nb_relay, 5);
	assert_addr(&c->turn.relay[4], "10.1.0.4");
	// 10.1.0.1-10.1.0.6 is .1/32 .2/31 .4/31 .6/32
	assert_int_equal(c->turn.nb_allow, 5);
	assert_prefix(&c->turn.allow[2], "10.1.0.2/31");
	assert_prefix(&c->turn.deny[0], "fd00:1::/32");
	assert_null(c->turn.first.users[1].password);
	assert_int_equal(c->turn.first.users[1].md5.len, 16);
	assert_int_equal(c->turn.first.users[1].md5.bytes[1], 0x23);
	assert_int_equal(c->turn.first.users[1].md5.bytes[15], 0xef);
	assert_int_equal(c->turn.first.users[1].sha256.len, 0);
	conf_free(c);
}

static struct conf *load_edit(const char *piece, const char *replacement)
{
	char *text = conf_file_edit(piece, replacement);
	struct conf *c = load_text(text);

	free(text);
	return c;
}

static void test_relay_prefix(void **state)
{
	// all hosts of 10.1.0.0/29: network and broadcast address are not used
	struct conf *c = load_edit("10.1.0.2-10.1.0.4", "10.1.0.0/29");

	assert_int_equal(c->turn.nb_relay, 8);
	assert_addr(&c->turn.relay[2], "10.1.0.1");
	assert_addr(&c->turn.relay[7], "10.1.0.6");
	conf_free(c);
	// RFC 3021: both of a /31
	c = load_edit("10.1.0.2-10.1.0.4", "10.1.0.2/31");
	assert_int_equal(c->turn.nb_relay, 4);
	conf_free(c);
	c = load_edit("10.1.0.2-10.1.0.4", "10.1.0.2/32");
	assert_int_equal(c->turn.nb_relay, 3);
	conf_free(c);
}

static void test_nat64(void **state)
{
	struct conf *c = load_edit("  hairpin: true\n",
		"  nat64: ['2a00:64::/96', '64:ff9b:1::/48', 'fd00:64::/32']\n");

	assert_int_equal(c->turn.nb_nat64, 3);
	assert_prefix(&c->turn.nat64[0], "2a00:64::/96");
	assert_prefix(&c->turn.nat64[1], "64:ff9b:1::/48");
	assert_prefix(&c->turn.nat64[2], "fd00:64::/32");
	conf_free(c);
}

static void test_v6_prefix_is_all_addresses(void **state)
{
	struct conf *c = load_edit("10.1.0.1-10.1.0.9/16]",
		"10.1.0.1-10.1.0.9/16, "
		"'fd02::10-fd02::1f/64']");
	const struct addr last = addr_text("fd02::1f");

	assert_int_equal(c->ports[1].nb_addresses, 25);
	assert_true(addr_eq(&c->ports[1].addresses[24].addr, &last));
	conf_free(c);
}

static void test_many_addresses(void **state)
{
	struct conf *c = load_edit("10.1.0.1-10.1.0.9/16", "10.1.0.1-10.1.16.0/16");

	assert_int_equal(c->ports[1].nb_addresses, 4096);
	assert_addr(&c->ports[1].addresses[4095].addr, "10.1.16.0");
	conf_free(c);
}

static void test_link_local_gateway(void **state)
{
	struct conf *c = load_edit("[10.0.0.254]", "[10.0.0.254, 'fe80::1']");

	assert_int_equal(c->ports[0].nb_gateways, 2);
	conf_free(c);
}

static void test_values(void **state)
{
	struct conf *c = load_edit("log:", "test-constants: {relay.quarantine: 0}\nlog:");

	assert_int_equal(c->turn.quarantine_s, 0);
	conf_free(c);
	c = load_edit("hairpin: true", "hairpin: false");
	assert_false(c->turn.hairpin);
	conf_free(c);
	c = load_edit("idle: adaptive", "idle: saving");
	assert_int_equal(c->idle, CONF_IDLE_SAVING);
	assert_string_equal(conf_idle_name(c->idle), "saving");
	conf_free(c);
	c = load_edit("idle: adaptive", "idle: busy");
	assert_int_equal(c->idle, CONF_IDLE_BUSY);
	conf_free(c);
	c = load_edit("vlan: 0", "uso: on");
	assert_int_equal(c->ports[0].uso, CONF_USO_ON);
	conf_free(c);
	c = load_edit("vlan: 0", "uso: off");
	assert_int_equal(c->ports[0].uso, CONF_USO_OFF);
	conf_free(c);
	c = load_edit("level: info", "level: debug");
	assert_int_equal(c->log.level, LOG_DEBUG);
	conf_free(c);
	c = load_edit("to: stderr", "to: syslog");
	assert_int_equal(c->log.target, CONF_LOG_SYSLOG);
	conf_free(c);
	c = load_edit("log: {to: stderr, level: info}",
		"log: {to: journal, format: json}\n"
		"test-constants: {log.journal: /tmp/socket, log.rate: 0}");
	assert_int_equal(c->log.target, CONF_LOG_JOURNAL);
	assert_int_equal(c->log.format, CONF_LOG_JSON);
	assert_string_equal(c->log.journal, "/tmp/socket");
	assert_int_equal(c->log.rate, 0);
	conf_free(c);
	// text that looks like another type is still text
	c = load_edit("password: hunter2", "password: 123456");
	assert_string_equal(c->turn.first.users[0].password, "123456");
	conf_free(c);
	c = load_edit("args: []", "args: [--no-huge, -m, '256']");
	assert_int_equal(c->nb_eal_args, 3);
	assert_string_equal(c->eal_args[2], "256");
	conf_free(c);
	c = load_edit("ports: 49152-65535", "ports: 50000-50001");
	assert_int_equal(c->turn.port_lo, 50000);
	assert_int_equal(c->turn.port_hi, 50001);
	conf_free(c);
	c = load_edit(
		"log:", "test-constants: {buffers.rx-ring: 64, buffers.tx-ring: 32768}\nlog:");
	assert_int_equal(c->rx_ring, 64);
	assert_int_equal(c->tx_ring, 32768);
	conf_free(c);
	c = load_edit("log: {", "drivers: \"\"\nlog: {");
	assert_string_equal(c->drivers_dir, "");
	conf_free(c);
	c = load_edit("log: {", "control: {socket: \"\", group: adm, readers: users}\nlog: {");
	assert_string_equal(c->control.socket, "");
	assert_string_equal(c->control.group, "adm");
	assert_string_equal(c->control.readers, "users");
	assert_int_equal(c->control.connections, 64);
	conf_free(c);
	// a section whose lines are all commented out
	c = load_edit("log: {to: stderr, level: info}", "log:\n#  level: debug");
	assert_int_equal(c->log.level, LOG_INFO);
	conf_free(c);
}

// Each time accepts the units: one key stands for all.
static void test_seconds_take_units(void **state)
{
	struct conf *c = load_edit("log:",
		"test-constants: {relay.quarantine: 3m,\n"
		"  limits.lifetime.default: 20m, log.bursts: 1m,\n"
		"  streams.handshake: 5s, streams.idle: 1h, dtls.handshake: 6s, dtls.idle: 1d}\n"
		"log:");

	assert_int_equal(c->turn.quarantine_s, 180);
	assert_int_equal(c->turn.limits.lifetime_default_s, 1200);
	assert_int_equal(c->log.bursts_s, 60);
	assert_int_equal(c->streams.handshake_s, 5);
	assert_int_equal(c->streams.idle_s, 3600);
	assert_int_equal(c->dtls.handshake_s, 6);
	assert_int_equal(c->dtls.idle_s, 86400);
	conf_free(c);
	c = load_edit("{max: 3600}", "{max: 2h, permission: 5m, channel: 10m}");
	assert_int_equal(c->turn.limits.lifetime_max_s, 7200);
	assert_int_equal(c->turn.rest_expiry, TURN_REST_IGNORED);
	assert_int_equal(c->turn.limits.permission_s, 300);
	assert_int_equal(c->turn.limits.channel_s, 600);
	conf_free(c);
	c = load_edit("log:", "records: {interim: 10m}\nlog:");
	assert_int_equal(c->turn.interim_s, 600);
	conf_free(c);
	c = load_edit("lifetime: 600", "lifetime: 1h");
	assert_int_equal(c->turn.nonce_lifetime_s, 3600);
	conf_free(c);
}

static void test_areas(void **state)
{
	struct conf *c =
		load_edit("level: info", "level: warning, areas: {auth: debug, dpdk: error}");

	for (unsigned int i = 0; i < CONF_AREA_END; i++)
		assert_int_equal(conf_area_level(&c->log, i),
			i == CONF_AREA_AUTH           ? LOG_DEBUG
				: i == CONF_AREA_DPDK ? LOG_ERR
						      : LOG_WARNING);
	conf_free(c);
	for (unsigned int i = 0; i < CONF_AREA_END; i++)
		assert_int_equal(conf_area_find(conf_area_name(i)), i);
	assert_null(conf_area_name(CONF_AREA_END));
	assert_int_equal(conf_area_find("all"), -1);
	for (int level = LOG_ERR; level <= LOG_DEBUG; level++)
		assert_int_equal(conf_level_find(conf_level_name(level)), level);
	assert_null(conf_level_name(LOG_CRIT));
	assert_null(conf_level_name(LOG_DEBUG + 1));
	assert_int_equal(conf_level_find("warn"), -1);
}

static void test_lcores_forms(void **state)
{
	static const char *const enough[] = {"0-2", "(0-2)", "0,1,2", "'0@0,(1,2)@(0-1)'", "5-3",
		"'0@(0,1),(3-4)@1,7'", "0-127"};

	for (size_t i = 0; i < sizeof(enough) / sizeof(enough[0]); i++)
		conf_free(load_edit("0@(0-1),1@0,2@1", enough[i]));
}

static void test_realm_lengths(void **state)
{
	char realm[800] = "realm: ";

	memset(realm + 7, 'r', 763);
	conf_free(load_edit("realm: turn.test", realm));
}

// systemd sets the variable for a unit with RuntimeDirectory=. /dev/shm is a tmpfs like /run.
static void test_state_of_the_unit(void **state)
{
	struct conf *c;

	unsetenv("RUNTIME_DIRECTORY");
	c = load_text(conf_good);
	assert_null(c->state.file);
	assert_false(conf_restart_keeps(&c->state));
	conf_free(c);
	setenv("RUNTIME_DIRECTORY", "/dev/shm:/nowhere", 1);
	c = load_text(conf_good);
	assert_string_equal(c->state.file, "/dev/shm/state");
	assert_true(conf_restart_keeps(&c->state));
	conf_free(c);
	c = load_edit("log: {", "state: {file: /run/slipring/other}\nlog: {");
	assert_string_equal(c->state.file, "/run/slipring/other");
	conf_free(c);
	c = load_edit("log: {", "state: {file: ''}\nlog: {");
	assert_null(c->state.file);
	conf_free(c);
	// a disk must not hold keys, and a missing directory holds nothing
	setenv("RUNTIME_DIRECTORY", "/proc", 1);
	c = load_text(conf_good);
	assert_null(c->state.file);
	conf_free(c);
	setenv("RUNTIME_DIRECTORY", "/dev/shm/not/there", 1);
	c = load_text(conf_good);
	assert_null(c->state.file);
	conf_free(c);
	unsetenv("RUNTIME_DIRECTORY");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_issue_file),
		cmocka_unit_test(test_reference_file_tells_defaults),
		cmocka_unit_test(test_stream_example),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_example_files_load),
		cmocka_unit_test(test_reference_file_is_whole),
		cmocka_unit_test(test_manual_has_all_bounds),
		cmocka_unit_test(test_good_text),
		cmocka_unit_test(test_relay_prefix),
		cmocka_unit_test(test_nat64),
		cmocka_unit_test(test_v6_prefix_is_all_addresses),
		cmocka_unit_test(test_many_addresses),
		cmocka_unit_test(test_link_local_gateway),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_seconds_take_units),
		cmocka_unit_test(test_areas),
		cmocka_unit_test(test_lcores_forms),
		cmocka_unit_test(test_realm_lengths),
		cmocka_unit_test(test_state_of_the_unit),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
