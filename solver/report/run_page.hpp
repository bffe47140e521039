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
/// relative residual, seconds], at most 200 of them) and the PNG file `picture`, where it is not empty.
std::string result_page_json(const Record& record, const std::string& png);

/// Has earlier files of these names go with the group's.
void leave_out_page(mesh::FileGroup& files);

/// Once the files of a run are in place: draws the picture with femcg-plot, from beside the program or from the PATH, and
/// returns its bytes. Where there is no femcg-plot or it fails, a note on standard error says so.
std::string draw_picture(const OutputChoice& output);

/// Writes result.html, with the picture where there is one; a note on standard error says where this build has no page.
/// Throws std::system_error where it cannot be written.
void write_result_page(const OutputChoice& output, const Record& record, const std::string& png);

/// result.html of a study, likewise.
void write_study_page(const StudyRecord& study);

}  // namespace femcg::solver
