/* SPDX-License-Identifier: BSD-2-Clause */
#include <caml/mlvalues.h>
#include <ebtrace/probes.h>

value both_emit(value n);
value both_emit(value n)
{
	ebt_begin(EBT_PHASE_major);
	ebt_counter(EBT_COUNTER_minor_allocated, (uint64_t)Long_val(n));
	ebt_end(EBT_PHASE_major);
	return Val_unit;
}
