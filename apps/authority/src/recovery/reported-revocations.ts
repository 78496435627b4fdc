import { type Instant, REVOCATION_REASONS, type RevocationReason, writeSortable } from '@chancery/protocol'
import type { Reader } from '../database/database.ts'
import type { LostEvent } from './unknown-records.ts'

const AT_ONCE = 500

/** A certificate of the database that is revoked in an audit event. */
export interface RevokedElsewhere {
  readonly cert_id: string
  readonly revokedFor: RevocationReason
}

/** Revocations of certificates in audit events that the database lacks: the saved list may be older. */
export class ReportedRevocations {
  readonly #reasons = new Map<string, RevocationReason>()

  add({ type, details }: LostEvent): void {
    const { cert_id } = details
    if (type !== 'certificate_revoked' || typeof cert_id !== 'string') return
    const reason = REVOCATION_REASONS.find((each) => each === details['reason']) ?? 'unspecified'
    // key_compromise wins over every other reason.
    if (this.#reasons.get(cert_id) !== 'key_compromise') this.#reasons.set(cert_id, reason)
  }

  reasonOf(cert_id: string): RevocationReason | undefined {
    return this.#reasons.get(cert_id)
  }

  /** Certificates that are valid again in the database. */
  async findValidAgain(db: Reader, now: Instant): Promise<readonly RevokedElsewhere[]> {
    const found: RevokedElsewhere[] = []
    const all = [...this.#reasons.keys()].sort()
    for (let at = 0; at < all.length; at += AT_ONCE) {
      const rows = await db
        .selectFrom('issued_certs')
        .select('cert_id')
        .where('cert_id', 'in', all.slice(at, at + AT_ONCE))
        .where('status', '=', 'issued')
        .where('expires_at', '>', writeSortable(now))
        .orderBy('cert_id')
        .execute()
      for (const { cert_id } of rows) found.push({ cert_id, revokedFor: this.reasonOf(cert_id) ?? 'unspecified' })
    }
    return found
  }
}
