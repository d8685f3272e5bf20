// SPDX-License-Identifier: BSD-3-Clause
// The JSON object of the load generator, read back by a strict parser of RFC 8259.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/json.h"
#include "support/json_reader.h"
#include "options/opts.h"
#include "report/report.h"
#include "test.h"

#define HZ 2.5e9

static struct config c;
static struct result r;
static struct hist latency[DIRECTION_NB];
static struct search s;
static char *text; // of the last write

static void write_all(const struct server_drops *drops, const struct search *search)
{
	size_t len;
	FILE *f;

	free(text);
	text = NULL;
	f = open_memstream(&text, &len);
	assert_non_null(f);
	assert_int_equal(json_write(f, &c, &r, drops, search), 0);
	assert_int_equal(fclose(f), 0);
	assert_true(len > 0 && text[len - 1] == '\n'); // one line
	assert_ptr_equal(strchr(text, '\n'), text + len - 1);
}

static char *find(const char *path)
{
	return json_reader_find(text, path);
}

static void assert_at(const char *path, const char *want)
{
	char *got = find(path);

	if (got == NULL || strcmp(got, want) != 0)
		fail_msg("%s is %s, not %s", path, got != NULL ? got : "missing", want);
	free(got);
}

static void assert_near(const char *path, double want, double error)
{
	char *got = find(path);

	if (got == NULL || !(fabs(strtod(got, NULL) - want) <= error * fabs(want)))
		fail_msg("%s is %s, not about %g", path, got != NULL ? got : "missing", want);
	free(got);
}

static void assert_missing(const char *path)
{
	assert_null(find(path));
}

static int begin(void **state)
{
	char *argv[] = {"", "--server", "10.0.0.1", "--client-addr", "10.0.0.2/24", "--peer-addr",
		"10.0.1.2/24", "--clients", "7", "--size", "100,200", "--pps", "2500"};
	char error[OPTS_ERROR_LEN];

	if (opts_read(sizeof(argv) / sizeof(*argv), argv, &c, error) != OPTS_RUN)
		return -1;
	memset(&r, 0, sizeof(r));
	memset(&s, 0, sizeof(s));
	r.seconds = 2;
	r.hz = HZ;
	for (unsigned int d = 0; d < DIRECTION_NB; d++) {
		hist_reset(&latency[d]);
		r.direction[d].latency = &latency[d];
	}
	return 0;
}

static void fill_way(enum direction d)
{
	r.direction[d] = (struct result_way){.used = true,
		.sent = 5000,
		.sent_bytes = 750000,
		.received = 4950,
		.received_bytes = 742500,
		.delivered = 4900,
		.lost = 100,
		.duplicated = 50,
		.reordered = 3,
		.corrupted = 2,
		.latency = &latency[d]};
	for (unsigned int us = 1; us <= 1000; us++)
		hist_add(&latency[d], (uint64_t)(us * HZ / 1e6));
}

static void test_media(void **state)
{
	fill_way(DIRECTION_UP);
	write_all(NULL, NULL);
	assert_at("program", "\"slipring-loadgen\"");
	assert_at("mode", "\"channel\"");
	assert_at("direction", "\"up\"");
	assert_at("family", "\"4\"");
	assert_at("clients", "7");
	assert_at("sizes", "[100,200]");
	assert_at("offered_pps", "2500");
	assert_at("burst", "1");
	assert_at("seconds", "2");
	assert_at("total_sent", "5000");
	assert_at("total_recv", "4900"); // delivered, not received
	assert_at("send_pps", "2500");
	assert_at("recv_pps", "2450");
	assert_at("ways/up/sent", "5000");
	assert_at("ways/up/received", "4950");
	assert_at("ways/up/delivered", "4900");
	assert_at("ways/up/lost", "100");
	assert_at("ways/up/duplicated", "50");
	assert_at("ways/up/reordered", "3");
	assert_at("ways/up/corrupted", "2");
	assert_near("ways/up/loss", 0.02, 1e-9);
	assert_near("ways/up/latency_us/min", 1, 1e-6);
	assert_near("ways/up/latency_us/p50", 500, 0.01);
	assert_near("ways/up/latency_us/p90", 900, 0.01);
	assert_near("ways/up/latency_us/p99", 990, 0.01);
	assert_near("ways/up/latency_us/p99.9", 999, 0.01);
	assert_near("ways/up/latency_us/max", 1000, 1e-6);
	assert_missing("ways/down");
	assert_missing("ways/echo");
	assert_missing("alive");
	assert_missing("server_drops");
	assert_missing("search");
}

static void test_ways(void **state)
{
	// Both directions at a time: sums
	fill_way(DIRECTION_UP);
	fill_way(DIRECTION_DOWN);
	c.direction[DIRECTION_DOWN] = true;
	write_all(NULL, NULL);
	assert_at("direction", "\"both\"");
	assert_at("total_sent", "10000");
	assert_at("total_recv", "9800");
	assert_at("send_pps", "5000");
	// An echo, and the peers' view of the upward direction: that is not counted twice
	r.direction[DIRECTION_DOWN].used = false;
	fill_way(DIRECTION_ECHO);
	r.direction[DIRECTION_ECHO].delivered = 4000;
	write_all(NULL, NULL);
	assert_at("total_sent", "5000");
	assert_at("total_recv", "4000");
	assert_at("ways/up/delivered", "4900");
	assert_at("ways/echo/delivered", "4000");
}

static void test_nothing_measured(void **state)
{
	r.direction[DIRECTION_UP].used = true;
	r.seconds = 0;
	r.hz = 0;
	write_all(NULL, NULL);
	assert_at("send_pps", "0");
	assert_at("recv_pps", "0");
	assert_at("allocations_per_s", "0");
	assert_at("ways/up/loss", "0");
	assert_at("ways/up/latency_us/p50", "null");
	assert_at("ways/up/latency_us/p99.9", "null");
	// C numbers that JSON does not have are not written
	r.setup_s = NAN;
	r.seconds = INFINITY;
	c.rate = -INFINITY;
	r.nb_lanes = 1;
	r.lane[0].busy = NAN;
	write_all(NULL, NULL);
	assert_at("setup_seconds", "null");
	assert_at("seconds", "null");
	assert_at("offered_pps", "null");
	assert_at("lcores/0/busy", "null");
}

static void test_generator(void **state)
{
	r.due = 10;
	r.missed = 1;
	r.tx_full = 2;
	r.rx_missed = 3;
	r.no_mbuf = 4;
	r.bad_frames = 5;
	r.stray = 6;
	r.uso_why = "no \"USO\"\\\n";
	write_all(NULL, NULL);
	assert_at("generator/bound", "false");
	assert_at("generator/reasons", "[]");
	assert_at("generator/due", "10");
	assert_at("generator/missed", "1");
	assert_at("generator/tx_full", "2");
	assert_at("generator/rx_missed", "3");
	assert_at("generator/no_mbuf", "4");
	assert_at("generator/bad_frames", "5");
	assert_at("stray", "6");
	assert_at("uso", "false");
	assert_at("uso_why", "\"no \\\"USO\\\"\\\\\\n\"");
	r.bound[BOUND_SCHEDULE] = r.bound[BOUND_NO_MBUF] = true;
	r.uso = true;
	r.super_sent = (struct result_super){.frames = 3, .datagrams = 40};
	r.super_received = (struct result_super){.frames = 2, .datagrams = 20};
	write_all(NULL, NULL);
	assert_at("generator/bound", "true");
	assert_at("generator/reasons", "[\"missed-schedule\",\"no-mbuf\"]");
	assert_at("uso", "true");
	assert_at("uso_why", "null");
	assert_at("super_sent", "{\"frames\":3,\"datagrams\":40}");
	assert_at("super_received", "{\"frames\":2,\"datagrams\":20}");
}

static void test_clients(void **state)
{
	c.client.addrs.lo.d[0] = 0xfd; // some IPv6 address
	r.allocations = 500;
	r.releases = 400;
	r.setup_s = 1.25;
	r.clients.state[CLIENT_READY] = 5;
	r.clients.state[CLIENT_FAILED] = 2;
	r.clients.requests = 30;
	r.clients.retransmissions = 4;
	r.clients.challenges = 7;
	r.clients.fault[CLIENT_FAULT_TIMEOUT] = 9;
	r.clients.error[486 - 300] = 3;
	r.clients.error[699 - 300] = 1;
	write_all(NULL, NULL);
	assert_at("family", "\"6-4\"");
	assert_at("allocations", "500");
	assert_at("releases", "400");
	assert_at("allocations_per_s", "250");
	assert_at("clients_ready", "5");
	assert_at("clients_failed", "2");
	assert_at("setup_seconds", "1.25");
	assert_at("requests", "30");
	assert_at("retransmissions", "4");
	assert_at("challenges", "7");
	assert_at("faults/timeout", "9");
	assert_at("faults/refused", "0"); // all names, so that scripts need no checks
	assert_at("error_codes", "{\"486\":3,\"699\":1}");
}

static void test_lanes_and_drops(void **state)
{
	static struct server_drops drops = {
		.n = 3, .drop = {{"no_permission", 12}, {"zero", 0}, {"odd \x01\xff\"name", 1}}};

	r.nb_lanes = 2;
	r.lane[1] = (struct result_lane){.lcore = 3,
		.receives = true,
		.received = 8,
		.missed = 1,
		.tx_full = 2,
		.busy = 0.5,
		.max_gap_us = 12.5};
	c.mode = MODE_INVALID;
	r.answered = 4;
	r.errors = 3;
	r.alive = true;
	write_all(&drops, NULL);
	assert_at("lcores/0/sends", "false");
	assert_at("lcores/1",
		"{\"lcore\":3,\"sends\":false,\"receives\":true,\"sent\":0,\"received\":8,"
		"\"missed\":1,\"tx_full\":2,\"busy\":0.5,\"max_gap_us\":12.5}");
	assert_at("server_drops",
		"{\"no_permission\":12,\"odd \\u0001\xef\xbf\xbd\\\"name\":1}"); // without zeros
	assert_at("alive", "true");
	assert_at("answered", "4");
	assert_at("errors", "3");
}

static void test_links(void **state)
{
	write_all(NULL, NULL);
	assert_at("transport", "\"udp\"");
	assert_missing("links");
	c.transport = TRANSPORT_TCP;
	r.link.opened = 5;
	r.link.up = 4;
	r.link.failed = 1;
	r.link.broken = 2;
	r.link.held_back = 9;
	write_all(NULL, NULL);
	assert_at("transport", "\"tcp\"");
	assert_at("links",
		"{\"cipher\":null,\"opened\":5,\"up\":4,\"failed\":1,\"broken\":2,"
		"\"held_back\":9}");
	c.transport = TRANSPORT_DTLS;
	snprintf(r.cipher, sizeof(r.cipher), "DTLSv1.2 X");
	write_all(NULL, NULL);
	assert_at("links/cipher", "\"DTLSv1.2 X\"");
}

static void test_injected(void **state)
{
	write_all(NULL, NULL);
	assert_missing("injected");
	c.peer_echo = true;
	r.injected[RESULT_INJECTED_REORDER] = 4;
	write_all(NULL, NULL);
	assert_at("injected", "{\"loss\":0,\"duplicate\":0,\"reorder\":4,\"corrupt\":0}");
}

static void test_search(void **state)
{
	const struct search_params p = {
		.lo = 100, .hi = 800, .resolution = 0.5, .loss = 0.005, .repeats = 1};
	const double capacity = 300;
	char points[32];
	double rate;

	c.search = WANT_PDR;
	assert_int_equal(search_init(&s, &p), 0);
	while (search_next(&s, &rate)) {
		const double out = rate < capacity ? rate : capacity;
		const struct search_trial t = {.rate = rate,
			.offered = rate,
			.delivered = out,
			.loss = 1 - out / rate,
			.p50_us = s.nb_trials > 0 ? 1.5 : 0,
			.p99_us = 99.25};

		search_report(&s, &t);
	}
	write_all(NULL, &s);
	assert_at("search/kind", "\"pdr\"");
	assert_at("search/state", "\"found\"");
	assert_near("search/rate", 250, 0.2); // below the capacity, to within the resolution
	assert_near("search/failed_at", 400, 0.34);
	assert_near("search/accepted_loss", 0.005, 1e-9);
	assert_at("search/points/0/rate", "800");
	assert_at("search/points/0/offered", "800");
	assert_at("search/points/0/delivered", "300");
	assert_near("search/points/0/loss", 0.625, 1e-9);
	assert_at("search/points/0/p50", "null"); // unknown
	assert_at("search/points/1/p50", "1.5");
	assert_at("search/points/1/p99", "99.25");
	assert_at("search/points/0/bound", "false");
	snprintf(points, sizeof(points), "search/points/%u", s.nb_trials - 1);
	free(find(points));
	snprintf(points, sizeof(points), "search/points/%u", s.nb_trials);
	assert_missing(points);
	// The counters next to it are those of the last trial
	assert_near("offered_pps", s.trial[s.nb_trials - 1].rate, 1e-9);
	// Stopped before there was a result
	assert_int_equal(search_init(&s, &p), 0);
	write_all(NULL, &s);
	assert_at("search/state", "\"stopped\"");
	assert_at("search/points", "[]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_media, begin),
		cmocka_unit_test_setup(test_ways, begin),
		cmocka_unit_test_setup(test_nothing_measured, begin),
		cmocka_unit_test_setup(test_generator, begin),
		cmocka_unit_test_setup(test_clients, begin),
		cmocka_unit_test_setup(test_lanes_and_drops, begin),
		cmocka_unit_test_setup(test_links, begin),
		cmocka_unit_test_setup(test_injected, begin),
		cmocka_unit_test_setup(test_search, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
