// SPDX-License-Identifier: BSD-3-Clause
// Compares a configuration with this machine before anything is opened.
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_config.h>
#include <rte_version.h>

#include "check.h"
#include "check_packet.h"
#include "check_taken.h"
#include "check_user.h"
#include "dp.h"
#include "dp_state.h"
#include "port.h"
#include "stream_review.h"
#include "devices/vtap_spec.h"
#include "conf_lcores.h"

#define AT(c, f, k) ((struct conf_at){c, &(c)->f, 0, k})

// --- driver profiles -----------------------------------------------------------------------------

bool check_drivers(const struct conf *c, struct conf_report *r)
{
	DIR *d;

	if (c->drivers_dir == NULL || c->drivers_dir[0] == '\0')
		return true;
	d = opendir(c->drivers_dir);
	if (d != NULL) {
		closedir(d);
		return true;
	}
	conf_tell(r, CONF_ERROR, AT(c, drivers_dir, "drivers"),
		"%s: %s: name the directory of driver profiles, or leave the key out",
		c->drivers_dir, strerror(errno));
	return false;
}

// --- lcores --------------------------------------------------------------------------------------

// True if that CPU is online. EAL treats an offline CPU as missing.
static bool cpu_is_there(const char *cpus, unsigned int cpu)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/cpu%u/topology/core_id", cpus, cpu);
	return access(path, F_OK) == 0;
}

static unsigned int count_cpus(const char *cpus)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < CONF_LCORES_MAX; i++)
		n += cpu_is_there(cpus, i);
	return n;
}

// The first CPU in l that is missing, or CONF_LCORES_MAX.
static unsigned int find_missing(const struct conf_lcores *l, const char *cpus)
{
	unsigned int i = 0;

	while (i < CONF_LCORES_MAX && (!conf_lcores_has(l->cpus, i) || cpu_is_there(cpus, i)))
		i++;
	return i;
}

// The first CPU in l that this process may not run on, or CONF_LCORES_MAX.
static unsigned int find_forbidden(const struct conf_lcores *l)
{
	unsigned int i = 0;
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return CONF_LCORES_MAX;
	while (i < CONF_LCORES_MAX && (!conf_lcores_has(l->cpus, i) || CPU_ISSET(i, &allowed)))
		i++;
	return i;
}

void check_lcores(const struct conf *c, const char *cpus, struct conf_report *r)
{
	const struct conf_at place = AT(c, eal_lcores, "eal.lcores");
	unsigned int missing, forbidden, high = RTE_MAX_LCORE;
	struct conf_lcores l;

	if (c->eal_lcores == NULL || conf_lcores_parse(c->eal_lcores, &l) != 0)
		return;
	while (high < CONF_LCORES_MAX && !conf_lcores_has(l.ids, high))
		high++;
	missing = find_missing(&l, cpus);
	forbidden = find_forbidden(&l);
	if (high < CONF_LCORES_MAX)
		conf_tell(r, CONF_ERROR, place,
			"there is no lcore %u, DPDK has 0 to %u: name the CPU after an '@', like "
			"1@%u",
			high, RTE_MAX_LCORE - 1, high);
	else if (missing < CONF_LCORES_MAX)
		conf_tell(r, CONF_ERROR, place,
			"there is no CPU %u on this machine, which has %u: name CPUs that `lscpu "
			"-e` shows as online, or leave the key out",
			missing, count_cpus(cpus));
	else if (forbidden < CONF_LCORES_MAX)
		conf_tell(r, CONF_WARNING, place,
			"CPU %u is not among those that this process may run on: see taskset, "
			"CPUAffinity=, AllowedCPUs=",
			forbidden);
}

// --- devices -------------------------------------------------------------------------------------

// True if DPDK can use a device under that kernel driver: the driver hands the device over or
// shares it.
static bool driver_suits(const char *name)
{
	static const char *const good[] = {
		"vfio-pci", "uio_pci_generic", "igb_uio", "mlx4_core", "mlx5_core", "mana"};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (strcmp(name, good[i]) == 0)
			return true;
	return false;
}

// Compares one device of a port with the PCI devices in a directory. place is where the file names
// the device.
static void check_device(
	struct conf_at place, const char *device, const char *pci, struct conf_report *r)
{
	char bdf[PORT_PCI_LEN], path[PATH_MAX], target[PATH_MAX];
	const char *driver;
	ssize_t n;

	if (!port_device_pci(device, bdf))
		return;
	snprintf(path, sizeof(path), "%s/%s", pci, bdf);
	if (access(path, F_OK) != 0) {
		conf_tell(r, CONF_WARNING, place,
			"there is no PCI device %s on this machine: see `dpdk-devbind.py "
			"--status-dev net`",
			bdf);
		return;
	}
	snprintf(path, sizeof(path), "%s/%s/driver", pci, bdf);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	driver = strrchr(target, '/') != NULL ? strrchr(target, '/') + 1 : target;
	if (!driver_suits(driver))
		conf_tell(r, CONF_WARNING, place,
			"%s is bound to %s%s: most NICs need `dpdk-devbind.py -b vfio-pci %s`, "
			"which takes them from the kernel",
			bdf, driver[0] != '\0' ? "the kernel's driver " : "no driver", driver, bdf);
}

// Before 24.11 the driver reports "up" in any state of its interface.
static void check_links(const struct conf *c, uint32_t port, struct conf_report *r)
{
	const struct conf_bond *b = &c->ports[port].bond;
	const struct conf_at place = {c, &c->ports[port].bond.members, 0, "ports"};

	if (RTE_VERSION < RTE_VERSION_NUM(24, 11, 0, 0) && b->nb_members > 0 &&
		strncmp(b->members[0], "net_af_packet", 13) == 0)
		conf_tell(r, CONF_WARNING, place,
			"net_af_packet of this DPDK does not report that its link is down: no "
			"other member takes over then");
}

// With several queues the driver lets the kernel reassemble fragments. The result is longer than
// the MTU, and often than a slot of the ring, which cuts it.
static void check_af_packet(struct conf_at place, const char *device, struct conf_report *r)
{
	const char *queues = strstr(device, ",qpairs=");
	const char *iface = strstr(device, ",iface=");
	const int len = iface != NULL ? (int)strcspn(iface + 7, ",") : 0;

	if (strncmp(device, "net_af_packet", 13) != 0 || queues == NULL || atoi(queues + 8) < 2)
		return;
	conf_tell(r, CONF_WARNING, place,
		"with several queues (qpairs) the kernel reassembles fragments, and fragmented "
		"datagrams are lost: use qpairs=1, or packet:%.*s",
		len > 0 ? len : 4, len > 0 ? iface + 7 : "NAME");
}

void check_devices(const struct conf *c, const char *pci, struct conf_report *r)
{
	for (uint32_t i = 0; i < c->nb_ports; i++) {
		const struct conf_port *p = &c->ports[i];

		check_links(c, i, r);
		for (uint32_t k = 0; k < conf_port_devices(p); k++) {
			const struct conf_at place = {c,
				p->bond.nb_members > 0 ? (const void *)&p->bond.members
						       : (const void *)&p->device,
				k, "ports"};

			check_device(place, conf_port_device(p, k), pci, r);
			check_af_packet(place, conf_port_device(p, k), r);
		}
	}
}

// --- namespaces ----------------------------------------------------------------------------------

// Warns if a namespace does not exist. It may still be created before the start, which fails
// without it.
static void check_netns(
	struct conf_at place, const char *name, const char *netns, struct conf_report *r)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", netns, name);
	if (name[0] != '\0' && access(path, F_OK) != 0 && errno == ENOENT)
		conf_tell(r, CONF_WARNING, place,
			"there is no network namespace %s (yet): make it with `ip netns add %s`",
			name, name);
}

void check_namespaces(const struct conf *c, const char *netns, struct conf_report *r)
{
	for (uint32_t i = 0; i < c->nb_ports; i++) {
		const struct conf_port *p = &c->ports[i];
		struct vtap_spec spec;
		char reason[160];

		if (!p->shares && vtap_spec_is(p->device) &&
			vtap_spec_parse(p->device, &spec, reason, sizeof(reason)))
			check_netns(AT(c, ports[i].device, "ports"), spec.netns, netns, r);
		if (p->exception.netns != NULL)
			check_netns(AT(c, ports[i].exception.netns, "ports"), p->exception.netns,
				netns, r);
	}
	if (c->streams.netns != NULL)
		check_netns(AT(c, streams.netns, "streams.netns"), c->streams.netns, netns, r);
}

// --- listeners of the kernel ---------------------------------------------------------------------

static bool is_port_address(const struct conf *c, const struct addr *a)
{
	for (uint32_t i = 0; i < c->turn.nb_local; i++)
		if (addr_eq(&c->turn.local[i].addr, a))
			return true;
	return false;
}

static bool kernel_has(const struct ifaddrs *list, const struct addr *a)
{
	for (; list != NULL; list = list->ifa_next) {
		const struct sockaddr *s = list->ifa_addr;
		struct addr has;

		if (s == NULL || (s->sa_family != AF_INET && s->sa_family != AF_INET6))
			continue;
		has = s->sa_family == AF_INET
			? addr_from_v4(&((const struct sockaddr_in *)(const void *)s)->sin_addr)
			: addr_from_v6(&((const struct sockaddr_in6 *)(const void *)s)->sin6_addr);
		if (addr_eq(&has, a))
			return true;
	}
	return false;
}

// Warns of listener addresses that the kernel does not have. They are bound all the same, because
// DHCP may assign them later. A mistyped address looks like that, too.
void check_listeners(const struct conf *c, struct conf_report *r)
{
	struct ifaddrs *list;

	// the addresses of another namespace are unknown here
	if (c->streams.netns != NULL || getifaddrs(&list) != 0)
		return;
	for (uint32_t i = 0; i < c->turn.nb_listeners; i++) {
		const struct turn_listener *l = &c->turn.listeners[i];
		char text[ADDR_TEXT_LEN];

		if (turn_listener_is_stream(l) && !is_port_address(c, &l->endpoint.addr) &&
			!kernel_has(list, &l->endpoint.addr))
			conf_tell(r, CONF_WARNING,
				AT(c, turn.listeners[i].endpoint.addr, "listeners"),
				"no interface of the kernel has %s (yet): TCP clients reach it "
				"only once one has, see `ip addr`",
				addr_format(&l->endpoint.addr, text, sizeof(text)));
	}
	freeifaddrs(list);
}

// --- records -------------------------------------------------------------------------------------

// The server creates the file at its start. A check finds these problems earlier.
void check_records(const struct conf *c, struct conf_report *r)
{
	const struct conf_at place = AT(c, records.file, "records.file");
	const char *file = c->records.file;
	char dir[PATH_MAX], refusals[CONF_RECORDS_PATH], peers[CONF_RECORDS_PATH];
	struct stat st;

	if (file == NULL)
		return;
	conf_records_beside(file, CONF_RECORDS_REFUSALS, refusals);
	conf_records_beside(file, CONF_RECORDS_PEERS, peers);
	snprintf(dir, sizeof(dir), "%s", file);
	*(strrchr(dir, '/') + 1) = '\0';
	if (stat(dir, &st) != 0)
		conf_tell(r, CONF_WARNING, place,
			"%s: %s: records are lost until it exists, create the directory", dir,
			strerror(errno));
	else if (lstat(file, &st) == 0 && !S_ISREG(st.st_mode))
		conf_tell(r, CONF_ERROR, place, "%s is not a regular file: name one", file);
	else if (c->records.refusals && lstat(refusals, &st) == 0 && !S_ISREG(st.st_mode))
		conf_tell(r, CONF_ERROR, place,
			"%s, the file of refusals, is not a regular file: remove it", refusals);
	else if (c->turn.tells_peers && lstat(peers, &st) == 0 && !S_ISREG(st.st_mode))
		conf_tell(r, CONF_ERROR, place,
			"%s, the file of peers, is not a regular file: remove it", peers);
}

// --- the state area -----------------------------------------------------------------------------

// The file may be locked by another process: that is probably the running server, so a check
// ignores it.
void check_state(const struct conf *c, struct conf_report *r)
{
	char error[256];
	int rc;

	if (c->state.file == NULL)
		return;
	rc = dp_state_check(c, error, sizeof(error));
	if (rc != 0)
		conf_tell(r, rc < 0 ? CONF_ERROR : CONF_WARNING, AT(c, state.file, "state.file"),
			"%s", error);
}

// --- draining ------------------------------------------------------------------------------------

// The program may still be created before the first change.
static void check_drain(const struct conf *c, struct conf_report *r)
{
	const struct conf_drain *d = &c->drain;

	if (d->nb_on_change > 0 && access(d->on_change[0], X_OK) != 0)
		conf_tell(r, CONF_WARNING, AT(c, drain.on_change, "drain.on-change"),
			"%s: %s: a drain will not be reported", d->on_change[0], strerror(errno));
}

// --- TLS -----------------------------------------------------------------------------------------

struct tls_ctx {
	const struct conf *conf;
	struct conf_report *report;
};

// The place of a key of tls in the file.
static const void *tls_field(
	const struct conf *c, const struct stream_tls *tls, enum stream_tls_key key)
{
	const void *const fields[] = {[STREAM_TLS_CERTIFICATE] = &c->tls.certificate,
		[STREAM_TLS_KEY] = &c->tls.key,
		[STREAM_TLS_CHAIN] = &c->tls.chain,
		[STREAM_TLS_CIPHERS] = &c->tls.ciphers};

	for (uint32_t i = 0; i < c->turn.nb_listeners; i++) {
		const struct turn_listener_tls *listener_tls = &c->turn.listeners[i].tls;

		if (listener_tls->certificate != tls->certificate)
			continue;
		if (key == STREAM_TLS_CERTIFICATE)
			return &listener_tls->certificate;
		if (key == STREAM_TLS_KEY)
			return &listener_tls->key;
	}
	return fields[key];
}

static void say_tls(void *ctx, const struct stream_tls *tls, enum stream_tls_key key, bool fatal,
	const char *reason)
{
	const struct tls_ctx *x = ctx;
	char name[STREAM_REVIEW_NAME_LEN];
	const struct conf_at place = {
		x->conf, tls_field(x->conf, tls, key), 0, stream_review_key_name(tls, key, name)};

	conf_tell(x->report, fatal ? CONF_ERROR : CONF_WARNING, place, "%s", reason);
}

void check_tls(const struct conf *c, struct conf_report *r)
{
	struct tls_ctx ctx = {c, r};
	const struct stream_review sink = {.now = time(NULL), .say = say_tls, .ctx = &ctx};
	struct stream_identities all;

	dp_identities(c, &all);
	stream_review_all(&all, &sink);
}

void check_all(const struct conf *c, bool lcores, struct conf_report *r)
{
	conf_warnings(c, r);
	if (lcores)
		check_lcores(c, "/sys/devices/system/cpu", r);
	check_devices(c, "/sys/bus/pci/devices", r);
	check_namespaces(c, "/run/netns", r);
	check_listeners(c, r);
	check_taken(c, r);
	check_packets(c, "/proc/sys/net/ipv4", "/proc/net", r);
	check_records(c, r);
	check_state(c, r);
	check_drain(c, r);
	check_tls(c, r);
	check_user(c, r);
}
