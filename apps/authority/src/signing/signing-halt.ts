/**
 * A reason, besides the key window, why this instance must not sign: what it would sign could be wrong for ever.
 * Implementers answer from memory, at each signature, and watch what they watch in the background.
 */
export interface SigningHalt {
  /** How the readiness document calls it. */
  readonly reason: string
  isHalted(): boolean
}

/** Everything that stops signing now, for people. */
export function haltReasons(halts: readonly SigningHalt[]): string[] {
  return halts.filter((halt) => halt.isHalted()).map((halt) => halt.reason)
}
