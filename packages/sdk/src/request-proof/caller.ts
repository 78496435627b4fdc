import type { Attestation, JoinCertificate } from '@chancery/protocol'
import type { ReceivedProof } from './verify.ts'

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
