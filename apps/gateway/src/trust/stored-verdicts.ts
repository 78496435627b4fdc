import { verifySignatures } from '@chancery/protocol'
import type { IssuerTrust, JoinCertificate, SignatureVerdicts, VerifySignatures } from '@chancery/protocol'

/**
 * Stores verdicts on the signatures of certificates that this process uses again: that of a relay, and those of nodes.
 * They end with the objects: with the certificate, and with the anchors when the policy is read again.
 */
export class StoredVerdicts {
  readonly #byCertificate = new WeakMap<JoinCertificate, WeakMap<IssuerTrust['anchors'], SignatureVerdicts>>()
  readonly #verify: VerifySignatures

  constructor(verify: VerifySignatures = verifySignatures) {
    this.#verify = verify
  }

  /** Verifies the signatures, or returns the verdicts on the same certificate under the same anchors. */
  readonly verify: VerifySignatures = (certificate, anchors) => {
    const known = this.#byCertificate.get(certificate)?.get(anchors)
    if (known !== undefined) return known
    const verdicts = this.#verify(certificate, anchors)
    if (verdicts === undefined || verdicts instanceof Promise) return verdicts
    const stored = this.#byCertificate.get(certificate) ?? new WeakMap<IssuerTrust['anchors'], SignatureVerdicts>()
    stored.set(anchors, verdicts)
    this.#byCertificate.set(certificate, stored)
    return verdicts
  }
}
