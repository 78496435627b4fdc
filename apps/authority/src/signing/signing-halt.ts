/**
 * A reason, besides the key window, why this instance must not sign: the record could be permanently wrong.
 * Implementations return a cached result at each signature, and check in the background.
 */
export interface SigningHalt {
  /** The name in the readiness document. */
  readonly reason: string
  isHalted(): boolean
}

/** Everything that stops signing now, for people. */
export function haltReasons(halts: readonly SigningHalt[]): string[] {
  return halts.filter((halt) => halt.isHalted()).map((halt) => halt.reason)
}
