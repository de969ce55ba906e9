/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/ebtrace_probes.h"

#include <stddef.h>

#include "runtime/marker_args.h"

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

const struct runtime runtime_ebtrace_probes = {
	.language = &languages[LANGUAGE_EBTRACE_PROBES],
	.libraries = libraries,
	.recognise = recognise,
};
