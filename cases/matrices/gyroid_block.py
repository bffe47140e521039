#!/usr/bin/env python3
"""Writes a matrix of linear elasticity in Matrix Market format: a block with the pores of a gyroid, as 3D printers make them.

    python3 cases/matrices/gyroid_block.py 24 gyroid_block.mtx          # 24^3 voxels, 29,118 rows
    femcg matrix gyroid_block.mtx

96 voxels make 1,759,212 rows and 118 million entries, for a GPU: a file of 1.8 GB, in some two minutes.

The block is a cube of N^3 voxels, 16 a period, of which those with sin x cos y + sin y cos z + sin z cos x < 0 are solid, about
half. A voxel is a trilinear hexahedron of an isotropic material (Young's modulus 1, Poisson's ratio 0.3, edge 1) with three
unknowns per node; the nodes at the bottom are clamped. Nodes are numbered along x, then y, then z, and the three unknowns of one
follow each other. The matrix is symmetric and positive definite, which is what conjugate gradients need; its lower triangle is
written. Needs Python 3 alone.
"""

import math
import sys
from itertools import product

YOUNG, POISSON, PERIOD = 1.0, 0.3, 16
CORNERS = list(product((0, 1), repeat=3))  # x, y, z of a voxel's nodes


def voxel_stiffness():
    """The 24 x 24 element matrix, int B' D B, by two Gauss points per direction, which is exact."""
    lame = YOUNG * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
    shear = YOUNG / (2 * (1 + POISSON))
    matrix = [[0.0] * 24 for _ in range(24)]
    points = [0.5 - math.sqrt(1 / 12), 0.5 + math.sqrt(1 / 12)]
    for point in product(points, repeat=3):
        gradients = []
        for corner in CORNERS:
            values = [s if c else 1 - s for c, s in zip(corner, point)]
            slopes = [1 if c else -1 for c in corner]
            gradients.append([slopes[d] * math.prod(values[:d] + values[d + 1:]) for d in range(3)])
        for a, b in product(range(8), repeat=2):
            dot = sum(gradients[a][d] * gradients[b][d] for d in range(3))
            for i, j in product(range(3), repeat=2):
                matrix[3 * a + i][3 * b + j] += (lame * gradients[a][i] * gradients[b][j]
                                                 + shear * gradients[a][j] * gradients[b][i]
                                                 + shear * dot * (i == j)) / 8  # fmt: skip
    return matrix


def solid_voxels(n):
    """The voxels of the gyroid's solid half that hang together with the bottom, face by face; one byte per voxel, x fastest."""
    sine = [math.sin(2 * math.pi * (i + 0.5) / PERIOD) for i in range(n)]
    cosine = [math.cos(2 * math.pi * (i + 0.5) / PERIOD) for i in range(n)]
    solid = bytearray(sine[x] * cosine[y] + sine[y] * cosine[z] + sine[z] * cosine[x] < 0
                      for z in range(n) for y in range(n) for x in range(n))  # fmt: skip
    kept = bytearray(n**3)
    stack = [v for v in range(n * n) if solid[v]]
    while stack:
        v = stack.pop()
        if kept[v] or not solid[v]:
            continue
        kept[v] = 1
        for stride in (1, n, n * n):
            place = v // stride % n
            if place > 0:
                stack.append(v - stride)
            if place < n - 1:
                stack.append(v + stride)
    return kept


def stencil(pattern, stiffness):
    """Entries of the lower triangle in the three rows of a node whose voxels are `pattern`, a bit each: (dx, dy, dz, texts of the
    block's entries as row, column, value)."""
    blocks = {}
    for bit, corner in enumerate(CORNERS):  # the node is this corner of voxel `bit`
        if not pattern >> bit & 1:
            continue
        for other, opposite in enumerate(CORNERS):
            offset = tuple(q - p for p, q in zip(corner, opposite))
            block = blocks.setdefault(offset, [[0.0] * 3 for _ in range(3)])
            for i, j in product(range(3), repeat=2):
                block[i][j] += stiffness[3 * bit + i][3 * other + j]
    return [(*offset, [(i, j, f"{block[i][j]:.16g}") for i in range(3) for j in range(3 if offset != (0, 0, 0) else i + 1)])
            for offset, block in sorted(blocks.items(), key=lambda item: item[0][::-1])
            if offset[::-1] <= (0, 0, 0)]  # fmt: skip


def nodes_and_patterns(n, solid):
    """Numbers of the nodes above the bottom that a voxel has, 0 where there is none, and their patterns of voxels."""
    along = n + 1
    patterns = bytearray(along**3)
    for v in range(n**3):
        if solid[v]:
            first = v % n + along * (v // n % n + along * (v // (n * n)))
            for bit, (x, y, z) in enumerate(CORNERS):
                patterns[first + x + along * (y + along * z)] |= 1 << bit
    number, count = [0] * along**3, 0
    for node in range(along * along, along**3):
        if patterns[node]:
            count += 1
            number[node] = count
    return number, patterns, count


def write_matrix(n, name):
    along = n + 1
    number, patterns, nodes = nodes_and_patterns(n, solid_voxels(n))
    stiffness = voxel_stiffness()
    stencils = {pattern: stencil(pattern, stiffness) for pattern in set(patterns) if pattern}
    entries = 0
    for node, own in enumerate(number):
        if own:
            entries += sum(len(block) for dx, dy, dz, block in stencils[patterns[node]]
                           if number[node + dx + along * (dy + along * dz)])  # fmt: skip
    with open(name, "w", encoding="ascii") as file:
        file.write("%%MatrixMarket matrix coordinate real symmetric\n")
        file.write(f"% linear elasticity of a gyroid block of {n}^3 voxels, clamped at the bottom; by gyroid_block.py\n")
        file.write(f"{3 * nodes} {3 * nodes} {entries}\n")
        for node, own in enumerate(number):
            if not own:
                continue
            for dx, dy, dz, block in stencils[patterns[node]]:
                other = number[node + dx + along * (dy + along * dz)]
                if other:
                    file.writelines(f"{3 * own - 2 + i} {3 * other - 2 + j} {value}\n" for i, j, value in block)
    print(f"{name}: {3 * nodes} rows, {entries} entries in the lower triangle")


def main():
    if len(sys.argv) != 3 or not sys.argv[1].isdecimal() or int(sys.argv[1]) < 1:
        sys.exit(__doc__.strip())
    write_matrix(int(sys.argv[1]), sys.argv[2])


if __name__ == "__main__":
    main()
