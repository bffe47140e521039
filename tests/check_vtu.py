"""Reads with VTK what test_vtu wrote, and compares it with the formulas that it was written from.

    check_vtu.py DIRECTORY

DIRECTORY/manifest has one line a check:
    order SHAPE DEGREE x y [z] x y [z] ...     vtk_lagrange_points, node by node
    file NAME SHAPE DEGREE total|tensor POLYNOMIAL_DEGREE straight|curved|nodes
Every file covers the box [0,1] x [0,2] (x [0,1.5]), or that box bent at constant volume, with the polynomial of
polynomial() in `u` and the cell's number modulo 3 in `region`. Of a file of "nodes" only the values at the nodes are those.
"""

import itertools
import random
import sys
from pathlib import Path

# Imports single modules: loading all of VTK takes several times as long.
from vtkmodules.vtkCommonCore import reference, vtkPoints, vtkVersion
from vtkmodules.vtkCommonDataModel import vtkLagrangeHexahedron, vtkLagrangeQuadrilateral, vtkLagrangeTetra, vtkLagrangeTriangle, vtkPolyData
from vtkmodules.vtkFiltersCore import vtkProbeFilter
from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader

CELLS = {"triangle": (69, vtkLagrangeTriangle), "quadrilateral": (70, vtkLagrangeQuadrilateral),
         "tetrahedron": (71, vtkLagrangeTetra), "hexahedron": (72, vtkLagrangeHexahedron)}
BOX = (1.0, 2.0, 1.5)
GAUSS = [(0.5 + sign * x / 2, weight / 2) for sign in (-1, 1)
         for x, weight in [(0.3399810435848563, 0.6521451548625461), (0.8611363115940526, 0.3478548451374538)]]


def dimension(shape):
    return 2 if shape in ("triangle", "quadrilateral") else 3


def node_count(shape, p):
    return {"triangle": (p + 1) * (p + 2) // 2, "quadrilateral": (p + 1) ** 2,
            "tetrahedron": (p + 1) * (p + 2) * (p + 3) // 6, "hexahedron": (p + 1) ** 3}[shape]


def polynomial(kind, degree, d, x):
    """The sum of all monomials of the space, each with a coefficient of its own."""
    return sum(x[0] ** a * x[1] ** b * x[2] ** c / (1 + a + 2 * b + 3 * c)
               for a, b, c in itertools.product(range(degree + 1), repeat=3)
               if (c == 0 or d == 3) and (kind == "tensor" or a + b + c <= degree))


def quadrature(shape):
    """Parametric points, none of them a node, and weights that integrate the Jacobian determinant exactly."""
    d = dimension(shape)
    for rule in itertools.product(GAUSS, repeat=d):
        (x, wx), (y, wy), (z, wz) = (*rule, (0.0, 1.0))[:3]
        weight = wx * wy * wz
        if shape == "triangle":  # points of a collapsed square or cube
            y, weight = y * (1 - x), weight * (1 - x)
        elif shape == "tetrahedron":
            y, z, weight = y * (1 - x), z * (1 - x) * (1 - y), weight * (1 - x) ** 2 * (1 - y)
        yield (x, y, z), weight


def slopes(cell, shape, point):
    """The derivatives of all basis functions along each parametric coordinate."""
    d, n = dimension(shape), cell.GetNumberOfPoints()
    values = [0.0] * (3 * n)
    cell.InterpolateDerivs(point, values)
    if shape in ("triangle", "tetrahedron"):
        return [values[r * n:(r + 1) * n] for r in range(d)]
    return [values[r:d * n:d] for r in range(d)]  # VTK stores them function by function


def dot(a, b):
    return sum(map(float.__mul__, a, b))


def determinant(j):
    if len(j) == 2:
        return j[0][0] * j[1][1] - j[0][1] * j[1][0]
    return sum(j[0][i] * (j[1][(i + 1) % 3] * j[2][(i + 2) % 3] - j[1][(i + 2) % 3] * j[2][(i + 1) % 3])
               for i in range(3))


def check_order(shape, degree, *numbers):
    """The cell's own parametric coordinates are ours."""
    degree, d, n = int(degree), dimension(shape), node_count(shape, int(degree))
    cell = CELLS[shape][1]()
    cell.GetPointIds().SetNumberOfIds(n)
    cell.GetPoints().SetNumberOfPoints(n)
    if shape in ("quadrilateral", "hexahedron"):
        cell.SetOrder(*[degree] * d)
    cell.Initialize()
    assert len(numbers) == n * d, f"{len(numbers) // d} nodes instead of {n}"
    theirs = cell.GetParametricCoords()
    for node, i in itertools.product(range(n), range(d)):
        difference = abs(theirs[3 * node + i] - float(numbers[d * node + i]))
        assert difference < 1e-14, f"node {node} is misplaced by {difference}"


def read(path):
    reader = vtkXMLUnstructuredGridReader()
    errors = []
    reader.AddObserver("ErrorEvent", lambda *_: errors.append(1))
    reader.SetFileName(str(path))
    reader.Update()
    assert not errors and reader.GetErrorCode() == 0, "VTK cannot read it"
    return reader.GetOutput()


def check_cells(grid, shape, degree, expected):
    """Type, region, orientation and volume; the polynomial at points of each cell that are no nodes."""
    d = dimension(shape)
    u, region = grid.GetPointData().GetArray("u"), grid.GetCellData().GetArray("region")
    assert grid.GetPointData().GetScalars().GetName() == "u", "u is not the active field"
    assert region.GetDataTypeAsString() == "int", "regions are no integers"
    rule = [(point, weight, slopes(grid.GetCell(0), shape, point)) for point, weight in quadrature(shape)]
    volume = 0.0
    for number in range(grid.GetNumberOfCells()):
        cell = grid.GetCell(number)
        n = cell.GetNumberOfPoints()
        assert cell.GetCellType() == CELLS[shape][0] and n == node_count(shape, degree), f"cell {number} is of another type"
        assert region.GetValue(number) == number % 3, f"cell {number} has a wrong region"
        values = [u.GetValue(cell.GetPointId(k)) for k in range(n)]
        nodes = [cell.GetPoints().GetPoint(k) for k in range(n)]
        axes = [[node[i] for node in nodes] for i in range(d)]
        for point, weight, slope in rule:
            x, shape_values = [0.0] * 3, [0.0] * n
            cell.EvaluateLocation(reference(0), point, x, shape_values)
            error = abs(dot(shape_values, values) - expected(x))
            assert error < 1e-11 * abs(expected(x)), f"cell {number} is wrong by {error} at {x}"
            jacobian = determinant([[dot(row, axis) for axis in axes] for row in slope])
            assert jacobian > 0, f"cell {number} is inside out at {x}"
            volume += weight * jacobian
    box = BOX[0] * BOX[1] * (BOX[2] if d == 3 else 1)
    assert abs(volume - box) < 1e-12 * box, f"the cells fill {volume} instead of {box}"


def check_nodes(grid, expected):
    u = grid.GetPointData().GetArray("u")
    for k in range(grid.GetNumberOfPoints()):
        error = abs(u.GetValue(k) - expected(grid.GetPoint(k)))
        assert error < 1e-12 * abs(expected(grid.GetPoint(k))), f"node {k} is wrong by {error}"


def check_probe(grid, d, expected):
    """VTK finds the cell of any point of the box and interpolates there. Its search stops at about 1e-8."""
    draw = random.Random(1)
    points = vtkPoints()
    points.SetDataTypeToDouble()
    for _ in range(100):
        points.InsertNextPoint(*[draw.uniform(0.01, 0.99) * BOX[i] if i < d else 0.0 for i in range(3)])
    cloud = vtkPolyData()
    cloud.SetPoints(points)
    probe = vtkProbeFilter()
    probe.SetInputData(cloud)
    probe.SetSourceData(grid)
    probe.Update()
    u = probe.GetOutput().GetPointData().GetArray("u")
    for k in range(points.GetNumberOfPoints()):
        error = abs(u.GetValue(k) - expected(points.GetPoint(k)))
        assert error < 1e-6 * abs(expected(points.GetPoint(k))), f"probing is wrong by {error} at {points.GetPoint(k)}"


def check_file(directory, name, shape, degree, kind, polynomial_degree, geometry):
    d = dimension(shape)
    grid = read(directory / name)

    def expected(x):
        return polynomial(kind, int(polynomial_degree), d, x)

    check_nodes(grid, expected) if geometry == "nodes" else check_cells(grid, shape, int(degree), expected)
    if geometry == "straight":
        check_probe(grid, d, expected)


def main():
    directory = Path(sys.argv[1])
    failures = 0
    lines = (directory / "manifest").read_text().splitlines()
    for line in lines:
        check, *arguments = line.split()
        try:
            check_order(*arguments) if check == "order" else check_file(directory, *arguments)
        except AssertionError as error:
            print(f"{' '.join(line.split()[:7])}: {error}")
            failures += 1
    print(f"VTK {vtkVersion().GetVTKVersion()}: {len(lines) - failures} of {len(lines)} checks passed")
    return 1 if failures or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
