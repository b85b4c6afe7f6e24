#!/bin/sh
# Installs the Debian packages that building and testing need, and nothing if they are all there.
# Asks no questions. On another system it names what is needed and stops.
set -eu

packages="gcc libc6-dev make cmake pkg-config
libopenblas-dev liblapacke-dev libhdf5-dev libpng-dev libcairo2-dev zlib1g-dev libmd-dev
libcjson-dev libcmocka-dev fonts-dejavu-core"

missing=""
if command -v dpkg-query > /dev/null 2>&1; then
    for package in $packages; do
        state=$(dpkg-query -W -f '${Status}' "$package" 2> /dev/null || true)
        [ "$state" = "install ok installed" ] || missing="$missing $package"
    done
else
    echo "Not a Debian system. Needed here (by their Debian names):" $packages >&2
    exit 1
fi
[ -n "$missing" ] || exit 0

echo "Installing:$missing" >&2
if [ "$(id -u)" -eq 0 ]; then
    as_root=""
elif command -v sudo > /dev/null 2>&1; then
    as_root="sudo"
else
    echo "Neither root nor sudo: please install the packages above first." >&2
    exit 1
fi
$as_root apt-get update -qq
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing > /dev/null
