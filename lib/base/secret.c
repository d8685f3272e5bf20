// SPDX-License-Identifier: BSD-3-Clause
// Pages for secrets: excluded from core dumps, and wiped when they are freed.
#include "secret.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HEAD 64 // room for the length in front: a cache line, so that callers get aligned memory

void *secret_alloc(size_t len)
{
	size_t *p;

	if (len > SIZE_MAX / 2)
		return NULL;
	len += HEAD;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	madvise(p, len, MADV_DONTDUMP); // if the kernel lacks this, core dumps contain the pages
	*p = len;
	return (char *)p + HEAD;
}

char *secret_copy(const char *text)
{
	const size_t len = strlen(text) + 1;
	char *copy = secret_alloc(len);

	return copy != NULL ? memcpy(copy, text, len) : NULL;
}

void secret_free(void *p)
{
	size_t *head = p != NULL ? (size_t *)((char *)p - HEAD) : NULL;
	const size_t len = head != NULL ? *head : 0;

	if (head == NULL)
		return;
	explicit_bzero(head, len);
	munmap(head, len);
}

void secret_wipe(void *p)
{
	if (p != NULL)
		explicit_bzero(p, malloc_usable_size(p));
	free(p);
}
