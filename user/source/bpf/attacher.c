/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/bpf/attacher.h"

#include <sys/sysmacros.h>

#include "base/hash.h"

bool attacher_has_reported(struct attach_env *env, const struct maps_entry *map)
{
	return attacher_has_reported_of(env, map, "");
}

bool attacher_has_reported_of(struct attach_env *env, const struct maps_entry *map,
			      const char *what)
{
	uint64_t file = hash_file(makedev(map->dev_major, map->dev_minor), map->inode);
	file = *what ? hash_string(file, what) : file;
	for (unsigned i = 0; i < ATTACH_REPORTED; i++)
		if (env->reported[i] == file)
			return true;
	env->reported[env->reports++ % ATTACH_REPORTED] = file;
	return false;
}

int attacher_count_foreign(struct attach_env *env, uint32_t key)
{
	static const uint64_t none;
	return env->set(env->ctx, BPF_TABLE_FOREIGN, key, &none);
}
