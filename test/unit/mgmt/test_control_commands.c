// SPDX-License-Identifier: BSD-3-Clause
// Answers of the control socket to refused requests: a readable JSON line with the reason, whatever
// bytes the request has.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "socket/commands.h"
#include "test.h"

static struct control control;
static struct client client;
static int peer_fd;

static int setup(void **state)
{
	int ends[2];

	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	control = (struct control){.clients = {.epoll = -1, .listener = -1, .spare = -1}};
	client = (struct client){.fd = ends[0]};
	peer_fd = ends[1];
	return 0;
}

static int teardown(void **state)
{
	close(client.fd);
	close(peer_fd);
	return 0;
}

// The reason why a line is refused. The caller frees it.
static json_t *refused(const char *text)
{
	char *line = strdup(text), answer[1024];
	ssize_t n;
	json_t *o, *error;

	commands_line(&control, &client, line, strlen(line));
	free(line);
	n = recv(peer_fd, answer, sizeof(answer), MSG_DONTWAIT);
	assert_in_range(n, 1, sizeof(answer) - 1);
	assert_int_equal(answer[n - 1], '\n');
	o = json_loadb(answer, (size_t)n, 0, NULL);
	assert_non_null(o);
	assert_true(json_is_false(json_object_get(o, "ok")));
	error = json_incref(json_object_get(o, "error"));
	assert_true(json_is_string(error));
	json_decref(o);
	return error;
}

static void assert_refused(const char *text, const char *reason)
{
	json_t *error = refused(text);

	assert_string_equal(json_string_value(error), reason);
	json_decref(error);
}

static void reasons_are_told(void **state)
{
	assert_refused("{\"cmd\":\"status\",\"v\":2}", "v: this server speaks version 1");
	assert_refused("{\"v\":1}", "cmd: missing, or not a string");
	assert_refused("{\"cmd\":\"delete\"}", "cmd: delete: no such command; see help");
	assert_refused("{\"cmd\":\"status\",\"user\":\"ivan\"}",
		"user: status has no such field; see help");
	assert_refused(
		"{\"cmd\":\"kill\"}", "say which allocations: by id, user, realm, source or peer");
}

// %XX replaces a byte that is not printable ASCII, as in all answers.
static void strange_names_are_escaped(void **state)
{
	assert_refused("{\"cmd\":\"status\",\"f\xc3\xbc\":1}",
		"f%C3%BC: status has no such field; see help");
	assert_refused("{\"cmd\":\"a\\u001b[2Jb\"}", "cmd: a%1B[2Jb: no such command; see help");
	assert_refused("{\"cmd\":\"\\\"%\\\\\"}", "cmd: %22%25%5C: no such command; see help");
}

// A long name is cut at 32 bytes, even within a character.
static void a_cut_character_leaves_an_answer(void **state)
{
	for (unsigned int ascii = 20; ascii < 40; ascii++) {
		char name[128], line[256], want[256] = "";

		memset(name, 'x', ascii);
		strcpy(name + ascii, "\xc3\xbc\xf0\x9f\x90\x98\xc3\xbc"); // two, four, two bytes
		for (unsigned int i = 0; i < 32 && i < ascii + 8; i++)
			sprintf(want + strlen(want), i < ascii ? "%c" : "%%%02X", (uint8_t)name[i]);
		strcat(want, ": status has no such field; see help");
		snprintf(line, sizeof(line), "{\"cmd\":\"status\",\"%s\":1}", name);
		assert_refused(line, want);
		snprintf(line, sizeof(line), "{\"cmd\":\"%s\"}", name);
		json_decref(refused(line));
	}
}

static void invalid_peers_are_refused(void **state)
{
	static const char *const wrong[] = {"", "host", "192.0.2.1:", "192.0.2.1:0",
		"192.0.2.1:65536", "192.0.2.1:5000x", "192.0.2.1: 5000", "192.0.2.1:+5",
		"192.0.2.1:99999999999999999999", "192.0.2.0/24", ":5000", "[]:5000",
		"[192.0.2.1]:5000", "[2001:db8::1:5000", "2001:db8::1]:5000", "[2001:db8::1]",
		"[2001:db8::1]5000", "[2001:db8::1]:0", "[[2001:db8::1]]:5000",
		"[2001:db8:0000:0000:0000:0000:0000:0000:0000:0001:2]:1"};

	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char line[256];
		json_t *error;

		snprintf(line, sizeof(line), "{\"cmd\":\"kill\",\"peer\":\"%s\"}", wrong[i]);
		error = refused(line);
		assert_memory_equal(json_string_value(error), "peer: must be an address", 24);
		json_decref(error);
	}
}

// Five consecutive lines that are no JSON: then the client is closed.
static void no_request_is_answered(void **state)
{
	static const char *const lines[] = {"{\"f\xc3\xbc\":", "\xff\xfe{}", "{\"a\":1,\"a\":2}",
		"{\"\xf0\x9f\x90\x98\xf0\x9f\x90\x98\xf0\x9f\x90\x98\":\xf0\x9f\x90\x98}"};

	for (unsigned int i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		json_t *error = refused(lines[i]);

		assert_memory_equal(json_string_value(error), "no request: ", 12);
		json_decref(error);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(reasons_are_told),
		T(strange_names_are_escaped),
		T(a_cut_character_leaves_an_answer),
		T(invalid_peers_are_refused),
		T(no_request_is_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
