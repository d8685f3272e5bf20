// SPDX-License-Identifier: BSD-3-Clause
// The list of users while allocations end between the walk and the fetch of a row. The control
// socket's scans and the worker's rounds take turns here.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jansson.h>

#include "dp_world.h"
#include "socket/commands.h"

#define CLIENTS 3 // of one user

static struct dp_world world;
static struct world_client client[CLIENTS];
static struct control control;
static struct client asker;
static int peer_fd;

// Sorts the clients in the order in which a walk meets their allocations: rows are fetched by the
// first and the last allocation of a user.
static void sort_clients(void)
{
	const struct dp_question q = {.kind = DP_ASK_ROWS, .max = CLIENTS};
	const struct dp_answer *a;

	assert_int_equal(dp_ask(world.dp, 0, &q), 0);
	world_round(&world);
	a = dp_answered(world.dp, 0, q.kind);
	assert_non_null(a);
	assert_int_equal(a->nb, CLIENTS);
	for (unsigned int i = 0; i < CLIENTS; i++)
		for (unsigned int k = i + 1; k < CLIENTS; k++)
			if (endpoint_eq(&client[k].endpoint, &a->rows[i].client)) {
				const struct world_client c = client[i];

				client[i] = client[k];
				client[k] = c;
			}
	dp_answer_done(world.dp, 0, q.kind);
}

static void open_all(void)
{
	const struct world_setup one = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	int ends[2];

	world_open(&world, &one);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		world_client(&world, &client[i], "10.99.0.20", (uint16_t)(20000 + i));
		assert_int_equal(client_allocate(&world, &client[i], 4), 0);
	}
	sort_clients();
	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	control = (struct control){
		.dp = world.dp, .conf = &world.conf, .clients = {.epoll = -1, .listener = -1}};
	asker = (struct client){.fd = ends[0], .role = ROLE_READER};
	peer_fd = ends[1];
}

static void close_all(void)
{
	close(asker.fd);
	close(peer_fd);
	world_close(&world);
}

// One step of the scans, and rounds of the worker. True while there is a scan. Scans rest by the
// machine's clock.
static bool step(void)
{
	const int64_t us = scans_step(&control);

	world_round(&world);
	if (us > 0)
		usleep((useconds_t)us);
	return us >= 0;
}

// True if all users have been counted; the rows are not fetched yet.
static bool counted(void)
{
	return control.scans.first != NULL && control.scans.first->ranking.n > 0;
}

static void end(unsigned int i)
{
	client_begin(&world, &client[i], STUN_REFRESH);
	stun_put_u32(&client[i].w, STUN_LIFETIME, 0);
	assert_int_equal(client_ask(&world, &client[i]), 0);
}

// The rows of the answer, which the caller frees, if the allocations from first to last end in the
// middle of the scan.
static json_t *listed(unsigned int first, unsigned int last)
{
	char text[] = "{\"cmd\":\"users\"}", answer[4096];
	unsigned int steps = 0;
	json_t *o, *rows;
	ssize_t n;

	commands_line(&control, &asker, text, strlen(text));
	while (!counted()) {
		assert_true(step());
		assert_true(++steps < 1000);
	}
	for (unsigned int i = first; i < last; i++)
		end(i);
	while (step())
		assert_true(++steps < 1000);
	n = recv(peer_fd, answer, sizeof(answer), MSG_DONTWAIT);
	assert_in_range(n, 1, sizeof(answer));
	o = json_loadb(answer, (size_t)n, 0, NULL);
	assert_non_null(o);
	rows = json_incref(json_object_get(o, "rows"));
	json_decref(o);
	return rows;
}

static void assert_counted(unsigned int first, unsigned int last)
{
	json_t *rows, *row;

	open_all();
	rows = listed(first, last);
	assert_int_equal(json_array_size(rows), 1);
	row = json_array_get(rows, 0);
	assert_string_equal(json_string_value(json_object_get(row, "user")), "ivan");
	assert_int_equal(json_integer_value(json_object_get(row, "allocations")), CLIENTS);
	json_decref(rows);
	close_all();
}

static void a_user_with_other_allocations_stays(void **state)
{
	assert_counted(0, 0);
	assert_counted(0, 1);
	assert_counted(0, CLIENTS - 1);
	assert_counted(1, CLIENTS);
}

static void a_user_without_allocations_disappears(void **state)
{
	json_t *rows;

	open_all();
	rows = listed(0, CLIENTS);
	assert_int_equal(json_array_size(rows), 0);
	json_decref(rows);
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_with_other_allocations_stays),
		cmocka_unit_test(a_user_without_allocations_disappears),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
