// SPDX-License-Identifier: BSD-2-Clause
#include <sys/sysmacros.h>

#include "base/hash.h"
#include "source/attach_alloc.h"
#include "source/attach_markers.h"
#include "source/attach_ocaml.h"
#include "source/attach_ocaml_alloc.h"

const struct attacher *const attachers[ATTACHERS] = {&attach_markers, &attach_ocaml, &attach_alloc,
						     &attach_ocaml_alloc};

bool attacher_has_reported(struct attach_env *env, const struct maps_entry *map)
{
	uint64_t file = hash_file(makedev(map->dev_major, map->dev_minor), map->inode);
	for (unsigned i = 0; i < ATTACH_REPORTED; i++)
		if (env->reported[i] == file)
			return true;
	env->reported[env->reports++ % ATTACH_REPORTED] = file;
	return false;
}
