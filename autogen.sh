#!/bin/sh
# autogen.sh - make configure and Makefile.in from a checkout.
# SPDX-License-Identifier: ISC
set -e
cd "$(dirname "$0")"
for tool in autoreconf automake pkg-config; do
	if ! command -v "$tool" >/dev/null 2>&1; then
		echo "autogen.sh: $tool is missing" \
		    "(needed: autoconf automake pkg-config)" >&2
		exit 1
	fi
done
exec autoreconf --install --warnings=all,no-portability "$@"
