import { Refusal, evidence } from '@chancery/contract'
import {
  type BoundaryDecision,
  type ContextRecord,
  type Instant,
  type JustificationProof,
  asJson,
  canonicalJson,
  type JsonObject,
} from '@chancery/protocol'
import { CodedPages, type HttpResponse, jsonText } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import { bindRead } from '../../auth/replica-routes.ts'
import { anchors } from './anchors.ts'
import { bundle } from './bundle.ts'
import { counts } from './requests.ts'
import { execution } from './execution.ts'
import { executorKeys, registerKey, retireKey } from './executor-keys.ts'
import { exportLines } from './export.ts'
import { type EvidenceParts, ExecutorKeyCache, StoreVerifier, rejected } from './store-verifier.ts'
import { type AppendListener, AppendListeners, type EvidenceState, resources, vendors } from './resources.ts'
import { retention } from './retention.ts'
import { forRevocations } from '../../database/room/for-revocations.ts'
import { search, status } from './search.ts'
import { type AuditEvent, requestDetails } from '../../audit/record.ts'
import { type BasisVersion, readBasisVersion } from '../../database/locks/decision-basis.ts'
import type { StoredResponse } from '../../requests/idempotency.ts'
import type { Feature } from '../../core.ts'
import { EvidenceAppender, refuseWithoutRoom } from './appender.ts'
import { BasisChangedError, type DecisionClaim, UnchainedDecisions, type ViolationItem } from './claim-decision.ts'
import type { AppendItem } from './append.ts'
import type { LockedDecisionItem } from './locked-decision.ts'
import { type ByteOwner, DailyBytes } from './daily-bytes.ts'
import { EntryRoom } from '../../database/partitions/evidence-partitions.ts'
import { describeStored } from './describe-decisions.job.ts'
import { keepEvidencePartitions } from './remove-old.job.ts'
import { findResourceHeads } from './queries/lookups.ts'
import { RejectionBook } from './rejections.ts'
import { removeOldRows } from './remove-old.job.ts'
import { SignatureChecks } from './signature-checks.ts'
import { sweepRemoved } from './removal.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { makeAnchor } from './anchoring.ts'

/**
 * GET /admin/evidence/resource-heads/{resource_id}
 * Returns the record that the next one must link to, also when all earlier ones were removed.
 */
export async function resourceHeads(call: OperatorCall, parts: EvidenceParts): Promise<JsonObject> {
  const resource_id = call.params['resource_id'] ?? ''
  const head = (await findResourceHeads(parts.database, parts.database.read, [resource_id])).get(resource_id)
  if (head === undefined || head.resource_sequence === null) throw new Refusal('resource_not_found')
  return { resource_id, resource_sequence: head.resource_sequence, record_digest: head.record_digest }
}

/**
 * GET /admin/evidence/verify
 * Computes every digest, link, envelope, signature and anchor again. A large store takes longer than a request: the
 * response is then 503, and a later call gets the finished report.
 */
export function verify(_call: OperatorCall, parts: EvidenceState): Promise<JsonObject> {
  return parts.storeVerifier.report(parts)
}

/**
 * POST /admin/evidence/anchors
 * Signs the head of the store. Refuses when the store does not continue from the last anchor.
 */
export async function anchor(call: OperatorCall, parts: EvidenceState): Promise<HttpResponse> {
  const made = await makeAnchor(parts, requestDetails(call))
  if (made.status === 'refused') throw new Refusal('evidence_anchor_refused', { reason: made.reason })
  const text = `{"anchor":${made.text ?? 'null'},"status":"${made.status}"}`
  return jsonText(text, made.status === 'anchored' ? 201 : 200)
}

export type { ByteOwner } from './daily-bytes.ts'
export { findDecidedContext, listDecidedContexts } from './decision-contexts.ts'
export type { DecisionRange } from './decision-contexts.ts'
export { BasisChangedError }
export type { EvaluatedDecision, LockedState, SignedItem } from './locked-decision.ts'
export { measureUnanchored } from './anchors.ts'
export { lockEvidenceHead, moveBudgetSequence, readEvidenceHead } from './queries/chain.ts'

/** A signed decision with everything that must be stored before it is sent. */
export interface SignedDecision extends DecisionClaim {
  readonly decision: BoundaryDecision
  readonly context: ContextRecord
  readonly proof?: JustificationProof
  readonly texts?: { readonly decision: string; readonly proof: string }
  readonly attestation?: string
  readonly events: readonly AuditEvent[]
  /** Whose bytes of the day it uses. */
  readonly owners: readonly ByteOwner[]
}

/** Rows of the audit log, of indexes and of counters, about. */
const OTHER_ROWS_BYTES = 2048

/** A decision and its justification, about, whose texts are not known before they are signed. */
const SIGNED_BYTES = 6144

/** About what a decision adds to the database, as it is before compression. */
function bytesOf({ answer, attestation = '', context }: SignedDecision): number {
  const text = canonicalJson(asJson(context))
  // Stored once, whether the answer repeats it or not.
  return answer.text.length + attestation.length + (answer.text.includes(text) ? 0 : text.length) + OTHER_ROWS_BYTES
}

/** False when the decision may have been stored. */
function isNothingStored(error: unknown): boolean {
  return error instanceof BasisChangedError || (error instanceof Refusal && error.details['outcome'] === undefined)
}

/** A decision that is not stored uses no bytes of its owners. */
async function storeCounted(
  { dailyBytes }: EvidenceState,
  made: SignedDecision,
  store: () => Promise<StoredResponse>,
): Promise<StoredResponse> {
  const takeBack = await dailyBytes.take(made.owners, bytesOf(made))
  try {
    const answer = await store()
    if (answer !== made.answer) takeBack()
    return answer
  } catch (error) {
    if (isNothingStored(error)) takeBack()
    throw error
  }
}

type ResourceHead = { readonly resource_sequence: number; readonly record_digest: string | null }

async function findResourceHead({ database }: EvidenceParts, resource_id: string): Promise<ResourceHead | undefined> {
  const head = (await findResourceHeads(database, database.read, [resource_id])).get(resource_id)
  if (head === undefined || head.resource_sequence === null) return undefined
  return { resource_sequence: head.resource_sequence, record_digest: head.record_digest }
}

/** Its bytes are about right: the texts are not known before they are signed. */
async function storeLocked(
  own: EvidenceState,
  appender: EvidenceAppender,
  { owners, bytes, ...item }: LockedDecision,
): Promise<StoredResponse> {
  await refuseWithoutRoom(own)
  const takeBack = await own.dailyBytes.take(owners, bytes + SIGNED_BYTES + OTHER_ROWS_BYTES)
  try {
    return await appender.append({ kind: 'locked-decision', ...item })
  } catch (error) {
    if (isNothingStored(error)) takeBack()
    throw error
  }
}

/** A decision that is made under locks, and about how many bytes it adds. */
export interface LockedDecision extends Omit<LockedDecisionItem, 'kind'> {
  readonly owners: readonly ByteOwner[]
  readonly bytes: number
}

export interface Evidence extends Feature {
  /**
   * Stores a decision before it is sent, and returns the response. With the store enabled, decision and justification
   * enter the chain, together with the audit events and the idempotency record. With the store disabled only these two
   * are stored. If the store cannot append, the decision is not sent: 503 evidence_store_unavailable. Throws
   * BasisChangedError for an allowed decision that may not have seen a revocation.
   */
  recordDecision(made: SignedDecision): Promise<StoredResponse>
  /**
   * Makes a decision under the locks of its counters, and stores it before they are released. Only with the store enabled.
   * Throws as {@link recordDecision}, and 503 service_unavailable when a lock is not acquired in time.
   */
  recordLocked(made: LockedDecision): Promise<StoredResponse>
  /** To be read before the basis of a decision. */
  basisVersion(): Promise<BasisVersion>
  append(item: AppendItem): Promise<StoredResponse>
  /** Stores violations of a data license before they are sent, and returns the response with their entry. */
  recordViolation(found: Omit<ViolationItem, 'kind'> & { readonly operator: string }): Promise<StoredResponse>
  /** Appends the counts of refused and repeated submissions for minutes or hours that ended before `now`. */
  appendSummaries(now?: Instant): Promise<void>
  subscribe(listener: AppendListener): void
  /** The record that the next one of a resource must link to; undefined before the first. */
  findResourceHead(resource_id: string): Promise<ResourceHead | undefined>
  /** Removes refused submissions whose retention period is over. */
  removeOldRows(): Promise<void>
}

function openState(parts: EvidenceParts): EvidenceState {
  return {
    ...parts,
    storeVerifier: new StoreVerifier(),
    executorKeys: new ExecutorKeyCache(),
    rejections: new RejectionBook(),
    signatureChecks: new SignatureChecks(parts.log),
    listeners: new AppendListeners(),
    exportPages: new CodedPages(),
    room: new EntryRoom(parts.database),
    storeSize: { entries: 0 },
    dailyBytes: new DailyBytes(parts),
    lastBasis: { version: undefined },
  }
}

export function openEvidence(parts: EvidenceParts): Evidence {
  const own = openState(parts)
  const appender = new EvidenceAppender(own)
  const unchained = new UnchainedDecisions(own)
  const handlerParts = { ...own, appender }
  return {
    routes: [
      bind(evidence.execution, (call) => execution(call, handlerParts)),
      bindRead(evidence.search, parts, (call, database) => search(call, { ...handlerParts, database })),
      bindRead(evidence.counts, parts, (call, database) => counts(call, { ...handlerParts, database })),
      bindRead(evidence.rejected, parts, (call, database) => rejected(call, { ...handlerParts, database })),
      bind(evidence.resources, (call) => resources(call, handlerParts)),
      bind(evidence.resourceHeads, (call) => resourceHeads(call, handlerParts)),
      bind(evidence.vendors, (call) => vendors(call, handlerParts)),
      bind(evidence.export, (call) => exportLines(call, handlerParts)),
      bind(evidence.verify, (call) => verify(call, handlerParts)),
      bind(evidence.status, (call) => status(call, handlerParts)),
      bind(evidence.executorKeys, (call) => executorKeys(call, handlerParts)),
      bind(evidence.registerKey, (call) => registerKey(call, handlerParts)),
      bind(evidence.retireKey, (call) => retireKey(call, forRevocations(handlerParts))),
      bind(evidence.retention, (call) => retention(call, handlerParts)),
      bind(evidence.anchors, (call) => anchors(call, handlerParts)),
      bind(evidence.anchor, (call) => anchor(call, handlerParts)),
      bind(evidence.bundle, (call) => bundle(call, handlerParts)),
    ],
    jobs: [
      { name: 'evidence-anchor', everySeconds: 60, run: () => appender.anchorNow() },
      { name: 'count-bytes', everySeconds: 5, run: () => own.dailyBytes.flush() },
      { name: 'evidence-rejections', everySeconds: 15, run: () => appender.appendSummaries() },
      { name: 'evidence-facts', everySeconds: 60, run: (signal) => describeStored(own, signal) },
      { name: 'evidence-partitions', everySeconds: 60, run: (signal) => keepEvidencePartitions(own, signal) },
      { name: 'evidence-sweep', everySeconds: 60, run: (signal) => sweepRemoved(own, signal) },
    ],
    async recordDecision(made) {
      // Before anything is stored: what a caller causes has an owner and an end, denied requests too.
      await refuseWithoutRoom(own)
      return storeCounted(own, made, async () =>
        parts.settings.evidenceStore ? appender.append({ kind: 'decision', ...made }) : unchained.record(made),
      )
    },
    recordLocked: (made) => storeLocked(own, appender, made),
    basisVersion: async () => own.lastBasis.version ?? readBasisVersion(parts.database),
    appendSummaries: (now) => appender.appendSummaries(now),
    append: (item) => appender.append(item),
    async recordViolation({ operator, ...found }) {
      await own.dailyBytes.take([{ kind: 'operator', name: operator }], found.payload.length + OTHER_ROWS_BYTES)
      return appender.append({ kind: 'usage_violation', ...found })
    },
    subscribe: (listener) => own.listeners.add(listener),
    findResourceHead: (resource_id) => findResourceHead(parts, resource_id),
    removeOldRows: () => removeOldRows(own),
    async close() {
      await own.signatureChecks.close()
      await appender.close()
      await unchained.close()
      await own.storeVerifier.close()
    },
  }
}
