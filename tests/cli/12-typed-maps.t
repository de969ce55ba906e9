#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A map or array of pointers takes and returns pointers of its own type: the compiler refuses others.
. tests/lib.sh
try() { # name, status, statement
	printf '%s\n' '#include "base/ptrarray.h"' '#include "base/ptrmap.h"' 'struct lane { int x; };' 'struct other { int y; };' \
		'int f(struct lane *l, const struct lane *c, struct other *o, bool *b); int' \
		'f(struct lane *l, const struct lane *c, struct other *o, bool *b)' \
		'{ PTRMAP(struct lane) m = {0}; PTRARRAY(struct lane) a = {0}; (void)a; (void)m; (void)l; (void)c; (void)o; (void)b;' "$3; return 0; }" |
		gcc -x c -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Iuser -fsyntax-only - 2>"$TMP/log"
	is $? "$2" "$1" || diag "$(head -5 "$TMP/log")"
}
try "a pointer of the map's type is set" 0 'ptrmap_set(&m, 1, l)'
try "one of another type is not" 1 'ptrmap_set(&m, 1, o)'
try "nor one to what is constant" 1 'ptrmap_set(&m, 1, c)'
try "nor a number" 1 'ptrmap_set(&m, 1, 5ul)'
try "a pointer of the map's type comes out" 0 'l = ptrmap_get(&m, 1)'
try "and is no other" 1 'o = ptrmap_get(&m, 1)'
try "not where it is removed" 1 'o = ptrmap_take(&m, 1)'
try "not where it is made" 1 'o = ptrmap_make(&m, 1, b)'
try "not where all are gone through" 1 'size_t at = 0; o = ptrmap_next(&m, &at)'
try "a pointer of the array's type comes out" 0 'l = ptrarray_get(&a, 1)'
try "and is no other" 1 'o = ptrarray_get(&a, 1)'
try "not where it is removed from the array" 1 'o = ptrarray_take(&a, 1)'
try "not where it is made in the array" 1 'o = ptrarray_make(&a, 1, b)'
try "not where the array is gone through" 1 'size_t at = 0; o = ptrarray_next(&a, &at)'
done_testing
