// A quarter of the section of a triaxial cable, its two insulations; the conductors are outlines. Lengths in mm.
core = 0.5; shield_in = 1.5; shield_out = 1.7; screen = 2.5;

Point(1) = {0, 0, 0};
radius[] = {core, shield_in, shield_out, screen};
For i In {0:3}
  Point(2 + i) = {radius[i], 0, 0};
  Point(6 + i) = {0, radius[i], 0};
  Circle(1 + i) = {2 + i, 1, 6 + i};
EndFor
For i In {0:1}
  Line(5 + i) = {2 + 2 * i, 3 + 2 * i};
  Line(7 + i) = {7 + 2 * i, 6 + 2 * i};
  Curve Loop(1 + i) = {5 + i, 2 + 2 * i, 7 + i, -(1 + 2 * i)};
  Plane Surface(1 + i) = {1 + i};
EndFor
Transfinite Curve {1:4} = 13;
Transfinite Curve {5, 7} = 9;
Transfinite Curve {6, 8} = 5;
Transfinite Surface {1, 2};
Recombine Surface {1, 2};

Physical Surface("polyethylene") = {1};
Physical Surface("ptfe") = {2};
Physical Curve("core") = {1};
Physical Curve("shield") = {2, 3};
Physical Curve("screen") = {4};
