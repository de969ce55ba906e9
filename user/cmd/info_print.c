/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/info_print.h"

#include <inttypes.h>

#include "cmd/print.h"
#include "core/kinds.h"

void info_print_span(bool known, uint64_t first_ns, uint64_t last_ns)
{
	if (known)
		print("  time span  %.6f s, from %" PRIu64 " ns\n",
		      (double)(last_ns - first_ns) / 1e9, first_ns);
	else
		print("  time span  not known\n");
}

void info_put_json_kinds(struct json *j, const struct input_info *i)
{
	json_key_open(j, "kinds", '{');
	for (unsigned k = 0; k < EBT_KINDS; k++)
		if (i->kinds[k])
			json_key_u64(j, kinds_name((uint16_t)k), i->kinds[k]);
	json_close(j, '}');
}
