# SPDX-License-Identifier: MIT
# Gathers the libraries that programs need, for bundle.sh and wheel.sh, which read this file. They set
# `build`, the folder of the build, `root`, the prefix that is packed, and `stage`, a folder for notes.

fail() {
    echo "${0##*/}: $*" >&2
    exit 1
}

# What every machine has of its own: the C library, and CUDA where there is a GPU.
c_library='lib(c|m|mvec|dl|pthread|rt|resolv|util|anl)\.so|ld-linux[^/]*\.so'
cuda='lib(cuda|cudart|cublas|cublasLt|cusolver|cusparse|nvJitLink|nvrtc)\.so'

# The libraries that these files load, in lines: name, path.
needed() {
    LD_LIBRARY_PATH='' ldd "$@" | awk '$2 == "=>" { print $1, $3 }' | sort -u |
        grep -vE "^($c_library|$cuda)"
}

# The libraries that the toolkit loads by hand (kernels/blas.h), in the same lines.
loaded_by_hand() {
    for library in OPENBLAS LAPACKE; do
        path=$(sed -n "s/^${library}_LIBRARY:FILEPATH=//p" "$build/CMakeCache.txt")
        echo "$(objdump -p "$path" | awk '$1 == "SONAME" { print $2 }') $(readlink -f "$path")"
    done
}

# pack_licences FILE...: the terms of the Debian packages that the files come from, which may list them
# without /usr. One question for all, because dpkg-query reads the lists of all packages for each.
pack_licences() {
    dpkg-query -S "$@" $(printf '%s\n' "$@" | sed 's|^/usr||') > "$stage/owners" 2> /dev/null || true
    for file in "$@"; do
        package=$(awk -v file="$file" -v short="${file#/usr}" '
            { path = substr($0, index($0, ": /") + 2) }
            path == file || path == short { sub(/[:,].*/, ""); print; exit }' "$stage/owners")
        [ -n "$package" ] || fail "$file belongs to no Debian package: its licence is not known"
        mkdir -p "$root/share/doc/$package"
        cp -L "/usr/share/doc/$package/copyright" "$root/share/doc/$package"
    done
}

# pack_libraries FILE...: copies what these programs and libraries load to lib, with the licences.
pack_libraries() {
    loaded_by_hand > "$stage/loaded"
    needed "$@" $(cut -d ' ' -f 2 "$stage/loaded") |
        sort -u - "$stage/loaded" > "$stage/needed"
    ! grep 'not$' "$stage/needed" >&2 || fail "libraries are missing"
    : > "$stage/packed"
    while read -r name path; do
        case $path in
        "$root"/*) continue ;;
        esac
        cp -L "$path" "$root/lib/$name"
        readlink -f "$path" >> "$stage/packed"
    done < "$stage/needed"
    pack_licences $(cat "$stage/packed")
}

# The fonts of pictures; the library looks for them in share/mgk.
pack_fonts() {
    mkdir -p "$root/share/mgk/fonts"
    for font in DejaVuSans.ttf DejaVuSans-Bold.ttf; do
        path=$(dpkg-query -L fonts-dejavu-core | grep "/$font\$") || fail "there is no $font"
        cp "$path" "$root/share/mgk/fonts"
        pack_licences "$path"
    done
    cat > "$root/share/mgk/fonts.conf" << 'END'
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
END
}

