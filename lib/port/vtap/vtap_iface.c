// SPDX-License-Identifier: BSD-3-Clause
// Makes the kernel's end of a vtap, configures it, and reads its state. All of this uses
// descriptors that belong to the interface's network namespace. Only opening them has to happen
// inside the namespace.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>

#include "netns.h"
#include "open_request.h"
#include "vtap/vtap_iface.h"

// Debian 12's headers lack these (Linux 6.2).
#ifndef TUN_F_USO4
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif

#define CLONE "/dev/net/tun"

// --- opening ------------------------------------------------------------------------------------

// The descriptors to open, and the progress of that.
struct opening {
	struct vtap_iface *v;
	const char *netns; // "" = that of the caller
	unsigned int nb;
	// the failed step, if error is not 0
	enum { FOUND_NETNS, ENTERED, OPENED_TUN, OPENED_REST } failed;
	int error;
};

static int open_descriptors(struct opening *o)
{
	struct vtap_iface *v = o->v;

	o->failed = OPENED_TUN;
	for (; v->nb_queues < o->nb; v->nb_queues++) {
		v->queue[v->nb_queues] = open(CLONE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
		if (v->queue[v->nb_queues] < 0)
			return errno;
	}
	o->failed = OPENED_REST;
	v->control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (v->control < 0)
		return errno;
	v->counters = open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC);
	return v->counters < 0 ? errno : 0;
}

static void run_opening(void *arg)
{
	struct opening *o = arg;

	o->error = open_descriptors(o);
}

static void fail_opening(const struct port_request *r, const struct opening *o)
{
	const char *reason = strerror(o->error);

	switch (o->failed) {
	case FOUND_NETNS:
		port_request_fail(r,
			"network namespace %s: %s (see `ip netns`; `ip netns add %s` makes it)",
			o->netns, reason, o->netns);
		break;
	case ENTERED:
		port_request_fail(r,
			"network namespace %s cannot be entered: %s (run as root, or with "
			"CAP_SYS_ADMIN)",
			o->netns, reason);
		break;
	case OPENED_TUN:
		if (o->error == ENOENT || o->error == ENODEV || o->error == ENXIO)
			port_request_fail(r,
				"%s: %s (`modprobe tun` loads the driver; a container has to be "
				"given the device)",
				CLONE, reason);
		else
			port_request_fail(r, "%s: %s (run as root)", CLONE, reason);
		break;
	case OPENED_REST:
		port_request_fail(r, "network namespace cannot be read: %s", reason);
		break;
	}
}

// --- the interface ------------------------------------------------------------------------------

static int index_of(const struct vtap_iface *v)
{
	return __atomic_load_n(&v->index, __ATOMIC_RELAXED);
}

// Does an ioctl on the interface with its current name.
static int iface_ioctl(const struct vtap_iface *v, unsigned long request, struct ifreq *r)
{
	struct ifreq name = {.ifr_ifindex = index_of(v)};

	if (ioctl(v->control, SIOCGIFNAME, &name) != 0)
		return -errno;
	memcpy(r->ifr_name, name.ifr_name, sizeof(r->ifr_name));
	return ioctl(v->control, request, r) == 0 ? 0 : -errno;
}

static void fail_attach(const struct port_request *r, const struct vtap_spec *spec, int error)
{
	if (error == EBUSY)
		port_request_fail(r,
			"interface %s exists already: choose another name, or remove it "
			"(`ip link del %s`)",
			spec->name, spec->name);
	else if (error == EPERM)
		port_request_fail(r,
			"interface %s cannot be made: %s (run as root, or with CAP_NET_ADMIN)",
			spec->name, strerror(error));
	else
		port_request_fail(r, "interface %s cannot be made with %s: %s", spec->name,
			"several queues and virtio-net headers", strerror(error));
}

// Attaches the queues: the first one makes the interface, the others join it. The attachment is
// exclusive. Otherwise the kernel would accept queues of a second program and give them a share of
// our frames. Queues that are attached already are skipped: an earlier attempt failed after them.
static int attach_queues(
	struct vtap_iface *v, const struct port_request *r, const struct vtap_spec *spec)
{
	const int header = sizeof(struct virtio_net_hdr);
	struct ifreq q = {0};

	for (unsigned int i = 0; i < v->nb_queues; i++) {
		snprintf(q.ifr_name, sizeof(q.ifr_name), "%s", spec->name);
		q.ifr_flags = (short)(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_MULTI_QUEUE |
			(i == 0 ? IFF_TUN_EXCL : 0));
		if ((ioctl(v->queue[i], TUNSETIFF, &q) != 0 && errno != EEXIST) ||
			ioctl(v->queue[i], TUNSETVNETHDRSZ, &header) != 0) {
			fail_attach(r, spec, errno);
			return -1;
		}
	}
	if (ioctl(v->control, SIOCGIFINDEX, &q) != 0) {
		port_request_fail(r, "interface %s: %s", spec->name, strerror(errno));
		return -1;
	}
	__atomic_store_n(&v->index, q.ifr_ifindex, __ATOMIC_RELAXED);
	return 0;
}

// Tries fewer and fewer offloads until this kernel accepts them; Linux 6.2 is the first with USO.
static enum vtap_offload negotiate_offload(const struct vtap_iface *v, enum vtap_offload most)
{
	static const unsigned int flags[] = {
		[VTAP_OFFLOAD_CSUM] = TUN_F_CSUM,
		[VTAP_OFFLOAD_TSO] = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN,
		[VTAP_OFFLOAD_USO] = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN |
			TUN_F_USO4 | TUN_F_USO6,
	};

	for (; most > VTAP_OFFLOAD_NONE; most--)
		if (ioctl(v->queue[0], TUNSETOFFLOAD, (unsigned long)flags[most]) == 0)
			break;
	if (most == VTAP_OFFLOAD_NONE) // defaults of kernels may differ
		ioctl(v->queue[0], TUNSETOFFLOAD, 0UL);
	return most;
}

static int set_lengths(
	const struct vtap_iface *v, const struct port_request *r, const struct port *p)
{
	struct ifreq q = {.ifr_mtu = p->mtu};
	int rc = iface_ioctl(v, SIOCSIFMTU, &q);

	if (rc != 0) {
		port_request_fail(r, "mtu %u: %s", p->mtu, strerror(-rc));
		return -1;
	}
	// frames of a queue that may wait for us, like descriptors of a NIC
	q = (struct ifreq){.ifr_qlen = p->rx_ring};
	rc = iface_ioctl(v, SIOCSIFTXQLEN, &q);
	if (rc != 0)
		port_request_fail(r, "ring of %u frames: %s", p->rx_ring, strerror(-rc));
	return rc != 0 ? -1 : 0;
}

static int set_mac(const struct vtap_iface *v, const struct port_request *r, const uint8_t *mac)
{
	struct ifreq q = {.ifr_hwaddr.sa_family = ARPHRD_ETHER};
	int rc;

	memcpy(q.ifr_hwaddr.sa_data, mac, sizeof(v->mac));
	rc = iface_ioctl(v, SIOCSIFHWADDR, &q);
	if (rc != 0)
		port_request_fail(r, "mac: %s", strerror(-rc));
	return rc != 0 ? -1 : 0;
}

static int get_mac(struct vtap_iface *v, const struct port_request *r)
{
	struct ifreq q = {0};
	const int rc = iface_ioctl(v, SIOCGIFHWADDR, &q);

	memcpy(v->mac, q.ifr_hwaddr.sa_data, sizeof(v->mac));
	if (rc != 0)
		port_request_fail(r, "mac: %s", strerror(-rc));
	return rc != 0 ? -1 : 0;
}

// mac: NULL = the kernel chooses one.
static int make_iface(struct vtap_iface *v, const struct port_request *r,
	const struct vtap_spec *spec, const struct port *p, const uint8_t *mac)
{
	if (attach_queues(v, r, spec) != 0 || set_lengths(v, r, p) != 0 ||
		(mac != NULL && set_mac(v, r, mac) != 0))
		return -1;
	v->granted = negotiate_offload(v, spec->offload);
	return 0;
}

int vtap_iface_open(struct vtap_iface *v, const struct port_request *r,
	const struct vtap_spec *spec, const struct port *p)
{
	struct opening o = {.v = v, .netns = spec->netns, .nb = p->nb_rxq};
	bool found;
	int rc;

	*v = (struct vtap_iface){.control = -1, .counters = -1};
	rc = port_netns_run(spec->netns, run_opening, &o, &found);
	if (rc != 0) {
		o.failed = found ? ENTERED : FOUND_NETNS;
		o.error = -rc;
	}
	if (o.error != 0) {
		fail_opening(r, &o);
		return -1;
	}
	// an exception port has the MAC of the port that it belongs to
	if (make_iface(v, r, spec, p,
		    spec->role == VTAP_EXCEPTION && spec->has_mac ? spec->mac : NULL) != 0)
		return -1;
	return get_mac(v, r);
}

int vtap_iface_again(struct vtap_iface *v, const struct port_request *r,
	const struct vtap_spec *spec, const struct port *p)
{
	return make_iface(v, r, spec, p, v->mac);
}

void vtap_iface_close(struct vtap_iface *v)
{
	for (; v->nb_queues > 0; v->nb_queues--)
		close(v->queue[v->nb_queues - 1]);
	if (v->control >= 0)
		close(v->control);
	if (v->counters >= 0)
		close(v->counters);
	v->control = v->counters = -1;
}

int vtap_iface_up(const struct vtap_iface *v, bool up)
{
	struct ifreq q = {0};
	int rc = iface_ioctl(v, SIOCGIFFLAGS, &q);

	if (rc != 0)
		return rc;
	q.ifr_flags = (short)(up ? q.ifr_flags | IFF_UP : q.ifr_flags & ~IFF_UP);
	return iface_ioctl(v, SIOCSIFFLAGS, &q);
}

bool vtap_iface_running(const struct vtap_iface *v)
{
	const int wanted = IFF_UP | IFF_RUNNING;
	struct ifreq q = {0};

	return iface_ioctl(v, SIOCGIFFLAGS, &q) == 0 && (q.ifr_flags & wanted) == wanted;
}

bool vtap_iface_is_attached(const struct vtap_iface *v)
{
	struct ifreq q;

	return ioctl(v->queue[0], TUNGETIFF, &q) == 0;
}

int vtap_iface_steer(const struct vtap_iface *v, int program)
{
	return ioctl(v->queue[0], TUNSETSTEERINGEBPF, &program) == 0 ? 0 : -errno;
}

// Reads /proc/net/dev. A line is "name: 8 receive fields, bytes packets errs drop ... (transmit)".
// The file is opened again through the open descriptor, which identifies the namespace, so several
// threads may read at the same time.
bool vtap_iface_missed(const struct vtap_iface *v, uint64_t *frames)
{
	char path[32], line[512], ifname[IFNAMSIZ];
	struct ifreq q = {.ifr_ifindex = index_of(v)};
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", v->counters);
	f = ioctl(v->control, SIOCGIFNAME, &q) == 0 ? fopen(path, "re") : NULL;
	if (f == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), f) != NULL)
		found = sscanf(line,
				" %15[^:]: %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %" SCNu64,
				ifname, frames) == 2 &&
			strcmp(ifname, q.ifr_name) == 0;
	fclose(f);
	return found;
}
