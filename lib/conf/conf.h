// SPDX-License-Identifier: BSD-3-Clause
// The configuration file: text in, validated plain data out. One schema table (schema.c) drives
// parsing, checking, defaults and the generated manual page. PURE (+libyaml): reads the one file it
// is given, never logs or exits.
#pragma once

#include <stdio.h>

#include "addr.h"
#include "turn_config.h"

#define CONF_ERROR_LEN 512
#define CONF_PORTS_MAX 16

// An address on a port, with the length of its on-link prefix (of the 128-bit form: /24 is 120).
struct conf_address {
	struct addr addr;
	uint8_t prefix_len;
};

// How packets from peers are brought to their worker: the best step of the ladder, or at most one.
enum conf_steering { CONF_STEERING_AUTO, CONF_STEERING_T1, CONF_STEERING_T2, CONF_STEERING_T4 };

enum conf_uso { CONF_USO_AUTO, CONF_USO_ON, CONF_USO_OFF };

// Traffic of the kernel: of what it serves, or (away) of what it uses as a client.
struct conf_service {
	uint8_t proto; // IPPROTO_TCP, _UDP, or _ICMP for both families
	bool away; // the port is the other host's
	uint16_t port; // 0 for ICMP
};

// The way to and from the kernel behind a port, for what the data path does not own.
struct conf_exception {
	char *name; // of the kernel's interface; NULL = there is none
	char *netns; // by its name; NULL = that of the process
	char *device; // NULL = a vtap
	struct conf_service *allow;
	uint32_t nb_allow;
	uint32_t rate; // packets per second, each way
	uint32_t buffers; // packet buffers that may wait, each way
	uint16_t client_lo, client_hi; // UDP ports that the kernel is a client from
	enum conf_uso tso; // super-frames of TCP go out whole
};

struct conf_port {
	char *name;
	char *device; // PCI address or DPDK vdev string
	struct conf_address *addresses;
	struct addr *gateways; // at most one per family
	uint32_t nb_addresses, nb_gateways;
	uint16_t vlan; // 0 = untagged
	uint16_t mtu;
	enum conf_steering steering;
	enum conf_uso uso;
	uint16_t rx_ring, tx_ring; // 0 = by driver
	struct conf_exception exception;
};

// TCP and TLS clients.
struct conf_streams {
	uint32_t threads, connections, per_source, per_network;
	uint32_t idle_s, handshake_s;
	uint32_t queue; // bytes that may wait for a client
	uint32_t ring; // messages between a thread and a worker
	char *netns; // NULL = that of the process
};

// DTLS clients.
struct conf_dtls {
	uint32_t sessions, per_source, per_network, half_open;
	uint32_t handshake_s, idle_s;
};

enum conf_tls_version { CONF_TLS_1_2, CONF_TLS_1_3 };

// PEM files, of TLS and DTLS clients.
struct conf_tls {
	char *certificate, *key; // NULL = none
	char *chain; // NULL = certificate has it all
	char *ciphers; // NULL = ECDHE with an AEAD
	enum conf_tls_version min_version;
};

enum conf_idle { CONF_IDLE_ADAPTIVE, CONF_IDLE_BUSY, CONF_IDLE_SAVING };
// As in the file.
static inline const char *conf_idle_name(enum conf_idle idle)
{
	static const char *const names[] = {[CONF_IDLE_ADAPTIVE] = "adaptive",
		[CONF_IDLE_BUSY] = "busy",
		[CONF_IDLE_SAVING] = "saving"};

	return names[idle];
}

enum conf_log_to { CONF_LOG_STDERR, CONF_LOG_SYSLOG };

struct conf {
	char *path; // of the file
	struct conf_node *root; // of lib/conf alone: where each value stands
	// eal:
	char *eal_lcores; // NULL = dealt over the allowed CPUs
	char *eal_file_prefix; // default "slipring"
	char **eal_args;
	uint32_t nb_eal_args;
	char *drivers_dir; // drivers: NULL = that of the installation, empty = none
	struct conf_drivers *drivers; // set by the app, owned from then on; NULL = none
	// workers:
	uint32_t workers; // 0 = one per allowed CPU but one, at least one: resolved by the app
	enum conf_idle idle;
	// The longest sleep of an adaptive worker, each of a saving one; 0 = as lib/dp/idle.h says.
	uint32_t idle_sleep_us;
	// ports:
	struct conf_port *ports;
	uint32_t nb_ports;
	uint32_t mbufs; // buffers in the packet pool
	uint32_t rx_ring, tx_ring; // descriptors a queue, of ports that nobody else decides for
	uint32_t requests; // that a worker answers in a round
	uint32_t backlog; // requests that may wait, of a worker
	uint32_t handover_ring; // packets a ring between two workers
	// neighbours
	uint32_t neigh_entries, neigh_held, neigh_held_each;
	uint32_t neigh_ask_rate; // of all workers; 0 = no limit
	uint32_t icmp_rate; // echo replies per second, 0 = none
	// listeners:, relay:, auth:, limits:, peers: in the form lib/turn reads. Strings and arrays
	// are owned by the configuration. turn.workers is set by the app once workers is resolved;
	// turn.local and turn.gateways are gathered from ports.
	struct turn_config turn;
	struct turn_rate handshakes; // of TLS and DTLS, each
	struct conf_streams streams;
	struct conf_dtls dtls;
	struct conf_tls tls;
	// log:
	enum conf_log_to log_to;
	int log_level; // syslog's LOG_ERR .. LOG_DEBUG
	uint32_t log_bursts_s; // seconds between lines on batching, 0 = none
	// debug:
	bool core_dumps; // and tracing by processes of the same user
};

// --- problems ------------------------------------------------------------------------------------

// An error keeps the server from starting; a warning is what works but an operator should know.
enum conf_weight { CONF_ERROR, CONF_WARNING };

// Where problems are told, each in a line "FILE:LINE:COL: key: reason" without a newline.
struct conf_report {
	void (*say)(void *ctx, enum conf_weight weight, const char *line);
	void *ctx;
	uint32_t nb[2]; // told so far, by weight
};

// A place in the file: element index of a field of conf (0 for a single value); key is told where
// the file does not give it.
struct conf_at {
	const struct conf *conf;
	const void *field;
	uint32_t index;
	const char *key;
};

// Whether a listener needs the files of tls.
bool conf_wants_tls(const struct conf *c);

// Tells a problem of that place.
void conf_tell(struct conf_report *r, enum conf_weight weight, struct conf_at at, const char *fmt,
	...) __attribute__((format(printf, 4, 5)));

// Reads and checks a file. NULL on error, with the first one in error.
struct conf *conf_load(const char *path, char error[CONF_ERROR_LEN]);
// The same, but tells all errors: of reading the file, or else of what it says.
struct conf *conf_load_all(const char *path, struct conf_report *r);
void conf_free(struct conf *c);
// Wipes what the policy has copies of, once there is one: passwords, keys and secrets. How many of
// them there are is still known.
void conf_forget(struct conf *c);

// Tells what is dubious in a file without errors.
void conf_warnings(const struct conf *c, struct conf_report *r);
// Frees what is known of places in the file: from then on all is told of its first line.
void conf_forget_places(struct conf *c);

// --- driver profiles -----------------------------------------------------------------------------

// What one file says of the drivers it is for. A driver without a profile is purely probed.
struct conf_driver {
	char *path; // of the file
	char **names; // of DPDK drivers, as they call themselves
	uint32_t nb_names;
	char *tested; // on what hardware it has run
	enum conf_steering steering;
	uint16_t rx_ring, tx_ring; // 0 = nothing said
	char *devargs; // NULL, or "key=value,...", for devices that are hot-plugged by name
	struct conf_node *root; // of lib/conf alone: where each value stands
};

struct conf_drivers {
	char *dir;
	struct conf_driver *list; // in the order of their file names
	uint32_t nb;
};

// Reads every *.yaml of a directory. NULL with the reason in error, "FILE:LINE:COL: key: reason"
// when it is in a file; errno is ENOENT when there is no such directory, EINVAL otherwise.
struct conf_drivers *conf_drivers_load(const char *dir, char error[CONF_ERROR_LEN]);
void conf_drivers_free(struct conf_drivers *d); // NULL is fine
// The profile of a driver, by the driver's name; NULL when there is none, or d is NULL.
const struct conf_driver *conf_driver_find(const struct conf_drivers *d, const char *driver);
// The same by a vdev string, before there is a driver: EAL takes the driver whose name a device's
// name begins with. NULL for a PCI address, which tells nothing of its driver.
const struct conf_driver *conf_driver_of_device(const struct conf_drivers *d, const char *device);
// Writes as YAML what holds for a driver (or vdev, or file name without .yaml) and where each value
// comes from. c may be NULL: its buffers.* are then the defaults of the manual.
void conf_driver_show(
	FILE *out, const struct conf_drivers *d, const struct conf *c, const char *name);

#define CONF_LCORES_MAX 1024

// Lcores, and the CPUs that they may run on, as bits.
struct conf_lcores {
	uint64_t ids[CONF_LCORES_MAX / 64], cpus[CONF_LCORES_MAX / 64];
};

static inline bool conf_lcores_has(const uint64_t *set, unsigned int i)
{
	return (set[i / 64] >> i % 64 & 1) != 0;
}

// Reads an EAL --lcores text. 0, or -EINVAL when it is malformed.
int conf_lcores_parse(const char *text, struct conf_lcores *out);
// Number of lcores that it names, or -EINVAL.
int conf_lcores_count(const char *text);

// Writes the reference of all keys as Markdown: doc/configuration.md is its output.
void conf_manual(FILE *out);
