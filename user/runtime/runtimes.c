/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/runtimes.h"

#include <stddef.h>

#include "elf/elf.h"
#include "runtime/alloc_markers.h"
#include "runtime/marker_args.h"
#include "runtime/ocaml/ocaml.h"
#include "runtime/runtime.h"

/* Programs that link libebtrace-probes, recognised by its markers. */

static void recognise(int fd, struct elf *elf, struct runtime_file *ret)
{
	struct notes notes;
	(void)elf;
	if (notes_read(fd, "ebtrace", &notes))
		return;
	for (uint32_t i = 0; i < notes.sites; i++) {
		bool ours = marker_args_match(&notes.site[i]);
		ret->markers += ours;
		ret->refused_markers += !ours;
	}
	notes_done(&notes);
}

static const char *const libraries[] = {"libebtrace-probes.", NULL};

static const struct runtime runtime_ebtrace_probes = {
	.language = &language_ebtrace_probes,
	.libraries = libraries,
	.recognise = recognise,
};

const struct runtime *const runtimes[RUNTIMES] = {&runtime_ebtrace_probes, &runtime_ocaml};

void runtimes_recognise(int fd, struct elf *elf, struct runtime_file *ret)
{
	*ret = (struct runtime_file){.alloc_markers = elf ? alloc_markers_count(fd) : 0};
	for (unsigned i = 0; i < RUNTIMES; i++)
		runtimes[i]->recognise(fd, elf, ret);
}

struct runtime_version runtimes_version(int fd)
{
	struct elf *elf;
	struct runtime_file file;
	if (elf_open(fd, &elf))
		return (struct runtime_version){0};
	runtimes_recognise(fd, elf, &file);
	elf_close(elf);
	return file.runtime;
}

const struct language *runtimes_hidden(int fd)
{
	for (unsigned i = 0; i < RUNTIMES; i++)
		if (runtimes[i]->is_hidden && runtimes[i]->is_hidden(fd))
			return runtimes[i]->language;
	return NULL;
}

static bool needs_library(struct elf *elf, const struct runtime *r)
{
	for (const char *const *name = r->libraries; *name; name++)
		if (elf_needs(elf, *name))
			return true;
	return false;
}

bool runtimes_may_have_ring(int fd)
{
	struct elf *elf;
	struct runtime_file file;
	if (elf_open(fd, &elf))
		return false;
	runtimes_recognise(fd, elf, &file);
	bool has = file.markers || file.runtime.language;
	for (unsigned i = 0; i < RUNTIMES && !has; i++)
		has = needs_library(elf, runtimes[i]);
	elf_close(elf);
	return has || runtimes_hidden(fd);
}

static bool contains(int fd, const struct runtime *r)
{
	struct elf *elf;
	struct runtime_file file;
	if (elf_open(fd, &elf))
		return false;
	runtimes_recognise(fd, elf, &file);
	bool has = file.runtime.language == &r->language->traits ||
		   (file.markers && r->language->traits.has_markers) || needs_library(elf, r);
	elf_close(elf);
	return has;
}

bool runtimes_is_of(int fd, const struct language *language)
{
	char text[RUNTIME_TEXT_BYTES];
	bool is = false;
	for (unsigned i = 0; i < RUNTIMES; i++)
		if (runtimes[i]->language == language)
			is |= contains(fd, runtimes[i]) ||
			      (runtimes[i]->is_hidden && runtimes[i]->is_hidden(fd)) ||
			      (runtimes[i]->describe && runtimes[i]->describe(fd, text));
	return is;
}

bool runtimes_rings_have_threads(int fd)
{
	struct elf *elf;
	struct runtime_file file;
	if (elf_open(fd, &elf))
		return false;
	runtimes_recognise(fd, elf, &file);
	bool own = file.markers || needs_library(elf, &runtime_ebtrace_probes);
	bool other = file.runtime.language || needs_library(elf, &runtime_ocaml);
	elf_close(elf);
	return own && !other && !runtimes_hidden(fd);
}

bool runtimes_are_sampled(int fd)
{
	for (unsigned i = 0; i < RUNTIMES; i++)
		if (runtimes[i]->is_sampled && runtimes[i]->is_sampled(fd))
			return true;
	return false;
}

bool runtimes_explain(int fd, char *ret_text)
{
	for (unsigned i = 0; i < RUNTIMES; i++)
		if (runtimes[i]->explain && runtimes[i]->explain(fd, ret_text))
			return true;
	return false;
}

bool runtimes_describe(int fd, char *ret_text)
{
	for (unsigned i = 0; i < RUNTIMES; i++)
		if (runtimes[i]->describe && runtimes[i]->describe(fd, ret_text))
			return true;
	return false;
}
