// SPDX-License-Identifier: BSD-3-Clause
// Sets timer slack and time slice of a thread (prompt_wakes.h).
#include "threads/prompt_wakes.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

void prompt_wakes(void)
{
	struct prompt_wakes_attr a;

	prctl(PR_SET_TIMERSLACK, PROMPT_WAKES_SLACK_NS, 0, 0, 0);
	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) != 0 ||
		(a.policy != SCHED_OTHER && a.policy != SCHED_BATCH))
		return;
	a.runtime = PROMPT_WAKES_SLICE_NS;
	syscall(SYS_sched_setattr, 0, &a, 0);
}
