// SPDX-License-Identifier: BSD-3-Clause
// The loop of the management lcore. It sleeps until a signal or the tick. (rte_eal_mp_wait_lcore
// would keep the core busy.)

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "link/addresses.h"
#include "block/block.h"
#include "link/bonds.h"
#include "log/bursts.h"
#include "clock.h"
#include "confine/confine.h"
#include "control.h"
#include "drain/drain.h"
#include "events/events.h"
#include "link/conflicts_told.h"
#include "link/kernel_ports.h"
#include "log/log.h"
#include "mgmt.h"
#include "mgmt_features.h"
#include "reload/reload.h"
#include "reload/expiry_told.h"
#include "reload/own_change.h"
#include "log/report.h"
#include "state/stop.h"
#include "telemetry/telemetry.h"
#include "watch/clock_rate.h"
#include "watch/watch.h"

#define TICK_MS 100
#define SOON_MS 10 // interval of events while many come
#define RELOAD_MS 2 // interval of reload steps while one runs

struct loop {
	struct dp *dp;
	const struct conf *conf;
	int epoll, signals, timer;
	bool stop;
	bool soon; // many events are coming
	bool link[CONF_PORTS_MAX], degraded[CONF_PORTS_MAX][2]; // the states logged last; [is_v4]
	struct mgmt_events *events;
	struct mgmt_reload *reload;
	struct mgmt_drain *drain;
	struct mgmt_blocks *blocks;
	struct mgmt_bonds bonds;
	struct mgmt_conflicts conflicts;
	struct kernel_ports_told kernel_ports;
	struct mgmt_bursts bursts;
	struct mgmt_addresses addresses;
	struct expiry_told expiry;
};

static void signal_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGUSR1);
	sigaddset(set, SIGUSR2);
}

int mgmt_signals_block(void)
{
	sigset_t set;

	signal_set(&set);
	// A telemetry client that disconnects during an answer must not end the process.
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return -errno;
	return -pthread_sigmask(SIG_BLOCK, &set, NULL);
}

bool mgmt_stop_asked(void)
{
	sigset_t set;

	return sigpending(&set) == 0 && (sigismember(&set, SIGTERM) || sigismember(&set, SIGINT));
}

static void take_signal(struct loop *l)
{
	struct signalfd_siginfo s;

	if (read(l->signals, &s, sizeof(s)) != sizeof(s))
		return;
	switch (s.ssi_signo) {
	case SIGHUP:
		mgmt_reload_certificates(l->reload, "SIGHUP");
		mgmt_reload_ask(l->reload, "SIGHUP", false);
		break;
	case SIGUSR2:
		mgmt_reload_certificates(l->reload, "SIGUSR2");
		break;
	case SIGUSR1:
		mgmt_drain_ask(l->drain, "SIGUSR1", &(struct mgmt_drain_order){0});
		break;
	default:
		LOG(START, INFO, "stopping: %s from pid %u", strsignal((int)s.ssi_signo),
			s.ssi_pid);
		l->stop = true;
	}
}

static void tell_link(const char *port, bool up)
{
	const char *state = up ? "up" : "down";
	const struct mgmt_log_field fields[] = {
		mgmt_log_text("port", port), mgmt_log_text("link", state)};

	mgmt_log_fields(CONF_AREA_PORTS, up ? LOG_INFO : LOG_WARNING, fields, 2, "port %s: link %s",
		port, state);
}

static void watch_links(struct loop *l)
{
	for (unsigned int i = 0; i < dp_ports(l->dp); i++) {
		struct port *p = dp_port(l->dp, i);
		const bool up = p->ops->link(p);

		if (up == l->link[i] || p->on != NULL) // a VLAN has the link of its device
			continue;
		l->link[i] = up;
		tell_link(p->name, up);
	}
}

static void watch_steering(struct loop *l, unsigned int port, bool is_v4)
{
	const char *name = dp_port(l->dp, port)->name, *family = is_v4 ? "IPv4" : "IPv6";
	struct dp_steering s;

	if (!dp_steering(l->dp, port, is_v4, &s) || s.degraded == l->degraded[port][is_v4])
		return;
	l->degraded[port][is_v4] = s.degraded;
	if (s.degraded)
		LOG(PORTS, WARNING,
			"port %s: steering %s of %s is degraded: the NIC has the rules, but brings "
			"packets to other queues (see /slipring/steering); they are handed over, "
			"which costs CPU time",
			name, s.step, family);
	else
		LOG(PORTS, INFO, "port %s: steering %s of %s works again", name, s.step, family);
}

static void take_tick(struct loop *l)
{
	uint64_t missed;

	if (read(l->timer, &missed, sizeof(missed)) != sizeof(missed))
		return;
	dp_tick(l->dp);
	l->soon = mgmt_events_tick(l->events);
	watch_links(l);
	mgmt_bonds_tick(&l->bonds, l->dp);
	mgmt_conflicts_tick(&l->conflicts, l->dp, clock_monotonic_ms());
	kernel_ports_tick(&l->kernel_ports, l->conf, KERNEL_PORTS_SYSCTL, clock_monotonic_ms());
	for (unsigned int i = 0; i < 2 * dp_ports(l->dp); i++)
		watch_steering(l, i / 2, i % 2 == 0);
	mgmt_addresses_tick(&l->addresses, l->dp);
	mgmt_bursts_tick(&l->bursts, l->dp, clock_monotonic_ms());
	expiry_told_tick(&l->expiry, l->dp, clock_monotonic_ms(), time(NULL));
	clock_rate_tick(dp_clock_ms(l->dp), clock_monotonic_ms());
	mgmt_log_tick();
}

static int watch_fd(const struct loop *l, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e);
}

static void loop_close(struct loop *l)
{
	if (l->timer >= 0)
		close(l->timer);
	if (l->signals >= 0)
		close(l->signals);
	if (l->epoll >= 0)
		close(l->epoll);
}

static int loop_open(struct loop *l)
{
	const struct timespec tick = {.tv_nsec = TICK_MS * 1000000L};
	const struct itimerspec every = {.it_interval = tick, .it_value = tick};
	sigset_t set;
	int rc;

	signal_set(&set);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->epoll < 0 || l->signals < 0 || l->timer < 0 ||
		timerfd_settime(l->timer, 0, &every, NULL) != 0 || watch_fd(l, l->signals) != 0 ||
		watch_fd(l, l->timer) != 0) {
		rc = -errno;
		loop_close(l);
		return rc;
	}
	return 0;
}

// How long the loop may wait for an event, in ms; -1 means without limit.
static int wait_ms(const struct loop *l, bool tells, enum mgmt_drain_step drains)
{
	if (drains == MGMT_DRAIN_ENDED)
		return 0;
	if (tells || drains == MGMT_DRAIN_SOON)
		return RELOAD_MS;
	return l->soon ? SOON_MS : -1;
}

static int loop_run(struct loop *l)
{
	struct epoll_event e[2];

	while (!l->stop) {
		const bool reloads = mgmt_reload_tick(l->reload);
		const enum mgmt_drain_step drains = mgmt_drain_tick(l->drain, clock_monotonic_ms());
		const bool blocks = mgmt_blocks_tick(l->blocks, (uint64_t)time(NULL));
		const int n = epoll_wait(l->epoll, e, 2, wait_ms(l, reloads || blocks, drains));

		l->stop = drains == MGMT_DRAIN_ENDED;

		// Drivers may use their own signals (net_tap does). These only interrupt the wait.
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			l->soon = mgmt_events_tick(l->events);
		for (int i = 0; i < n; i++) {
			if (e[i].data.fd == l->signals)
				take_signal(l);
			else
				take_tick(l);
		}
		watch_works();
		watch_reloads(reloads);
	}
	return 0;
}

// Starts the parts of management other than the loop, and gives up the privileges that only a start
// needs. 0, or -errno after logging the reason.
static int parts_start(struct loop *l, struct conf *c, struct control **control, uint64_t now)
{
	const struct own_parts parts = {l->dp, l->events, &l->bursts};
	int rc;

	l->reload = mgmt_reload_open(&parts, c);
	if (l->reload != NULL)
		l->drain = mgmt_drain_open(l->dp, c, l->reload);
	if (l->drain != NULL)
		l->blocks = mgmt_blocks_open(l->dp, c);
	if (l->blocks == NULL || mgmt_bursts_start(&l->bursts, l->dp, c->log.bursts_s, now) != 0) {
		LOG(START, ERR, "management: out of memory");
		return -ENOMEM;
	}
#define X(open, reload, close) \
	rc = open(l->dp, c);   \
	if (rc != 0)           \
		return rc;
	MGMT_THREADS(X)
#undef X
	rc = mgmt_control_start(control, l->dp, c,
		&(struct control_parts){l->events, l->reload, l->drain, l->blocks});
	return rc == 0 ? confine_enter(c) : rc;
}

// Starts telemetry last: a client that finds it ready finds everything else, too. 0 or -errno.
static int start_serving(struct loop *l, const struct conf *c, const char *memory)
{
	struct dp *d = l->dp;
	int rc;

	for (unsigned int i = 0; i < dp_ports(d); i++)
		l->link[i] = dp_port(d, i)->ops->link(dp_port(d, i));
	mgmt_report_start(d, c, memory);
	mgmt_addresses_start(&l->addresses, d);
	expiry_told_start(&l->expiry, clock_monotonic_ms());
	watch_ready(d);
	rc = mgmt_telemetry_start(
		d, c, &(struct control_parts){l->events, l->reload, l->drain, l->blocks});
	if (rc != 0) {
		LOG(CONTROL, ERR, "telemetry: %s", strerror(-rc));
		return rc;
	}
	rc = loop_run(l);
	if (rc != 0)
		LOG(START, ERR, "management loop: %s", strerror(-rc));
	return rc;
}

int mgmt_run(struct dp *d, struct conf *c, const char *memory, struct mgmt_events *m)
{
	const uint64_t started_ms = clock_monotonic_ms();
	struct loop l = {.dp = d, .conf = c, .events = m};
	struct control *control = NULL;
	int rc = loop_open(&l);

	if (rc != 0) {
		LOG(START, ERR, "management loop: %s", strerror(-rc));
		return rc;
	}
	mgmt_events_attach(m, d);
	watch_workers(d);
	rc = parts_start(&l, c, &control, started_ms);
	if (rc == 0) {
		rc = start_serving(&l, c, memory);
		watch_stopping();
		mgmt_report_stop(d, (clock_monotonic_ms() - started_ms) / 1000);
		stop_settle(d, c);
	} else {
		watch_stopping();
	}
	mgmt_control_stop(control);
	mgmt_telemetry_stop();
#define X(open, reload, close) close();
	MGMT_THREADS(X)
#undef X
	mgmt_blocks_close(l.blocks);
	mgmt_drain_close(l.drain);
	mgmt_reload_close(l.reload);
	mgmt_bursts_stop(&l.bursts);
	loop_close(&l);
	return rc;
}
