"""Reads with VTK what `femcg mesh` wrote, and measures it:

    check_inspection.py FILE ARRAY      "TAG COUNT MEASURE" of the cells with each number in a cell array, by tag

The measure is that of the cells cut into straight ones, finely where they are curved.
"""

import sys

from vtkmodules.vtkCommonCore import vtkIdList, vtkMath, vtkPoints
from vtkmodules.vtkCommonDataModel import vtkTetra, vtkTriangle
from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader


def main(path, name):
    reader = vtkXMLUnstructuredGridReader()
    errors = []
    reader.AddObserver("ErrorEvent", lambda *_: errors.append(1))
    reader.SetFileName(path)
    reader.Update()
    assert not errors and reader.GetErrorCode() == 0, "VTK cannot read it"
    grid = reader.GetOutput()
    tags = grid.GetCellData().GetArray(name)
    assert tags and tags.GetNumberOfTuples() == grid.GetNumberOfCells(), f"no cell array {name}"
    counts, sums = {}, {}
    for c in range(grid.GetNumberOfCells()):
        tag, cell = int(tags.GetValue(c)), grid.GetCell(c)
        ids, points = vtkIdList(), vtkPoints()
        cell.Triangulate(0, ids, points)
        corners = cell.GetCellDimension() + 1
        x = [points.GetPoint(i) for i in range(points.GetNumberOfPoints())]
        counts[tag] = counts.get(tag, 0) + 1
        for first in range(0, len(x), corners):
            sums[tag] = sums.get(tag, 0) + measure(x[first:first + corners])
    for tag in sorted(counts):
        print(tag, counts[tag], f"{sums[tag]:.12g}")


def measure(x):
    if len(x) == 2:
        return vtkMath.Distance2BetweenPoints(*x) ** 0.5
    if len(x) == 3:
        return vtkTriangle.TriangleArea(*x)
    return abs(vtkTetra.ComputeVolume(*x))


if __name__ == "__main__":
    main(*sys.argv[1:])
