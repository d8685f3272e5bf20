// SPDX-License-Identifier: BSD-3-Clause
// The state area during the life of a process. At start it looks first at the area of the last
// process, because that determines the keys. It adopts that area before workers run, and replaces
// it by a new area at the same moment. From then on workers write to the new area, and management
// updates its clock.
#include "state/carry.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>

#include "clock.h"
#include "conf.h"
#include "see/stats.h"
#include "datapath.h"
#include "dp.h"
#include "dp_state.h"
#include "link/local_addrs.h"
#include "state/state_deaths.h"
#include "state/state_file.h"
#include "state/state_room.h"
#include "steering/steer.h"
#include "turn_relay_map.h"
#include "turn_shard.h"
#include "turn_state.h"
#include "path/worker.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define CLOCK_MS 1000 // between two updates of the area's clock
#define REDIRECTS 1024 // in addition to those of adopted allocations
#define YOUNG_MS 60000 // a process that dies later did not die because of the adopted state
#define SHORT_MS 2000 // a shorter adoption reports no progress

struct carry {
	struct state_file file;
	uint8_t boot_id[TURN_STATE_BOOT_ID_LEN];
	struct turn_state *area; // in file.fresh
	struct dp_state told;
	const struct dp_state_watch *watch; // during the start, else NULL
	uint32_t redirects[TURN_WORKERS_MAX];
	uint64_t began_ms, clock_ms; // start of the adoption; last update of the area's clock
	uint64_t up_ms; // when the area became this process's own
	bool forget;
	bool counted; // FILE.lock counts this process among those that died young
	bool up; // the area belongs to this process
};

// --- the old area --------------------------------------------------------------------------------

// Reads the id of this boot of the kernel: its text has 32 hexadecimal digits between dashes.
static int boot_id_read(uint8_t id[TURN_STATE_BOOT_ID_LEN])
{
	char text[40] = "";
	unsigned int digits = 0;
	const int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (fd >= 0)
		close(fd);
	memset(id, 0, TURN_STATE_BOOT_ID_LEN);
	for (ssize_t i = 0; i < n && digits < 2 * TURN_STATE_BOOT_ID_LEN; i++) {
		char digit[2] = {text[i], '\0'}, *end;
		const unsigned long v = strtoul(digit, &end, 16);

		if (end == digit)
			continue;
		id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | v);
		digits++;
	}
	return digits == 2 * TURN_STATE_BOOT_ID_LEN ? 0 : -1;
}

static bool has_old(const struct carry *s)
{
	return s->file.old.mem != NULL;
}

static void refuse_state(struct carry *s, enum dp_state_start how, const char *reason)
{
	s->told.start = how;
	snprintf(s->told.reason, sizeof(s->told.reason), "%s", reason);
	state_file_unmap(&s->file);
}

// Maps the area of the last process, unless it is unusable, or the last few processes may have died
// because of it. most: the number of deaths that is too many; 0 = no limit.
static void map_previous(struct carry *s, uint32_t most)
{
	struct turn_state_about about;
	char reason[160];
	const int rc = state_file_map(&s->file, reason, sizeof(reason));
	unsigned int refusal;

	if (rc == -ENOENT)
		return;
	if (rc != 0) {
		refuse_state(s, DP_STATE_REFUSED, reason);
		return;
	}
	if (most > 0 && s->told.deaths >= most) {
		snprintf(reason, sizeof(reason),
			"%u processes in a row have died within %d seconds of their start",
			s->told.deaths, YOUNG_MS / 1000);
		refuse_state(s, DP_STATE_CRASHED, reason);
		return;
	}
	refusal = turn_state_check(s->file.old.mem, s->file.old.size, s->boot_id);
	if (refusal != TURN_STATE_GOOD) {
		refuse_state(s, DP_STATE_REFUSED, turn_state_refusal_text(refusal));
		return;
	}
	turn_state_about(s->file.old.mem, &about);
	memcpy(s->told.version, about.version, sizeof(s->told.version));
	s->told.away_ms = clock_boot_ms() - about.boot_ms;
}

int carry_open(struct dp *d, char *error, size_t len)
{
	struct carry *s;

	if (d->conf->state.file == NULL)
		return 0;
	s = calloc(1, sizeof(*s));
	if (s == NULL) {
		snprintf(error, len, "out of memory");
		return -1;
	}
	d->carry = s;
	s->told.file = d->conf->state.file;
	if (state_file_open(&s->file, d->conf->state.file, error, len) != 0)
		return -1;
	if (boot_id_read(s->boot_id) != 0) {
		snprintf(error, len, "state.file: " BOOT_ID " cannot be read");
		return -1;
	}
	s->told.deaths = state_deaths(&s->file);
	state_deaths_set(&s->file, s->told.deaths + 1);
	s->counted = true;
	map_previous(s, d->conf->state.crashes);
	return 0;
}

void carry_watch(struct dp *d, const struct dp_state_watch *watch)
{
	if (d->carry != NULL)
		d->carry->watch = watch;
}

void carry_keys(const struct dp *d, struct turn_state_keys *keys)
{
	if (d->carry != NULL && has_old(d->carry))
		turn_state_keys_of(d->carry->file.old.mem, keys);
}

// --- adoption ------------------------------------------------------------------------------------

// Home worker of a client, as computed from the client's packets.
static unsigned int client_home(void *ctx, const struct endpoint *client, uint8_t listener)
{
	const struct dp *d = ctx;
	const struct endpoint *server = &d->conf->turn.listeners[listener].endpoint;
	const struct local_addr *laddr = local_addrs_find(d->local, &server->addr);

	if (laddr == NULL || !d->port[laddr->port].rss_home)
		return steer_keyed_home(d, &client->addr, client->port, listener);
	return steer_tuple_home(&d->port[laddr->port], client, server);
}

static void report_progress(void *ctx, uint64_t done, uint64_t all)
{
	const struct dp *d = ctx;
	const struct carry *s = d->carry;
	char line[96];

	if (s->watch == NULL || clock_boot_ms() - s->began_ms < SHORT_MS)
		return;
	snprintf(line, sizeof(line), "adopting calls: %" PRIu64 " of %" PRIu64 " done", done, all);
	s->watch->progress(s->watch->ctx, line);
}

static struct turn_state_adoption make_adoption(struct dp *d, struct turn_shard *const *shards)
{
	return (struct turn_state_adoption){.area = d->carry->file.old.mem,
		.boot_ms = clock_boot_ms(),
		.clock_ms = dp_clock_ms(d),
		.wall_s = (uint64_t)time(NULL),
		.config = &d->conf->turn,
		.map = d->map,
		.shards = shards,
		.home = client_home,
		.progress = report_progress,
		.ctx = d};
}

// Writes the description of the new area, in s->file.fresh.
static void tell_area(struct dp *d, size_t size)
{
	struct carry *s = d->carry;
	const uint64_t room = state_room(s->file.dir, s->file.name);
	uint32_t slots = 0;

	for (unsigned int w = 0; w < d->nb_workers; w++)
		slots += turn_relay_map_slots(d->map, w);
	s->told.bytes = s->file.fresh.size;
	s->told.each = (uint32_t)(size / RTE_MAX(slots, 1u));
	if (room / 2 < s->told.bytes)
		dp_state_room_text(room, s->told.bytes, s->told.room, sizeof(s->told.room));
}

int carry_make(struct dp *d, const struct turn_state_keys *keys, struct csprng *rng, char *error,
	size_t len)
{
	struct carry *s = d->carry;
	const struct turn_state_new n = {.config = &d->conf->turn,
		.map = d->map,
		.keys = keys,
		.before = s != NULL ? s->file.old.mem : NULL,
		.rng = rng,
		.boot_id = s != NULL ? s->boot_id : NULL,
		.version = SLIPRING_VERSION,
		.boot_ms = clock_boot_ms(),
		.clock_ms = dp_clock_ms(d)};
	size_t size;
	int rc;

	if (s == NULL)
		return 0;
	size = turn_state_size(n.config, d->map);
	rc = state_file_make(&s->file, size, error, len);
	if (rc < 0 && rc != -ENOSPC)
		return -1;
	if (rc == 1)
		snprintf(s->told.warning, sizeof(s->told.warning), "%s", error);
	if (rc == -ENOSPC) { // losing the calls at the next restart is better than serving none
		snprintf(s->told.unkept, sizeof(s->told.unkept), "%s", error);
	} else {
		tell_area(d, size);
		s->area = turn_state_create(s->file.fresh.mem, &n);
	}
	if (has_old(s)) {
		const struct turn_state_adoption a = make_adoption(d, NULL);

		turn_state_redirects(&a, s->redirects);
	}
	return 0;
}

struct turn_state *carry_area(const struct dp *d)
{
	return d->carry != NULL ? d->carry->area : NULL;
}

uint32_t carry_redirects_most(const struct conf *c, uint32_t slots)
{
	return c->state.file != NULL ? slots + REDIRECTS : 0;
}

uint32_t carry_redirects(const struct dp *d, unsigned int worker)
{
	const uint32_t slots = turn_relay_map_slots(d->map, worker);

	if (d->carry == NULL)
		return 0;
	return RTE_MIN(
		d->carry->redirects[worker] + REDIRECTS, carry_redirects_most(d->conf, slots));
}

static int adopt_state(struct dp *d, char *error, size_t len)
{
	struct turn_shard *shards[TURN_WORKERS_MAX];
	struct turn_state_adoption a;
	struct carry *s = d->carry;
	int rc;

	for (unsigned int i = 0; i < d->nb_workers; i++)
		shards[i] = d->worker[i]->shard;
	if (s->watch != NULL)
		s->watch->begin(s->watch->ctx, d);
	a = make_adoption(d, shards);
	s->began_ms = a.boot_ms;
	// more allocations may end than a ring has room for
	d->events_direct = d->events_take != NULL;
	rc = turn_state_adopt(&a, &s->told.adopted);
	d->events_direct = false;
	if (rc != 0) {
		snprintf(error, len, "state.file: %s: %s", s->file.path, strerror(rc));
		return -1;
	}
	for (unsigned int i = 0; i < d->nb_workers; i++)
		stats_publish(d->worker[i]);
	s->told.start = DP_STATE_TAKEN;
	s->told.took_ms = clock_boot_ms() - a.boot_ms;
	return 0;
}

int carry_take(struct dp *d, char *error, size_t len)
{
	struct carry *s = d->carry;

	if (s == NULL)
		return 0;
	if (has_old(s) && adopt_state(d, error, len) != 0)
		return -1;
	if (s->area != NULL) {
		carry_tick(d);
		turn_state_seal(s->area);
	}
	if (s->told.start == DP_STATE_REFUSED)
		s->told.aside = state_file_aside(&s->file, "refused") == 0;
	if (s->told.start == DP_STATE_CRASHED)
		s->told.aside = state_file_aside(&s->file, "crashed") == 0;
	if (s->area == NULL)
		state_file_drop(&s->file); // no process may adopt it a second time
	else if (state_file_settle(&s->file, error, len) != 0)
		return -1;
	if (s->told.start != DP_STATE_TAKEN)
		// The deaths of earlier processes do not count: they had other calls.
		state_deaths_set(&s->file, 1);
	s->up = true;
	s->up_ms = dp_clock_ms(d);
	return 0;
}

void carry_started(struct dp *d)
{
	if (d->carry == NULL)
		return;
	d->carry->watch = NULL;
	state_file_unmap(&d->carry->file);
}

// --- running and stopping ------------------------------------------------------------------------

void carry_tick(struct dp *d)
{
	const uint64_t clock_ms = dp_clock_ms(d);

	if (d->carry == NULL || clock_ms - d->carry->clock_ms < CLOCK_MS)
		return;
	if (d->carry->counted && d->carry->up && clock_ms - d->carry->up_ms >= YOUNG_MS) {
		state_deaths_set(&d->carry->file, 0);
		d->carry->counted = false;
	}
	d->carry->clock_ms = clock_ms;
	if (d->carry->area != NULL)
		turn_state_clock(d->carry->area, clock_boot_ms(), clock_ms);
}

void carry_close_shard(const struct dp *d, struct turn_shard *s)
{
	if (d->carry != NULL && d->carry->area != NULL && !d->carry->forget)
		turn_shard_keep(s);
	else
		turn_shard_close(s);
}

void carry_free(struct dp *d)
{
	if (d->carry == NULL)
		return;
	if (d->carry->area != NULL) {
		d->carry->clock_ms = 0; // the next process computes its downtime from this
		carry_tick(d);
	}
	if (d->carry->counted) // a failed start does not change the count of deaths
		state_deaths_set(&d->carry->file, d->carry->up ? 0 : d->carry->told.deaths);
	state_file_close(&d->carry->file, d->carry->forget);
	free(d->carry);
	d->carry = NULL;
}

bool dp_state(const struct dp *d, struct dp_state *out)
{
	if (d->carry == NULL)
		return false;
	*out = d->carry->told;
	return true;
}

void dp_state_forget(struct dp *d, bool forget)
{
	if (d->carry != NULL)
		d->carry->forget = forget;
}
