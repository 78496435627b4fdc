import { Refusal } from '@chancery/contract'
import { readInstant, writeInstant, writeJson, writeSortable } from '@chancery/protocol'
import type { JsonObject, RevocationReason } from '@chancery/protocol'
import { faultPoint } from '#faults'
import { setCurrent } from './current-entries.ts'
import type { CrlState } from './state.ts'
import type { CrlParts } from './parts.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { findStoredResponse, storeResponse } from '../../requests/idempotency.ts'
import type { Attempt, StoredResponse } from '../../requests/idempotency.ts'
import { lockNodeKeys } from '../../database/locks/node-keys.ts'
import { dropAgents } from '../agents/index.ts'
import { listCertificates, listOtherCertificates, markRevoked, raiseReason } from '../enrollment/index.ts'
import { listRulesOf } from '../admission/index.ts'
import type { RevocableCertificate } from '../enrollment/index.ts'
import { countOthers } from './preview.ts'
import { NO_TEXT, findProblem, insertLost } from './unknown-certificates.ts'
import type { LostCertificate } from './unknown-certificates.ts'
import { entryText } from './list-text.ts'
import { publishVersion } from './publish.ts'
import { reclaimRoom, removeReservedLists } from './remove-reserved.ts'
import { readEntry } from './signed-list.ts'
import { chunks, findActiveVersion, findEntries, rewriteEntry } from './queries.ts'
import type { CrlVersion, NewEntry } from './queries.ts'
import { addSuperseded } from './superseded.ts'

/** One request to revoke: certificates and one reason. */
export interface Revocation {
  readonly cert_ids: readonly string[]
  readonly reason: RevocationReason
  /** Also revokes every other unexpired certificate of the keys, as key_compromise does. */
  readonly allOfKey: boolean
  /** How the response names a missing certificate. */
  readonly form: 'cert_id' | 'cert_ids'
  /** Those of them that the database may lack. */
  readonly missing: readonly LostCertificate[]
  readonly attempt: Attempt | undefined
  readonly cause: JsonObject
}

export type RevocationOutcome = StoredResponse

/** A completed request: the keys of its certificates. */
interface RevokedCertificates {
  readonly keys: readonly string[]
  readonly allOfKey: boolean
}

/** The changes of all requests that share one version. */
interface BatchChanges {
  readonly entries: Map<string, NewEntry>
  readonly events: JsonObject[]
  /** Positions of listed entries with another reason. */
  readonly rewrittenAt: number[]
  /** The list is signed again from all rows. */
  isSignedAgain: boolean
}

/**
 * Processes all queued requests in one transaction and, if anything changed, with one version of the list. A refused
 * request changes nothing and does not delay the others.
 */
export async function revokeBatch(
  parts: CrlState,
  requests: readonly Revocation[],
): Promise<(RevocationOutcome | Error)[]> {
  const { outcomes, stored } = await parts.database.write(async (tx) => {
    await tx.lock('crl')
    await lockKeysOf(tx, parts, requests)
    const previous = await findActiveVersion(tx.query)
    const changes: BatchChanges = { entries: new Map(), events: [], rewrittenAt: [], isSignedAgain: false }
    const checked: (StoredResponse | Error | RevokedCertificates)[] = []
    for (const request of requests) checked.push(await checkRequest(tx, parts, request, changes))
    faultPoint('revoke-marked')
    const published = await publishChange(tx, parts, previous, changes)
    if (published !== undefined) await removeReservedLists(tx, parts, published.version.sequence)
    const active = published?.version ?? previous
    const answers: (StoredResponse | Error)[] = []
    for (const [index, verdict] of checked.entries()) {
      const attempt = requests[index]?.attempt
      const answer = 'keys' in verdict ? await responseTo(tx.query, parts, verdict, active) : verdict
      if ('keys' in verdict && attempt !== undefined && !(answer instanceof Error))
        await storeResponse(tx, attempt, answer)
      answers.push(answer)
    }
    return { outcomes: answers, stored: published?.stored }
  })
  faultPoint('revoke-committed')
  if (parts.database.room.isReserveInUse) await reclaimRoom(parts)
  if (stored !== undefined) setCurrent(parts, stored)
  return outcomes
}

/**
 * Read after all requests of the batch, so that certificates revoked by another request are not counted. Returned when
 * there are any, and always for all_of_key. Rules in force are named: their workloads can join with new keys.
 */
async function responseTo(
  tx: Reader,
  parts: CrlParts,
  { keys, allOfKey }: RevokedCertificates,
  active: CrlVersion | undefined,
): Promise<StoredResponse> {
  const left = await listOtherCertificates(tx, keys, writeSortable(parts.clock.now()))
  const others = left.length > 0 || allOfKey ? { other_certificates: countOthers(left) } : {}
  const rules = await listRulesOf(tx, keys)
  const admitting = rules.length === 0 ? {} : { admission_rules: rules }
  const numbers = { crl_sequence: active?.sequence ?? 0, revoked_count: active?.entries ?? 0 }
  return { status: 200, text: writeJson({ ...numbers, ...others, ...admitting }) }
}

/**
 * Blocks issuance and registration for these keys until the revocation is committed. Locks are taken for all requests
 * at once and in order, as everywhere, so that two batches cannot deadlock.
 */
async function lockKeysOf(tx: Transaction, parts: CrlParts, requests: readonly Revocation[]): Promise<void> {
  const ids = [...new Set(requests.flatMap((request) => request.cert_ids))]
  const keys = requests.flatMap((request) => request.missing.map((each) => each.node_public_key))
  for (const some of chunks(ids, 1000))
    keys.push(...(await listCertificates(tx.query, some)).map((each) => each.node_public_key))
  await lockNodeKeys(tx, keys)
}

async function publishChange(
  tx: Transaction,
  parts: CrlState,
  previous: CrlVersion | undefined,
  changes: BatchChanges,
): Promise<Awaited<ReturnType<typeof publishVersion>> | undefined> {
  const { entries, rewrittenAt, isSignedAgain } = changes
  if (entries.size === 0 && rewrittenAt.length === 0 && !isSignedAgain) return undefined
  // A revocation before the first read publishes sequence 1. The empty list 0 is then never made (protocol/core 9.1).
  const sequence = (previous?.sequence ?? 0) + 1
  for (const entry of await addSuperseded(tx, parts)) {
    changes.entries.set(entry.cert_id, entry)
    changes.events.push({ cert_id: entry.cert_id, reason: 'superseded' })
  }
  const change = {
    cause: 'revoke' as const,
    appended: [...changes.entries.values()],
    rewritten: isSignedAgain || rewrittenAt,
    details: {},
  }
  const published = await publishVersion(tx, parts, previous, sequence, change)
  const events = changes.events.map((event) => ({
    type: 'certificate_revoked' as const,
    details: { ...event, crl_sequence: sequence },
  }))
  await parts.audit.recordAll(tx, events)
  return published
}

/** Applies one request. First all ids are checked, then rows are changed: an unknown id changes nothing. */
async function checkRequest(
  tx: Transaction,
  parts: CrlParts,
  request: Revocation,
  changes: BatchChanges,
): Promise<StoredResponse | Error | RevokedCertificates> {
  const now = writeSortable(parts.clock.now())
  const problem = findProblem(request, await listCertificates(tx.query, request.cert_ids))
  if (problem !== undefined) return problem
  if (request.attempt !== undefined) {
    try {
      const earlier = await findStoredResponse(tx, request.attempt, now)
      if (earlier !== undefined) return earlier
    } catch (error) {
      if (error instanceof Refusal) return error
      throw error
    }
  }
  const added = await insertLost(tx, request.missing)
  const found = await listCertificates(tx.query, request.cert_ids)
  await revokeCertificates(tx, parts, request, { found, added }, changes)
  const keys = [...new Set(found.map((certificate) => certificate.node_public_key))]
  return { keys, allOfKey: request.allOfKey }
}

async function revokeCertificates(
  tx: Transaction,
  parts: CrlParts,
  request: Revocation,
  { found, added }: { readonly found: readonly RevocableCertificate[]; readonly added: ReadonlySet<string> },
  changes: BatchChanges,
): Promise<void> {
  const { reason, allOfKey, cause } = request
  const targets = new Map(found.map((certificate) => [certificate.cert_id, certificate]))
  const keys = found.map((certificate) => certificate.node_public_key)
  if (reason === 'key_compromise' || allOfKey) {
    // The key is compromised, or all its certificates are to be revoked.
    const now = writeSortable(parts.clock.now())
    for (const other of await listOtherCertificates(tx.query, keys, now)) targets.set(other.cert_id, other)
  }
  const fresh = [...targets.values()].filter(
    (certificate) => certificate.status !== 'revoked' && !changes.entries.has(certificate.cert_id),
  )
  const revokedAt = parts.clock.now()
  await markRevoked(
    tx,
    fresh.map((certificate) => certificate.cert_id),
    writeSortable(revokedAt),
    reason,
  )
  // A compromised key has no agents any more, whichever of its certificates was in use.
  await dropAgents(tx, reason === 'key_compromise' ? keys : fresh.map((certificate) => certificate.node_public_key))
  const listed = await findEntries(
    tx.query,
    fresh.map((certificate) => certificate.cert_id),
  )
  for (const certificate of fresh) {
    const entry = listed.get(certificate.cert_id)
    if (entry !== undefined) {
      if (!added.has(certificate.cert_id)) reportRolledBack(parts, certificate)
      await relist(tx, parts, certificate, entry, { changes, reason, cause })
      continue
    }
    changes.entries.set(certificate.cert_id, toEntry(parts, certificate, writeInstant(revokedAt), reason))
    changes.events.push({ cert_id: certificate.cert_id, reason, ...reportedBy(request, added, certificate), ...cause })
  }
  if (reason !== 'key_compromise') return
  for (const certificate of found) {
    if (certificate.status !== 'revoked' || certificate.revocation_reason === reason) continue
    await raise(tx, parts, certificate, changes, cause)
  }
}

/**
 * The list names the certificate although its row says that it is in use: the row was edited. The row is corrected, the
 * entry stays, with the more serious reason, and the list is signed again so that the event has its sequence.
 */
async function relist(
  tx: Transaction,
  parts: CrlParts,
  certificate: RevocableCertificate,
  entry: string,
  { changes, reason, cause }: { changes: BatchChanges; reason: RevocationReason; cause: JsonObject },
): Promise<void> {
  const { cert_id } = certificate
  const was = readEntry(entry)
  if (reason === 'key_compromise' && was?.reason !== reason)
    return raise(tx, parts, { ...certificate, revoked_at: was?.revoked_at ?? null }, changes, cause)
  changes.isSignedAgain = true
  changes.events.push({ cert_id, reason, ...cause })
}

/** Not for a certificate that a restore has lost, because it had no row. */
function reportRolledBack({ log }: CrlParts, { cert_id }: RevocableCertificate): void {
  log.error('a revoked certificate was in use again in the database', { alarm: true, cert_id })
}

/** For a certificate that the database lacked: how it was identified. */
function reportedBy(
  { missing }: Revocation,
  added: ReadonlySet<string>,
  { cert_id }: Pick<RevocableCertificate, 'cert_id'>,
): JsonObject {
  if (!added.has(cert_id)) return {}
  const text = missing.find((each) => each.cert_id === cert_id)?.cert_json
  return { known_by: text === NO_TEXT ? 'id_and_key' : 'certificate' }
}

/** Changes the reason of a revoked certificate to key_compromise. The entry keeps its position and time. */
async function raise(
  tx: Transaction,
  parts: CrlParts,
  certificate: RevocableCertificate,
  changes: BatchChanges,
  cause: JsonObject,
): Promise<void> {
  const revokedAt = readInstant(certificate.revoked_at ?? '') ?? parts.clock.now()
  await raiseReason(tx, certificate.cert_id)
  const raised = toEntry(parts, certificate, writeInstant(revokedAt), 'key_compromise')
  // Revoked by an earlier request of the same batch: its entry is not stored yet.
  if (changes.entries.has(certificate.cert_id)) changes.entries.set(certificate.cert_id, raised)
  else {
    const positions = await rewriteEntry(tx, raised)
    changes.rewrittenAt.push(...positions)
    // Without a row there is nothing to read: the list is compared with all rows, and reports it.
    if (positions.length === 0) changes.isSignedAgain = true
  }
  changes.events.push({ cert_id: certificate.cert_id, reason: 'key_compromise', ...cause })
}

function toEntry(
  parts: CrlParts,
  certificate: RevocableCertificate,
  revoked_at: string,
  reason: RevocationReason,
): NewEntry {
  const entry = { certificate_id: certificate.cert_id, revoked_at, reason, issuer: parts.signing.keyId }
  return { cert_id: certificate.cert_id, entry_json: entryText(entry), expires_at: certificate.expires_at }
}
