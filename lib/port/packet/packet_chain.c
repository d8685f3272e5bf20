// SPDX-License-Identifier: BSD-3-Clause
// Keeps a program first at the ingress of an interface. The other copy of it is attached before all
// programs, and only then the old one is detached: no frame can pass in between.
#include "packet/packet_chain.h"

#include <errno.h>
#include <unistd.h>

#include "packet/packet_bpf.h"

#define CREDIT_MAX 8
#define CREDIT_LOOKS 10 // checks after which one more attachment is allowed
#define FRESH 32 // a chain that was empty in between begins with revision 1
#define AHEAD 256 // revisions that a check tries; the next check continues
#define START_MOST 65536

void packet_chain_init(struct packet_chain *c)
{
	*c = (struct packet_chain){.program = {-1, -1}, .link = -1, .credit = CREDIT_MAX};
}

static void set_behind(struct packet_chain *c, bool behind)
{
	__atomic_store_n(&c->behind, behind, __ATOMIC_RELAXED);
}

// Records a new link, made when the chain had that revision.
static void settle_link(struct packet_chain *c, int link, uint64_t revision)
{
	c->revision = revision + 1;
	if (c->link >= 0 && close(c->link) == 0)
		c->revision++;
	c->link = link;
	set_behind(c, false);
}

// Tries to attach the current copy for each revision of [start, stop). Returns -EEXIST with the
// revision in *found if it is attached and the chain has that revision; 0 if it was not attached
// before, and is the first program now; -ESTALE if the chain has another revision.
static int seek_revision(struct packet_chain *c, uint64_t start, uint64_t stop, uint64_t *found)
{
	for (uint64_t r = start; r < stop; r++) {
		const int link = packet_bpf_attach(c->index, c->program[c->attached], r);

		*found = r;
		if (link >= 0)
			settle_link(c, link, r);
		if (link != -ESTALE)
			return link < 0 ? link : 0;
	}
	return -ESTALE;
}

int packet_chain_attach(struct packet_chain *c, int index)
{
	uint64_t found;
	int rc;

	packet_chain_detach(c);
	c->index = index;
	rc = seek_revision(c, 1, START_MOST, &found);
	set_behind(c, rc != 0);
	return rc;
}

void packet_chain_detach(struct packet_chain *c)
{
	if (c->link >= 0)
		close(c->link);
	c->link = -1;
	set_behind(c, false);
}

static enum packet_chain_news stay_behind(struct packet_chain *c)
{
	const bool news = !c->behind;

	set_behind(c, true);
	return news ? PACKET_CHAIN_BEHIND : PACKET_CHAIN_SAME;
}

// Makes our program the first in a changed chain of that revision. The chain contains our program.
static enum packet_chain_news go_first(struct packet_chain *c, uint64_t revision)
{
	int link;

	if (c->credit == 0)
		return stay_behind(c);
	link = packet_bpf_attach(c->index, c->program[c->attached ^ 1], revision);
	if (link == -ESTALE) // the chain has changed again
		return PACKET_CHAIN_SAME;
	if (link < 0)
		return stay_behind(c);
	c->credit--;
	c->attached ^= 1;
	settle_link(c, link, revision);
	return PACKET_CHAIN_FIRST;
}

enum packet_chain_news packet_chain_look(struct packet_chain *c)
{
	uint64_t found;
	int rc;

	if (c->link < 0)
		return packet_chain_attach(c, c->index) == 0 ? PACKET_CHAIN_FIRST
							     : PACKET_CHAIN_SAME;
	if (++c->looks % CREDIT_LOOKS == 0 && c->credit < CREDIT_MAX)
		c->credit++;
	rc = seek_revision(c, c->revision, c->revision + 1, &found);
	if (rc == -EEXIST) {
		set_behind(c, false);
		return PACKET_CHAIN_SAME;
	}
	if (rc == -ESTALE)
		rc = seek_revision(c, 1, FRESH, &found);
	if (rc == -ESTALE)
		rc = seek_revision(c, c->revision + 1, c->revision + 1 + AHEAD, &found);
	if (rc == 0)
		return PACKET_CHAIN_FIRST;
	if (rc == -EEXIST)
		return go_first(c, found);
	if (rc != -ESTALE) // nothing can be attached, and the chain is unknown
		return rc == -ENODEV ? PACKET_CHAIN_SAME : stay_behind(c);
	c->revision += AHEAD;
	return PACKET_CHAIN_SAME;
}
