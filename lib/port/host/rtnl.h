// SPDX-License-Identifier: BSD-3-Clause
// rtnetlink about one interface behind a port. Private to lib/port.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "addr.h"

struct mnl_socket;
struct nlmsghdr;
struct port;

#define RTNL_MESSAGE_LEN 1024 // bytes; our longest message has some 100
#define RTNL_ANSWER_LEN 32768 // bytes; a link with all its attributes

struct rtnl {
	const struct port *port;
	const char *interface; // its name; the configuration's
	const char *netns;
	uint32_t metric; // of routes
	struct mnl_socket *socket;
	int fd; // descriptor that is not the socket's yet
	int error; // errno of opening it
	unsigned int seq;
	int index; // the interface's index, once an answer about it has come
	char *reason; // of the operation under way: where its failure is told
	size_t reason_len;
	char buf[RTNL_MESSAGE_LEN], answer[RTNL_ANSWER_LEN];
};

// Opens a socket in the namespace of the interface. It stays there, so that whoever has it needs no
// right to enter the namespace again. 0, or -1 with the reason told. Management lcore, as all here.
int rtnl_open(struct rtnl *s);
void rtnl_close(struct rtnl *s);
// Begins a request in the session's buffer; flags beside those that all have.
struct nlmsghdr *rtnl_begin(struct rtnl *s, uint16_t type, uint16_t flags);
// Sends a request and waits for the answer: 0 or the kernel's -errno.
int rtnl_ask(struct rtnl *s, const struct nlmsghdr *n);
// Adds an address as an attribute of its family's length.
void rtnl_put_addr(struct nlmsghdr *n, uint16_t type, const struct addr *a);
// Tells the reason of -errno. Always -1.
__attribute__((format(printf, 3, 4))) int rtnl_fail(struct rtnl *s, int rc, const char *fmt, ...);
