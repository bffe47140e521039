#!/usr/bin/env python3
"""Draws a field of a .vtu file, high-order cells as curved as they are.

    tools/render_vtu.py solution.vtu picture.png [--field u] [--title "Heat sink"] [--view=-60,35]

Needs VTK for Python (Debian: python3-vtk9) and, without a screen, xvfb-run.
"""

import argparse
import math
import os
import shutil
import sys

try:
    import vtk
except ImportError:
    sys.exit("render_vtu.py needs VTK for this Python (Debian: apt install python3-vtk9, then /usr/bin/python3)")

# Viridis (van der Walt & Smith 2015) at nine equally spaced points.
VIRIDIS = ["440154", "472d7b", "3b528b", "2c728e", "21918c", "28ae80", "5ec962", "addc30", "fde725"]
INK = (0.15, 0.15, 0.18)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="the .vtu file")
    parser.add_argument("picture", help="the .png file to write")
    parser.add_argument("--field", help="point or cell field to draw (default: the file's first point field)")
    parser.add_argument("--title", help="text above the picture")
    parser.add_argument("--label", help="text at the colour bar (default: the field and its unit)")
    parser.add_argument("--range", metavar="LOW,HIGH", help="values at the ends of the colour bar")
    parser.add_argument("--view", metavar="AZIMUTH,ELEVATION", default="-60,35",
                        help="of the eye, in degrees (3D; default -60,35; give it as --view=-60,35)")
    parser.add_argument("--edges", choices=["mesh", "outline", "none"],
                        help="lines to draw (default: the mesh where it is coarse enough, else the outline)")
    parser.add_argument("--size", metavar="WIDTHxHEIGHT", default="1200x800", help="in pixels")
    parser.add_argument("--level", type=int, help="how finely cells are cut: degree * 2^(level - 1) pieces an edge")
    arguments = parser.parse_args()
    try:
        arguments.size = [int(number) for number in arguments.size.split("x")]
        arguments.view = [float(number) for number in arguments.view.split(",")]
        arguments.range = arguments.range and [float(number) for number in arguments.range.split(",")]
    except ValueError as error:
        parser.error(str(error))
    if not os.path.isfile(arguments.file):
        parser.error(f"{arguments.file} does not exist")
    return arguments


def use_virtual_screen():
    """Starts over under xvfb-run where there is no screen to draw on."""
    if os.environ.get("DISPLAY") or sys.platform != "linux":
        return
    if not shutil.which("xvfb-run"):
        sys.exit("render_vtu.py: no display; install xvfb (Debian: apt install xvfb xauth)")
    os.execvp("xvfb-run", ["xvfb-run", "-a", "-s", "-screen 0 1280x1024x24", sys.executable, *sys.argv])


def read(file):
    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(file)
    reader.Update()
    grid = reader.GetOutput()
    if grid.GetNumberOfCells() == 0:
        sys.exit(f"render_vtu.py: {file} is no .vtu file, or has no cells")
    return grid


def choose_field(grid, name):
    """Name and attributes (point or cell data) of the field to draw."""
    attributes = [grid.GetPointData(), grid.GetCellData()]
    names = [data.GetArrayName(k) for data in attributes for k in range(data.GetNumberOfArrays())]
    name = name or (names[0] if names else None)
    for data in attributes:
        if name and data.HasArray(name):
            return name, data
    sys.exit(f"render_vtu.py: no field {name}; there are: {', '.join(names) or 'none'}")


def label_of(array):
    """The field's name, and its unit where the file has one."""
    unit = array.GetInformation().Get(vtk.vtkDataArray.UNITS_LABEL())
    return f"{array.GetName()} in {unit}" if unit else array.GetName()


def boundary_of(grid):
    """The facets on the boundary in 3D, all cells in 2D, still of high order."""
    if grid.GetCell(0).GetCellDimension() == 2:
        return grid
    facets = vtk.vtkUnstructuredGridGeometryFilter()
    facets.SetInputData(grid)
    facets.Update()
    return facets.GetOutput()


def surface_of(facets, level):
    """Each facet cut into flat pieces, degree * 2^(level - 1) an edge."""
    surface = vtk.vtkDataSetSurfaceFilter()
    surface.SetInputData(facets)
    surface.SetNonlinearSubdivisionLevel(level)
    surface.Update()
    return surface.GetOutput()


def finest_level(facets, degree, pieces=1500000):
    """The most pieces that still draw quickly."""
    for level in (4, 3, 2):
        if facets * 2 * (degree * 2 ** (level - 1)) ** 2 <= pieces:
            return level
    return 1


def mesh_edges(facets, pieces):
    """The edges of the facets as polylines along the same points as the surface has."""
    points, lines, seen = vtk.vtkPoints(), vtk.vtkCellArray(), set()
    points.SetDataTypeToDouble()
    x, part = [0.0] * 3, vtk.reference(0)
    for number in range(facets.GetNumberOfCells()):
        facet = facets.GetCell(number)
        for k in range(facet.GetNumberOfEdges()):
            edge = facet.GetEdge(k)
            ends = frozenset((edge.GetPointId(0), edge.GetPointId(1)))
            if ends in seen:
                continue
            seen.add(ends)
            weights = [0.0] * edge.GetNumberOfPoints()
            lines.InsertNextCell(pieces + 1)
            for i in range(pieces + 1):
                edge.EvaluateLocation(part, (i / pieces, 0, 0), x, weights)
                lines.InsertCellPoint(points.InsertNextPoint(x))
    polylines = vtk.vtkPolyData()
    polylines.SetPoints(points)
    polylines.SetLines(lines)
    return polylines


def sharp_edges(facets):
    """Where the surface ends or folds; nothing for a large one, as the filter's memory grows with the square of the points."""
    surface = surface_of(facets, 1)
    if surface.GetNumberOfPoints() > 150000:
        return vtk.vtkPolyData()
    edges = vtk.vtkFeatureEdges()
    edges.SetInputData(surface)
    edges.SetFeatureAngle(40)
    edges.ColoringOff()
    edges.Update()
    return edges.GetOutput()


def colour_table(low, high):
    colours = vtk.vtkColorTransferFunction()
    for k, colour in enumerate(VIRIDIS):
        rgb = [int(colour[i:i + 2], 16) / 255 for i in (0, 2, 4)]
        colours.AddRGBPoint(low + (high - low) * k / (len(VIRIDIS) - 1), *rgb)
    return colours


def surface_actor(surface, name, on_points, colours, flat):
    mapper = vtk.vtkPolyDataMapper()
    mapper.SetInputData(surface)
    mapper.SetLookupTable(colours)
    mapper.SetScalarRange(colours.GetRange())
    if on_points:
        mapper.SetScalarModeToUsePointFieldData()
    else:
        mapper.SetScalarModeToUseCellFieldData()
    mapper.SelectColorArray(name)
    mapper.InterpolateScalarsBeforeMappingOn()
    mapper.SetResolveCoincidentTopologyToPolygonOffset()  # lines lie on the surface
    mapper.SetRelativeCoincidentTopologyPolygonOffsetParameters(3, 30)
    actor = vtk.vtkActor()
    actor.SetMapper(mapper)
    light = actor.GetProperty()
    light.SetAmbient(1.0 if flat else 0.65)
    light.SetDiffuse(0.0 if flat else 0.4)
    return actor


def line_actor(lines, width, opacity):
    mapper = vtk.vtkPolyDataMapper()
    mapper.SetInputData(lines)
    mapper.ScalarVisibilityOff()
    actor = vtk.vtkActor()
    actor.SetMapper(mapper)
    pen = actor.GetProperty()
    pen.SetColor(INK)
    pen.SetLineWidth(width)
    pen.SetOpacity(opacity)
    pen.LightingOff()
    return actor


def write_in(style, size, bold=False):
    style.SetColor(INK)
    style.SetFontFamilyToArial()
    style.SetFontSize(size)
    style.SetBold(bold)
    style.ItalicOff()
    style.ShadowOff()


def colour_bar(colours, label, size):
    bar = vtk.vtkScalarBarActor()
    bar.SetLookupTable(colours)
    bar.SetTitle(label)
    bar.SetNumberOfLabels(5)
    bar.SetLabelFormat("%-#.3g")
    bar.UnconstrainedFontSizeOn()
    bar.SetPosition(0.88, 0.2)
    bar.SetWidth(0.09)
    bar.SetHeight(0.6)
    bar.SetBarRatio(0.25)
    bar.SetVerticalTitleSeparation(size // 2)
    bar.SetTextPad(size // 3)
    bar.SetMaximumNumberOfColors(256)
    write_in(bar.GetTitleTextProperty(), size, bold=True)
    write_in(bar.GetLabelTextProperty(), size)
    return bar


def heading(text, size):
    actor = vtk.vtkTextActor()
    actor.SetInput(text)
    actor.GetPositionCoordinate().SetCoordinateSystemToNormalizedViewport()
    actor.SetPosition(0.5, 0.95)
    write_in(actor.GetTextProperty(), size, bold=True)
    actor.GetTextProperty().SetJustificationToCentered()
    actor.GetTextProperty().SetVerticalJustificationToCentered()
    return actor


def aim(scene, flat, view, aspect):
    """Fits the box into the picture, from above in 2D."""
    camera = scene.GetActiveCamera()
    camera.ParallelProjectionOn()
    azimuth, elevation = (math.radians(angle) for angle in view)
    towards_eye = (math.cos(elevation) * math.cos(azimuth), math.cos(elevation) * math.sin(azimuth), math.sin(elevation))
    up = (0, 0, 1)
    if flat:
        towards_eye, up = (0, 0, 1), (0, 1, 0)
    camera.SetFocalPoint(0, 0, 0)
    camera.SetPosition(towards_eye)
    camera.SetViewUp(up)
    scene.ResetCamera()
    camera.ComputeViewPlaneNormal()
    right = [camera.GetViewTransformMatrix().GetElement(0, i) for i in range(3)]
    upright = [camera.GetViewTransformMatrix().GetElement(1, i) for i in range(3)]
    bounds = scene.ComputeVisiblePropBounds()
    half = [(bounds[2 * i + 1] - bounds[2 * i]) / 2 for i in range(3)]
    width, height = (sum(abs(a) * h for a, h in zip(axis, half)) for axis in (right, upright))
    camera.SetParallelScale(1.06 * max(height, width / aspect))


def main():
    arguments = parse_arguments()
    use_virtual_screen()
    vtk.vtkObject.GlobalWarningDisplayOff()  # our own sentences say what is wrong
    grid = read(arguments.file)
    name, data = choose_field(grid, arguments.field)
    low, high = arguments.range or data.GetArray(name).GetRange()
    flat = grid.GetCell(0).GetCellDimension() == 2
    on_points = data.IsA("vtkPointData")

    facets = boundary_of(grid)
    degree = facets.GetCell(0).GetEdge(0).GetNumberOfPoints() - 1
    level = arguments.level or finest_level(facets.GetNumberOfCells(), degree)
    surface = surface_of(facets, level)
    colours = colour_table(low, high if high > low else low + 1)

    width, height = arguments.size
    letters = max(12, height // 40)
    scene = vtk.vtkRenderer()
    scene.SetViewport(0, 0, 0.86, 0.92 if arguments.title else 1)
    scene.SetLayer(1)
    scene.AddActor(surface_actor(surface, name, on_points, colours, flat))
    edges = arguments.edges or ("mesh" if facets.GetNumberOfCells() <= 20000 else "outline")
    if edges == "mesh":
        scene.AddActor(line_actor(mesh_edges(facets, degree * 2 ** (level - 1)), 1.2, 0.45))
    elif edges == "outline":
        scene.AddActor(line_actor(sharp_edges(facets), 1.6, 0.8))
    aim(scene, flat, arguments.view, 0.86 * width / (height * scene.GetViewport()[3]))

    frame = vtk.vtkRenderer()
    frame.SetBackground(1, 1, 1)
    frame.AddViewProp(colour_bar(colours, arguments.label or label_of(data.GetArray(name)), letters))
    if arguments.title:
        frame.AddViewProp(heading(arguments.title, letters * 3 // 2))

    window = vtk.vtkRenderWindow()
    window.SetOffScreenRendering(1)
    window.SetSize(width, height)
    window.SetMultiSamples(8)
    window.SetNumberOfLayers(2)
    window.AddRenderer(frame)
    window.AddRenderer(scene)
    window.Render()
    image = vtk.vtkWindowToImageFilter()
    image.SetInput(window)
    image.ReadFrontBufferOff()
    writer = vtk.vtkPNGWriter()
    writer.SetFileName(arguments.picture)
    writer.SetInputConnection(image.GetOutputPort())
    writer.Write()
    if writer.GetErrorCode():
        sys.exit(f"render_vtu.py: cannot write {arguments.picture}")


if __name__ == "__main__":
    main()
