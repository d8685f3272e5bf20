// SPDX-License-Identifier: BSD-3-Clause
// The load generator's text output: columns that are aligned and correct, reasons why a result is
// not the server's, readable figures.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options/opts.h"
#include "report/report.h"
#include "report/report_result.h"
#include "report/report_search.h"
#include "report/text.h"
#include "test.h"

static struct config c;
static struct result r;
static struct hist latency[DIRECTION_NB];
static char *text;
static size_t text_len;
static FILE *out;

static int begin(void **state)
{
	char *argv[] = {"", "--server", "10.0.0.1", "--client-addr", "10.0.0.2-10.0.0.5/24",
		"--peer-addr", "fd00::2/64", "--clients", "1000", "--pps", "50k", "--user", "ivan",
		"--password", "geheim"};
	char error[OPTS_ERROR_LEN];

	if (opts_read(sizeof(argv) / sizeof(*argv), argv, &c, error) != OPTS_RUN)
		return -1;
	memset(&r, 0, sizeof(r));
	r.seconds = 10;
	r.hz = 1e9;
	for (unsigned int d = 0; d < DIRECTION_NB; d++) {
		hist_reset(&latency[d]);
		r.direction[d].latency = &latency[d];
	}
	free(text);
	out = open_memstream(&text, &text_len);
	report_begin(out, &c);
	return fflush(out);
}

static int end(void **state)
{
	fclose(out);
	free(text);
	text = NULL;
	return 0;
}

static void assert_said(const char *want)
{
	fflush(out);
	if (strstr(text, want) == NULL)
		fail_msg("'%s' is not in:\n%s", want, text);
}

static void assert_unsaid(const char *want)
{
	fflush(out);
	if (strstr(text, want) != NULL)
		fail_msg("'%s' is in:\n%s", want, text);
}

// Starts with an empty output.
static void forget(void)
{
	fclose(out);
	free(text);
	out = open_memstream(&text, &text_len);
	assert_non_null(out);
}

static unsigned int count_said(const char *want)
{
	unsigned int n = 0;

	fflush(out);
	for (const char *hit = text; (hit = strstr(hit, want)) != NULL; hit++)
		n++;
	return n;
}

static void fill_way(enum direction d)
{
	r.direction[d].used = true;
	r.direction[d].sent = 500000;
	r.direction[d].delivered = 499990;
	r.direction[d].lost = 10;
	for (unsigned int us = 1; us <= 1000; us++)
		hist_add(&latency[d], us * 1000);
}

static void test_texts(void **state)
{
	assert_string_equal(text_count(0).s, "0");
	assert_string_equal(text_count(999).s, "999");
	assert_string_equal(text_count(1000).s, "1,000");
	assert_string_equal(text_count(UINT64_MAX).s, "18,446,744,073,709,551,615");
	assert_string_equal(text_rate(0).s, "0");
	assert_string_equal(text_rate(0.5).s, "0.50");
	assert_string_equal(text_rate(9.999).s, "10");
	assert_string_equal(text_rate(12345.6).s, "12,346");
	assert_string_equal(text_rate(NAN).s, "?");
	assert_string_equal(text_rate(INFINITY).s, "?");
	// Only zero is "0": a single lost datagram must show
	assert_string_equal(text_percent(0).s, "0");
	assert_string_equal(text_percent(1e-9).s, "<0.0001");
	assert_string_equal(text_percent(1e-5).s, "0.00100");
	assert_string_equal(text_percent(0.00123).s, "0.123");
	assert_string_equal(text_percent(0.0123).s, "1.23");
	assert_string_equal(text_percent(0.5).s, "50.0");
	assert_string_equal(text_percent(1).s, "100.0");
	assert_string_equal(text_percent(NAN).s, "?");
	assert_string_equal(text_us(0.04).s, "0.0");
	assert_string_equal(text_us(12.34).s, "12.3");
	assert_string_equal(text_us(12345.6).s, "12,346");
	assert_string_equal(text_us(-1).s, "?");
	assert_string_equal(text_seconds(0.25).s, "0.25");
	assert_string_equal(text_seconds(10).s, "10");
	assert_string_equal(text_seconds(3600).s, "3,600");
}

static void test_begin(void **state)
{
	assert_said("channel, up (clients to peers), clients on IPv4, peers on IPv6");
	assert_said("10.0.0.1:3478, user ivan, SHA-1, lifetime 600 s");
	assert_unsaid("geheim");
	assert_said("1,000 of 10.0.0.2-10.0.0.5, ports 10000-59999");
	assert_said("50,000 pps (48 Mb/s of payload), 120 bytes, 10 s");
}

// On output that is not a terminal: a line every five seconds, and the last one.
static void test_setup(void **state)
{
	struct client_stats s = {.state = {[CLIENT_READY] = 400, [CLIENT_ALLOCATING] = 256}};

	forget();
	for (unsigned int second = 1; second <= 12; second++)
		report_setup(out, &s, 1000, second, false);
	assert_int_equal(count_said("set-up"), 3);
	assert_said("400 of 1,000 clients ready, 256 asking, 400 a second");
	forget();
	s.state[CLIENT_READY] = 997;
	s.state[CLIENT_ALLOCATING] = 0;
	s.state[CLIENT_FAILED] = 3;
	s.requests = 3010;
	s.retransmissions = 10;
	s.fault[CLIENT_FAULT_TIMEOUT] = 1;
	s.fault[CLIENT_FAULT_REFUSED] = 2;
	s.error[486 - 300] = 2;
	report_setup(out, &s, 1000, 12.5, true);
	assert_said("997 of 1,000 clients ready in 12.5 s, 3 failed");
	assert_said("3,010 requests, 10 sent again");
	assert_said("1 clients: timeout");
	assert_said("2 answers: 486 Allocation Quota Reached");
	assert_unsaid("\r"); // not a terminal
	assert_unsaid("limits answers per source");
	s.retransmissions = 200; // one in fifteen
	report_setup(out, &s, 1000, 12.5, true);
	assert_said("limits answers per source");
	// The tear-down begins with new lines
	forget();
	report_teardown(out, &s, 1000, 1, false);
	assert_said("997 of 1,000 clients left");
}

// Columns end where their headings end.
static void assert_aligned(const char *heading, const char *value, const char *title)
{
	const char *h, *v;

	fflush(out);
	h = strstr(text, heading);
	v = strstr(text, value);
	assert_non_null(h);
	assert_non_null(v);
	while (h > text && h[-1] != '\n')
		h--;
	h = strstr(h, title) + strlen(title);
	for (const char *line = text;; line = strchr(line, '\n') + 1) {
		const char *next = strchr(line, '\n');

		if (h >= line && h <= next)
			h -= line - text;
		if (v >= line && v <= next) {
			v -= line - text;
			break;
		}
	}
	assert_int_equal(v + strlen(value) - text, h - text);
}

static void test_table(void **state)
{
	fill_way(DIRECTION_UP);
	fill_way(DIRECTION_DOWN);
	r.direction[DIRECTION_DOWN].delivered = 400000;
	r.direction[DIRECTION_DOWN].lost = 100000;
	r.seconds = 1;
	r.missed = 7654;
	forget();
	for (unsigned int t = 1; t <= 31; t++)
		report_period(out, &c, &r, t);
	assert_int_equal(count_said("time s"), 2); // repeated after a screenful
	assert_int_equal(count_said(" up "), 31);
	assert_aligned("time s", "499,990", "recv pps");
	assert_aligned("time s", "0.00200", "loss %");
	assert_said("400,000");
	assert_aligned("time s", "20.0", "loss %");
	assert_said(" 500.");
	assert_said("7,654");
}

static void test_result(void **state)
{
	static struct server_drops drops = {.n = 2, .drop = {{"no_permission", 1200}, {"x", 0}}};

	fill_way(DIRECTION_UP);
	r.nb_lanes = 1;
	r.lane[0] = (struct result_lane){.lcore = 3, .sends = true, .sent = 500000};
	forget();
	report_result(out, &c, &r, &drops);
	assert_aligned("datagrams", "499,990", "delivered");
	assert_said("latency us");
	assert_said("generator  kept up");
	assert_said("dropped no_permission 1,200\n");
	assert_said("send_pps=50000, recv_pps=49999, total_sent=500000, total_recv=499990\n");
	assert_unsaid("BOUND");
	drops.n = 0;
	forget();
	report_result(out, &c, &r, &drops);
	assert_said("dropped nothing");
}

// Each reason is reported in words and with a figure.
static void test_bound(void **state)
{
	r.missed = 1111;
	r.due = 500000;
	r.tx_full = 2222;
	r.rx_missed = 3333;
	r.no_mbuf = 4444;
	for (unsigned int b = 0; b < RESULT_NB_BOUNDS; b++) {
		memset(r.bound, 0, sizeof(r.bound));
		r.bound[b] = true;
		forget();
		report_result(out, &c, &r, NULL);
		assert_said("generator  BOUND");
		assert_said(result_bound_name(b));
		assert_said(result_bound_text(b));
		assert_said("what helps");
		assert_unsaid("kept up");
	}
	memset(r.bound, true, sizeof(r.bound));
	report_result(out, &c, &r, NULL);
	assert_said("(1,111 missed)");
	assert_said("(2,222 refused)");
	assert_said("(3,333 dropped)");
	assert_said("(4,444 times)");
}

static void test_modes(void **state)
{
	c.mode = MODE_ALLOC;
	r.allocations = 12345;
	r.releases = 12300;
	forget();
	report_period(out, &c, &r, 1);
	report_result(out, &c, &r, NULL);
	assert_aligned("allocs/s", "1,235", "allocs/s");
	assert_said("12,345 allocations, 1,235 a second; 12,300 releases");
	c.mode = MODE_INVALID;
	forget();
	report_result(out, &c, &r, NULL);
	assert_said("DOES NOT ANSWER");
	r.alive = true;
	forget();
	report_result(out, &c, &r, NULL);
	assert_said("still answers");
	c.mode = MODE_ALLOC_HOLD;
	r.clients.state[CLIENT_READY] = 990;
	forget();
	report_result(out, &c, &r, NULL);
	assert_said("990 allocations held");
}

// Peers alone do not know how much was sent: they must not claim a loss.
static void test_peer(void **state)
{
	c.role = ROLE_PEER;
	r.direction[DIRECTION_UP].used = true;
	r.direction[DIRECTION_UP].delivered = 700;
	forget();
	report_period(out, &c, &r, 1);
	report_result(out, &c, &r, NULL);
	assert_aligned("datagrams", "700", "delivered");
	assert_said("up                -           700            -         -");
}

static void test_search(void **state)
{
	const struct search_params p = {.lo = 1000, .hi = 64000, .resolution = 0.05, .repeats = 1};
	struct search *s = calloc(1, sizeof(*s));
	double rate;

	assert_non_null(s);
	c.search = WANT_NDR;
	assert_int_equal(search_init(s, &p), 0);
	forget();
	// 0.1 % is lost from 10,000 on, everything above 40,000
	while (search_next(s, &rate)) {
		const double capacity = rate < 10000 ? rate : rate * 0.999;
		const double got = capacity < 40000 ? capacity : 40000;
		const struct search_trial t = {.rate = rate,
			.offered = rate,
			.delivered = got,
			.loss = 1 - got / rate,
			.p50_us = 12.5,
			.p99_us = 4321};

		search_report(s, &t);
		report_search_trial(out, &s->trial[s->nb_trials - 1], s->nb_trials);
	}
	assert_int_equal(count_said("verdict"), 1);
	assert_said("failed");
	assert_said("passed");
	assert_aligned("verdict", "64,000", "rate");
	assert_aligned("verdict", "12.5", "p50 us");
	assert_aligned("verdict", "4,321", "p99 us");
	forget();
	report_search(out, &c, s);
	assert_said("ndr ");
	assert_said("found");
	assert_said("\npdr "); // these trials include a rate with little loss, too
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test_setup_teardown(test_begin, begin, end),
		cmocka_unit_test_setup_teardown(test_setup, begin, end),
		cmocka_unit_test_setup_teardown(test_table, begin, end),
		cmocka_unit_test_setup_teardown(test_result, begin, end),
		cmocka_unit_test_setup_teardown(test_bound, begin, end),
		cmocka_unit_test_setup_teardown(test_modes, begin, end),
		cmocka_unit_test_setup_teardown(test_peer, begin, end),
		cmocka_unit_test_setup_teardown(test_search, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
