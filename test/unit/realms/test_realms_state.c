// SPDX-License-Identifier: BSD-3-Clause
// A restart restores allocations in their realm, whatever number that has by then.
#include "feature_names.h"
#include "realms_config.h"

#include "restart_world.h"

static struct restart r;
static struct turn_config config;
static struct turn_realm swapped[2];
static struct fixture_client ivan, a, b;

static struct fixture *f(const struct fixture_client *c)
{
	return restart_at(&r, c);
}

static int setup(void **state)
{
	config = realms_config();
	restart_open(&r, &config, 3);
	ivan = realms_ivan(FIXTURE_REALM, "198.51.100.7");
	a = realms_ivan(REALM_A, "198.51.100.8");
	b = realms_ivan(REALM_B, "198.51.100.9");
	assert_int_equal(fixture_allocate(f(&ivan), &ivan, 4), 0);
	assert_int_equal(fixture_allocate(f(&a), &a, 4), 0);
	assert_int_equal(fixture_allocate(f(&b), &b, 4), 0);
	return 0;
}

static int teardown(void **state)
{
	restart_close(&r);
	return 0;
}

// The file has its realms in another order, so they get other numbers.
static void swap(void)
{
	const struct turn_realm first = config.realms[0], second = config.realms[1];

	swapped[0] = second;
	swapped[1] = first;
	config.realms = swapped;
}

static void realms_survive_a_restart(void **state)
{
	struct fixture_client tenant = realms_ivan(REALM_B, "198.51.100.8");

	swap();
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 3);
	assert_int_equal(turn_quota_realm(r.worker[0].quota, 1), 1);
	assert_int_equal(turn_quota_realm(r.worker[0].quota, 2), 1);
	assert_int_equal(fixture_refresh(f(&tenant), &tenant, 600), 441);
	assert_int_equal(fixture_refresh(f(&ivan), &ivan, 600), 0);
	assert_int_equal(fixture_refresh(f(&a), &a, 600), 0);
	assert_int_equal(fixture_refresh(f(&b), &b, 0), 0);
	assert_int_equal(turn_quota_realm(r.worker[0].quota, config.realms[0].number), 0);
	assert_int_equal(turn_quota_realm(r.worker[0].quota, config.realms[1].number), 1);
	swap();
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 2);
	assert_int_equal(fixture_refresh(f(&a), &a, 600), 0);
}

static void a_rest_user_returns_to_the_realm(void **state)
{
	struct fixture_client olaf = realms_ivan(REALM_A, "198.51.100.10");
	char password[STUN_REST_PASSWORD_SIZE];

	assert_true(
		stun_rest_password(f(&olaf)->crypto, "a-secret", "1900000000:olaf", 15, password));
	olaf.user = "1900000000:olaf";
	olaf.password = password;
	assert_int_equal(fixture_allocate(f(&olaf), &olaf, 4), 0);
	swap();
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 4);
	assert_int_equal(fixture_refresh(f(&olaf), &olaf, 600), 0);
	assert_int_equal(turn_quota_realm(r.worker[0].quota, config.realms[1].number), 2);
}

// The first realm is renamed, and another realm gets its old name: the realm's number decides on
// the owner of the allocation, not only the key.
static void a_rest_user_keeps_the_realm_of_the_allocation(void **state)
{
	static char *secrets[] = {(char *)"first-secret"};
	struct fixture_client olaf = realms_ivan(FIXTURE_REALM, "198.51.100.10");
	char password[STUN_REST_PASSWORD_SIZE];
	const struct turn_realm before = config.realms[0];

	config.first.secrets = secrets;
	config.first.nb_secrets = 1;
	restart_again(&r, &config, 1000);
	assert_true(stun_rest_password(
		f(&olaf)->crypto, "first-secret", "1900000000:olaf", 15, password));
	olaf.user = "1900000000:olaf";
	olaf.password = password;
	assert_int_equal(fixture_allocate(f(&olaf), &olaf, 4), 0);
	config.first.name = (char *)"box.test";
	config.realms[0].name = (char *)FIXTURE_REALM;
	config.realms[0].secrets = secrets;
	restart_again(&r, &config, 1000);
	assert_int_equal(fixture_refresh(f(&olaf), &olaf, 600), 441);
	config.realms[0] = before;
}

static void a_removed_realm_loses_its_allocations(void **state)
{
	config.nb_realms = 1;
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 2);
	assert_int_equal(r.adopted.lost[TURN_STATE_LOST_USER], 1);
	assert_int_equal(fixture_refresh(f(&a), &a, 600), 0);
	assert_int_equal(fixture_refresh(f(&ivan), &ivan, 600), 0);
	config.nb_realms = 0;
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 1);
	assert_int_equal(fixture_refresh(f(&ivan), &ivan, 600), 0);
	config.nb_realms = 2;
}

static void quotas_and_listeners_of_a_realm_hold(void **state)
{
	static char *only[] = {(char *)FIXTURE_REALM, (char *)REALM_B};
	struct fixture_client more = realms_ivan(REALM_B, "198.51.100.11");

	assert_int_equal(fixture_allocate(f(&more), &more, 4), 0);
	config.realms[1].allocations = 1;
	config.listeners[0].realms = only;
	config.listeners[0].nb_realms = 2;
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 2);
	assert_int_equal(r.adopted.lost[TURN_STATE_LOST_USER], 1); // a's listener has left it
	assert_int_equal(r.adopted.lost[TURN_STATE_LOST_QUOTA], 1);
	config.realms[1].allocations = 0;
	config.listeners[0].nb_realms = 0;
}

#ifdef FEATURE_RESERVATIONS
static void a_reservation_counts_for_its_realm(void **state)
{
	struct fixture_client pair = realms_ivan(REALM_B, "198.51.100.12");

	fixture_begin(f(&pair), STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f(&pair)->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put(&f(&pair)->w, STUN_EVEN_PORT, (const uint8_t[]){0x80}, 1);
	assert_int_equal(fixture_ask(f(&pair), &pair), 0);
	swap();
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.reservations, 1);
	assert_int_equal(turn_quota_realm(r.worker[0].quota, config.realms[0].number), 3);
}
#endif

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(realms_survive_a_restart),
		T(a_rest_user_returns_to_the_realm),
		T(a_rest_user_keeps_the_realm_of_the_allocation),
		T(a_removed_realm_loses_its_allocations),
		T(quotas_and_listeners_of_a_realm_hold),
#ifdef FEATURE_RESERVATIONS
		T(a_reservation_counts_for_its_realm),
#endif
	};

	return cmocka_run_group_tests_name("realms_state", tests, NULL, NULL);
}
