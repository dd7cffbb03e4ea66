#!/bin/sh
# spdx.sh - what a release is made of, as SPDX 2.3.
# SPDX-License-Identifier: ISC
#
# usage: spdx.sh VERSION EPOCH; `make dist` puts the output into the tar file.
set -eu
version=$1
created=$(date -u -d "@$2" +%Y-%m-%dT%H:%M:%SZ)

# name by pkg-config or of the header, lowest version, licence, what for
libraries()
{
	cat <<-'EOF'
	libevent_core 2.1 BSD-3-Clause the event loop
	libevent_extra 2.1 BSD-3-Clause the event loop
	openssl 3.0 Apache-2.0 TLS, hashes
	libcares 1.16 MIT host names
	libidn 1.33 LGPL-2.1-or-later SASLprep
	jansson 2.10 MIT JSON in the log and the console
	libpq - PostgreSQL pgsluicectl's connection
	uthash - BSD-1-Clause hash tables; headers only
	pam - BSD-3-Clause optional: --with-pam
	ldap - OLDAP-2.8 optional: --with-ldap
	krb5-gssapi 1.15 MIT optional: --with-gssapi
	krb5 - MIT optional: --with-gssapi
	libsystemd - LGPL-2.1-or-later optional: --with-systemd
	ncursesw - X11-distribute-modifications-variant optional: pgsluicectl top
	EOF
}

package()
{
	name=$1 lowest=$2 licence=$3
	shift 3
	printf ',\n    {"SPDXID": "SPDXRef-%s", "name": "%s",' \
	    "$(echo "$name" | tr _ -)" "$name"
	[ "$lowest" = - ] || printf ' "versionInfo": ">= %s",' "$lowest"
	printf '\n     "downloadLocation": "NOASSERTION", "filesAnalyzed": false,'
	printf '\n     "licenseDeclared": "%s", "comment": "%s"}' "$licence" "$*"
}

cat <<EOF
{
  "spdxVersion": "SPDX-2.3",
  "dataLicense": "CC0-1.0",
  "SPDXID": "SPDXRef-DOCUMENT",
  "name": "pgsluice-$version",
  "documentNamespace": "https://pgsluice.invalid/spdx/pgsluice-$version-$2",
  "creationInfo": {
    "created": "$created",
    "creators": ["Organization: The pgsluice developers"]
  },
  "packages": [
    {"SPDXID": "SPDXRef-pgsluice", "name": "pgsluice",
     "versionInfo": "$version", "primaryPackagePurpose": "APPLICATION",
     "downloadLocation": "NOASSERTION", "filesAnalyzed": false,
     "copyrightText": "2026 The pgsluice developers",
     "licenseDeclared": "ISC", "licenseConcluded": "ISC"}$(
	libraries | while read -r name lowest licence what; do
		package "$name" "$lowest" "$licence" "$what"
	done)
  ],
  "relationships": [
    {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
     "relatedSpdxElement": "SPDXRef-pgsluice"}$(
	libraries | while read -r name lowest licence what; do
		case $what in
		optional:*) of=OPTIONAL_DEPENDENCY_OF ;;
		*) of=DEPENDENCY_OF ;;
		esac
		printf ',\n    {"spdxElementId": "SPDXRef-%s",' \
		    "$(echo "$name" | tr _ -)"
		printf ' "relationshipType": "%s",' $of
		printf '\n     "relatedSpdxElement": "SPDXRef-pgsluice"}'
	done)
  ]
}
EOF
