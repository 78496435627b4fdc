import { Refusal } from '@chancery/contract'
import { type JsonObject, type RevocationReason, writeInstant, writeJson, writeSortable } from '@chancery/protocol'
import { faultPoint } from '#faults'
import { type CrlState, setCurrent } from './entries-cache.ts'
import { raise, reclaimRoom, relist, removeReservedLists, reportRolledBack, toEntry } from './lists.ts'
import type { BatchChanges, CrlParts } from './lists.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { type Attempt, type StoredResponse, findStoredResponse, storeResponse } from '../../requests/idempotency.ts'
import { lockNodeKeys } from '../../database/transaction.ts'
import { dropAgents } from '../agents/index.ts'
import { type RevocableCertificate, listCertificates, listOtherCertificates, markRevoked } from '../enrollment/index.ts'
import { listRulesOf } from '../admission/index.ts'
import { type LostCertificate, NO_TEXT, countCertificates, findProblem, insertLost } from './unknown-certificates.ts'
import { publishVersion } from './publish.ts'
import { type CrlVersion, chunks, findActiveVersion, findEntries } from './queries.ts'
import { addSuperseded } from './serve-list.ts'

/** One request to revoke: certificates and one reason. */
export interface Revocation {
  readonly cert_ids: readonly string[]
  readonly reason: RevocationReason
  /** Keeps the other unexpired certificates of the keys. Not with key_compromise. */
  readonly onlyThis: boolean
  /** The response has `other_certificates`, also when there are none. */
  readonly countsOthers?: boolean
  /** How the response names a missing certificate. */
  readonly form: 'cert_id' | 'cert_ids'
  /** Those of them that the database may lack. */
  readonly missing: readonly LostCertificate[]
  readonly attempt: Attempt | undefined
  readonly cause: JsonObject
}

export type RevocationOutcome = StoredResponse

/** A completed request: the keys of its certificates, and those that ended with the named ones. */
interface RevokedCertificates {
  readonly keys: readonly string[]
  readonly alsoRevoked: readonly string[]
  readonly countsOthers: boolean
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
 * Read after all requests of the batch, so that certificates revoked by another request are not counted as left.
 * Members next to the two numbers are there when they name something, and `other_certificates` always for all_of_key.
 * Rules in force are named: their workloads can join with new keys.
 */
async function responseTo(
  tx: Reader,
  parts: CrlParts,
  { keys, alsoRevoked, countsOthers }: RevokedCertificates,
  active: CrlVersion | undefined,
): Promise<StoredResponse> {
  const left = await listOtherCertificates(tx, keys, writeSortable(parts.clock.now()))
  const ended = alsoRevoked.length === 0 ? {} : { also_revoked: countCertificates(alsoRevoked) }
  const others =
    left.length > 0 || countsOthers ? { other_certificates: countCertificates(left.map(({ cert_id }) => cert_id)) } : {}
  const rules = await listRulesOf(tx, keys)
  const admitting = rules.length === 0 ? {} : { admission_rules: rules }
  const numbers = { crl_sequence: active?.sequence ?? 0, revoked_count: active?.entries ?? 0 }
  return { status: 200, text: writeJson({ ...numbers, ...ended, ...others, ...admitting }) }
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
  const alsoRevoked = await revokeCertificates(tx, parts, request, { found, added }, changes)
  const keys = [...new Set(found.map((certificate) => certificate.node_public_key))]
  return { keys, alsoRevoked, countsOthers: request.countsOthers === true }
}

/** Returns the certificates that ended with the named ones. */
async function revokeCertificates(
  tx: Transaction,
  parts: CrlParts,
  request: Revocation,
  { found, added }: { readonly found: readonly RevocableCertificate[]; readonly added: ReadonlySet<string> },
  changes: BatchChanges,
): Promise<readonly string[]> {
  const { reason, onlyThis, cause } = request
  const targets = new Map(found.map((certificate) => [certificate.cert_id, certificate]))
  const named = new Set(targets.keys())
  const keys = found.map((certificate) => certificate.node_public_key)
  // A node that lost one certificate would go on with the one before or after it.
  if (reason === 'key_compromise' || !onlyThis) {
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
    changes.events.push({
      cert_id: certificate.cert_id,
      reason,
      ...(named.has(certificate.cert_id) ? {} : { revoked_with: namedOf(found, certificate) }),
      ...(onlyThis ? { only_this: true } : {}),
      ...reportedBy(request, added, certificate),
      ...cause,
    })
  }
  const alsoRevoked = fresh.map(({ cert_id }) => cert_id).filter((id) => !named.has(id))
  if (reason !== 'key_compromise') return alsoRevoked
  for (const certificate of found) {
    if (certificate.status !== 'revoked' || certificate.revocation_reason === reason) continue
    await raise(tx, parts, certificate, changes, cause)
  }
  return alsoRevoked
}

/** The certificate of the same key that the request names. */
function namedOf(found: readonly RevocableCertificate[], { node_public_key }: RevocableCertificate): string {
  return found.find((each) => each.node_public_key === node_public_key)?.cert_id ?? ''
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
