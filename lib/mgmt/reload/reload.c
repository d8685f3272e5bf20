// SPDX-License-Identifier: BSD-3-Clause
// Reads the configuration file again. A thread does all work that grows with the file: it loads the
// file, makes the policy, writes the log lines, and at the end frees the old data. The tick of the
// management lcore hands the result to the workers, and then the running configuration is the
// file's.
#include "reload/reload.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conf.h"
#include "conf_changes.h"
#include "confine/confine.h"
#include "dp.h"
#include "log/log.h"
#include "reload/files.h"
#include "reload/in_use.h"
#include "reload/moves.h"
#include "reload/own_change.h"
#include "reload/told.h"
#include "stream_review.h"
#include "stream.h"

enum step { IDLE, LOADING, LOADED, TAKING, TAKEN, CLEARING, CLEARED };

struct mgmt_reload {
	struct own_parts parts;
	struct own_change part_change;
	struct conf *running, *fresh, *merged;
	pthread_t thread;
	enum step step; // the thread writes LOADED and CLEARED
	bool good; // the thread has loaded a change that the workers can adopt
	bool reads; // reads the file; otherwise only the certificates
	bool certificates; // reads the certificates in use before the file, which may be refused
	bool renews; // reads certificates even if the file names the same ones
	bool tls; // tls of the file, or of a listener, has changed
	unsigned int changes, cold;
	unsigned int ended; // number of allocations that the reload closed
	struct told told;
	pthread_mutex_t lock; // guards the fields below, except where noted
	bool to_read, to_renew, to_certificates; // the next run: its reads, renews and certificates
	struct mgmt_reload_state state;
	char next_by[96]; // requester of the next run
	char requester[96]; // requester of the current run; management lcore
	char first[192]; // the first reason to refuse it
	// A run that reads no file adopts these addresses of the network; the lock guards nb_moves.
	struct conf_learned moves[DP_LEARNED_MAX];
	unsigned int nb_moves;
	struct conf *moved; // owned by the data path
	char told_move[512];
};

static void note_refusal(struct mgmt_reload *r, const char *reason)
{
	if (r->first[0] == '\0')
		snprintf(r->first, sizeof(r->first), "%.180s", reason);
}

static void report_line(void *ctx, enum conf_weight weight, const char *line)
{
	if (weight == CONF_WARNING) {
		LOG(CONFIG, WARNING, "reload: %s", line);
		return;
	}
	LOG(CONFIG, ERR, "reload: %s", line);
	note_refusal(ctx, line);
}

// --- changed keys --------------------------------------------------------------------------------

// True if a key sets certificates or ALPN, for all listeners or for one.
static bool is_tls(const char *key)
{
	return strncmp(key, "tls.", 4) == 0 ||
		(strncmp(key, "listeners[", 10) == 0 && strstr(key, "].tls.") != NULL);
}

static void tell_cold(void *ctx, const struct conf_change *c)
{
	struct mgmt_reload *r = ctx;
	char reason[192];

	r->tls |= is_tls(c->key);
	if (c->hot)
		return;
	snprintf(reason, sizeof(reason), "%.110s needs a restart, which %s", c->key,
		conf_restart_keeps(&r->running->state) ? "keeps calls"
						       : "ends calls without state.file");
	note_refusal(r, reason);
	if (r->cold++ < TOLD_MAX)
		LOG(CONFIG, ERR, "reload: %s: the file is not applied", reason);
}

// --- the thread ----------------------------------------------------------------------------------

static void say_review(void *ctx, const struct stream_tls *tls, enum stream_tls_key key, bool fatal,
	const char *reason)
{
	char name[STREAM_REVIEW_NAME_LEN];

	LOG(STREAMS, WARNING, "reload: %s: %s", stream_review_key_name(tls, key, name), reason);
}

// True if the certificates must be read. Logs warnings about them.
static bool wants_certificates(const struct mgmt_reload *r)
{
	struct stream_identities all;
	const struct stream_review review = {.now = time(NULL), .say = say_review};
	const char *denied;

	if (!conf_wants_tls(r->fresh) || (!r->renews && !r->tls))
		return false;
	dp_identities(r->fresh, &all);
	denied = r->tls ? NULL : files_unreadable(&all);
	if (denied != NULL) {
		LOG(STREAMS, WARNING,
			"reload: certificates are not renewed: %s is no longer readable: give it "
			"to the user that slipring runs as",
			denied);
		return false;
	}
	stream_review_all(&all, &review);
	return true;
}

// Reads the certificates in use again. Open connections keep the old ones.
static bool renew_in_use(struct mgmt_reload *r)
{
	const struct stream_review review = {.now = time(NULL), .say = say_review};
	struct stream_identities all;
	char error[CONF_ERROR_LEN];

	if (!conf_wants_tls(r->running)) {
		LOG(STREAMS, INFO, "%s: no listener has a certificate to be renewed", r->requester);
		return true;
	}
	dp_identities(r->running, &all);
	stream_review_all(&all, &review);
	if (dp_streams_reload(r->parts.dp, error, sizeof(error)) != 0) {
		LOG(STREAMS, ERR, "%s: the certificate remains unchanged: %s", r->requester, error);
		note_refusal(r, error);
		return false;
	}
	LOG(STREAMS, INFO, "%s: TLS files read again, for connections from now on", r->requester);
	return true;
}

// Prepares the new data of workers and stream threads. False with the reason in error.
static bool prepare_change(struct mgmt_reload *r, char error[CONF_ERROR_LEN])
{
	const bool renew = wants_certificates(r);

	if (r->changes == 0)
		return !renew || dp_streams_reload(r->parts.dp, error, CONF_ERROR_LEN) == 0;
	if (own_change_prepare(&r->part_change, &r->parts, r->running, r->fresh, error) != 0)
		return false;
	r->merged = conf_merge(r->running, r->fresh);
	return r->merged != NULL &&
		dp_reload_begin(r->parts.dp, r->merged, renew, error, CONF_ERROR_LEN) == 0;
}

static bool load_file(struct mgmt_reload *r)
{
	struct conf_report report = {.say = report_line, .ctx = r};
	char error[CONF_ERROR_LEN] = "out of memory";

	r->fresh = conf_load_again(r->running, &report);
	if (r->fresh == NULL)
		return false;
	r->changes = conf_changes(r->running, r->fresh, tell_cold, r);
	if (r->cold > 0)
		return false;
	if (r->changes > 0)
		conf_warnings(r->fresh, &report);
	if (prepare_change(r, error)) {
		if (r->changes > 0)
			conf_changes(r->running, r->fresh, told_write, &r->told);
		conf_forget(r->fresh); // everything made from it has copies
		return true;
	}
	LOG(CONFIG, ERR, "reload: %s", error);
	note_refusal(r, error);
	return false;
}

// Prepares the change to the network's new addresses. False if this configuration cannot use them.
static bool prepare_move(struct mgmt_reload *r)
{
	char error[CONF_ERROR_LEN];

	r->moved = conf_move(r->running, r->moves, r->nb_moves, error);
	if (r->moved != NULL && dp_move_begin(r->parts.dp, r->moved, error, sizeof(error)) == 0)
		return true;
	conf_moved_free(r->moved);
	r->moved = NULL;
	LOG(ADDRESSES, ERR, "%s: the old addresses remain in use", error);
	return false;
}

static void *run_thread(void *arg)
{
	struct mgmt_reload *r = arg;

	confine_thread();
	if (r->nb_moves > 0) {
		r->good = prepare_move(r);
		__atomic_store_n(&r->step, LOADED, __ATOMIC_RELEASE);
		return NULL;
	}
	r->good = !r->certificates || renew_in_use(r) || r->reads;
	r->good = r->good && (!r->reads || load_file(r));
	__atomic_store_n(&r->step, LOADED, __ATOMIC_RELEASE);
	return NULL;
}

static void clear_change(struct mgmt_reload *r)
{
	own_change_free(&r->part_change);
	if (r->changes > 0 || r->nb_moves > 0)
		dp_reload_clear(r->parts.dp);
	r->moved = NULL;
	r->changes = 0;
	conf_merge_free(r->merged);
	conf_free(r->fresh);
	r->fresh = r->merged = NULL;
	told_free(&r->told);
}

static void *clear_thread(void *arg)
{
	struct mgmt_reload *r = arg;

	confine_thread();
	clear_change(r);
	__atomic_store_n(&r->step, CLEARED, __ATOMIC_RELEASE);
	return NULL;
}

// --- the management lcore ------------------------------------------------------------------------

// Lets a thread free the data of a finished run. The step is CLEARING.
static void clear_up(struct mgmt_reload *r)
{
	if (pthread_create(&r->thread, NULL, clear_thread, r) == 0)
		return;
	clear_change(r);
	r->nb_moves = 0;
	r->step = IDLE;
}

static void end_reload(struct mgmt_reload *r, enum mgmt_reload_end how, unsigned int allocations)
{
	struct mgmt_reload_state *s = &r->state;

	pthread_mutex_lock(&r->lock);
	r->step = CLEARING; // in one critical section with the next line: see note_request
	s->ended++;
	s->refused += how == MGMT_RELOAD_REFUSED;
	s->how = how;
	s->at_s = (uint64_t)time(NULL);
	s->changes = how == MGMT_RELOAD_DONE ? r->changes : 0;
	s->allocations = allocations;
	if (how == MGMT_RELOAD_DONE)
		snprintf(s->text, sizeof(s->text), "%u change%s in use; %u allocation%s ended",
			r->changes, r->changes == 1 ? " is" : "s are", allocations,
			allocations == 1 ? "" : "s");
	else if (how == MGMT_RELOAD_SAME)
		snprintf(s->text, sizeof(s->text), "%s",
			r->reads ? "the file matches the running configuration"
				 : "only certificates were read");
	else
		snprintf(s->text, sizeof(s->text), "nothing has changed: %s", r->first);
	pthread_mutex_unlock(&r->lock);
	mgmt_log(CONF_AREA_CONFIG, how == MGMT_RELOAD_REFUSED ? LOG_ERR : LOG_NOTICE,
		"reload by %s: %s", r->requester, s->text);
	clear_up(r);
}

static void end_move(struct mgmt_reload *r, bool well)
{
	const char *trouble = dp_move_trouble(r->parts.dp);

	if (well)
		LOG(ADDRESSES, NOTICE, "%s; %u allocation%s ended", r->told_move, r->ended,
			r->ended == 1 ? "" : "s");
	if (well && trouble[0] != '\0')
		LOG(STREAMS, ERR, "%s: clients over TCP and TLS do not reach it before a restart",
			trouble);
	dp_move_done(r->parts.dp, well);
	pthread_mutex_lock(&r->lock);
	r->step = CLEARING;
	pthread_mutex_unlock(&r->lock);
	clear_up(r);
}

static void begin_reload(struct mgmt_reload *r)
{
	int rc;

	r->changes = r->cold = 0;
	r->tls = false;
	r->first[0] = '\0';
	pthread_mutex_lock(&r->lock);
	memcpy(r->requester, r->next_by, sizeof(r->requester));
	r->reads = r->to_read;
	r->renews = r->to_renew;
	r->certificates = r->to_certificates;
	r->to_read = r->to_renew = r->to_certificates = false;
	r->step = LOADING; // in one critical section with the flags: see note_request
	pthread_mutex_unlock(&r->lock);
	rc = pthread_create(&r->thread, NULL, run_thread, r);
	if (rc == 0)
		return;
	note_refusal(r, strerror(rc));
	end_reload(r, MGMT_RELOAD_REFUSED, 0);
}

// Begins a run if the network has replaced addresses for good.
static bool begin_move(struct mgmt_reload *r)
{
	const unsigned int nb = dp_moves(r->parts.dp, r->moves);

	if (nb == 0)
		return false;
	moves_describe(r->running, r->moves, nb, r->told_move, sizeof(r->told_move));
	pthread_mutex_lock(&r->lock);
	r->nb_moves = nb;
	r->step = LOADING;
	pthread_mutex_unlock(&r->lock);
	if (pthread_create(&r->thread, NULL, run_thread, r) != 0)
		end_move(r, false);
	return true;
}

// Sets the routes: a step that can still fail, and needs privileges that only this lcore has.
static bool apply_routes(struct mgmt_reload *r)
{
	char error[CONF_ERROR_LEN];

	if (r->changes == 0 || dp_reload_routes(r->parts.dp, r->merged, error, sizeof(error)) == 0)
		return true;
	LOG(CONFIG, ERR, "reload: %s", error);
	note_refusal(r, error);
	return false;
}

static void step_workers(struct mgmt_reload *r)
{
	const int ended = dp_reload_step(r->parts.dp);

	if (ended < 0)
		return;
	r->ended = (unsigned int)ended;
	r->step = TAKEN;
}

// Makes the file the running configuration, unless another thread is reading it at the moment.
static void adopt_change(struct mgmt_reload *r)
{
	if (!in_use_change())
		return;
	if (r->nb_moves > 0) {
		conf_moved_adopt(r->running, r->moved);
		in_use_done();
		end_move(r, true);
		return;
	}
	told_log(&r->told);
	own_change_take(&r->part_change, &r->parts, r->running, r->fresh);
	conf_adopt(r->running, r->fresh, r->merged);
	in_use_done();
	end_reload(r, MGMT_RELOAD_DONE, r->ended);
}

bool mgmt_reload_tick(struct mgmt_reload *r)
{
	switch (__atomic_load_n(&r->step, __ATOMIC_ACQUIRE)) {
	case IDLE:
		if (r->state.asked != r->state.ended)
			begin_reload(r);
		else
			begin_move(r);
		break;
	case LOADING:
		break;
	case LOADED:
		pthread_join(r->thread, NULL);
		if (r->nb_moves > 0 && r->good)
			r->step = TAKING;
		else if (r->nb_moves > 0)
			end_move(r, false);
		else if (!r->good || !apply_routes(r))
			end_reload(r, MGMT_RELOAD_REFUSED, 0);
		else if (r->changes == 0)
			end_reload(r, MGMT_RELOAD_SAME, 0);
		else
			r->step = TAKING;
		break;
	case TAKING:
		step_workers(r);
		break;
	case TAKEN:
		adopt_change(r);
		break;
	case CLEARING:
		break;
	case CLEARED:
		pthread_join(r->thread, NULL);
		pthread_mutex_lock(&r->lock);
		r->nb_moves = 0;
		r->step = IDLE;
		pthread_mutex_unlock(&r->lock);
		break;
	}
	return r->step != IDLE || r->state.asked != r->state.ended;
}

// Keeps the first error, which is the answer. The reload itself reports warnings.
static void keep_error(void *ctx, enum conf_weight weight, const char *line)
{
	char *error = ctx;

	if (weight == CONF_ERROR && error[0] == '\0')
		snprintf(error, CONF_ERROR_LEN, "%s", line);
}

int mgmt_reload_diff(struct mgmt_reload *r, void (*tell)(void *ctx, const struct conf_change *c),
	void *ctx, char *error, size_t len)
{
	char first[CONF_ERROR_LEN] = "";
	struct conf_report report = {.say = keep_error, .ctx = first};
	struct hash_key hash;
	struct conf *c;
	int n = -1;

	in_use_read();
	hash = conf_said_key(r->running);
	in_use_done();
	c = conf_load_and_report(r->running->path, &report, &hash);
	in_use_read();
	if (c != NULL)
		c = conf_learn_again(r->running, c, &report);
	if (c != NULL)
		n = (int)conf_changes(r->running, c, tell, ctx);
	in_use_done();
	snprintf(error, len, "%s", first);
	conf_free(c);
	return n;
}

// Call it with the lock held. A run that has begun may have read the file already, so it does not
// count as the answer unless it has ended.
static void note_request(struct mgmt_reload *r, const char *requester)
{
	const enum step step = __atomic_load_n(&r->step, __ATOMIC_RELAXED);
	const bool under_way =
		step != IDLE && step != CLEARING && step != CLEARED && r->nb_moves == 0;

	r->state.asked = r->state.ended + (under_way ? 2 : 1);
	snprintf(r->next_by, sizeof(r->next_by), "%s", requester);
}

void mgmt_reload_ask(struct mgmt_reload *r, const char *requester, bool renew)
{
	pthread_mutex_lock(&r->lock);
	r->to_read = true;
	r->to_renew |= renew;
	note_request(r, requester);
	pthread_mutex_unlock(&r->lock);
}

void mgmt_reload_certificates(struct mgmt_reload *r, const char *requester)
{
	pthread_mutex_lock(&r->lock);
	r->to_certificates = true;
	note_request(r, requester);
	pthread_mutex_unlock(&r->lock);
}

void mgmt_reload_state(struct mgmt_reload *r, struct mgmt_reload_state *out)
{
	pthread_mutex_lock(&r->lock);
	*out = r->state;
	pthread_mutex_unlock(&r->lock);
}

struct mgmt_reload *mgmt_reload_open(const struct own_parts *parts, struct conf *running)
{
	struct mgmt_reload *r = calloc(1, sizeof(*r));

	if (r == NULL || pthread_mutex_init(&r->lock, NULL) != 0) {
		free(r);
		return NULL;
	}
	r->parts = *parts;
	r->running = running;
	return r;
}

void mgmt_reload_close(struct mgmt_reload *r)
{
	if (r == NULL)
		return;
	if (r->step != IDLE && r->step != TAKING && r->step != TAKEN)
		pthread_join(r->thread, NULL);
	clear_change(r);
	pthread_mutex_destroy(&r->lock);
	free(r);
}
