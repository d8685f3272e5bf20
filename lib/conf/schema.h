// SPDX-License-Identifier: BSD-3-Clause
// The one table of all keys, and how a key is found in it.
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
	CONF_SIZE, // bytes: a number, with K, M or G behind it
	CONF_BITS, // bits a second: a number, with k, M or G behind it; the field has kilobits
	CONF_TIME, // seconds: a number, with s, m, h or d behind it
	CONF_BOOL,
	CONF_CHOICE,
	CONF_ADDR,
	CONF_DSCP, // a number, or copy
	CONF_LISTEN_ADDR, // an address, or a word for all of them, which goes to count
	CONF_RELAY_ADDRS, // CONF_ADDRS, or a word for all of them, which goes to conf.relay_on
	CONF_ADDRS, // single addresses, a-b and prefixes, expanded
	CONF_PORT_ADDRS, // each item a CONF_PORT_RUN, or a mapping of the keys below
	CONF_PORT_RUN, // addr/len or a-b/len
	CONF_EXTERNAL, // a or a-b
	CONF_PREFIX, // one prefix, or one address
	CONF_PREFIXES, // single addresses, a-b and prefixes, as prefixes
	CONF_PREFIX_FILES, // names of files that hold them
	CONF_NAT64, // prefixes of NAT64 translators
	CONF_PORT_RANGE, // lo-hi
	CONF_HEX, // into a struct stun_key
	CONF_SECRET_FILE, // a file's name; the field gets what is in it, and is another key's, too
	CONF_SECRET_FILES, // a list of them
	CONF_COMMAND, // a program and its arguments: a list, or one text with blanks between them
	CONF_SERVICES, // tcp/22, tcp-to/179, udp/161, udp-to/53, icmp, icmp-to
};

struct conf_choice {
	const char *name; // NULL ends the list
	int value;
};

#define CONF_REQUIRED 1 // no default
#define CONF_WORD 2 // text that holds letters, digits and ._- only
#define CONF_OPAQUE 8 // text that is prepared by the OpaqueString profile (reading/opaque.h)
#define CONF_SHORT 4 // an entry of CONF_ITEMS may be the value of its first key alone
// The section of constants, behind all keys: no manual and no advice names it, and the names in it
// have dots.
#define CONF_HIDDEN 16
#define CONF_ALIKE 32 // a section whose keys all mean the same: the manual names them in one row
#define CONF_TEST_CONSTANTS "test-constants"

struct conf_key {
	const char *path; // "ports[].name"
	enum conf_type type;
	uint8_t flags;
	// Where the value goes: offsets into the struct of the nearest CONF_ITEMS above, else into
	// struct conf. At count stands the number of elements, or the upper end of a range.
	uint16_t offset, count;
	uint16_t size; // bytes of the field, or of one element
	// Path of another key: the keys below that one are those below this one, too. For a section
	// offset and count are those of the two structs that these keys lie in.
	const char *like;
	uint32_t min, max; // bounds of a number, of a text's bytes, or of a list's elements
	const struct conf_choice *choices;
	const char *def; // default, as the file would spell it; NULL = none (zero, empty)
	const char *absent; // what it means that the key is absent, where that is no value of it
	const char *help;
};

// All keys of one kind of file, in one array or several. Parents come before their keys, and what
// is below a parent stands together.
struct conf_table {
	const struct conf_key *key;
	unsigned int nb;
	const struct conf_table *more; // NULL = that was all
};

// Key number i of all; NULL when there are not so many.
const struct conf_key *conf_schema_at(const struct conf_table *t, unsigned int i);

extern const struct conf_table conf_file_keys; // the configuration
extern const bool conf_test_constants; // true if this build takes CONF_TEST_CONSTANTS in a file
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
extern const struct conf_choice conf_relay_choices[];
extern const struct conf_choice conf_lower_choices[];
extern const struct conf_choice conf_family_choices[];
extern const struct conf_choice conf_icmp_tell_choices[];
extern const struct conf_choice conf_rest_expiry_choices[];
extern const struct conf_choice conf_token_choices[];
extern const struct conf_choice conf_log_to_choices[];
extern const struct conf_choice conf_log_format_choices[];
extern const struct conf_choice conf_on_stop_choices[];
extern const struct conf_choice conf_seccomp_choices[];

// The name of a key in its section.
const char *conf_schema_name(const struct conf_key *key);
// The keys directly under parent (NULL: the file itself), one after the other: the first one with
// key NULL, else the one behind key. NULL when there is no more.
const struct conf_key *conf_schema_next(
	const struct conf_table *t, const struct conf_key *parent, const struct conf_key *key);
// The key called name directly under parent, or NULL.
const struct conf_key *conf_schema_child(
	const struct conf_table *t, const struct conf_key *parent, const char *name);
// Writes advice on an unknown key to buf, as words for an error. Returns the known key that name
// nearly is, or NULL.
const char *conf_schema_suggest(const struct conf_ctx *x, const struct conf_key *parent,
	const char *name, char *buf, size_t len);
