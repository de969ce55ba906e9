#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs of Debian run with the recorder as without: the same output, messages and status, while
# threads, children, errors and large heaps are recorded.
. tests/lib.sh
unset -f jq # it is a program that is recorded
ebt=$O/ebtrace
PATH=/usr/bin:$PATH
for command in perl python3 sqlite3 xz jq xmllint; do
	need_command $command
done

# same NAME STATUS INPUT PROGRAM...: the program reads INPUT.
same() {
	local name=$1 want=$2 input=$3
	shift 3
	"$@" <"$input" >"$TMP/stdout" 2>"$TMP/stderr"
	local status=$?
	rm -f "$TMP/out.ctf"
	"$ebt" mem record -q --rate 1e-3 -o "$TMP/out.ctf" -- "$@" <"$input" >"$TMP/stdout.recorded" 2>"$TMP/stderr.recorded"
	is "$? $status" "$want $want" "$name: it has its status, $want"
	cmp "$TMP/stdout.recorded" "$TMP/stdout"
	ok $? "$name: its output"
	cmp "$TMP/stderr.recorded" "$TMP/stderr"
	ok $? "$name: its messages"
	is "$("$ebt" info "$TMP/out.ctf" | grep -c 'damage  *none') $("$ebt" -q -f ndjson "$TMP/out.ctf" |
		grep -c '"kind":"alloc"' | awk '{ print ($1 > 20) }')" "1 1" "$name: its trace has allocations, and no damage"
}

cat >"$TMP/heap.pl" <<'END'
use strict; use warnings;
my %count;
for my $i (1 .. 60000) {
	my $word = sprintf "%x", $i * 2654435761 % 65521;
	push @{ $count{length $word}{substr $word, 0, 2} }, scalar reverse $word;
}
for my $length (sort keys %count) {
	my $all = join ",", map { my $k = $_; "$k=" . scalar grep { /[aeiou]/i } @{ $count{$length}{$k} } } sort keys %{ $count{$length} };
	print "$length $all\n";
}
$| = 1;
defined(my $pid = fork) or die;
if (!$pid) { my @copy = (%count) x 3; print "child ", scalar @copy, "\n"; exit 5 }
waitpid $pid, 0;
print "parent ", $? >> 8, " ", qx(echo from a shell);
local $SIG{USR1} = sub { my @list = map { "x" x $_ } 1 .. 500; print "signal ", length(join "", @list), "\n" };
kill USR1 => $$ for 1 .. 20;
eval { die { code => 7 } };
warn "caught $@->{code}\n";
die "the end\n";
END
same "perl" 255 /dev/null perl "$TMP/heap.pl"

cat >"$TMP/heap.py" <<'END'
import concurrent.futures, json, re, subprocess, sys, zlib
def work(n):
    table = {i: [str(i * j) for j in range(20)] for i in range(n, n + 1000)}
    text = json.dumps(table, sort_keys=True)
    assert {int(k): v for k, v in json.loads(text).items()} == table
    return zlib.crc32(text.encode()), len(re.findall("7+", text))
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    for result in pool.map(work, range(0, 16000, 1000)):
        print(result)
print(subprocess.run(["sh", "-c", "echo child; exit 3"], capture_output=True).returncode)
print("to stderr", file=sys.stderr)
try:
    bytearray(1 << 62)
except MemoryError:
    print("no memory")
sys.exit(9)
END
same "python3" 9 /dev/null python3 "$TMP/heap.py"

cat >"$TMP/script.sql" <<'END'
create table t(id integer primary key, name text, value real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
	insert into t select i, printf('%x-%d', i * 2654435761 % 65521, i), i * 0.5 from n;
create index by_name on t(name);
select substr(name, 1, 1), count(*), group_concat(id % 7) from t group by 1;
select a.name, b.value from t a join t b on a.id = b.id / 2 order by a.name limit 5;
delete from t where id % 3;
select count(*), sum(value) from t;
select nothing from nowhere;
END
same "sqlite3" 1 "$TMP/script.sql" sqlite3 -bail :memory:

sed -n 'p;p;p;p;p;p;p;p' tests/*.sh include/ebtrace/*.h >"$TMP/text"
same "xz in threads" 0 "$TMP/text" xz -9 -T4 --block-size=65536 -c
jq -Rn '[inputs | {line: ., words: split(" ")}]' <"$TMP/text" >"$TMP/lines.json"
same "jq" 5 "$TMP/lines.json" jq '(group_by(.words | length) | map({n: length, last: .[-1].line})), error("over")'
echo "<a>$(seq -f '<b n="%g">text &lt;</b>' 20000)</c>" >"$TMP/wrong.xml"
same "xmllint" 0 "$TMP/wrong.xml" xmllint --recover --format -
done_testing
