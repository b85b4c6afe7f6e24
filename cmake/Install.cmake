# SPDX-License-Identifier: MIT
# What `cmake --install` puts where: programs, libraries, header, pkg-config, CMake package.
include(CMakePackageConfigHelpers)

# What runs is a component of its own, `run`: a wheel of Python has no more (pyproject.toml).
install(TARGETS ${MGK_PROGRAMS} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT run)
install(TARGETS mgk_shared EXPORT mgk
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT run
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(MGK_HAS_CUDA)
    install(TARGETS mgk_cuda_library
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT run NAMELINK_SKIP)
endif()
if(MGK_HAS_MPI)
    install(TARGETS mgk_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT run NAMELINK_SKIP)
endif()
install(TARGETS mgk_static EXPORT mgk_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES src/mgk.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT run)
install(FILES LICENSE CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(EXPORT mgk NAMESPACE mgk:: FILE mgkTargets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mgk)
install(EXPORT mgk_static NAMESPACE mgk:: FILE mgkStaticTargets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mgk)
install(FILES cmake/Dependencies.cmake RENAME mgkDependencies.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mgk)

set(MGK_LIBEXEC_FOLDER ${CMAKE_INSTALL_LIBEXECDIR}/mgk)
configure_package_config_file(cmake/mgkConfig.cmake.in ${PROJECT_BINARY_DIR}/mgkConfig.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mgk PATH_VARS MGK_LIBEXEC_FOLDER)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mgkConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mgkConfig.cmake ${PROJECT_BINARY_DIR}/mgkConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mgk)

# From the folder of the .pc file to the prefix: nothing in it depends on where it is installed.
file(RELATIVE_PATH MGK_PC_PREFIX "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" MGK_PC_PREFIX "${MGK_PC_PREFIX}")
configure_file(cmake/mgk.pc.in ${PROJECT_BINARY_DIR}/mgk.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mgk.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# In a virtual environment of Python man pages are where man looks, next to its bin.
set(MGK_MAN_FOLDER ${CMAKE_INSTALL_MANDIR})
if(SKBUILD)
    set(MGK_MAN_FOLDER ${SKBUILD_DATA_DIR}/share/man)
endif()
# One completion serves every program; bash looks it up by the program's name.
foreach(program IN LISTS MGK_PROGRAMS)
    install(FILES docs/man/${program}.1 DESTINATION ${MGK_MAN_FOLDER}/man1 COMPONENT run)
    install(FILES scripts/completion.bash RENAME ${program}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endforeach()
