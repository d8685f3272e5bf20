// SPDX-License-Identifier: BSD-3-Clause
// The time of a reload of a large file, and of the management lcore's part: it may never be busy
// for long. Times are CPU time of threads, which other work on the machine does not change.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conf.h"
#include "conf_dir.h"
#include "dp.h"
#include "feature_names.h"
#include "hash.h"
#include "reload/reload.h"
#include "reload/in_use.h"
#include "reload/own_change.h"
#include "stun.h"
#include "test.h"
#include "turn_policy.h"

#ifdef __SANITIZE_ADDRESS__
#define SLOW 4
#else
#define SLOW 1
#endif
#define AWAY_US (20000 * SLOW) // 50 ms are allowed; this excludes preemption
#define ALL_MS (3000 * SLOW)

static const char base[] =
	"workers: {count: 1}\n"
	"ports: [{name: wan, device: net_a, addresses: [10.0.0.1/24], gateway: [10.0.0.254]}]\n"
	"listeners: [{address: 10.0.0.1}]\n"
	"relay: {addresses: [10.0.0.1]}\n"
	"auth: {realm: turn.test, users: [{name: ivan, password: Kestrel7Quartz}]}\n";

static const struct hash_key hash = {{1, 2, 3, 4}};
static struct mgmt_reload *reload;
static struct conf *running;
static struct turn_policy *policy, *left; // in use, and waiting to be freed
static pthread_t lcore;

static uint64_t cpu_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

// --- lib/dp --------------------------------------------------------------------------------------

static struct turn_policy *make(const struct conf *c)
{
	static const uint8_t key[32];
	struct stun_crypto *crypto = stun_crypto_create();
	struct turn_policy *p = turn_policy_create(&c->turn, crypto, key);

	stun_crypto_free(crypto);
	assert_non_null(p);
	return p;
}

int __wrap_dp_reload_begin(struct dp *d, const struct conf *c, bool renew, char *error, size_t len);
int __wrap_dp_reload_begin(struct dp *d, const struct conf *c, bool renew, char *error, size_t len)
{
	if (pthread_equal(pthread_self(), lcore))
		abort();
	left = make(c);
	return 0;
}

int __wrap_dp_reload_routes(struct dp *d, const struct conf *c, char *error, size_t len);
int __wrap_dp_reload_routes(struct dp *d, const struct conf *c, char *error, size_t len)
{
	return 0;
}

int __wrap_dp_reload_step(struct dp *d);
int __wrap_dp_reload_step(struct dp *d)
{
	struct turn_policy *was = policy;

	policy = left;
	left = was;
	return 0;
}

void __wrap_dp_reload_clear(struct dp *d);
void __wrap_dp_reload_clear(struct dp *d)
{
	if (pthread_equal(pthread_self(), lcore))
		abort();
	turn_policy_free(left);
	left = NULL;
}

// --- files ---------------------------------------------------------------------------------------

typedef void (*writer)(FILE *f, FILE *list, unsigned int n, bool changed);

static void write_listed(FILE *f, FILE *list, unsigned int n, bool changed)
{
	fprintf(f, "peers: {deny-files: [list.txt]}\n");
	for (unsigned int i = changed; i < n; i++)
		fprintf(list, "%u.%u.%u.0/25\n", 20 + i / 65536, i / 256 % 256, i % 256);
}

static void write_prefixes(FILE *f, FILE *list, unsigned int n, bool changed)
{
	fprintf(f, "peers:\n  deny:\n");
	for (unsigned int i = 0; i < n; i++)
		fprintf(f, "  - %u.%u.0.0/17\n", 20 + i / 256 + (changed && i == n / 2 ? 100 : 0),
			i % 256);
	for (unsigned int i = 0; i < n && n > 50000; i++)
		fprintf(list, "%u.%u.%u.0/25\n", 20 + i / 65536, i / 256 % 256, i % 256);
}

#ifdef FEATURE_REALMS
// All users differ after the reload.
static void write_users(FILE *f, FILE *list, unsigned int n, bool changed)
{
	fprintf(f, "realms:\n  - name: other.test\n    users:\n");
	for (unsigned int i = 0; i < n; i++)
		fprintf(f, "    - {name: %c%u, password: P%u}\n", changed ? 'a' : 'b', i, i);
}

static void write_realms(FILE *f, FILE *list, unsigned int n, bool changed)
{
	fprintf(f, "realms:\n");
	for (unsigned int i = 0; i < n; i++)
		fprintf(f,
			"  - {name: r%u, secrets: [JuniperGranite%u], peers: {deny: "
			"[198.51.100.%u]}}\n",
			i, i + changed, i);
}
#endif

static void put(writer more, unsigned int n, bool changed)
{
	char *text = NULL, *list = NULL;
	size_t len, list_len;
	FILE *f = open_memstream(&text, &len), *l = open_memstream(&list, &list_len);

	fputs(base, f);
	more(f, l, n, changed);
	fclose(f);
	fclose(l);
	conf_dir_put("box.yaml", text);
	conf_dir_put("list.txt", list);
	free(text);
	free(list);
}

// --- measurement ---------------------------------------------------------------------------------

// Reloads once. Returns the CPU time of the longest tick, and sets *all_us to that of all threads.
static uint64_t longest_tick(uint64_t *all_us)
{
	const struct timespec pause = {.tv_nsec = 500000};
	const uint64_t began = cpu_us(CLOCK_PROCESS_CPUTIME_ID);
	struct mgmt_reload_state s = {.asked = 1};
	uint64_t longest = 0;
	bool more = true;

	mgmt_reload_ask(reload, "a test", true);
	while (more || s.asked != s.ended) {
		const uint64_t before = cpu_us(CLOCK_THREAD_CPUTIME_ID);
		uint64_t took;

		more = mgmt_reload_tick(reload);
		took = cpu_us(CLOCK_THREAD_CPUTIME_ID) - before;
		longest = took > longest ? took : longest;
		mgmt_reload_state(reload, &s);
		nanosleep(&pause, NULL);
	}
	*all_us = cpu_us(CLOCK_PROCESS_CPUTIME_ID) - began;
	assert_int_equal(s.how, MGMT_RELOAD_DONE);
	return longest;
}

static void open_running(writer more, unsigned int n)
{
	static const struct own_parts parts;
	struct conf_report quiet = {0};

	lcore = pthread_self();
	put(more, n, false);
	running = conf_load_and_report(conf_dir_path("box.yaml"), &quiet, &hash);
	assert_non_null(running);
	policy = make(running);
	reload = mgmt_reload_open(&parts, running);
	assert_non_null(reload);
}

static void close_running(void)
{
	mgmt_reload_close(reload);
	turn_policy_free(policy);
	turn_policy_free(left);
	policy = left = NULL;
	conf_free(running);
}

static void assert_bounded(const char *label, writer more, unsigned int n)
{
	uint64_t longest = UINT64_MAX, all = UINT64_MAX;

	for (unsigned int run = 0; run < 3 && (longest > AWAY_US || all > ALL_MS * 1000); run++) {
		uint64_t took;

		open_running(more, n);
		put(more, n, true);
		longest = longest_tick(&took);
		all = took < all ? took : all;
		close_running();
	}
	print_message("%u %s: %lu ms, the management lcore is away for %lu us\n", n, label,
		(unsigned long)all / 1000, (unsigned long)longest);
	assert_true(longest <= AWAY_US);
	assert_true(all <= ALL_MS * 1000);
}

static void prefixes_of_a_file(void **state)
{
	assert_bounded("prefixes of a file", write_listed, 10);
	assert_bounded("prefixes of a file", write_listed, 1000);
	assert_bounded("prefixes of a file", write_listed, 100000);
	assert_bounded("prefixes of a file", write_listed, 1000000);
}

static void prefixes(void **state)
{
	assert_bounded("prefixes", write_prefixes, 10);
	assert_bounded("prefixes", write_prefixes, 1000);
	assert_bounded("prefixes", write_prefixes, 25000);
}

#ifdef FEATURE_REALMS
static void users(void **state)
{
	assert_bounded("users", write_users, 10);
	assert_bounded("users", write_users, 1000);
	assert_bounded("users", write_users, 25000);
}

static void realms(void **state)
{
	assert_bounded("realms", write_realms, 10);
	assert_bounded("realms", write_realms, 128);
}
#endif

// The management lcore does not wait for a reader of the old state.
static void a_reader_is_waited_for_elsewhere(void **state)
{
	struct mgmt_reload_state s;

	open_running(write_listed, 10);
	put(write_listed, 10, true);
	in_use_read();
	mgmt_reload_ask(reload, "a test", false);
	for (unsigned int i = 0; i < 200; i++) {
		const struct timespec pause = {.tv_nsec = 1000000};

		assert_true(mgmt_reload_tick(reload));
		nanosleep(&pause, NULL);
	}
	mgmt_reload_state(reload, &s);
	assert_int_equal(s.ended, 0);
	in_use_done();
	while (mgmt_reload_tick(reload))
		;
	mgmt_reload_state(reload, &s);
	assert_int_equal(s.ended, 1);
	assert_int_equal(s.how, MGMT_RELOAD_DONE);
	close_running();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefixes_of_a_file),
		cmocka_unit_test(prefixes),
#ifdef FEATURE_REALMS
		cmocka_unit_test(users),
		cmocka_unit_test(realms),
#endif
		cmocka_unit_test(a_reader_is_waited_for_elsewhere),
	};

	return cmocka_run_group_tests_name("reload", tests, conf_dir_open, conf_dir_close);
}
