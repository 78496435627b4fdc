import { Refusal, SECURITY_HEADERS, recognitionTreaties } from '@chancery/contract'
import type { Feature } from '../../core.ts'
import {
  canonicalJson,
  instantOf,
  readInstant,
  readRecognitionTreaty,
  toUtf8,
  treatyLifecycle,
  writeSortable,
} from '@chancery/protocol'
import type { Instant, JsonObject, JsonValue, PartyKeys, RecognitionTreaty, StoredTreaty } from '@chancery/protocol'
import { bind } from '../../auth/access.ts'
import { type RecognitionTreatiesParts, renew, revoke, signTreaty } from './sign-treaty.ts'
import { forRevocations } from '../../database/room/for-revocations.ts'
import { type TreatyQuestion, type TreatyResult, countsHere, pinnedKeys, verifyPostedTreaty } from './verify-posted.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { findTreaty, listNewestFor, listTreatiesFor, listUnended, treatyList } from './queries.ts'
import type { TreatyRow } from './queries.ts'
import { CachedDocument, type Call, type HttpResponse } from '@chancery/service-kit'
import { listResponse, readList, readPage } from '../../requests/paging.ts'
import { readIssueRequest, readTreatyList } from './requests.ts'
import { readKeyList, readOrRefuse, respondVerdict } from '../../requests/read-fields.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { OperatorCall } from '../../auth/operator.ts'
import { BatchedRead } from '../../database/batched-read.ts'

export { findNextExpiry, listExpiry } from './expiry.ts'
export { countsHere } from './verify-posted.ts'
export { markTreatyRevoked } from './queries.ts'

/** Returns a row for a response: the signed record unchanged, and its state next to it (protocol/core 15.2). */
function rowText(row: TreatyRow, now: Instant): string {
  const revoked_at = toWireTime(row.revoked_at)
  const status = row.revoked_in_audit ? 'revoked' : row.status
  const lifecycle = treatyLifecycle({ ...row, status, revoked_at }, now)
  const rest = canonicalJson({ status, revoked_at, revocation_reason: row.revocation_reason, lifecycle })
  return `{"treaty":${row.treaty_json},${rest.slice(1)}`
}

/**
 * GET /recognition-treaties
 * Returns stored treaties, oldest first or by their end.
 */
async function list(call: Call, parts: RecognitionTreatiesParts): Promise<HttpResponse> {
  const { query } = call
  const { sort, lifecycle, prefix } = readTreatyList(query)
  const now = parts.clock.now()
  const filter = {
    issuer_sovereign_id: query.first('issuer_sovereign_id'),
    subject_sovereign_id: query.first('subject_sovereign_id'),
    status: query.first('status'),
    lifecycle,
    prefix,
    now,
  }
  const { database } = parts
  const { rows, paging } = await readList(database.read, readPage(query), treatyList(database, filter, sort))
  return listResponse(
    'recognition_treaties',
    rows.map((row) => rowText(row, now)),
    paging,
  )
}

/**
 * GET /recognition-treaties/{treaty_id}
 * Returns the signed record and its state.
 */
async function find(call: Call, parts: RecognitionTreatiesParts): Promise<CachedDocument> {
  const row = await findTreaty(parts.database, call.params['treaty_id'] ?? '')
  if (row === undefined) throw new Refusal('treaty_not_found')
  return new CachedDocument(toUtf8(rowText(row, parts.clock.now())), SECURITY_HEADERS['Cache-Control'])
}

/**
 * POST /recognition-treaties/verify
 * Verifies a treaty: an own one as stored, a partner's one with recognised or supplied keys. It states nothing about
 * the members of its subject. Writes nothing.
 */
async function verify(call: Call, parts: RecognitionTreatiesParts): Promise<JsonObject> {
  const treaty = readOrRefuse('invalid_recognition_treaty', () => readRecognitionTreaty(call.body['treaty'] ?? null))
  const supplied = readKeyList(call.body['issuer_public_keys'])
  const expected = {
    issuer: readExpected(call.body, 'expected_issuer_sovereign_id'),
    subject: readExpected(call.body, 'expected_subject_sovereign_id'),
  }
  const posted = call.body['treaty'] ?? null
  const { verdict, trust_basis } = await verifyPostedTreaty(parts, treaty, posted, supplied, 'genuine', expected)
  return {
    ...respondVerdict(call, parts, verdict, 'accepted'),
    trust_basis,
    counts_here: countsHere(verdict.ok, trust_basis),
    treaty_id: treaty.treaty_id,
    issuer_sovereign_id: treaty.issuer_sovereign_id,
    subject_sovereign_id: treaty.subject_sovereign_id,
  }
}

function readExpected(body: JsonObject, name: string): string | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw new Refusal('invalid_recognition_treaty', { field: name })
  return value
}

const TREATIES_PER_LOOP_TURN = 32

/**
 * Returns the keys that may sign for a sovereign: K(s) and T(s) of protocol/trust-operations 3.5. A treaty counts when
 * it is in force, grants at least one role and has our own valid signature, because a row written directly in the
 * database must not add a party. The own key never signs for another.
 */
async function findPartyKeys(parts: RecognitionTreatiesParts, sovereign_id: string): Promise<PartyKeys> {
  const own = parts.network.name
  if (sovereign_id === own) return { keys: parts.keys.all, hasTreaty: true }
  const now = parts.clock.now()
  const keys = new Set<string>()
  let hasTreaty = false
  const rows = await listTreatiesFor(parts.database, own, sovereign_id)
  for (const [at, row] of rows.entries()) {
    // There may be any number of treaties for a sovereign, and each costs a verification. The event loop continues in
    // between.
    if (at % TREATIES_PER_LOOP_TURN === TREATIES_PER_LOOP_TURN - 1) await nextTurn()
    const treaty = await parts.verifiedTreaties.read(row)
    if (treaty === undefined) continue
    const isInForce = instantOf(treaty.valid_from) <= now && now < instantOf(treaty.expires_at)
    if (!isInForce || treaty.status !== 'active' || treaty.scope.allowed_roles.length === 0) continue
    hasTreaty = true
    for (const key of treaty.subject_public_keys) keys.add(key)
  }
  for (const key of parts.keys.all) keys.delete(key)
  return { keys: [...keys], hasTreaty }
}

/**
 * POST /admin/recognition-treaties
 * Recognises another sovereign, for a scope and a time.
 */
async function issue(call: OperatorCall, parts: RecognitionTreatiesParts): Promise<HttpResponse> {
  const request = readIssueRequest(call.body, parts.network.name, parts.settings.allowedRoles)
  return signTreaty(call, parts, request)
}

/** More than a decision reads, because rows that do not verify are left out. */
const MAX_UNENDED = 80
/** To explain why no treaty is in force. */
const MAX_ENDED = 8

/** Reads own treaties for decisions. Decisions that wait for the database share the next statement. */
class TreatiesWith {
  readonly #parts: RecognitionTreatiesParts
  readonly #unended: BatchedRead<TreatyRow>

  constructor(parts: RecognitionTreatiesParts) {
    this.#parts = parts
    this.#unended = new BatchedRead(
      (subjects) => {
        const now = writeSortable(parts.clock.now())
        return listUnended(parts.database, { own: parts.network.name, subjects, now, limit: MAX_UNENDED })
      },
      (row) => row.subject_sovereign_id,
    )
  }

  /**
   * Returns the own treaties with a sovereign, newest first, each with a verified text: those that may be in force, or
   * the newest ones when none is. With an id, only that treaty.
   */
  async find(subject: string, treaty_id: string | undefined): Promise<readonly StoredTreaty[]> {
    const { clock, database, network } = this.#parts
    const own = network.name
    if (treaty_id !== undefined) {
      const row = await findTreaty(database, treaty_id)
      const isOurs = row?.issuer_sovereign_id === own && row.subject_sovereign_id === subject
      return isOurs ? this.#readAll([row]) : []
    }
    const unended = await this.#unended.list(subject)
    const now = clock.now()
    const hasBegun = unended.some(({ valid_from }) => (readInstant(valid_from) ?? now) <= now)
    if (hasBegun) return this.#readAll(unended)
    const newest = await listNewestFor(database, own, subject, MAX_ENDED)
    const newestIds = new Set(newest.map((row) => row.treaty_id))
    // A treaty that begins within the clock tolerance is older than a revoked one, or among the newest.
    return this.#readAll([...newest, ...unended.filter((row) => !newestIds.has(row.treaty_id))])
  }

  close(): Promise<void> {
    return this.#unended.close()
  }

  async #readAll(rows: readonly TreatyRow[]): Promise<readonly StoredTreaty[]> {
    const found: StoredTreaty[] = []
    for (const row of rows) {
      const treaty = await this.#parts.verifiedTreaties.read(row)
      if (treaty !== undefined) found.push({ treaty, isActive: row.status === 'active' })
    }
    return found
  }
}

export interface RecognitionTreaties extends Feature {
  findPartyKeys(sovereign_id: string): Promise<PartyKeys>
  /** Own treaties with a sovereign for a decision, newest first; with an id, only that one. */
  findTreatiesWith(subject: string, treaty_id: string | undefined): Promise<readonly StoredTreaty[]>
  pinnedKeys(subject: string): Promise<readonly string[]>
  verifyPostedTreaty(
    treaty: RecognitionTreaty,
    posted: JsonValue,
    supplied: readonly string[],
    question: TreatyQuestion,
    expected: { readonly issuer: string | undefined; readonly subject: string | undefined },
  ): Promise<TreatyResult>
}

export function openRecognitionTreaties(parts: RecognitionTreatiesParts): RecognitionTreaties {
  const treatiesWith = new TreatiesWith(parts)
  return {
    routes: [
      bind(recognitionTreaties.list, (call) => list(call, parts)),
      bind(recognitionTreaties.find, (call) => find(call, parts)),
      bind(recognitionTreaties.issue, (call) => issue(call, parts)),
      bind(recognitionTreaties.renew, (call) => renew(call, parts)),
      bind(recognitionTreaties.revoke, (call) => revoke(call, forRevocations(parts))),
      bind(recognitionTreaties.verify, (call) => verify(call, parts)),
    ],
    jobs: [],
    findPartyKeys: (sovereign_id) => findPartyKeys(parts, sovereign_id),
    findTreatiesWith: (subject, treaty_id) => treatiesWith.find(subject, treaty_id),
    pinnedKeys: (subject) => pinnedKeys(parts, subject),
    verifyPostedTreaty: (...posted) => verifyPostedTreaty(parts, ...posted),
    close: () => treatiesWith.close(),
  }
}
