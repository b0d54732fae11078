# `cmake --install`, find_package(flipflop), and packages by CPack.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/flipflop)
install(TARGETS flipflop EXPORT flipflop-targets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# The manual page and the completion are written by the program from its own option table.
if(NOT CMAKE_CROSSCOMPILING)
  set(manual ${CMAKE_CURRENT_BINARY_DIR}/generated/flipflop.1)
  set(completion ${CMAKE_CURRENT_BINARY_DIR}/generated/flipflop)
  add_custom_command(TARGET flipflop POST_BUILD COMMAND flipflop manual > ${manual} COMMAND flipflop completion bash > ${completion} VERBATIM)
  install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()
install(TARGETS flipflop_core EXPORT flipflop-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/flipflop DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
# flipflop/ptx.hpp includes it by a path relative to itself.
install(FILES ptx_parser/instructions.def DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/flipflop/ptx_parser)
install(EXPORT flipflop-targets NAMESPACE flipflop:: DESTINATION ${config_folder})
configure_package_config_file(cmake/flipflop-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/flipflop-config.cmake
  INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/flipflop-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/flipflop-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/flipflop-config-version.cmake
  cmake/flipflop-check.cmake DESTINATION ${config_folder})
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

set(CPACK_PACKAGE_NAME flipflop)
set(CPACK_PACKAGE_VENDOR "flipflop")
set(CPACK_PACKAGE_CONTACT "the flipflop authors <flipflop@example.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_CURRENT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "${PROJECT_DESCRIPTION}\nReads PTX and says, without a GPU and without running anything, which thread-block\nconfigurations of a kernel are fast and which are frugal, and why.")
include(CPack)
