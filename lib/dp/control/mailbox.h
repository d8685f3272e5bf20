// SPDX-License-Identifier: BSD-3-Clause
// mailbox.c: questions to a worker about what only it may look at.
#pragma once

#include <pthread.h>
#include <stdint.h>

#include <rte_common.h>

#include "turn_shard.h"

struct worker;

// A question to a worker for a page, and the answer. The requester stores number << 32 | page in
// asked, and the worker stores the same in answered when rows and nb hold the answer. The rows live
// here, so a late answer is written to memory that is still there, and the next one overwrites it.
struct mailbox {
	uint64_t asked; // written by the requester that holds lock
	pthread_mutex_t lock; // one requester at a time
	uint64_t answered __rte_cache_aligned; // written by the worker
	int nb; // by the worker, before answered
	struct turn_info rows[32]; // by the worker, before answered
};

int mailbox_init(struct mailbox *b);
void mailbox_fini(struct mailbox *b);
void mailbox_serve(struct worker *w);
