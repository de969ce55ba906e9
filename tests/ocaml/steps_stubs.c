/* SPDX-License-Identifier: BSD-2-Clause */
/* C that tests/ocaml/steps.ml calls. */
#include <caml/callback.h>
#include <caml/fail.h>
#include <caml/mlvalues.h>
#include <stdint.h>

intnat steps_mark(intnat which)
{
	__asm__ volatile("int3");
	return which;
}
value steps_mark_bytes(value which)
{
	return which;
}
value steps_bytes(void)
{
	return Val_unit;
}
__attribute__((noinline)) intnat steps_inner(intnat x)
{
	volatile intnat y = x;
	return y + 1;
}
intnat steps_noalloc(intnat x)
{
	return steps_inner(x) + 2;
}
value steps_call(value x)
{
	return Val_long(steps_inner(Long_val(x)) + 3);
}
value steps_many(value a, value b, value c, value d, value e, value f, value g, value h)
{
	return Val_long(steps_inner(Long_val(a) + Long_val(h)) + ((b + c + d + e + f + g) & 1));
}
value steps_call_back(value f, value x)
{
	return Val_long(Long_val(caml_callback(f, x)) + 1);
}
value steps_fail(value x)
{
	if (Long_val(x) >= 0)
		caml_failwith("steps");
	return x;
}
