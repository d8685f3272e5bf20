// SPDX-License-Identifier: BSD-3-Clause
// What MOBILITY-TICKET does in Allocate and Refresh (RFC 8016 3.1, 3.2).
#pragma once

#include "requests/request.h"

// Checks the MOBILITY-TICKET of an Allocate: TURN_GRANTED when there is none, or an empty one and
// tickets are given.
enum turn_refusal move_wanted(const struct turn_request *r);
// Appends the ticket that the allocation of a slot was given last, if it may move.
void move_put_ticket(struct turn_request *r, uint32_t slot);

// Finds the allocation of a Refresh's ticket; the request is signed. r->slot becomes that of the
// allocation, wherever the client has come from, or the request is to be handed over to the worker
// that has the allocation. Changes nothing else.
enum turn_refusal move_find(struct turn_request *r);
// Does what the ticket of a Refresh asks for, before the rest of it is done: the client's 5-tuple
// becomes the path of the allocation, if it is not its own, and the answer has another ticket.
// ends: the Refresh ends all allocations of the client.
enum turn_refusal move_begin(struct turn_request *r, bool ends);
