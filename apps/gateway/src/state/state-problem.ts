/** The state is missing, damaged or taken. A start stops here; nothing is ever made anew by itself. */
export class StateProblem extends Error {
  override readonly name = 'StateProblem'
}
