// SPDX-License-Identifier: BSD-3-Clause
// bpf(2) for the ports whose frames programs in the kernel judge. What it makes is a descriptor and
// ends with the process. Private to lib/port.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <linux/bpf.h>

// Loads a program; name, of at most 15 characters, is what bpftool shows. A descriptor of it, or
// -errno: -EPERM without CAP_BPF (of programs at an interface also CAP_NET_ADMIN), -E2BIG where it
// is too long for the kernel, or computes where it looks and CAP_PERFMON is missing.
int bpf_sys_load(
	enum bpf_prog_type type, const char *name, const struct bpf_insn *code, uint32_t nb);
// Makes memory that programs and this process share: an array map of one value (Linux 5.5), zero.
// A descriptor that programs name it by, with *memory to be unmapped (munmap(2), bytes), or -errno.
int bpf_sys_share(size_t bytes, void **memory);
// Writes the ids of the programs that are attached to an interface, the first one first. How many,
// or -errno: -EPERM without CAP_NET_ADMIN, -ENOENT where there are none.
int bpf_sys_attached(int index, uint32_t type, uint32_t *id, uint32_t max);
// The name of a program, maybe empty. 0 or -errno: -EPERM without CAP_SYS_ADMIN.
int bpf_sys_name(uint32_t id, char name[BPF_OBJ_NAME_LEN]);
