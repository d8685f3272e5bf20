// SPDX-License-Identifier: BSD-3-Clause
// The whole server in one straight line: arguments, configuration, EAL, data path, management. The
// end runs through the same steps backwards.

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sysexits.h>
#include <sys/random.h>

#include <jansson.h>
#include <rte_version.h>

#include "check.h"
#include "check_said.h"
#include "commit.h"
#include "conf.h"
#include "conf_lcores.h"
#include "conf_drivers.h"
#include "cores.h"
#include "dp.h"
#include "dp_memory.h"
#include "dp_state.h"
#include "drain/hook.h"
#include "eal.h"
#include "events/events.h"
#include "feature_names.h"
#include "hash.h"
#include "log/log.h"
#include "mgmt.h"
#include "opts.h"
#include "turn_state.h"
#include "watch/watch.h"

#define HUGEPAGES "/sys/kernel/mm/hugepages"

static const char *prefix_of(enum conf_weight weight)
{
	return mgmt_log_prefix(weight == CONF_WARNING ? LOG_WARNING : LOG_ERR);
}

static void print_problem(void *ctx, enum conf_weight weight, const char *line)
{
	fprintf(stderr, "%s%s: %s\n", prefix_of(weight),
		weight == CONF_WARNING ? "warning" : "error", line);
}

// Loads the driver profiles of the configuration, or else those of the installation. The profiles
// of the installation may be missing: then *d is NULL. 0, or -1 with the reason in error.
static int load_drivers(const struct opts *o, const struct conf *c, struct conf_drivers **d,
	char error[CONF_ERROR_LEN])
{
	const char *asked = o->drivers != NULL ? o->drivers : c != NULL ? c->drivers_dir : NULL;

	*d = NULL;
	if (asked != NULL && asked[0] == '\0')
		return 0;
	*d = conf_drivers_load(asked != NULL ? asked : SLIPRING_DRIVERS_DIR, error);
	return *d != NULL || (asked == NULL && errno == ENOENT) ? 0 : -1;
}

// Loads the configuration with its driver profiles. Returns NULL after reporting the reasons.
static struct conf *load_conf(const struct opts *o, struct conf_report *r)
{
	char error[CONF_ERROR_LEN];
	struct conf *c;
	struct hash_key hash;

	if (getrandom(&hash, sizeof(hash), 0) != sizeof(hash)) {
		r->nb[CONF_ERROR]++;
		r->say(r->ctx, CONF_ERROR, "the kernel has no random numbers");
		return NULL;
	}
	c = conf_load_and_report(o->config, r, &hash);

	if (c != NULL && (o->drivers != NULL || check_drivers(c, r))) {
		if (load_drivers(o, c, &c->drivers, error) == 0)
			return c;
		r->nb[CONF_ERROR]++;
		r->say(r->ctx, CONF_ERROR, error);
	}
	conf_free(c);
	return NULL;
}

static unsigned int count_workers(const struct conf *c, unsigned int nb_cpus)
{
	const int lcores = c->eal_lcores != NULL ? conf_lcores_count(c->eal_lcores) : 0;

	return c->workers != 0
		? c->workers
		: eal_workers_default(nb_cpus, lcores > 0 ? (unsigned int)lcores : 0);
}

// The file may be meant for another machine.
static void check_memory(struct conf *c, struct conf_report *r)
{
	unsigned int cpus[RTE_MAX_LCORE];
	const struct conf_at place = {c, &c->turn.limits.allocations, 0, "limits.allocations"};
	size_t need_mb;

	c->turn.workers = c->workers = count_workers(c, eal_cpus_allowed(cpus));
	conf_derive_mbufs(c);
	need_mb = dp_memory_normal_mb(c);
	if (dp_memory_mb(c) > eal_hugepages_free_mb(HUGEPAGES) && need_mb > eal_memory_mb())
		conf_tell(r, CONF_WARNING, place,
			"%zu MB are needed in all, and this machine has %zu MB: lower it, or "
			"workers.count, see `slipring --show-needs`",
			need_mb, eal_memory_mb());
}

// All output goes to standard error, so that it remains in order.
static int check_config(const struct opts *o)
{
	const char *note = mgmt_log_prefix(LOG_NOTICE);
	struct check_said said = {0};
	struct conf_report r = {.say = check_said_keep, .ctx = &said};
	struct conf *c = load_conf(o, &r);
	unsigned int nb[2] = {0, 0};

	if (c != NULL) {
		check_all(c, true, &r);
		check_memory(c, &r);
	}
	check_said_print(&said, o->config, stderr, prefix_of, nb);
	if (c != NULL && conf_pending(c))
		fprintf(stderr, "%s%s: addresses from dhcp and slaac are checked at the start\n",
			note, o->config);
	fprintf(stderr, "%s%s: ", note, o->config);
	if (nb[CONF_ERROR] > 0)
		fprintf(stderr, "%u error%s", nb[CONF_ERROR], nb[CONF_ERROR] == 1 ? "" : "s");
	else
		fprintf(stderr, "no errors");
	if (nb[CONF_ERROR] + nb[CONF_WARNING] > 0)
		fprintf(stderr, ", %u warning%s", nb[CONF_WARNING],
			nb[CONF_WARNING] == 1 ? "" : "s");
	fprintf(stderr, "\n");
	check_said_free(&said);
	conf_free(c);
	return nb[CONF_ERROR] > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int show_driver(const struct opts *o)
{
	char error[CONF_ERROR_LEN];
	struct conf_drivers *d = NULL;
	struct conf *c = o->config != NULL ? conf_load(o->config, error) : NULL;
	const bool good = (o->config == NULL || c != NULL) && load_drivers(o, c, &d, error) == 0;

	if (good)
		conf_driver_show(stdout, d, c, o->driver);
	else
		fprintf(stderr, "%s\n", error);
	conf_drivers_free(d);
	conf_free(c);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

// Reports why the start failed. The caller of the program reads standard error; with another log
// target the log needs the reason, too.
static int start_failed(const struct conf *c, const char *error)
{
	LOG(START, ERR, "%s", error);
	if (c->log.target != CONF_LOG_STDERR)
		fprintf(stderr, "%sslipring: %s\n", mgmt_log_prefix(LOG_ERR), error);
	return EXIT_FAILURE;
}

static void log_problem(void *ctx, enum conf_weight weight, const char *line)
{
	if (weight == CONF_ERROR)
		start_failed(ctx, line);
	else
		LOG(CONFIG, WARNING, "%s", line);
}

// The failure of the start reports the first error.
static void log_warning(void *ctx, enum conf_weight weight, const char *line)
{
	if (weight == CONF_WARNING)
		LOG(CONFIG, WARNING, "%s", line);
}

static void resolve_workers(struct conf *c, unsigned int nb_cpus)
{
	c->turn.workers = c->workers = count_workers(c, nb_cpus);
	conf_derive_mbufs(c);
	if (c->workers > nb_cpus)
		LOG(WORKERS, WARNING, "%u workers share %u CPUs", c->workers, nb_cpus);
}

// Megabytes with one decimal.
static json_t *json_megabytes(double bytes)
{
	return json_real((double)(uint64_t)(bytes / 1e5 + 0.5) / 10);
}

static json_t *pool_needs(uint32_t sure, uint32_t pool, double bytes)
{
	return json_pack("{s:I, s:I, s:o}", "sure", (json_int_t)sure, "pool", (json_int_t)pool,
		"memory_mb", json_megabytes(bytes));
}

// The pools of allocations, and the memory that they may take.
static json_t *allocation_needs(const struct conf *c)
{
	struct dp_pools d;
	const struct turn_pools *p = &d.pools;
	json_t *o;
	double n;

	dp_pools(c, &d);
	n = d.allocations;
	o = json_pack("{s:I, s:o, s:o}", "room", (json_int_t)d.allocations, "permissions",
		pool_needs(p->sure_permissions, p->permissions,
			(p->sure_permissions * n + p->permissions) * TURN_RECORD_BYTES),
		"channels",
		pool_needs(p->sure_channels, p->channels,
			(p->sure_channels * n + p->channels) * TURN_CHANNEL_BYTES));
#define X(field, name, enabled, bytes, most)                      \
	if (c->turn.enabled)                                      \
		json_object_set_new(o, name,                      \
			pool_needs(p->sure_permissions, p->field, \
				(p->sure_permissions * n + p->field) * (bytes)));
	TURN_CONFIG_POOLS(X)
#undef X
	json_object_set_new(o, "per_user_percent", json_integer(p->per_user));
	json_object_set_new(o, "memory_mb", json_megabytes((double)d.bytes));
	return o;
}

static json_t *port_needs(const struct conf *c)
{
	json_t *ports = json_array();

	for (uint32_t i = 0; i < c->nb_ports; i++)
		for (uint32_t k = 0; k < conf_port_devices(&c->ports[i]); k++)
			json_array_append_new(ports,
				json_pack("{s:s, s:s}", "name", c->ports[i].name, "device",
					conf_port_device(&c->ports[i], k)));
	return ports;
}

static void print_needs(const struct conf *c, const char *lcores)
{
	json_t *o = json_pack("{s:I, s:s, s:s, s:I, s:o, s:o}", "workers", (json_int_t)c->workers,
		"idle", conf_idle_name(c->idle), "lcores", lcores, "memory_mb",
		(json_int_t)dp_memory_mb(c), "allocations", allocation_needs(c), "ports",
		port_needs(c));

	json_dumpf(o, stdout, JSON_REAL_PRECISION(15));
	json_decref(o);
	putchar('\n');
}

static int show_needs(const struct opts *o)
{
	unsigned int cpus[RTE_MAX_LCORE];
	const unsigned int nb_cpus = eal_cpus_allowed(cpus);
	struct conf_report r = {.say = print_problem};
	struct conf *c = load_conf(o, &r);
	char *dealt = NULL;

	if (c == NULL)
		return EXIT_FAILURE;
	resolve_workers(c, nb_cpus);
	if (c->eal_lcores == NULL)
		dealt = eal_lcores_deal(cpus, nb_cpus, c->workers);
	if (c->eal_lcores != NULL || dealt != NULL)
		print_needs(c, dealt != NULL ? dealt : c->eal_lcores);
	else
		fprintf(stderr, "out of memory\n");
	free(dealt);
	conf_free(c);
	return EXIT_SUCCESS;
}

static void tell_waiting(void *ctx, const char *line)
{
	LOG(ADDRESSES, INFO, "%s", line);
}

static bool stop_asked(void *ctx)
{
	return mgmt_stop_asked();
}

// Returns NULL after reporting the reason at its place in the file.
static struct mgmt_events *open_events(const struct conf *c)
{
	struct conf_report r = {.say = log_problem, .ctx = (void *)(uintptr_t)c};
	const struct conf_at place = {c, &c->records.file, 0, "records.file"};
	char error[CONF_ERROR_LEN];
	struct mgmt_events *m = mgmt_events_open(c, error, sizeof(error));

	if (m == NULL)
		conf_tell(&r, CONF_ERROR, place, "%s", error);
	return m;
}

static void tell_progress(void *ctx, const char *line)
{
	LOG(START, INFO, "%s", line);
}

static void take_events(void *ctx, struct dp *d)
{
	mgmt_events_attach(ctx, d);
}

static int serve_clients(struct conf *c, const struct eal *e)
{
	struct conf_report r = {.say = log_warning};
	char error[CONF_ERROR_LEN];
	struct mgmt_events *m = open_events(c);
	const struct dp_state_watch watch = {
		.begin = take_events, .progress = tell_progress, .ctx = m};
	const struct dp_learning learning = {
		.conf = c, .report = &r, .tell = tell_waiting, .stop = stop_asked, .state = &watch};
	struct dp *d;
	int rc;

	if (m == NULL)
		return EXIT_FAILURE;
	d = dp_start(c, e->workers, &learning, error, sizeof(error));
	if (d == NULL) {
		mgmt_events_close(m);
		if (!mgmt_stop_asked())
			return start_failed(c, error);
		LOG(START, NOTICE, "stopped: %s", error);
		return EXIT_SUCCESS;
	}
	conf_forget_places(c);
	conf_forget(c);
	cores_spare();
	rc = mgmt_run(d, c, e->memory, m);
	dp_stop(d);
	mgmt_events_close(m);
	if (rc != 0)
		return EXIT_FAILURE;
	LOG(START, INFO, "stopped");
	return EXIT_SUCCESS;
}

static int run_configured(const struct opts *o, struct conf *c)
{
	unsigned int cpus[RTE_MAX_LCORE];
	struct eal_params p = {
		.conf = c,
		.extra = o->eal,
		.nb_extra = o->nb_eal,
		.cpus = cpus,
		.nb_cpus = eal_cpus_allowed(cpus),
	};
	char error[CONF_ERROR_LEN];
	struct eal e;
	int rc;

	resolve_workers(c, p.nb_cpus);
	p.need_mb = dp_memory_mb(c);
	p.normal_mb = dp_memory_normal_mb(c);
	p.free_mb = eal_hugepages_free_mb(HUGEPAGES);
	p.all_mb = eal_memory_mb();
	if (mgmt_stop_asked()) { // a signal came while the file was read
		LOG(START, NOTICE, "stopped before the start");
		return EXIT_SUCCESS;
	}
	if (watch_start(c, error, sizeof(error)) != 0)
		return start_failed(c, error);
	if (eal_start(&e, &p, error, sizeof(error)) != 0) {
		watch_stop();
		return start_failed(c, error);
	}
	rc = watch_lcores(e.args.file_prefix, error, sizeof(error)) == 0 ? serve_clients(c, &e)
									 : start_failed(c, error);
	eal_stop(&e);
	watch_stop();
	return rc;
}

static void tell_drivers(const struct opts *o, const struct conf *c)
{
	if (c->drivers != NULL)
		LOG(START, INFO, "driver profiles: %u in %s", c->drivers->nb, c->drivers->dir);
	else
		LOG(START, INFO, "driver profiles: none%s: ports use the values that they report",
			c->drivers_dir == NULL && o->drivers == NULL
				? ", there is no " SLIPRING_DRIVERS_DIR
				: "");
}

// Sends drain.on-change to the process that runs it. forked: the result of mgmt_hook_fork().
static bool tell_hook(const struct conf *c, int forked)
{
	const int rc = mgmt_hook_command(&c->drain);
	char error[CONF_ERROR_LEN];

	if (rc == 0)
		return true;
	snprintf(error, sizeof(error), "drain.on-change: no process can run it: %s",
		strerror(forked != 0 ? -forked : -rc));
	start_failed(c, error);
	return false;
}

static int run_server(const struct opts *o)
{
	struct conf_report unread = {.say = print_problem}, r = {.say = log_problem};
	const int forked = mgmt_hook_fork(); // while the memory has no secrets
	struct conf *c;
	int rc = EXIT_FAILURE;

	// Before there are threads, which inherit the mask: only the management loop handles
	// signals, and signals that arrive while the file is read wait for it. The hook's process
	// has its own mask.
	if (mgmt_signals_block() != 0) {
		fprintf(stderr, "slipring: signals cannot be blocked\n");
		return EXIT_FAILURE;
	}
	cores_allow(false); // from here on the memory has secrets
	c = load_conf(o, &unread);
	if (c == NULL)
		return EX_CONFIG; // the unit does not restart it then (RestartPreventExitStatus=)
	r.ctx = c;
	mgmt_log_open(&c->log);
	if (c->debug.core_dumps) {
		cores_allow(true);
		LOG(START, NOTICE, "core dumps are on (debug.core-dumps): they contain TLS keys");
	}
	check_all(c, !eal_args_lcores(o->eal, o->nb_eal), &r);
	if (!conf_pending(c)) // otherwise conf_resolve needs them
		conf_forget_places(c);
	if (r.nb[CONF_ERROR] == 0 && tell_hook(c, forked)) {
		tell_drivers(o, c);
		rc = run_configured(o, c);
	}
	mgmt_hook_close();
	mgmt_log_close();
	conf_free(c);
	return rc;
}

// The first line shows whether two builds have the same layout; the fields show the differences.
static int show_layout(void)
{
	unsigned int nb;
	const struct turn_state_field *f = turn_state_fields(&nb);

	printf("state layout %d, digest %016" PRIx64 "\n", TURN_STATE_LAYOUT, turn_state_digest());
	for (unsigned int i = 0; i < nb; i++)
		if (f[i].name[0] == '\0')
			printf("%s: %u bytes\n", f[i].record, f[i].size);
		else
			printf("%s.%s: %u bytes at %u\n", f[i].record, f[i].name, f[i].size,
				f[i].offset);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	char error[256];
	struct opts o;

	if (argc > 1 && strcmp(argv[1], "init") == 0) {
		execv(SLIPRING_BINDIR "/slipring-init", argv + 1);
		fprintf(stderr, "slipring: " SLIPRING_BINDIR "/slipring-init: %s\n",
			strerror(errno));
		return EXIT_FAILURE;
	}
	if (opts_parse(&o, argc, argv, error, sizeof(error)) != 0) {
		fprintf(stderr, "slipring: %s\nTry: slipring --help\n", error);
		return EXIT_FAILURE;
	}
	switch (o.action) {
	case OPTS_HELP:
		opts_help(stdout);
		return EXIT_SUCCESS;
	case OPTS_VERSION:
		printf("slipring %s (%s)\n", SLIPRING_VERSION, rte_version());
		printf("commit: %s\n", SLIPRING_COMMIT);
		printf("features: %s\n", FEATURES[0] != '\0' ? FEATURES : "none");
		return EXIT_SUCCESS;
	case OPTS_MANUAL:
		conf_manual(stdout);
		return EXIT_SUCCESS;
	case OPTS_LAYOUT:
		return show_layout();
	case OPTS_CHECK:
		return check_config(&o);
	case OPTS_NEEDS:
		return show_needs(&o);
	case OPTS_DRIVER:
		return show_driver(&o);
	case OPTS_RUN:
		break;
	}
	return run_server(&o);
}
