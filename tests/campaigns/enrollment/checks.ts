import { verifiesWithNodeCrypto } from '@chancery/testkit'
import { checkLists } from './list-checks.ts'
import { type Row, type Rows, text } from '../lib/rows.ts'

/** Inputs of the check besides the database. */
export interface CheckOptions {
  readonly authorityKey: string
  /** Seeded certificates and invites. They have no audit event. */
  readonly seeded?: ReadonlySet<string>
}

/**
 * Checks the rules of an enrollment database that are always true: no change is stored in part, and every change has
 * its audit event. Returns one sentence per violation.
 */
export async function checkEnrollment(rows: Rows, options: CheckOptions): Promise<string[]> {
  const certificates = await rows.query('select * from issued_certs')
  const events = await readEvents(rows)
  return [
    ...checkCertificates(certificates, events, options),
    ...(await checkLiveness(rows, certificates)),
    ...(await checkInvites(rows, certificates, events, options)),
    ...checkSuccession(certificates),
    ...checkCompromisedKeys(certificates),
    ...(await checkLists(rows, certificates, events, options)),
  ]
}

export interface Events {
  /** Details of the events of one type, by one of their members. */
  by(type: string, member: string): ReadonlyMap<string, readonly Row[]>
}

async function readEvents(rows: Rows): Promise<Events> {
  const found = await rows.query('select event_type, event_json from audit_events')
  return {
    by: (type, member) => {
      const map = new Map<string, Row[]>()
      for (const row of found) {
        if (row['event_type'] !== type) continue
        const { details } = JSON.parse(text(row, 'event_json')) as { details: Row }
        const key = text(details, member)
        map.set(key, [...(map.get(key) ?? []), details])
      }
      return map
    },
  }
}

function checkCertificates(certificates: readonly Row[], events: Events, options: CheckOptions): string[] {
  const violations: string[] = []
  const issued = events.by('certificate_issued', 'cert_id')
  const renewed = events.by('certificate_renewed', 'new_cert_id')
  for (const row of certificates) {
    const id = text(row, 'cert_id')
    const json = text(row, 'cert_json')
    const record = JSON.parse(json) as Row
    const isSame = ['cert_id', 'node_public_key'].every((name) => record[name] === row[name])
    if (!isSame) violations.push(`certificate ${id}: the row is not that of its record`)
    if (!verifiesWithNodeCrypto(json, options.authorityKey)) violations.push(`certificate ${id}: does not verify`)
    if (options.seeded?.has(id) === true) continue
    const count = (issued.get(id)?.length ?? 0) + (renewed.get(id)?.length ?? 0)
    if (count !== 1) violations.push(`certificate ${id}: ${count} events of its issue`)
    if (renewed.has(id) !== (row['renewed_from'] !== null)) violations.push(`certificate ${id}: issued or renewed?`)
  }
  const known = new Set(certificates.map((row) => text(row, 'cert_id')))
  for (const id of [...issued.keys(), ...renewed.keys()])
    if (!known.has(id)) violations.push(`an event names certificate ${id}, which does not exist`)
  return violations
}

async function checkLiveness(rows: Rows, certificates: readonly Row[]): Promise<string[]> {
  const live = new Set((await rows.query('select cert_id from node_liveness')).map((row) => text(row, 'cert_id')))
  const wrong = certificates.filter((row) => live.has(text(row, 'cert_id')) !== (row['status'] === 'issued'))
  return wrong.map((row) => `certificate ${text(row, 'cert_id')}: ${text(row, 'status')}, liveness does not fit`)
}

async function checkInvites(
  rows: Rows,
  certificates: readonly Row[],
  events: Events,
  { seeded }: CheckOptions,
): Promise<string[]> {
  const violations: string[] = []
  const created = events.by('invite_created', 'token_fingerprint')
  const joined = events.by('certificate_issued', 'invite_token_fingerprint')
  const byId = new Map(certificates.map((row) => [text(row, 'cert_id'), row]))
  for (const invite of await rows.query('select * from invite_tokens')) {
    const digest = text(invite, 'token_digest')
    const fingerprint = digest.slice(0, 16)
    const joins = joined.get(fingerprint) ?? []
    const isUsed = invite['used_at'] !== null
    if (joins.length !== (isUsed ? 1 : 0))
      violations.push(`invite ${fingerprint}: ${isUsed ? 'used' : 'unused'} with ${joins.length} certificates`)
    const key = text(byId.get(text(joins[0], 'cert_id')), 'node_public_key')
    if (isUsed && key !== invite['used_by_key']) violations.push(`invite ${fingerprint}: used by another key`)
    if (seeded?.has(digest) !== true && created.get(fingerprint)?.length !== 1)
      violations.push(`invite ${fingerprint}: no event of its making`)
  }
  return violations
}

/** A successor names a predecessor of the same key that has an end; an end has a successor. */
function checkSuccession(certificates: readonly Row[]): string[] {
  const violations: string[] = []
  const byId = new Map(certificates.map((row) => [text(row, 'cert_id'), row]))
  const renewed = new Set(certificates.map((row) => row['renewed_from']))
  for (const row of certificates) {
    const id = text(row, 'cert_id')
    if (row['revoke_after'] !== null && !renewed.has(id)) violations.push(`certificate ${id}: superseded by nothing`)
    if (row['renewed_from'] === null) continue
    const predecessor = byId.get(text(row, 'renewed_from'))
    if (predecessor === undefined) violations.push(`certificate ${id}: its predecessor is not there`)
    else if (predecessor['revoke_after'] === null) violations.push(`certificate ${id}: its predecessor has no end`)
    else if (predecessor['node_public_key'] !== row['node_public_key'])
      violations.push(`certificate ${id}: its predecessor is another key's`)
  }
  return violations
}

/** No unexpired certificate of a compromised key may be in use. */
function checkCompromisedKeys(certificates: readonly Row[]): string[] {
  const burnt = new Set(
    certificates.filter((row) => row['revocation_reason'] === 'key_compromise').map((row) => row['node_public_key']),
  )
  const now = new Date().toISOString()
  return certificates
    .filter((row) => burnt.has(row['node_public_key']) && row['status'] === 'issued' && text(row, 'expires_at') > now)
    .map((row) => `certificate ${text(row, 'cert_id')}: in use although its key is compromised`)
}
