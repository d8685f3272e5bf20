// SPDX-License-Identifier: BSD-3-Clause
// The block commands of the control socket.
#include "block/block_orders.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "answers/shown.h"
#include "block/block.h"
#include "dp_realms.h"
#include "log/log.h"
#include "reload/in_use.h"
#include "socket/fields.h"
#include "turn_blocks.h"

#define FOR_MAX 315360000 // ten years

static json_t *shown_block(const struct block *b)
{
	const uint64_t now_s = (uint64_t)time(NULL);
	json_t *o = json_object();
	char text[BLOCK_TEXT_LEN];

	if (b->user != NULL) {
		json_object_set_new(o, "user", shown_text(b->user));
		json_object_set_new(o, "realm", shown_text(b->realm));
	} else {
		json_object_set_new(o, "address", json_string(block_prefix_text(&b->prefix, text)));
	}
	json_object_set_new(o, "until", b->until_s != 0 ? shown_number(b->until_s) : json_null());
	json_object_set_new(o, "left",
		b->until_s != 0 ? shown_number(b->until_s > now_s ? b->until_s - now_s : 0)
				: json_null());
	json_object_set_new(o, "why", shown_text(b->reason));
	return o;
}

// --- whom ----------------------------------------------------------------------------------------

// True if a prefix contains the address, which *ours becomes then. :: is no address.
static bool holds_address(const struct prefix *p, const struct addr *a, struct addr *ours)
{
	static const struct addr none;

	if (addr_eq(a, &none) || !addr_prefix_contains(p, a))
		return false;
	*ours = *a;
	return true;
}

// Finds our address in a prefix. False if it contains no such address.
static bool find_own(const struct conf *c, const struct prefix *p, struct addr *ours)
{
	bool found = false;

	in_use_read();
	for (uint32_t i = 0; i < c->turn.nb_local && !found; i++)
		found = holds_address(p, &c->turn.local[i].addr, ours);
	for (uint32_t i = 0; i < c->turn.nb_listeners && !found; i++)
		found = holds_address(p, &c->turn.listeners[i].endpoint.addr, ours);
	for (uint32_t i = 0; i < c->nb_ports; i++)
		for (uint32_t k = 0; k < c->ports[i].nb_addresses && !found; k++)
			found = holds_address(p, &c->ports[i].addresses[k].external, ours);
	in_use_done();
	return found;
}

// Reads the address to block or unblock.
static bool read_address(struct command *c, struct block *b)
{
	const char *text = json_string_value(json_object_get(c->in, "address"));
	char address_text[ADDR_TEXT_LEN];
	struct addr ours;

	if (text == NULL || !block_prefix_read(text, &b->prefix)) {
		commands_refuse(c, "address: must be an address or prefix, such as 192.0.2.0/24");
		return false;
	}
	if (!find_own(c->control->conf, &b->prefix, &ours))
		return true;
	commands_refuse(c, "address: %s is this server's own: give a longer prefix",
		addr_format(&ours, address_text, sizeof(address_text)));
	return false;
}

// Reads whom an order names: an address, or a user with a realm if there are several.
static bool read_whom(struct command *c, struct block *b, char user[FIELDS_NAME_LEN])
{
	const bool has_address = json_object_get(c->in, "address") != NULL;
	bool has_user, in_realm;

	if (!fields_name(c, &has_user, user) || !fields_realm(c, &in_realm, &b->filter.realm))
		return false;
	if (has_address == has_user || (has_address && in_realm)) {
		commands_refuse(c, "say whom: an address, or a user");
		return false;
	}
	if (has_address)
		return read_address(c, b);
	b->user = user;
	if (!fields_whose(c, in_realm))
		return false;
	b->realm = dp_realm_name(c->control->dp, b->filter.realm);
	if (dp_filter_user(c->control->dp, c->control->crypto, user, &b->filter))
		return true;
	commands_refuse(c, "user: libcrypto failed");
	return false;
}

// --- orders --------------------------------------------------------------------------------------

// Reads the end and the reason.
static bool read_terms(struct command *c, struct block *b)
{
	const struct fields_range range = {0, FOR_MAX};
	const json_t *reason = json_object_get(c->in, "why");
	uint64_t seconds = 0;

	b->reason = reason != NULL ? json_string_value(reason) : "";
	if (b->reason == NULL || strlen(b->reason) >= BLOCK_REASON_LEN) {
		commands_refuse(c, "why: must be a text of %d bytes at most", BLOCK_REASON_LEN - 1);
		return false;
	}
	if (!fields_number(c, "for", &range, &seconds))
		return false;
	b->until_s = seconds > 0 ? (uint64_t)time(NULL) + seconds : 0;
	return true;
}

// Logs an order and its sender.
static void tell_order(const struct command *c, const char *result)
{
	char *order = commands_order(c);

	LOG(CONTROL, NOTICE, "%s by order %s", result, order != NULL ? order : "no memory");
	free(order);
}

enum command_end block_orders_block(struct command *c)
{
	struct block b = {0};
	enum block_put rc;
	char user[FIELDS_NAME_LEN];

	if (!read_whom(c, &b, user) || !read_terms(c, &b))
		return COMMAND_REFUSED;
	rc = mgmt_blocks_put(c->control->blocks, &b);
	if (rc == BLOCK_FULL)
		return commands_refuse(c,
			"%d addresses and users, or %d users, are blocked: unblock some, block a "
			"network, or use clients.deny",
			BLOCK_SET_MAX, TURN_BLOCKED_USERS_MAX);
	if (rc == BLOCK_NO_MEMORY)
		return commands_refuse(c, "no memory");
	tell_order(c, rc == BLOCK_NEW ? "blocked" : "blocked again");
	json_object_set_new(c->out, "block", shown_block(&b));
	json_object_set_new(c->out, "new", json_boolean(rc == BLOCK_NEW));
	return COMMAND_DONE;
}

enum command_end block_orders_unblock(struct command *c)
{
	struct block b = {.reason = ""};
	char user[FIELDS_NAME_LEN];
	bool removed;

	if (!read_whom(c, &b, user))
		return COMMAND_REFUSED;
	removed = mgmt_blocks_remove(c->control->blocks, &b);
	if (removed)
		tell_order(c, "unblocked");
	json_object_set_new(c->out, "unblocked", json_boolean(removed));
	return COMMAND_DONE;
}

static void add_row(void *ctx, const struct block *b)
{
	json_array_append_new(ctx, shown_block(b));
}

enum command_end block_orders_list(struct command *c)
{
	unsigned int page, rows;
	json_t *list = json_array();
	uint32_t nb;

	json_object_set_new(c->out, "rows", list);
	if (!fields_page(c, &page, &rows))
		return COMMAND_REFUSED;
	nb = page > BLOCK_SET_MAX
		? 0
		: mgmt_blocks_list(c->control->blocks, page * rows, rows, add_row, list);
	json_object_set_new(c->out, "blocked", shown_number(nb));
	if (nb > (uint64_t)(page + 1) * rows)
		json_object_set_new(c->out, "next", shown_number(page + 1));
	return COMMAND_DONE;
}
