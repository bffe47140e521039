"""Reads with VTK what `femcg run` wrote, and prints or checks it.

    check_fields.py names FILE                      the arrays: section, name, components, unit; in the order of the file
    check_fields.py values FILE ARRAY EXPRESSION... an array at the points is, component by component, such an
                                                    expression in x, y, z and the functions of math
"""

import math
import sys

import vtk


def read(path):
    reader = vtk.vtkXMLUnstructuredGridReader()
    errors = []
    reader.AddObserver("ErrorEvent", lambda *_: errors.append(1))
    reader.SetFileName(path)
    reader.Update()
    assert not errors and reader.GetErrorCode() == 0, "VTK cannot read it"
    return reader.GetOutput()


def names(path):
    grid = read(path)
    for section, data in (("point", grid.GetPointData()), ("cell", grid.GetCellData()), ("text", grid.GetFieldData())):
        for k in range(data.GetNumberOfArrays()):
            array = data.GetAbstractArray(k)
            if section == "text":
                values = [array.GetValue(i) for i in range(array.GetNumberOfValues())]
                print(f"{section} {array.GetName()}: {' | '.join(values)}")
                continue
            unit = array.GetInformation().Get(vtk.vtkDataArray.UNITS_LABEL())
            print(f"{section} {array.GetName()} {array.GetNumberOfComponents()}{f' in {unit}' if unit else ''}")


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


if __name__ == "__main__":
    {"names": names, "values": values}[sys.argv[1]](*sys.argv[2:])
