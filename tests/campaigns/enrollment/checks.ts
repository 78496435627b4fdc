import { verifiesWithNodeCrypto } from '@chancery/testkit'
import { type Row, type Rows, text } from '../lib/rows.ts'

/** Inputs of the check besides the database. */
interface CheckOptions {
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

interface Events {
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

interface List {
  readonly sequence: number
  readonly issued_at: string
  readonly revoked_certificates: readonly { readonly certificate_id: string; readonly reason: string }[]
}

const HOUR_MS = 3_600_000

/**
 * Checks that versions have no gap or fork, that each verifies and follows the last one, and that revoked rows, entries
 * and events agree.
 */
async function checkLists(
  rows: Rows,
  certificates: readonly Row[],
  events: Events,
  { authorityKey }: CheckOptions,
): Promise<string[]> {
  const violations: string[] = []
  const versions = await rows.query('select sequence, crl_json, entries from crl_versions order by sequence')
  const published = events.by('crl_published', 'sequence')
  const expiry = new Map(certificates.map((row) => [text(row, 'cert_id'), Date.parse(text(row, 'expires_at'))]))
  const removed = new Set(
    (await rows.query('select sequence from removed_crl_versions')).map((row) => Number(row['sequence'])),
  )
  let previous: List | undefined
  for (const version of versions) {
    const json = text(version, 'crl_json')
    const list = JSON.parse(json) as List
    const name = `list ${list.sequence}`
    if (list.sequence !== Number(version['sequence'])) violations.push(`${name}: stored under another number`)
    if (!verifiesWithNodeCrypto(json, authorityKey)) violations.push(`${name}: does not verify`)
    if (list.revoked_certificates.length !== Number(version['entries'])) violations.push(`${name}: another count`)
    if (published.get(String(list.sequence))?.length !== 1) violations.push(`${name}: no event of its publication`)
    violations.push(...checkContinues(previous, list, expiry, removed))
    previous = list
  }
  if (previous === undefined && published.size > 0) violations.push('events name lists that do not exist')
  violations.push(...checkRevoked(previous, certificates, events))
  violations.push(...(await checkEntries(rows, previous)))
  const [head] = await rows.query("select version from heads where name = 'crl'")
  const lists = versions.length + removed.size
  if (Number(head?.['version']) !== lists)
    violations.push(`the version counts ${text(head, 'version')} changes, there are ${lists} lists`)
  return violations
}

/**
 * Checks that a list has the next sequence and no earlier date, and has every entry that is not pruned, in order and
 * with no lower reason.
 */
function checkContinues(
  previous: List | undefined,
  list: List,
  expiry: ReadonlyMap<string, number>,
  removed: ReadonlySet<number>,
): string[] {
  const name = `list ${list.sequence}`
  let before = list.sequence - 1
  while (removed.has(before)) before -= 1
  if (previous === undefined) return before <= 0 ? [] : [`${name}: the first lists are missing`]
  const violations: string[] = []
  if (before !== previous.sequence) violations.push(`${name}: follows ${previous.sequence}`)
  const issuedAt = Date.parse(list.issued_at)
  if (issuedAt < Date.parse(previous.issued_at)) violations.push(`${name}: dated before its predecessor`)
  const stored = previous.revoked_certificates.filter(
    ({ certificate_id }) => (expiry.get(certificate_id) ?? Infinity) >= issuedAt - HOUR_MS,
  )
  for (const [index, entry] of stored.entries()) {
    const found = list.revoked_certificates[index]
    if (found?.certificate_id !== entry.certificate_id) violations.push(`${name}: entry ${index} moved or is gone`)
    else if (entry.reason === 'key_compromise' && found.reason !== entry.reason)
      violations.push(`${name}: the reason of entry ${index} was lowered`)
  }
  return violations
}

function checkRevoked(active: List | undefined, certificates: readonly Row[], events: Events): string[] {
  const violations: string[] = []
  const revocations = events.by('certificate_revoked', 'cert_id')
  const entries = new Map(active?.revoked_certificates.map((entry) => [entry.certificate_id, entry.reason]))
  const prunedBefore = active === undefined ? 0 : Date.parse(active.issued_at) - HOUR_MS
  for (const row of certificates) {
    const id = text(row, 'cert_id')
    const isRevoked = row['status'] === 'revoked'
    const isPruned = Date.parse(text(row, 'expires_at')) < prunedBefore
    if (isRevoked !== (row['revoked_at'] !== null && row['revocation_reason'] !== null))
      violations.push(`certificate ${id}: revoked by half`)
    if (isRevoked !== revocations.has(id))
      violations.push(`certificate ${id}: ${text(row, 'status')}, its events differ`)
    if (isRevoked && !isPruned && entries.get(id) !== row['revocation_reason'])
      violations.push(`certificate ${id}: revoked, but not so in the list`)
    if (!isRevoked && entries.has(id)) violations.push(`certificate ${id}: listed, but not revoked`)
  }
  return violations
}

/** Checks that the rows of the next list are the entries of the active one. */
async function checkEntries(rows: Rows, active: List | undefined): Promise<string[]> {
  const stored = await rows.query('select entry_json from crl_entries order by position')
  const listed = active?.revoked_certificates ?? []
  const ids = stored.map((row) => (JSON.parse(text(row, 'entry_json')) as { certificate_id: string }).certificate_id)
  const isSame = ids.length === listed.length && listed.every((entry, index) => entry.certificate_id === ids[index])
  return isSame ? [] : [`${ids.length} entries are stored, ${listed.length} are listed, or in another order`]
}
