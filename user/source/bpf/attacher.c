/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/bpf/attacher.h"

#include <sys/sysmacros.h>

#include "base/hash.h"

bool attacher_has_reported(struct attach_env *env, const struct maps_entry *map)
{
	uint64_t file = hash_file(makedev(map->dev_major, map->dev_minor), map->inode);
	for (unsigned i = 0; i < ATTACH_REPORTED; i++)
		if (env->reported[i] == file)
			return true;
	env->reported[env->reports++ % ATTACH_REPORTED] = file;
	return false;
}
