import { sha256Hex } from '@chancery/protocol'
import { type Row, type Rows, text } from './rows.ts'

/** Everything an authority acknowledged, stored outside of it. It must be stored whatever happens to the process. */
export class Acks {
  /** The response, byte for byte, by certificate id. */
  readonly certificates = new Map<string, string>()
  /** The most severe reason that was acknowledged. */
  readonly revocations = new Map<string, string>()
  readonly invites = new Set<string>()
  /** The highest list sequence in a response. */
  lastSequence = -1

  revoked(cert_id: string, reason: string): void {
    if (this.revocations.get(cert_id) !== 'key_compromise') this.revocations.set(cert_id, reason)
  }

  get size(): number {
    return this.certificates.size + this.revocations.size + this.invites.size
  }

  /** Returns one sentence for each acknowledged change that the database lacks. */
  async check(rows: Rows): Promise<string[]> {
    const violations: string[] = []
    // What was acknowledged before the database is read: where the load goes on, more arrives meanwhile.
    const [certificates, revocations] = [[...this.certificates], [...this.revocations]]
    const [invites, { lastSequence }] = [[...this.invites], this]
    const stored = new Map<string, Row>()
    for (const row of await rows.query('select cert_id, cert_json, status, revocation_reason from issued_certs'))
      stored.set(text(row, 'cert_id'), row)
    for (const [id, answer] of certificates) {
      if (!stored.has(id)) violations.push(`acknowledged certificate ${id} is gone`)
      else if (stored.get(id)?.['cert_json'] !== answer) violations.push(`certificate ${id} is not what was answered`)
    }
    for (const [id, reason] of revocations) {
      const row = stored.get(id)
      if (row?.['status'] !== 'revoked') violations.push(`acknowledged revocation of ${id} is gone`)
      else if (reason === 'key_compromise' && row['revocation_reason'] !== reason)
        violations.push(`revocation of ${id} lost its reason`)
    }
    const digests = new Set(
      (await rows.query('select token_digest from invite_tokens')).map((row) => row['token_digest']),
    )
    for (const token of invites)
      if (!digests.has(sha256Hex(token)))
        violations.push(`acknowledged invite ${sha256Hex(token).slice(0, 16)} is gone`)
    const [last] = await rows.query('select max(sequence) as s from crl_versions')
    if (Number(last?.['s'] ?? -1) < lastSequence)
      violations.push(`list ${lastSequence} was acknowledged and is missing`)
    return violations
  }
}
