// SPDX-License-Identifier: BSD-3-Clause
// mailbox.c: questions to a worker about what only it may look at.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "dp.h"

struct worker;

// Who asks a worker does not hold off others: each of these has a requester of its own. Changes are
// answered before orders, and these before questions and pages, which take turns.
enum mailbox_slots {
	MAILBOX_CHANGES, // of management: POLICY, JUDGE, ALTERNATES
	MAILBOX_ORDERS, // of people: KILL, CAPTURE, FAULT
	MAILBOX_QUESTIONS, // of people, all others
	MAILBOX_PAGES, // dp_list: whoever may read metrics asks as often as he likes
	MAILBOX_SLOTS,
};

// A question to a worker and its answer. The requester writes the question and then its number to
// asked. The worker writes the same to answered when the answer is complete, which may take it
// several rounds. The requester takes it, or gives up: nobody asks anew before the worker has
// answered what was given up, so that neither of the two structs is written while it is read.
struct mailbox_slot {
	uint64_t asked; // written by the requester that holds lock
	pthread_mutex_t lock; // one requester at a time
	struct dp_question question; // by the requester, before asked
	uint64_t answered __rte_cache_aligned; // written by the worker
	uint64_t begun; // the worker's: the question that answer is of, or is being made of
	struct dp_answer answer; // by the worker, before answered
};

struct mailbox {
	uint64_t asked; // questions of all slots; requesters add to it
	uint64_t answered __rte_cache_aligned; // of all slots; written by the worker
	uint64_t served_ms; // the worker's: when it last worked at an answer
	struct mailbox_slot *last; // the worker's: whose question it has answered last
	struct mailbox_slot slot[MAILBOX_SLOTS] __rte_cache_aligned;
};

int mailbox_init(struct mailbox *b);
void mailbox_fini(struct mailbox *b);
// Whether the worker has something to answer.
static inline bool mailbox_is_asked(const struct mailbox *b)
{
	return __atomic_load_n(&b->asked, __ATOMIC_ACQUIRE) != b->answered;
}

// Answers what is asked, one question after the other, as much of it as a round has time for: about
// 50 us, and that once a millisecond while rounds are full of work, so that a worker that does not
// keep up loses a twentieth of its time at most. work: datagrams and messages of this round. True
// when there is more to be answered. Call messages_notes afterwards.
bool mailbox_serve(struct worker *w, unsigned int work);
