/* SPDX-License-Identifier: BSD-2-Clause */
#include <caml/callback.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>

value sites_call_back(value f);

value sites_call_back(value f)
{
	CAMLparam1(f);
	caml_callback(f, Val_unit);
	CAMLreturn(Val_unit);
}
