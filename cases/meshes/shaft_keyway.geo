// Cross-section of a shaft of radius 1 with a keyway 0.5 wide and 0.25 deep (about the proportions of DIN 6885), for
// Prandtl's stress function of torsion. The corners at the keyway's bottom are rounded, as every real one is.
radius = 1;
half_width = 0.25;
bottom = 0.75;   // height of the keyway's floor above the axis
fillet = 0.06;
coarse = 0.1;
fine = 0.015;

mouth = Sqrt(radius^2 - half_width^2);
Point(1) = {0, 0, 0, coarse};
Point(2) = {half_width, mouth, 0, fine};
Point(3) = {-half_width, mouth, 0, fine};
Point(4) = {-radius, 0, 0, coarse};
Point(5) = {0, -radius, 0, coarse};
Point(6) = {radius, 0, 0, coarse};
Point(7) = {-half_width, bottom + fillet, 0, fine};
Point(8) = {-half_width + fillet, bottom + fillet, 0, fine};
Point(9) = {-half_width + fillet, bottom, 0, fine};
Point(10) = {half_width - fillet, bottom, 0, fine};
Point(11) = {half_width - fillet, bottom + fillet, 0, fine};
Point(12) = {half_width, bottom + fillet, 0, fine};

Circle(1) = {3, 1, 4};
Circle(2) = {4, 1, 5};
Circle(3) = {5, 1, 6};
Circle(4) = {6, 1, 2};
Line(5) = {2, 12};
Circle(6) = {12, 11, 10};
Line(7) = {10, 9};
Circle(8) = {9, 8, 7};
Line(9) = {7, 3};

Curve Loop(1) = {1 ... 9};
Plane Surface(1) = {1};
Physical Surface("shaft") = {1};
Physical Curve("surface") = {1 ... 4};
Physical Curve("keyway") = {5 ... 9};
