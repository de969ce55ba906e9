/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/ocaml/ocaml.h"

#include <errno.h>
#include <stdio.h>

#include "runtime/ocaml/allocs.h"
#include "runtime/ocaml/version.h"

static void recognise(int fd, struct elf *elf, struct runtime_file *ret)
{
	(void)fd;
	ret->runtime = elf ? ocaml_version_read_elf(elf) : (struct runtime_version){0};
	ret->probes_error =
		ret->runtime.language ? ocaml_probes_read_elf(elf, &ret->ocaml) : -ENOENT;
}

static bool explain(int fd, char *ret_text)
{
	char magic[OCAML_MAGIC_BYTES];
	bool bytecode = ocaml_version_bytecode(fd, magic) == 4;
	if (!bytecode && !ocaml_version_is_4(fd))
		return false;
	snprintf(ret_text, RUNTIME_TEXT_BYTES,
		 "is %s of OCaml 4%s%s%s, which has no runtime events; OCaml 5 has them",
		 bytecode ? "bytecode" : "a program", bytecode ? " (" : "", bytecode ? magic : "",
		 bytecode ? ")" : "");
	return true;
}

static bool describe(int fd, char *ret_text)
{
	char magic[OCAML_MAGIC_BYTES];
	if (ocaml_version_bytecode(fd, magic) != 5)
		return false;
	snprintf(ret_text, RUNTIME_TEXT_BYTES,
		 "bytecode of OCaml 5 (%s); its markers are those of its interpreter, ocamlrun",
		 magic);
	return true;
}

static bool is_sampled(int fd)
{
	struct ocaml_runtime runtime;
	struct ocaml_allocs allocs;
	return !ocaml_probes_read(fd, &runtime) && !ocaml_allocs_read(fd, &runtime, &allocs);
}

static const char *const libraries[] = {"libasmrun_shared.", "libcamlrun_shared.", NULL};

const struct runtime runtime_ocaml = {
	.language = &language_ocaml,
	.libraries = libraries,
	.recognise = recognise,
	.is_hidden = ocaml_version_is_stripped,
	.is_sampled = is_sampled,
	.explain = explain,
	.describe = describe,
};
