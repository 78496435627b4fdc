/** One guarantee in a browser. It is met when `run` returns, and broken when it throws. */
export interface PageTest {
  readonly name: string
  run(): void | Promise<void>
}

/** The exports of a `*.browser.ts` file. */
export interface PageTests {
  readonly tests: readonly PageTest[]
}

export interface PageResult {
  readonly name: string
  /** Undefined when the test passed. */
  readonly problem: string | undefined
}

/** Fails the test with the actual and the expected value. */
export function equal<Value>(seen: Value, expected: Value): void {
  const [left, right] = [JSON.stringify(seen), JSON.stringify(expected)]
  if (left !== right) throw new Error(`gave ${left} instead of ${right}`)
}
