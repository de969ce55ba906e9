#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Reports of the pages of real programs, live and of captures: the resident pages are those of the
# kernel's smaps, and what was reconciled to get there is shown.
. tests/lib.sh
need_root
need_command jq
need_command sqlite3
need_command python3
[ -e /sys/kernel/tracing/trace ] || mount -t tracefs none /sys/kernel/tracing ||
	skip_all "tracefs cannot be mounted"
ebt=$O/ebtrace
walk=$O/tests/prog/pagewalk
python=$(python3 -c 'import sys; print(sys.executable)')

# What MADV_FREE returns is in Rss until the kernel needs it.
rss() { awk '/^Rss:/ { n += $2 } /^LazyFree:/ { n -= $2 } END { print n / 4 }' "/proc/$1/smaps"; }
stopped() { grep -q '^State:.*T' "/proc/$1/status"; }
now() { perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e 'printf "%d\n", 1e9 * clock_gettime(CLOCK_MONOTONIC)'; }
sum='def sum: [.populated, .file, .huge, .reused, .swapped, .gone] | add'

cat >"$TMP/work.py" <<'END_PYTHON'
import json, os, re, signal, threading
def work():
    kept = []
    for i in range(40):
        kept.append([str(k) * 20 for k in range(2000)])
        if i % 4 == 3:
            del kept[0]
        json.dumps(kept[-1])
    return kept
threads = [threading.Thread(target=work) for i in range(2)]
for t in threads: t.start()
for t in threads: t.join()
kept = work()
os.kill(os.getpid(), signal.SIGSTOP)
END_PYTHON
cat >"$TMP/huge.py" <<'END_PYTHON'
import mmap, os, signal
m = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
m.madvise(mmap.MADV_HUGEPAGE)
for i in range(0, 64 << 20, 4096): m[i] = 1
m.madvise(mmap.MADV_DONTNEED, 4 << 20, 4 << 20)
m.madvise(mmap.MADV_FREE, 16 << 20, 4 << 20)
os.kill(os.getpid(), signal.SIGSTOP)
END_PYTHON
cat >"$TMP/work.sql" <<'END_SQL'
pragma cache_size = -8000;
create table t(a integer primary key, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 50000)
	insert into t select x, hex(randomblob(50)) from c;
create index i on t(b);
select count(*) from t join t u on t.b = u.b;
delete from t where a % 3;
vacuum;
.shell kill -STOP $PPID
END_SQL
sqlite3 :memory: ".shell true" >"$TMP/out" 2>&1 || skip_all "sqlite3 has no .shell"

# real NAME PROGRAM...: from its first instruction until it stops itself; what `pages` has of that moment.
real() {
	local name=$1 program has ours at
	shift
	timeout 300 "$ebt" trace --pages -o "$TMP/$name.ebt" -- "$@" >"$TMP/out" 2>"$TMP/$name.err" <"${input:-/dev/null}" &
	tracer=$!
	children+=($tracer)
	wait_for eval "program=\$(pgrep -n -f -- '${pattern//\//.}')" && wait_for stopped "$program"
	sleep 3 # page tables are read once a second at least
	has=$(rss "$program")
	at=$(now)
	[ $name != python3 ] || at_python=$at
	kill -CONT "$program"
	wait $tracer
	is $? 0 "$name: its status is the program's"
	"$ebt" pages --json -p "$program" "$TMP/$name.ebt" >"$TMP/$name.json"
	"$ebt" pages --json -p "$program" --at "$((at - $(jq .start_ns "$TMP/$name.json")))ns" "$TMP/$name.ebt" >"$TMP/$name.at"
	ours=$(jq .totals.end.allocated "$TMP/$name.at")
	is "$ours" "$has" "$name: its resident pages are those of smaps"
	diag "$name: $has pages resident, $(jq "$sum; .appeared | sum" "$TMP/$name.at") appeared without a fault, $(jq "$sum; .gone | sum" "$TMP/$name.at") went without a call"
	jq -e "$sum; .of == \"address_space\" and .page_bytes == 4096 and .totals.end.allocated > 500 and
		(.appeared | sum) > 0 and (.appeared | sum) < .totals.end.allocated" "$TMP/$name.at" >"$TMP/jq"
	ok $? "$name: so many of them were reconciled, and the others were seen to be touched" || diag "$(cat "$TMP/$name.at")"
	jq -e '.damage | .double_allocs + .double_frees + .scavenged_allocated + .scavenged_unseen_pages + .untracked == 0' \
		"$TMP/$name.json" >"$TMP/jq"
	ok $? "$name: no event is in contradiction with another" || diag "$(jq -c .damage "$TMP/$name.json")"
	is "$(jq '.totals.end.allocated' "$TMP/$name.json")" 0 "$name: at its end all are free"
}
pattern="^$python $TMP/work.py" real python3 "$python" "$TMP/work.py"
[ ! -e /sys/kernel/mm/transparent_hugepage/enabled ] || {
	pattern="^$python $TMP/huge.py" real huge "$python" "$TMP/huge.py"
	is "$(jq '.totals.end.scavenged' "$TMP/huge.at")" 2048 "huge: what it returned is scavenged"
}
pattern="^sqlite3 $TMP/t.db" input=$TMP/work.sql real sqlite3 sqlite3 "$TMP/t.db"

# ---- live ----
timeout 300 "$ebt" pages -- "$walk" touch drop >"$TMP/said" 2>"$TMP/report"
is $? 0 "pages -- PROGRAM: its status is the program's"
grep -q '^alloc ' "$TMP/said" && ! grep -q '^alloc ' "$TMP/report" &&
	grep -q 'events of 1 thread in .*, pages of 4.0 KiB' "$TMP/report" &&
	grep -q 'Reconciled with the page tables: [0-9]* pages appeared without a fault' "$TMP/report" &&
	grep -q 'No violation and no damage' "$TMP/report"
ok $? "the report is apart from the program's output" || diag "$(cat "$TMP/report")"
grep -q 'each system call of this machine takes .* more, also of other programs' "$TMP/report"
ok $? "what others pay is told at the start"
timeout 300 "$ebt" pages -- "$walk" kill 2>"$TMP/report"
is $? 137 "as is that it was killed"

# Probes are removed slower than the program ends.
good=0
for i in 1 2 3; do
	timeout 300 "$ebt" pages --json -d 0.2s -o "$TMP/cut.json" -- sh -c 'sleep 0.4; exit 3' 2>"$TMP/err"
	[ $? = 3 ] && [ "$(jq '.totals.end.allocated > 0' "$TMP/cut.json")" = true ] && good=$((good + 1))
done
is $good 3 "-d ends the trace, and the program goes on to its end" || diag "$(cat "$TMP/err" "$TMP/cut.json")"

"$walk" touch stop touch unmap drop stop >"$TMP/said" &
program=$!
children+=($program)
wait_for stopped $program
before=$(rss $program)
: >"$TMP/live.err"
timeout 300 "$ebt" pages -v --json -p $program >"$TMP/live.json" 2>"$TMP/live.err" &
tracer=$!
wait_for grep -q 'attached to' "$TMP/live.err"
kill -CONT $program
sleep 0.1
wait_for stopped $program
has=$(rss $program)
kill -INT $tracer
wait $tracer
is "$? $(jq -c '[.totals.start.allocated, .totals.end.allocated, .totals.growth_pages]' "$TMP/live.json")" \
	"0 [$before,$has,$((has - before))]" "Ctrl-C ends it: from what was there to what is there" || diag "$(cat "$TMP/live.err")"
timeout 300 "$ebt" trace --pages -d 0.2s -o "$TMP/live.ebt" -p $program 2>"$TMP/err"
timeout 300 "$ebt" pages --json -d 0.2s -p $program >"$TMP/live.json" 2>"$TMP/err"
# A capture does not say for how long was watched, which rates are of.
same='del(.start_ns, .from_ns, .to_ns, .totals.growth_pages_per_s, .churn.returned_bytes_per_s, .churn.again_bytes_per_s) | .totals.peak_ns = 0'
jq "$same" "$TMP/live.json" >"$TMP/a"
"$ebt" pages --json "$TMP/live.ebt" 2>"$TMP/err" | jq "$same" >"$TMP/b"
same_file "$TMP/b" "$TMP/a" "a capture has the report that the process has, after a time"
for report in summary totals fragmentation occupancy churn heat lifetimes owners damage map; do
	"$ebt" pages $report "$TMP/python3.ebt" >"$TMP/$report.out" 2>"$TMP/err" && [ -s "$TMP/$report.out" ]
	ok $? "$report is made of a capture" || diag "$(cat "$TMP/err")"
done
grep -q '^tid [0-9]' "$TMP/owners.out" && grep -q '^the kernel' "$TMP/owners.out" && ! grep -q 'P [0-9]' "$TMP/owners.out"
ok $? "the owners are threads, and the kernel" || diag "$(cat "$TMP/owners.out")"
# The interpreter's pages of files are found by reading the page tables.
jq -e '.totals.end.found_allocated > 0 and .totals.end.found_allocated <= .totals.end.allocated and .found_late_ns > 0' \
	"$TMP/python3.at" >"$TMP/jq"
ok $? "pages that were found by reading the page tables are counted, and by how much they are late" || diag "$(cat "$TMP/python3.at")"
grep -q 'the time of the reading that found them, up to [0-9.]* [mu]*s late: [1-9][0-9]* of [1-9][0-9]* pages that appeared' \
	<<<"$("$ebt" pages --at "$((at_python - $(jq .start_ns "$TMP/python3.json")))ns" "$TMP/python3.ebt" 2>"$TMP/err")"
ok $? "the summary says so"
grep -q 'allocated  *found  *most' "$TMP/totals.out" && grep -q '[0-9]  #*o' "$TMP/totals.out"
ok $? "the totals over time have them as a column, and as a character of their own" || diag "$(head -40 "$TMP/totals.out")"
"$ebt" pages map "$TMP/python3.ebt" | grep -q '|.*o'
ok $? "so has the map"
"$ebt" "$TMP/python3.ebt" -f ndjson 2>"$TMP/err" | jq -s -e '[.[] | select(.kind == "page_alloc")] |
	all(if .cause == "file" or .cause == "populated" or .cause == "huge" then .within_us > 0 else .within_us == null end)' >"$TMP/jq"
ok $? "such an event has the time since the reading before, and no other has"
is "$("$ebt" -q "$TMP/python3.ebt" | grep -c ' cause=file within=[0-9.]* [mu]s$' | sed 's/^[1-9].*/some/') $("$ebt" -q "$TMP/python3.ebt" | grep -c '_us=')" \
	"some 0" "which text writes with its unit"
"$ebt" pages -o "$TMP/python3.html" "$TMP/python3.ebt" && grep -q '"names":\["allocated","found allocated","free","found free","returned to the system"\],"late_ns":[1-9]' "$TMP/python3.html"
ok $? "a picture has a legend of five shades"
grep -q '<title>python3[.0-9]* (pid [0-9]*): pages of its address space over time</title>' "$TMP/python3.html"
ok $? "and the name of the program, which the capture has" || diag "$(grep -o '<title>[^<]*' "$TMP/python3.html")"
for picture in svg png html; do
	timeout 300 "$ebt" pages -o "$TMP/live.$picture" -d 0.1s -p $program 2>"$TMP/err" && [ -s "$TMP/live.$picture" ]
	ok $? "a $picture is drawn of a running process" || diag "$(cat "$TMP/err")"
done
# ---- as a page trace of Go ----
timeout 300 "$ebt" pages -d 0.1s -o "$TMP/live.pt" -p $program 2>"$TMP/err"
grep -q 'pages of 4 KiB were rounded to the page trace.s 8 KiB: of [0-9]* events, [0-9]* were widened' "$TMP/err" &&
	grep -q 'no threads' "$TMP/err"
ok $? "-o x.pt says what it rounded" || diag "$(cat "$TMP/err")"
is "$("$ebt" pages --json "$TMP/live.pt" | jq -c '[.page_bytes, .of, .damage.has_boot]')" '[8192,"heap",true]' \
	"what was there is of P -1"
timeout 300 "$ebt" pages -d 0.1s -o "$TMP/live.ebt" -p $program 2>"$TMP/err"
is "$("$ebt" pages --json "$TMP/live.ebt" | jq -c '[.page_bytes, .of, .totals.end.allocated]')" "[4096,\"address_space\",$has]" \
	"-o x.ebt records, also from pages"
kill -KILL $program
wait $program 2>/dev/null

# halves FILE: the most pages of 8 KiB at once of which a half is allocated, and those at the end.
halves() {
	perl -ne 'no warnings "portable";
		/"kind":"page_(\w+)".*"addr":"0x(\w+)","pages":(\d+).*"pid":(\d+)/ or next;
		my ($what, $at, $pages, $pid) = ($1, hex($2) / 4096, $3, $4);
		$own //= $pid;
		next if $pid != $own;
		for my $p ($at .. $at + $pages - 1) {
			my $q = $p >> 1;
			$n-- if $half{$q};
			$what eq "alloc" ? ($half{$q} |= 1 << ($p & 1)) : ($half{$q} &= ~(1 << ($p & 1)));
			$n++ if $half{$q};
		}
		$most = $n if $n > $most;
		END { printf "[%d,%d]\n", $most, $n }' "$1"
}
timeout 300 "$ebt" trace --pages -o "$TMP/walk.ebt" -- "$walk" touch unmap drop move brk over populate threads churn rest >"$TMP/out" 2>&1
for name in python3 sqlite3 walk; do
	"$ebt" trace "$TMP/$name.ebt" -o "$TMP/$name.pt" 2>"$TMP/err"
	"$ebt" trace "$TMP/$name.ebt" -o "$TMP/$name.ndjson" 2>"$TMP/err"
	"$ebt" pages --json "$TMP/$name.pt" >"$TMP/$name.json" 2>"$TMP/err"
	is "$(jq -c '.damage | [.double_allocs, .double_frees, .scavenged_allocated, .scavenged_unseen_pages, .untracked, .has_boot]' "$TMP/$name.json")" \
		"[0,0,0,0,0,true]" "$name as a page trace is complete"
	is "$(jq -c '[.totals.peak_pages, .totals.end.allocated]' "$TMP/$name.json")" "$(halves "$TMP/$name.ndjson")" \
		"$name: a page is allocated while a half of it is"
	"$ebt" pages - <"$TMP/$name.pt" 2>"$TMP/err" | grep -q 'No violation and no damage'
	ok $? "$name: also in a pipe"
done

# A child has an address space of its own.
"$ebt" trace --pages -o "$TMP/fork.ebt" -- "$walk" touch fork >"$TMP/out" 2>&1
"$ebt" "$TMP/fork.ebt" -o "$TMP/fork.ndjson" 2>"$TMP/err"
parent=$(jq -s '[.[].pid | values][0]' "$TMP/fork.ndjson")
child=$(jq -r 'select(.change == "fork").child' "$TMP/fork.ndjson")
events() { jq -s "[.[] | select((.kind | startswith(\"page_\")) and .pid == $1)] | length" "$TMP/fork.ndjson"; }
"$ebt" pages --json "$TMP/fork.ebt" >"$TMP/first.json"
is "$(jq .other_events "$TMP/first.json")" "$(events "$child")" "the report is of the first process; the events of others are counted"
is "$("$ebt" pages --json -p "$child" "$TMP/fork.ebt" | jq .other_events)" "$(events "$parent")" "-p selects another one of a file"
"$ebt" pages -p "$child" "$TMP/fork.ebt" | grep -q 'No violation'
ok $? "which begins with its parent's pages"

# ---- what does not work ----
refused() { # STATUS PATTERN SENTENCE ARGUMENTS...
	local wanted=$1 pattern=$2 sentence=$3
	shift 3
	timeout 300 "$@" >"$TMP/out" 2>"$TMP/err"
	[ $? = "$wanted" ] && grep -q -- "$pattern" "$TMP/err"
	ok $? "$sentence" || diag "$(cat "$TMP/err")"
}
if command -v setpriv >/dev/null; then
	install -m 755 "$ebt" "$TMP/ebtrace"
	chmod 755 "$TMP"
	nobody="setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --ambient-caps=-all --bounding-set=-all"
	refused 7 'pages are watched through BPF: .*CAP_BPF, CAP_PERFMON and CAP_DAC_READ_SEARCH, or root' \
		"without privilege it says what is missing" $nobody "$TMP/ebtrace" pages -p $$
	refused 7 'CAP_BPF, CAP_PERFMON and CAP_DAC_READ_SEARCH, or root' "also of a program, which is not run" \
		$nobody "$TMP/ebtrace" pages -- touch "$TMP/was-run"
	[ ! -e "$TMP/was-run" ]
	ok $? "indeed"
	caps=-all,+bpf,+perfmon,+dac_read_search
	refused 0 'events of 1 thread' "with these three it works" setpriv --reuid 65534 --regid 65534 --clear-groups \
		--inh-caps=$caps --ambient-caps=$caps --bounding-set=$caps "$TMP/ebtrace" pages -- true
fi
refused 5 'no process' "there may be no such process" "$ebt" pages -p 4194303
refused 2 'pages of what?' "it needs something to report" "$ebt" pages
refused 2 'pages reports one process' "one process" "$ebt" pages -p 1 -p 2
refused 2 'excludes' "not a process and a program" "$ebt" pages -p 1 -- true

# The pictures name program and mappings, whose names are the program's choice.
hostile='<b>"&<!--<script>'
cp /bin/sleep "$TMP/$hostile"
for format in svg html png; do
	timeout 300 "$ebt" pages -q -o "$TMP/hostile.$format" -- "$TMP/$hostile" 1 2>"$TMP/err"
	is $? 0 "hostile.$format" || diag "$(cat "$TMP/err")"
done
xmllint --noout "$TMP/hostile.svg" 2>"$TMP/err"
ok $? "is well-formed" || diag "$(cat "$TMP/err")"
grep -q '<title>&lt;b&gt;&quot;&amp;&lt;!--&lt;scrip (pid [0-9]*): pages of its address space over time</title>' "$TMP/hostile.svg"
ok $? "its title has the program and the process" || diag "$(grep -m 1 '<title>' "$TMP/hostile.svg")"
grep -o '<title>[^<]*, 0x[0-9a-f]* to 0x[0-9a-f]*</title>' "$TMP/hostile.svg" | sed 's/<title>//; s/, 0x.*//' | sort -u >"$TMP/names"
for name in '\[heap\]' '\[stack\]' libc.so.6 '&lt;b&gt;&quot;&amp;&lt;!--&lt;script&gt;'; do
	grep -qx "$name" "$TMP/names"
	ok $? "a mapping is $name" || diag "$(cat "$TMP/names")"
done
timeout 300 "$ebt" trace --pages -q -o "$TMP/hostile.ebt" -- "$TMP/$hostile" 1 2>"$TMP/err"
"$ebt" pages -q -o "$TMP/capture.html" "$TMP/hostile.ebt"
sed -n 's/.*id="facts">\(.*\)<.script>$/\1/p' "$TMP/capture.html" | jq -r '.mappings[].name' | sort -u >"$TMP/names"
grep -qxF "$hostile" "$TMP/names" && grep -qx '\[stack\]' "$TMP/names" && grep -qx libc.so.6 "$TMP/names"
ok $? "so are those of a capture" || diag "$(cat "$TMP/names")"
"$ebt" -q -o "$TMP/again.ebt" "$TMP/hostile.ebt" && "$ebt" pages -q -o "$TMP/again.html" "$TMP/again.ebt"
cmp "$TMP/again.html" "$TMP/capture.html"
ok $? "and of one that is made from it"
sed -n 's/.*id="facts">\(.*\)<.script>$/\1/p' "$TMP/hostile.html" | jq -r '.mappings[].name' | sort -u >"$TMP/names"
grep -qxF "$hostile" "$TMP/names" && grep -qx '\[heap\]' "$TMP/names" && ! grep -qF "$hostile" "$TMP/hostile.html"
ok $? "hostile.html has them, too" || diag "$(cat "$TMP/names")"

# Of a run nothing of another process is kept: what would keep it is named.
timeout 300 "$ebt" pages -- sh -c '/bin/true; /bin/true; exit 0' >"$TMP/out" 2>"$TMP/err"
is "$? $(sed -n 's/^[1-9][0-9]* events of other processes are left out; //p' "$TMP/err")" "0 ebtrace trace --pages -o FILE.ebt records all" \
	"a program with children: the line says what would record them, too" || diag "$(cat "$TMP/err")"
done_testing
