// SPDX-License-Identifier: BSD-3-Clause
// A process may die at any instruction. A child makes, refreshes and ends allocations, permissions
// and channels. It shares its state area with the test, which single-steps it and keeps a copy of
// the area after each store. A reader of the test's own then checks all of it; it knows the layout
// from doc/decisions/0030-state-area.md and shares no code with lib/turn. Every changing record has
// its old or its new contents, or is marked as half-written or ended; the others are unchanged. And
// a new process can adopt each of those areas.
#include "feature_names.h"
#include "restart_world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOMENTS_MAX 400 // upper bound of the stores of one operation
#define CHANNEL 0x4001

static struct restart r;
static struct turn_config config;
static struct fixture_client ivan, eve, bob; // bob: another client of user ivan

// --- the reader ----------------------------------------------------------------------------------

enum kind { ALLOCATIONS = 1, PERMISSIONS, CHANNELS, ENDPOINTS, KINDS };
static const size_t record_size[KINDS] = {0, 160, 32, 32, 32};

// The table of parts tells the position and number of worker 0's records.
struct arrays {
	size_t offset[KINDS], nb[KINDS];
};

static uint64_t u64_at(const uint8_t *area, size_t offset)
{
	uint64_t v;

	memcpy(&v, area + offset, sizeof(v));
	return v;
}

static struct arrays arrays_of(const uint8_t *area)
{
	static const unsigned int order[KINDS] = {
		[ALLOCATIONS] = 0, [PERMISSIONS] = 2, [CHANNELS] = 3, [ENDPOINTS] = 4};
	static const unsigned int count[KINDS] = {
		[ALLOCATIONS] = 0, [PERMISSIONS] = 1, [CHANNELS] = 2, [ENDPOINTS] = 3};
	const uint64_t part = u64_at(area, 56);
	struct arrays a;

	for (unsigned int k = ALLOCATIONS; k < KINDS; k++) {
		uint32_t nb;

		memcpy(&nb, area + part + 40 + 4 * count[k], sizeof(nb));
		a.offset[k] = u64_at(area, part + 8 * order[k]);
		a.nb[k] = nb;
	}
	return a;
}

enum status { EMPTY, WRITING, GOOD, BAD };

// The status of a record: 24 bits of a hash under the key at 224 over digest, place and time.
static enum status status_of(
	const uint8_t *area, const uint8_t *record, enum kind kind, uint32_t index)
{
	const uint64_t word = u64_at(record, 0);
	const uint64_t time = (word >> 24 & ((UINT64_C(1) << 39) - 1)) | (word >> 63 << 63);
	struct hash_key key;
	struct addr a;
	uint64_t digest;

	memcpy(&key, area + 224, sizeof(key));
	if (word < 2)
		return word == 0 ? EMPTY : WRITING;
	if (kind == ALLOCATIONS) {
		digest = hash_bytes(&key, record + 16, 144);
		if (digest != u64_at(record, 8))
			return BAD;
	} else {
		memcpy(&a, record + 8, sizeof(a));
		digest = hash_addr(&key, &a, u64_at(record, 24));
		if (kind == PERMISSIONS) // slot above made
			digest = hash_addr(
				&key, &a, u64_at(record, 24) << 32 | u64_at(record, 24) >> 32);
	}
	a = (struct addr){.d = {digest, (uint64_t)kind << 32 | index}};
	return (hash_addr(&key, &a, time) ^ word) << 40 == 0 ? GOOD : BAD;
}

// --- valid records -------------------------------------------------------------------------------

static uint64_t seen[BAD + 1], moments;

// Checks one record at one moment, with its contents before and after the operation.
static void judge_record(const uint8_t *record, const uint8_t *before, const uint8_t *after,
	size_t len, enum status status)
{
	if (memcmp(record, before, len) == 0)
		return; // it was checked when it was made
	seen[status]++;
	assert_int_not_equal(status, BAD);
	assert_memory_not_equal(before, after, len); // the operation changes it
	if (status == GOOD && memcmp(record + 8, before + 8, len - 8) != 0)
		assert_memory_equal(record + 8, after + 8, len - 8);
}

static void judge_moment(const uint8_t *area, const uint8_t *before, const uint8_t *after)
{
	const struct arrays a = arrays_of(area);
	struct restart next;
	unsigned int writing = 0;

	for (unsigned int k = ALLOCATIONS; k < KINDS; k++)
		for (uint32_t i = 0; i < a.nb[k]; i++) {
			const size_t offset = a.offset[k] + i * record_size[k];

			judge_record(area + offset, before + offset, after + offset, record_size[k],
				status_of(area, area + offset, k, i));
			writing += u64_at(area, offset) == 1;
		}
	assert_in_range(writing, 0, 1);
	restart_look(&r, area, &next);
	assert_int_equal(next.adopted.lost[TURN_STATE_LOST_HALF], writing);
	for (unsigned int i = 0; i < TURN_STATE_LOST_END; i++)
		if (i != TURN_STATE_LOST_HALF && i != TURN_STATE_LOST_CHANNEL)
			assert_int_equal(next.adopted.lost[i], 0);
	// A channel is lost with its half-written permission. On a shared port its peer is
	// registered last. No answer has been sent yet.
	assert_in_range(next.adopted.lost[TURN_STATE_LOST_CHANNEL], 0,
		turn_config_shares_ports(&config) ? 1 : writing);
	restart_close(&next);
	moments++;
}

// --- stepping ------------------------------------------------------------------------------------

struct tape {
	uint8_t *moment[MOMENTS_MAX];
	unsigned int nb;
};

static uint8_t *snapshot(void)
{
	uint8_t *copy = malloc(r.size);

	assert_non_null(copy);
	memcpy(copy, r.area, r.size);
	return copy;
}

// True if the records of the area differ from a snapshot. Clocks and usage do not count.
static bool has_changed(const uint8_t *was, const struct arrays *a)
{
	const uint8_t *area = (const uint8_t *)r.area;

	for (unsigned int k = ALLOCATIONS; k < KINDS; k++)
		if (memcmp(area + a->offset[k], was + a->offset[k], a->nb[k] * record_size[k]) != 0)
			return true;
	return false;
}

static int wait_for(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

// Steps the child to its next SIGSTOP, and keeps every state of the area in between.
static void step_through(pid_t child, struct tape *t)
{
	const struct arrays a = arrays_of((const uint8_t *)r.area);
	int status;

	t->nb = 0;
	t->moment[t->nb++] = snapshot();
	for (;;) {
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
		status = wait_for(child);
		assert_true(WIFSTOPPED(status));
		if (WSTOPSIG(status) == SIGSTOP)
			return;
		assert_int_equal(WSTOPSIG(status), SIGTRAP);
		if (has_changed(t->moment[t->nb - 1], &a)) {
			assert_true(t->nb < MOMENTS_MAX);
			t->moment[t->nb++] = snapshot();
		}
	}
}

static void judge_tape(struct tape *t, const char *name, unsigned int least)
{
	const uint8_t *before = t->moment[0], *after = t->moment[t->nb - 1];

	printf("%s: %u stores\n", name, t->nb - 1);
	assert_in_range(t->nb - 1, least, MOMENTS_MAX);
	for (unsigned int i = 1; i < t->nb; i++)
		judge_moment(t->moment[i], before, after);
	for (unsigned int i = 0; i < t->nb; i++)
		free(t->moment[i]);
}

// --- operations ----------------------------------------------------------------------------------

// A request is built and signed before the child is stepped through its processing.
struct operation {
	const char *name;
	uint32_t later_ms; // the clock advances before it
	void (*build)(void); // not stepped
	void (*run)(void);
	unsigned int stores; // at least this number of stores change the area
};

static struct fixture *f(void)
{
	return &r.worker[0];
}

static void allocate(void)
{
	fixture_begin(f(), STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f()->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	fixture_sign(f(), &ivan);
}

static void permit(void)
{
	const struct endpoint peer = fixture_endpoint("10.98.0.2", 0);

	fixture_begin(f(), STUN_REQUEST, STUN_CREATE_PERMISSION);
	stun_put_xor_addr(&f()->w, STUN_XOR_PEER_ADDRESS, &peer);
	fixture_sign(f(), &ivan);
}

static void bind(void)
{
	const struct endpoint peer = fixture_endpoint("10.98.0.1", 7000);

	fixture_begin(f(), STUN_REQUEST, STUN_CHANNEL_BIND);
	stun_put_u32(&f()->w, STUN_CHANNEL_NUMBER, (uint32_t)CHANNEL << 16);
	stun_put_xor_addr(&f()->w, STUN_XOR_PEER_ADDRESS, &peer);
	fixture_sign(f(), &ivan);
}

static void refresh_by(uint32_t lifetime_s)
{
	fixture_begin(f(), STUN_REQUEST, STUN_REFRESH);
	stun_put_u32(&f()->w, STUN_LIFETIME, lifetime_s);
	fixture_sign(f(), &ivan);
}

static void refresh(void)
{
	refresh_by(3600);
}

static void end(void)
{
	refresh_by(0);
}

#ifdef FEATURE_RESERVATIONS
static void pair(void)
{
	const uint8_t even[1] = {0x80};

	fixture_begin(f(), STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f()->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put(&f()->w, STUN_EVEN_PORT, even, sizeof(even));
	fixture_sign(f(), &eve);
}

static void take_up(void)
{
	uint8_t token[8];

	assert_int_equal(fixture_code(f()), 0); // of the pair
	memcpy(token, f()->answer.data + f()->answer.off[STUN_RESERVATION_TOKEN], sizeof(token));
	fixture_begin(f(), STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f()->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put(&f()->w, STUN_RESERVATION_TOKEN, token, sizeof(token));
	fixture_sign(f(), &bob);
}
#endif

#ifdef FEATURE_SHARED
static void indicate(void)
{
	const struct endpoint peer = fixture_endpoint("10.98.0.2", 9000);

	fixture_begin(f(), STUN_INDICATION, STUN_SEND);
	stun_put_xor_addr(&f()->w, STUN_XOR_PEER_ADDRESS, &peer);
	stun_put(&f()->w, STUN_DATA_ATTR, "hello", 5);
}
#endif

static void nothing(void)
{
}

static void ivan_sends(void)
{
	fixture_send(f(), &ivan);
}

#ifdef FEATURE_RESERVATIONS
static void eve_sends(void)
{
	fixture_send(f(), &eve);
}

static void bob_sends(void)
{
	fixture_send(f(), &bob);
}
#endif

static void sweep(void)
{
	fixture_expire(f());
}

static const struct operation operations[] = {
	{"Allocate", 0, allocate, ivan_sends, 4}, {"CreatePermission", 2000, permit, ivan_sends, 3},
	{"ChannelBind", 2000, bind, ivan_sends, 6},
	{"CreatePermission again", 2000, permit, ivan_sends, 1},
	{"ChannelBind again", 2000, bind, ivan_sends, 2}, {"Refresh", 2000, refresh, ivan_sends, 1},
#ifdef FEATURE_RESERVATIONS
	{"Allocate of a pair", 2000, pair, eve_sends, 8},
	{"Allocate of the reserved port", 2000, take_up, bob_sends, 5},
#endif
	{"end of permissions and channels", 700000, nothing, sweep, 3},
	{"ChannelBind anew", 0, bind, ivan_sends, 6},
	{"Refresh to nothing", 2000, end, ivan_sends, 1},
	{"Allocate on a slot that had one", 2000, allocate, ivan_sends, 4},
	{"ChannelBind on records that others had", 2000, bind, ivan_sends, 6},
	{"Allocate once more", 2000, allocate, ivan_sends, 0}, // 437
};

#ifdef FEATURE_SHARED
static const struct operation shared_operations[] = {
	{"Allocate on a shared port", 0, allocate, ivan_sends, 4},
	{"CreatePermission", 2000, permit, ivan_sends, 3},
	{"Send", 2000, indicate, ivan_sends, 3},
	{"ChannelBind", 2000, bind, ivan_sends, 9},
	{"Refresh to nothing", 2000, end, ivan_sends, 3},
	{"Allocate on a slot that had one", 2000, allocate, ivan_sends, 4},
	{"ChannelBind on records that others had", 2000, bind, ivan_sends, 9},
};
#endif

static void child_run(const struct operation *ops, size_t nb)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		_exit(77);
	for (size_t i = 0; i < nb; i++) {
		fixture_advance(f(), ops[i].later_ms);
		ops[i].build();
		raise(SIGSTOP);
		ops[i].run();
		raise(SIGSTOP);
	}
	_exit(0);
}

// Continues without stepping, to the next SIGSTOP or the end.
static int go_on(pid_t child)
{
	assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
	return wait_for(child);
}

static void step_all(const struct operation *ops, size_t nb)
{
	static struct tape t;
	const pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		child_run(ops, nb);
	status = wait_for(child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		printf("this machine lets nobody trace a process: not tested\n");
		skip();
	}
	for (size_t i = 0; i < nb; i++) {
		assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
		step_through(child, &t);
		judge_tape(&t, ops[i].name, ops[i].stores);
		status = go_on(child);
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	printf("%llu moments: %llu times a new record, %llu times a half-written one\n",
		(unsigned long long)moments, (unsigned long long)seen[GOOD],
		(unsigned long long)seen[WRITING]);
}

static void open_with(const struct turn_config *c)
{
	restart_open_shared(&r, c, 11);
	ivan = fixture_client("198.51.100.7", 5000);
	bob = fixture_client("198.51.100.9", 5002);
	eve = fixture_eve("198.51.100.8", 5001);
}

static void test_steps(void **state)
{
	config = fixture_config();
	config.port_hi = config.port_lo + 3; // so that slots and records are reused
	config.nonce_lifetime_s = 3600;
	open_with(&config);
	step_all(operations, sizeof(operations) / sizeof(operations[0]));
	restart_close(&r);
}

#ifdef FEATURE_SHARED
static void test_steps_shared(void **state)
{
	config = fixture_config();
	config.shared.enabled = true;
	config.port_hi = config.port_lo;
	config.limits.allocations = 4;
	config.shared.peers = 8;
	config.shared.peer_share = 100;
	open_with(&config);
	step_all(shared_operations, sizeof(shared_operations) / sizeof(shared_operations[0]));
	restart_close(&r);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
#ifdef FEATURE_SHARED
		cmocka_unit_test(test_steps_shared),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
