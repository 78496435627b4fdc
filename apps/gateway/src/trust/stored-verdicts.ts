import type { IssuerTrust, JoinCertificate, SignatureVerdicts, VerdictStore } from '@chancery/protocol'

type Anchors = IssuerTrust['anchors']

/**
 * Stores verdicts on the signatures of certificates that this process uses again: that of a relay, and those of nodes.
 * They end with the objects: with the certificate, and with the anchors when the policy is read again.
 */
export class StoredVerdicts implements VerdictStore {
  readonly #byCertificate = new WeakMap<JoinCertificate, WeakMap<Anchors, SignatureVerdicts>>()

  find(certificate: JoinCertificate, anchors: Anchors): SignatureVerdicts | undefined {
    return this.#byCertificate.get(certificate)?.get(anchors)
  }

  store(certificate: JoinCertificate, anchors: Anchors, verdicts: SignatureVerdicts): void {
    const stored = this.#byCertificate.get(certificate) ?? new WeakMap<Anchors, SignatureVerdicts>()
    stored.set(anchors, verdicts)
    this.#byCertificate.set(certificate, stored)
  }
}
