"""Reads with VTK what `femcg run` wrote, and prints or checks it.

    check_fields.py names FILE                      the arrays: section, name, components, unit; in the order of the file
    check_fields.py points FILE                     the number of points
    check_fields.py cells FILE                      how many, of which type, and their bounds
    check_fields.py values FILE ARRAY EXPRESSION... an array at the points is, component by component, such an
                                                    expression in x, y, z and the functions of math
    check_fields.py boundary FILE RESULT [EXPRESSION]
                                                    areas, means and fluxes that boundary.vtu integrates to are those of
                                                    the groups in result.json, cells of a box look outwards in space, and
                                                    normal_flux is such an expression in x, y, z and the normal n
"""

import json
import math
import sys
from collections import defaultdict
from pathlib import Path

from vtkmodules.vtkCommonCore import reference, vtkDataArray

from check_vtu import GAUSS, dot, quadrature, read, slopes

SURFACES = {69: "triangle", 70: "quadrilateral"}


def names(path):
    grid = read(path)
    for section, data in (("point", grid.GetPointData()), ("cell", grid.GetCellData()), ("text", grid.GetFieldData())):
        for k in range(data.GetNumberOfArrays()):
            array = data.GetAbstractArray(k)
            if section == "text":
                values = [array.GetValue(i) for i in range(array.GetNumberOfValues())]
                print(f"{section} {array.GetName()}: {' | '.join(values)}")
                continue
            unit = array.GetInformation().Get(vtkDataArray.UNITS_LABEL())
            print(f"{section} {array.GetName()} {array.GetNumberOfComponents()}{f' in {unit}' if unit else ''}")


def points(path):
    print(read(path).GetNumberOfPoints())


def cells(path):
    grid = read(path)
    types = {grid.GetCellType(k) for k in range(grid.GetNumberOfCells())}
    print(f"{grid.GetNumberOfCells()} of type {' '.join(map(str, types))} in {' '.join(f'{b:g}' for b in grid.GetBounds())}")


def values(path, name, *expressions):
    grid = read(path)
    array = grid.GetPointData().GetArray(name)
    assert array and array.GetNumberOfComponents() == len(expressions), f"no {name} of {len(expressions)} components"
    assert grid.GetNumberOfPoints() > 0, "no points"
    codes = [compile(expression, expression, "eval") for expression in expressions]
    for k in range(grid.GetNumberOfPoints()):
        x, y, z = grid.GetPoint(k)
        for value, code in zip(array.GetTuple(k), codes):
            right = eval(code, vars(math), {"x": x, "y": y, "z": z})
            assert abs(value - right) < 1e-9, f"{name} is {value} instead of {right} at {(x, y, z)}"


def surface_points(cell):
    """x, normal, weight times measure, and values of the basis functions, at quadrature points of a boundary cell."""
    n, shape = cell.GetNumberOfPoints(), SURFACES.get(cell.GetCellType())
    rule = quadrature(shape) if shape else (((x, 0.0, 0.0), weight) for x, weight in GAUSS)
    axes = list(zip(*[cell.GetPoints().GetPoint(k) for k in range(n)]))
    for point, weight in rule:
        x, basis = [0.0] * 3, [0.0] * n
        cell.EvaluateLocation(reference(0), point, x, basis)
        if shape:
            t, s = [[dot(row, axis) for axis in map(list, axes)] for row in slopes(cell, shape, point)]
            normal = [t[1] * s[2] - t[2] * s[1], t[2] * s[0] - t[0] * s[2], t[0] * s[1] - t[1] * s[0]]
        else:
            normal = [axes[1][1] - axes[1][0], axes[0][0] - axes[0][1], 0.0]  # the edges of a box are straight
        yield x, normal, weight, basis


def boundary(path, result, expression=None):
    grid, quantities = read(path), json.loads(Path(result).read_text())["quantities"]
    texts = grid.GetFieldData().GetAbstractArray("group_names")
    numbers = grid.GetCellData().GetArray("group")
    u, flux = grid.GetPointData().GetArray("u"), grid.GetPointData().GetArray("normal_flux")
    bounds = grid.GetBounds()
    centre = [(bounds[0] + bounds[1]) / 2, (bounds[2] + bounds[3]) / 2, (bounds[4] + bounds[5]) / 2]
    sums = defaultdict(lambda: [0.0, 0.0, 0.0])
    for number in range(grid.GetNumberOfCells()):
        cell, sum_ = grid.GetCell(number), sums[texts.GetValue(numbers.GetValue(number))]
        at_nodes = [[array.GetValue(cell.GetPointId(k)) for k in range(cell.GetNumberOfPoints())] for array in (u, flux)]
        for x, normal, weight, basis in surface_points(cell):
            length = math.hypot(*normal)
            outward = dot(normal, [a - b for a, b in zip(x, centre)])
            assert outward > 0 or cell.GetCellType() == 68, f"cell {number} looks inwards"
            n = [component / math.copysign(length, outward) for component in normal]
            values = [dot(nodes, basis) for nodes in at_nodes]
            for k, value in enumerate((1.0, *values)):
                sum_[k] += weight * length * value
            right = eval(expression, vars(math), {"x": x[0], "y": x[1], "z": x[2], "n": n}) if expression else values[1]
            assert abs(values[1] - right) < 1e-8, f"normal_flux is {values[1]} instead of {right} at {x}"
    groups = {name: group for name, group in quantities["groups"].items() if name != "all"}  # without the group of the remaining sides, which the mesh lacks
    assert set(sums) == set(groups), "other groups"
    for name, group in groups.items():
        area, integral, outflow = sums[name]
        for what, found, right in (("area", area, group["area"]), ("mean", integral / area, group["mean"]),
                                   ("flux", -outflow, group["flux"])):
            assert abs(found - right) < 1e-10 * (1 + abs(right)), f"{name}: {what} is {found} instead of {right}"


if __name__ == "__main__":
    {"names": names, "points": points, "cells": cells, "values": values, "boundary": boundary}[sys.argv[1]](*sys.argv[2:])
