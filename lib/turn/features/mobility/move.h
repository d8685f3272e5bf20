// SPDX-License-Identifier: BSD-3-Clause
// Handles MOBILITY-TICKET in Allocate and Refresh (RFC 8016 3.1, 3.2).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn_refusal.h"

struct turn_request;

// A part of struct turn_request.
struct move_ask {
	uint32_t ticket; // serial of the ticket of a Refresh, 0 = no ticket
};

// Checks the MOBILITY-TICKET of an Allocate: TURN_GRANTED if it is empty and tickets are enabled.
enum turn_refusal move_wanted(const struct turn_request *r);
// Gives the new allocation of an Allocate with a MOBILITY-TICKET a ticket. Call it for the first
// half of a dual allocation, before the other is made.
void move_made(const struct turn_request *r, uint32_t slot);
// Appends the last ticket of a slot's allocation, if that may move.
void move_put_ticket(struct turn_request *r, uint32_t slot);

// Finds the allocation of a Refresh's ticket; the request is signed. r->slot becomes that of the
// allocation, whatever 5-tuple the client uses, or the request is handed over to the worker that
// has the allocation. Changes nothing else.
enum turn_refusal move_find(struct turn_request *r);
// Carries out the ticket of a Refresh, before the rest of the request: the client's 5-tuple becomes
// the path of the allocation, if it is not its own, and the answer gets a new ticket. ends: the
// Refresh ends all allocations of the client.
enum turn_refusal move_begin(struct turn_request *r, bool ends);
