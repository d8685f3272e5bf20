// SPDX-License-Identifier: BSD-3-Clause
// A whole data path under mutated frames of every kind, with clients that live in it: one world
// after the other, each with a random configuration. After every round the balance of every worker
// holds, every packet buffer is accounted for, and every frame sent is well-formed, from our
// addresses, and no longer than its port allows. At the end of a world no buffer is missing. It
// finds most when built with ASan and UBSan.
//
//	fuzz_worker [--seconds N | --frames N] [--seed S] [--from CONFIGURATION] [--verbose]
//
// With --frames a run depends on its seed alone. On failure it prints the last frames, and the
// options that begin with the same configuration.
#include "datapath.h"
#include "dtls_world.h"
#include "exception/exception.h"
#include "fuzz.h"

#include <dlfcn.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SHOWN 8 // number of last frames that are printed
#define COVERED_FRAMES 400000 // a longer run must have reached everything expected

struct fuzz fuzz;

static struct {
	uint64_t seed, first, frames;
	double seconds;
	bool verbose;
} options = {.frames = UINT64_MAX, .seconds = 1e9};

// --- failures ------------------------------------------------------------------------------------

static void show(const struct fuzz_frame *f)
{
	printf("frame %llu at %llu ms, %s%s, port %u, %u bytes\n", (unsigned long long)f->number,
		(unsigned long long)f->ms, f->kind, f->mutated ? ", mutated" : "", f->port, f->len);
	for (uint16_t i = 0; i < f->len; i++)
		printf("%02x%s", f->data[i], i % 40 == 39 || i + 1 == f->len ? "\n" : "");
}

static void report(void)
{
	static bool done;

	if (done || !fuzz.is_open)
		return;
	done = true;
	printf("\nfailed in configuration %llu of seed %llu, with the last of %llu frames:\n",
		(unsigned long long)fuzz.configuration, (unsigned long long)options.seed,
		(unsigned long long)fuzz.nb_frames);
	for (uint64_t n = fuzz.nb_frames - fuzz.nb_before, i = 0; i < SHOWN && i < n; i++)
		show(&fuzz.recent[(n - 1 - i) % FUZZ_RECENT]);
	fuzz_describe();
	printf("again: fuzz_worker --seed %llu --from %llu\n", (unsigned long long)options.seed,
		(unsigned long long)fuzz.configuration);
	fflush(stdout);
}

static void aborted(int sig)
{
	report();
	_exit(1);
}

// A sanitizer that ends the process reports only to callbacks set in its own library: sets each.
static void ask_sanitizers(void)
{
	static const char *const libraries[] = {NULL, "libubsan.so.1"};

	for (size_t i = 0; i < RTE_DIM(libraries); i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
		void (*ask)(void (*)(void)) = NULL;

		if (library != NULL)
			*(void **)&ask = dlsym(library, "__sanitizer_set_death_callback");
		if (ask != NULL)
			ask(report);
	}
	signal(SIGABRT, aborted);
}

// The sanitizers handle signals themselves; otherwise cmocka would catch their reports.
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "handle_segv=2:handle_sigbus=2:handle_sigfpe=2:handle_sigill=2";
}

const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
	return "halt_on_error=1:print_stacktrace=1";
}

// --- the run -------------------------------------------------------------------------------------

static void pass_time(void)
{
	const uint32_t dice = below(10000);

	if (dice < 300)
		fuzz.world.ms += below(40);
	else if (dice < 350)
		fuzz.world.ms += below(4000);
	else if (dice < 355)
		fuzz.world.ms += below(120000);
	else if (dice < 356)
		fuzz.world.ms += 2 * 3600 * 1000;
}

// Disturbs the world: neighbours that do not answer, ports that take nothing, a link that comes up.
static void disturb(void)
{
	if (chance(2))
		fuzz.world.deaf = chance(20);
	if (chance(1))
		softport_limit(fuzz_port(0), below(30));
	else if (chance(30))
		softport_limit(fuzz_port(0), UINT32_MAX);
	if (fuzz_exception() != NULL)
		softport_limit(fuzz_exception()->kernel, chance(2) ? below(4) : UINT32_MAX);
	if (chance(1) && chance(10))
		__atomic_add_fetch(&fuzz.world.dp->port[0].announce, 1, __ATOMIC_RELAXED);
}

static void step(void)
{
	unsigned int n = chance(4) ? 10 + below(80) : below(8);

	pass_time();
	disturb();
	for (; n > 0; n--) {
		const uint32_t dice = below(100);

		if (dice < 48)
			fuzz_client_acts();
		else if (dice < 70)
			fuzz_peer_acts();
		else if (dice < 96)
			fuzz_any_frame();
		else
			fuzz_any_super();
	}
	fuzz_round();
	if (fuzz.nb_frames % 16 == 0)
		fuzz_check();
}

static bool over(void)
{
	return fuzz.nb_frames >= options.frames || fuzz_clock_real() >= options.seconds;
}

static void run_one(void)
{
	const struct test_rand seed = {options.seed ^ fuzz.configuration << 32};
	uint64_t end;

	fuzz.rand = seed;
	test_rand(&fuzz.rand);
	fuzz.world.ms = 1000000;
	fuzz.nb_before = fuzz.nb_frames;
	fuzz_open();
	end = fuzz.nb_frames + 2000 + below(6000);
	if (options.verbose) {
		printf("%llu at frame %llu: ", (unsigned long long)fuzz.configuration,
			(unsigned long long)fuzz.nb_frames);
		fuzz_describe();
	}
	while (fuzz.nb_frames < end && !over())
		step();
	fuzz_close();
	if (options.verbose)
		printf("  %llu received, %llu sent so far\n",
			(unsigned long long)fuzz.seen.stats.rx,
			(unsigned long long)fuzz.seen.stats.tx);
}

// --- coverage ------------------------------------------------------------------------------------

// True if a drop is too rare to be demanded, or cannot be caused from outside.
static bool drop_is_rare(unsigned int reason)
{
	static const unsigned int rare[] = {
		DP_DROP_TURN + TURN_DROP_INTERNAL - 1,
		DP_DROP_TURN + TURN_DROP_PEER_OVERSIZE - 1,
		DP_DROP_HEADROOM,
		DP_DROP_NEIGH_FAILED,
		DP_DROP_DTLS_ENDED,
		DP_DROP_DTLS_CIPHER,
		DP_DROP_DTLS_MANY,
		DP_DROP_DTLS_FRAGMENT,
		DP_DROP_STOPPING,
#ifndef FEATURE_LOOKUP
		DP_DROP_TURN + TURN_DROP_LOOKUP - 1,
		DP_DROP_LOOKUP_WAITS,
		DP_DROP_LOOKUP_ROOM,
#endif
#ifndef FEATURE_RATES
		DP_DROP_TURN + TURN_DROP_ALLOCATION_RATE - 1,
		DP_DROP_TURN + TURN_DROP_USER_RATE - 1,
		DP_DROP_TURN + TURN_DROP_REALM_RATE - 1,
#endif
#ifndef FEATURE_REALMS // nobody has pools of its own
		DP_DROP_TURN + TURN_DROP_PEER_OTHER_POOL - 1,
#endif
#ifndef FEATURE_SHARED
		DP_DROP_TURN + TURN_DROP_SHARED_UNKNOWN_PEER - 1,
		DP_DROP_TURN + TURN_DROP_SHARED_COLLISION - 1,
		DP_DROP_TURN + TURN_DROP_SHARED_FULL - 1,
		DP_DROP_TURN + TURN_DROP_SHARED_SHARE - 1,
#endif
	};

	for (size_t i = 0; i < RTE_DIM(rare); i++)
		if (rare[i] == reason)
			return true;
	return false;
}

static unsigned int missing;

static void row(const char *group, const char *name, uint64_t n, bool expected)
{
	const bool misses = expected && n == 0;

	printf("  %-10s %-28s %12llu%s\n", group, name, (unsigned long long)n,
		misses ? "  <- never" : "");
	missing += misses;
}

static void table(void)
{
	static const unsigned int codes[] = {
		0, 400, 401, 403, 405, 420, 437, 438, 440, 441, 442, 443, 486, 508};
	const struct fuzz_seen *s = &fuzz.seen;
	char code[16];

	for (unsigned int i = 0; i < DP_DROP_END; i++)
		row("drop", dp_drop_name(i), s->stats.drop[i], !drop_is_rare(i));
	for (size_t i = 0; i < RTE_DIM(codes); i++) {
		snprintf(code, sizeof(code), "%u", codes[i]);
		row("answer", codes[i] == 0 ? "success" : code, s->answer[codes[i]],
			codes[i] != 405 || FUZZ_MOBILITY);
	}
	for (unsigned int i = 0; i < EXC_CLASSES; i++)
		row("to kernel", dp_exception_classes[i], s->to_classes[i], true);
	for (unsigned int i = 0; i < EXC_CLASSES; i++)
		row("of kernel", dp_exception_classes[i], s->from_classes[i], true);
	row("to kernel", "super-frames", s->to_supers, true);
	row("of kernel", "super-frames", s->from_supers, true);
	row("of kernel", "answered already", s->from_answered, true);
	row("to kernel", "frames that it has got", s->to_kernel, true);
	row("relayed", "to peers", s->to_peers, true);
	row("relayed", "as ChannelData", s->channel_data, true);
	row("relayed", "as Data indications", s->data_indications, true);
	row("relayed", "as ICMP errors", s->icmp_told, true);
	row("answered", "without a cookie", s->rfc3489, true);
	row("reloads", "of the configuration", s->reloads, true);
	row("path MTU", "lowered", s->stats.path_mtus, true);
	row("clients", "messages over UDP", s->via[VIA_UDP], true);
	row("clients", "messages over streams", s->via[VIA_STREAM], true);
	row("clients", "messages over DTLS", s->via[VIA_DTLS], true);
	row("host", "echo replies", s->echoes, true);
	row("host", "ARP and ND sent", s->neighbours, true);
	row("handed", "from worker to worker", s->stats.handed_in, true);
	row("turn", "allocations", s->stats.turn.allocations_total, true);
	row("turn", "dual allocations", s->duals, true);
#ifdef FEATURE_TCP
	row("orders", "to listen", s->orders[STREAM_ORDER_LISTEN], true);
	row("orders", "to connect", s->orders[STREAM_ORDER_CONNECT], true);
	row("orders", "to bind", s->orders[STREAM_ORDER_BIND], true);
	row("orders", "to admit", s->orders[STREAM_ORDER_ADMIT], true);
	row("orders", "to take another token", s->orders[STREAM_ORDER_REKEY], false);
	row("tcp", "bytes relayed", s->relayed, true);
#endif
	row("turn", "tickets given", s->tickets, FUZZ_MOBILITY);
	row("turn", "tickets shown", s->shown, FUZZ_MOBILITY);
	row("turn", "clients moved", s->stats.turn.moves, FUZZ_MOBILITY);
	row("turn", "moves lapsed", s->stats.turn.moves_lapsed, false);
	row("turn", "connections outlived", s->stats.turn.outlived, false);
	row("turn", "redirects at the end", s->stats.turn.redirects, false);
	row("turn", "ends on shared addresses", s->stats.turn.endpoints, WORLD_SHARED(true));
	row("fragments", "kept", s->stats.fragments_in, true);
	row("fragments", "reassembled", s->stats.reassembled, true);
	row("fragments", "sent", s->fragments, true);
	row("super", "sent whole", s->stats.uso_frames, true);
	row("super", "received and sent whole", s->stats.whole_frames, true);
	row("port", "no buffer to receive into", s->nic_full, false);
#define X(field, text) row("dtls", #field, s->stats.dtls.field, false);
	DP_DTLS_COUNTERS(X)
#undef X
	row("dtls", "sessions", s->stats.dtls.opened, true);
	row("dtls", "messages of clients", s->stats.dtls.rx, true);
}

static void test_fuzz(void **state)
{
	ask_sanitizers();
	for (fuzz.configuration = options.first; !over(); fuzz.configuration++)
		run_one();
	table();
	printf("%llu frames in %llu configurations, %.0f frames/s\n",
		(unsigned long long)fuzz.nb_frames,
		(unsigned long long)(fuzz.configuration - options.first),
		(double)fuzz.nb_frames / fuzz_clock_real());
	if (fuzz.nb_frames >= COVERED_FRAMES)
		assert_int_equal(missing, 0);
}

int main(int argc, char **argv)
{
	static const struct option known[] = {{"seconds", 1, NULL, 's'}, {"frames", 1, NULL, 'n'},
		{"seed", 1, NULL, 'r'}, {"from", 1, NULL, 'f'}, {"verbose", 0, NULL, 'v'}, {0}};
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_fuzz)};
	struct timespec now;
	int o, failed;

	clock_gettime(CLOCK_REALTIME, &now);
	options.seed = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	while ((o = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (o == 's')
			options.seconds = atof(optarg);
		else if (o == 'n')
			options.frames = strtoull(optarg, NULL, 0);
		else if (o == 'r')
			options.seed = strtoull(optarg, NULL, 0);
		else if (o == 'f')
			options.first = strtoull(optarg, NULL, 0);
		else if (o == 'v')
			options.verbose = true;
		else
			return 2;
	}
	if (options.frames == UINT64_MAX && options.seconds > 1e8)
		options.frames = COVERED_FRAMES;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("fuzz_worker: seed %llu\n", (unsigned long long)options.seed);
	world_eal();
	fuzz_clock_start();
	fuzz_clock_seed(options.seed);
	dtls_files(); // made now, before the first configuration that needs them
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (failed != 0) {
		report();
		_exit(1); // no leak check: everything still in use would be reported
	}
	return 0;
}
