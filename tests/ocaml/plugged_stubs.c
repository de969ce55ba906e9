/* SPDX-License-Identifier: BSD-2-Clause */
#include <caml/callback.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <string.h>

value plugged_call_back(value f);
value plugged_call_back_deep(value f);

value plugged_call_back(value f)
{
	CAMLparam1(f);
	caml_callback(f, Val_unit);
	CAMLreturn(Val_unit);
}

/* With more on its stack than is recorded. */
value plugged_call_back_deep(value f)
{
	CAMLparam1(f);
	char room[8192];
	memset(room, 1, sizeof(room));
	caml_callback(f, Val_unit);
	__asm__ volatile("" : : "r"(room) : "memory");
	CAMLreturn(Val_unit);
}
