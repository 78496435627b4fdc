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

/** The shape of `trust.json`: the worked examples of protocol/trust-operations. */
export interface TrustVectors {
  readonly source: string
  readonly keys: readonly KeyVector[]
  readonly examples: readonly TrustExample[]
  /** The tree of E22, leaves first. */
  readonly tree: readonly { readonly node: string; readonly sha256: string }[]
}

export interface TrustExample {
  readonly example: string
  readonly name: string
  readonly sha256: string
  readonly signatures: readonly { readonly key_id: string; readonly signer: string; readonly sig: string }[]
  /** The exact text that is hashed or signed. */
  readonly bytes: string
}

export function exampleOf({ examples }: TrustVectors, name: string): TrustExample {
  const found = examples.find(({ example }) => example === name)
  if (found === undefined) throw new TypeError(`no example ${name}`)
  return found
}

/** The shape of `core.json`: golden values taken from the text of protocol/core, never from our own output. */
export interface CoreVectors {
  readonly source: string
  readonly keys: readonly KeyVector[]
  readonly fingerprint: { readonly key: string; readonly section: string; readonly sha256: string }
  readonly invite_token: { readonly section: string; readonly token: string; readonly fingerprint: string }
  readonly numbers: readonly { readonly token: string; readonly canonical: string }[]
  readonly objects: readonly { readonly input: string; readonly canonical: string }[]
  readonly accepted_texts: readonly { readonly name: string; readonly text: string; readonly canonical: string }[]
  readonly refused_texts: readonly RefusedText[]
  readonly timestamps: {
    readonly valid: readonly { readonly text: string; readonly micros: string; readonly written: string }[]
    readonly invalid: readonly string[]
  }
  readonly signed: readonly SignedVector[]
  readonly digests: readonly DigestVector[]
}

/** `hex` where the bytes are not UTF-8 or where the encoding itself is what must be refused. */
export interface RefusedText {
  readonly rule: number
  readonly name: string
  readonly text?: string
  readonly hex?: string
}

export interface DigestVector {
  readonly name: string
  readonly section: string
  readonly length: number
  readonly sha256: string
  readonly bytes: string
}

export interface SignedVector extends DigestVector {
  /** record: carries `signatures`; body: the request signs itself; headers: section 11.2; envelope: text, no JSON. */
  readonly kind: string
  readonly signer: string
  readonly key_id: string | null
  readonly request?: string
  readonly signature: string
}
