# SPDX-License-Identifier: MIT
# MGK_CUDA=AUTO takes the CUDA toolkit if it is there, ON insists, OFF does not look.
set(MGK_HAS_CUDA FALSE)
set(MGK_CUDA_STATE "off")
if(NOT MGK_CUDA STREQUAL "OFF")
    include(CheckLanguage)
    if(NOT CMAKE_CUDA_ARCHITECTURES)
        # Code for these, and PTX that newer ones translate.
        set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
    endif()
    check_language(CUDA)
    find_package(CUDAToolkit 12.6.2 QUIET) # the first with cusolverDnXsyevBatched
    if(CMAKE_CUDA_COMPILER AND CUDAToolkit_FOUND)
        enable_language(CUDA)
        set(MGK_HAS_CUDA TRUE)
        set(MGK_CUDA_STATE "toolkit ${CUDAToolkit_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
    elseif(MGK_CUDA STREQUAL "ON")
        message(FATAL_ERROR "MGK_CUDA=ON, but there is no nvcc or no CUDA toolkit from 12.6.2 on")
    else()
        set(MGK_CUDA_STATE "no toolkit from 12.6.2 on")
    endif()
endif()

# Warnings of the host's compiler and of nvcc's own are errors, as elsewhere.
function(mgk_cuda_options target)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    target_compile_options(${target} PRIVATE -Werror all-warnings -Xcompiler=-Wall,-Wextra)
    set_target_properties(${target} PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON
        CUDA_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
endfunction()
