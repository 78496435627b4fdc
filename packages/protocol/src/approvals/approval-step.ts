import type { Facts } from '../boundary/facts.ts'
import type { GateOutcome, GateReading, GateSituation } from '../boundary/gates/gate.ts'
import { type JsonObject, isJsonObject, member } from '../canonical/utf8.ts'
import { asJson } from '../signing/verify-any.ts'
import type { ApprovalRule } from './rule.ts'
import { type ApprovalFacts, type FoundApproval, NO_APPROVAL, type ShownApproval } from './found-approval.ts'

const WORDS: Readonly<Record<FoundApproval['outcome'], readonly [outcome: GateOutcome, word: string]>> = {
  required: ['pending', 'approval_required'],
  approved: ['pass', 'approved'],
  denied: ['fail', 'approval_denied'],
  expired: ['fail', 'approval_expired'],
  cancelled: ['fail', 'approval_cancelled'],
  used: ['fail', 'approval_used'],
  stale: ['fail', 'approval_stale'],
  mismatch: ['fail', 'approval_mismatch'],
  limit: ['fail', 'approval_limit'],
}

/** Runs one approval gate (protocol/approvals 6). It asks a person only when nothing else denies. */
export function runApproval(
  rule: ApprovalRule,
  facts: Facts,
  { gate_name, isDenied, isObserved }: GateSituation,
): GateReading {
  const needed = rule.isNeeded(facts, gate_name)
  if (typeof needed === 'string') return reading(rule, needed, 'approval cannot be applied', null)
  if (!needed) return reading(rule, 'pass', 'approval_not_needed', false)
  if (!canBeMet(rule, facts)) return reading(rule, 'invalid_context', 'approval cannot be applied', true)
  // Nothing is opened, and nothing denied.
  if (isObserved === true) return reading(rule, 'fail', 'approval_required', true)
  if (facts.approvals === undefined) return reading(rule, 'gate_error', 'approval not available', true)
  const { found } = facts.approvals
  if (isDenied || found === undefined) return reading(rule, 'not_reached', 'approval_not_reached', true)
  const [outcome, word] = WORDS[found.outcome]
  const { approval_id } = found.shown
  return reading(rule, outcome, approval_id === null ? word : `${word}: ${approval_id}`, true, found.shown)
}

interface RecordedStep {
  readonly gate_name: string
  readonly gate_type: string
  readonly inputs: JsonObject
  readonly reason: string
}

/** What the gates of a recorded decision knew, to compute their verdicts again. */
export function recordedApprovals(trace: readonly RecordedStep[]): ApprovalFacts {
  const steps = trace.filter(({ gate_type }) => gate_type === 'approval.v1')
  const recorded = new Map<string, boolean>()
  let found: FoundApproval | undefined
  for (const { gate_name, inputs, reason } of steps) {
    const { condition = null } = inputs
    const needed = isJsonObject(condition) ? condition['needed'] : undefined
    if (typeof needed === 'boolean') recorded.set(gate_name, needed)
    const [word] = reason.split(':')
    const outcome = (Object.keys(WORDS) as FoundApproval['outcome'][]).find((each) => WORDS[each][1] === word)
    if (outcome !== undefined && inputs['request_digest'] !== null) found = { outcome, shown: shownIn(inputs) }
  }
  return { uses: new Map(), found, recorded }
}

function shownIn(inputs: JsonObject): ShownApproval {
  const names = Object.keys(NO_APPROVAL) as (keyof ShownApproval)[]
  // As it was signed: another form shows as a difference.
  return Object.fromEntries(names.map((name) => [name, inputs[name] ?? null])) as unknown as ShownApproval
}

/** Members of a partner can approve only what a partner asks for. */
export function canBeMet({ approvers }: ApprovalRule, { context }: Facts): boolean {
  const isOfPartner = isJsonObject(member(context.attributes, 'chancery_recognition'))
  return isOfPartner || approvers.every(({ kind }) => kind !== 'partner')
}

function reading(
  { title, when, approvers }: ApprovalRule,
  outcome: GateOutcome,
  text: string,
  needed: boolean | null,
  shown: ShownApproval = NO_APPROVAL,
): GateReading {
  const { statements, ...names } = shown
  const condition: JsonObject = { needed }
  const inputs: JsonObject = {
    ...names,
    title,
    when,
    requirements: approvers.map((each) => asJson(each)),
    statements: Array.from(statements, (each) => asJson(each)),
    condition,
  }
  return { outcome, text, path: '', type: 'other', value: undefined, condition, inputs }
}

/** An approval that a signed proof names. */
export interface NamedApproval {
  readonly approval_id: string
  readonly state: string
  readonly expires_at: string | null
  readonly use_until: string | null
}

/** The approval that a denied request waits for, from its justification. Undefined when it does not wait. */
export function waitingApproval({
  trace,
}: {
  readonly trace: {
    readonly entries: readonly {
      readonly gate_type: string
      readonly inputs: JsonObject
      readonly metadata: JsonObject
    }[]
  }
}): NamedApproval | undefined {
  for (const { gate_type, inputs, metadata } of trace.entries) {
    const { approval_id, state, expires_at = null, use_until = null } = inputs
    if (gate_type !== 'approval.v1' || metadata['outcome'] !== 'pending') continue
    if (typeof approval_id !== 'string' || typeof state !== 'string') continue
    const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)
    return { approval_id, state, expires_at: textOrNull(expires_at), use_until: textOrNull(use_until) }
  }
  return undefined
}
