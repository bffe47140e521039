# Installs femcg.hpp and all project headers that it includes, rewritten to include <femcg/...>: programs need no further
# include folder, and names of headers do not clash. Variables: SOURCE, root of the source tree; BINARY, a folder for
# temporary files; DESTINATION.
file(REMOVE_RECURSE ${BINARY})

function(copy_header source installed)
  if(EXISTS ${BINARY}/femcg/${installed})
    return()
  endif()
  file(READ ${source} text)
  string(REGEX REPLACE "#include \"([^\"]+)\"" "#include <femcg/\\1>" rewritten "${text}")
  file(WRITE ${BINARY}/femcg/${installed} "${rewritten}")
  string(REGEX MATCHALL "#include \"[^\"]+\"" includes "${text}")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "#include \"([^\"]+)\"" "\\1" header "${include}")
    copy_header(${SOURCE}/${header} ${header})
  endforeach()
endfunction()

copy_header(${SOURCE}/tools/install/femcg.hpp femcg.hpp)
file(INSTALL DESTINATION ${DESTINATION} TYPE DIRECTORY FILES ${BINARY}/femcg)
