// SPDX-License-Identifier: BSD-3-Clause
// The table of all keys, and functions that look up keys in it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conf_ctx;

enum conf_type {
	CONF_SECTION, // a mapping; its keys lie in the same struct
	CONF_ITEMS, // a list of mappings; each is one element of an array
	CONF_TEXT,
	CONF_TEXTS,
	CONF_NUMBER,
	CONF_SIZE, // bytes: a number, which K, M or G may follow
	CONF_BITS, // bits per second: a number, which k, M or G may follow; the field has kilobits
	CONF_TIME, // seconds: a number, which s, m, h or d may follow
	CONF_BOOL,
	CONF_CHOICE,
	CONF_ADDR,
	CONF_DSCP, // a number, or copy
	CONF_LISTEN_ADDR, // an address, or a word for all addresses, whose meaning goes to count
	CONF_RELAY_ADDRS, // CONF_ADDRS, or a word for all, whose meaning goes to conf.relay_on
	CONF_ADDRS, // single addresses, a-b and prefixes, expanded
	CONF_PORT_ADDRS, // each item is a CONF_PORT_RUN, or a mapping with the keys below
	CONF_PORT_RUN, // addr/len or a-b/len
	CONF_EXTERNAL, // a or a-b
	CONF_PREFIX, // one prefix, or one address
	CONF_PREFIXES, // single addresses, a-b and prefixes, as prefixes
	CONF_PREFIX_FILES, // names of files with prefixes
	CONF_NAT64, // prefixes of NAT64 translators
	CONF_PORT_RANGE, // lo-hi
	CONF_HEX, // into a struct stun_key
	CONF_SECRET_FILE, // a file's name; the field, which another key shares, gets its content
	CONF_SECRET_FILES, // a list of such names
	CONF_COMMAND, // a program and its arguments: a list, or one text split at spaces
	CONF_SERVICES, // tcp/22, tcp-to/179, udp/161, udp-to/53, icmp, icmp-to
};

struct conf_choice {
	const char *name; // NULL ends the list
	int value;
};

#define CONF_REQUIRED 1 // no default
#define CONF_WORD 2 // text that holds letters, digits and ._- only
#define CONF_OPAQUE 8 // text that the OpaqueString profile prepares (reading/opaque.h)
#define CONF_SHORT 4 // an entry of CONF_ITEMS may consist of the value of its first key
// The section of constants, after all other keys: the manual and the advice leave it out, and its
// names have dots.
#define CONF_HIDDEN 16
#define CONF_ALIKE 32 // a section whose keys all have one meaning: the manual has one row for them
#define CONF_TEST_CONSTANTS "test-constants"

struct conf_key {
	const char *path; // "ports[].name"
	enum conf_type type;
	uint8_t flags;
	// Target of the value: offsets into the struct of the nearest CONF_ITEMS above, else into
	// struct conf. count is the offset of the number of elements, or of the upper end of a
	// range.
	uint16_t offset, count;
	uint16_t size; // bytes of the field, or of one element
	// Path of another key: the keys below it are valid below this key, too. For a section,
	// offset and count are those of the two structs that contain these keys.
	const char *like;
	uint32_t min, max; // bounds of a number, of a text's bytes, or of a list's elements
	const struct conf_choice *choices;
	const char *def; // default, as the file would spell it; NULL = none (zero, empty)
	const char *absent; // effect of leaving the key out, if no value of the key has that effect
	const char *help;
};

// All keys of one kind of file, in one array or several. Parents precede their keys, and the keys
// below a parent are adjacent.
struct conf_table {
	const struct conf_key *key;
	unsigned int nb;
	const struct conf_table *more; // NULL for the last array
};

// Key number i of the table, or NULL if the table is shorter.
const struct conf_key *conf_schema_at(const struct conf_table *t, unsigned int i);

extern const struct conf_table conf_file_keys; // the configuration
extern const bool conf_test_constants; // true if this build accepts CONF_TEST_CONSTANTS in a file
extern const struct conf_choice conf_level_choices[]; // conf_log.c
// schema_choices.c
extern const struct conf_choice conf_include_choices[];
extern const struct conf_choice conf_idle_choices[];
extern const struct conf_choice conf_uso_choices[];
extern const struct conf_choice conf_steering_choices[];
extern const struct conf_choice conf_transport_choices[];
extern const struct conf_choice conf_binding_choices[];
extern const struct conf_choice conf_bond_choices[];
extern const struct conf_choice conf_tls_choices[];
extern const struct conf_choice conf_lower_choices[];
extern const struct conf_choice conf_family_choices[];
extern const struct conf_choice conf_peers_choices[];
extern const struct conf_choice conf_addresses_choices[];
extern const struct conf_choice conf_icmp_tell_choices[];
extern const struct conf_choice conf_rest_expiry_choices[];
extern const struct conf_choice conf_log_to_choices[];
extern const struct conf_choice conf_log_format_choices[];
extern const struct conf_choice conf_on_stop_choices[];
extern const struct conf_choice conf_seccomp_choices[];

// The name of a key in its section.
const char *conf_schema_name(const struct conf_key *key);
// Iterates over the keys directly under parent (NULL: the file itself): the first if key is NULL,
// else the one after key. NULL at the end.
const struct conf_key *conf_schema_next(
	const struct conf_table *t, const struct conf_key *parent, const struct conf_key *key);
// The key called name directly under parent, or NULL.
const struct conf_key *conf_schema_child(
	const struct conf_table *t, const struct conf_key *parent, const char *name);
// True if name, directly under parent, is a key of a feature that this build does not have. Writes
// that to buf.
bool conf_schema_is_absent(const struct conf_ctx *x, const struct conf_key *parent,
	const char *name, char *buf, size_t len);
// Writes advice on an unknown key to buf, as words for an error. Returns the known key that name
// resembles, or NULL.
const char *conf_schema_suggest(const struct conf_ctx *x, const struct conf_key *parent,
	const char *name, char *buf, size_t len);
