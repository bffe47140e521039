"""tools/femcg-plot by its pixels and its sentences:  test_plot.py FEMCG_PLOT FEMCG    (by the Python that has VTK)"""

import importlib.machinery
import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import vtk
from vtk.util.numpy_support import vtk_to_numpy

PLOT, FEMCG = sys.argv[1:3]
loader = importlib.machinery.SourceFileLoader("femcg_plot", PLOT)
plot = importlib.util.module_from_spec(importlib.util.spec_from_loader("femcg_plot", loader))
sys.dont_write_bytecode = True
loader.exec_module(plot)
plot.import_vtk()

LOW, MIDDLE, HIGH = (0x44, 0x01, 0x54), (0x21, 0x91, 0x8C), (0xFD, 0xE7, 0x25)  # colours of viridis at 0, 1/2, 1
CASE = """
name: warmth
unit: degC
mesh: {{box: {{cells: [{cells}], size: [{size}], cell: {cell}}}}}
degree: {degree}
equation: {{diffusion: 1}}
boundary: {{{low}: {{value: 0}}, {high}: {{value: 100}}}}
"""


def run(*arguments, **options):
    return subprocess.run(arguments, capture_output=True, text=True, check=False, cwd=folder.name, **options)


def solve(name, fields="u", **box):
    Path(folder.name, f"{name}.yaml").write_text(CASE.format(**box))
    made = run(FEMCG, "run", f"{name}.yaml", "--quiet", "--set", f"output.fields=[{fields}]")
    assert made.returncode == 0, made.stderr
    return Path(folder.name, "results", name)


def picture(*arguments):
    """Its pixels from the top, where the scene is (the colour bar is at the right)."""
    made = run(sys.executable, PLOT, *map(str, arguments), "-o", "picture.png", "--size", "600x400")
    assert (made.returncode, made.stderr) == (0, ""), made.stderr
    reader = vtk.vtkPNGReader()
    reader.SetFileName(str(Path(folder.name, "picture.png")))
    reader.Update()
    width, height, _ = reader.GetOutput().GetDimensions()
    return vtk_to_numpy(reader.GetOutput().GetPointData().GetScalars()).reshape(height, width, 3)[::-1].astype(int)


def drawn(pixels):
    """The scene without its frame of white."""
    scene = pixels[:, : pixels.shape[1] - 9 * 11]
    some = (scene < 250).any(axis=2)
    rows, columns = np.flatnonzero(some.any(axis=1)), np.flatnonzero(some.any(axis=0))
    return scene[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


class Pictures(unittest.TestCase):
    def near(self, pixel, colour, by=4):
        self.assertLessEqual(np.abs(np.array(pixel) - colour).max(), by, (pixel, colour))

    def test_a_field_has_the_colours_of_its_values_at_its_places(self):
        square = solve("square", cells="4, 4", size="2, 1", cell="quadrilateral", degree=2, low="left", high="right")
        scene = drawn(picture(square, "--edges", "none"))
        self.assertAlmostEqual(scene.shape[1] / scene.shape[0], 2, delta=0.03)
        self.near(scene[scene.shape[0] // 2, 2], LOW)
        self.near(scene[scene.shape[0] // 2, scene.shape[1] // 2], MIDDLE)
        self.near(scene[5, -3], HIGH)
        # Drawing the mesh adds three inner vertical lines.
        lines = np.abs(drawn(picture(square, "--edges", "mesh")) - drawn(picture(square, "--edges", "outline"))).mean(axis=(0, 2))
        dark = lines > 3
        self.assertEqual(np.count_nonzero(np.diff(dark[5:-5].astype(int)) == 1), 3)

    def test_a_section_shows_the_inside_at_its_plane(self):
        cube = solve("cube", cells="3, 3, 3", size="1, 1, 1", cell="tetrahedron", degree=2, low="back", high="front")
        whole = drawn(picture(cube, "--edges", "none", "--view=0,90"))
        half = drawn(picture(cube, "--edges", "none", "--view=0,90", "--section", "z=0.5"))
        for scene, hue in ((whole, HIGH), (half, MIDDLE)):
            pixel = scene[scene.shape[0] // 2, scene.shape[1] // 2]
            shade = pixel.sum() / sum(hue)  # due to the light only
            self.assertTrue(0.5 < shade < 1.2, shade)
            self.near(pixel / shade, hue, 12)
            self.assertLess(np.abs(scene[8:-8, 8:-8] - pixel).max(), 12)  # uniform colour

    def test_a_body_of_revolution_is_swept_by_the_edges_of_its_section(self):
        disk = solve("disk", cells="4, 3", size="2, 1", cell="triangle", degree=2, low="left", high="right")
        grid = plot.read(str(disk / "solution.vtu"))
        plot.number_cells(grid)
        on_points = plot.add_field(grid, None, "x")[1]

        def area(degrees):
            body = plot.Triangles(plot.flat_pieces(grid), on_points).revolved(degrees)
            sides = np.cross(body.points[:, 1] - body.points[:, 0], body.points[:, 2] - body.points[:, 0])
            np.testing.assert_allclose(body.values, 50 * np.hypot(body.points[..., 0], body.points[..., 1]), atol=1e-3)
            return np.linalg.norm(sides, axis=1).sum() / 2

        whole = 2 * np.pi * 2 * 1 + 2 * np.pi * 2**2  # side and caps, of 120 facets around
        self.assertAlmostEqual(area(360) / whole, 1, delta=1e-3)
        self.assertAlmostEqual(area(90) / (whole / 4 + 2 * 2 * 1), 1, delta=1e-3)
        self.assertGreater(np.abs(picture(disk, "--revolve") - picture(disk)).max(), 50)
        for wrong, sentence in (("0", "--revolve must be an angle of at most 360 degrees that is not 0, not 0"), ("400", "not 400")):
            refused = run(sys.executable, PLOT, str(disk), "--revolve", wrong)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(sentence, refused.stderr)
        cube = solve("cube_of_none", cells="2, 2, 2", size="1, 1, 1", cell="hexahedron", degree=1, low="left", high="right")
        self.assertIn("--revolve is for plane problems in x >= 0", run(sys.executable, PLOT, str(cube), "--revolve").stderr)

    def test_cells_with_points_of_their_own_have_no_walls_inside(self):
        cube = solve("split", "flux", cells="3, 3, 3", size="1, 1, 1", cell="hexahedron", degree=2, low="back", high="front")
        grid = plot.read(str(cube / "solution.vtu"))
        self.assertEqual(grid.GetNumberOfPoints(), 27 * 27)
        self.assertEqual(plot.boundary_of(grid).GetNumberOfCells(), 6 * 9)
        self.assertEqual(plot.add_field(grid, "flux", "x")[0], "flux, magnitude")
        np.testing.assert_allclose(vtk_to_numpy(grid.GetPointData().GetArray("femcg drawn")), 100, rtol=1e-6)

    def test_whole_numbers_of_cells_have_colours_and_names_of_their_own(self):
        solve("faces", cells="2, 2, 2", size="1, 1, 1", cell="tetrahedron", degree=1, low="back", high="front")
        self.assertEqual(run(FEMCG, "mesh", "faces.yaml", "--quiet", "--output", "faces").returncode, 0)
        sides = picture("faces/faces.vtu")
        self.assertEqual(sides.shape, (400, 1200, 3))  # views from both sides
        colours = plot.own_colours(np.arange(1, 7), {tag: str(tag) for tag in range(1, 7)})
        self.assertGreater(min(np.abs(a - b).max() for k, a in enumerate(colours) for b in colours[:k]), 30)
        for half, count in ((sides[:, :501], 3), (sides[:, 600:1101], 3), (sides[:, 501:600], 6)):
            hues = half / np.maximum(half.max(axis=2, keepdims=True), 1)
            found = [(np.abs(hues - colour / colour.max()).max(axis=2) < 0.03).sum() > 50 for colour in colours]
            self.assertEqual(sum(found), count)
        self.assertEqual(picture("faces/faces.vtu", "--view=30,20").shape, (400, 600, 3))
        named = solve("named", cells="2, 2", size="1, 1", cell="triangle", degree=1, low="left", high="right")
        grid = plot.read(str(named / "solution.vtu"))
        self.assertEqual(plot.add_field(grid, "region", "x"), ("region", False, {0: "box"}))

    def test_normals_are_those_of_the_curved_surface_and_break_at_edges(self):
        tube = vtk.vtkCylinderSource()
        tube.SetResolution(40)
        tube.Update()
        surface = tube.GetOutput()
        values = plot.numpy_support.numpy_to_vtk(np.zeros(surface.GetNumberOfPoints()), deep=True)
        values.SetName("femcg drawn")
        surface.GetPointData().AddArray(values)
        plot.number_cells(surface)
        triangles = plot.Triangles(surface, True)
        caps = np.ptp(triangles.points[:, :, 1], axis=1) == 0
        np.testing.assert_allclose(np.abs(triangles.normals[caps][:, :, 1]), 1)
        side = triangles.normals[~caps]
        radial = triangles.points[~caps] * [1, 0, 1]
        self.assertGreater(np.abs(np.einsum("ijk,ijk->ij", side, plot.unit(radial))).min(), 0.999)  # flat facets have cos(4.5 degrees) = 0.9969
        np.testing.assert_allclose(np.abs(side[:, :, 1]), 0, atol=1e-6)

    def test_pieces_have_the_unit_of_the_record(self):
        square = solve("pieces", cells="2, 2", size="1, 1", cell="triangle", degree=1, low="left", high="right")
        text = (square / "solution.vtu").read_text(errors="replace")
        self.assertIn("degC", text)
        (square / "part.vtu").write_bytes((square / "solution.vtu").read_bytes())
        (square / "solution.vtu").unlink()
        (square / "solution.pvtu").write_text(
            '<VTKFile type="PUnstructuredGrid" version="1.0" byte_order="LittleEndian" header_type="UInt64"><PUnstructuredGrid GhostLevel="0">'
            '<PPointData><PDataArray type="Float64" Name="warmth"/></PPointData><PPoints><PDataArray type="Float64" Name="Points" NumberOfComponents="3"/></PPoints>'
            '<Piece Source="part.vtu"/></PUnstructuredGrid></VTKFile>'
        )
        self.assertGreater(drawn(picture(square)).size, 1000)
        grid = plot.read(str(square / "solution.pvtu"))
        self.assertEqual(plot.add_field(grid, None, str(square / "solution.pvtu"))[0], "warmth (degC)")

    def test_round_numbers(self):
        for (low, high), expected in (
            ((0, 100), ["0", "20", "40", "60", "80", "100"]),
            ((40, 176), ["50", "75", "100", "125", "150", "175"]),
            ((-0.031, 0.017), ["\u22120.03", "\u22120.02", "\u22120.01", "0", "0.01"]),
            ((0, 3.1e7), ["0", "1e7", "2e7", "3e7"]),
        ):
            self.assertEqual(plot.as_text(plot.round_numbers(low, high)), expected)

    def test_wrong_input_is_one_sentence(self):
        square = solve("wrong", cells="2, 2", size="1, 1", cell="quadrilateral", degree=1, low="left", high="right")
        Path(folder.name, "broken.vtu").write_bytes((square / "solution.vtu").read_bytes()[:900])
        Path(folder.name, "empty").mkdir()
        for arguments, part in (
            (("nowhere",), "nowhere: there is no such file or folder"),
            (("empty",), "there is no solution.vtu or solution.pvtu in this folder"),
            ((PLOT,), "this is no .vtu or .pvtu file"),
            (("broken.vtu",), "or it is damaged"),
            ((str(square), "--field", "flux"), "there is no field 'flux'; there are: warmth"),
            ((str(square), "--section", "z=0.1"), "--section is for problems in space"),
            ((str(square), "--section", "z>0.1"), "such as z=0.01 or 1,1,0=0.02, not 'z>0.1'"),
            ((str(square), "--section", "0,0,0=1"), "--section must be a plane"),
            ((str(square), "--size", "10x10"), "from 100 to 8000"),
            ((str(square), "--range", "3,1"), "a lower and a higher number"),
            ((str(square), "--view=up"), "--view must be two numbers"),
            ((str(square), "-o", "x.jpg"), "the picture is a .png file"),
            ((str(square), "--colour"), "unrecognized arguments"),
        ):
            with self.subTest(arguments=arguments):
                result = run(sys.executable, PLOT, *arguments)
                self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (2, "", 1), result.stderr)
                self.assertIn(part, result.stderr)
        result = run(sys.executable, PLOT, str(square), "-o", "no/such/folder.png")
        self.assertEqual((result.returncode, result.stderr.count("\n")), (3, 1), result.stderr)
        # Without VTK.
        Path(folder.name, "vtkmodules.py").write_text("raise ImportError")
        result = run(sys.executable, PLOT, str(square), env={"PYTHONPATH": folder.name, "PATH": "/usr/bin"})
        self.assertEqual((result.returncode, result.stderr), (2, f"femcg-plot: {plot.ABSENT}\n"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        folder = type("Folder", (), {"name": name})
        unittest.main(argv=sys.argv[:1])
