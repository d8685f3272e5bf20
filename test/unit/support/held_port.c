// SPDX-License-Identifier: BSD-3-Clause
// Holds a free TCP port for a server that shares it.
#include <sys/socket.h>

#include "held_port.h"
#include "test.h"

int held_port(struct sockaddr_in *addr)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	socklen_t len = sizeof(*addr);

	*addr = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)addr, sizeof(*addr)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)addr, &len), 0);
	return fd;
}
