#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Sparse ring files of thousands of domains cost their maker nothing: they must not cost the reader
# its memory.
. tests/lib.sh
need_file "$O/tests/attack/sparse_rings"

"$O/tests/attack/sparse_rings" "$TMP" 1 || skip_all "cannot forge ring files"
timeout 60 "$O/ebtrace" -f ndjson "$TMP/1.events" >"$TMP/out" 2>"$TMP/err"
is $? 0 "a sparse file of 4,096 domains is read to its end"
is "$(grep -c '"kind":"counter"' "$TMP/out")" 4096 "every record in it is delivered"
is "$(tail -1 "$TMP/out" | jq .damaged)" 4096 "each ring's damage is told"
done_testing
