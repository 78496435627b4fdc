import {
  asReceived,
  executionEvidenceForm,
  hasSecretMaterial,
  isJsonObject,
  readReceived,
  recordDigest,
} from '@chancery/protocol'
import type { ExecutionEvidence } from '@chancery/protocol'
import type { EvidenceApi } from '../api/evidence.ts'
import { RefusedError, VerificationError } from '../errors.ts'
import { type ChainHead, EMPTY_CHAIN, type Intent, type OutboxEntry } from './outbox.ts'

/** Submits evidence, and reads the chains of earlier ones. */
export interface EvidenceClient {
  readonly evidence: EvidenceApi
}

/** Both chains that a record continues: that of its decision and, where it changes one, that of its resource. */
export interface Heads {
  readonly decision: ChainHead
  readonly resource: ChainHead
}

export function digestOfRecord(record: ExecutionEvidence): string {
  return recordDigest(asReceived(executionEvidenceForm, record))
}

/** Returns the end of a decision's chain among queued records; undefined when there is none. */
function pendingDecisionHead(entries: readonly OutboxEntry[], decisionId: string): ChainHead | undefined {
  return lastHead(entries, (record) =>
    record.decision_id === decisionId ? { sequence: record.sequence_no, digest: digestOfRecord(record) } : undefined,
  )
}

/** Returns the end of a resource's chain among queued records; undefined when there is none. */
export function pendingResourceHead(entries: readonly OutboxEntry[], resourceId: string): ChainHead | undefined {
  return lastHead(entries, (record) =>
    record.resource_id === resourceId && record.resource_sequence !== undefined
      ? { sequence: record.resource_sequence, digest: digestOfRecord(record) }
      : undefined,
  )
}

/** Dead letters are no predecessors, because the authority will never store them unchanged. */
function lastHead(
  entries: readonly OutboxEntry[],
  headOf: (record: ExecutionEvidence) => ChainHead | undefined,
): ChainHead | undefined {
  let last: ChainHead | undefined
  for (const entry of entries) {
    const head = entry.state === 'pending' ? headOf(entry.record) : undefined
    if (head !== undefined && head.sequence > (last?.sequence ?? 0)) last = head
  }
  return last
}

/** The further of two ends of one chain. */
function laterHead(first: ChainHead, second: ChainHead | undefined): ChainHead {
  return second !== undefined && second.sequence > first.sequence ? second : first
}

/** Returns the head of a resource at the authority. */
export async function storedResourceHead(client: EvidenceClient, resourceId: string): Promise<ChainHead> {
  try {
    const { resource_sequence, record_digest } = await client.evidence.resourceHeads(resourceId)
    return { sequence: resource_sequence, digest: record_digest }
  } catch (error) {
    if (error instanceof RefusedError && error.code === 'resource_not_found') return EMPTY_CHAIN
    throw error
  }
}

/** The last record of a decision that the authority has. */
export async function storedDecisionHead(client: EvidenceClient, decisionId: string): Promise<ChainHead> {
  let head = EMPTY_CHAIN
  // A decision is valid for minutes, so a chain with more pages than this is an error.
  for (let [after, pages] = [0, 1]; pages <= MOST_PAGES; pages += 1) {
    const page = await client.evidence.search({
      decision_id: decisionId,
      entry_kind: 'execution',
      after_sequence: after,
      limit: 1000,
    })
    for (const { payload } of page.entries) {
      if (!isJsonObject(payload)) continue
      const received = readReceived(executionEvidenceForm, payload)
      head = laterHead(head, { sequence: received.record.sequence_no, digest: recordDigest(received) })
    }
    if (page.next_after_sequence === null) return head
    after = page.next_after_sequence
  }
  throw new VerificationError('no_end', 'response', 'the evidence of one decision has no end')
}

const MOST_PAGES = 100

export interface Outcome {
  readonly outcome: ExecutionEvidence['outcome']
  readonly outcome_detail: string | null
}

/** The ends of both chains: stored records, then queued ones. */
export function headsFor({ decision_id, resource }: Intent, entries: readonly OutboxEntry[]): Heads {
  return {
    decision: laterHead(EMPTY_CHAIN, pendingDecisionHead(entries, decision_id)),
    resource:
      resource === null ? EMPTY_CHAIN : laterHead(resource.head, pendingResourceHead(entries, resource.resource_id)),
  }
}

/** Returns the unsigned record of an action, after these heads. */
export function draftEvidence(intent: Intent, { outcome, outcome_detail }: Outcome, heads: Heads): ExecutionEvidence {
  const { resource, ...facts } = intent
  const draft: ExecutionEvidence = {
    ...facts,
    sequence_no: 1,
    outcome,
    // A long text of the caller or of an error must not cause a refusal of the record.
    outcome_detail: hasSecretMaterial(intent.execution_parameters, outcome_detail) ? 'withheld' : outcome_detail,
    prev_evidence_digest: null,
    ...(resource === null
      ? {}
      : { resource_id: resource.resource_id, resource_action: resource.resource_action, resource_sequence: 1 }),
    signature: null,
  }
  return withSequenceAfter(draft, heads)
}

/** Returns the unsigned record after these heads. */
export function withSequenceAfter(record: ExecutionEvidence, { decision, resource }: Heads): ExecutionEvidence {
  const { prev_resource_digest: _old, ...rest } = record
  return {
    ...rest,
    sequence_no: decision.sequence + 1,
    prev_evidence_digest: decision.digest,
    ...(record.resource_id === undefined ? {} : { resource_sequence: resource.sequence + 1 }),
    ...(record.resource_id === undefined || resource.digest === null ? {} : { prev_resource_digest: resource.digest }),
    signature: null,
  }
}
