// SPDX-License-Identifier: BSD-3-Clause
// The states of the generator's TURN clients (RFC 8656 7 to 12), with a server that follows the
// test's script.
#include "support/loadgen_world.h"

static struct loadgen_world w;

static void open_mode(enum mode mode, uint32_t count)
{
	const struct config c = world_config(mode);

	world_open(&w, &c, count, 1);
}

static int setup_channel(void **state)
{
	*state = &w;
	open_mode(MODE_CHANNEL, 2);
	return 0;
}

static int setup_alloc(void **state)
{
	*state = &w;
	open_mode(MODE_ALLOC, 2);
	return 0;
}

static uint32_t u32_of(enum stun_attr a)
{
	uint32_t v;

	assert_true(stun_get_u32(&w.request, a, &v));
	return v;
}

// --- set-up --------------------------------------------------------------------------------------

static void setup_of_a_channel(void **state)
{
	struct client *cl = clients_at(w.clients, 1);
	struct endpoint peer;
	int family;

	assert_int_equal(cl->state, CLIENT_IDLE);
	world_start(&w, 1);
	assert_int_equal(cl->state, CLIENT_ALLOCATING);
	assert_int_equal(w.request.method, STUN_ALLOCATE);
	assert_false(world_signed(&w));
	assert_int_equal(u32_of(STUN_REQUESTED_TRANSPORT), 17u << 24);
	assert_int_equal(u32_of(STUN_LIFETIME), 600);
	assert_false(stun_has(&w.request, STUN_REQUESTED_ADDRESS_FAMILY));
	assert_false(stun_has(&w.request, STUN_DONT_FRAGMENT));
	world_challenge(&w, 401);
	assert_int_equal(w.request.method, STUN_ALLOCATE);
	assert_int_equal(u32_of(STUN_REQUESTED_TRANSPORT), 17u << 24);
	assert_true(world_signed(&w));
	world_accept(&w);
	assert_int_equal(cl->state, CLIENT_BINDING);
	assert_true(endpoint_eq(&cl->relay, &w.relay));
	assert_int_equal(w.request.method, STUN_CHANNEL_BIND);
	assert_int_equal(u32_of(STUN_CHANNEL_NUMBER), (uint32_t)cl->channel << 16);
	assert_in_range(cl->channel, CHANNEL_MIN, CHANNEL_MAX);
	assert_true(stun_decode_xor_addr(&w.request, w.request.off[STUN_XOR_PEER_ADDRESS],
		w.request.alen[STUN_XOR_PEER_ADDRESS], &peer, &family));
	assert_true(endpoint_eq(&peer, &cl->peer));
	world_accept(&w);
	assert_int_equal(cl->state, CLIENT_READY);
	assert_int_equal(w.len, 0);
	assert_int_equal(world_stats(&w)->requests, 3);
	assert_int_equal(world_stats(&w)->answers, 3);
	assert_int_equal(world_stats(&w)->challenges, 1);
	assert_int_equal(world_stats(&w)->allocations, 1);
	assert_int_equal(world_stats(&w)->refreshes, 0);
	assert_int_equal(world_stats(&w)->state[CLIENT_READY], 1);
	assert_int_equal(w.answers, 3);
}

static void each_client_has_its_own_place(void **state)
{
	const struct config c = world_config(MODE_CHANNEL);
	struct clients *odd = clients_create(&(struct clients_params){
		.config = &c, .first = 1, .step = 2, .count = 3000, .rng = &w.rng});

	assert_non_null(odd);
	for (uint32_t i = 0; i < 3000; i++) {
		const uint32_t number = 1 + 2 * i;
		const struct endpoint expected = side_host(&c.client, number);
		const struct endpoint peer = side_host(&c.peer, number % 1000);

		assert_true(endpoint_eq(&clients_at(odd, i)->local, &expected));
		assert_true(endpoint_eq(&clients_at(odd, i)->peer, &peer));
		assert_int_equal(clients_at(odd, i)->channel, 0x4000 + number % 4096);
	}
	clients_free(odd);
	odd = clients_create(&(struct clients_params){.config = &c, .step = 1, .rng = &w.rng});
	assert_non_null(odd); // an empty population
	assert_int_equal(clients_tick(odd, 5, &(uint32_t){0}, w.out), 0);
	clients_free(odd);
}

static void permission_when_there_is_no_channel(void **state)
{
	open_mode(MODE_SEND, 1);
	w.config.dont_fragment = true;
	world_start(&w, 0);
	assert_true(stun_has(&w.request, STUN_DONT_FRAGMENT));
	world_challenge(&w, 401);
	assert_true(stun_has(&w.request, STUN_DONT_FRAGMENT));
	assert_int_equal(w.request.alen[STUN_DONT_FRAGMENT], 0);
	world_accept(&w);
	assert_int_equal(w.request.method, STUN_CREATE_PERMISSION);
	assert_true(stun_has(&w.request, STUN_XOR_PEER_ADDRESS));
	assert_int_equal(clients_at(w.clients, 0)->channel, 0);
	world_accept(&w);
	assert_int_equal(world_state(&w, 0), CLIENT_READY);
	world_close(&w);
}

// RFC 8656 7.1 with the default of 7.2: without a request for a family, a client gets IPv4.
static void address_family_is_asked_for_when_it_is_not_the_default(void **state)
{
	static const struct {
		const char *server, *client, *peer;
		uint32_t family;
	} cases[] = {{"10.99.0.1", "10.9.0.2", "10.99.0.9", 0},
		{"10.99.0.1", "10.9.0.2", "fd99::9", 2}, {"fd99::1", "fd00::2", "fd99::9", 2},
		{"fd99::1", "fd00::2", "10.99.0.9", 1}, {"fd99::1", "fd00::2", NULL, 2},
		{"10.99.0.1", "10.9.0.2", NULL, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config c = world_config(MODE_ALLOC);

		world_addrs(&c, cases[i].server, cases[i].client, cases[i].peer);
		world_open(&w, &c, 1, 1);
		world_start(&w, 0);
		if (cases[i].family == 0)
			assert_false(stun_has(&w.request, STUN_REQUESTED_ADDRESS_FAMILY));
		else
			assert_int_equal(
				u32_of(STUN_REQUESTED_ADDRESS_FAMILY), cases[i].family << 24);
		world_close(&w);
	}
}

static void calls_out_of_place_do_nothing(void **state)
{
	world_release(&w, 0);
	assert_int_equal(w.len, 0);
	world_start(&w, 0);
	assert_true(w.len > 0);
	world_start(&w, 0);
	assert_int_equal(w.len, 0);
	world_release(&w, 0);
	assert_int_equal(w.len, 0);
	assert_int_equal(world_stats(&w)->requests, 1);
}

static void a_server_that_wants_no_credentials(void **state)
{
	world_start(&w, 0);
	while (w.len > 0) {
		assert_false(world_signed(&w));
		world_accept(&w);
	}
	assert_int_equal(world_state(&w, 0), CLIENT_READY);
	world_release(&w, 0);
	assert_false(world_signed(&w));
	world_accept(&w);
	assert_int_equal(world_state(&w, 0), CLIENT_IDLE);
}

static void a_client_without_credentials_401(void **state)
{
	struct config c = world_config(MODE_ALLOC);

	c.user[0] = '\0';
	world_open(&w, &c, 1, 1);
	world_start(&w, 0);
	world_challenge(&w, 401);
	assert_failed(&w, 0, CLIENT_FAULT_REFUSED);
	assert_int_equal(world_stats(&w)->error[401 - 300], 1);
	assert_int_equal(world_stats(&w)->challenges, 0);
	world_close(&w);
}

// --- lifetime of an allocation -------------------------------------------------------------------

static void a_cycle_costs_two_requests_once_challenged(void **state)
{
	world_ready(&w, 0);
	for (int round = 1; round < 4; round++) {
		world_release(&w, 0);
		assert_int_equal(world_state(&w, 0), CLIENT_RELEASING);
		assert_int_equal(w.request.method, STUN_REFRESH);
		assert_int_equal(u32_of(STUN_LIFETIME), 0);
		world_accept(&w);
		assert_int_equal(world_state(&w, 0), CLIENT_IDLE);
		world_start(&w, 0);
		assert_true(world_signed(&w));
		world_accept(&w);
		assert_int_equal(world_state(&w, 0), CLIENT_READY);
		assert_int_equal(world_stats(&w)->requests, 2 + 2 * round);
		assert_int_equal(world_stats(&w)->releases, round);
	}
	assert_int_equal(world_stats(&w)->challenges, 1);
}

// A server may ask for a new nonce with 401 as well as with 438.
static void a_cached_nonce_may_be_refused_once(void **state)
{
	for (unsigned int code = 401; code <= 438; code += 37) {
		open_mode(MODE_ALLOC, 1);
		world_ready(&w, 0);
		world_release(&w, 0);
		world_accept(&w);
		world_start(&w, 0);
		w.nonce[0] = 'b';
		world_challenge(&w, code);
		assert_true(world_signed(&w)); // with the new nonce
		world_accept(&w);
		assert_int_equal(world_state(&w, 0), CLIENT_READY);
		assert_int_equal(world_stats(&w)->challenges, 2);
		world_close(&w);
	}
}

static void deleting_a_lost_allocation_succeeds(void **state)
{
	world_ready(&w, 0);
	world_release(&w, 0);
	world_refuse(&w, 437);
	assert_int_equal(world_state(&w, 0), CLIENT_IDLE);
	assert_int_equal(world_stats(&w)->releases, 1);
	assert_int_equal(world_stats(&w)->error[437 - 300], 1);
}

static void allocations_of_an_aborted_run_are_deleted(void **state)
{
	world_start(&w, 0);
	world_challenge(&w, 401);
	world_refuse(&w, 437);
	assert_int_equal(world_state(&w, 0), CLIENT_ALLOCATING);
	assert_int_equal(w.request.method, STUN_REFRESH);
	assert_int_equal(u32_of(STUN_LIFETIME), 0);
	world_accept(&w);
	assert_int_equal(w.request.method, STUN_ALLOCATE);
	assert_int_equal(u32_of(STUN_LIFETIME), 600);
	world_accept(&w);
	assert_int_equal(world_state(&w, 0), CLIENT_READY);
	assert_int_equal(world_stats(&w)->releases, 0); // not our allocation
	assert_int_equal(world_stats(&w)->error[437 - 300], 1);
}

// One cycle with a server that answers 437 for linger_ms after it deleted an allocation. Returns
// the number of requests.
static uint64_t cycle(uint64_t linger_ms)
{
	const uint64_t before = world_stats(&w)->requests, released_ms = w.now_ms;

	world_release(&w, 0);
	world_accept(&w);
	world_start(&w, 0);
	while (world_state(&w, 0) == CLIENT_ALLOCATING) {
		if (w.len == 0)
			assert_true(world_wait(&w, 10000, 1));
		assert_int_equal(w.request.method, STUN_ALLOCATE);
		if (w.now_ms - released_ms < linger_ms)
			world_refuse(&w, 437);
		else
			world_accept(&w);
	}
	assert_int_equal(world_state(&w, 0), CLIENT_READY);
	return world_stats(&w)->requests - before;
}

static void a_server_that_lingers_is_given_time(void **state)
{
	static const uint64_t linger_ms[] = {0, 1, 1000, 1600, 4000};
	uint64_t now_ms;

	for (size_t i = 0; i < sizeof(linger_ms) / sizeof(linger_ms[0]); i++) {
		open_mode(MODE_ALLOC, 2);
		world_ready(&w, 0);
		assert_true(cycle(linger_ms[i]) <= 2 + 3);
		for (int n = 0; n < 3; n++) { // it has learnt the delay
			now_ms = w.now_ms;
			assert_int_equal(cycle(linger_ms[i]), 2);
			assert_true(w.now_ms - now_ms <= 2 * linger_ms[i] + 1500);
		}
		// a client that has rested does not wait
		world_release(&w, 0);
		world_accept(&w);
		w.now_ms += 8000;
		world_start(&w, 0);
		assert_true(w.len > 0);
		world_start(&w, 1);
		assert_true(w.len > 0);
		world_close(&w);
	}
}

static void a_server_that_always_says_437(void **state)
{
	const uint64_t begin = w.now_ms;

	world_start(&w, 0);
	world_challenge(&w, 401);
	while (world_state(&w, 0) == CLIENT_ALLOCATING)
		if (w.len > 0 || world_wait(&w, 20000, 1))
			world_refuse(&w, 437);
	assert_failed(&w, 0, CLIENT_FAULT_REFUSED);
	assert_true(w.now_ms - begin < 20000);
	assert_true(world_stats(&w)->requests < 10);
	assert_false(world_wait(&w, 60000, 10));
	world_start(&w, 0); // with as many tries as before
	world_refuse(&w, 437);
	assert_int_equal(world_state(&w, 0), CLIENT_ALLOCATING);
}

// A client that timed out may have left an allocation, although it had released the one before.
static void a_lost_answer_may_have_made_an_allocation(void **state)
{
	world_ready(&w, 0);
	world_release(&w, 0);
	world_accept(&w);
	world_start(&w, 0);
	while (world_wait(&w, 60000, 10))
		;
	assert_failed(&w, 0, CLIENT_FAULT_TIMEOUT);
	world_start(&w, 0);
	world_refuse(&w, 437);
	assert_int_equal(w.request.method, STUN_REFRESH);
	world_accept(&w);
	assert_int_equal(w.request.method, STUN_ALLOCATE);
	world_accept(&w);
	assert_int_equal(world_state(&w, 0), CLIENT_READY);
}

static void an_allocation_that_is_gone_is_lost(void **state)
{
	world_ready(&w, 0);
	assert_true(world_wait(&w, 3600000, 1000));
	world_refuse(&w, 437);
	assert_failed(&w, 0, CLIENT_FAULT_LOST);
	assert_false(world_wait(&w, 3600000, 1000));
	world_start(&w, 0);
	assert_int_equal(world_state(&w, 0), CLIENT_ALLOCATING);
	assert_int_equal(world_stats(&w)->fault[CLIENT_FAULT_LOST], 1);
}

static void refused_requests_fail_and_are_counted(void **state)
{
	static const unsigned int codes[] = {300, 400, 403, 420, 440, 441, 442, 486, 500, 508, 699};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		world_start(&w, 0);
		if (i == 0)
			world_challenge(&w, 401);
		world_refuse(&w, codes[i]);
		assert_int_equal(w.len, 0);
		assert_int_equal(world_state(&w, 0), CLIENT_FAILED);
		assert_int_equal(world_stats(&w)->fault[CLIENT_FAULT_REFUSED], i + 1);
		assert_int_equal(world_stats(&w)->error[codes[i] - 300], 1);
	}
}

// A client that is refused a channel has an allocation that would make the next Allocate fail.
static void a_useless_allocation_is_deleted(void **state)
{
	for (int answered = 0; answered < 3; answered++) {
		open_mode(MODE_CHANNEL, 1);
		world_start(&w, 0);
		world_challenge(&w, 401);
		world_accept(&w);
		world_refuse(&w, 403);
		assert_int_equal(world_state(&w, 0), CLIENT_RELEASING);
		assert_int_equal(w.request.method, STUN_REFRESH);
		assert_int_equal(u32_of(STUN_LIFETIME), 0);
		if (answered == 0)
			world_accept(&w);
		else if (answered == 1)
			world_refuse(&w, 441);
		else
			while (world_wait(&w, 60000, 10))
				;
		assert_failed(&w, 0, CLIENT_FAULT_REFUSED);
		assert_int_equal(world_stats(&w)->releases, answered == 0);
		world_close(&w);
	}
}

// --- answers that make no sense ------------------------------------------------------------------

// Success responses to Allocate, signed, each with one fault.
static void put_wrong(int fault)
{
	struct endpoint wrong_addr = w.relay;

	assert_int_equal(addr_parse("fd99::1", &wrong_addr.addr), 0);
	if (fault == 1)
		wrong_addr = (struct endpoint){w.relay.addr, 0};
	if (fault == 2)
		stun_put(&w.w, STUN_XOR_RELAYED_ADDRESS, "\0\1\0\0\0\0\0", 7);
	else if (fault != 3)
		stun_put_xor_addr(
			&w.w, STUN_XOR_RELAYED_ADDRESS, fault < 2 ? &wrong_addr : &w.relay);
	if (fault == 4)
		stun_put(&w.w, STUN_LIFETIME, "\0\0\1", 3);
	else if (fault != 5)
		stun_put_u32(&w.w, STUN_LIFETIME, fault == 6 ? 0 : 600);
}

static void useless_allocate_answers(void **state)
{
	for (int fault = 0; fault <= 6; fault++) {
		open_mode(MODE_SEND, 1);
		world_start(&w, 0);
		world_challenge(&w, 401);
		world_begin(&w, STUN_SUCCESS);
		put_wrong(fault);
		world_sign(&w);
		world_answer(&w);
		// RFC 8656 7.3: the client has to delete the allocation
		assert_int_equal(world_state(&w, 0), CLIENT_RELEASING);
		assert_int_equal(w.request.method, STUN_REFRESH);
		world_accept(&w);
		assert_failed(&w, 0, CLIENT_FAULT_BAD_ANSWER);
		world_close(&w);
	}
}

// RFC 8489 6.3.3, 6.3.4: the transaction has failed.
static void unknown_attributes_that_have_to_be_understood(void **state)
{
	for (int cls = STUN_SUCCESS; cls <= STUN_ERROR; cls++) {
		open_mode(MODE_ALLOC, 1);
		world_start(&w, 0);
		world_challenge(&w, 401);
		world_begin(&w, (enum stun_class)cls);
		if (cls == STUN_ERROR)
			stun_put_error(&w.w, 486, "");
		else
			world_put_success(&w);
		stun_put(&w.w, STUN_REQUESTED_TRANSPORT, "\0\0\0\0", 4);
		store_be16(w.w.buf + w.w.len - 8, 0x7abc);
		world_sign(&w);
		world_answer(&w);
		assert_failed(&w, 0, CLIENT_FAULT_BAD_ANSWER);
		assert_int_equal(world_stats(&w)->allocations, 0);
		world_close(&w);
	}
}

static void error_responses_without_a_code(void **state)
{
	static const struct {
		uint8_t value[4], len;
	} cases[] = {{{0}, 0}, {{0, 0, 4}, 3}, {{0, 0, 2, 0}, 4}, {{0, 0, 7, 0}, 4},
		{{0, 0, 4, 100}, 4}, {{0, 0, 4, 255}, 4}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open_mode(MODE_ALLOC, 1);
		world_start(&w, 0);
		world_begin(&w, STUN_ERROR);
		if (cases[i].len > 0)
			stun_put(&w.w, STUN_ERROR_CODE, cases[i].value, cases[i].len);
		world_answer(&w);
		assert_failed(&w, 0, CLIENT_FAULT_BAD_ANSWER);
		world_close(&w);
	}
}

static void names_of_faults(void **state)
{
	for (int f = 0; f < CLIENT_NB_FAULTS; f++) {
		assert_true(strlen(client_fault_text((enum client_fault)f)) > 10);
		for (int earlier = 0; earlier < f; earlier++)
			assert_string_not_equal(client_fault_name((enum client_fault)f),
				client_fault_name((enum client_fault)earlier));
	}
	assert_string_equal(client_fault_name(CLIENT_FAULT_TIMEOUT), "timeout");
}

#define CHANNEL(test) cmocka_unit_test_setup_teardown(test, setup_channel, world_teardown)
#define ALLOC(test) cmocka_unit_test_setup_teardown(test, setup_alloc, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHANNEL(setup_of_a_channel),
		CHANNEL(each_client_has_its_own_place),
		cmocka_unit_test(permission_when_there_is_no_channel),
		cmocka_unit_test(address_family_is_asked_for_when_it_is_not_the_default),
		ALLOC(calls_out_of_place_do_nothing),
		CHANNEL(a_server_that_wants_no_credentials),
		cmocka_unit_test(a_client_without_credentials_401),
		ALLOC(a_cycle_costs_two_requests_once_challenged),
		cmocka_unit_test(a_cached_nonce_may_be_refused_once),
		ALLOC(deleting_a_lost_allocation_succeeds),
		ALLOC(allocations_of_an_aborted_run_are_deleted),
		cmocka_unit_test(a_server_that_lingers_is_given_time),
		ALLOC(a_server_that_always_says_437),
		ALLOC(a_lost_answer_may_have_made_an_allocation),
		ALLOC(an_allocation_that_is_gone_is_lost),
		ALLOC(refused_requests_fail_and_are_counted),
		cmocka_unit_test(a_useless_allocation_is_deleted),
		cmocka_unit_test(useless_allocate_answers),
		cmocka_unit_test(unknown_attributes_that_have_to_be_understood),
		cmocka_unit_test(error_responses_without_a_code),
		cmocka_unit_test(names_of_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
