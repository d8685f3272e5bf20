// SPDX-License-Identifier: BSD-3-Clause
// Chooses the queue of a frame like a NIC with RSS and flow rules. So workers get the packets of
// their clients, and need no hand-over.
//
// Left alone, the kernel moves a flow on a TAP to the queue that the flow's other direction was
// last sent on, and back after three seconds of silence. At each move, frames in the new queue
// overtake frames that wait in the old one. For packet sockets it uses its own hash, with an
// unknown key.
#include "steer/port_steer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "bpf/bpf_sys.h"
#include "steer/steer_table.h"

static int take_key(struct port *p, const uint8_t *key)
{
	if (key != NULL)
		memcpy(p->rss_key, key, STEER_KEY);
	else if (getrandom(p->rss_key, STEER_KEY, 0) != STEER_KEY)
		return -errno;
	p->rss_key_len = STEER_KEY;
	return 0;
}

int port_steer_open(
	struct port_steer *s, struct port *p, const uint8_t *key, enum steer_begins begins)
{
	struct bpf_insn code[STEER_INSNS_MAX];
	void *table;
	int rc = take_key(p, key), map;

	if (rc != 0)
		return rc;
	map = bpf_sys_share(sizeof(*s->table), &table);
	if (map < 0)
		return map;
	steer_table_init(table, p->rss_key, p->nb_rxq);
	rc = bpf_sys_load(BPF_PROG_TYPE_SOCKET_FILTER, "slipring_steer", code,
		steer_program_make(code, map, begins));
	close(map); // the program holds a reference to it
	if (rc >= 0)
		s->table = table;
	else
		munmap(table, sizeof(*s->table));
	return rc;
}

void port_steer_tell(const struct port_steer *s, struct port *p)
{
	p->rss = p->rss_udp = true;
	p->reta_size = STEER_RETA;
	for (unsigned int i = 0; i < STEER_RETA; i++)
		p->reta[i] = s->table->reta[i];
}

void port_steer_close(struct port_steer *s)
{
	if (s->table != NULL)
		munmap(s->table, sizeof(*s->table));
	s->table = NULL;
}

int port_steer_rule(
	struct port_steer *s, const struct port_rule *r, void **flow, char *reason, size_t len)
{
	struct port_rule *kept;
	int rc;

	if (s->table == NULL) {
		snprintf(reason, len,
			"one queue, or chosen by the kernel: CAP_BPF and CAP_PERFMON are missing");
		return -ENOTSUP;
	}
	kept = malloc(sizeof(*kept));
	if (kept == NULL) {
		snprintf(reason, len, "out of memory");
		return -ENOMEM;
	}
	rc = steer_table_add(s->table, r);
	if (rc != 0) {
		snprintf(reason, len, "more than %d addresses", STEER_ADDRS);
		free(kept);
		return rc;
	}
	*kept = *r;
	*flow = kept;
	return 0;
}

void port_steer_unrule(struct port_steer *s, void *flow)
{
	steer_table_remove(s->table, flow);
	free(flow);
}

void port_steer_move(struct port_steer *s, const struct addr *was, const struct addr *current)
{
	if (s->table != NULL)
		steer_table_move(s->table, was, current);
}
