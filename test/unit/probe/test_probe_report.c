// SPDX-License-Identifier: BSD-3-Clause
// Reports for people, as JSON and for Prometheus.
#include <jansson.h>
#include <stdlib.h>

#include "addr_text.h"
#include "report/report.h"
#include "test.h"

#define NOW_S 1800000000

static struct report p;
static char *text;
static size_t text_len;

// A UDP that works, and a TLS whose certificate has expired.
static int setup(void **state)
{
	struct result *udp = &p.result[0], *tls = &p.result[1];

	p = (struct report){.server = "turn:h", .host = "h", .now_s = NOW_S, .n = 2};
	result_init(udp, TRANSPORT_UDP);
	udp->ok = true;
	udp->step = STEP_RELEASE;
	udp->us[STEP_BINDING] = 1500;
	udp->us[STEP_ECHO] = 2000000;
	udp->server = addr_text_endpoint("192.0.2.1", 3478);
	udp->mapped = addr_text_endpoint("198.51.100.7", 1024);
	udp->relayed = addr_text_endpoint("192.0.2.1", 50000);
	snprintf(udp->realm, sizeof(udp->realm), "turn.test");
	result_init(tls, TRANSPORT_TLS);
	tls->step = STEP_HANDSHAKE;
	tls->fault = FAULT_CERT_EXPIRED;
	tls->us[STEP_HANDSHAKE] = 0;
	tls->server = addr_text_endpoint("192.0.2.1", 5349);
	tls->not_after_s = NOW_S - 1;
	return 0;
}

static int teardown(void **state)
{
	free(text);
	text = NULL;
	return 0;
}

static const char *write_by(void (*report)(FILE *, const struct report *))
{
	FILE *out;

	free(text);
	out = open_memstream(&text, &text_len);
	assert_non_null(out);
	report_judge(&p);
	report(out, &p);
	fclose(out);
	return text;
}

static void judges(void **state)
{
	report_judge(&p);
	assert_false(p.ok);
	p.result[1].absent = true;
	report_judge(&p);
	assert_true(p.ok);
	assert_true(p.result[1].absent);
	// nothing answers
	p.result[0].ok = false;
	p.result[0].absent = true;
	report_judge(&p);
	assert_false(p.ok);
	assert_false(p.result[0].absent);
	assert_false(p.result[1].absent);
}

static void for_people(void **state)
{
	assert_string_equal(write_by(report_text),
		"udp   ok      192.0.2.1:3478 sees 198.51.100.7:1024, relays at 192.0.2.1:50000, "
		"realm turn.test\n"
		"              binding 1.5 ms, echo 2000.0 ms\n"
		"tls   FAILED  handshake at 192.0.2.1:5349: the certificate has expired\n"
		"              renew it and reload the server; check this host's clock\n"
		"              handshake 0.0 ms\n");
	p.result[0].authless = true;
	p.result[1].absent = true;
	assert_non_null(strstr(write_by(report_text), "only connection and Binding were tested\n"));
	assert_non_null(strstr(text, "tls   absent  handshake at "));
	assert_null(strstr(text, "renew it"));
	p.result[0].authless = false;
	p.result[0].paired = true;
	assert_non_null(strstr(write_by(report_text), "relay range was not tested\n"));
}

static void as_json(void **state)
{
	json_t *o, *udp, *tls;

	snprintf(p.result[1].detail, sizeof(p.result[1].detail), "\xff");
	o = json_loads(write_by(report_json), 0, NULL);
	assert_non_null(o);
	assert_string_equal(json_string_value(json_object_get(o, "server")), "turn:h");
	assert_true(json_is_false(json_object_get(o, "ok")));
	udp = json_array_get(json_object_get(o, "transports"), 0);
	tls = json_array_get(json_object_get(o, "transports"), 1);
	assert_string_equal(json_string_value(json_object_get(udp, "transport")), "udp");
	assert_true(json_is_true(json_object_get(udp, "ok")));
	assert_true(json_is_null(json_object_get(udp, "error")));
	assert_true(json_is_null(json_object_get(udp, "certificate_days")));
	assert_string_equal(json_string_value(json_object_get(udp, "mapped")), "198.51.100.7:1024");
	assert_string_equal(json_string_value(json_object_get(udp, "relayed")), "192.0.2.1:50000");
	assert_int_equal(json_object_size(json_object_get(udp, "ms")), 2);
	assert_true(json_real_value(json_object_get(json_object_get(udp, "ms"), "echo")) == 2000);
	assert_string_equal(json_string_value(json_object_get(tls, "step")), "handshake");
	assert_string_equal(json_string_value(json_object_get(tls, "error")),
		"the certificate has expired (?)");
	assert_int_equal(json_integer_value(json_object_get(tls, "certificate_days")), -1);
	assert_true(json_is_null(json_object_get(tls, "relayed")));
	json_decref(o);
}

static void for_prometheus(void **state)
{
	assert_string_equal(write_by(report_prometheus),
		"# HELP slipring_probe_up 1 if the transport works.\n"
		"# TYPE slipring_probe_up gauge\n"
		"slipring_probe_up{server=\"turn:h\",transport=\"udp\"} 1\n"
		"slipring_probe_up{server=\"turn:h\",transport=\"tls\"} 0\n"
		"# HELP slipring_probe_seconds Time that a step took.\n"
		"# TYPE slipring_probe_seconds gauge\n"
		"slipring_probe_seconds{server=\"turn:h\",transport=\"udp\",step=\"binding\"} "
		"0.001500\n"
		"slipring_probe_seconds{server=\"turn:h\",transport=\"udp\",step=\"echo\"} "
		"2.000000\n"
		"slipring_probe_seconds{server=\"turn:h\",transport=\"tls\",step=\"handshake\"} "
		"0.000000\n"
		"# HELP slipring_probe_certificate_expiry_seconds End of the certificate, Unix "
		"time.\n"
		"# TYPE slipring_probe_certificate_expiry_seconds gauge\n"
		"slipring_probe_certificate_expiry_seconds{server=\"turn:h\",transport=\"tls\"} "
		"1799999999\n");
	p.result[1].absent = true;
	assert_null(strstr(write_by(report_prometheus), "up{server=\"turn:h\",transport=\"tls\"}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(judges, setup, teardown),
		cmocka_unit_test_setup_teardown(for_people, setup, teardown),
		cmocka_unit_test_setup_teardown(as_json, setup, teardown),
		cmocka_unit_test_setup_teardown(for_prometheus, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
