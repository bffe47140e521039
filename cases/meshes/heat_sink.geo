// A heat sink: a base plate 60 x 60 x 6 mm with six fins 3 mm thick and 30 mm tall, sharing its top face.
// Makes heat_sink.step (lengths in mm, as CAD programs write them):  gmsh -0 heat_sink.geo -o heat_sink.step
SetFactory("OpenCASCADE");
width = 60;
base = 6;
height = 30;
thickness = 3;
fins = 6;
pitch = (width - thickness) / (fins - 1);

Box(1) = {-width / 2, -width / 2, 0, width, width, base};
For i In {0 : fins - 1}
  Box(2 + i) = {-width / 2 + i * pitch, -width / 2, base, thickness, width, height};
EndFor
BooleanFragments{ Volume{1}; Delete; }{ Volume{2 : 1 + fins}; Delete; }
