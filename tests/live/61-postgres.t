#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The queries of PostgreSQL by its own markers: each exactly once over all connections, those that the server forked
# before and those that it forks later; errors, which leave a query by a longjmp; blocked time; and another server of
# the same program, which pays nothing.
. tests/lib.sh
need_root
need_command jq
need_command setpriv
bin=/usr/lib/postgresql/15/bin
need_file $bin/postgres
need_file $bin/pgbench
pair='postgresql:query__start~postgresql:query__done'
chmod 755 "$TMP"
# A program that no other server on this machine runs.
cp $bin/postgres "$TMP/postgres"

as_postgres() { (cd / && exec setpriv --reuid=postgres --regid=postgres --clear-groups "$@"); }
declare -A server fd tracer
start_server() { # NAME
	local dir=$TMP/$1
	mkdir "$dir" && chown postgres "$dir"
	as_postgres $bin/initdb -D "$dir" -A trust -N --no-instructions >"$TMP/initdb.$1" 2>&1 || diag "$(cat "$TMP/initdb.$1")"
	as_postgres $bin/pg_ctl -p "$TMP/postgres" -D "$dir" -l "$dir/log" -w \
		-o "-c listen_addresses='' -c unix_socket_directories=$dir -c fsync=off -c autovacuum=off" start >/dev/null
	at_end "as_postgres $bin/pg_ctl -D '$dir' -m immediate stop >/dev/null 2>&1"
	server[$1]=$(head -1 "$dir/postmaster.pid")
}
# Runs in the background, without our ends of the connections' pipes.
alone() {
	local f
	for f in "${fd[@]}"; do eval "exec $f>&-"; done
	exec "$@"
}
sql() { alone $bin/psql -X -A -t -h "$TMP/$1" -U postgres postgres; }
connect() { # NAME SERVER: a connection that waits for queries
	local in
	mkfifo "$TMP/$1.in"
	sql "$2" <"$TMP/$1.in" >"$TMP/$1.out" 2>"$TMP/$1.err" &
	children+=($!)
	exec {in}>"$TMP/$1.in"
	fd[$1]=$in
	query "$1" "select 'ready'"
}
query() { # NAME SQL: and its answer, of one line
	local n
	n=$(cat "$TMP/$1.out" "$TMP/$1.err" | grep -c '^')
	echo "$2;" >&"${fd[$1]}"
	wait_for eval "[ \"\$(cat '$TMP/$1.out' '$TMP/$1.err' | grep -c '^')\" -gt $n ]"
}
attach() { # NAME ARGS...: spans of the server of that name
	local name=$1
	shift
	rm -f "$TMP/$name.log" # of an earlier tracer
	alone "$O/ebtrace" -v -o "$TMP/$name.ebt" --blame -p "${server[$name]}" -U "$pair" "$@" 2>"$TMP/$name.log" &
	tracer[$name]=$!
	children+=($!)
	wait_for grep -qs "attached to [1-9].* ${server[$name]}\$" "$TMP/$name.log" || diag "$(cat "$TMP/$name.log")"
}
finish() { # NAME: what its spans are, in NAME.json
	sleep 0.3
	kill -INT "${tracer[$1]}"
	wait "${tracer[$1]}"
	is $? 0 "$1: the tracer ends well" || diag "$(cat "$TMP/$1.log")"
	ends_with 0 "$O/ebtrace" spans -q --json --top 100 "$TMP/$1.ebt" >"$TMP/$1.json"
	mv "$TMP/$1.ebt" "$TMP/$1.last.ebt"
}
counted() { jq -c '.spans[] | [.count, .not_ended, .open_at_begin, .open_at_end, .cut_by_loss]' "$TMP/$1.json"; }
part() { jq "[.spans[].parts[] | select(.part == \"$2\" and (\"$3\" == \"\" or .of == \"$3\")).ns] | add // 0" "$TMP/$1.json"; }
# The byte of the begin's instruction in a process's memory.
site=$("$O/ebtrace" list --json "$TMP/postgres" | jq -r '[.markers[] | select(.name == "query__start").offset] | first')
byte_of() {
	local start off
	while read -r range perms off _ _ path; do
		[ "$path" = "$TMP/postgres" ] && [ "${perms:2:1}" = x ] || continue
		start=$((0x${range%-*} - 0x$off + site))
		dd if="/proc/$1/mem" bs=1 skip=$start count=1 2>/dev/null | od -An -tx1 | tr -d ' '
	done <"/proc/$1/maps"
}

[ "$("$O/ebtrace" list --json "$TMP/postgres" | jq '[.markers[] | select(.provider == "postgresql")] | length')" -ge 71 ]
ok $? "the server has 71 markers, or more sites of them"
start_server one

# Every query, of connections that were there, and of eight that come.
connect before one
attach one
for i in 1 2 3; do query before "select $i"; done
echo "select 1;" >"$TMP/one.sql"
(cd "$TMP" && alone $bin/pgbench -n -M simple -c 8 -j 2 -t 1249 -h "$TMP/one" -U postgres -f "$TMP/one.sql" postgres) >"$TMP/pgbench" 2>&1
is "$(grep -c 'processed: 9992/9992' "$TMP/pgbench")" 1 "8 connections ask 9992 queries" || diag "$(cat "$TMP/pgbench")"
for i in 4 5 6 7 8; do query before "select $i"; done
finish one
if shares; then
	is "$(counted one)" "[10000,0,0,0,0]" "each of 10,000 queries is one span, from the first of each connection on" || diag "$(tail -30 "$TMP/one.log")"
	is "$(grep -c 'not watched' "$TMP/one.log")" 0 "each process was watched from its begin"
else
	jq -e '.spans[] | .count <= 10000 and .count > 9000' "$TMP/one.json" >/dev/null
	ok $? "10,000 queries are spans, but for those before a connection was probed"
	grep -q 'not watched' "$TMP/one.log"
	ok $? "which is reported"
fi
is "$(jq -c '[.spans[], .slowest[] | select((.total_ns // .ns) != ([.parts[].ns] | add))]' "$TMP/one.json")" "[]" "parts add up"
is "$("$O/ebtrace" -q -f ndjson "$TMP/one.last.ebt" | jq -s '[.[] | select(.kind == "span_begin").pid] | unique | length')" 9 \
	"they are those of nine processes"
is "$("$O/ebtrace" -q -f ndjson "$TMP/one.last.ebt" | grep -c 'select 1')" 0 "no text of a query is recorded"

# Errors leave a query; what follows is whole.
attach one
for i in 1 2 3 4 5; do
	query before 'select 1/0'
	query before "select $i"
done
query before 'select 1/0'
finish one
is "$(counted one)" "[5,5,0,1,0]" "a query that ends by an error is not ended once the next begins, those behind it count"
jq -e '.spans[] | .max_ns < 1000000000' "$TMP/one.json" >/dev/null
ok $? "with their own lengths"
is "$("$O/ebtrace" -q -f chrome "$TMP/one.last.ebt" | jq -r '.[] | select(.cat == "user") | "\(.ph)\(.args.cut // "")"' | sort | uniq -c | tr -s ' \n' ' ')" \
	" 11 b 5 e 5 enot_ended 1 eunfinished " "a timeline ends each where the next begins"

# What queries are blocked in: a sleep, and a lock that another connection has for 300 ms.
query before 'create table t (i int)'
query before 'insert into t values (1)'
connect locks one
connect waits one
connect activity one
query before 'create table watched ()'
attach one
# The server's own account of that: the time that its views show a query waiting, and the longest time between two looks.
echo "do \$\$
declare waits int; now timestamptz; was timestamptz := clock_timestamp(); ns bigint := 0; step bigint := 0; longest bigint := 0;
begin
	while exists (select from pg_class where relname = 'watched') loop
		perform pg_stat_clear_snapshot();
		select count(*) into waits from pg_stat_activity
			where state = 'active' and wait_event is not null and pid <> pg_backend_pid();
		now := clock_timestamp();
		step := extract(epoch from now - was) * 1e9;
		ns := ns + waits * step;
		longest := greatest(longest, step);
		was := now;
		perform pg_sleep(0.002);
	end loop;
	raise notice 'watched % %', ns, longest;
end \$\$;" >&"${fd[activity]}"
query before 'select pg_sleep(0.25)'
query locks 'begin'
query locks 'update t set i = 2'
echo "update t set i = 3; select 'done';" >&"${fd[waits]}"
wait_for eval "echo \"select count(*) from pg_stat_activity where wait_event_type = 'Lock'\" | sql one | grep -qx 1"
sleep 0.3
query locks 'commit'
wait_for grep -q '^done' "$TMP/waits.out"
finish one
blocked=$(part one blocked '')
query before 'drop table watched'
wait_for grep -q watched "$TMP/activity.err"
read -r activity longest < <(sed -n 's/.*watched //p' "$TMP/activity.err")
# Of each of two waits the begin and the end lie between two looks.
off=$((blocked > activity ? blocked - activity : activity - blocked))
[ "$activity" -gt 500000000 ] && [ $off -le $((4 * longest + blocked / 50)) ]
ok $? "as long as the server's own view of its activity shows them to wait" || diag "$blocked, $activity by steps of up to $longest"
all=$(jq '.spans[].total_ns' "$TMP/one.json")
[ "$blocked" -ge 550000000 ] && [ "$blocked" -le "$all" ]
ok $? "queries are blocked while they sleep, and while they wait for a lock" || diag "$blocked of $all: $(jq -c '.spans[].parts' "$TMP/one.json")"
jq -e '[.slowest[:2][] | ([.parts[] | select(.part == "blocked").ns] | add) / .ns > 0.9] == [true, true] and
	([.slowest[:2][].tid] | unique | length) == 2' "$TMP/one.json" >/dev/null
ok $? "these two are the slowest, of two connections" || diag "$(jq -c '.slowest[:2][]' "$TMP/one.json" | cut -c1-300)"

# Another server of the same program: one that runs already, and one that comes.
idle=$(byte_of "${server[one]}")
start_server two
connect other two
attach one
is "$(byte_of "${server[two]}")" "$idle" "a server that runs already has no probe"
[ "$(byte_of "${server[one]}")" = cc ]
ok $? "the one that is traced has" || diag "$(byte_of "${server[one]}"), $(cat "$TMP/one.log")"
for i in 1 2 3; do query other "select $i"; done
for i in 1 2 3 4; do query before "select $i"; done
finish one
is "$(counted one)" "[4,0,0,0,0]" "and its queries are not recorded"
eval "exec ${fd[other]}>&-"
unset "fd[other]"
as_postgres $bin/pg_ctl -D "$TMP/two" -m immediate -w stop >/dev/null
attach one
start_server three
connect third three
rid() { [ "$(byte_of "${server[three]}")" = "$idle" ]; }
query third 'select 1'
wait_for rid
ok $? "one that comes later is rid of it soon after its first query"
query before 'select pg_backend_pid()'
backend=$(tail -1 "$TMP/before.out")
probed() { [ "$(byte_of "$backend")" = cc ]; }
wait_for probed
for i in 1 2 3 4; do query before "select $i"; done
finish one
jq -e '.spans[].count | IN(4, 5)' "$TMP/one.json" >/dev/null
ok $? "the traced one is probed all the same" || diag "$(counted one)" "$(cat "$TMP/one.log")"
done_testing
