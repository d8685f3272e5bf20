// SPDX-License-Identifier: BSD-3-Clause
// Conversion between endpoints and the kernel's socket addresses. Private to lib/stream.
#pragma once

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "addr.h"

union sockaddr_any {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

// Writes an endpoint to *a and returns the length of that.
static inline socklen_t sockaddr_of(const struct endpoint *e, union sockaddr_any *a)
{
	*a = (union sockaddr_any){0};
	if (addr_is_v4(&e->addr)) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons(e->port);
		memcpy(&a->v4.sin_addr, &e->addr.b[12], 4);
		return sizeof(a->v4);
	}
	a->v6.sin6_family = AF_INET6;
	a->v6.sin6_port = htons(e->port);
	memcpy(&a->v6.sin6_addr, e->addr.b, 16);
	return sizeof(a->v6);
}

static inline struct endpoint sockaddr_endpoint(const union sockaddr_any *a)
{
	if (a->any.sa_family == AF_INET)
		return (struct endpoint){addr_from_v4(&a->v4.sin_addr), ntohs(a->v4.sin_port)};
	return (struct endpoint){addr_from_v6(&a->v6.sin6_addr), ntohs(a->v6.sin6_port)};
}
