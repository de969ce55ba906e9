#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Any user can hold a lease on a file of his own, which delays whoever opens it by 45 s, again and again. The tracer
# opens no such file: it names the file, and does the rest of its work. A limit of time here is only what ends a
# test that would take minutes.
. tests/lib.sh
need_root
need_file "$O/tests/attack/leases"

mkdir "$TMP/dir"
mkfifo "$TMP/in"
"$O/tests/attack/leases" "$TMP/dir" 12 <"$TMP/in" >"$TMP/ready" &
holder=$!
children+=("$holder")
exec {hold}>"$TMP/in"
wait_for grep -qs ready "$TMP/ready"
ok $? "a program holds leases on twelve files that it maps executable, and on a ring of its own" || done_testing
cause="another program holds a lease on it"
"$O/tests/prog/minigc" -q -t 1 -s 300 -r 100 -c /dev/null {hold}>&- &
program=$!
children+=("$program")

timeout 150 "$O/ebtrace" list >"$TMP/list" 2>"$TMP/err"
is $? 0 "list ends" || diag "$(cat "$TMP/err")"
grep -q "^ *$program  minigc .* markers" "$TMP/list"
ok $? "and shows the other programs" || diag "$(cat "$TMP/list")"
is "$(grep -c "process $holder: .*$TMP/dir/leased-.*$cause" "$TMP/err")" 1 "it names the first file that it left, and why" ||
	diag "$(cat "$TMP/err")"
is "$(grep -c "process $holder: ring .*$holder.events.*$cause" "$TMP/err")" 1 "and the ring"

for mode in auto ring probes; do
	timeout 150 "$O/ebtrace" --mode $mode -p $holder -d 1s >"$TMP/out" 2>"$TMP/err"
	status=$?
	[ $status = 1 ] || [ $status = 4 ]
	ok $? "--mode $mode -p of that program ends with an error" || diag "status $status" "$(cat "$TMP/err")"
	grep -q "process $holder: .*$TMP/dir/.*lease" "$TMP/err"
	ok $? "which names a file" || diag "$(cat "$TMP/err")"
done

exec {hold}>&-
wait "$holder"

# A child of the traced program is of another user's making: the rest of the run is traced all the same.
rm -r "$TMP/dir"
mkdir "$TMP/dir"
settled() { grep -qs ready "$TMP/ready" && tracer_rests; }
: >"$TMP/ready"
fire() {
	wait_for settled >&2 && : >"$TMP/rested"
	echo fq
}
# shellcheck disable=SC2016
fire | timeout 400 "$O/ebtrace" -v -f ndjson -o "$TMP/t" -- sh -c '
	"$1/tests/attack/leases" "$2/dir" 12 <"$2/in" >"$2/ready" &
	exec 3>"$2/in"
	"$1/tests/prog/markers_x86_64"
	exec 3>&-
	wait' sh "$O" "$TMP" >"$TMP/out" 2>"$TMP/err"
is $? 0 "a run with such a child ends" || diag "$(cat "$TMP/err")"
[ -e "$TMP/rested" ]
ok $? "it rests while the leases are held"
is "$(grep -c '"kind":"begin"' "$TMP/t")" 1000 "another child has its markers" || diag "$(cat "$TMP/err")"
is "$(grep -c "$TMP/dir/leased-.*lease" "$TMP/err")" 1 "and one line names a leased file" || diag "$(cat "$TMP/err")"

# Files that a user names.
printf 'x' >"$TMP/named"
cat >"$TMP/lease.pl" <<'P'
use Fcntl;
$SIG{IO} = "IGNORE";
sysopen(F, $ARGV[0], O_RDONLY) && fcntl(F, 1024, F_WRLCK) or die "no lease: $!\n";
$| = 1;
print "ready\n";
<STDIN>;
P
perl "$TMP/lease.pl" "$TMP/named" <"$TMP/in" >"$TMP/ready" &
children+=($!)
exec {hold}>"$TMP/in"
wait_for grep -qs ready "$TMP/ready"
for command in trace info list; do
	ends_with 1 timeout 30 "$O/ebtrace" $command "$TMP/named" >"$TMP/out" 2>"$TMP/err"
	grep -q "'$TMP/named'.*: $cause" "$TMP/err"
	ok $? "$command names a leased file and the cause" || diag "$(cat "$TMP/err")"
done
timeout 30 "$O/ebtrace" -o "$TMP/named" -- true >"$TMP/out" 2>"$TMP/err"
is $? 1 "an output file that is leased is an error"
grep -q "'$TMP/named': $cause" "$TMP/err"
ok $? "that names the cause" || diag "$(cat "$TMP/err")"

# The program itself: its exec waits until the lease is broken.
cp /bin/true "$TMP/late"
: >"$TMP/ready"
perl "$TMP/lease.pl" "$TMP/late" <"$TMP/in" >"$TMP/ready" &
children+=($!)
wait_for grep -qs ready "$TMP/ready"
timeout -k 1 --foreground 30 "$O/ebtrace" --mode ring -o "$TMP/t" -- "$TMP/late" >"$TMP/out" 2>"$TMP/err" {hold}>&- &
timer=$!
children+=("$timer")
held() { tracer=$(pgrep -P $timer) && child=$(pgrep -P "$tracer") && grep -qs break_lease "/proc/$child/wchan"; }
wait_for held
ok $? "a leased program is held in its exec"
kill -INT "$tracer"
wait "$timer"
is "$? $(cat "$TMP/err")" "126 ebtrace: cannot run '$TMP/late': Operation canceled" "SIGINT ends the tracer all the same"
[ ! -e "/proc/${child:-1}" ]
ok $? "and the program"
done_testing
