// SPDX-License-Identifier: BSD-3-Clause
// Takes stacks, and reads the names of functions from the tables that the dynamic linker has
// mapped. dladdr and backtrace_symbols take locks and memory; this reads memory that never changes.
#include "crash/crash_stack.h"

#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#define MODULES 384 // DPDK alone consists of 150 libraries
#define PROGRAM "slipring"
#define RETURN_AT 1 // a return address lies after the call, perhaps in the next function

struct module {
	char name[40];
	uintptr_t base, start, end;
	const ElfW(Sym) * symbols;
	const char *names;
	size_t nb, names_len;
};

static struct {
	struct module module[MODULES];
	unsigned int nb;
} loaded;

// --- loaded modules ------------------------------------------------------------------------------

// Counts the symbols, as no table has their number: it follows from the end of the last chain.
static size_t count_symbols(const uint32_t *hash)
{
	const uint32_t nb_buckets = hash[0], first = hash[1], bloom = hash[2];
	const uint32_t *buckets = (const uint32_t *)((const ElfW(Addr) *)(hash + 4) + bloom);
	const uint32_t *chains = buckets + nb_buckets;
	uint32_t last = 0;

	for (uint32_t i = 0; i < nb_buckets; i++)
		if (buckets[i] > last)
			last = buckets[i];
	if (last < first)
		return 0;
	while ((chains[last - first] & 1) == 0)
		last++;
	return last + 1;
}

static uintptr_t relocate_addr(const struct module *m, ElfW(Addr) a)
{
	return a < m->base ? m->base + a : a; // the linker may have added the base already
}

static void read_dynamic(struct module *m, const ElfW(Dyn) * d)
{
	const uint32_t *hash = NULL;

	for (; d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_SYMTAB:
			m->symbols = (const ElfW(Sym) *)relocate_addr(m, d->d_un.d_ptr);
			break;
		case DT_STRTAB:
			m->names = (const char *)relocate_addr(m, d->d_un.d_ptr);
			break;
		case DT_STRSZ:
			m->names_len = d->d_un.d_val;
			break;
		case DT_GNU_HASH:
			hash = (const uint32_t *)relocate_addr(m, d->d_un.d_ptr);
			break;
		}
	}
	m->nb = m->symbols != NULL && m->names != NULL && hash != NULL ? count_symbols(hash) : 0;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct module *m = &loaded.module[loaded.nb];
	const char *slash = strrchr(info->dlpi_name, '/');
	const ElfW(Dyn) *dynamic = NULL;

	if (loaded.nb == MODULES)
		return 1;
	*m = (struct module){.base = info->dlpi_addr, .start = UINTPTR_MAX};
	snprintf(m->name, sizeof(m->name), "%s",
		info->dlpi_name[0] == '\0' ? PROGRAM
			: slash != NULL    ? slash + 1
					   : info->dlpi_name);
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uintptr_t addr = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)addr;
		if (p->p_type != PT_LOAD)
			continue;
		m->start = addr < m->start ? addr : m->start;
		m->end = addr + p->p_memsz > m->end ? addr + p->p_memsz : m->end;
	}
	if (dynamic != NULL && strncmp(m->name, "linux-vdso", 10) != 0)
		read_dynamic(m, dynamic);
	loaded.nb++;
	return 0;
}

void crash_stack_open(void)
{
	void *frames[4];

	loaded.nb = 0;
	dl_iterate_phdr(add_module, NULL);
	backtrace(frames, 4); // loads its library, which allocates memory
}

// --- names ---------------------------------------------------------------------------------------

static const ElfW(Sym) * symbol_at(const struct module *m, uintptr_t offset)
{
	for (size_t i = 0; i < m->nb; i++) {
		const ElfW(Sym) *s = &m->symbols[i];

		if (s->st_shndx != SHN_UNDEF && (s->st_info & 15) == STT_FUNC &&
			offset >= s->st_value && offset < s->st_value + s->st_size &&
			s->st_name < m->names_len)
			return s;
	}
	return NULL;
}

void crash_stack_find(uintptr_t addr, struct crash_place *out)
{
	*out = (struct crash_place){.module_offset = addr};
	for (unsigned int i = 0; i < loaded.nb; i++) {
		const struct module *m = &loaded.module[i];
		const ElfW(Sym) * s;

		if (addr < m->start || addr >= m->end)
			continue;
		out->module = m->name;
		out->module_offset = addr - m->base;
		s = symbol_at(m, out->module_offset);
		if (s != NULL) {
			out->name = m->names + s->st_name;
			out->offset = out->module_offset - s->st_value;
		}
		return;
	}
}

char *crash_stack_line(void *const *frames, int nb, char *buf, size_t len)
{
	struct crash_place p;
	size_t used = 0;

	snprintf(buf, len, "unknown");
	for (int i = 0; i < nb && used + 1 < len; i++) {
		crash_stack_find((uintptr_t)frames[i] - (i > 0 ? RETURN_AT : 0), &p);
		used += (size_t)snprintf(buf + used, len - used, "%s%s+0x%zx", i > 0 ? " < " : "",
			p.name != NULL             ? p.name
				: p.module != NULL ? p.module
						   : "?",
			p.name != NULL ? p.offset : p.module_offset);
	}
	return buf;
}

// --- stacks --------------------------------------------------------------------------------------

uintptr_t crash_stack_pc(const void *context)
{
	const ucontext_t *c = context;

#if defined(__x86_64__)
	return (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (uintptr_t)c->uc_mcontext.pc;
#else
	return 0;
#endif
}

uintptr_t crash_stack_sp(const void *context)
{
	const ucontext_t *c = context;

#if defined(__x86_64__)
	return (uintptr_t)c->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
	return (uintptr_t)c->uc_mcontext.sp;
#else
	return 0;
#endif
}

int crash_stack_take(void **frames, int max, const void *context)
{
	const uintptr_t pc = crash_stack_pc(context);
	int n = backtrace(frames, max), first = 0;

	// the frames above belong to the handler
	while (first < n && (uintptr_t)frames[first] != pc)
		first++;
	if (first == n) {
		first = 0;
		if (pc != 0 && n > 0)
			frames[0] = (void *)pc; // the thread has jumped to an address without code
	}
	memmove(frames, frames + first, (size_t)(n - first) * sizeof(*frames));
	return n - first;
}
