// SPDX-License-Identifier: BSD-3-Clause
// Questions to a worker about data that only the worker may touch.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "dp.h"

struct worker;

// Requesters do not block each other: each has a slot of its own. Changes are answered before
// orders, and these before questions and pages, which take turns.
enum mailbox_slots {
	MAILBOX_CHANGES, // from management: POLICY, JUDGE, INTAKE
	MAILBOX_ORDERS, // from operators: KILL, CAPTURE, FAULT
	MAILBOX_QUESTIONS, // from operators: all others
	MAILBOX_PAGES, // dp_list: readers of metrics may ask at any rate
	MAILBOX_SLOTS,
};

// A question to a worker and its answer. The requester writes the question and then its number to
// asked. The worker writes that number to answered when the answer is complete, which may take
// several rounds. The requester reads it, or gives up: then no new question is accepted before the
// worker has answered the abandoned one, so that neither structure is written while it is read.
struct mailbox_slot {
	uint64_t asked; // written by the requester that holds lock
	pthread_mutex_t lock; // one requester at a time
	struct dp_question question; // written by the requester, before asked
	uint64_t answered __rte_cache_aligned; // written by the worker
	uint64_t begun; // worker only: the question that answer belongs to
	struct dp_answer answer; // written by the worker, before answered
};

struct mailbox {
	uint64_t asked; // number of questions in all slots; requesters increment it
	uint64_t answered __rte_cache_aligned; // in all slots; written by the worker
	uint64_t served_ms; // worker only: when it last worked on an answer
	struct mailbox_slot *last; // worker only: slot of its last answer
	struct mailbox_slot slot[MAILBOX_SLOTS] __rte_cache_aligned;
};

int mailbox_init(struct mailbox *b);
void mailbox_fini(struct mailbox *b);
// True if the worker has a question to answer.
static inline bool mailbox_is_asked(const struct mailbox *b)
{
	return __atomic_load_n(&b->asked, __ATOMIC_ACQUIRE) != b->answered;
}

// Answers questions one by one, within the time of a round: about 50 us, and only once a
// millisecond while rounds are full of work, so that an overloaded worker loses at most a twentieth
// of its time. work: datagrams and messages of this round. True if there is more to answer. Call
// messages_notes afterwards.
bool mailbox_serve(struct worker *w, unsigned int work);
