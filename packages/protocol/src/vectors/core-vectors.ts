import type { KeyVector } from './cases.ts'

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
