#pragma once

#include <string>

#include "mesh/base/atomic_file.hpp"
#include "solver/case/case.hpp"
#include "solver/records/record.hpp"
#include "solver/records/study_record.hpp"

namespace femcg::solver {

constexpr std::string_view result_page_file = "result.html";
constexpr std::string_view picture_file = "solution.png";

/// Data of the page of a run: its record, with the residuals of each load (`history`: name and points [iteration,
/// relative residual, seconds], at most 200) and the PNG file `picture`, if not empty.
std::string result_page_json(const Record& record, const std::string& png);

/// Lets `files` remove earlier files of these names.
void leave_out_page(mesh::FileGroup& files);

/// Draws the picture of a finished run with femcg-plot, from the program's folder or the PATH, and returns its bytes. A
/// note on standard error reports if femcg-plot is missing or fails.
std::string draw_picture(const OutputChoice& output);

/// Writes result.html, with the picture if there is one; a note on standard error reports if this build has no page.
/// Throws std::system_error if it cannot be written.
void write_result_page(const OutputChoice& output, const Record& record, const std::string& png);

/// Writes result.html of a study in the same way.
void write_study_page(const StudyRecord& study);

}  // namespace femcg::solver
