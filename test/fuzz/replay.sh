#!/bin/sh
# replay.sh - each fuzz target over its corpus, then a short run; TAP.
# SPDX-License-Identifier: ISC
: "${srcdir:=.}"
: "${FUZZ_RUNS:=5000}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
set -- $FUZZ_TARGETS
echo "1..$#"
n=0
for target; do
	n=$((n + 1))
	name=${target##*/fuzz_}
	corpus=$srcdir/test/fuzz/corpus/$name
	if ! [ -d "$corpus" ]; then
		echo "not ok $n - $name: no corpus"
		continue
	fi
	mkdir "$work/$name"
	if "./$target" -runs=0 "$corpus" >"$work/output.txt" 2>&1 &&
	    "./$target" -runs="$FUZZ_RUNS" -seed=1 -max_len=4096 \
	    -artifact_prefix="$work/" "$work/$name" "$corpus" \
	    >>"$work/output.txt" 2>&1; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		sed 's/^/# /' "$work/output.txt"
	fi
done
