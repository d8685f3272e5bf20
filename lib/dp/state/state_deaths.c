// SPDX-License-Identifier: BSD-3-Clause
// Counts processes that died young. The count is the size of FILE.lock in blocks of its file
// system, because files on hugetlbfs cannot be written, and their sizes are whole pages. No block
// is ever allocated.
#include "state/state_deaths.h"

#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "state/state_file.h"

#define MOST 255

static off_t block_size(const struct state_file *f)
{
	struct statfs s;

	return fstatfs(f->lock, &s) == 0 && s.f_bsize > 0 ? (off_t)s.f_bsize : 4096;
}

uint32_t state_deaths(const struct state_file *f)
{
	struct stat st;
	off_t nb;

	if (fstat(f->lock, &st) != 0)
		return 0;
	nb = st.st_size / block_size(f);
	return nb < MOST ? (uint32_t)nb : MOST;
}

void state_deaths_set(const struct state_file *f, uint32_t nb)
{
	if (ftruncate(f->lock, (off_t)(nb < MOST ? nb : MOST) * block_size(f)) != 0)
		return; // the count is then off by one: the next process may adopt calls or not
}
