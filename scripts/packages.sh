#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the Debian packages that building needs, with --tests also MPI, Ninja, the browser that opens reports
# in a test and what the tests of the Python package import (60 MB), and nothing if they are all
# there. Asks no questions. On a system older or other than Debian 12 it names what is needed and stops.
set -eu

# gfortran and libbz2-dev are for programs that link libmgk.a: OpenBLAS is partly Fortran, and libzip
# names libbz2. fonts-droid-fallback, of 2 MB, has the Chinese characters that a test draws.
packages="gcc g++ gfortran libc6-dev make cmake pkg-config
libopenblas-dev liblapacke-dev libhdf5-dev libpng-dev libcairo2-dev libpango1.0-dev zlib1g-dev libssl-dev
libcjson-dev libzip-dev libbz2-dev libutf8proc-dev libpcre2-dev libcmocka-dev fonts-dejavu-core fonts-droid-fallback
locales xz-utils"

# Debian from 12 on (testing has no number), and what is derived from it: Ubuntu from 24.04 on, where
# the packages are at least as new; of others the name of the release in Debian decides.
is_new_enough() {
    command -v dpkg-query > /dev/null 2>&1 || return 1
    [ -r /etc/os-release ] || return 1
    ID="" VERSION_ID="" VERSION_CODENAME="" DEBIAN_CODENAME=""
    . /etc/os-release
    major=${VERSION_ID%%.*}
    case $ID in
    debian) [ "${major:-99}" -ge 12 ] ;;
    ubuntu) [ "${major:-0}" -ge 24 ] ;;
    *)
        case ${DEBIAN_CODENAME:-$VERSION_CODENAME} in
        bookworm | trixie | forky | sid) true ;;
        *) false ;;
        esac
        ;;
    esac
}
if [ "${1:-}" = --tests ]; then
    packages="$packages openmpi-bin libopenmpi-dev ninja-build chromium python3-numpy python3-pandas python3-xarray python3-h5netcdf"
fi
if ! is_new_enough; then
    echo "Not Debian 12 or later. Needed here (by their Debian names):" $packages >&2
    exit 1
fi

# Ubuntu has no package of it but a snap; the test is skipped there.
[ "$ID" != ubuntu ] || packages=$(echo "$packages" | sed 's/ chromium//')

missing=""
for package in $packages; do
    # A line for each architecture that the package is known for.
    dpkg-query -W -f '${Status}\n' "$package" 2> /dev/null | grep -qx "install ok installed" ||
        missing="$missing $package"
done
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
