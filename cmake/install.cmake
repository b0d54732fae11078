# `cmake --install`, find_package(flipflop), and packages by CPack.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/flipflop)
install(TARGETS flipflop RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS flipflop_core EXPORT flipflop-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/flipflop DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
# flipflop/ptx.hpp includes it by a path relative to itself.
install(FILES ptx_parser/instructions.def DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/flipflop/ptx_parser)
install(EXPORT flipflop-targets NAMESPACE flipflop:: DESTINATION ${config_folder})
configure_package_config_file(cmake/flipflop-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/flipflop-config.cmake
  INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/flipflop-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/flipflop-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/flipflop-config-version.cmake
  DESTINATION ${config_folder})
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
if(FLIPFLOP_CHART_JS)  # it is part of the executable
  install(FILES src/report/html/chart_licence.txt DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright.chart.js)
endif()

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
