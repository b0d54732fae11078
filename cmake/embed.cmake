# Puts data files (gpu_profiles/*.json, models/coefficients/*.json, docs/rules/*.md, docs/accuracy.json) into the library as byte arrays, so that an installed
# flipflop needs no data folder. Regenerated when a file changes.
function(flipflop_embed_data target)
  file(GLOB data_files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}
    gpu_profiles/*.json models/coefficients/*.json docs/rules/*.md docs/accuracy.json)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/generated/embedded_data.cpp)
  # What decides a predicted number beside the data: the gate does not compare predictions of different models.
  file(GLOB model_files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}
    models/*.cpp models/*.hpp models/*.def src/evaluator/*.cpp src/evaluator/*.hpp src/passes/*.cpp src/passes/*.hpp src/ir/*.cpp)
  set(absolute_files)
  foreach(file IN LISTS data_files model_files)
    list(APPEND absolute_files ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DROOT=${CMAKE_CURRENT_SOURCE_DIR} "-DFILES=${data_files}" "-DMODEL_FILES=${model_files}"
      -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed_script.cmake
    DEPENDS ${absolute_files} ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed_script.cmake
    COMMENT "Embedding data files" VERBATIM)
  target_sources(${target} PRIVATE ${output})
  # Strings longer than the least that a C++ compiler must take; all of ours take them.
  set_source_files_properties(${output} PROPERTIES COMPILE_OPTIONS -w)
endfunction()
