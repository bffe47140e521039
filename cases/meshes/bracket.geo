// A motor bracket: a base plate with four bolt holes, an upright wall with a bearing seat, and a rib between them.
// Makes bracket.step (lengths in mm, as CAD programs write them):  gmsh -0 bracket.geo -o bracket.step
SetFactory("OpenCASCADE");
width = 80;      // along x
depth = 64;      // of the base plate, along y
height = 84;     // of the wall, along z
base = 8;        // thickness of the base plate
wall = 10;       // thickness of the wall
inside = 8;      // fillet where the wall stands on the plate
corner = 12;     // rounded corners of plate and wall
axis = 52;       // height of the bearing above the bottom
bore = 15;       // radius of the bearing seat
boss = 23;       // its outer radius
seat = 20;       // its length
rib = 8;         // thickness of the rib
bolt_hole = 4.5; // radius

// The plate and the wall: an L with a rounded corner inside, drawn in the plane x = -width / 2.
Point(1) = {-width / 2, 0, 0};
Point(2) = {-width / 2, depth, 0};
Point(3) = {-width / 2, depth, base};
Point(4) = {-width / 2, wall + inside, base};
Point(5) = {-width / 2, wall + inside, base + inside};
Point(6) = {-width / 2, wall, base + inside};
Point(7) = {-width / 2, wall, height};
Point(8) = {-width / 2, 0, height};
Line(1) = {1, 2};
Line(2) = {2, 3};
Line(3) = {3, 4};
Circle(4) = {4, 5, 6};
Line(5) = {6, 7};
Line(6) = {7, 8};
Line(7) = {8, 1};
Curve Loop(1) = {1 ... 7};
Plane Surface(1) = {1};
Extrude{width, 0, 0}{ Surface{1}; }
e = 1e-3;
corners[] = {};
For side In {-1 : 1 : 2}
  x = side * width / 2;
  corners[] += Curve In BoundingBox{x - e, depth - e, -e, x + e, depth + e, base + e};
  corners[] += Curve In BoundingBox{x - e, -e, height - e, x + e, wall + e, height + e};
EndFor
solid[] = Fillet{1}{ corners[] }{ corner };

// The rib, and the boss that holds the bearing.
Point(101) = {-rib / 2, wall / 2, base / 2};
Point(102) = {-rib / 2, depth - corner, base / 2};
Point(103) = {-rib / 2, depth - corner, base};
Point(104) = {-rib / 2, wall, axis - bore};
Point(105) = {-rib / 2, wall / 2, axis - bore};
Line(101) = {101, 102};
Line(102) = {102, 103};
Line(103) = {103, 104};
Line(104) = {104, 105};
Line(105) = {105, 101};
Curve Loop(101) = {101 ... 105};
Plane Surface(101) = {101};
gusset[] = Extrude{rib, 0, 0}{ Surface{101}; };
Cylinder(1001) = {0, 0, axis, 0, seat, 0, boss};
whole[] = BooleanUnion{ Volume{solid[]}; Delete; }{ Volume{gusset[1], 1001}; Delete; };

// The bearing seat and the bolt holes.
Cylinder(1002) = {0, 0, axis, 0, seat, 0, bore};
holes[] = {1002};
For i In {-1 : 1 : 2}
  For y In {30 : 54 : 24}
    hole = newv;
    Cylinder(hole) = {i * 28, y, 0, 0, 0, base, bolt_hole};
    holes[] += hole;
  EndFor
EndFor
BooleanDifference{ Volume{whole[]}; Delete; }{ Volume{holes[]}; Delete; }
