# SPDX-License-Identifier: BSD-2-Clause
# What watching pages through the kernel costs: sourced by run.sh.
# pages_bystander_*: what a system call of a program that is not traced takes longer: of one that is
# not of memory, and of a pair of mmap and munmap; beside bpftrace with the same ten tracepoints.
# pages_*: the same pair, or a page fault, of a traced program; pages_slowdown_*: its wall time, and
# pages_cpu_* its CPU time, beside its own. Beside perf trace -F all, else, faults alone, bpftrace at
# the tracepoint of page faults.
# pages_short: wall time of the summary of a program that runs for some 23 ms, beside its own.
pages_turns=3

pages_calls=(munmap mmap mremap brk madvise)
pages_python='
kept = []
for i in range(300):
    kept.append([str(k) * 8 for k in range(4000)])
    if i % 3: del kept[0]'
pages_sql='create table t(a integer primary key, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 150000)
	insert into t select x, hex(randomblob(40)) from c;
create index i on t(b); select count(*) from t join t u on t.b = u.b;'

# pages_watched KIND COMMAND...: while pages of a process that sleeps are watched, by us or by bpftrace
pages_watched() {
	local kind=$1 watcher victim status script= call
	shift
	sleep 1000 &
	victim=$!
	: >"$tmp/watch.log"
	if [ "$kind" = ours ]; then
		"$ebtrace" trace --pages -v -f ndjson -o /dev/null -p $victim 2>"$tmp/watch.log" &
		watcher=$!
		wait_until grep -q 'attached to' "$tmp/watch.log"
	else
		for call in "${pages_calls[@]}"; do
			script+="tracepoint:syscalls:sys_enter_$call /pid == $victim/ { @n = count(); }
				tracepoint:syscalls:sys_exit_$call /pid == $victim/ { @n = count(); } "
		done
		bpftrace -e "$script" >"$tmp/watch.log" 2>&1 &
		watcher=$!
		wait_until grep -q Attaching "$tmp/watch.log"
		sleep 1 # it says so before its probes are in place
	fi
	"$@"
	status=$?
	kill -INT $watcher
	wait $watcher
	wait_until pages_removed
	kill $victim
	wait $victim 2>/dev/null
	return $status
}

# pages_run NAME KIND COMMAND...: a line of $tmp/pages_NAME_KIND, of the command's own number
pages_run() {
	local name=$1 kind=$2
	shift 2
	rm -f "$tmp/cost"
	"$@" >/dev/null 2>"$tmp/err" && cat "$tmp/cost" >>"$tmp/pages_${name}_$kind" ||
		{ failed "pages $name $kind: $(tail -1 "$tmp/err")"; return 1; }
}

# pages_least NAME_KIND [FIELD]: 1, or of programs 2, their CPU time
pages_least() { cut -d' ' -f"${2:-1}" "$tmp/pages_$1" | sort -g | head -1; }
pages_added() { calc "$(pages_least "${1}_$2") - $(pages_least "${1}_bare")"; }
pages_ratio() { calc "$(pages_least "${1}_$2" "$3") / $(pages_least "${1}_bare" "$3")"; }

# Tracepoints are removed behind the end of a run.
pages_removed() { ! pgrep -x close-links >/dev/null; }
pages_ours() { "$ebtrace" trace --pages -q -f ebt -o "$tmp/pages.ebt" -- "$@"; }
pages_reported() { "$ebtrace" pages -q -o "$tmp/pages.txt" -- "$@"; }
pages_theirs() {
	if [ "$pages_peer" = bpftrace ]; then
		bpftrace -e 'tracepoint:exceptions:page_fault_user /pid == cpid/ { printf("%d %lx\n", tid, args->address); }' \
			-c "$*" -o "$tmp/pages.peer"
	else
		perf trace -F all --no-syscalls -o "$tmp/pages.peer" -- "$@"
	fi
}

bench_pages() {
	local turn kind loop=$O/tests/bench/bench_pages
	command -v bpftrace >/dev/null || { failed "no bpftrace"; return 0; }
	pages_peer="perf trace -F all"
	perf trace -F all --no-syscalls -o "$tmp/pages.peer" -- true >/dev/null 2>&1 || pages_peer=bpftrace
	rm -f "$tmp"/pages_*
	for ((turn = 0; turn < pages_turns; turn++)); do
		for kind in getppid munmap; do
			pages_run $kind bare "$loop" $kind "$tmp/cost" || return 0
			pages_run $kind ours pages_watched ours "$loop" $kind "$tmp/cost" || return 0
			[ $turn -ge 2 ] || pages_run $kind theirs pages_watched theirs "$loop" $kind "$tmp/cost" || return 0
		done
		wait_until pages_removed
		pages_run fault bare "$loop" fault "$tmp/cost" || return 0
		pages_run fault ours pages_ours "$loop" fault "$tmp/cost" || return 0
		pages_run fault theirs pages_theirs "$loop" fault "$tmp/cost" || return 0
		pages_run munmap traced pages_ours "$loop" munmap "$tmp/cost" || return 0
		bench_pages_short || return 0
		bench_pages_program python3 "$(python3 -c 'import sys; print(sys.executable)')" -c "$pages_python" || return 0
		bench_pages_program sqlite3 sqlite3 :memory: "$pages_sql" || return 0
	done
	for kind in getppid munmap; do
		row pages_bystander_$kind ns "$(pages_added $kind ours)" \
			",\"theirs\":$(pages_added $kind theirs),\"peer\":\"bpftrace\""
	done
	row pages_munmap ns "$(pages_added munmap traced)"
	row pages_fault ns "$(pages_added fault ours)" ",\"theirs\":$(pages_added fault theirs),\"peer\":\"$pages_peer\""
	row pages_short ms "$(calc "$(pages_least short_ours) * 1e3")" \
		",\"limit\":$(calc "$(pages_least short_bare) * 1e3"),\"goal\":300"
	for kind in python3 sqlite3; do
		pages_program_rows $kind slowdown 1
		pages_program_rows $kind cpu 2
	done
}

# pages_program_rows PROGRAM WHAT FIELD
pages_program_rows() {
	local theirs=
	[ "$pages_peer" = bpftrace ] || theirs=",\"theirs\":$(pages_ratio "$1" theirs "$3"),\"peer\":\"$pages_peer\""
	row "pages_$2_$1" x "$(pages_ratio "$1" ours "$3")" ",\"limit\":1$theirs"
}

bench_pages_short() {
	wait_until pages_removed
	pages_run short bare "$usage" "$tmp/cost" sleep 0.023 &&
		pages_run short ours "$usage" "$tmp/cost" "$ebtrace" pages -q -o "$tmp/pages.txt" -- sleep 0.023
}

# bench_pages_program NAME COMMAND...: its times, by bench_usage, which is watched, too
bench_pages_program() {
	local name=$1
	shift
	wait_until pages_removed
	pages_run "$name" bare "$usage" "$tmp/cost" "$@" &&
		pages_run "$name" ours pages_reported "$usage" "$tmp/cost" "$@" || return 1
	[ "$pages_peer" = bpftrace ] || pages_run "$name" theirs pages_theirs "$usage" "$tmp/cost" "$@"
}
