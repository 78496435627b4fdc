export interface CheckResult {
  readonly passed: number
  readonly failures: string[]
}

/** Undefined when the rule holds, otherwise what was seen instead. */
export type Problem = string | undefined

export interface Case {
  readonly name: string
  readonly run: () => Problem | Promise<Problem>
}

export async function runCases(cases: readonly Case[]): Promise<CheckResult> {
  let passed = 0
  const failures: string[] = []
  for (const { name, run } of cases) {
    const problem = await outcome(run)
    if (problem === undefined) passed += 1
    else failures.push(`${name}: ${problem}`)
  }
  return { passed, failures }
}

async function outcome(run: Case['run']): Promise<Problem> {
  try {
    return await run()
  } catch (error) {
    return `threw ${String(error)}`
  }
}

export function differs(seen: string, wanted: string): Problem {
  return seen === wanted ? undefined : `gave ${seen} instead of ${wanted}`
}

/** A copy with one bit of one byte turned. */
export function flip(bytes: Uint8Array, at: number): Uint8Array {
  return bytes.map((byte, i) => (i === at ? byte ^ 1 : byte))
}

export interface KeyVector {
  readonly name: string
  readonly seed: string
  readonly public_key: string
}

export function keyOf(keys: readonly KeyVector[], name: string): KeyVector {
  const key = keys.find((candidate) => candidate.name === name)
  if (key === undefined) throw new TypeError(`no test key ${name}`)
  return key
}
