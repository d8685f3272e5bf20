// SPDX-License-Identifier: BSD-3-Clause
// The configuration file: text goes in, validated plain data comes out. One schema table (schema.c)
// drives parsing, checking, defaults and the generated manual page. PURE (+libyaml): the library
// reads the file it is given and those that this one names; it never logs or exits.
#pragma once

#include <stdio.h>

#include "addr.h"
#include "conf_alternate.h"
#include "conf_drain.h"
#include "conf_log.h"
#include "conf_process.h"
#include "conf_records.h"
#include "conf_state.h"
#include "conf_watch.h"
#include "turn_config.h"

struct hash_key;

#define CONF_ERROR_LEN 512
#define CONF_PORTS_MAX 16

// Where an address of a port comes from.
enum conf_learn {
	CONF_LEARN_NONE, // the file
	CONF_LEARN_DHCP, // IPv4, as the kernel's interface gets it
	CONF_LEARN_SLAAC, // IPv6, as the kernel's interface gets it
};

// An address on a port, with the length of its on-link prefix. The length counts bits of the
// 128-bit form: an IPv4 /24 is 120.
struct conf_address {
	struct addr addr;
	uint8_t prefix_len;
	uint8_t learn; // enum conf_learn
	// Until conf_resolve addr is no address. It is of the right family and like no other.
	bool pending;
	struct addr external; // what the network translates addr to; :: = nothing
};

// How packets from peers are brought to their worker. AUTO takes the best step of the ladder; T1,
// T2 and T4 name the highest step to try.
enum conf_steering { CONF_STEERING_AUTO, CONF_STEERING_T1, CONF_STEERING_T2, CONF_STEERING_T4 };

enum conf_uso { CONF_USO_AUTO, CONF_USO_ON, CONF_USO_OFF };

// One kind of traffic of the kernel: to a service that the kernel offers, or (away) from a service
// that it uses as a client.
struct conf_service {
	uint8_t proto; // IPPROTO_TCP, IPPROTO_UDP, or IPPROTO_ICMP for ICMP and ICMPv6
	bool away; // port is the other host's
	uint16_t port; // host byte order; 0 for ICMP
};

// An exception port: the way between the kernel and a port, for traffic that the data path does not
// own.
struct conf_exception {
	char *name; // the kernel's interface; NULL = the port has no exception port
	char *netns; // name of its network namespace; NULL = that of the process
	char *device; // NULL = a vtap
	struct conf_service *allow;
	uint32_t nb_allow;
	uint32_t rate; // packets per second, each way
	uint32_t buffers; // packet buffers that may wait, each way
	uint16_t client_lo, client_hi; // UDP source ports of the kernel as a client
	enum conf_uso tso; // whether TCP super-frames go out whole
};

// A route beside the gateways: a prefix, and a router on a subnet of the port.
struct conf_route {
	struct prefix dst;
	struct addr via;
};

enum conf_bond_mode { CONF_BOND_LACP, CONF_BOND_ACTIVE_BACKUP, CONF_BOND_BALANCE };

#define CONF_BOND_MAX 8 // members

// Several devices as one port. nb_members is 0 where the port is no bond.
struct conf_bond {
	enum conf_bond_mode mode;
	char **members; // device strings
	uint32_t nb_members;
	char *primary; // the member that is used while its link is up; NULL = none is preferred
};

// The member that primary names, in whatever spelling; -1 = none.
int conf_bond_primary(const struct conf_bond *b);

// A network: a port of its own, or an entry of another one's vlans.
struct conf_port {
	char *name;
	char *device; // PCI address or DPDK vdev string; "bond:NAME" when the port is a bond
	struct conf_bond bond;
	struct conf_address *addresses;
	struct addr *gateways; // at most one per family
	struct conf_route *routes;
	uint32_t nb_addresses, nb_gateways, nb_routes;
	bool gateway_learned[2]; // [is_v4]: the file names none where the network gives the address
	uint32_t learn_wait_s; // for addresses that the network gives; 0 = without end
	uint16_t vlan; // 0 = untagged
	uint16_t mtu;
	// Entries of vlans while the file is read. Once it is checked they stand behind all ports.
	struct conf_port *vlans;
	uint32_t nb_vlans;
	bool shares; // an entry of vlans: the device is that of port `on`, which stands before it
	uint8_t on;
	// Not of the file: the loopback, by which programs of this machine are reached at addresses
	// of packet ports, of which port `on` is the first.
	bool loopback;
	bool tagged_only; // there are vlans, and no addresses without a tag
	enum conf_steering steering;
	enum conf_uso uso;
	struct conf_exception exception;
};

// The number of devices behind a port: the members of its bond, or the one.
static inline uint32_t conf_port_devices(const struct conf_port *p)
{
	if (p->shares)
		return 0;
	return p->bond.nb_members > 0 ? p->bond.nb_members : 1;
}

// The device string of device i of a port.
static inline const char *conf_port_device(const struct conf_port *p, uint32_t i)
{
	return p->bond.nb_members > 0 ? p->bond.members[i] : p->device;
}

// The address of a port that equals *a; NULL = none.
const struct conf_address *conf_port_address(const struct conf_port *p, const struct addr *a);

// Limits of TCP and TLS clients. Times are in seconds.
struct conf_streams {
	uint32_t threads, connections, per_source, per_network;
	struct prefix *trusted; // nb_trusted of them: per_source and per_network do not count them
	uint32_t nb_trusted;
	uint32_t idle_s, handshake_s;
	uint32_t headers; // connections of a thread that may wait for their PROXY header
	uint32_t queue; // bytes that may wait to be sent to one client
	uint32_t ring; // messages in the ring between a stream thread and a worker
	char *netns; // NULL = that of the process
};

// Limits of DTLS clients. Times are in seconds.
struct conf_dtls {
	uint32_t sessions, per_source, per_network, half_open;
	uint32_t handshake_s, idle_s;
};

// Reassembly of fragments.
struct conf_fragments {
	uint32_t flows; // of all workers together; 0 = fragments are dropped
	uint32_t per_source;
	uint32_t longest; // bytes of a datagram, UDP header included
	uint32_t buffers;
	uint32_t timeout_ms;
	uint32_t rate; // fragments a second of a source at a worker; 0 = no limit
};

enum conf_tls_version { CONF_TLS_1_2, CONF_TLS_1_3 };

// PEM files for TLS and DTLS clients.
struct conf_tls {
	char *certificate, *key; // NULL = none
	char *chain; // NULL = the certificate file holds the whole chain
	char *ciphers; // NULL = ECDHE with an AEAD cipher
	char **alpn; // names that clients may ask for; none: what they offer is not looked at
	uint32_t nb_alpn;
	enum conf_tls_version min_version;
};

enum conf_idle { CONF_IDLE_ADAPTIVE, CONF_IDLE_BUSY, CONF_IDLE_SAVING };
// The name of an idle mode as the file spells it.
static inline const char *conf_idle_name(enum conf_idle idle)
{
	static const char *const names[] = {[CONF_IDLE_ADAPTIVE] = "adaptive",
		[CONF_IDLE_BUSY] = "busy",
		[CONF_IDLE_SAVING] = "saving"};

	return names[idle];
}

// The control socket.
struct conf_control {
	char *socket; // NULL = the default, "" = none
	char *group; // NULL = its owner alone may use it
	uint32_t connections;
};

// What included files may hold.
enum conf_include_holds { CONF_INCLUDE_ACCOUNTS, CONF_INCLUDE_ALL };

struct conf {
	char *path; // the file that was read
	struct conf_node *root; // for lib/conf alone: where each value stands in the file
	struct conf_said *said; // for lib/conf alone: what it says; NULL = nobody has asked
	char *include; // as the file has it; NULL = nothing
	uint8_t include_holds; // enum conf_include_holds
	char **included; // the files that were included, in their order
	uint32_t nb_included;
	char **secret_files; // paths of those that were read
	uint32_t nb_secret_files;
	char **prefix_files; // the same of files of prefixes
	uint32_t nb_prefix_files;
	// eal:
	char *eal_lcores; // NULL = lcores are dealt over the allowed CPUs
	char *eal_file_prefix; // default "slipring"
	char **eal_args;
	uint32_t nb_eal_args;
	char *drivers_dir; // drivers: NULL = the installation's, empty = none
	// set by the app, then owned by the configuration; NULL = none
	struct conf_drivers *drivers;
	// workers:
	// 0 = one per allowed CPU except one, but at least one; the app resolves it
	uint32_t workers;
	enum conf_idle idle;
	// Microseconds: the longest sleep of an adaptive worker, and every sleep of a saving one. 0
	// = the default in lib/dp/idle.h.
	uint32_t idle_sleep_us;
	// ports:
	struct conf_port *ports;
	uint32_t nb_ports;
	uint32_t learn_wait_s; // of all ports
	struct conf_exception exception; // of all ports: the numbers alone
	uint32_t mbufs; // buffers in the packet pool; conf_derive_mbufs
	uint32_t mbufs_fixed; // by a test; 0 = nothing is said
	// descriptors of a queue, where the driver profile does not say
	uint32_t rx_ring, tx_ring;
	uint32_t requests; // requests that a worker answers in one round
	uint32_t backlog; // requests that may wait at one worker
	uint32_t handover_ring; // packets in a ring between two workers
	uint32_t events; // that may wait for management, of a worker
	// neighbours
	uint32_t neigh_entries, neigh_held, neigh_held_each;
	uint32_t neigh_ask_rate; // requests per second of all workers together; 0 = no limit
	struct conf_fragments fragments;
	uint32_t icmp_rate; // echo replies per second, 0 = none
	uint32_t icmp_errors_in; // ICMP errors per second that clients are told of, 0 = none
	uint32_t icmp_errors_out; // ICMP errors of ours per second, 0 = none
	uint32_t icmp_errors_each; // of those, to one address; 0 = no limit
	bool icmp_unreachable; // whether ports that nobody has are reported
	uint32_t path_mtus; // destinations whose path MTU a worker can know
	// The sections listeners:, relay:, auth:, limits: and peers:, in the form lib/turn reads.
	// The configuration owns the strings and arrays. The app sets turn.workers once it has
	// resolved workers. turn.local, turn.gateways and turn.routes are gathered from ports.
	struct turn_config turn;
	// enum turn_listen_on: what relay.addresses stands for. ONE, as in turn.listeners, once
	// turn.relay has the addresses.
	uint8_t relay_on;
	uint16_t proxy_size; // of all listeners
	bool lower_ends; // limits.on-lower: a reload ends allocations that a quota leaves over
	struct limit handshakes; // of TLS handshakes, and the same again of DTLS handshakes
	struct conf_streams streams;
	struct conf_dtls dtls;
	struct conf_tls tls;
	// log:
	struct conf_log log;
	struct conf_records records; // turn.interim_s belongs to it
	struct conf_control control;
	struct conf_alternate alternate;
	struct conf_drain drain;
	struct conf_process process;
	struct conf_state state;
	struct conf_watch watch; // watchdog:
	struct conf_crash crash;
	struct conf_debug debug;
};

// --- problems ------------------------------------------------------------------------------------

// An error keeps the server from starting. A warning tells what works but an operator should know.
enum conf_weight { CONF_ERROR, CONF_WARNING };

// Receiver of problems. say gets each one as a line "FILE:LINE:COL: key: reason" without a newline.
struct conf_report {
	void (*say)(void *ctx, enum conf_weight weight, const char *line);
	void *ctx;
	uint32_t nb[2]; // problems told so far, by weight
};

// A place in the file: where element index of a field of conf was read from (index 0 for a single
// value). key names the place when the file does not give the field.
struct conf_at {
	const struct conf *conf;
	const void *field;
	uint32_t index;
	const char *key;
};

// Gathers turn.routes from ports: their subnets, routes and gateways; and turn.apart. conf_load has
// done so. False without memory; conf_free frees them.
bool conf_routes_gather(struct conf *c);
// The port that has an address; NULL = none.
const struct conf_port *conf_port_find(const struct conf *c, const struct addr *a);
// True when a listener needs the files of tls.
bool conf_wants_tls(const struct conf *c);

// Tells r a problem at that place.
void conf_tell(struct conf_report *r, enum conf_weight weight, struct conf_at location,
	const char *fmt, ...) __attribute__((format(printf, 4, 5)));

// How many ports of the relay range listeners leave on a relay address.
uint32_t conf_relay_left(const struct turn_config *t, const struct addr *a);

// Decides c->mbufs. conf_load has done so, for one worker where the file does not say how many:
// call it again once workers and drivers are known.
void conf_derive_mbufs(struct conf *c);
// The longest rings that a port may have: which driver it has is known only once it is open.
void conf_rings_longest(const struct conf *c, uint32_t *rx, uint32_t *tx);

// Reads and checks the file at path. Returns the configuration, to be freed with conf_free. Returns
// NULL on error, with the text of the first error in error.
struct conf *conf_load(const char *path, char error[CONF_ERROR_LEN]);
// The same, but tells r every error: those of reading the file, or those of checking what was read.
// For conf_changes it keeps a hash of each secret under a key, which has to be the same for all
// that are compared; NULL = the configuration is not compared.
struct conf *conf_load_said(const char *path, struct conf_report *r, const struct hash_key *hash);
// Wipes the secrets in the configuration and frees it. NULL is fine.
void conf_free(struct conf *c);
// Wipes passwords, keys and secrets. Call it once the policy has its own copies. The number of them
// stays known.
void conf_forget(struct conf *c);

// --- resolve.c: addresses that the network gives -------------------------------------------------

// What the network has given to one entry of ports[].addresses.
struct conf_learned {
	uint32_t port, index; // whose: ports[port].addresses[index]
	struct addr addr;
	uint8_t prefix_len; // of the 128-bit form
	struct addr gateway; // router of its family, taken where the file names none; :: = none
};

// True while an address is still to be given by the network.
bool conf_pending(const struct conf *c);
// True when an address of that family was, or is to be, given to a port by the network.
bool conf_learns(const struct conf_port *p, bool is_v4);
// Puts the addresses where the file has `dhcp` and `slaac`, and wherever they are meant by `all`.
// Then everything is checked as if the file had them. Each pending address is in the list, once.
// Places and secrets have not been forgotten. 0, or -EINVAL with the first error in error; r is
// told all of them, and what is dubious about the addresses. After an error only conf_free is left.
int conf_resolve(struct conf *c, const struct conf_learned *list, uint32_t nb,
	struct conf_report *r, char error[CONF_ERROR_LEN]);

// Tells r what is dubious in a file without errors.
void conf_warnings(const struct conf *c, struct conf_report *r);
// Frees what is known of places in the file. Problems told afterwards name its first line.
void conf_forget_places(struct conf *c);

// --- driver profiles -----------------------------------------------------------------------------

// Driver profile: what one file says of the drivers it is for. A driver without a profile is only
// probed.
struct conf_driver {
	char *path; // of the file
	char **names; // names of DPDK drivers, as the drivers spell them
	uint32_t nb_names;
	char *tested; // hardware that the profile has been tested on
	enum conf_steering steering;
	uint16_t rx_ring, tx_ring; // descriptors; 0 = the profile does not say
	char *devargs; // NULL, or "key=value,..." for devices that are hot-plugged by name
	bool interrupts; // its receive interrupts wake workers
	struct conf_node *root; // for lib/conf alone: where each value stands in the file
};

struct conf_drivers {
	char *dir;
	struct conf_driver *list; // in the order of their file names
	uint32_t nb;
};

// Reads every *.yaml of a directory. Returns NULL with the reason in error on failure. The reason
// has the form "FILE:LINE:COL: key: reason" when it lies in a file. errno is then ENOENT when the
// directory does not exist, EINVAL otherwise.
struct conf_drivers *conf_drivers_load(const char *dir, char error[CONF_ERROR_LEN]);
void conf_drivers_free(struct conf_drivers *d); // NULL is fine
// The profile for a driver of that name. NULL when there is none, or when d is NULL.
const struct conf_driver *conf_driver_find(const struct conf_drivers *d, const char *driver);
// The same by a vdev string, before the driver is known: EAL takes the driver whose name the
// device's name begins with. NULL for a PCI address, because it does not tell the driver.
const struct conf_driver *conf_driver_of_device(const struct conf_drivers *d, const char *device);
// Writes, as YAML, the values that hold for a driver and where each comes from. name is that of a
// driver, a vdev, or a file without .yaml. c may be NULL.
void conf_driver_show(
	FILE *out, const struct conf_drivers *d, const struct conf *c, const char *name);

#define CONF_LCORES_MAX 1024

// Two bit sets: lcores, and the CPUs that they may run on.
struct conf_lcores {
	uint64_t ids[CONF_LCORES_MAX / 64], cpus[CONF_LCORES_MAX / 64];
};

static inline bool conf_lcores_has(const uint64_t *set, unsigned int i)
{
	return (set[i / 64] >> i % 64 & 1) != 0;
}

// Reads the text of EAL's --lcores. Returns 0, or -EINVAL when the text is malformed.
int conf_lcores_parse(const char *text, struct conf_lcores *out);
// The number of lcores that text names, or -EINVAL.
int conf_lcores_count(const char *text);

// Writes the reference of all keys as Markdown: doc/configuration.md is its output.
void conf_manual(FILE *out);
