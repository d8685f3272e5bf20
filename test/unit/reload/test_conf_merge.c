// SPDX-License-Identifier: BSD-3-Clause
// Merges a reloaded file into the running configuration, which adopts the changed keys and then
// equals the file.
#include <stdlib.h>

#include "addr_text.h"
#include "conf.h"
#include "conf_changes.h"
#include "conf_file.h"
#include "test.h"

#define WAN                                                                             \
	"  - name: wan\n"                                                               \
	"    device: net_a\n"                                                           \
	"    addresses: [10.0.0.1/24, {address: 10.0.0.2/24, external: 203.0.113.2}]\n" \
	"    gateway: [10.0.0.254]\n"                                                   \
	"    routes: [{to: 10.8.0.0/16, via: 10.0.0.253}]\n"
#define LAN "  - {name: lan, device: net_b, addresses: [10.1.0.1/24]}\n"
#define FIRST "  - {address: 10.0.0.1, dscp: 46}\n"
#define SECOND "  - {address: 10.0.0.2, port: 3479}\n"
#define REST                                                  \
	"relay: {addresses: [10.0.0.1]}\n"                    \
	"auth:\n"                                             \
	"  realm: turn.test\n"                                \
	"  users: [{name: ivan, password: Kestrel7Quartz}]\n" \
	"limits: {on-lower: keep}\n"                          \
	"workers: {count: 2, idle: adaptive}\n"               \
	"icmp: {unreachable: false}\n"                        \
	"log: {level: info}\n"                                \
	"records: {rotate: 64M}\n"                            \
	"streams: {per-source: 7}\n"                          \
	"test-constants: {limits.requests: 8, icmp.rate: 100, streams.idle: 120}\n"

static const char base[] = "ports:\n" WAN LAN "listeners:\n" FIRST SECOND REST;

static unsigned int nb_cold;
static const char *running_text = base;

static void count_cold(void *ctx, const struct conf_change *c)
{
	nb_cold += !c->hot;
}

// Loads running_text as the running configuration, and merges text into it. Returns the number of
// differing keys.
static unsigned int adopt(struct conf **running, const char *text)
{
	struct conf *fresh, *merged;
	unsigned int changes;

	*running = conf_file_said(running_text);
	fresh = conf_file_said(text);
	nb_cold = 0;
	changes = conf_changes(*running, fresh, count_cold, NULL);
	assert_int_equal(nb_cold, 0);
	merged = conf_merge(*running, fresh);
	assert_non_null(merged);
	assert_int_equal(merged->nb_ports, (*running)->nb_ports);
	conf_adopt(*running, fresh, merged);
	conf_merge_free(merged);
	conf_free(fresh);
	fresh = conf_file_said(text);
	assert_int_equal(conf_changes(*running, fresh, NULL, NULL), 0);
	conf_free(fresh);
	return changes;
}

static void numbers_are_taken(void **state)
{
	char *a = conf_text_edit(base, "on-lower: keep", "on-lower: end");
	char *b = conf_text_edit(a, "requests: 8, icmp.rate: 100, streams.idle: 120",
		"requests: 3, icmp.rate: 0, streams.idle: 60, icmp.errors-in: 5");
	char *c = conf_text_edit(b, "idle: adaptive", "idle: saving");
	char *d = conf_text_edit(c, "level: info", "level: debug");
	char *e = conf_text_edit(d, "rotate: 64M", "rotate: 1M, file: /var/log/a");
	char *f = conf_text_edit(e, "per-source: 7", "per-source: 8");
	struct conf *r;

	assert_int_equal(adopt(&r, f), 10);
	assert_true(r->lower_ends);
	assert_int_equal(r->requests, 3);
	assert_int_equal(r->icmp_rate, 0);
	assert_int_equal(r->icmp_errors_in, 5);
	assert_int_equal(r->idle, CONF_IDLE_SAVING);
	assert_int_equal(conf_area_level(&r->log, CONF_AREA_START), conf_level_find("debug"));
	assert_string_equal(r->records.file, "/var/log/a");
	assert_int_equal(r->records.rotate, 1024 * 1024);
	assert_int_equal(r->streams.idle_s, 60);
	assert_int_equal(r->streams.per_source, 8);
	assert_int_equal(r->workers, 2);
	conf_free(r);
	free(a);
	free(b);
	free(c);
	free(d);
	free(e);
	free(f);
}

// Ports and listeners keep their numbers, in whatever order the new file lists them.
static void the_order_of_entries_means_nothing(void **state)
{
	static const char reordered[] =
		"ports:\n" LAN "  - name: wan\n"
		"    device: net_a\n"
		"    addresses: [10.0.0.1/24, {address: 10.0.0.2/24, external: 203.0.113.9}]\n"
		"    gateway: [10.0.0.252]\n"
		"    routes: [{to: 10.9.0.0/16, via: 10.0.0.251}]\n"
		"listeners:\n"
		"  - {address: 10.0.0.2, port: 3479, dscp: 34}\n"
		"  - {address: 10.0.0.1}\n" REST;
	const struct turn_config *t;
	struct conf *r;
	bool found = false;

	assert_int_equal(adopt(&r, reordered), 6);
	t = &r->turn;
	assert_string_equal(r->ports[0].name, "wan");
	assert_string_equal(r->ports[1].name, "lan");
	assert_true(addr_eq(&r->ports[0].gateways[0], (struct addr[]){addr_text("10.0.0.252")}));
	assert_true(addr_eq(
		&r->ports[0].addresses[1].external, (struct addr[]){addr_text("203.0.113.9")}));
	assert_int_equal(r->ports[1].nb_gateways, 0);
	assert_int_equal(t->listeners[0].dscp, TURN_DSCP_COPY);
	assert_int_equal(t->listeners[1].dscp, 34 + 1);
	assert_int_equal(t->nb_local, 3);
	assert_true(addr_eq(&t->local[1].external, &r->ports[0].addresses[1].external));
	assert_int_equal(t->local[2].port, 1);
	assert_int_equal(t->nb_gateways, 2);
	for (uint32_t i = 0; i < t->nb_routes; i++) {
		if (addr_eq(&t->routes[i].via, (struct addr[]){addr_text("10.0.0.251")})) {
			assert_int_equal(t->routes[i].port, 0);
			assert_true(addr_eq(
				&t->routes[i].dst.addr, (struct addr[]){addr_text("10.9.0.0")}));
			found = true;
		}
	}
	assert_true(found);
	conf_free(r);
}

#define TLS "  - {transport: tls, address: 192.0.2.7, port: 443"
#define DTLS "  - {transport: dtls, address: all, port: 5349"

// Each listener gets the TLS settings of its entry in the new file, whatever that entry's position.
// Each configuration frees its own settings.
static void identities_go_with_their_listeners(void **state)
{
	static const char reordered[] =
		"ports:\n" WAN LAN "tls: {certificate: /c2, key: /k, alpn: [h2]}\n"
		"listeners:\n" DTLS ", tls: {certificate: /d2, key: /e2, alpn: [a, b]}}\n" FIRST TLS
		", tls: {alpn: []}}\n" REST;
	const struct turn_listener *l;
	struct conf *r;

	running_text = "ports:\n" WAN LAN "tls: {certificate: /c, key: /k}\nlisteners:\n" FIRST TLS
		       ", tls: {certificate: /d, key: /e}}\n" DTLS "}\n" REST;
	adopt(&r, reordered);
	running_text = base;
	l = r->turn.listeners;
	assert_string_equal(r->tls.certificate, "/c2");
	assert_int_equal(r->tls.nb_alpn, 1);
	assert_int_equal(r->turn.nb_listeners, 2 + 3);
	assert_int_equal(l[1].transport, TURN_OVER_TLS);
	assert_null(l[1].tls.certificate);
	assert_non_null(l[1].tls.alpn);
	assert_int_equal(l[1].tls.nb_alpn, 0);
	assert_int_equal(l[1].entry, 2);
	for (unsigned int i = 2; i < 5; i++) {
		assert_string_equal(l[i].tls.certificate, "/d2");
		assert_string_equal(l[i].tls.alpn[1], "b");
		assert_int_equal(l[i].entry, 0);
	}
	conf_free(r);
}

// Addresses and gateways learned from the network survive a reload.
static void addresses_of_the_network_stay(void **state)
{
	static const char text[] =
		"ports:\n"
		"  - {name: wan, device: net_a, addresses: [dhcp], exception: {name: sr0}}\n"
		"listeners: [{address: all}]\n"
		"relay: {addresses: all}\n"
		"auth: {realm: turn.test, users: [{name: ivan, password: Kestrel7Quartz}]}\n";
	const struct conf_learned given = {.addr = addr_text("10.0.0.7"),
		.prefix_len = 96 + 24,
		.gateway = addr_text("10.0.0.254")};
	char error[CONF_ERROR_LEN] = "";
	struct conf *running = conf_file_said(text), *fresh, *merged;

	assert_int_equal(conf_resolve(running, &given, 1, NULL, error), 0);
	fresh = conf_load_again(running, NULL);
	assert_non_null(fresh);
	assert_false(conf_pending(fresh));
	assert_int_equal(conf_changes(running, fresh, NULL, NULL), 0);
	merged = conf_merge(running, fresh);
	assert_non_null(merged);
	conf_adopt(running, fresh, merged);
	conf_merge_free(merged);
	conf_free(fresh);
	assert_true(addr_eq(&running->turn.local[0].addr, &given.addr));
	assert_int_equal(running->turn.nb_gateways, 1);
	assert_true(addr_eq(&running->turn.gateways[0], &given.gateway));
	assert_true(addr_eq(&running->turn.listeners[0].endpoint.addr, &given.addr));
	conf_free(running);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_taken),
		cmocka_unit_test(the_order_of_entries_means_nothing),
		cmocka_unit_test(identities_go_with_their_listeners),
		cmocka_unit_test(addresses_of_the_network_stay),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
