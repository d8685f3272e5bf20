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

static struct conf conf;
static struct control control;
static struct client client;
static int peer_fd;

static int setup(void **state)
{
	int ends[2];

	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	conf = (struct conf){0};
	control = (struct control){
		.conf = &conf, .clients = {.epoll = -1, .listener = -1, .spare = -1}};
	client = (struct client){.fd = ends[0], .uid = 1005, .role = ROLE_OPERATOR};
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

// Every request that is an order, or might be taken for one.
static const char *const orders[] = {"{\"cmd\":\"kill\"}", "{\"cmd\":\"kill\",\"id\":\"1\"}",
	"{\"cmd\":\"capture\"}", "{\"cmd\":\"capture\",\"id\":\"1\",\"more\":false}",
	"{\"cmd\":\"capture\",\"more\":\"x\",\"stop\":1}",
	"{\"cmd\":\"log\",\"area\":\"auth\",\"level\":\"debug\"}",
	"{\"cmd\":\"log\",\"level\":null}", "{\"cmd\":\"log\",\"reopen\":true}",
	"{\"cmd\":\"config\",\"do\":\"reload\"}", "{\"cmd\":\"config\",\"do\":null}",
	"{\"cmd\":\"stop\"}", "{\"cmd\":\"drain\"}", "{\"cmd\":\"undrain\"}",
	"{\"cmd\":\"block\",\"address\":\"192.0.2.1\"}", "{\"cmd\":\"unblock\",\"user\":\"ivan\"}",
	"{\"cmd\":\"fault\",\"what\":\"segv\"}"};

static void a_reader_gives_no_orders(void **state)
{
	client.role = ROLE_READER;
	for (unsigned int i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		json_t *error = refused(orders[i]);

		assert_non_null(strstr(json_string_value(error),
			": this is an order, and uid 1005 is only a reader: use sudo, or become a "
			"member of control.group, which is not set"));
		json_decref(error);
		assert_int_equal(control.clients.denied, i + 1);
	}
	conf.control.group = (char *)(uintptr_t) "adm";
	assert_refused("{\"cmd\":\"stop\"}",
		"stop: this is an order, and uid 1005 is only a reader: use sudo, or become a "
		"member of adm");
	// neither are a reader's orders: the command itself refuses them
	assert_refused("{\"cmd\":\"capture\",\"more\":true}",
		"more: this connection has no capture under way");
	assert_refused(
		"{\"cmd\":\"show\"}", "id: say which allocation; allocations shows their ids");
}

// Commands that readers may use, at least without fields. A new command belongs here, or into
// `orders`.
static const char reading[] = " help status allocations show users ports workers steering "
			      "neighbours drops explain log config records crash blocked watch ";

static void every_command_has_a_role(void **state)
{
	char line[] = "{\"cmd\":\"help\"}", answer[8192];
	json_t *o, *row;
	ssize_t n;
	size_t i;

	commands_line(&control, &client, line, strlen(line));
	n = recv(peer_fd, answer, sizeof(answer), MSG_DONTWAIT);
	assert_in_range(n, 1, sizeof(answer) - 1);
	o = json_loadb(answer, (size_t)n, 0, NULL);
	json_array_foreach(json_object_get(o, "rows"), i, row)
	{
		const char *name = json_string_value(json_object_get(row, "cmd"));
		char word[32], cmd[32];
		bool found;

		snprintf(word, sizeof(word), " %s ", name);
		snprintf(cmd, sizeof(cmd), "\"cmd\":\"%s\"", name);
		found = strstr(reading, word) != NULL;
		for (unsigned int k = 0; k < sizeof(orders) / sizeof(orders[0]); k++)
			found = found || strstr(orders[k], cmd) != NULL;
		if (!found)
			fail_msg("%s: is it an order?", name);
	}
	assert_true(i > 15);
	json_decref(o);
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
		T(a_reader_gives_no_orders),
		T(every_command_has_a_role),
		T(no_request_is_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
