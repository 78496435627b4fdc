import { type ApprovalEntry, approvalSubject, readApprovalEntry } from '../artifacts/approval-entry.ts'
import { approvalRequestForm } from '../artifacts/approval-request.ts'
import type { ApprovalRequest, Approvers } from '../artifacts/approval-request.ts'
import { approvalStatementForm } from '../artifacts/approval-statement.ts'
import type { EvidenceStoreEntry } from '../artifacts/evidence-store-entry.ts'
import { signersOf } from '../artifacts/followed-keys.ts'
import { sha256Hex } from '../canonical/digest.ts'
import type { JsonValue } from '../canonical/utf8.ts'
import { readOrUndefined } from '../reading/read-or-undefined.ts'
import { instantOf } from '../reading/text.ts'
import { readReceived, signedText } from '../signing/received.ts'
import type { CheckedApproval, CheckedPayload, Problem, StoreKeys } from './checked-payload.ts'

/** The members that an event has, besides those of every event. */
const CARRIES: Readonly<Record<ApprovalEntry['event'], readonly (keyof ApprovalEntry)[]>> = {
  requested: ['approval_request'],
  stated: ['statement', 'approver'],
  approved: ['statement', 'approver', 'use_until'],
  denied: ['statement', 'approver'],
  expired: ['cause'],
  cancelled: ['cause'],
  used: [],
}
const CARRIED = ['approval_request', 'statement', 'approver', 'use_until', 'cause'] as const

/** Everything about the payload of an approval that needs no other entry. */
export function checkApprovalPayload(
  entry: EvidenceStoreEntry,
  payload: JsonValue,
  keys: StoreKeys,
  compare: (subject: ReturnType<typeof approvalSubject>) => Problem[],
): CheckedPayload {
  const read = readOrUndefined(() => readApprovalEntry(payload))
  if (read === undefined) return unreadable('approval')
  const wrong = CARRIED.find((name) => (read[name] !== null) !== CARRIES[read.event].includes(name))
  if (wrong !== undefined) return unreadable(wrong)
  const state = read.event === 'requested' || read.event === 'stated' ? 'pending' : read.event
  if (read.state !== state) return unreadable('state')
  const { approval_id, event, at, decision_id, use_until } = read
  const named = { approval_id, event, at, decision_id, use_until }
  const result = { problems: compare(approvalSubject(read, entry)), warnings: [], explains: decision_id }
  if (read.approval_request !== null) return { ...result, ...checkRequest(read.approval_request, read, keys, named) }
  if (read.statement !== null) return withStatement(result, read, named)
  return { ...result, approval: named }
}

function checkRequest(
  wire: NonNullable<ApprovalEntry['approval_request']>,
  { approval_id, decision_id }: ApprovalEntry,
  keys: StoreKeys,
  named: Omit<CheckedApproval, 'opened' | 'stated'>,
): Partial<CheckedPayload> {
  const received = readOrUndefined(() => readReceived(approvalRequestForm, wire))
  if (received === undefined) return unreadable('approval_request')
  const { record } = received
  if (record.approval_id !== approval_id || record.decision_id !== decision_id) return unreadable('approval_request')
  const text = signedText(received)
  const opened = { digest: sha256Hex(text), requirements: approversOf(record), expires_at: record.expires_at }
  return {
    signed: { received, text, keys: signersOf(keys.authority, record) },
    approval: { ...named, opened },
  }
}

function approversOf({ requirements }: ApprovalRequest): readonly Approvers[] {
  return requirements.flatMap(({ approvers }) => approvers)
}

function withStatement(
  result: CheckedPayload,
  { statement, approver, approval_id, event }: ApprovalEntry,
  named: Omit<CheckedApproval, 'opened' | 'stated'>,
): CheckedPayload {
  const received = readOrUndefined(() => readReceived(approvalStatementForm, statement))
  if (received === undefined || approver === null) return unreadable('statement')
  const { record } = received
  const { kind, id, sovereign_id } = record.approver
  const isSame = kind === approver.kind && id === approver.id && sovereign_id === approver.sovereign_id
  if (!isSame || record.approval_id !== approval_id) return unreadable('approver')
  if ((record.verdict === 'deny') !== (event === 'denied')) return unreadable('verdict')
  const { public_key } = record
  const stated = { digest: record.approval_request_digest, verdict: record.verdict, kind, id, public_key }
  // The key that the authority verified: a statement that names another one is signed by no known key.
  const keys = approver.public_key === public_key ? [public_key] : []
  return { ...result, signed: { received, text: signedText(received), keys }, approval: { ...named, stated } }
}

function unreadable(detail: string): CheckedPayload {
  return { problems: [{ reason: 'payload_invalid', detail }], warnings: [] }
}

interface OpenApproval {
  readonly digest: string
  readonly requirements: readonly Approvers[]
  readonly expires_at: string
  readonly approvers: readonly NonNullable<CheckedApproval['stated']>[]
  readonly use_until: string | null
}

/** Every approval of a run, to hold its events against each other. */
export class ApprovalChains {
  readonly #open = new Map<string, OpenApproval>()
  readonly #ended = new Set<string>()

  /** Returns what breaks the rules. `isWhole`: the run has every entry, so that nothing can be before it. */
  add(event: CheckedApproval, isWhole: boolean): string | undefined {
    const { approval_id, opened } = event
    const known = this.#open.get(approval_id)
    if (this.#ended.has(approval_id)) return 'event'
    if (opened !== undefined) {
      this.#open.set(approval_id, { ...opened, approvers: [], use_until: null })
      return known === undefined ? undefined : 'event'
    }
    const problem = known === undefined ? (isWhole ? 'requested' : undefined) : problemOf(known, event)
    if (event.event === 'stated' || event.event === 'approved') {
      const { stated, use_until } = event
      const approvers = stated === undefined ? [] : [stated]
      if (known !== undefined)
        this.#open.set(approval_id, { ...known, approvers: [...known.approvers, ...approvers], use_until })
      return problem
    }
    this.#open.delete(approval_id)
    this.#ended.add(approval_id)
    return problem
  }
}

function problemOf(known: OpenApproval, { event, at, stated }: CheckedApproval): string | undefined {
  const isApproved = known.use_until !== null
  if (stated !== undefined) {
    if (isApproved) return 'event'
    if (stated.digest !== known.digest) return 'statement'
    if (instantOf(at) >= instantOf(known.expires_at)) return 'at'
    const isRepeated = known.approvers.some((each) => each.id === stated.id || each.public_key === stated.public_key)
    if (stated.verdict === 'approve' && isRepeated) return 'approver'
    const isEnough = hasStatements(known.requirements, [...known.approvers, stated])
    // The role and the tier of a signer are known to the authority only. What can be counted must be there.
    return event === 'approved' && !isEnough ? 'statement' : undefined
  }
  if (event !== 'used') return undefined
  if (!isApproved) return 'statement'
  return instantOf(at) >= instantOf(known.use_until ?? at) ? 'at' : undefined
}

const KINDS = { operators: 'operator', members: 'member', partner: 'partner' } as const

/** Whether as many different signers of each kind stated as each requirement needs. */
export function hasStatements(
  requirements: readonly Approvers[],
  statements: readonly Pick<NonNullable<CheckedApproval['stated']>, 'kind' | 'id'>[],
): boolean {
  return requirements.every((each) => {
    const named = each.kind === 'operators' && each.key_ids.length > 0 ? each.key_ids : undefined
    const given = statements.filter(
      ({ kind, id }) => kind === KINDS[each.kind] && (named === undefined || named.includes(id)),
    )
    return given.length >= each.count
  })
}
