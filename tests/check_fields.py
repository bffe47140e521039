"""Reads with VTK what `femcg run` wrote, and prints or checks it.

    check_fields.py names FILE          the arrays: section, name, components, unit; in the order of the file
"""

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


if __name__ == "__main__":
    {"names": names}[sys.argv[1]](*sys.argv[2:])
