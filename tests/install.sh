#!/bin/sh
# SPDX-License-Identifier: MIT
# An installation works without the build folder: a program starts, and the sample program of
# docs/library.md builds and runs with pkg-config and with find_package, shared and static. Usage:
# install.sh TOP BUILD FOLDER CMAKE CC [CXX]
set -eu
top=$1 build=$2 folder=$3 cmake=$4 cc=$5 cxx=${6:-}
rm -rf "$folder" && mkdir -p "$folder/sample"
unset LD_LIBRARY_PATH

"$cmake" --install "$build" --prefix "$folder/made" > /dev/null
# Moved after the installation, because no file may contain the prefix.
mv "$folder/made" "$folder/tree"
program=$folder/tree/bin/mgk-info
"$program" --version | grep -q '^mgk-info [0-9]'
"$program" "$top/models/lm-mgk-4.safetensors" | grep -q 'mgk'
ldd "$program" | grep -q "$folder/tree/.*libmgk" || {
    echo "the program loads another libmgk"
    exit 1
}

# The library reads HDF5 files after the probe program next to it has checked them.
"$folder/tree/bin/mgk-dump" "$top/models/lm-mgk-4.safetensors" --text "$top/models/sample.txt" \
    --samples 1 --layers 0 --quiet -o "$folder/good.h5"
sh "$top/tests/break_hdf5.sh" "$folder/good.h5" "$folder/broken.h5"
# looks PROGRAM...: the program describes the good file, and refuses the broken one in one line.
looks() {
    "$@" "$folder/good.h5" > "$folder/out.txt" 2>&1 && grep -q attention "$folder/out.txt" || {
        echo "$*: $(cat "$folder/out.txt")"
        exit 1
    }
    ! "$@" "$folder/broken.h5" > "$folder/out.txt" 2>&1 &&
        grep -q '^[^:]*: [^:]*: damaged: the HDF5 library does not survive' "$folder/out.txt" || {
        echo "$*: $(cat "$folder/out.txt")"
        exit 1
    }
}
looks "$program"
# Nothing refers to the build folder.
mv "$folder/tree/libexec" "$folder/aside"
! "$program" "$folder/good.h5" 2> "$folder/out.txt" &&
    grep -q "cannot look into it: $folder/tree/libexec/mgk/mgk-h5-probe: No such" "$folder/out.txt" || {
    echo "without its helper: $(cat "$folder/out.txt")"
    exit 1
}
mv "$folder/aside" "$folder/tree/libexec"

sed -n '/^```c$/,/^```$/p' "$top/docs/library.md" | sed '/^```/d' > "$folder/sample/sample.c"
grep -q mgk_rank_attention "$folder/sample/sample.c"

# The sample reads models/ in its working folder.
runs() {
    (cd "$top" && "$@") > "$folder/out.txt"
    [ "$(grep -c '^layer [0-9]*: mean rank [0-9]' "$folder/out.txt")" -eq 6 ] || {
        echo "the sample says: $(cat "$folder/out.txt")"
        exit 1
    }
}

PKG_CONFIG_PATH=$(dirname "$(find "$folder/tree" -name mgk.pc)")
export PKG_CONFIG_PATH
libraries=$(pkg-config --variable=libdir mgk)
"$cc" "$folder/sample/sample.c" $(pkg-config --cflags --libs mgk) -o "$folder/by_pkg_config"
runs env LD_LIBRARY_PATH="$libraries" "$folder/by_pkg_config"
# The header works in C++ too.
if [ -n "$cxx" ]; then
    "$cxx" -x c++ -std=c++17 -Wall -Wextra -Werror "$folder/sample/sample.c" -x none \
        $(pkg-config --cflags --libs mgk) -o "$folder/by_cxx"
    runs env LD_LIBRARY_PATH="$libraries" "$folder/by_cxx"
fi
# Without a shared library the linker takes the archive.
mkdir "$folder/archive"
cp "$libraries/libmgk.a" "$folder/archive"
"$cc" "$folder/sample/sample.c" $(pkg-config --cflags mgk) -L"$folder/archive" \
    $(pkg-config --static --libs mgk | sed "s|-L$libraries||") -o "$folder/by_pkg_config_static"
runs "$folder/by_pkg_config_static"
# A program linked with the archive may be anywhere, so MGK_LIBEXEC tells it where the probe is.
cat > "$folder/sample/describe.c" <<'END'
#include <mgk.h>
#include <stdio.h>

int main(int count, char **words)
{
    char *text = NULL;
    if (count != 2 || mgk_describe_file(words[1], NULL, false, &text) != MGK_OK) {
        fprintf(stderr, "describe: %s\n", mgk_error());
        return 1;
    }
    fputs(text, stdout);
    mgk_release(text);
    return 0;
}
END
"$cc" "$folder/sample/describe.c" $(pkg-config --cflags mgk) -L"$folder/archive" \
    $(pkg-config --static --libs mgk | sed "s|-L$libraries||") -o "$folder/archive/describe"
looks env MGK_LIBEXEC="$(pkg-config --variable=libexecdir mgk)" "$folder/archive/describe"

# Measures in memory, with the shared library.
cat > "$folder/sample/measure.c" <<'END'
#include <mgk.h>
#include <stdio.h>

int main(int count, char **words)
{
    const char *store = words[count - 1];
    mgk_diversity_options options = mgk_diversity_options_default();
    mgk_measure_description first;
    mgk_table_column values;
    mgk_table *means = NULL;
    options.inputs = &store;
    options.input_count = 1;
    if (mgk_describe_measure(0, &first) != MGK_OK || mgk_measure_diversity(&options, &means) != MGK_OK ||
        mgk_table_find_column(means, "value", &values) != MGK_OK) {
        fprintf(stderr, "measure: %s\n", mgk_error());
        return 1;
    }
    printf("%s of head 0: %g\n", first.name, values.reals[0]);
    mgk_table_close(means);
    return 0;
}
END
"$cc" "$folder/sample/measure.c" $(pkg-config --cflags --libs mgk) -o "$folder/measure"
LD_LIBRARY_PATH="$libraries" "$folder/measure" "$folder/good.h5" > "$folder/out.txt"
grep -q '^rank of head 0: [1-9]' "$folder/out.txt" || {
    echo "a measure: $(cat "$folder/out.txt")"
    exit 1
}

cat > "$folder/sample/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(sample LANGUAGES C)
find_package(mgk REQUIRED COMPONENTS static)
add_executable(shared sample.c)
target_link_libraries(shared PRIVATE mgk::mgk)
add_executable(static sample.c)
target_link_libraries(static PRIVATE mgk::mgk_static)
file(WRITE ${PROJECT_BINARY_DIR}/libexec ${mgk_LIBEXEC})
END
"$cmake" -S "$folder/sample" -B "$folder/sample/build" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_PREFIX_PATH="$folder/tree" > /dev/null
"$cmake" --build "$folder/sample/build" > /dev/null
runs "$folder/sample/build/shared"
runs "$folder/sample/build/static"
looks env MGK_LIBEXEC="$(cat "$folder/sample/build/libexec")" "$folder/archive/describe"
