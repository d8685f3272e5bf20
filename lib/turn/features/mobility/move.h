// SPDX-License-Identifier: BSD-3-Clause
// Handles MOBILITY-TICKET in Allocate and Refresh (RFC 8016 3.1, 3.2).
#pragma once

#include "requests/request.h"

// Checks the MOBILITY-TICKET of an Allocate: TURN_GRANTED if there is no such attribute, or if it
// is empty and tickets are enabled.
enum turn_refusal move_wanted(const struct turn_request *r);
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
