#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# mutants.pl on a small tree: what it draws, and what it calls noticed.
. tests/lib.sh
need_command git
tree=$TMP/tree
mkdir -p "$tree"/user/base "$tree"/tests/{unit/base,cli,live,attack} && cp tests/mutants.pl tests/one.sh "$tree/tests/" &&
	cp tests/longest "$tree/tests/"
cat >"$tree/user/base/add.c" <<'END'
/* A comment: 1 + 1. */
int add(int a, int b)
{
	return a + b;
}
int is_less(int a, int b)
{
	return a < b;
}
int is_wide(int a)
{
	return sizeof(a) > 1u;
}
int two(void)
{
	return 3 - 1;
}
int no_more(void)
{
	unsigned char x[] = {[7] = 7};
	return x[7] == 7;
}
END
cat >"$tree/tests/unit/base/test_add.c" <<'END'
int add(int, int), is_less(int, int);
int main(void)
{
	return add(2, 3) != 5 || !is_less(1, 2) || is_less(2, 1);
}
END
cat >"$tree/Makefile" <<'END'
all made-up: build/two
tests: all build/tests/unit/base/test_add
sanitized: ; mkdir -p build/asan/tests/unit/base && $(CC) -fsanitize=undefined -o build/asan/tests/unit/base/test_add tests/unit/base/test_add.c user/base/add.c
build/user/base/add.o: user/base/add.c ; mkdir -p $(@D) && $(CC) -c -o $@ $<
build/tests/unit/base/test_add: build/user/base/add.o ; mkdir -p $(@D) && $(CC) -o $@ tests/unit/base/test_add.c $<
build/two: build/user/base/add.o ; echo 'int two(void); int main(void) { return two(); }' | $(CC) -o $@ -x c - -x none $<
END
printf '#!/bin/sh\nexit 0\n' >"$tree/tests/cli/20-quiet.t"
printf '#!/bin/sh\nbuild/two\n[ $? = 2 ]\n' >"$tree/tests/live/10-two.t"
# It fails when it runs first, and then no more.
printf '#!/bin/sh\n! mkdir %s 2>/dev/null\n' "$TMP/once" >"$tree/tests/attack/once.t"
chmod 755 "$tree"/tests/*/*.t
(cd "$tree" && git init -q && git add -A)
mutants() { (cd "$tree" && env -u O tests/mutants.pl "$@") >"$TMP/out" 2>"$TMP/err"; }

mutants --draw --seed 7
is "$? $(grep -c '^[0-9]' "$TMP/out")" "0 6" "each line with code that can change is drawn once" || cat "$TMP/out" "$TMP/err"
cp "$TMP/out" "$TMP/first"
mutants --draw --seed 7
same_file "$TMP/out" "$TMP/first" "a seed draws the same changes each time"
mutants --draw --seed 7 --only 2
is "$(cat "$TMP/out")" "$(awk '/^[0-9]/ { on = /^2\t/ } on' "$TMP/first")" "and one of them by its number"
(cd "$tree" && tests/mutants.pl --colour red) >"$TMP/out" 2>"$TMP/err"
is "$? $(grep -c '^usage: ' "$TMP/err")" "255 1" "an option that it does not have is said"

mutants --seed 7 --tree "$TMP/copy"
is "$?" 1 "that a change goes unnoticed is its status" || cat "$TMP/out" "$TMP/err"
# result LINE: what is said of the change at a line.
result() { awk -v line="$1" '/^[0-9]/ { at = $2 } at == "user/base/add.c:" line && !/^[-+0-9]/' "$TMP/out"; }
# It runs beside the same one with ASan, which may be the first to fail.
is "$(result 4 | sed 's,/asan/,/,')" "noticed by build/tests/unit/base/test_add" "a unit test of the folder notices"
is "$(result 8)" "NOT NOTICED" "what no test asks goes unnoticed, though a test beside failed once"
is "$(result 12)" "is no other program" "a change from which the compiler makes the same code is none"
is "$(result 16)" "noticed by tests/live/10-two.t" "a live test notices what unit tests do not"
is "$(tail -n 1 "$TMP/out" | sed 's/[0-9]* of [0-9]* /N of N /')" "N of N noticed" "the score is the last line"
same_file "$TMP/copy/user/base/add.c" "$tree/user/base/add.c" "the copy is as it was"
is "$(cd "$tree" && git diff --stat && git ls-files --others)" "" "and nothing is left in the checkout"
number=$(awk '$2 == "user/base/add.c:16" { print $1 }' "$TMP/first")
mutants --seed 7 --tree "$TMP/copy" --only "$number" --tests tests/cli/20-quiet.t
is "$? $(tail -n 1 "$TMP/out")" "1 0 of 1 noticed" "only the tests run that are asked for"
mutants --seed 7 --tree "$TMP/copy" --units
is "$(result 16)" "NOT NOTICED" "or the unit tests of the folder"
done_testing
