// SPDX-License-Identifier: BSD-3-Clause
// Blocks: clients' addresses and users that an operator shuts out, for a time or until unblocked.
// The orders come from the control thread. The management lcore hands each change to the workers,
// and ends blocks in time. With state.file a text file beside it keeps them over a restart.
#pragma once

#include "block/block_set.h"
#include "conf.h"
#include "dp.h"

struct mgmt_blocks;

// Reads the file, if there is one; logs lines that are not blocks. NULL without memory.
struct mgmt_blocks *mgmt_blocks_open(struct dp *d, const struct conf *c);
// Writes the file. NULL is fine. Call it after the control thread has ended.
void mgmt_blocks_close(struct mgmt_blocks *m);
// Continues handing changes to the workers, and ends blocks. True while that takes some time.
// Management lcore.
bool mgmt_blocks_tick(struct mgmt_blocks *m, uint64_t now_s);
// Writes the file if the blocks have changed. Control thread.
void mgmt_blocks_save(struct mgmt_blocks *m);

// Any thread; they take a lock.
enum block_put mgmt_blocks_put(struct mgmt_blocks *m, const struct block *b);
bool mgmt_blocks_remove(struct mgmt_blocks *m, const struct block *b);
void mgmt_blocks_count(struct mgmt_blocks *m, uint32_t *addresses, uint32_t *users);
// Calls see for up to max blocks from the first one on. Returns how many there are in all.
uint32_t mgmt_blocks_list(struct mgmt_blocks *m, uint32_t first, uint32_t max,
	void (*see)(void *ctx, const struct block *b), void *ctx);
