// SPDX-License-Identifier: BSD-3-Clause
// Reads one value of the file into one field.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reading/node.h"
#include "schema/schema.h"

#define CONF_SHOWN_LEN 48

// Reads one value (of any type except CONF_SECTION and CONF_ITEMS) into base. 0 or -EINVAL.
int conf_value_read(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
// Like conf_value_read, for the default of a key that the file leaves out; n represents the missing
// node.
int conf_value_read_default(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
#define CONF_VALUE_COMMAS ", " // between the elements of a list that is a default
// Describes a value of this type in words, for errors and the manual.
const char *conf_value_form(enum conf_type type);
// The kind of node for a value of this type.
enum conf_kind conf_value_kind(enum conf_type type);
// True when a node of this kind can be a value of the type.
bool conf_value_fits(enum conf_type type, enum conf_kind kind);
// True for a scalar that is left empty or is YAML's null.
bool conf_value_none(const struct conf_node *n);
// Appends n zeroed elements to a list, and records that node was read into them. Returns the first
// of them, or NULL with x->error set.
void *conf_value_grow(struct conf_ctx *x, const struct conf_key *k, struct conf_node *node,
	void *base, uint32_t n);
// Copies the text of a node to a field or an element of a list. Fails if that has a text already. 0
// or -EINVAL.
int conf_value_set_text(struct conf_ctx *x, const struct conf_node *n, char **field);
// Formats a scalar for quoting in an error: shortened and printable. Never call it for a secret.
const char *conf_value_shown(const struct conf_node *n, char buf[CONF_SHOWN_LEN]);
// The seconds of a unit of time: s, m, h or d; 0 for other characters.
uint32_t conf_value_unit(char unit);
// Parses bits per second: a number, which k, M or G may follow (powers of 1000). The result is in
// bits. False if text is malformed.
bool conf_value_bits(const char *text, uint64_t *bits);
// Parses a number of decimal digits only: YAML's octal, hexadecimal and base 60 numbers would
// surprise operators.
bool conf_value_decimal(const char *text, size_t len, uint32_t *value);
