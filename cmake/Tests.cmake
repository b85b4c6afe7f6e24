# SPDX-License-Identifier: MIT
# Tests and benchmarks are built when they are asked for: `all` builds neither, the target `tests` builds
# the tests and the benchmark of the bundle. Without cmocka there are no tests.
set(MGK_TESTS_STATE OFF)
if(NOT MGK_BUILD_TESTS)
    return()
endif()
find_package(PkgConfig REQUIRED)
pkg_check_modules(cmocka IMPORTED_TARGET cmocka)
if(NOT cmocka_FOUND)
    set(MGK_TESTS_STATE "OFF, because cmocka is missing")
    return()
endif()
set(MGK_TESTS_STATE "ON (target tests)")

# Adds all programs of a folder and its subfolders to a target.
function(mgk_build_by target folder)
    get_property(programs DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(program IN LISTS programs)
        get_target_property(type ${program} TYPE)
        get_target_property(apart ${program} EXCLUDE_FROM_ALL)
        if(type STREQUAL EXECUTABLE AND NOT apart AND NOT program MATCHES "^fuzz_")
            add_dependencies(${target} ${program})
        endif()
    endforeach()
    get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
    foreach(below IN LISTS folders)
        mgk_build_by(${target} ${below})
    endforeach()
endfunction()

enable_testing()
set(parts tests)
if(NOT MGK_SANITIZE) # no test runs them
    list(APPEND parts bench/gpu bench/kinds bench/numbers bench/rank bench/rows)
endif()
add_custom_target(tests)
add_dependencies(tests ${MGK_PROGRAMS})
foreach(part IN LISTS parts)
    add_subdirectory(${part} EXCLUDE_FROM_ALL)
    mgk_build_by(tests ${PROJECT_SOURCE_DIR}/${part})
endforeach()

# ctest reads this file first.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/TestsBuilt.cmake @ONLY CONTENT [=[
file(GLOB found "@CMAKE_RUNTIME_OUTPUT_DIRECTORY@/test_*")
if(NOT found)
    message(FATAL_ERROR "The tests are not built; this builds them:
    cmake --build '@PROJECT_BINARY_DIR@' --target tests")
endif()
]=])
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTY TEST_INCLUDE_FILES ${PROJECT_BINARY_DIR}/TestsBuilt.cmake)
