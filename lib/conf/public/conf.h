// SPDX-License-Identifier: BSD-3-Clause
// The configuration file as validated plain data. One schema table (schema.c) drives parsing,
// checks, defaults and the generated manual page. PURE (+libyaml): the library reads the given file
// and the files that it names; it never logs or exits.
#pragma once

#include <stdio.h>

#include "addr.h"
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
	CONF_LEARN_NONE, // from the file
	CONF_LEARN_DHCP, // IPv4, from the kernel's interface
	CONF_LEARN_SLAAC, // IPv6, from the kernel's interface
};

// An address on a port, with the length of its on-link prefix. The length counts bits of the
// 128-bit form: an IPv4 /24 is 120.
struct conf_address {
	struct addr addr;
	uint8_t prefix_len;
	uint8_t learn; // enum conf_learn
	// addr is a placeholder until conf_resolve: of the right family, and unlike any other
	// address.
	bool pending;
	struct addr external; // address that the network translates addr to; :: = no translation
};

// How packets from peers reach their worker. AUTO takes the best step of the ladder; ADDRESS and
// PORT_BITS try that step alone, and OFF none.
enum conf_steering {
	CONF_STEERING_AUTO,
	CONF_STEERING_ADDRESS,
	CONF_STEERING_PORT_BITS,
	CONF_STEERING_OFF
};

enum conf_uso { CONF_USO_AUTO, CONF_USO_ON, CONF_USO_OFF };

// One kind of traffic of the kernel: to a service that the kernel offers, or (away) to a service
// that it uses as a client.
struct conf_service {
	uint8_t proto; // IPPROTO_TCP, IPPROTO_UDP, or IPPROTO_ICMP for ICMP and ICMPv6
	bool away; // port is the remote host's
	uint16_t port; // host byte order; 0 for ICMP
};

// An exception port: connects the kernel to a port, for traffic that the data path does not own.
struct conf_exception {
	char *name; // the kernel's interface; NULL = the port has no exception port
	char *netns; // name of its network namespace; NULL = the process's namespace
	char *device; // NULL = a vtap
	struct conf_service *allow;
	uint32_t nb_allow;
	uint32_t rate; // packets per second, in each direction
	uint32_t buffers; // packet buffers that may wait, in each direction
	uint16_t client_lo, client_hi; // range of UDP source ports of the kernel as a client
	enum conf_uso tso; // true if TCP super-frames are sent whole
};

// A route in addition to the gateways: a prefix, and a router on a subnet of the port.
struct conf_route {
	struct prefix dst;
	struct addr via;
};

enum conf_bond_mode { CONF_BOND_LACP, CONF_BOND_ACTIVE_BACKUP, CONF_BOND_BALANCE };

#define CONF_BOND_MAX 8 // maximum number of members

// Several devices as one port. nb_members is 0 if the port is not a bond.
struct conf_bond {
	enum conf_bond_mode mode;
	char **members; // device strings
	uint32_t nb_members;
	char *primary; // the member that is used while its link is up; NULL = no preference
};

// Returns the index of the member that primary names, however it is spelled, or -1 without one.
int conf_bond_primary(const struct conf_bond *b);

// A network: a port of its own, or an entry of another port's vlans.
struct conf_port {
	char *name;
	char *device; // PCI address or DPDK vdev string; "bond:NAME" when the port is a bond
	struct conf_bond bond;
	struct conf_address *addresses;
	struct addr *gateways; // at most one per family
	struct conf_route *routes;
	uint32_t nb_addresses, nb_gateways, nb_routes;
	bool gateway_learned
		[2]; // [is_v4]: the network gives the gateway, too; the file has no gateway
	uint32_t learn_wait_s; // for addresses that the network gives; 0 = no limit
	uint16_t vlan; // 0 = untagged
	uint16_t mtu;
	// Entries of vlans while the file is read. After checks they follow all ports in the array.
	struct conf_port *vlans;
	uint32_t nb_vlans;
	bool shares; // an entry of vlans: it uses the device of port `on`, which comes earlier
	uint8_t on;
	// Not in the file: the loopback. It reaches programs of this machine at the addresses of
	// packet ports; port `on` is the first of these.
	bool loopback;
	bool tagged_only; // the port has vlans and no untagged addresses
	enum conf_steering steering;
	enum conf_uso uso;
	struct conf_exception exception;
};

// The number of devices of a port: the members of its bond, or 1.
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

// The entry of a port whose address equals *a, or NULL.
const struct conf_address *conf_port_address(const struct conf_port *p, const struct addr *a);

// Limits of TCP and TLS clients. Times are in seconds.
struct conf_streams {
	uint32_t threads, connections, per_source, per_network;
	struct prefix *trusted; // nb_trusted prefixes: per_source and per_network do not count them
	uint32_t nb_trusted;
	uint32_t idle_s, handshake_s;
	uint32_t headers; // connections of a thread that may wait for their PROXY header
	uint32_t queue; // bytes that may wait to be sent to one client
	uint32_t ring; // messages in the ring between a stream thread and a worker
	char *netns; // NULL = the process's namespace
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
	uint32_t rate; // fragments per second of a source at a worker; 0 = no limit
};

enum conf_tls_version { CONF_TLS_1_2, CONF_TLS_1_3 };

// PEM files for TLS and DTLS clients.
struct conf_tls {
	char *certificate, *key; // NULL = none
	char *chain; // NULL = the certificate file holds the whole chain
	char *ciphers; // NULL = ECDHE with an AEAD cipher
	char **alpn; // ALPN names that clients may ask for; if empty, ALPN is ignored
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
	char *group; // of operators; NULL = none
	char *readers; // group of readers; NULL = none
	uint32_t connections;
};

// Sections that included files may have.
enum conf_include_holds { CONF_INCLUDE_ACCOUNTS, CONF_INCLUDE_ALL };

struct conf {
	char *path; // path of the main file
	struct conf_node *root; // private to lib/conf: the place of each value in the file
	struct conf_said *said; // private to lib/conf: values for comparison; NULL = not requested
	char *include; // as written in the file; NULL = nothing is included
	uint8_t include_holds; // enum conf_include_holds
	char **included; // the files that were included, in their order
	uint32_t nb_included;
	char **secret_files; // paths of the secret files that were read
	uint32_t nb_secret_files;
	char **prefix_files; // paths of the prefix files that were read
	uint32_t nb_prefix_files;
	// eal:
	char *eal_lcores; // NULL = lcores are spread over the allowed CPUs
	char *eal_file_prefix; // default "slipring"
	char **eal_args;
	uint32_t nb_eal_args;
	char *drivers_dir; // drivers: NULL = the installed folder, "" = no profiles
	// set by the app, then owned by the configuration; may be NULL
	struct conf_drivers *drivers;
	// workers:
	// 0 = one per allowed CPU except one, but at least one; the app resolves it
	uint32_t workers;
	enum conf_idle idle;
	// Microseconds: the longest sleep of an adaptive worker, and every sleep of a saving one. 0
	// = the default in lib/dp/path/idle.h.
	uint32_t idle_sleep_us;
	// ports:
	struct conf_port *ports;
	uint32_t nb_ports;
	uint32_t learn_wait_s; // default for all ports
	struct conf_exception exception; // defaults for all ports: only the numbers are used
	uint32_t mbufs; // buffers in the packet pool; conf_derive_mbufs
	uint32_t mbufs_fixed; // set by a test; 0 = not set
	// descriptors per queue, if the driver profile does not say
	uint32_t rx_ring, tx_ring;
	uint32_t requests; // requests that a worker answers in one round
	uint32_t backlog; // requests that may wait at one worker
	uint32_t handover_ring; // packets in a ring between two workers
	uint32_t events; // events of a worker that may wait for management
	// neighbours
	uint32_t neigh_entries, neigh_held, neigh_held_each;
	uint32_t neigh_ask_rate; // requests per second of all workers together; 0 = no limit
	struct conf_fragments fragments;
	uint32_t icmp_rate; // echo replies per second, 0 = no replies
	uint32_t icmp_errors_in; // ICMP errors per second reported to clients, 0 = no errors
	uint32_t icmp_errors_out; // ICMP errors per second that we send, 0 = no errors
	uint32_t icmp_errors_each; // ICMP errors per second to one address; 0 = no limit
	bool icmp_unreachable; // answer datagrams to unused UDP ports by an ICMP error
	uint32_t path_mtus; // destinations whose path MTU a worker can store
	// The sections listeners:, relay:, auth:, limits: and peers:, in the form lib/turn reads.
	// The configuration owns the strings and arrays. The app sets turn.workers once it has
	// resolved workers. turn.local, turn.gateways and turn.routes are gathered from ports.
	struct turn_config turn;
	// enum turn_listen_on: the word in relay.addresses, such as `all`. Like a listener's, it
	// becomes ONE when turn.relay gets the addresses.
	uint8_t relay_on;
	uint16_t proxy_size; // limit for the headers of all listeners
	bool lower_ends; // limits.on-lower: a reload ends allocations above a lowered quota
	struct limit handshakes; // of TLS handshakes, and separately of DTLS handshakes
	struct conf_streams streams;
	struct conf_dtls dtls;
	struct conf_tls tls;
	// log:
	struct conf_log log;
	struct conf_records records; // turn.interim_s is a setting of records, too
	struct conf_control control;
	struct conf_drain drain;
	struct conf_process process;
	struct conf_state state;
	struct conf_watch watch; // watchdog:
	struct conf_crash crash;
	struct conf_debug debug;
};

// --- problems ------------------------------------------------------------------------------------

// An error keeps the server from starting. A warning reports something that works but that an
// operator should know.
enum conf_weight { CONF_ERROR, CONF_WARNING };

// Receiver of problems. say gets each one as a line "FILE:LINE:COL: key: reason" without a newline.
struct conf_report {
	void (*say)(void *ctx, enum conf_weight weight, const char *line);
	void *ctx;
	uint32_t nb[2]; // problems reported, by weight
};

// A place in the file: where element index of a field of conf was read from (index 0 for a single
// value). key names the place if the file does not give the field.
struct conf_at {
	const struct conf *conf;
	const void *field;
	uint32_t index;
	const char *key;
};

// Gathers turn.routes from ports (their subnets, routes and gateways) and turn.apart. conf_load has
// called it. False without memory; conf_free frees them.
bool conf_routes_gather(struct conf *c);
// The port that has an address, or NULL.
const struct conf_port *conf_port_find(const struct conf *c, const struct addr *a);
// True when a listener needs the files of tls.
bool conf_wants_tls(const struct conf *c);

// Reports a problem at that place to r.
void conf_tell(struct conf_report *r, enum conf_weight weight, struct conf_at location,
	const char *fmt, ...) __attribute__((format(printf, 4, 5)));

// The number of ports of the relay range that listeners leave free on a relay address.
uint32_t conf_relay_left(const struct turn_config *t, const struct addr *a);

// Sets c->mbufs. conf_load has called it, for one worker if the file does not give the number: call
// it again once workers and drivers are known.
void conf_derive_mbufs(struct conf *c);
// The longest rings that a port may have: its driver is known only once it is open.
void conf_rings_longest(const struct conf *c, uint32_t *rx, uint32_t *tx);

// Reads and checks the file at path. Returns the configuration, to be freed with conf_free. Returns
// NULL on error, with the text of the first error in error.
struct conf *conf_load(const char *path, char error[CONF_ERROR_LEN]);
// Like conf_load, but reports every error to r: those of reading the file, or those of checking it.
// For conf_changes it keeps a hash of each secret under a key, which must be the same for all
// configurations that are compared. hash is NULL if the configuration is not compared.
struct conf *conf_load_and_report(
	const char *path, struct conf_report *r, const struct hash_key *hash);
// Wipes the secrets in the configuration and frees it. NULL is fine.
void conf_free(struct conf *c);
// Wipes passwords, keys and secrets, but keeps their counts. Call it once the policy has its own
// copies.
void conf_forget(struct conf *c);

// --- resolve.c: addresses that the network gives -------------------------------------------------

// An address that the network has given to one entry of ports[].addresses.
struct conf_learned {
	uint32_t port, index; // the entry: ports[port].addresses[index]
	struct addr addr;
	uint8_t prefix_len; // of the 128-bit form
	struct addr gateway; // of its family, used if the file names no gateway; :: = no router
};

// True while the network has yet to give an address.
bool conf_pending(const struct conf *c);
// True if the network gives, or gave, an address of that family to a port.
bool conf_learns(const struct conf_port *p, bool is_v4);
// Puts the addresses in the place of `dhcp` and `slaac`, and wherever `all` includes them. Then
// checks everything as if the file had them. The list has each pending address once. Call it before
// conf_forget_places and conf_forget. 0, or -EINVAL with the first error in error; r gets all
// errors, and warnings about the addresses. After an error only conf_free may be called.
int conf_resolve(struct conf *c, const struct conf_learned *list, uint32_t nb,
	struct conf_report *r, char error[CONF_ERROR_LEN]);

// Reports warnings about a file without errors to r.
void conf_warnings(const struct conf *c, struct conf_report *r);
// Frees the places of values in the file. Problems reported afterwards name its first line.
void conf_forget_places(struct conf *c);

// Writes the reference of all keys as Markdown: doc/configuration.md is its output.
void conf_manual(FILE *out);
