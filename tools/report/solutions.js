// Whole solves of a comparison over preconditioners.

const preconditionerOf = ({ solve = {} }) => {
  const options = Object.entries(solve.preconditioner_options ?? {}).map(([option, value]) => `${option} ${value}`);
  return `${solve.preconditioner}${options.length ? ` (${options.join(", ")})` : ""}`;
};

/// Residuals against seconds since set-up began: for each problem, precision and device the soonest operator with each
/// preconditioner.
function preconditionersSection({ records }) {
  const solved = records.filter(({ solution }) => Array.isArray(solution?.history) && solution.history.length > 1);
  const problems = groupBy(solved, ({ problem, operator, machine }) =>
    [`degree ${problem.degree}, ${count(problem.unknowns)} unknowns`, `${operator.precision} precision`, machine?.device].filter(Boolean).join(", "),
  );
  const panels = [...problems].map(([heading, own]) => {
    const soonest = [...groupBy(own, preconditionerOf)].map(([name, rows]) => [name, d3.least(rows, ({ solution }) => (solution.reason === "converged" ? solution.seconds : Infinity)) ?? rows[0]]);
    const lines = soonest
      .map(([name, { solution, operator }]) => {
        const points = solution.history.filter(([, residual]) => residual > 0).map(([iteration, residual, seconds]) => [iteration, residual, solution.set_up_seconds + seconds]);
        return { name, operator: operator.name, solution, points };
      })
      .filter(({ points }) => points.length > 1)
      .sort((a, b) => a.solution.seconds - b.solution.seconds)
      .map((line, index) => ({ ...line, ...lookAt(index), last: line.points.at(-1) }));
    const told = lines.map(({ name, operator, solution }) => `${name} with ${operator} ${plural(solution.iterations, "iteration", "iterations")} in ${si(solution.seconds, "s")}`);
    return plotFigure(heading, `Relative residual against seconds: ${told.join("; ")}.`, (width) => residualChart(width, lines, bySeconds));
  });
  return {
    id: "preconditioners",
    heading: "Residual against seconds",
    explanation: "The residual that conjugate gradients have, over the load, from the start of set-up (of operator and preconditioner, where lines begin) to the solution: the soonest operator with each preconditioner.",
    panels,
  };
}
