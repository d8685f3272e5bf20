// SPDX-License-Identifier: BSD-3-Clause
// bpf(2) for ports with programs in the kernel that filter or direct their frames. Programs and
// maps are descriptors and disappear with the process. Private to lib/port.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <linux/bpf.h>

// Loads a program; bpftool shows its name, of at most 15 characters. Returns a descriptor, or
// -errno: -EPERM without CAP_BPF (for programs at an interface also CAP_NET_ADMIN), -E2BIG if it is
// too long for the kernel, or if it uses computed addresses and CAP_PERFMON is missing.
int bpf_sys_load(
	enum bpf_prog_type type, const char *name, const struct bpf_insn *code, uint32_t nb);
// Makes zeroed memory shared by programs and this process: an array map of one value (Linux 5.5).
// Returns a descriptor for use in programs, and the mapping in *memory (unmap it with munmap(2)),
// or -errno.
int bpf_sys_share(size_t bytes, void **memory);
// Writes the ids of the programs attached to an interface, in order. Returns their number, or
// -errno: -EPERM without CAP_NET_ADMIN, -ENOENT if there are no programs.
int bpf_sys_attached(int index, uint32_t type, uint32_t *id, uint32_t max);
// Reads the name of a program, which may be empty. Returns 0 or -errno: -EPERM without
// CAP_SYS_ADMIN.
int bpf_sys_name(uint32_t id, char name[BPF_OBJ_NAME_LEN]);
