// SPDX-License-Identifier: BSD-3-Clause
// Gives up privileges in every thread, because the kernel keeps user, capabilities and filter for
// each thread separately.
#include "confine/confine.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "conf.h"
#include "confine/broadcast.h"
#include "confine/calls.h"
#include "confine/give.h"
#include "devices/packet_spec.h"
#include "log/log.h"
#include "port.h"
#include "devices/vtap_spec.h"

#define GROUPS_MAX 64
#define LOW_PORTS 1024
#define BIT(cap) (UINT64_C(1) << (cap))

struct confining {
	struct calls worker, stream, common;
	bool filters;
	uint64_t keep; // capabilities that the management lcore and the interrupt thread keep
	bool becomes; // changes the user
	uid_t uid;
	gid_t gid, groups[GROUPS_MAX];
	int nb_groups;
	uint32_t workers; // number of workers that are confined
};

static bool entered;

// --- in each thread ------------------------------------------------------------------------------

static void drop_bounding(void)
{
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0,
			0); // without CAP_SETPCAP they remain, but are of no use
}

// True if the thread has the new user already: a confined thread created it.
static bool has_user(const struct confining *c)
{
	uid_t uid[3];
	gid_t gid[3];

	return syscall(SYS_getresuid, &uid[0], &uid[1], &uid[2]) == 0 &&
		syscall(SYS_getresgid, &gid[0], &gid[1], &gid[2]) == 0 && uid[0] == c->uid &&
		uid[1] == c->uid && uid[2] == c->uid && gid[0] == c->gid && gid[1] == c->gid &&
		gid[2] == c->gid;
}

// Makes the system calls directly: the functions of the C library would apply them to all threads.
static int become_user(const struct confining *c, bool keeps)
{
	if (prctl(PR_SET_KEEPCAPS, keeps, 0, 0, 0) != 0 ||
		syscall(SYS_setgroups, c->nb_groups, c->groups) != 0 ||
		syscall(SYS_setresgid, c->gid, c->gid, c->gid) != 0 ||
		syscall(SYS_setresuid, c->uid, c->uid, c->uid) != 0)
		return -errno;
	return 0;
}

// Drops all capabilities that are not in the mask.
static int keep_only(uint64_t mask)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capget, &header, data) != 0)
		return -errno;
	for (unsigned int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(mask >> 32 * i);
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, data) == 0 ? 0 : -errno;
}

void confine_thread(void)
{
	if (__atomic_load_n(&entered, __ATOMIC_ACQUIRE))
		keep_only(0);
}

static bool has_prefix(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

// True for EAL's names of worker threads, in any supported release.
static bool is_worker(const char *name)
{
	return has_prefix(name, "rte-worker") || has_prefix(name, "lcore-worker") ||
		has_prefix(name, "dpdk-worker");
}

static int give_up(const char *name, void *ctx)
{
	struct confining *c = ctx;
	const bool manages = syscall(SYS_gettid) == getpid();
	const bool keeps = manages || has_prefix(name, "eal-intr") || has_prefix(name, "dpdk-intr");
	int rc;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	drop_bounding();
	rc = c->becomes && !has_user(c) ? become_user(c, keeps && c->keep != 0) : 0;
	if (rc == 0)
		rc = keep_only(keeps ? c->keep : 0);
	if (rc != 0 || !c->filters)
		return rc;
	if (is_worker(name)) {
		c->workers++;
		return calls_apply(&c->worker);
	}
	return calls_apply(has_prefix(name, "stream-") ? &c->stream : &c->common);
}

// --- privileges to give up ----------------------------------------------------------------------

// True if the kernel gave the PCI device away to user space, so that its driver needs no
// privileges.
static bool is_given_away(const char *bdf)
{
	static const char *const drivers[] = {"vfio-pci", "uio_pci_generic", "igb_uio"};
	char path[PATH_MAX], target[PATH_MAX];
	const char *name;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", bdf);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	name = strrchr(target, '/');
	for (size_t i = 0; name != NULL && i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (strcmp(name + 1, drivers[i]) == 0)
			return true;
	return false;
}

static unsigned int kind_of(const char *device)
{
	char bdf[PORT_PCI_LEN];

	if (vtap_spec_is(device))
		return CALLS_VTAP;
	if (packet_spec_is(device))
		return CALLS_PACKET;
	if (has_prefix(device, "net_af_packet") || has_prefix(device, "net_af_xdp"))
		return CALLS_SOCKET;
	if (has_prefix(device, "net_tap"))
		return CALLS_TAP;
	return port_device_pci(device, bdf) && is_given_away(bdf) ? 0 : CALLS_DRIVER;
}

static unsigned int kinds_of(const struct conf *c)
{
	unsigned int kinds = 0;

	for (uint32_t i = 0; i < c->nb_ports; i++) {
		const struct conf_exception *e = &c->ports[i].exception;

		for (uint32_t k = 0; k < conf_port_devices(&c->ports[i]); k++)
			kinds |= kind_of(conf_port_device(&c->ports[i], k));
		if (e->name != NULL)
			kinds |= e->device != NULL ? CALLS_DRIVER : CALLS_VTAP;
	}
	return kinds;
}

// True if a TCP listener has a low port on an assigned address of a packet port: when the network
// replaces the address, the listener is bound again.
static bool binds_low(const struct conf *c)
{
	for (uint32_t i = 0; i < c->nb_ports; i++) {
		const struct conf_port *p = &c->ports[i];

		if (p->shares || kind_of(conf_port_device(p, 0)) != CALLS_PACKET)
			continue;
		for (uint32_t k = 0; k < p->nb_addresses * c->turn.nb_listeners; k++) {
			const struct turn_listener *l = &c->turn.listeners[k / p->nb_addresses];
			const struct conf_address *a = &p->addresses[k % p->nb_addresses];

			if (a->learn != CONF_LEARN_NONE && turn_listener_is_stream(l) &&
				l->endpoint.port < LOW_PORTS &&
				addr_eq(&l->endpoint.addr, &a->addr))
				return true;
		}
	}
	return false;
}

// Ports bring kernel interfaces down, and bonds change their MAC address. Drivers that share a
// device with the kernel create queues and rules in it. Packet ports have all they need in
// descriptors.
static uint64_t needed_caps(const struct conf *c, unsigned int kinds)
{
	const bool shares = (kinds & (CALLS_SOCKET | CALLS_TAP | CALLS_DRIVER)) != 0;

#ifdef __SANITIZE_ADDRESS__ // the leak check traces threads
	return BIT(CAP_NET_ADMIN) | BIT(CAP_NET_RAW) | BIT(CAP_SYS_PTRACE);
#endif
	return ((kinds & ~CALLS_PACKET) != 0 ? BIT(CAP_NET_ADMIN) : 0) |
		(shares ? BIT(CAP_NET_RAW) : 0) | (binds_low(c) ? BIT(CAP_NET_BIND_SERVICE) : 0);
}

static int find_user(struct confining *x, const char *name, char *error, size_t len)
{
	const struct passwd *p = getpwnam(name);

	if (p == NULL) {
		snprintf(error, len, "process.user: there is no user %s", name);
		return -ENOENT;
	}
	x->uid = p->pw_uid;
	x->gid = p->pw_gid;
	x->nb_groups = GROUPS_MAX;
	if (getgrouplist(name, p->pw_gid, x->groups, &x->nb_groups) < 0) {
		snprintf(
			error, len, "process.user: %s is in more than %d groups", name, GROUPS_MAX);
		return -E2BIG;
	}
	x->becomes = x->uid != geteuid();
	if (!x->becomes || geteuid() == 0)
		return 0;
	snprintf(error, len, "process.user: only root can become %s", name);
	return -EPERM;
}

static void log_privileges(const struct confining *x, const char *calls)
{
	static const struct {
		unsigned int cap;
		const char *name;
	} caps[] = {{CAP_NET_ADMIN, "CAP_NET_ADMIN"}, {CAP_NET_RAW, "CAP_NET_RAW"},
		{CAP_NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE"}};
	char kept[80] = "";

	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		if ((x->keep & BIT(caps[i].cap)) != 0)
			snprintf(kept + strlen(kept), sizeof(kept) - strlen(kept), "%s%s",
				kept[0] != '\0' ? ", " : "", caps[i].name);
	LOG(START, INFO, "privileges: user %u, capabilities: %s; system calls of each thread: %s",
		(unsigned int)geteuid(), kept[0] != '\0' ? kept : "none", calls);
}

static int make_filters(struct confining *x, unsigned int kinds, bool kill)
{
	int rc = calls_make(&x->worker, CALLS_WORKER, kinds, kill);

	if (rc == 0)
		rc = calls_make(&x->stream, CALLS_STREAM, kinds, kill);
	return rc == 0 ? calls_make(&x->common, CALLS_OTHER, kinds, kill) : rc;
}

int confine_enter(const struct conf *c)
{
	static const char *const how[] = {[CONF_SECCOMP_LOG] = "others fail and are logged",
		[CONF_SECCOMP_KILL] = "any other ends the process",
		[CONF_SECCOMP_OFF] = "all"};
	static struct confining x; // its filters are too large for a stack
	const int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	const unsigned int kinds = kinds_of(c);
	char error[128];
	int rc = 0;

	x = (struct confining){
		.filters = c->process.seccomp != CONF_SECCOMP_OFF, .keep = needed_caps(c, kinds)};
	rc = make_filters(&x, kinds, c->process.seccomp == CONF_SECCOMP_KILL);
	if (rc != 0)
		snprintf(error, sizeof(error), "no filters of system calls: %s", strerror(-rc));
	if (rc == 0 && c->process.user != NULL)
		rc = find_user(&x, c->process.user, error, sizeof(error));
	if (rc == 0 && x.becomes)
		give_files(c, x.uid, x.gid);
	if (rc == 0)
		rc = broadcast_run(give_up, &x, error, sizeof(error));
	// eal.lcores may name more lcores than workers.count: these are confined, too
	if (rc == 0 && x.filters && x.workers < c->workers) {
		snprintf(error, sizeof(error), "%u of %u workers have names of EAL", x.workers,
			c->workers);
		rc = -ENOENT;
	}
	if (rc != 0) {
		LOG(START, ERR, "privileges cannot be given up: %s", error);
		return rc;
	}
	__atomic_store_n(&entered, true, __ATOMIC_RELEASE);
	prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0); // the change of user has reset it
	log_privileges(&x, how[c->process.seccomp]);
	return 0;
}
