// SPDX-License-Identifier: BSD-3-Clause
// Queries an interface with ioctl. Reads from sysfs the master of the interface: the bridge or bond
// that it belongs to.
#include "packet/packet_iface.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if.h>
#include <linux/if_arp.h>

#include "open_request.h"

static int query_iface(
	const struct packet_iface *f, const char *name, unsigned long request, struct ifreq *q)
{
	*q = (struct ifreq){0};
	snprintf(q->ifr_name, sizeof(q->ifr_name), "%s", name);
	return ioctl(f->control, request, q) == 0 ? 0 : -errno;
}

// True if the interface has a master, whose name is written to `master`. The kernel then gives the
// frames to the master, which also has the addresses.
static bool has_master(const char *name, char master[PATH_MAX])
{
	char path[PATH_MAX], target[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/class/net/%s/master", name);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	snprintf(master, PATH_MAX, "%s",
		strrchr(target, '/') != NULL ? strrchr(target, '/') + 1 : target);
	return true;
}

static int check_flags(const struct port_request *r, const char *name, short flags)
{
	char master[PATH_MAX];

	if ((flags & IFF_LOOPBACK) != 0 && !r->c->loopback)
		port_request_fail(r, "%s is the loopback: name an interface with a network", name);
	else if (has_master(name, master))
		port_request_fail(r, "%s is a part of %s, which has its addresses: write packet:%s",
			name, master, master);
	else if ((flags & IFF_UP) == 0)
		port_request_fail(
			r, "interface %s is down: bring it up (`ip link set %s up`)", name, name);
	else
		return 0;
	return -1;
}

// Reads MTU, MAC and type of an interface (ARPHRD_ETHER, ...). Returns 0 or -errno.
static int read_properties(struct packet_iface *f, const char *name, int *type)
{
	struct ifreq q;
	int rc = query_iface(f, name, SIOCGIFMTU, &q);

	if (rc != 0)
		return rc;
	f->mtu = (uint16_t)(q.ifr_mtu < UINT16_MAX ? q.ifr_mtu : UINT16_MAX);
	rc = query_iface(f, name, SIOCGIFHWADDR, &q);
	if (rc != 0)
		return rc;
	*type = q.ifr_hwaddr.sa_family;
	if (*type == ARPHRD_ETHER)
		memcpy(f->mac, q.ifr_hwaddr.sa_data, sizeof(f->mac));
	return 0;
}

int packet_iface_open(struct packet_iface *f, const struct port_request *r, const char *name)
{
	struct ifreq q;
	int rc, type = 0;

	*f = (struct packet_iface){.control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
	rc = f->control < 0 ? -errno : query_iface(f, name, SIOCGIFINDEX, &q);
	if (rc != 0) {
		port_request_fail(r, "interface %s: %s (see `ip link`)", name, strerror(-rc));
		return -1;
	}
	f->index = q.ifr_ifindex;
	if (query_iface(f, name, SIOCGIFFLAGS, &q) == 0 && check_flags(r, name, q.ifr_flags) != 0)
		return -1;
	rc = read_properties(f, name, &type);
	if (rc != 0)
		port_request_fail(r, "interface %s: %s", name, strerror(-rc));
	else if (type != ARPHRD_ETHER && !r->c->loopback)
		port_request_fail(r,
			"interface %s is not Ethernet (type %d of `ip link`): its frames have no "
			"MACs",
			name, type);
	return rc == 0 && (type == ARPHRD_ETHER || r->c->loopback) ? 0 : -1;
}

bool packet_iface_look(struct packet_iface *f)
{
	struct ifreq q = {.ifr_ifindex = f->index};
	int type;

	return ioctl(f->control, SIOCGIFNAME, &q) == 0 &&
		read_properties(f, q.ifr_name, &type) == 0 && type == ARPHRD_ETHER;
}

bool packet_iface_find(struct packet_iface *f, const char *name)
{
	struct packet_iface found = *f;
	char master[PATH_MAX];
	struct ifreq q;
	int type;

	if (query_iface(f, name, SIOCGIFINDEX, &q) != 0 || has_master(name, master))
		return false;
	found.index = q.ifr_ifindex;
	if (read_properties(&found, name, &type) != 0 || type != ARPHRD_ETHER)
		return false;
	*f = found;
	return true;
}

void packet_iface_close(struct packet_iface *f)
{
	if (f->control >= 0)
		close(f->control);
	f->control = -1;
}

bool packet_iface_running(const struct packet_iface *f)
{
	const int wanted = IFF_UP | IFF_RUNNING;
	struct ifreq q = {.ifr_ifindex = f->index};

	return ioctl(f->control, SIOCGIFNAME, &q) == 0 &&
		ioctl(f->control, SIOCGIFFLAGS, &q) == 0 && (q.ifr_flags & wanted) == wanted;
}
