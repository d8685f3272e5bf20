// SPDX-License-Identifier: BSD-3-Clause
// rtnetlink requests for one interface behind a port. Private to lib/port.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "addr.h"

struct mnl_socket;
struct nlmsghdr;
struct port;

#define RTNL_MESSAGE_LEN 1024 // bytes; our longest message has about 100
#define RTNL_ANSWER_LEN 32768 // bytes; a link with all its attributes

struct rtnl {
	const struct port *port;
	const char *interface; // its name; owned by the configuration
	const char *netns;
	uint32_t metric; // metric of routes
	struct mnl_socket *socket;
	int fd; // descriptor not owned by the socket yet
	int error; // errno of opening it
	unsigned int seq;
	int index; // index of the interface, once the kernel has returned it
	char *reason; // buffer for the reason of a failure of the current operation
	size_t reason_len;
	char buf[RTNL_MESSAGE_LEN], answer[RTNL_ANSWER_LEN];
};

// Opens a socket in the network namespace of the interface. It stays there, so later requests need
// no privilege to enter the namespace. Returns 0, or -1 with the reason reported. Management lcore,
// like all functions here.
int rtnl_open(struct rtnl *s);
void rtnl_close(struct rtnl *s);
// Begins a request in s->buf; flags are added to the common ones.
struct nlmsghdr *rtnl_begin(struct rtnl *s, uint16_t type, uint16_t flags);
// Sends a request and waits for the answer: 0 or the kernel's -errno.
int rtnl_ask(struct rtnl *s, const struct nlmsghdr *n);
// Adds an address as an attribute of its family's length.
void rtnl_put_addr(struct nlmsghdr *n, uint16_t type, const struct addr *a);
// Reports the reason of -errno. Always returns -1.
__attribute__((format(printf, 3, 4))) int rtnl_fail(struct rtnl *s, int rc, const char *fmt, ...);
