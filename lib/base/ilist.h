// SPDX-License-Identifier: BSD-3-Clause
// Doubly linked lists of elements of an array, linked by index: a link is 8 bytes. PURE; one thread
// at a time. <sys/queue.h> has lists that are linked by pointer.
//
// An element has a struct ilist_link for each list that it may be in. ILIST_LINKS says where the
// links are: ilist_append(&t->young, ILIST_LINKS(t->conn, by_age), i) links t->conn[i].by_age.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "invariant.h"

#define ILIST_NONE UINT32_MAX

struct ilist_link {
	uint32_t next, prev; // ILIST_NONE at the ends
};

struct ilist {
	uint32_t first, last; // ILIST_NONE: the list is empty
};

#define ILIST_EMPTY ((struct ilist){ILIST_NONE, ILIST_NONE})

// The links of the elements of an array: the link of element 0, and the bytes from one to the next.
struct ilist_links {
	void *link;
	size_t stride;
};

#define ILIST_LINKS(array, member) ((struct ilist_links){&(array)[0].member, sizeof((array)[0])})

static inline struct ilist_link *ilist_link(struct ilist_links s, uint32_t i)
{
	return (struct ilist_link *)((char *)s.link + i * s.stride);
}

// Returns the element after element i, or ILIST_NONE.
static inline uint32_t ilist_next(struct ilist_links s, uint32_t i)
{
	return ilist_link(s, i)->next;
}

// Appends an element whose link is not in use.
static inline void ilist_append(struct ilist *l, struct ilist_links s, uint32_t i)
{
	ASSERT((l->first == ILIST_NONE) == (l->last == ILIST_NONE));
	ASSERT(l->last == ILIST_NONE || ilist_link(s, l->last)->next == ILIST_NONE);
	ASSERT(l->last != i && l->first != i);
	*ilist_link(s, i) = (struct ilist_link){ILIST_NONE, l->last};
	*(l->last != ILIST_NONE ? &ilist_link(s, l->last)->next : &l->first) = i;
	l->last = i;
}

// Removes an element from its list.
static inline void ilist_remove(struct ilist *l, struct ilist_links s, uint32_t i)
{
	const struct ilist_link old = *ilist_link(s, i);

	ASSERT(old.prev != ILIST_NONE ? ilist_link(s, old.prev)->next == i : l->first == i);
	ASSERT(old.next != ILIST_NONE ? ilist_link(s, old.next)->prev == i : l->last == i);
	*(old.prev != ILIST_NONE ? &ilist_link(s, old.prev)->next : &l->first) = old.next;
	*(old.next != ILIST_NONE ? &ilist_link(s, old.next)->prev : &l->last) = old.prev;
}
