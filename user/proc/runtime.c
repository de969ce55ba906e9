/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/runtime.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proc/maps.h"

#define MAX_SYMBOLS   10000000 /* of a section: a bound for hostile files */
#define MAX_LIBRARIES 256

/* Newest first: a release has the functions of those before it. */
static const struct {
	const char *symbol;
	enum ebt_release release;
} marks[] = {
	{"caml_sys_get_stdlib_dirs", EBT_RELEASE_OCAML_5_5},
	{"caml_ml_gc_ramp_up", EBT_RELEASE_OCAML_5_4},
	{"caml_ml_runtime_events_path", EBT_RELEASE_OCAML_5_3},
	{"caml_runtime_events_are_active", EBT_RELEASE_OCAML_5_2},
	{"caml_runtime_events_user_write", EBT_RELEASE_OCAML_5_1},
	{"caml_ev_begin", EBT_RELEASE_OCAML_5_0},
};
#define MARKS (sizeof(marks) / sizeof(marks[0]))

static enum ebt_release scan_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	if (!data || !shdr->sh_entsize)
		return EBT_RELEASE_AUTO;
	size_t count = data->d_size / shdr->sh_entsize, best = MARKS;
	bool events = false, eventlog = false;
	for (size_t i = 0; i < count && i < MAX_SYMBOLS; i++) {
		GElf_Sym sym;
		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF)
			continue;
		const char *name = elf_strptr(elf, shdr->sh_link, sym.st_name);
		if (!name || strncmp(name, "caml_", 5))
			continue;
		for (size_t m = 0; m < best; m++)
			if (!strcmp(name, marks[m].symbol))
				best = m;
		events |= !strcmp(name, "caml_ev_begin");
		eventlog |= !strcmp(name, "caml_eventlog_init");
	}
	/* The instrumented runtime of OCaml 4 has some of the names, but no rings. */
	return events && !eventlog && best < MARKS ? marks[best].release : EBT_RELEASE_AUTO;
}

enum ebt_release runtime_ocaml_release(int fd)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return EBT_RELEASE_AUTO;
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return EBT_RELEASE_AUTO;
	static const GElf_Word order[] = {SHT_DYNSYM, SHT_SYMTAB};
	enum ebt_release found = EBT_RELEASE_AUTO;
	for (unsigned i = 0; i < 2 && found == EBT_RELEASE_AUTO; i++) {
		Elf_Scn *scn = NULL;
		GElf_Shdr shdr;
		while (found == EBT_RELEASE_AUTO && (scn = elf_nextscn(elf, scn)))
			if (gelf_getshdr(scn, &shdr) && shdr.sh_type == order[i])
				found = scan_symbols(elf, scn, &shdr);
	}
	elf_end(elf);
	return found;
}

static enum ebt_release take_release(int fd)
{
	if (fd < 0)
		return EBT_RELEASE_AUTO;
	enum ebt_release release = runtime_ocaml_release(fd);
	close(fd);
	return release;
}

struct libraries {
	pid_t pid;
	unsigned left; /* a bound for hostile processes */
	uint64_t inode;
	enum ebt_release release;
};

static int look_into_library(const struct maps_entry *e, void *ctx)
{
	struct libraries *l = ctx;
	if (!e->exec || e->inode == l->inode || e->path[0] != '/')
		return 0;
	l->inode = e->inode;
	l->release = take_release(maps_open(l->pid, e));
	return l->release != EBT_RELEASE_AUTO || !--l->left;
}

enum ebt_release runtime_process_release(pid_t pid)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	enum ebt_release release = take_release(open(path, O_RDONLY | O_CLOEXEC));
	if (release != EBT_RELEASE_AUTO)
		return release;
	struct libraries l = {.pid = pid, .left = MAX_LIBRARIES};
	maps_each(pid, look_into_library, &l);
	return l.release;
}
