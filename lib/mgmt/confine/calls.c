// SPDX-License-Identifier: BSD-3-Clause
// Makes filters of system calls: lists of numbers become a program of the kernel's classic BPF.
#include "confine/calls.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define CALLS_END 0x40000000 // calls of x32 begin here
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#define CALLS_END 0
#else
#error "say which architecture this is"
#endif

// --- lists ---------------------------------------------------------------------------------------

// clang-format off
// Waiting, time, its own end, signals; write: also the report of a crash. The pipes by which EAL
// starts a worker and hears of its end are read and written.
static const int of_workers[] = {
	SYS_read, SYS_write, SYS_futex, SYS_nanosleep, SYS_clock_nanosleep, SYS_clock_gettime,
	SYS_gettimeofday, SYS_getcpu, SYS_sched_yield, SYS_restart_syscall, SYS_getpid, SYS_gettid,
	SYS_tgkill, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack,
	SYS_rt_tgsigqueueinfo, SYS_lseek, SYS_fsync, SYS_exit, SYS_exit_group,
	// OpenSSL's memory; SYS_mmap and SYS_mprotect are judged by what they ask for
	SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_getrandom,
	// a report of a crash, which has a time limit
	SYS_setitimer, SYS_pipe2, SYS_close,
	// a line of DPDK's, for instance of rte_panic, to standard error, journald or syslog
	SYS_ppoll, SYS_sendto, SYS_fstat, SYS_newfstatat,
#ifdef __x86_64__
	SYS_alarm, SYS_pause, SYS_poll,
#endif
#ifdef __SANITIZE_ADDRESS__
	SYS_openat, SYS_sched_getaffinity, SYS_readlinkat,
#endif
};

static const int of_vtaps[] = {SYS_readv, SYS_writev};

static const int of_packets[] = {SYS_sendmmsg, SYS_recvmsg};

static const int of_sockets[] = {
	SYS_sendto, SYS_recvfrom, SYS_sendmsg, SYS_recvmsg,
#ifdef SYS_poll
	SYS_poll,
#endif
};

static const int of_streams[] = {
	SYS_readv, SYS_writev, SYS_sendto, SYS_recvfrom, SYS_sendmsg, SYS_recvmsg, SYS_accept,
	SYS_accept4, SYS_shutdown, SYS_getsockopt, SYS_setsockopt, SYS_getsockname,
	SYS_getpeername, SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen, SYS_ioctl,
	SYS_fcntl, SYS_epoll_ctl, SYS_epoll_pwait, SYS_epoll_create1, SYS_eventfd2, SYS_sysinfo,
	SYS_sched_getaffinity, SYS_membarrier, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid,
	SYS_timerfd_settime,
#ifdef SYS_poll
	SYS_poll, SYS_epoll_wait,
#endif
};

// Libraries may want a file, and can do without: it is not there.
static const int missing[] = {SYS_openat};

static const int never[] = {
	SYS_execve, SYS_execveat, SYS_process_vm_readv, SYS_process_vm_writev,
	SYS_setns, SYS_unshare, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_bpf,
	SYS_perf_event_open, SYS_userfaultfd, SYS_init_module, SYS_finit_module, SYS_delete_module,
	SYS_kexec_load, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct, SYS_quotactl,
	SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_sethostname,
	SYS_setdomainname, SYS_add_key, SYS_request_key, SYS_keyctl, SYS_personality, SYS_syslog,
	SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_mknodat, SYS_vhangup, SYS_nfsservctl,
	SYS_lookup_dcookie, SYS_kcmp, SYS_io_uring_setup, SYS_open_tree, SYS_move_mount, SYS_fsopen,
	SYS_fsmount, SYS_pidfd_getfd,
#ifndef __SANITIZE_ADDRESS__ // at the end it looks for leaks by tracing its threads
	SYS_ptrace,
#endif
#ifdef __x86_64__
	SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_kexec_file_load, SYS_fork, SYS_vfork, SYS_mknod,
#endif
};
// clang-format on

// --- the program ---------------------------------------------------------------------------------

static void put_insn(struct calls *c, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	if (c->nb < CALLS_CODE_MAX)
		c->code[c->nb++] = (struct sock_filter){.code = code, .jt = yes, .jf = no, .k = k};
}

static void put_return(struct calls *c, uint32_t action)
{
	put_insn(c, BPF_RET | BPF_K, action, 0, 0);
}

// Each of the numbers ends in what.
static void put_list(struct calls *c, const int *list, size_t nb, uint32_t action)
{
	for (size_t i = 0; i < nb; i++) {
		put_insn(c, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)list[i], 0, 1);
		put_return(c, action);
	}
}

#define PUT_LIST(c, list, label) put_list(c, list, sizeof(list) / sizeof((list)[0]), label)

// A thread asks to be woken promptly when it begins (prompt_wakes), which may be later than its
// filter: the slack of its timers here, its own time slice below. A report of a crash has the name
// of the thread.
static void put_prctl(struct calls *c)
{
	put_insn(c, BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 5);
	put_insn(c, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]), 0, 0);
	put_insn(c, BPF_JMP | BPF_JEQ | BPF_K, PR_SET_TIMERSLACK, 1, 0);
	put_insn(c, BPF_JMP | BPF_JEQ | BPF_K, PR_GET_NAME, 0, 1);
	put_return(c, SECCOMP_RET_ALLOW);
	put_insn(c, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
}

static void put_slice(struct calls *c)
{
	put_insn(c, BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_getattr, 1, 0);
	put_insn(c, BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setattr, 0, 4);
	put_insn(c, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]), 0, 0);
	put_insn(c, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
	put_return(c, SECCOMP_RET_ALLOW);
	put_insn(c, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
}

// A packet port puts its program before others again, which it does by its descriptor.
static void put_link(struct calls *c)
{
	put_insn(c, BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 4);
	put_insn(c, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]), 0, 0);
	put_insn(c, BPF_JMP | BPF_JEQ | BPF_K, BPF_LINK_CREATE, 0, 1);
	put_return(c, SECCOMP_RET_ALLOW);
	put_insn(c, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
}

// Memory that is no code.
static void put_memory(struct calls *c, int number, uint32_t refuse)
{
	put_insn(c, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 4);
	put_insn(c, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]), 0, 0);
	put_insn(c, BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1);
	put_return(c, refuse);
	put_return(c, SECCOMP_RET_ALLOW);
}

void calls_make(struct calls *c, enum calls_role role, unsigned int kinds, bool kill)
{
	const uint32_t refuse = kill ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
	const bool wide =
		role == CALLS_OTHER || (role == CALLS_WORKER && (kinds & CALLS_DRIVER) != 0);

	c->nb = 0;
	put_insn(c, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	put_insn(c, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	put_return(c, refuse);
	put_insn(c, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	if (CALLS_END != 0) {
		put_insn(c, BPF_JMP | BPF_JGE | BPF_K, CALLS_END, 0, 1);
		put_return(c, refuse);
	}
	if (role == CALLS_OTHER && (kinds & CALLS_PACKET) != 0)
		put_link(c);
	if (wide) {
		PUT_LIST(c, never, refuse);
		put_return(c, SECCOMP_RET_ALLOW);
		return;
	}
	if (role == CALLS_WORKER && (kinds & (CALLS_VTAP | CALLS_TAP)) != 0)
		PUT_LIST(c, of_vtaps, SECCOMP_RET_ALLOW);
	if (role == CALLS_WORKER && (kinds & CALLS_PACKET) != 0)
		PUT_LIST(c, of_packets, SECCOMP_RET_ALLOW);
	if (role == CALLS_WORKER && (kinds & CALLS_SOCKET) != 0)
		PUT_LIST(c, of_sockets, SECCOMP_RET_ALLOW);
	PUT_LIST(c, of_workers, SECCOMP_RET_ALLOW);
	if (role == CALLS_STREAM) {
		PUT_LIST(c, of_streams, SECCOMP_RET_ALLOW);
		PUT_LIST(c, missing, SECCOMP_RET_ERRNO | ENOENT);
	}
	put_memory(c, SYS_mmap, refuse);
	put_memory(c, SYS_mprotect, refuse);
	put_prctl(c);
	put_slice(c);
	put_return(c, refuse);
}

int calls_apply(const struct calls *c)
{
	const struct sock_fprog program = {.len = c->nb, .filter = (struct sock_filter *)c->code};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_LOG, &program) == 0)
		return 0;
	return -errno;
}
