#!/bin/sh
# embed.sh - FILE...: a C file that has them as arrays, for page.h.
# SPDX-License-Identifier: ISC
set -e
echo '/* made by embed.sh */'
echo '#include "http/page.h"'
n=0
for file; do
	echo "static const unsigned char file_$n[] = {"
	od -An -v -tx1 "$file" | sed 's/\([0-9a-f][0-9a-f]\)/0x\1,/g'
	echo '};'
	n=$((n + 1))
done
echo 'struct page_data page_data(enum page_file file)'
echo '{'
echo '	static const struct page_data files[] = {'
i=0
while [ "$i" -lt "$n" ]; do
	echo "		{ (const char *)file_$i, sizeof file_$i },"
	i=$((i + 1))
done
echo '	};'
echo '	return files[file];'
echo '}'
