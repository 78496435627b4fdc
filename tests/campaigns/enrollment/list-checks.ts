import { verifiesWithNodeCrypto } from '@chancery/testkit'
import type { CheckOptions, Events } from './checks.ts'
import { type Row, type Rows, text } from '../lib/rows.ts'

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
export async function checkLists(
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
