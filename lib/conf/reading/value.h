// SPDX-License-Identifier: BSD-3-Clause
// One value of the file, and the field that it goes into.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reading/node.h"
#include "schema.h"

#define CONF_SHOWN_LEN 48

// Reads one value (of any type except CONF_SECTION and CONF_ITEMS) into base. 0 or -EINVAL.
int conf_value_read(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
// The same for the default of a key that the file leaves out; n stands for what is missing.
int conf_value_read_default(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
#define CONF_VALUE_COMMAS ", " // between the elements of a list that is a default
// What the file must have in place of a value of this type, in words for errors and the manual.
const char *conf_value_form(enum conf_type type);
// The kind of node that a value of this type is written as.
enum conf_kind conf_value_kind(enum conf_type type);
// True when a node of this kind can be a value of the type.
bool conf_value_fits(enum conf_type type, enum conf_kind kind);
// True for a scalar that is left empty or is YAML's null.
bool conf_value_none(const struct conf_node *n);
// Makes room for n more elements of a list, zeroes them, and records that node was read into them.
// Returns the first of them, or NULL with x->error set.
void *conf_value_grow(struct conf_ctx *x, const struct conf_key *k, struct conf_node *node,
	void *base, uint32_t n);
// Gives a field, or an element of a list, a copy of the text of a node. Fails where it has one.
// 0 or -EINVAL.
int conf_value_set_text(struct conf_ctx *x, const struct conf_node *n, char **field);
// A scalar as an error may quote it: cut short, and printable. Never call it for a secret.
const char *conf_value_shown(const struct conf_node *n, char buf[CONF_SHOWN_LEN]);
// The seconds of a unit of time: s, m, h or d; 0 for what is none.
uint32_t conf_value_unit(char unit);
// Reads bits a second, a number or one with k, M or G of 1000 behind it, as bits. False when text
// is none.
bool conf_value_bits(const char *text, uint64_t *bits);
// Reads a number of decimal digits only: YAML's octal, hexadecimal and base 60 numbers surprise.
bool conf_value_decimal(const char *text, size_t len, uint32_t *value);
