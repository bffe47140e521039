# Installs femcg.hpp and all that it includes of the project, with includes from <femcg/...>, so that a program needs no other
# folder on its path and no name of ours meets one of its own. Wants SOURCE, the root of the source tree; BINARY, a folder to
# write in; DESTINATION.
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
