// SPDX-License-Identifier: BSD-3-Clause
// Tries the TCP ports of listeners like the start, without listening, and looks for the program
// that uses one.
#include "check_taken.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTENS 0x0a // state of a socket in /proc/net/tcp
#define OWN "slipring"
#define INODES_MAX 64 // listening sockets of one port

// --- the port ------------------------------------------------------------------------------------

// True if an address and port cannot be bound, because another socket uses it.
static bool is_taken(const struct endpoint *endpoint)
{
	const bool v4 = addr_is_v4(&endpoint->addr);
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(endpoint->port)};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(endpoint->port)};
	const int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	bool taken;

	if (fd < 0)
		return false;
	memcpy(&in.sin_addr, endpoint->addr.b + 12, 4);
	memcpy(&v6.sin6_addr, endpoint->addr.b, 16);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on));
	taken = (v4 ? bind(fd, (struct sockaddr *)(void *)&in, sizeof(in))
		    : bind(fd, (struct sockaddr *)(void *)&v6, sizeof(v6))) != 0 &&
		errno == EADDRINUSE;
	close(fd);
	return taken;
}

// --- the program ---------------------------------------------------------------------------------

struct inodes {
	unsigned long list[INODES_MAX];
	unsigned int nb;
};

// Adds the sockets that listen on a port, from a file of /proc/net.
static void find_sockets(const char *path, unsigned int port, struct inodes *found)
{
	FILE *f = fopen(path, "re");
	char line[512];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		unsigned int local_port, state;
		unsigned long inode;

		if (sscanf(line,
			    " %*u: %*[0-9A-Fa-f]:%4x %*[0-9A-Fa-f]:%*x %2x %*s %*s %*s %*u %*u %lu",
			    &local_port, &state, &inode) == 3 &&
			local_port == port && state == LISTENS && found->nb < INODES_MAX)
			found->list[found->nb++] = inode;
	}
	if (f != NULL)
		fclose(f);
}

// True if a process has one of the sockets open.
static bool has_socket(const char *pid, const struct inodes *sockets)
{
	char path[64], target[64];
	const struct dirent *e;
	bool has = false;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	d = opendir(path);
	while (d != NULL && !has && (e = readdir(d)) != NULL) {
		const ssize_t n = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1);
		unsigned long inode;

		target[n > 0 ? n : 0] = '\0';
		if (sscanf(target, "socket:[%lu]", &inode) != 1)
			continue;
		for (unsigned int i = 0; i < sockets->nb; i++)
			has |= sockets->list[i] == inode;
	}
	if (d != NULL)
		closedir(d);
	return has;
}

// Writes the name of a process.
static void name_of(const char *pid, char name[32])
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
	f = fopen(path, "re");
	if (f == NULL || fgets(name, 32, f) == NULL)
		snprintf(name, 32, "?");
	if (f != NULL)
		fclose(f);
	name[strcspn(name, "\n")] = '\0';
}

// Finds a program that listens on a TCP port; false if it is not visible.
static bool find_program(unsigned int port, char name[32], char pid[16])
{
	struct inodes sockets = {.nb = 0};
	DIR *d = opendir("/proc");
	const struct dirent *e;
	bool found = false;

	find_sockets("/proc/net/tcp", port, &sockets);
	find_sockets("/proc/net/tcp6", port, &sockets);
	while (d != NULL && !found && (e = readdir(d)) != NULL) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9' || !has_socket(e->d_name, &sockets))
			continue;
		found = true;
		snprintf(pid, 16, "%.15s", e->d_name);
		name_of(pid, name);
	}
	if (d != NULL)
		closedir(d);
	return found;
}

// --- all -----------------------------------------------------------------------------------------

void check_taken(const struct conf *c, struct conf_report *r)
{
	char name[32], pid[16];

	// the ports of another namespace are unknown here
	for (uint32_t i = 0; i < c->turn.nb_listeners && c->streams.netns == NULL; i++) {
		const struct turn_listener *l = &c->turn.listeners[i];
		const struct conf_at place = {
			c, &c->turn.listeners[i].endpoint.port, 0, "listeners"};

		if (!turn_listener_is_stream(l) || !is_taken(&l->endpoint))
			continue;
		if (!find_program(l->endpoint.port, name, pid))
			conf_tell(r, CONF_WARNING, place,
				"a program of another user listens on TCP port %u: stop it, or "
				"choose another port (`ss -tlnp`)",
				l->endpoint.port);
		else if (strcmp(name, OWN) != 0)
			conf_tell(r, CONF_ERROR, place,
				"%s (pid %s) listens on TCP port %u: stop it, or choose another "
				"port (`ss -tlnp`)",
				name, pid, l->endpoint.port);
	}
}
