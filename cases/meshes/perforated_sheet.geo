// A sheet 200 x 100 mm with three rows of holes, larger towards the right, and a slot with rounded corners. Lengths in metres.
length = 0.2;
width = 0.1;
Mesh.MeshSizeMax = 0.002;

SetFactory("OpenCASCADE");
Rectangle(1) = {0, 0, 0, length, width};
holes[] = {};
For i In {0 : 7}
  For j In {0 : 2}
    hole = news;
    Disk(hole) = {0.02 + 0.02 * i, 0.02 + 0.03 * j + 0.005 * (i % 2), 0, 0.0025 + 0.0006 * i};
    holes[] += hole;
  EndFor
EndFor
slot = news;
Rectangle(slot) = {0.178, 0.03, 0, 0.008, 0.04, 0.0035};
holes[] += slot;
BooleanDifference(1000) = { Surface{1}; Delete; }{ Surface{holes[]}; Delete; };

e = 1e-6;
left[] = Curve In BoundingBox{-e, -e, -e, e, width + e, e};
right[] = Curve In BoundingBox{length - e, -e, -e, length + e, width + e, e};
Physical Surface("sheet") = {1000};
Physical Curve("plus") = {left[]};
Physical Curve("minus") = {right[]};
