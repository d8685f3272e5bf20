// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of lib/conf only.
#pragma once

#include "conf.h"

// lib/conf reads a file in three steps: text to tree (yaml.c), tree to struct conf by the schema
// (conf.c, values.c), then the checks that need more than one key (validate.c).

#define CONF_FILE_MAX (1u << 20) // bytes
#define CONF_ADDRESSES_MAX 4096 // in one list, with ranges and prefixes expanded

// --- yaml.c --------------------------------------------------------------------------------------

enum conf_kind { CONF_SCALAR, CONF_LIST, CONF_MAP };

struct conf_node {
	enum conf_kind kind;
	bool plain; // a scalar without quotes
	uint32_t line, col; // where the value stands, from 1
	uint32_t key_line, key_col; // where the key stands, when there is one
	uint32_t index; // position among its siblings
	char *key; // NULL when the node is no entry of a mapping
	const char *meant; // of an unknown key: the known key that was most likely meant, or NULL
	char *text; // text of a scalar, without NUL and control characters
	struct conf_node *parent, *child, *last, *next;
	// The node was read into elements [first, first + count) of field. values.c and conf.c
	// write this; conf_node_of reads it, so that a later check can point at the node.
	const void *field;
	uint32_t first, count;
};

struct conf_ctx {
	const char *path; // of the file
	char *error; // CONF_ERROR_LEN bytes: the first error
	struct conf_report *report; // is told every error; NULL = nobody is told
	uint32_t errors;
	struct conf_node *root;
	const struct conf_table *keys; // all keys the file may hold
	struct conf *conf; // NULL when the file is a driver profile
};

// Builds the tree of a file. Returns NULL with x->error set on failure.
struct conf_node *conf_yaml_parse(struct conf_ctx *x, const char *text, size_t len);
void conf_yaml_free(struct conf_node *root);
// Wipes the texts of the tree, because some are secrets. Keys and their places stay.
void conf_yaml_strip(struct conf_node *root);

// --- schema.c ------------------------------------------------------------------------------------

enum conf_type {
	CONF_SECTION, // a mapping; its keys lie in the same struct
	CONF_ITEMS, // a list of mappings; each is one element of an array
	CONF_TEXT,
	CONF_TEXTS,
	CONF_NUMBER,
	CONF_BOOL,
	CONF_CHOICE,
	CONF_ADDR,
	CONF_ADDRS, // single addresses, a-b and prefixes, expanded
	CONF_PORT_ADDRS, // addr/len and a-b/len
	CONF_PREFIXES, // single addresses, a-b and prefixes, as prefixes
	CONF_NAT64, // prefixes of NAT64 translators
	CONF_PORT_RANGE, // lo-hi
	CONF_HEX, // into a struct stun_key
	CONF_SERVICES, // tcp/22, tcp-to/179, udp/161, udp-to/53, icmp, icmp-to
};

struct conf_choice {
	const char *name; // NULL ends the list
	int value;
};

#define CONF_REQUIRED 1 // no default
#define CONF_WORD 2 // text that holds letters, digits and ._- only

struct conf_key {
	const char *path; // "ports[].name"
	enum conf_type type;
	uint8_t flags;
	// Where the value goes: offsets into the struct of the nearest CONF_ITEMS above, else into
	// struct conf. At count stands the number of elements, or the upper end of a range.
	uint16_t offset, count;
	uint16_t size; // bytes of the field, or of one element
	uint32_t min, max; // bounds of a number, of a text's bytes, or of a list's elements
	const struct conf_choice *choices;
	const char *def; // default, as the file would spell it; NULL = none (zero, empty)
	const char *help;
};

// All keys of one kind of file; parents come before their keys.
struct conf_table {
	const struct conf_key *key;
	unsigned int nb;
};

extern const struct conf_table conf_file_keys; // the configuration
extern const struct conf_table conf_driver_keys; // drivers.c: a driver profile
extern const struct conf_choice conf_steering_choices[];

// The part of key's path that is its name under parent (NULL: the file itself). NULL when key is
// not directly below parent.
const char *conf_key_leaf(const struct conf_key *parent, const struct conf_key *key);
// The key called name directly under parent, or NULL.
const struct conf_key *conf_key_child(
	const struct conf_table *t, const struct conf_key *parent, const char *name);
// Writes advice on an unknown key to buf, as words for an error. Returns the known key that name
// nearly is, or NULL.
const char *conf_key_suggest(const struct conf_ctx *x, const struct conf_key *parent,
	const char *name, char *buf, size_t len);

// --- coturn.c ------------------------------------------------------------------------------------

// Writes what to use instead of a key of coturn to buf, as words for an error. False when name is
// no key of coturn.
bool conf_coturn_key(const char *name, char *buf, size_t len);
// The number of the first line with content when that line belongs to a turnserver.conf; else 0.
size_t conf_coturn_line(const char *text, size_t len);

// --- problem.c -----------------------------------------------------------------------------------

#define CONF_ERRORS_MAX 20 // errors of one file, after which reading ends

// Tells x->report "FILE:LINE:COL: key.path: reason", and keeps it in x->error when it is the first
// error. Returns -EINVAL. at NULL means the file itself. A reason never quotes a value that may be
// a secret.
int conf_fail(struct conf_ctx *x, const struct conf_node *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
// The same for a key that is missing; the place is that of the mapping that lacks it.
int conf_fail_key(struct conf_ctx *x, const struct conf_node *map, const char *key, const char *fmt,
	...) __attribute__((format(printf, 4, 5)));
// The same for a key that must not be there. The place is that of the key, which is shown as name.
int conf_fail_unknown(struct conf_ctx *x, const struct conf_node *n, const char *name,
	const char *fmt, ...) __attribute__((format(printf, 4, 5)));
// Tells that memory ran out, and lets no further error follow. Returns -EINVAL.
int conf_fail_memory(struct conf_ctx *x);
// The same as conf_fail where there is no tree yet.
int conf_fail_yaml(struct conf_ctx *x, size_t line, size_t col, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
// True when there have been so many errors that nobody looks for more.
bool conf_enough(const struct conf_ctx *x);

// True when the node lies where passwords are written (auth).
bool conf_in_auth(const struct conf_node *n);

// The node that element index of a field was read from; NULL when the value is a default.
const struct conf_node *conf_node_of(
	const struct conf_node *root, const void *field, uint32_t index);

// --- conf.c --------------------------------------------------------------------------------------

// Reads x->path into x->root, and that into base by x->keys. 0 or -EINVAL. In either case the
// caller frees the tree with conf_yaml_free, and what base holds with conf_free_keys.
int conf_read_file(struct conf_ctx *x, void *base);
void conf_free_keys(const struct conf_table *t, const struct conf_key *parent, void *base);

// --- values.c, addrs.c ---------------------------------------------------------------------------

// Reads one value (of any type but CONF_SECTION and CONF_ITEMS) into base. 0 or -EINVAL.
int conf_value_read(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
// What the file must have in place of a value of this type, in words for errors and the manual.
const char *conf_value_form(enum conf_type type);
// The kind of node that a value of this type is written as.
enum conf_kind conf_value_kind(enum conf_type type);
// True for a scalar that is left empty or is YAML's null.
bool conf_value_none(const struct conf_node *n);
// Makes room for n more elements of a list, zeroes them, and records that node was read into them.
// Returns the first of them, or NULL with x->error set.
void *conf_list_grow(struct conf_ctx *x, const struct conf_key *k, struct conf_node *node,
	void *base, uint32_t n);
// A scalar as an error may quote it: cut short, and printable. Never call it for a secret.
#define CONF_SHOWN_LEN 48
const char *conf_shown(const struct conf_node *n, char buf[CONF_SHOWN_LEN]);

// Each reads one scalar, or one item of a list, of an address type into base. 0 or -EINVAL.
int conf_read_addr(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
int conf_read_addrs(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
int conf_read_port_addrs(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
int conf_read_nat64(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
int conf_read_prefixes(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);

// Reads one item of a list of services (exception_keys.c). 0 or -EINVAL.
int conf_read_services(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);

// The prefix of len bits (of the 128-bit form) that address a lies in.
struct prefix conf_prefix_of(const struct addr *a, uint8_t len);

// Reads a number of decimal digits only: YAML's octal, hexadecimal and base 60 numbers surprise.
bool conf_parse_decimal(const char *text, size_t len, uint32_t *value);

// --- warn.c, reach.c -----------------------------------------------------------------------------

#define CONF_WARNINGS_MAX 50 // warnings on lists, after which nobody looks for more
static inline bool conf_warned(const struct conf_report *r)
{
	return r->nb[CONF_WARNING] >= CONF_WARNINGS_MAX;
}
void conf_warn_ports(const struct conf *c, struct conf_report *r);
void conf_warn_peers(const struct conf *c, struct conf_report *r);

// --- validate.c, ports.c, exception.c ------------------------------------------------------------

// Checks what one key alone cannot tell, and gathers turn.local and turn.gateways. 0 or -EINVAL.
// The other two are its parts.
int conf_validate(struct conf_ctx *x);
int conf_validate_ports(struct conf_ctx *x);
int conf_validate_exceptions(struct conf_ctx *x);
// True when a device string can be one of DPDK's or ours. Else reason says what to write instead.
bool conf_device_check(const char *device, char *reason, size_t len);
// True when a listener before listener i has the same address and port, for another transport.
bool conf_listener_again(const struct turn_config *t, uint32_t i);
