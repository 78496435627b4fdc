import type { KeyVector } from './cases.ts'

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
