#!/bin/sh
# What is installed works away from the build folder: a program starts, and the sample program of
# the README builds and runs by way of pkg-config and of find_package, shared and static.
# Usage: install.sh TOP BUILD FOLDER CMAKE CC [CXX]
set -eu
top=$1 build=$2 folder=$3 cmake=$4 cc=$5 cxx=${6:-}
rm -rf "$folder" && mkdir -p "$folder/sample"
unset LD_LIBRARY_PATH

"$cmake" --install "$build" --prefix "$folder/made" > /dev/null
# Moved after the installation: no file may know the prefix.
mv "$folder/made" "$folder/tree"
program=$folder/tree/bin/mgk-info
"$program" --version | grep -q '^mgk-info [0-9]'
"$program" "$top/models/lm-mgk-4.safetensors" | grep -q 'mgk'
ldd "$program" | grep -q "$folder/tree/.*libmgk" || {
    echo "the program loads another libmgk"
    exit 1
}

sed -n '/^```c$/,/^```$/p' "$top/README.md" | sed '/^```/d' > "$folder/sample/sample.c"
grep -q mgk_rank_attention "$folder/sample/sample.c"

# The sample reads models/ of the folder it runs in.
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
# The header serves C++ as well.
if [ -n "$cxx" ]; then
    "$cxx" -x c++ -std=c++17 -Wall -Wextra -Werror "$folder/sample/sample.c" -x none \
        $(pkg-config --cflags --libs mgk) -o "$folder/by_cxx"
    runs env LD_LIBRARY_PATH="$libraries" "$folder/by_cxx"
fi
# Nothing shared to find: the linker takes the archive.
mkdir "$folder/archive"
cp "$libraries/libmgk.a" "$folder/archive"
"$cc" "$folder/sample/sample.c" $(pkg-config --cflags mgk) -L"$folder/archive" \
    $(pkg-config --static --libs mgk | sed "s|-L$libraries||") -o "$folder/by_pkg_config_static"
runs "$folder/by_pkg_config_static"

cat > "$folder/sample/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(sample LANGUAGES C)
find_package(mgk REQUIRED COMPONENTS static)
add_executable(shared sample.c)
target_link_libraries(shared PRIVATE mgk::mgk)
add_executable(static sample.c)
target_link_libraries(static PRIVATE mgk::mgk_static)
END
"$cmake" -S "$folder/sample" -B "$folder/sample/build" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_PREFIX_PATH="$folder/tree" > /dev/null
"$cmake" --build "$folder/sample/build" > /dev/null
runs "$folder/sample/build/shared"
runs "$folder/sample/build/static"
