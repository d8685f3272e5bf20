// SPDX-License-Identifier: BSD-3-Clause
// No wake is lost: a model of waiter.h, in which a worker raises its flag, looks once more and
// blocks, while two other threads enqueue something and kick it, and an interrupt must be enabled
// for frames of a port. The test explores every order of their steps. A store stays in the buffer
// of its thread until it becomes visible, which may happen at any time up to the next fence, as on
// any CPU. A state in which no thread can go on and something enqueued has not been taken is a lost
// wake. No timeout ever wakes a thread here.
// A model without one of the fences, or with two steps swapped, must lose a wake: otherwise the
// test could not detect one.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#define KICKERS 2
#define PUTS 2 // per kicker
#define FRAMES 2
#define STORES 4 // that fit a store buffer
#define TABLE (1u << 21)

// Faults that a model can have.
enum fault {
	NO_FAULT,
	NO_FENCE_OF_WORKER,
	NO_FENCE_OF_KICKER,
	LOOKS_BEFORE_FLAG, // the worker's last look comes before the flag is up
	LOOKS_AT_FLAG_FIRST, // a kicker enqueues after looking at the flag
	ENABLES_LAST, // the interrupt is enabled after the last look at the port
	FORGETS_LATE, // old interrupts are cleared after the last look
	NO_KICK,
	FAULTS,
};

// Stores of one thread to one variable that no other thread has seen yet, oldest first.
struct buffer {
	uint8_t nb, value[STORES];
};

struct thread {
	uint8_t step; // its next step
	uint8_t puts; // a kicker: how many enqueues it has begun
	bool saw; // a kicker: the flag was up
	struct buffer stores;
};

// The whole state; compared as bytes.
struct state {
	// Memory: the number of entries that each kicker has put in its ring, and the flag.
	uint8_t put[KICKERS], armed;
	// The kernel: kicks pending in the eventfd; the port's frames, and whether its descriptor
	// is readable and its interrupt is enabled.
	uint8_t event, frames;
	bool readable, enabled;
	// The worker: what it has taken, and what it found in its last look.
	uint8_t taken[KICKERS], taken_frames;
	bool found;
	struct thread worker, kicker[KICKERS];
};

static enum fault fault;
static struct state *table;
static uint8_t *used;
static struct state *stack;
static uint32_t nb_stack, nb_states, lost;

// --- memory --------------------------------------------------------------------------------------

// In a full buffer the last store is overwritten: no thread need ever see it.
static void store(struct buffer *b, uint8_t value)
{
	if (b->nb == STORES)
		b->nb--;
	b->value[b->nb++] = value;
}

static uint8_t leave(struct buffer *b)
{
	const uint8_t value = b->value[0];

	memmove(b->value, b->value + 1, STORES - 1);
	b->value[STORES - 1] = 0;
	b->nb--;
	return value;
}

// --- a kicker (waiter_kick after an enqueue) -----------------------------------------------------

enum { K_PUT, K_FENCE, K_LOOK, K_TAKE_DOWN, K_WRITE, K_END };

static uint8_t next_put(const struct thread *t)
{
	return t->puts < PUTS ? (fault == LOOKS_AT_FLAG_FIRST ? K_LOOK : K_PUT) : K_END;
}

// The step after the look at the flag.
static uint8_t after_look(const struct thread *t, bool up)
{
	return up && fault != NO_KICK ? K_TAKE_DOWN : next_put(t);
}

// Makes the next step. False if the kicker has to wait, or is done.
static bool kicker_step(struct state *s, unsigned int k)
{
	struct thread *t = &s->kicker[k];
	uint8_t old;

	switch (t->step) {
	case K_PUT:
		store(&t->stores, ++t->puts);
		t->step = fault == NO_FENCE_OF_KICKER ? K_LOOK : K_FENCE;
		return true;
	case K_FENCE:
		if (t->stores.nb > 0)
			return false;
		t->step = fault == LOOKS_AT_FLAG_FIRST ? after_look(t, t->saw) : K_LOOK;
		return true;
	case K_LOOK:
		t->saw = s->armed != 0;
		t->step = fault == LOOKS_AT_FLAG_FIRST ? K_PUT : after_look(t, t->saw);
		return true;
	case K_TAKE_DOWN: // an exchange is a fence, too
		if (t->stores.nb > 0)
			return false;
		old = s->armed;
		s->armed = 0;
		t->step = old != 0 ? K_WRITE : next_put(t);
		return true;
	case K_WRITE:
		s->event++;
		t->step = next_put(t);
		return true;
	}
	return false;
}

// --- a frame at a port with an interrupt ---------------------------------------------------------

static bool frame_comes(struct state *s)
{
	if (s->frames == FRAMES)
		return false;
	s->frames++;
	s->readable |= s->enabled;
	return true;
}

// --- the worker ----------------------------------------------------------------------------------

enum {
	W_FORGET, // wake_arm: earlier causes of readability are cleared
	W_ENABLE, // wake_arm: the interrupt
	W_RAISE, // waiter_arm
	W_FENCE,
	W_LOOK, // the round: looks at each ring, then at the port
	W_LOOK_PORT = W_LOOK + KICKERS,
	W_BLOCK, // waiter_block
	W_READ, // the eventfd
	W_LOWER, // waiter_disarm
	W_DISABLE, // wake_arm
	W_END
};

static bool all_taken(const struct state *s)
{
	for (unsigned int k = 0; k < KICKERS; k++)
		if (s->taken[k] < PUTS)
			return false;
	return s->taken_frames == FRAMES;
}

// The step that follows a given step in the order of a model.
static uint8_t follow(uint8_t step, bool found)
{
	static const uint8_t usual[] = {
		W_FORGET, W_ENABLE, W_RAISE, W_FENCE, W_LOOK, W_LOOK + 1, W_LOOK_PORT, W_BLOCK};
	static const uint8_t looks_first[] = {
		W_FORGET, W_ENABLE, W_LOOK, W_LOOK + 1, W_LOOK_PORT, W_RAISE, W_FENCE, W_BLOCK};
	static const uint8_t unfenced[] = {
		W_FORGET, W_ENABLE, W_RAISE, W_LOOK, W_LOOK + 1, W_LOOK_PORT, W_BLOCK, W_BLOCK};
	static const uint8_t enables_last[] = {
		W_FORGET, W_RAISE, W_FENCE, W_LOOK, W_LOOK + 1, W_LOOK_PORT, W_ENABLE, W_BLOCK};
	static const uint8_t forgets_late[] = {
		W_ENABLE, W_RAISE, W_FENCE, W_LOOK, W_LOOK + 1, W_LOOK_PORT, W_FORGET, W_BLOCK};
	const uint8_t *order = usual;

	if (fault == LOOKS_BEFORE_FLAG)
		order = looks_first;
	else if (fault == NO_FENCE_OF_WORKER)
		order = unfenced;
	else if (fault == ENABLES_LAST)
		order = enables_last;
	else if (fault == FORGETS_LATE)
		order = forgets_late;
	for (unsigned int i = 0; i + 1 < sizeof(usual); i++)
		if (order[i] == step)
			return order[i + 1] == W_BLOCK && found ? W_LOWER : order[i + 1];
	return W_END;
}

static uint8_t first(void)
{
	return fault == FORGETS_LATE ? W_ENABLE : W_FORGET;
}

static void look(struct state *s, unsigned int k)
{
	s->found |= s->put[k] != s->taken[k];
	s->taken[k] = s->put[k];
}

// Makes a step of waiting. False if the worker goes on sleeping.
static bool rest_step(struct state *s, struct thread *t)
{
	switch (t->step) {
	case W_BLOCK:
		if (s->event == 0 && !s->readable)
			return false;
		t->step = W_READ;
		break;
	case W_READ:
		s->event = 0;
		t->step = W_LOWER;
		break;
	case W_LOWER:
		store(&t->stores, 0);
		t->step = W_DISABLE;
		break;
	default:
		s->enabled = false;
		s->found = false;
		t->step = all_taken(s) ? W_END : first();
	}
	return true;
}

static bool worker_step(struct state *s)
{
	struct thread *t = &s->worker;

	if (t->step == W_END)
		return false;
	if (t->step >= W_BLOCK)
		return rest_step(s, t);
	if (t->step == W_FORGET)
		s->readable = false;
	else if (t->step == W_ENABLE)
		s->enabled = true;
	else if (t->step == W_RAISE)
		store(&t->stores, 1);
	else if (t->step == W_FENCE && t->stores.nb > 0)
		return false;
	else if (t->step >= W_LOOK && t->step < W_LOOK_PORT)
		look(s, t->step - W_LOOK);
	else if (t->step == W_LOOK_PORT) {
		s->found |= s->frames != s->taken_frames;
		s->taken_frames = s->frames;
	}
	t->step = follow(t->step, s->found);
	return true;
}

// --- exploration of all orders -------------------------------------------------------------------

static void visit(const struct state *s)
{
	const uint8_t *bytes = (const uint8_t *)s;
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < sizeof(*s); i++)
		h = (h ^ bytes[i]) * 16777619u;
	for (h %= TABLE; used[h]; h = (h + 1) % TABLE)
		if (memcmp(&table[h], s, sizeof(*s)) == 0)
			return;
	used[h] = 1;
	table[h] = *s;
	assert_true(++nb_states < TABLE / 2);
	stack[nb_stack++] = *s;
}

// Explores each step that is possible in a state. False if there is no such step.
static bool expand(const struct state *s)
{
	unsigned int steps = 0;
	struct state next = *s;

	if (worker_step(&next)) {
		visit(&next);
		steps++;
	}
	for (unsigned int k = 0; k < KICKERS; k++) {
		next = *s;
		if (kicker_step(&next, k)) {
			visit(&next);
			steps++;
		}
		next = *s;
		if (next.kicker[k].stores.nb > 0) {
			next.put[k] = leave(&next.kicker[k].stores);
			visit(&next);
			steps++;
		}
	}
	next = *s;
	if (frame_comes(&next)) {
		visit(&next);
		steps++;
	}
	next = *s;
	if (next.worker.stores.nb > 0) {
		next.armed = leave(&next.worker.stores);
		visit(&next);
		steps++;
	}
	return steps > 0;
}

// Explores all states, up to the first one with a lost wake.
static void explore(enum fault f)
{
	struct state begin;

	fault = f;
	nb_stack = nb_states = lost = 0;
	memset(used, 0, TABLE);
	memset(&begin, 0, sizeof(begin)); // padding, too
	begin.worker.step = first();
	for (unsigned int k = 0; k < KICKERS; k++)
		begin.kicker[k].step = next_put(&begin.kicker[k]);
	visit(&begin);
	while (nb_stack > 0 && lost == 0) {
		const struct state s = stack[--nb_stack];

		if (!expand(&s))
			lost += !all_taken(&s);
	}
}

static void no_wake_is_lost(void **state)
{
	explore(NO_FAULT);
	printf("%u states\n", nb_states);
	assert_int_equal(lost, 0);
	assert_true(nb_states > 10000); // it has explored something
}

static void each_fault_loses_one(void **state)
{
	for (enum fault f = NO_FAULT + 1; f < FAULTS; f++) {
		explore(f);
		if (lost == 0)
			fail_msg("fault %d of the model is not seen in %u states", (int)f,
				nb_states);
	}
}

static int begin(void **state)
{
	table = calloc(TABLE, sizeof(*table));
	used = calloc(TABLE, 1);
	stack = calloc(TABLE / 2, sizeof(*stack));
	return table != NULL && used != NULL && stack != NULL ? 0 : -1;
}

static int end(void **state)
{
	free(table);
	free(used);
	free(stack);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_wake_is_lost),
		cmocka_unit_test(each_fault_loses_one),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
