// SPDX-License-Identifier: BSD-3-Clause
// Direct calls of bpf(2): a few commands do not need a library.
#include "bpf/bpf_sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int call_bpf(int command, union bpf_attr *attr)
{
	const int fd = (int)syscall(SYS_bpf, command, attr, sizeof(*attr));

	return fd >= 0 ? fd : -errno;
}

int bpf_sys_load(
	enum bpf_prog_type type, const char *name, const struct bpf_insn *code, uint32_t nb)
{
	union bpf_attr load;

	memset(&load, 0, sizeof(load)); // the kernel requires zero in padding, too
	load.prog_type = type;
	load.insns = (uintptr_t)code;
	load.insn_cnt = nb;
	load.license = (uintptr_t) "BSD";
	snprintf(load.prog_name, sizeof(load.prog_name), "%s", name);
	return call_bpf(BPF_PROG_LOAD, &load);
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
	fd = call_bpf(BPF_MAP_CREATE, &map);
	if (fd < 0)
		return fd;
	*memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*memory != MAP_FAILED)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

int bpf_sys_attached(int index, uint32_t type, uint32_t *id, uint32_t max)
{
	union bpf_attr query;
	int rc;

	memset(&query, 0, sizeof(query));
	query.query.target_fd = (uint32_t)index;
	query.query.attach_type = type;
	query.query.prog_ids = (uintptr_t)id;
	query.query.prog_cnt = max;
	rc = call_bpf(BPF_PROG_QUERY, &query);
	if (rc < 0 && rc != -ENOSPC) // there are more
		return rc;
	return (int)(query.query.prog_cnt < max ? query.query.prog_cnt : max);
}

int bpf_sys_name(uint32_t id, char name[BPF_OBJ_NAME_LEN])
{
	struct bpf_prog_info info;
	union bpf_attr attr;
	int fd, rc;

	memset(&attr, 0, sizeof(attr));
	attr.prog_id = id;
	fd = call_bpf(BPF_PROG_GET_FD_BY_ID, &attr);
	if (fd < 0)
		return fd;
	memset(&info, 0, sizeof(info));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	rc = call_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
	close(fd);
	snprintf(name, BPF_OBJ_NAME_LEN, "%s", info.name);
	return rc < 0 ? rc : 0;
}
