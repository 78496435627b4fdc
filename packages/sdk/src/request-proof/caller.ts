import type { Attestation, JoinCertificate, ProofHeaders, SignedRequest } from '@chancery/protocol'

/** A proof as it came, which a service can hand to its authority. */
export interface ReceivedProof extends SignedRequest {
  readonly headers: ProofHeaders
  /** Of a profile whose fields may have other signatures: nonce and signature (Base64) that were verified. */
  readonly verified?: { readonly nonce: string; readonly signature: string }
}

/** Who made a request. */
export interface Caller {
  readonly publicKey: string
  readonly network: string
  readonly roles: readonly string[]
  readonly certificate: JoinCertificate
  /** About this key, and issued by the network of the certificate. The authority verifies its signature. */
  readonly attestation: Attestation | undefined
  /** Handed to the authority unchanged, which verifies it again. */
  readonly proof: ReceivedProof
}
