import { REVOCATION_REASONS, instantOf, writeSortable } from '@chancery/protocol'
import type { JoinCertificate, RevocationReason } from '@chancery/protocol'
import type { AuditEvent } from '../audit/record.ts'
import type { RecoveryParts, RevokedElsewhere } from './revoke-lost.ts'
import type { Reader, Transaction } from '../database/database.ts'
import { lockNodeKeys } from '../database/transaction.ts'
import { insertAdmitted, readPossibleRules } from '../features/admission/index.ts'
import { type LostCertificate, findActiveVersion, insertLost, lostByKey, lostByText } from '../features/crl/index.ts'
import { markRevoked } from '../features/enrollment/index.ts'
import type { UnknownCertificate } from './unknown.ts'

const AT_ONCE = 100

/**
 * Revokes all of them, in one version for each thousand of one reason. Returns the sequence of the last list. The
 * reason is that of the events, or else the given one.
 */
export async function revokeUnknown(
  parts: RecoveryParts,
  unknown: readonly UnknownCertificate[],
  reason: RevocationReason,
): Promise<number | undefined> {
  let sequence: number | undefined
  for (const each of REVOCATION_REASONS) {
    const some = unknown.filter(({ revokedFor = reason }) => revokedFor === each)
    sequence =
      (await revokeAll(
        parts,
        some.map(({ cert_id }) => cert_id),
        each,
        toLost(parts, some),
      )) ?? sequence
  }
  return sequence
}

/** Revokes certificates of the database again that were revoked after the backup. */
export async function revokeAgain(parts: RecoveryParts, again: readonly RevokedElsewhere[]): Promise<void> {
  for (const each of REVOCATION_REASONS) {
    const some = again.filter(({ revokedFor }) => revokedFor === each)
    await revokeAll(
      parts,
      some.map(({ cert_id }) => cert_id),
      each,
      [],
    )
  }
}

async function revokeAll(
  parts: RecoveryParts,
  ids: readonly string[],
  reason: RevocationReason,
  missing: readonly LostCertificate[],
): Promise<number | undefined> {
  let sequence: number | undefined
  for (let at = 0; at < ids.length; at += 10 * AT_ONCE) {
    const { text } = await parts.crl.revoke({
      cert_ids: ids.slice(at, at + 10 * AT_ONCE),
      form: 'cert_ids',
      missing: missing.slice(at, at + 10 * AT_ONCE),
      reason,
      // The list or the operator named each of them; other certificates of a key may be in use.
      onlyThis: true,
      attempt: undefined,
      cause: { job: 'recover' },
    })
    sequence = Number((JSON.parse(text) as { crl_sequence: number }).crl_sequence)
  }
  return sequence
}

/**
 * Restores the rows of certificates that only the list names, revoked with the reason of the list. So a compromised key
 * is barred again.
 */
export async function restoreListed(parts: RecoveryParts, listed: readonly UnknownCertificate[]): Promise<number> {
  for (let at = 0; at < listed.length; at += AT_ONCE) {
    const some = listed.slice(at, at + AT_ONCE)
    await parts.database.write(async (tx) => {
      await tx.lock('crl')
      await lockNodeKeys(
        tx,
        some.map(({ node_public_key }) => node_public_key),
      )
      const ids = some.map(({ cert_id }) => cert_id)
      const entries = await tx.query.selectFrom('crl_entries').selectAll().where('cert_id', 'in', ids).execute()
      const added = await insertLost(tx, toLost(parts, some))
      const crl_sequence = (await findActiveVersion(tx.query))?.sequence ?? 0
      const events: AuditEvent[] = []
      for (const { cert_id, entry_json } of entries) {
        if (!added.has(cert_id)) continue
        const { revoked_at, reason } = JSON.parse(entry_json) as { revoked_at: string; reason: RevocationReason }
        await markRevoked(tx, [cert_id], writeSortable(instantOf(revoked_at)), reason)
        const details = { cert_id, reason, crl_sequence, known_by: 'list', job: 'recover' }
        events.push({ type: 'certificate_revoked', details })
      }
      await parts.audit.recordAll(tx, events)
    })
  }
  return listed.length
}

function toLost(parts: RecoveryParts, some: readonly UnknownCertificate[]): readonly LostCertificate[] {
  const now = parts.clock.now()
  return some.map(({ cert_id, node_public_key, certificate }) =>
    certificate === undefined ? lostByKey(cert_id, node_public_key, now) : lostByText(certificate),
  )
}

export interface Adopted {
  readonly adopted: number
  /** Of barred keys: their certificates are not adopted. */
  readonly barred: number
}

/**
 * Adopts certificates whose own text proves that this authority issued them, so that their nodes continue. The saved
 * list and the events show which of them were revoked after the backup, so the list must have been read before. One that
 * evidence admitted needs evidence for its renewal, as before.
 */
export async function adoptUnknown(parts: RecoveryParts, unknown: readonly UnknownCertificate[]): Promise<Adopted> {
  const living = unknown.filter(({ revokedFor }) => revokedFor === undefined)
  const texts = living.map(({ certificate }) => certificate).filter((text) => text !== undefined)
  const admittedBy = new Map(living.map((each) => [each.cert_id, each.admittedBy]))
  const findPossible = await readPossibleRules(parts.database.read)
  const ruleOf = (certificate: JoinCertificate): string | null => {
    const known = admittedBy.get(certificate.cert_id)
    return known === undefined ? (findPossible(certificate, lostByText(certificate).max_validity_hours) ?? null) : known
  }
  let [adopted, barred] = [0, 0]
  for (let at = 0; at < texts.length; at += AT_ONCE) {
    const some = texts.slice(at, at + AT_ONCE)
    const counts = await parts.database.write(async (tx) => {
      await tx.lock('crl')
      const keys = some.map(({ node_public_key }) => node_public_key)
      await lockNodeKeys(tx, keys)
      const compromised = await listBarred(tx.query, keys)
      const good = some.filter(({ node_public_key }) => !compromised.has(node_public_key))
      const rows = good.map(lostByText)
      const inserted = await insertLost(tx, rows)
      const added = good.filter(({ cert_id }) => inserted.has(cert_id))
      for (const row of rows) if (inserted.has(row.cert_id)) await insertLiveness(tx, row)
      for (const certificate of added) {
        const rule_id = ruleOf(certificate)
        const { cert_id, expires_at } = lostByText(certificate)
        if (rule_id !== null) await insertAdmitted(tx, { cert_id, rule_id, expires_at })
      }
      await parts.audit.recordAll(
        tx,
        added.map((certificate) => {
          const { cert_id, node_public_key, roles } = certificate
          const rule_id = ruleOf(certificate)
          const rule = rule_id === null ? {} : { rule_id }
          return {
            type: 'certificate_adopted' as const,
            details: { cert_id, node_public_key, roles: [...roles], ...rule, job: 'recover' },
          }
        }),
      )
      return { adopted: added.length, barred: some.length - good.length }
    })
    adopted += counts.adopted
    barred += counts.barred
  }
  return { adopted, barred }
}

async function listBarred(tx: Reader, keys: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await tx
    .selectFrom('issued_certs')
    .select('node_public_key')
    .where('node_public_key', 'in', keys)
    .where('revocation_reason', '=', 'key_compromise')
    .execute()
  return new Set(rows.map((row) => row.node_public_key))
}

/** As at its join: one heartbeat, at that time. */
async function insertLiveness(
  tx: Transaction,
  { cert_id, node_public_key, issued_at }: { cert_id: string; node_public_key: string; issued_at: string },
): Promise<void> {
  await tx.query
    .insertInto('node_liveness')
    .values({
      cert_id,
      node_public_key,
      last_heartbeat: issued_at,
      heartbeat_status: 'joined',
      remote_addr: '',
      revoke_after: null,
      genesis_digest: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}
