// SPDX-License-Identifier: BSD-3-Clause
// The queue of a TAP that a frame goes to. Private to lib/port.
#pragma once

// Fixes the queue of every flow on an interface; queue is the descriptor of one of its queues. 0 or
// -errno (-EPERM without CAP_BPF): the kernel then chooses as it likes.
int vtap_steer(int queue);
