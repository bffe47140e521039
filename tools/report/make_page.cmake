# The two steps of making the page, for tools/report/CMakeLists.txt:  cmake -DSTEP=fetch|build ... -P make_page.cmake
# Without REQUIRED, a failure gives a warning and a program without the page.
cmake_minimum_required(VERSION 3.25)

if(STEP STREQUAL "fetch")
  # npm works on a copy, so that it does not write to the source folder.
  file(COPY ${SOURCE}/package.json ${SOURCE}/package-lock.json DESTINATION ${BINARY})
  execute_process(WORKING_DIRECTORY ${BINARY} RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE message
    COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --no-update-notifier --prefer-offline
      --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000)
  if(status EQUAL 0)
    file(WRITE ${BINARY}/fetched "yes")
    return()
  endif()
  set(sentence "npm ci failed, so femcg compare will write no report.html; configure and build again to retry")
  if(REQUIRED)
    message(FATAL_ERROR "FEMCG_REPORT=ON, but npm ci failed in ${BINARY}:\n${message}")
  endif()
  message(WARNING "${sentence}. npm said:\n${message}")
  file(WRITE ${BINARY}/fetched "no")
  return()
endif()

file(READ ${BINARY}/fetched fetched)
if(fetched STREQUAL "yes")
  execute_process(COMMAND ${NODE} ${SOURCE}/build.mjs ${BINARY}/node_modules ${BINARY}/report.html ${BINARY}/report_page_text.cpp
    COMMAND_ERROR_IS_FATAL ANY)
else()
  set(absence "this build has no report page, since npm could not fetch its libraries when it was built")
  configure_file(${SOURCE}/stub.cpp.in ${BINARY}/report_page_text.cpp @ONLY)
  file(TOUCH ${BINARY}/report_page_text.cpp)
endif()
