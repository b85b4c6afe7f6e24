#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the files of a release.
set -eu

usage() {
    cat << 'END2'
Usage: sh scripts/release.sh [--check | --draft]
Makes dist/ from the present commit: the source archive, the bundle (scripts/bundle.sh), the wheel for
Python (scripts/wheel.sh), and SHA256SUMS. Refuses a tree with changes, files that name different
versions, and a version that the changelog calls unreleased.

  --check        Only compare the versions, which CMakeLists.txt decides.
  --draft        Make the files of an unreleased version, too.
  --help         Print this text.
END2
}

fail() {
    echo "release.sh: $*" >&2
    exit 1
}

# expect FILE VERSION: the version that a file names.
expect() {
    [ "$2" = "$version" ] || fail "$1 names version ${2:-(none)}, CMakeLists.txt $version"
}

check_versions() {
    expect CITATION.cff "$(sed -n 's/^version: //p' CITATION.cff)"
    expect src/mgk.h "$(sed -n 's/^#define MGK_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' src/mgk.h | paste -sd .)"
    expect CHANGELOG.md "$(sed -n 's/^## \([0-9.]*\).*/\1/p' CHANGELOG.md | head -1)"
    for page in docs/man/*.1; do
        expect "$page" "$(sed -n 's/^\.TH .*"mgk \([0-9.]*\)".*/\1/p' "$page")"
    done
}

check_tree() {
    [ -z "$(git status --porcelain)" ] || fail "the tree has changes: commit them first"
    [ ! -e dist ] || fail "dist exists: move it away"
    [ -n "$draft" ] || ! grep -q "^## $version (unreleased)" CHANGELOG.md ||
        fail "CHANGELOG.md calls $version unreleased: write the date there (or see --draft)"
}

draft="" check=""
for word; do
    case $word in
    --help) usage && exit ;;
    --draft) draft=yes ;;
    --check) check=yes ;;
    *) echo "release.sh: unknown option $word (see --help)" >&2 && exit 2 ;;
    esac
done
cd "$(dirname "$0")/.."
version=$(sed -n 's/^project(mgk VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
check_versions
[ -z "$check" ] || exit 0
check_tree

# dist appears when it is whole.
stage=$(mktemp -d dist.XXXXXX)
trap 'rm -rf "$stage"' EXIT
trap 'exit 1' HUP INT TERM
git archive --format=tar.gz --prefix="mgk-$version/" --output="$stage/mgk-$version.tar.gz" HEAD
sh scripts/bundle.sh "$stage/mgk-$version-linux-$(uname -m).tar.xz"
sh scripts/wheel.sh "$stage"
(cd "$stage" && sha256sum -- mgk-* > SHA256SUMS)
chmod 755 "$stage"
mv "$stage" dist
ls -l dist
