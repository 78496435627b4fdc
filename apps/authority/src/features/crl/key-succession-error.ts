/** Explains to the operator why the succession is not possible. */
export class KeySuccessionError extends Error {
  override readonly name = 'KeySuccessionError'
}
