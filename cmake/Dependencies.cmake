# SPDX-License-Identifier: MIT
# Everything libmgk stands on, gathered in one interface target.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(HDF5 REQUIRED COMPONENTS C HL)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(openblas REQUIRED openblas)
pkg_check_modules(cairo REQUIRED IMPORTED_TARGET cairo cairo-pdf cairo-svg)
pkg_check_modules(pango REQUIRED IMPORTED_TARGET pangocairo>=1.50)
pkg_check_modules(cjson REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(zip REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(crypto REQUIRED IMPORTED_TARGET libcrypto)
find_library(OPENBLAS_LIBRARY openblas HINTS ${openblas_LIBRARY_DIRS} REQUIRED)
find_library(LAPACKE_LIBRARY lapacke REQUIRED)
find_path(LAPACKE_INCLUDE_DIR lapacke.h REQUIRED)

add_library(mgk_dependencies INTERFACE)
target_include_directories(mgk_dependencies SYSTEM INTERFACE
    ${HDF5_C_INCLUDE_DIRS} ${openblas_INCLUDE_DIRS} ${LAPACKE_INCLUDE_DIR})
target_compile_definitions(mgk_dependencies INTERFACE ${HDF5_C_DEFINITIONS})
target_link_libraries(mgk_dependencies INTERFACE
    Threads::Threads OpenMP::OpenMP_C ${CMAKE_DL_LIBS}
    ${HDF5_C_HL_LIBRARIES} ${HDF5_C_LIBRARIES} PNG::PNG ZLIB::ZLIB PkgConfig::cairo PkgConfig::pango
    PkgConfig::cjson PkgConfig::zip PkgConfig::utf8proc PkgConfig::pcre2 PkgConfig::crypto m)

# These two are loaded by hand (kernels/blas.h). Tests and benchmarks that compare with them are
# linked with mgk_reference_blas.
add_library(mgk_reference_blas INTERFACE)
target_link_libraries(mgk_reference_blas INTERFACE ${OPENBLAS_LIBRARY} ${LAPACKE_LIBRARY})
