// SPDX-License-Identifier: BSD-2-Clause
#include "report/budget.h"

#define FIRST_LEVEL(word) "\"" #word "\""
#define NEXT_LEVEL(word)  ",\"" #word "\""
#define LEVELS		  "{\"enum\":[" BUDGET_LEVEL_WORDS(FIRST_LEVEL, NEXT_LEVEL) "]}"

const struct schema_key budget_keys[] = {{"level", LEVELS},
					 {"changes", SCHEMA_COUNT},
					 {"cpu_limit_percent", SCHEMA_NUMBER},
					 {"tracer_cpu_percent", SCHEMA_NUMBER},
					 {"probes_cpu_percent", SCHEMA_NUMBER},
					 {"memory_limit_bytes", SCHEMA_KNOWN},
					 {"memory_bytes", SCHEMA_KNOWN},
					 {0}};

static void put_percent(struct json *j, const char *key, bool known, double share)
{
	if (known)
		json_key_double(j, key, 100 * share);
	else
		json_key_null(j, key);
}

void budget_json(struct json *j, const struct session *s)
{
	const struct budget_state *b = &s->budget;
	if (!b->level)
		return;
	json_key_open(j, "budget", '{');
	json_key_str(j, "level", b->level);
	json_key_u64(j, "changes", b->changes);
	put_percent(j, "cpu_limit_percent", b->cpu_limit > 0, b->cpu_limit);
	put_percent(j, "tracer_cpu_percent", b->measured, b->tracer_cpu);
	put_percent(j, "probes_cpu_percent", b->measured, b->probes_cpu);
	json_key_known(j, "memory_limit_bytes", b->memory_limit_bytes, b->memory_limit_bytes);
	json_key_known(j, "memory_bytes", b->measured && b->memory_limit_bytes, b->memory_bytes);
	json_close(j, '}');
}
