// SPDX-License-Identifier: BSD-3-Clause
// Takes events from the rings and gives each to all sinks. Anybody can cause any number of
// refusals, so the log limits the lines about them separately: they never crowd out other lines.
#include "events/events.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "clock.h"
#include "dp.h"
#include "dp_realms.h"
#include "events/event_text.h"
#include "events/recent.h"
#include "log/log.h"
#include "records/event_time.h"
#include "records/records.h"
#include "stream_refusals.h"

#define TICK_EVENTS 8192 // at most, per tick
#define PIECE 64
#define SOON_PART 4 // after 1/4 of a worker's ring the next tick comes soon
#define REFUSALS 20 // lines per second
#define UNPROVED 5 // of these, about unproved addresses
#define SESSIONS 50 // lines per second, at level debug
// Time limits of the stop: for all writing together, and without any progress.
#define STOP_MS 30000
#define STILL_MS 3000

struct mgmt_events {
	const struct conf *conf;
	struct dp *dp;
	struct records *records; // NULL if no records are configured
	struct event_time time;
	pthread_mutex_t lock; // guards attempts, recent and refused
	struct attempts *attempts;
	struct recent recent;
	struct {
		uint64_t wall_ms;
		struct addr client;
	} refused[STREAM_REFUSAL_END]; // the newest refusal for each reason
	uint64_t stopped_ms; // time of the first event that the stop reports; 0 = still running
	bool stuck; // at the stop: records make no progress, so nothing waits for them
	uint64_t second; // the second that the counts below belong to
	uint32_t refusals, unproved, sessions; // lines logged
	uint32_t left_out; // refusals without a line
};

// --- the log -------------------------------------------------------------------------------------

static bool is_session(const struct turn_event *e)
{
	return e->kind == TURN_EVENT_MADE || e->kind == TURN_EVENT_MOVED ||
		e->kind == TURN_EVENT_ROAMED || e->kind == TURN_EVENT_ENDED;
}

// True if the limits of this second allow a line for the event.
static bool may_log(struct mgmt_events *m, const struct turn_event *e)
{
	if (is_session(e))
		return m->sessions++ < SESSIONS;
	if ((e->proved || m->unproved++ < UNPROVED) && m->refusals++ < REFUSALS)
		return true;
	m->left_out++;
	return false;
}

static void new_second(struct mgmt_events *m)
{
	const uint64_t second = clock_monotonic_s();

	if (second == m->second)
		return;
	if (m->left_out > 0)
		LOG(AUTH, INFO, "%u more refusals were not logged", m->left_out);
	m->second = second;
	m->refusals = m->unproved = m->sessions = m->left_out = 0;
}

// Subject of an event, in words and as fields.
struct about {
	char user[EVENT_TEXT_USER_LEN], client[ADDR_TEXT_LEN + 8];
	char label[EVENT_TEXT_USER_LEN + ADDR_TEXT_LEN + 48]; // "ivan at 192.0.2.7:5000 (udp)"
	struct mgmt_log_field field[8];
	unsigned int nb;
};

static void about_add(struct about *a, struct mgmt_log_field field)
{
	a->field[a->nb++] = field;
}

static void about_event(const struct mgmt_events *m, const struct turn_event *e, struct about *a)
{
	static const struct addr none;
	const char *transport = event_text_transport(&m->conf->turn, e);

	a->nb = 0;
	event_text_user(e, a->user);
	if (addr_eq(&e->client.addr, &none))
		snprintf(a->client, sizeof(a->client), "many addresses");
	else if (e->client.port != 0)
		addr_format_endpoint(&e->client, a->client, sizeof(a->client));
	else
		addr_format(&e->client.addr, a->client, sizeof(a->client));
	snprintf(a->label, sizeof(a->label), "%s%s%s%s (%s)", a->user,
		e->others ? " and others" : "", a->user[0] != '\0' || e->others ? " at " : "",
		a->client, transport);
	if (e->name_len > 0 && e->kind != TURN_EVENT_CONNECTION)
		about_add(a, mgmt_log_bytes("user", e->name, e->name_len));
	about_add(a, mgmt_log_text("client", a->client));
	about_add(a, mgmt_log_text("transport", transport));
}

static void log_refusal(const struct mgmt_events *m, const struct turn_event *e)
{
	const struct event_text_why reason = event_text_why(e);
	// a step that every client goes through needs no attention
	const int level = reason.advice != NULL && reason.advice[0] != '\0' ? LOG_INFO : LOG_DEBUG;
	char offered[EVENT_TEXT_USER_LEN], more[48] = "", answer[32], target[80] = "",
					   peer[ADDR_TEXT_LEN + 8];
	static const struct addr none;
	struct about a;

	about_event(m, e, &a);
	about_add(&a, mgmt_log_text("why", reason.name));
	if (e->more > 0)
		snprintf(more, sizeof(more), " (%u times since the last)", e->more);
	if (e->kind == TURN_EVENT_CONNECTION) {
		event_text_offered(e, offered);
		if (offered[0] != '\0')
			about_add(&a, mgmt_log_text("offered", offered));
		mgmt_log_fields(CONF_AREA_AUTH, level, a.field, a.nb,
			"%s: connection refused: %s: %s; %s%s%s%s", a.label, reason.name,
			reason.text, reason.advice, offered[0] != '\0' ? "; it offers TLS " : "",
			offered, more);
		return;
	}
	about_add(&a, mgmt_log_text("method", event_text_method(e)));
	about_add(&a, mgmt_log_number("code", reason.code));
	if (!addr_eq(&e->peer.addr, &none)) {
		addr_format_endpoint(&e->peer, peer, sizeof(peer));
		about_add(&a, mgmt_log_text("peer", peer));
		snprintf(target, sizeof(target), " for peer %s", peer);
	}
	snprintf(answer, sizeof(answer), reason.code != 0 ? "answered %u" : "not answered",
		reason.code);
	mgmt_log_fields(CONF_AREA_AUTH, level, a.field, a.nb, "%s: %s%s %s: %s: %s%s%s%s", a.label,
		event_text_method(e), target, answer, reason.name, reason.text,
		reason.advice[0] != '\0' ? "; " : "", reason.advice, more);
}

static void log_session(const struct mgmt_events *m, const struct turn_event *e)
{
	char relay[ADDR_TEXT_LEN + 8], previous[ADDR_TEXT_LEN + 8];
	struct about a;

	about_event(m, e, &a);
	addr_format_endpoint(&e->relay, relay, sizeof(relay));
	about_add(&a, mgmt_log_number("allocation", e->id));
	about_add(&a, mgmt_log_text("relay", relay));
	if (e->kind == TURN_EVENT_MADE)
		mgmt_log_fields(CONF_AREA_SESSIONS, LOG_DEBUG, a.field, a.nb,
			"%s: allocation %" PRIu64 " made, relay %s, for %u s", a.label, e->id,
			relay, e->lifetime_s);
	else if (e->kind == TURN_EVENT_MOVED)
		mgmt_log_fields(CONF_AREA_SESSIONS, LOG_DEBUG, a.field, a.nb,
			"%s: allocation %" PRIu64 " restored, it was %" PRIu64, a.label, e->id,
			e->was);
	else if (e->kind == TURN_EVENT_ROAMED) {
		addr_format_endpoint(&e->old_client, previous, sizeof(previous));
		about_add(&a, mgmt_log_text("from", previous));
		mgmt_log_fields(CONF_AREA_SESSIONS, LOG_DEBUG, a.field, a.nb,
			"%s: allocation %" PRIu64 " moved here from %s", a.label, e->id, previous);
	} else
		mgmt_log_fields(CONF_AREA_SESSIONS, LOG_DEBUG, a.field, a.nb,
			"%s: allocation %" PRIu64 " ended after %u s: %s", a.label, e->id,
			e->lifetime_s, event_text_why(e).text);
}

static void log_event(struct mgmt_events *m, const struct turn_event *e)
{
	if (e->kind == TURN_EVENT_INTERIM || e->kind == TURN_EVENT_PEER || !may_log(m, e))
		return;
	if (is_session(e))
		log_session(m, e);
	else
		log_refusal(m, e);
}

// --- taking --------------------------------------------------------------------------------------

static bool is_recorded(const struct mgmt_events *m, const struct turn_event *e)
{
	return m->conf->records.refusals || !turn_event_refuses(e->kind);
}

static void put_last(struct mgmt_events *m, const struct record *r)
{
	const uint64_t now = clock_monotonic_ms(), end = m->stopped_ms + STOP_MS;

	m->stuck = !records_put_until(m->records, r, now + STILL_MS < end ? now + STILL_MS : end);
}

static void take_event(struct mgmt_events *m, const struct turn_event *e)
{
	struct record r = {.event = *e,
		.wall_ms = event_time_wall(&m->time, e->at_ms, dp_clock_ms(m->dp), clock_wall_ms()),
		.peer_detail = m->conf->records.peers,
		.client_detail = m->conf->records.clients};

	records_line_realm(&r, dp_realm_name(m->dp, e->realm));
	log_event(m, e);
	pthread_mutex_lock(&m->lock);
	attempts_note(m->attempts, e, r.wall_ms);
	recent_put(&m->recent, &r);
	if (e->kind == TURN_EVENT_CONNECTION && e->reason < STREAM_REFUSAL_END) {
		m->refused[e->reason].wall_ms = r.wall_ms;
		m->refused[e->reason].client = e->client.addr;
	}
	pthread_mutex_unlock(&m->lock);
	if (!is_recorded(m, e))
		return;
	if (m->stopped_ms == 0 || m->stuck)
		records_put(m->records, &r);
	else
		put_last(m, &r);
}

// A stopping server gets its last events at once, and may wait for room in the sinks.
static void take_last(void *ctx, const struct turn_event *e)
{
	struct mgmt_events *m = ctx;

	if (m->stopped_ms == 0)
		m->stopped_ms = clock_monotonic_ms();
	take_event(m, e);
}

void mgmt_events_attach(struct mgmt_events *m, struct dp *d)
{
	m->dp = d;
	// allocations that ended during the restore were reported by take_last, too
	m->stopped_ms = 0;
	m->stuck = false;
	dp_events_to(d, take_last, m);
}

bool mgmt_events_tick(struct mgmt_events *m)
{
	struct turn_event e[PIECE];
	unsigned int taken = 0, n;

	new_second(m);
	do {
		n = dp_events(m->dp, e, PIECE);
		for (unsigned int i = 0; i < n; i++)
			take_event(m, &e[i]);
		taken += n;
	} while (n == PIECE && taken < TICK_EVENTS);
	return taken >= m->conf->events / SOON_PART;
}

// --- start and end -------------------------------------------------------------------------------

struct mgmt_events *mgmt_events_open(const struct conf *c, char *error, size_t len)
{
	static const struct records_hooks start = {.later = true};
	struct mgmt_events *m = calloc(1, sizeof(*m));
	struct hash_key key;

	snprintf(error, len, "events: out of memory");
	if (m == NULL)
		return NULL;
	m->conf = c;
	pthread_mutex_init(&m->lock, NULL);
	if (getrandom(&key, sizeof(key), 0) == sizeof(key))
		m->attempts = attempts_create(&key);
	if (m->attempts != NULL && records_open(c, &start, &m->records, error, len) == 0)
		return m;
	mgmt_events_close(m);
	return NULL;
}

void mgmt_events_close(struct mgmt_events *m)
{
	if (m == NULL)
		return;
	records_close(m->records, STILL_MS);
	attempts_free(m->attempts);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

struct records *mgmt_events_records(struct mgmt_events *m)
{
	return __atomic_load_n(&m->records, __ATOMIC_ACQUIRE);
}

// --- change of sinks -----------------------------------------------------------------------------

struct mgmt_events_change {
	struct records *records; // if there were no records before
	struct records_sinks *sinks; // otherwise
};

struct mgmt_events_change *mgmt_events_prepare(
	struct mgmt_events *m, const struct conf *c, char *error, size_t len)
{
	const struct records_hooks hooks = {.turn = &m->conf->turn};
	struct mgmt_events_change *change = calloc(1, sizeof(*change));

	if (change == NULL) {
		snprintf(error, len, "records: out of memory");
		return NULL;
	}
	if (m->records == NULL) {
		if (records_open(c, &hooks, &change->records, error, len) == 0)
			return change;
	} else {
		change->sinks = records_sinks_open(&c->records, &hooks, error, len);
		if (change->sinks != NULL)
			return change;
	}
	free(change);
	return NULL;
}

void mgmt_events_change(struct mgmt_events *m, struct mgmt_events_change *change)
{
	if (change->sinks != NULL)
		records_change(m->records, change->sinks);
	else
		__atomic_store_n(&m->records, change->records, __ATOMIC_RELEASE);
	free(change);
}

void mgmt_events_change_free(struct mgmt_events_change *change)
{
	if (change == NULL)
		return;
	records_close(change->records, STILL_MS);
	records_sinks_close(change->sinks);
	free(change);
}

// --- look-ups ------------------------------------------------------------------------------------

bool mgmt_events_refused(
	struct mgmt_events *m, unsigned int refusal, uint64_t since_ms, struct addr *client)
{
	bool yes;

	pthread_mutex_lock(&m->lock);
	yes = m->refused[refusal].wall_ms >= since_ms;
	*client = m->refused[refusal].client;
	pthread_mutex_unlock(&m->lock);
	return yes;
}

unsigned int mgmt_events_of_user(struct mgmt_events *m, const struct attempts_who *identity,
	struct attempt *out, unsigned int max)
{
	unsigned int n;

	pthread_mutex_lock(&m->lock);
	n = attempts_of_user(m->attempts, identity, out, max);
	pthread_mutex_unlock(&m->lock);
	return n;
}

unsigned int mgmt_events_of_source(
	struct mgmt_events *m, const struct addr *source, struct attempt *out, unsigned int max)
{
	unsigned int n;

	pthread_mutex_lock(&m->lock);
	n = attempts_of_source(m->attempts, source, out, max);
	pthread_mutex_unlock(&m->lock);
	return n;
}

unsigned int mgmt_events_recent(
	struct mgmt_events *m, uint64_t *next, uint64_t *lost, struct record *out, unsigned int max)
{
	unsigned int n;

	pthread_mutex_lock(&m->lock);
	n = recent_take(&m->recent, next, lost, out, max);
	pthread_mutex_unlock(&m->lock);
	return n;
}
