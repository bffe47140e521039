#include "mesh/vtu_grid.hpp"

#include <bit>
#include <string_view>

namespace femcg::mesh {

namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

}  // namespace

void VtuGrid::add_texts(const std::string& name, std::span<const std::string> texts) {
  texts_ += "      <Array type=\"String\" Name=\"" + escaped(name) + "\" NumberOfTuples=\"" +
            std::to_string(texts.size()) + "\" format=\"ascii\">\n       ";
  for (const std::string& text : texts) {  // bytes, each text ended by a 0
    for (const char byte : text) texts_ += " " + std::to_string(static_cast<unsigned char>(byte));
    texts_ += " 0";
  }
  texts_ += "\n      </Array>\n";
}

void VtuGrid::open(const std::string& section, const std::string& scalars) {
  xml_ += "      <" + section + (scalars.empty() ? "" : " Scalars=\"" + escaped(scalars) + "\"") + ">\n";
}

void VtuGrid::close(const std::string& section) { xml_ += "      </" + section + ">\n"; }

void VtuGrid::add(const std::string& type, const std::string& name, int components, CompressedArray array,
                  const std::string& unit) {
  xml_ += "        <DataArray type=\"" + type + "\" Name=\"" + escaped(name) + "\" NumberOfComponents=\"" +
          std::to_string(components) + "\" format=\"appended\" offset=\"" + std::to_string(offset_) + "\"";
  if (unit.empty())
    xml_ += "/>\n";
  else
    xml_ += ">\n          <InformationKey name=\"UNITS_LABEL\" location=\"vtkDataArray\">" + escaped(unit) +
            "</InformationKey>\n        </DataArray>\n";
  offset_ += array.size();
  arrays_.push_back(std::move(array));
}

void VtuGrid::write(std::ostream& stream) const {
  const char* byte_order = std::endian::native == std::endian::little ? "LittleEndian" : "BigEndian";
  // Below version 2.1 VTK 9 takes the nodes of hexahedra to be in an older order.
  stream << "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"2.2\" byte_order=\"" << byte_order
         << "\" header_type=\"UInt64\" compressor=\"vtkZLibDataCompressor\">\n  <UnstructuredGrid>\n";
  if (!texts_.empty()) stream << "    <FieldData>\n" << texts_ << "    </FieldData>\n";
  stream << "    <Piece NumberOfPoints=\"" << points_ << "\" NumberOfCells=\"" << cells_ << "\">\n"
         << xml_ << "    </Piece>\n  </UnstructuredGrid>\n  <AppendedData encoding=\"raw\">\n_";
  for (const CompressedArray& array : arrays_) array.write(stream);
  stream << "\n  </AppendedData>\n</VTKFile>\n";
}

}  // namespace femcg::mesh
