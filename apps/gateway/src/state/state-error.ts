/** The state is missing, damaged or locked. The start stops. State is never created again automatically. */
export class StateError extends Error {
  override readonly name = 'StateError'
}
