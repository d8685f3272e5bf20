// SPDX-License-Identifier: BSD-3-Clause
// bpf(2) by itself: three commands are no reason for a library.
#include "bpf/bpf_sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int bpf(int command, union bpf_attr *attr)
{
	const int fd = (int)syscall(SYS_bpf, command, attr, sizeof(*attr));

	return fd >= 0 ? fd : -errno;
}

int bpf_sys_load(
	enum bpf_prog_type type, const char *name, const struct bpf_insn *code, uint32_t nb)
{
	union bpf_attr load;

	memset(&load, 0, sizeof(load)); // the kernel wants holes to be zero, too
	load.prog_type = type;
	load.insns = (uintptr_t)code;
	load.insn_cnt = nb;
	load.license = (uintptr_t) "BSD";
	snprintf(load.prog_name, sizeof(load.prog_name), "%s", name);
	return bpf(BPF_PROG_LOAD, &load);
}

int bpf_sys_share(size_t bytes, void **memory)
{
	union bpf_attr map;
	int fd, rc;

	memset(&map, 0, sizeof(map));
	map.map_type = BPF_MAP_TYPE_ARRAY;
	map.key_size = sizeof(uint32_t);
	map.value_size = (uint32_t)bytes;
	map.max_entries = 1;
	map.map_flags = BPF_F_MMAPABLE;
	fd = bpf(BPF_MAP_CREATE, &map);
	if (fd < 0)
		return fd;
	*memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*memory != MAP_FAILED)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}
