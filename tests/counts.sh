# SPDX-License-Identifier: BSD-2-Clause
# What minigc says it emitted beside what tally found in a trace; sourced behind tests/lib.sh. A
# trace NAME is $TMP/NAME.counts, written by minigc -c, and $TMP/NAME.tally.

emitted() { awk '$3 { n[$1 " " $2] += $3 } END { for (k in n) print k, n[k] }' "$1.counts" | sort; }
delivered() { grep -E '^-?[0-9]+ [a-z_]+ [0-9]+$' "$1.tally" | sort; }
per_domain() { awk '{ n[$1] += $3 } END { for (d in n) print d, n[d] }' | sort; }
value() { awk -v k="$2" -v n="$3" '$1 == k && (NF == 2 || $2 == n) { print $NF }' "$TMP/$1.tally"; }

sorted() {
  is "$(value "$1" unsorted)" 0 "$1: sorted by time"
  is "$(value "$1" twice)" 0 "$1: no position of a ring comes twice"
  diag "$1: $(value "$1" events) events, $(value "$1" summary lost_events) lost, $(value "$1" summary late) late"
}
# Nothing lost, every kind of every domain.
whole() {
  emitted "$TMP/$1" >"$TMP/want"
  delivered "$TMP/$1" >"$TMP/got"
  same_file "$TMP/got" "$TMP/want" "$1: delivered = emitted for each domain and kind"
  is "$(value "$1" summary lost_events)" 0 "$1: no event is lost"
  sorted "$1"
}
# Whatever was lost has been told.
balanced() {
  emitted "$TMP/$1" | per_domain >"$TMP/want"
  delivered "$TMP/$1" | per_domain >"$TMP/got"
  same_file "$TMP/got" "$TMP/want" "$1: delivered + lost = emitted in each domain"
  sorted "$1"
}
lossy() {
  balanced "$1"
  [ "$(value "$1" summary lost_events)" -gt 0 ]
  ok $? "$1: the loss was forced"
}
