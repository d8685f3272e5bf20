// SPDX-License-Identifier: BSD-3-Clause
// Chooses the queue of a TAP that a frame goes to. Left alone, the kernel moves a flow to the queue
// that the flow's other direction was last sent on, and back after three seconds of silence. At
// each move, frames that wait in one queue are overtaken by frames in the other. Instead a BPF
// program (steer_program.c) chooses as a NIC does that has RSS and flow rules. So workers get what
// is theirs, and need not hand it over.
#include "vtap/vtap_steer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/if_tun.h>

#include "vtap/steer_program.h"
#include "vtap/steer_table.h"

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

// Makes a table that the kernel shares. Its descriptor or -errno.
static int make_table(struct steer_table **out)
{
	union bpf_attr map = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = sizeof(struct steer_table),
		.max_entries = 1,
		.map_flags = BPF_F_MMAPABLE,
	};
	const int fd = bpf(BPF_MAP_CREATE, &map);
	int rc;

	if (fd < 0)
		return -errno;
	*out = mmap(NULL, sizeof(**out), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*out != MAP_FAILED)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

// 0 or -errno. The interface holds the program then, and the program the table.
static int attach(int queue, int table)
{
	struct bpf_insn program[STEER_INSNS_MAX];
	union bpf_attr load = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)program,
		.insn_cnt = steer_program_make(program, table),
		.license = (uintptr_t) "BSD",
	};
	const int fd = bpf(BPF_PROG_LOAD, &load);
	int rc;

	if (fd < 0)
		return -errno;
	rc = ioctl(queue, TUNSETSTEERINGEBPF, &fd) == 0 ? 0 : -errno;
	close(fd);
	return rc;
}

static int take_key(struct port *p, const uint8_t *key)
{
	if (key != NULL)
		memcpy(p->rss_key, key, STEER_KEY);
	else if (getrandom(p->rss_key, STEER_KEY, 0) != STEER_KEY)
		return -errno;
	p->rss_key_len = STEER_KEY;
	return 0;
}

int vtap_steer_open(struct vtap_steer *s, int queue, struct port *p, const uint8_t *key)
{
	struct steer_table *table;
	int rc = take_key(p, key), fd;

	if (rc != 0)
		return rc;
	fd = make_table(&table);
	if (fd < 0)
		return fd;
	steer_table_init(table, p->rss_key, p->nb_rxq);
	rc = attach(queue, fd);
	close(fd);
	if (rc != 0) {
		munmap(table, sizeof(*table));
		return rc;
	}
	s->table = table;
	p->rss = p->rss_udp = true;
	p->reta_size = STEER_RETA;
	for (unsigned int i = 0; i < STEER_RETA; i++)
		p->reta[i] = table->reta[i];
	return 0;
}

void vtap_steer_close(struct vtap_steer *s)
{
	if (s->table != NULL)
		munmap(s->table, sizeof(*s->table));
	s->table = NULL;
}

int vtap_steer_rule(
	struct vtap_steer *s, const struct port_rule *r, void **flow, char *why, size_t len)
{
	struct port_rule *kept;
	int rc;

	if (s->table == NULL) {
		snprintf(why, len,
			"one queue, or the kernel chooses it: CAP_BPF and CAP_PERFMON are missing");
		return -ENOTSUP;
	}
	kept = malloc(sizeof(*kept));
	if (kept == NULL) {
		snprintf(why, len, "out of memory");
		return -ENOMEM;
	}
	rc = steer_table_add(s->table, r);
	if (rc != 0) {
		snprintf(why, len, "more than %d addresses", STEER_ADDRS);
		free(kept);
		return rc;
	}
	*kept = *r;
	*flow = kept;
	return 0;
}

void vtap_steer_unrule(struct vtap_steer *s, void *flow)
{
	steer_table_remove(s->table, flow);
	free(flow);
}
