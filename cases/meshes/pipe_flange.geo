// The end of a hot pipe: a weld-neck flange with six bolt holes. Lengths in metres; the axis is z, the mating face z = 0.
SetFactory("OpenCASCADE");
bore = 0.025;        // inner radius of the pipe
pipe = 0.031;        // outer radius of the pipe
hub = 0.038;         // outer radius of the neck where it meets the flange
flange = 0.065;      // outer radius of the flange
thickness = 0.014;   // of the flange
neck = 0.034;        // height at which the neck has narrowed to the pipe
length = 0.080;
bolts = 6;
bolt_circle = 0.052;
bolt_hole = 0.0055;  // radius
Mesh.MeshSizeMax = 0.005;

Cylinder(1) = {0, 0, 0, 0, 0, thickness, flange};
Cone(2) = {0, 0, thickness, 0, 0, neck - thickness, hub, pipe};
Cylinder(3) = {0, 0, neck, 0, 0, length - neck, pipe};
BooleanUnion(4) = { Volume{1}; Delete; }{ Volume{2, 3}; Delete; };
Cylinder(5) = {0, 0, 0, 0, 0, length, bore};
For i In {0 : bolts - 1}
  angle = 2 * Pi * (i + 0.5) / bolts;
  Cylinder(6 + i) = {bolt_circle * Cos(angle), bolt_circle * Sin(angle), 0, 0, 0, thickness, bolt_hole};
EndFor
BooleanDifference(100) = { Volume{4}; Delete; }{ Volume{5 : 5 + bolts}; Delete; };

e = 1e-5;
bore_wall[] = Surface In BoundingBox{-bore - e, -bore - e, -e, bore + e, bore + e, length + e};
mating_face[] = Surface In BoundingBox{-flange - e, -flange - e, -e, flange + e, flange + e, e};
cut[] = Surface In BoundingBox{-pipe - e, -pipe - e, length - e, pipe + e, pipe + e, length + e};
outside[] = Boundary{ Volume{100}; };
outside[] -= {bore_wall[], mating_face[], cut[]};
Physical Volume("steel") = {100};
Physical Surface("bore") = {bore_wall[]};
Physical Surface("mating_face") = {mating_face[]};
Physical Surface("cut") = {cut[]};
Physical Surface("outside") = {outside[]};
