// SPDX-License-Identifier: BSD-3-Clause
// In every second configuration there is a capture: frames that are received, sent and dropped are
// examined and copied as well. It has its own random numbers, so that frames are the same without
// it.
#include "capture/capture.h"
#include "datapath.h"
#include "fuzz.h"
#include "path/worker.h"

static struct test_rand rand_;

static uint32_t captures_below(uint32_t bound)
{
	return test_rand_below(&rand_, bound);
}

static void set(const struct capture_filter *f)
{
	for (unsigned int i = 0; i < fuzz.world.dp->nb_workers; i++)
		capture_set(fuzz.world.dp->worker[i], f);
}

void fuzz_captures_open(void)
{
	struct dp_capture_wanted w;
	const char *all;

	rand_.s = fuzz.configuration * 0x9e3779b97f4a7c15 | 1;
	if (captures_below(2) == 0)
		return;
	w = (struct dp_capture_wanted){.drop = captures_below(DP_DROP_END + 1),
		.of_source = captures_below(2) == 0,
		.payload = captures_below(2) == 0,
		.decrypted = captures_below(2) == 0,
		.snap = captures_below(3) == 0 ? 64 + captures_below(200) : DP_CAPTURE_SNAP_MAX};
	all = captures_below(2) == 0 ? "0.0.0.0/0" : "::/0";
	w.follow.wants = TURN_FILTER_CLIENT;
	assert_int_equal(addr_prefix_parse(all, &w.source), 0);
	assert_int_equal(addr_prefix_parse(all, &w.follow.client), 0);
	assert_int_equal(dp_capture_open(fuzz.world.dp, &w), 0);
	set(dp_capture_filter(fuzz.world.dp));
}

static void frames_take(void)
{
	const struct dp_capture_frame *f;
	uint64_t last = 0;

	while ((f = dp_capture_first(fuzz.world.dp, UINT64_MAX)) != NULL) {
		assert_true(f->cut <= f->len && f->ns >= last);
		assert_true(f->kind <= DP_CAPTURE_STREAM_OUT && f->frames > 0);
		assert_true(f->kind != DP_CAPTURE_DROP || f->reason < DP_DROP_END);
		last = f->ns;
		dp_capture_next(fuzz.world.dp);
	}
}

void fuzz_captures_round(void)
{
	struct dp_capture_note n;
	bool changed = false;

	if (fuzz.world.dp->capture == NULL || captures_below(8) != 0)
		return;
	frames_take();
	while (dp_capture_note(fuzz.world.dp, &n))
		changed |= n.ended ? dp_capture_remove(fuzz.world.dp, n.info.id)
				   : dp_capture_add(fuzz.world.dp, &n.info);
	if (changed)
		set(dp_capture_filter(fuzz.world.dp));
}
