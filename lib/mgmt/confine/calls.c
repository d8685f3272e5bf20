// SPDX-License-Identifier: BSD-3-Clause
// Makes filters of system calls: libseccomp makes the kernel's program of lists of numbers.
#include "confine/calls.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// --- lists ---------------------------------------------------------------------------------------

// clang-format off
// Calls for waiting, reading the time, ending the thread and signals. A crash report needs write,
// too. EAL starts a worker and learns of its end by pipes, which are read and written.
static const int of_workers[] = {
	SYS_read, SYS_write, SYS_futex, SYS_nanosleep, SYS_clock_nanosleep, SYS_clock_gettime,
	SYS_gettimeofday, SYS_getcpu, SYS_sched_yield, SYS_restart_syscall, SYS_getpid, SYS_gettid,
	SYS_tgkill, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack,
	SYS_rt_tgsigqueueinfo, SYS_lseek, SYS_fsync, SYS_exit, SYS_exit_group,
	// OpenSSL's memory; SYS_mmap and SYS_mprotect have rules for their arguments
	SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_getrandom,
	// for a crash report, which has a time limit
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

// Libraries may try to open a file, but work without it: the filter returns ENOENT.
static const int missing[] = {SYS_openat};

static const int never[] = {
	SYS_execve, SYS_execveat, SYS_process_vm_readv, SYS_process_vm_writev,
	SYS_setns, SYS_unshare, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot,
	SYS_perf_event_open, SYS_userfaultfd, SYS_init_module, SYS_finit_module, SYS_delete_module,
	SYS_kexec_load, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct, SYS_quotactl,
	SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_sethostname,
	SYS_setdomainname, SYS_add_key, SYS_request_key, SYS_keyctl, SYS_personality, SYS_syslog,
	SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_mknodat, SYS_vhangup, SYS_nfsservctl,
	SYS_lookup_dcookie, SYS_kcmp, SYS_io_uring_setup, SYS_open_tree, SYS_move_mount, SYS_fsopen,
	SYS_fsmount, SYS_pidfd_getfd,
#ifndef __SANITIZE_ADDRESS__ // the sanitizer looks for leaks at exit by tracing the threads
	SYS_ptrace,
#endif
#ifdef __x86_64__
	SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_kexec_file_load, SYS_fork, SYS_vfork, SYS_mknod,
#endif
};
// clang-format on

// --- the program ---------------------------------------------------------------------------------

// A filter while it is made. error is that of the first rule that failed.
struct filter {
	scmp_filter_ctx ctx;
	int error;
};

// Adds a rule: the action for a system call. If nb is 1, the rule applies only if the argument
// matches. If the call already has a rule without an argument, that rule stays in force.
static void add_rule(
	struct filter *f, uint32_t action, int call, unsigned int nb, struct scmp_arg_cmp arg)
{
	const int rc = seccomp_rule_add_array(f->ctx, action, call, nb, &arg);

	if (rc != 0 && rc != -EEXIST && f->error == 0)
		f->error = rc;
}

static void add_list(struct filter *f, uint32_t action, const int *list, size_t nb)
{
	for (size_t i = 0; i < nb; i++)
		add_rule(f, action, list[i], 0, (struct scmp_arg_cmp){0});
}

#define ADD_LIST(f, action, list) add_list(f, action, list, sizeof(list) / sizeof((list)[0]))

// Allows a call if the low 32 bits of its argument n have a value under a mask: the kernel compares
// only these bits.
static void allow_masked(struct filter *f, int call, unsigned int n, uint32_t mask, uint32_t value)
{
	add_rule(f, SCMP_ACT_ALLOW, call, 1,
		(struct scmp_arg_cmp){n, SCMP_CMP_MASKED_EQ, mask, value});
}

// Adds the rules of a thread that may make all calls of a server.
static void add_wide_rules(struct filter *f, uint32_t refuse, bool links)
{
	ADD_LIST(f, refuse, never);
	// A packet port may have to put its program before other programs again. It uses the
	// program's descriptor for that.
	if (links)
		add_rule(f, refuse, SYS_bpf, 1, SCMP_A0(SCMP_CMP_NE, BPF_LINK_CREATE));
	else
		add_rule(f, refuse, SYS_bpf, 0, (struct scmp_arg_cmp){0});
}

static void add_port_rules(struct filter *f, unsigned int kinds)
{
	if ((kinds & (CALLS_VTAP | CALLS_TAP)) != 0)
		ADD_LIST(f, SCMP_ACT_ALLOW, of_vtaps);
	if ((kinds & CALLS_PACKET) != 0)
		ADD_LIST(f, SCMP_ACT_ALLOW, of_packets);
	if ((kinds & CALLS_SOCKET) != 0)
		ADD_LIST(f, SCMP_ACT_ALLOW, of_sockets);
}

// The rules of a worker or a stream thread.
static void add_narrow_rules(struct filter *f, enum calls_role role, unsigned int kinds)
{
	if (role == CALLS_WORKER)
		add_port_rules(f, kinds);
	ADD_LIST(f, SCMP_ACT_ALLOW, of_workers);
	if (role == CALLS_STREAM) {
		ADD_LIST(f, SCMP_ACT_ALLOW, of_streams);
		ADD_LIST(f, SCMP_ACT_ERRNO(ENOENT), missing);
	}
	// memory that is no code
	allow_masked(f, SYS_mmap, 2, PROT_EXEC, 0);
	allow_masked(f, SYS_mprotect, 2, PROT_EXEC, 0);
	// A thread that begins sets the slack of its timers and its own time slice (prompt_wakes),
	// perhaps after it got its filter. A crash report reads the thread's name.
	allow_masked(f, SYS_prctl, 0, UINT32_MAX, PR_SET_TIMERSLACK);
	allow_masked(f, SYS_prctl, 0, UINT32_MAX, PR_GET_NAME);
	allow_masked(f, SYS_sched_getattr, 0, UINT32_MAX, 0);
	allow_masked(f, SYS_sched_setattr, 0, UINT32_MAX, 0);
}

// Copies the program out of libseccomp, which writes it to a file. 0 or -errno.
static int export_code(scmp_filter_ctx ctx, struct calls *c)
{
	const int fd = memfd_create("calls", MFD_CLOEXEC);
	ssize_t len;
	int rc;

	if (fd < 0)
		return -errno;
	rc = seccomp_export_bpf(ctx, fd);
	len = rc == 0 ? pread(fd, c->code, sizeof(c->code), 0) : 0;
	if (len < 0)
		rc = -errno;
	else if (len == sizeof(c->code))
		rc = -E2BIG;
	c->nb = (unsigned short)(len > 0 ? (size_t)len / sizeof(c->code[0]) : 0);
	close(fd);
	return rc;
}

int calls_make(struct calls *c, enum calls_role role, unsigned int kinds, bool kill)
{
	const uint32_t refuse = kill ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_ERRNO(EPERM);
	const bool wide =
		role == CALLS_OTHER || (role == CALLS_WORKER && (kinds & CALLS_DRIVER) != 0);
	struct filter f = {.ctx = seccomp_init(wide ? SCMP_ACT_ALLOW : refuse)};

	if (f.ctx == NULL)
		return -ENOMEM;
	f.error = seccomp_attr_set(f.ctx, SCMP_FLTATR_ACT_BADARCH, refuse);
	if (wide)
		add_wide_rules(&f, refuse, role == CALLS_OTHER && (kinds & CALLS_PACKET) != 0);
	else
		add_narrow_rules(&f, role, kinds);
	if (f.error == 0)
		f.error = export_code(f.ctx, c);
	seccomp_release(f.ctx);
	return f.error;
}

int calls_apply(const struct calls *c)
{
	const struct sock_fprog program = {.len = c->nb, .filter = (struct sock_filter *)c->code};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_LOG, &program) == 0)
		return 0;
	return -errno;
}
