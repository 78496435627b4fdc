/** The shape of `evidence.json`: golden values taken from the text of protocol/trust-operations, never our own output. */
export interface EvidenceVectors {
  readonly source: string
  readonly keys: readonly {
    readonly name: string
    readonly use: string
    readonly seed_hex: string
    readonly public_key: string
  }[]
  readonly examples: readonly EvidenceExample[]
}

export interface EvidenceExample {
  readonly id: string
  readonly title: string
  readonly sha256: string
  readonly key_id: string | null
  readonly signature: string | null
  /** The exact canonical text that is hashed or signed. */
  readonly bytes: string
}
