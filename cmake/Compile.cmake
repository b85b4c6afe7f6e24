# SPDX-License-Identifier: MIT
# Warnings are errors; the include roots are src/ (base/..., model/...) and the top (kernels/...).
function(mgk_compile_options target)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE MGK_VERSION="${PROJECT_VERSION}"
        MGK_LIBEXEC="${CMAKE_INSTALL_FULL_LIBEXECDIR}/mgk")
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
        -Wpointer-arith -Wcast-qual -Wvla -Wformat=2 -Wno-unknown-pragmas -Werror)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O3 -fno-math-errno -fno-trapping-math>)
    if(MGK_SANITIZE)
        target_compile_definitions(${target} PRIVATE MGK_SANITIZED)
    endif()
    if(MGK_SANITIZE STREQUAL THREAD)
        target_compile_options(${target} PRIVATE
            -O2 -g -fsanitize=thread -fno-omit-frame-pointer
            -Wno-error) # gcc's warnings are those that count
        target_link_options(${target} PUBLIC -fsanitize=thread)
    elseif(MGK_SANITIZE)
        # -O2 takes minutes to unroll what sanitizers have made of kernels. AddressSanitizer sees accesses at null
        # pointers and behind objects without a second check at each. Pointers that overflow are not looked for: with
        # these three checks tests take a quarter longer.
        target_compile_options(${target} PRIVATE
            -Og -fsanitize=address,undefined -fno-sanitize=null,object-size,pointer-overflow
            -fno-sanitize-recover=all -fno-omit-frame-pointer)
        target_link_options(${target} PUBLIC -fsanitize=address,undefined)
    endif()
endfunction()
