// SPDX-License-Identifier: BSD-3-Clause
// The checks and warnings that take more than one key, by the files that have them. Private to
// lib/conf.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf.h"

struct addr;
struct conf_ctx;
struct conf_port;
struct turn_config;
struct turn_user;

// validate.c: checks that involve more than one key.

// Checks rules that involve more than one key, and gathers turn.local and turn.gateways. 0 or
// -EINVAL.
int conf_validate(struct conf_ctx *x);

// warn.c: limits the number of warnings on lists; conf.h has the functions that warn.

#define CONF_WARNINGS_MAX 50 // warnings on lists, after which the search stops

// True if that number of warnings has been reported.
static inline bool conf_warned(const struct conf_report *r)
{
	return r->nb[CONF_WARNING] >= CONF_WARNINGS_MAX;
}

// own_addrs.c: checks of the addresses of this box.

// Checks the addresses of ports, their external addresses and routers, listeners and relay
// addresses. Call it after turn.local and turn.gateways have been gathered. 0 or -EINVAL.
int conf_own_addrs_check(struct conf_ctx *x);

// ports.c: checks of ports.

// Makes turn.local, turn.gateways and turn.routes from ports. It does not free their former values.
// False without memory. conf_free frees the lists.
bool conf_ports_list(struct conf *c);
// Gathers turn.local, turn.gateways and turn.routes, and replaces `all` and its like with
// addresses. Call it before all checks of addresses. 0 or -EINVAL.
int conf_ports_gather(struct conf_ctx *x);
// Checks ports, listeners and relay addresses. 0 or -EINVAL.
int conf_ports_check(struct conf_ctx *x);
// True if the address is a port's own. Call it after turn.local has been gathered.
bool conf_ports_own(const struct turn_config *t, const struct addr *a);
// True if a listener before listener i has its address and port, for another transport.
bool conf_ports_listener_again(const struct turn_config *t, uint32_t i);

// bonds.c: checks of ports that are bonds.

// Checks that each port of the file has either a device or members. A bond gets the device
// "bond:NAME". Call it once, before VLANs become ports: from then on every port has a device.
// Returns 0, or -EINVAL after reporting each error.
int conf_bonds_decide(struct conf_ctx *x);
// Checks the members of all bonds. Returns 0, or -EINVAL after reporting each error.
int conf_bonds_check(struct conf_ctx *x);

// packets.c: checks of ports that share an interface with the kernel.

// Checks the device string of each packet port, and that the port has no key for something that the
// kernel keeps on such an interface. 0 or -EINVAL.
int conf_packets_check(struct conf_ctx *x);

// exceptions.c: checks of exception ports.

// Checks each exception port, and that each TCP listener on a port has one. 0 or -EINVAL.
int conf_exceptions_check(struct conf_ctx *x);
// Checks that the kernel can have TCP sockets on an address of this box; n is the key that wants
// them. 0 or -EINVAL.
int conf_exceptions_stream(struct conf_ctx *x, const struct addr *a, const struct conf_node *n);

// device_check.c: checks of device strings that go to DPDK.

// True if a device string can belong to DPDK or to slipring. Otherwise reason says what to write
// instead.
bool conf_device_check(const char *device, char *reason, size_t len);
// True if two device strings of DPDK name the same device, however they are spelled. Some drivers
// make several devices of one PCI address, told apart by arguments. slipring's own strings (vtaps
// and replays) are equal if their texts are.
bool conf_device_same(const char *a, const char *b);

// routers.c: checks of gateways, and of the routers that routes name.

// Checks by the port's own keys that routers are on its subnets, with one gateway per family and no
// route twice. 0 or -EINVAL.
int conf_routers_check_port(struct conf_ctx *x, const struct conf_port *p);
// Checks that the routers of a port are other hosts. Call it after turn.local has been gathered. 0
// or -EINVAL.
int conf_routers_check_hosts(struct conf_ctx *x, const struct conf_port *p);

// learns.c: requirements of addresses that the network gives, and their placeholders until then.

// Gives each pending address of the configuration a unique placeholder of its family that no host
// can have. So code that counts or compares addresses needs no special case.
void conf_learns_stand_in(struct conf *c);
// Checks `dhcp` and `slaac` among the addresses of one port. 0 or -EINVAL.
int conf_learns_check(struct conf_ctx *x, uint32_t port);

// pools.c: checks of relay.pools.

// Checks that the addresses of pools are on ports, and that each replaces one relay address. 0 or
// -EINVAL.
int conf_pools_check(struct conf_ctx *x);

// allocations.c: the number of allocations, in total and per user.

// Fills limits.allocations and limits.per-user if the file does not give them. Returns 0.
int conf_allocations_fill(struct conf_ctx *x);
// Warns if one of several users may take all relay ports of a family.
void conf_allocations_warn(const struct conf *c, struct conf_report *r);

// reach.c: warnings of values that reach less than the operator may think.

// Warns of ports without a gateway, of relay addresses that cannot be reached from the Internet,
// and of entries of peers.allow and peers.deny that never apply.
void conf_reach_all(const struct conf *c, struct conf_report *r);

// identities.c: checks of certificates and ALPN names.

// Checks the keys of the file for all listeners; it does not read the certificate files. 0 or
// -EINVAL.
int conf_identities_check(struct conf_ctx *x);
// Checks listener i. Call it once for an entry that became several listeners. Records which entry
// the certificate comes from. 0 or -EINVAL.
int conf_identities_check_listener(struct conf_ctx *x, uint32_t i);

// proxies.c: checks of the balancers in front of listeners.

// Checks the balancers of a listener. Call it once for an entry that became several listeners. 0 or
// -EINVAL.
int conf_proxies_check_listener(struct conf_ctx *x, uint32_t i);
// Checks streams.trusted. 0 or -EINVAL.
int conf_proxies_check_trusted(struct conf_ctx *x);
// Warns of prefixes of balancers that include the whole Internet.
void conf_proxies_warn(const struct conf *c, struct conf_report *r);

// realms.c: checks the credentials of realms.

// Returns 0, or -EINVAL after reporting the errors.
int conf_logins_check(struct conf_ctx *x);
// A name in a list of the file.
struct conf_named {
	const char *name;
	uint32_t index;
};
// Sorts the list. Returns the first entry of the file whose name an earlier entry has, which then
// stands just before it in list. NULL if all names differ.
const struct conf_named *conf_twin_of(struct conf_named *list, size_t nb);
// True if the peers of some realm can be in both of two relay pools, given by name.
bool conf_realms_share(const struct turn_config *t, const char *pool, const char *other_pool);

// warn_files.c

// Warns of secrets in files that every user of the host can read.
void conf_warn_files(const struct conf *c, struct conf_report *r);

// writable.c: warnings of files that other users may change.

// Warns of the file, its included files and its secret files, once each, if everybody or a group
// other than root's may write or replace it.
void conf_warn_writable(const struct conf *c, struct conf_report *r);
