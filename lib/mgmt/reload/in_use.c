// SPDX-License-Identifier: BSD-3-Clause
// One lock for the configuration of the process.
#include "reload/in_use.h"

#include <pthread.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

void in_use_read(void)
{
	pthread_rwlock_rdlock(&lock);
}

bool in_use_change(void)
{
	return pthread_rwlock_trywrlock(&lock) == 0;
}

void in_use_done(void)
{
	pthread_rwlock_unlock(&lock);
}
