// SPDX-License-Identifier: BSD-3-Clause
// Turns the device string of the configuration into a DPDK device. On failure the reason tells the
// operator what to do.

#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_pci.h>

#include "ethdev/device.h"
#include "port_log.h"
#include "open_request.h"

#define DEVICE_NAME_LEN 64

// Ethdevs that a port uses. Management lcore only.
static bool taken[RTE_MAX_ETHPORTS];

// Copies the part before the first comma: a PCI address or the name of a vdev.
static void device_name(const char *device, char name[DEVICE_NAME_LEN])
{
	snprintf(name, DEVICE_NAME_LEN, "%.*s", (int)strcspn(device, ","), device);
}

bool port_device_pci(const char *device, char bdf[PORT_PCI_LEN])
{
	char name[DEVICE_NAME_LEN];
	struct rte_pci_addr a;

	device_name(device, name);
	if (rte_pci_addr_parse(name, &a) != 0)
		return false;
	rte_pci_device_name(&a, bdf, PORT_PCI_LEN);
	return true;
}

int port_device_socket(const char *device)
{
	char bdf[PORT_PCI_LEN], path[PATH_MAX];
	int node = -1;
	FILE *f;

	if (!port_device_pci(device, bdf))
		return -1;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/numa_node", bdf);
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	if (fscanf(f, "%d", &node) != 1)
		node = -1;
	fclose(f);
	return node;
}

static bool is_af_packet(const char *device)
{
	return strncmp(device, "net_af_packet", 13) == 0;
}

// Finds the value of a key in a vdev string.
static bool device_arg(const char *device, const char *key, char *value, size_t len)
{
	const size_t n = strlen(key);

	for (const char *p = strchr(device, ','); p != NULL; p = strchr(p, ',')) {
		p++;
		if (strncmp(p, key, n) != 0 || p[n] != '=')
			continue;
		p += n + 1;
		snprintf(value, len, "%.*s", (int)strcspn(p, ","), p);
		return true;
	}
	return false;
}

// Limits the queue pairs of af_packet to the number of workers. af_packet opens one fanout socket
// for every pair in its devargs, even if the queue is not polled. Each pair above the number of
// workers would silently lose its share of the flows. Returns a malloced string; NULL without
// memory.
static char *limit_pairs(const char *device, uint16_t queues)
{
	char pairs[16];
	const char *arg;
	char *out;

	if (!is_af_packet(device) || !device_arg(device, "qpairs", pairs, sizeof(pairs)) ||
		strtoul(pairs, NULL, 10) <= queues)
		return strdup(device);
	arg = strstr(device, ",qpairs=");
	if (asprintf(&out, "%.*s,qpairs=%u%s", (int)(arg - device), device, queues,
		    arg + 8 + strcspn(arg + 8, ",")) < 0)
		return NULL;
	return out;
}

char *port_device_args(const char *device, uint16_t queues, const char *devargs)
{
	char *out = limit_pairs(device, queues);

	while (devargs != NULL && *devargs != '\0' && out != NULL) {
		const int len = (int)strcspn(devargs, ","), name = (int)strcspn(devargs, "=,");
		char key[64], value[8], *longer = NULL;

		snprintf(key, sizeof(key), "%.*s", name, devargs);
		if (!device_arg(device, key, value, sizeof(value))) {
			if (asprintf(&longer, "%s,%.*s", out, len, devargs) < 0)
				longer = NULL;
			free(out);
			out = longer;
		}
		devargs += len + (devargs[len] == ',');
	}
	return out;
}

// Checks for faults that DPDK would refuse without a reason. Returns 0, or -1 with the reason
// written.
static int check_iface(const struct port_request *r)
{
	char iface[IF_NAMESIZE + 1];
	int fd;

	if (!is_af_packet(r->c->device))
		return 0;
	if (!device_arg(r->c->device, "iface", iface, sizeof(iface))) {
		port_request_fail(r, "has no interface: write net_af_packet0,iface=NAME");
		return -1;
	}
	if (if_nametoindex(iface) == 0) {
		port_request_fail(r,
			"no such interface: %s (see `ip link`; it must be in the network "
			"namespace this program runs in)",
			iface);
		return -1;
	}
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		port_request_fail(r,
			"cannot open a packet socket: %s (run as root, or with CAP_NET_RAW "
			"and CAP_NET_ADMIN)",
			strerror(errno));
		return -1;
	}
	close(fd);
	return 0;
}

// Writes why a PCI device could not be probed.
static void fail_pci(const struct port_request *r, const char *bdf, int err)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *driver;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", bdf);
	if (access(path, F_OK) != 0) {
		port_request_fail(r, "no such PCI device (see `dpdk-devbind.py --status-dev net`)");
		return;
	}
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", bdf);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0) {
		port_request_fail(r,
			"not bound to a kernel driver: bind it with "
			"`dpdk-devbind.py -b vfio-pci %s`",
			bdf);
		return;
	}
	target[n] = '\0';
	driver = strrchr(target, '/');
	port_request_fail(r,
		"no DPDK driver took it (%s); kernel driver in use: %s; most NICs need "
		"`dpdk-devbind.py -b vfio-pci %s`",
		rte_strerror(-err), driver != NULL ? driver + 1 : target, bdf);
}

// Finds an ethdev of the device that no port uses yet, else returns RTE_MAX_ETHPORTS. *all counts
// the device's ethdevs, including those in use.
static uint16_t find_free(const char *device, unsigned int *all)
{
	uint16_t id, found = RTE_MAX_ETHPORTS;
	struct rte_dev_iterator it;

	*all = 0;
	RTE_ETH_FOREACH_MATCHING_DEV(id, device, &it)
	{
		(*all)++;
		if (found == RTE_MAX_ETHPORTS && !taken[id])
			found = id;
	}
	return found;
}

// Probes the device unless EAL did at its start (a PCI device through -a, a vdev through --vdev).
static int probe_device(const struct port_request *r, const char *args, struct port_device *out)
{
	char bdf[PORT_PCI_LEN];
	const bool pci = port_device_pci(args, bdf);
	unsigned int all;
	int rc;

	out->plugged = false;
	out->id = find_free(args, &all);
	if (out->id != RTE_MAX_ETHPORTS)
		return 0;
	if (all > 0) {
		port_request_fail(r, "already in use by another port");
		return -1;
	}
	rc = rte_dev_probe(args);
	if (rc != 0 && pci) {
		fail_pci(r, bdf, rc);
		return -1;
	}
	if (rc != 0) {
		port_request_fail(r,
			"DPDK refuses it: %s (no such driver, or an argument it does not "
			"know)",
			rte_strerror(-rc));
		return -1;
	}
	out->plugged = true;
	out->id = find_free(args, &all);
	if (out->id == RTE_MAX_ETHPORTS) {
		port_request_fail(r, "is not a network device");
		return -1;
	}
	return 0;
}

int port_device_attach(const struct port_request *r, struct port_device *out)
{
	struct rte_eth_dev_info info;
	char *args;
	int rc;

	if (check_iface(r) != 0)
		return -1;
	args = port_device_args(r->c->device, r->c->queues, r->c->devargs);
	if (args == NULL) {
		port_request_fail(r, "out of memory");
		return -1;
	}
	rc = probe_device(r, args, out);
	free(args);
	if (rc != 0)
		return rc;
	rc = rte_eth_dev_info_get(out->id, &info);
	if (rc != 0) {
		port_request_fail(r, "cannot be queried: %s", rte_strerror(-rc));
		return -1;
	}
	out->dev = info.device;
	taken[out->id] = true;
	return 0;
}

void port_device_detach(const struct port_device *d)
{
	taken[d->id] = false;
	if (d->plugged && rte_dev_remove(d->dev) != 0)
		PORT_LOG(WARNING, "device of ethdev %u could not be removed", d->id);
}
