#include "mesh/vtu/vtu_grid.hpp"

#include <zlib.h>

#include <bit>
#include <future>
#include <limits>
#include <string_view>

namespace femcg::mesh {

namespace {

std::size_t deflated(std::span<Bytef> to, std::span<const Bytef> from, int level, int strategy) {
  constexpr int window_bits = 15, memory = 8;  // zlib's defaults
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, window_bits, memory, strategy) != Z_OK) return 0;
  stream.next_in = const_cast<Bytef*>(from.data());  // zlib's interface lacks const; it only reads
  stream.avail_in = static_cast<uInt>(from.size());
  stream.next_out = to.data();
  stream.avail_out = static_cast<uInt>(to.size());
  const int status = deflate(&stream, Z_FINISH);
  const std::size_t size = stream.total_out;
  deflateEnd(&stream);
  return status == Z_STREAM_END ? size : 0;
}

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

/// XML attributes of an array.
std::string array_attributes(const std::string& type, const std::string& name, int components) {
  return "type=\"" + type + "\" Name=\"" + escaped(name) + "\" NumberOfComponents=\"" + std::to_string(components) +
         "\"";
}

std::string unit_key(const std::string& unit) {
  return "          <InformationKey name=\"UNITS_LABEL\" location=\"vtkDataArray\">" + escaped(unit) +
         "</InformationKey>\n";
}

/// For versions below 2.1, VTK 9 assumes an older node order of hexahedra.
std::string opening(const std::string& type) {
  const char* byte_order = std::endian::native == std::endian::little ? "LittleEndian" : "BigEndian";
  return "<?xml version=\"1.0\"?>\n<VTKFile type=\"" + type + "\" version=\"2.2\" byte_order=\"" + byte_order +
         "\" header_type=\"UInt64\" compressor=\"vtkZLibDataCompressor\">\n";
}

}  // namespace

// Chooses zlib's strategy from a sample of one window: searching for repetitions takes as long if there are none, as in
// most digits of a solution. Data that hardly shrink are stored, which is fifty times as fast; run-length encoding, as
// for z = 0 in 2D, takes half the time of a full search.
std::size_t deflated(std::span<Bytef> to, std::span<const Bytef> from) {
  constexpr std::size_t window = std::size_t{1} << 15;
  constexpr double hardly = 0.75, little = 0.5, as_good = 1.15;
  int level = Z_BEST_SPEED, strategy = Z_DEFAULT_STRATEGY;
  if (from.size() > 2 * window) {
    const std::size_t all = deflated(to, from.first(window), level, strategy);
    const auto share = static_cast<double>(all) / window;
    if (share > hardly)
      level = Z_NO_COMPRESSION;
    else if (share > little &&
             static_cast<double>(deflated(to, from.first(window), level, Z_RLE)) < as_good * static_cast<double>(all))
      strategy = Z_RLE;
  }
  return deflated(to, from, level, strategy);
}

void VtuGrid::add_texts(const std::string& name, std::span<const std::string> texts) {
  texts_ += "      <Array type=\"String\" Name=\"" + escaped(name) + "\" NumberOfTuples=\"" +
            std::to_string(texts.size()) + "\" format=\"ascii\">\n       ";
  for (const std::string& text : texts) {  // bytes, each text terminated by 0
    for (const char byte : text) texts_ += " " + std::to_string(static_cast<unsigned char>(byte));
    texts_ += " 0";
  }
  texts_ += "\n      </Array>\n";
}

void VtuGrid::open(const std::string& section, const std::string& scalars) {
  xml_ += "      <" + section + (scalars.empty() ? "" : " Scalars=\"" + escaped(scalars) + "\"") + ">\n";
}

void VtuGrid::close(const std::string& section) { xml_ += "      </" + section + ">\n"; }

void VtuGrid::add(const std::string& type, const std::string& name, int components,
                  std::function<CompressedArray()> make, const std::string& unit) {
  xml_ += "        <DataArray " + array_attributes(type, name, components) + " format=\"appended\" offset=\"";
  arrays_.push_back({xml_.size(), std::move(make)});
  xml_ += unit.empty() ? "/>\n" : ">\n" + unit_key(unit) + "        </DataArray>\n";
}

/// Writes a head of the same length for any offsets.
void VtuGrid::write_head(std::ostream& stream, std::span<const std::uint64_t> offsets) const {
  constexpr std::size_t longest = std::numeric_limits<std::uint64_t>::digits10 + 1;
  stream << opening("UnstructuredGrid") << "  <UnstructuredGrid>\n";
  if (!texts_.empty()) stream << "    <FieldData>\n" << texts_ << "    </FieldData>\n";
  stream << "    <Piece NumberOfPoints=\"" << points_ << "\" NumberOfCells=\"" << cells_ << "\">\n";
  std::size_t written = 0;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const std::string offset = std::to_string(offsets[i]);
    stream << std::string_view(xml_).substr(written, arrays_[i].place - written) << offset << '"'
           << std::string(longest - offset.size(), ' ');
    written = arrays_[i].place;
  }
  stream << std::string_view(xml_).substr(written)
         << "    </Piece>\n  </UnstructuredGrid>\n  <AppendedData encoding=\"raw\">\n_";
}

void VtuGrid::write(std::ostream& stream) const {
  const std::ostream::pos_type begin = stream.tellp();
  std::vector<std::uint64_t> offsets(arrays_.size());
  write_head(stream, offsets);
  std::uint64_t offset = 0;
  std::future<void> writing;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    CompressedArray array = arrays_[i].make();
    offsets[i] = offset;
    offset += array.size();
    if (writing.valid()) writing.get();
    if (!stream) return;  // disk full: the rest need not be made
    writing = std::async(std::launch::async, [&stream, kept = std::move(array)] { kept.write(stream); });
  }
  if (writing.valid()) writing.get();
  stream << "\n  </AppendedData>\n</VTKFile>\n";
  const std::ostream::pos_type end = stream.tellp();
  stream.seekp(begin);
  write_head(stream, offsets);
  stream.seekp(end);
}

void write_pieces(std::ostream& stream, std::span<const PieceArray> of_points, std::span<const PieceArray> of_cells,
                  std::span<const std::string> pieces) {
  const auto write = [&](const PieceArray& array) {
    stream << "      <PDataArray " << array_attributes(array.type, array.name, array.components);
    if (array.unit.empty())
      stream << "/>\n";
    else
      stream << ">\n" << unit_key(array.unit) << "      </PDataArray>\n";
  };
  stream << opening("PUnstructuredGrid") << "  <PUnstructuredGrid GhostLevel=\"0\">\n    <PPoints>\n";
  write({"Float64", "Points", 3});
  stream << "    </PPoints>\n    <PPointData";
  if (!of_points.empty()) stream << " Scalars=\"" << escaped(of_points.front().name) << "\"";
  stream << ">\n";
  for (const PieceArray& array : of_points) write(array);
  stream << "    </PPointData>\n    <PCellData>\n";
  for (const PieceArray& array : of_cells) write(array);
  stream << "    </PCellData>\n";
  for (const std::string& piece : pieces) stream << "    <Piece Source=\"" << escaped(piece) << "\"/>\n";
  stream << "  </PUnstructuredGrid>\n</VTKFile>\n";
}

}  // namespace femcg::mesh
