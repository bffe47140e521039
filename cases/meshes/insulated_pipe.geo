// Half the section of a pipe in its insulation: x is the distance from the axis, y runs along it. Lengths in m.
inner = 0.05; outer = 0.056; insulated = 0.106; length = 0.2;

x[] = {inner, outer, insulated};
For i In {0:2}
  Point(1 + i) = {x[i], 0, 0};
  Point(4 + i) = {x[i], length, 0};
  Line(1 + i) = {1 + i, 4 + i};
EndFor
For i In {0:1}
  Line(4 + i) = {1 + i, 2 + i};
  Line(6 + i) = {4 + i, 5 + i};
  Curve Loop(1 + i) = {4 + i, 2 + i, -(6 + i), -(1 + i)};
  Plane Surface(1 + i) = {1 + i};
EndFor
Transfinite Curve {4, 6} = 3;
Transfinite Curve {5, 7} = 9;
Transfinite Curve {1:3} = 9;
Transfinite Surface {1, 2};
Recombine Surface {1, 2};

Physical Surface("steel") = {1};
Physical Surface("wool") = {2};
Physical Curve("water") = {1};
Physical Curve("air") = {3};
