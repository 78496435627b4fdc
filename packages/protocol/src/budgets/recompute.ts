import type { BoundaryPolicy } from '../artifacts/boundary-policy.ts'
import { type ContextFacts, type Facts, findFact } from '../boundary/facts.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { type JsonObject, type JsonValue, isJsonObject } from '../canonical/utf8.ts'
import type { Instant } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'
import { readOrUndefined } from '../reading/read-or-undefined.ts'
import { asJson } from '../signing/verify-any.ts'
import { type Amount, writeAmount } from './amounts.ts'
import { budgetKey, readBudgetConfig, recordedPath } from './budget.ts'
import { amountAt } from './budget-step.ts'
import { type BudgetUse, isCountedStep, readUses } from './budget-use.ts'
import type { BudgetEvent, RecordedBudgetStep } from './budget-events.ts'
import { BudgetLedger } from './ledger.ts'
import { windowAt } from './windows.ts'

export type BudgetFailureReason =
  | 'budget_key_mismatch'
  | 'budget_window_mismatch'
  | 'budget_amount_mismatch'
  | 'budget_used_mismatch'
  | 'budget_result_mismatch'
  | 'budget_limit_mismatch'

export interface BudgetFinding {
  readonly store_sequence: number
  readonly reason: BudgetFailureReason | 'budget_not_recomputable'
  readonly detail: string
}

export interface RecomputeOptions {
  /** Published versions by their digest. Where the one of a decision is at hand, its limit is compared. */
  readonly policies?: ReadonlyMap<string, BoundaryPolicy>
}

type Decision = Extract<BudgetEvent, { kind: 'decision' }>

/**
 * Computes every signed counter of a run of entries again (protocol/budgets-and-approvals 8). The entries are given in
 * their order; their chain and signatures are checked elsewhere. It needs nothing but the lines.
 */
export class BudgetRecomputation {
  readonly #options: RecomputeOptions
  readonly ledger: BudgetLedger
  #decision: { readonly event: Decision; readonly store_sequence: number } | undefined
  #firstAt: Instant | undefined
  steps = 0

  constructor(options: RecomputeOptions = {}, ledger: BudgetLedger = new BudgetLedger()) {
    this.#options = options
    this.ledger = ledger
  }

  /** The beginning of a run that does not begin with entry 1: what came before its time is unknown. */
  startAt(recordedAt: Instant): void {
    this.#firstAt = recordedAt
  }

  /** The next entry that says something about budgets. Returns what does not follow. */
  add(store_sequence: number, event: BudgetEvent): readonly BudgetFinding[] {
    switch (event.kind) {
      case 'decision':
        this.#decision = { event, store_sequence }
        return []
      case 'justification':
        return this.#decision?.event.decision_id === event.decision_id ? this.#check(this.#decision, event.steps) : []
      case 'execution':
        this.ledger.report(event)
        return []
      case 'approval':
        this.ledger.takeApproval(event)
        return []
    }
  }

  #check(
    { event, store_sequence }: { readonly event: Decision; readonly store_sequence: number },
    steps: readonly RecordedBudgetStep[],
  ): readonly BudgetFinding[] {
    const counted = steps.filter(isCountedStep)
    this.steps += counted.length
    const uses = readUses(counted)
    const found: BudgetFinding[] = []
    const readable: BudgetUse[] = []
    for (const [at, use] of uses.entries()) {
      const step = counted[at] as RecordedBudgetStep
      const add = (reason: BudgetFinding['reason'], detail: string): void => {
        found.push({ store_sequence, reason, detail })
      }
      if (use === undefined) {
        add('budget_amount_mismatch', `${sourceOf(step)}: a member has another form`)
        continue
      }
      readable.push(use)
      const window = windowAt(use.window, event.madeAt)
      if (this.#firstAt !== undefined && instantOf(window.from) < this.#firstAt)
        add('budget_not_recomputable', `${use.source}: entries of its window ${window.name} are not in the run`)
      else for (const [reason, detail] of this.#faults(use, step, event)) add(reason, `${use.source}: ${detail}`)
    }
    this.ledger.take(readable, { ...event, store_sequence })
    return found
  }

  #faults(
    use: BudgetUse,
    step: RecordedBudgetStep,
    event: Decision,
  ): readonly (readonly [BudgetFailureReason, string])[] {
    const faults: (readonly [BudgetFailureReason, string])[] = []
    const { inputs, scale } = use
    if (budgetKey(use) !== use.budget_key) faults.push(['budget_key_mismatch', 'budget_key'])
    if (canonicalJson(inputs['window'] ?? null) !== canonicalJson(asJson(windowAt(use.window, event.madeAt))))
      faults.push(['budget_window_mismatch', 'window'])
    const wrong = wrongFact(use, event)
    if (wrong !== undefined) faults.push(['budget_amount_mismatch', wrong])
    const { used, reserved } = this.ledger.stateOf(use, event.madeAt, inputs['replaces'])
    faults.push(
      ...compareAmount('used_before', inputs, used, scale),
      ...compareAmount('reserved_before', inputs, reserved, scale),
    )
    const passes = used + use.asked <= use.limit
    const rest = use.limit - used - (passes ? use.asked : 0n)
    if (step.result !== passes) faults.push(['budget_result_mismatch', 'result'])
    if (inputs['remaining'] !== writeAmount(rest < 0n ? 0n : rest, scale))
      faults.push(['budget_result_mismatch', 'remaining'])
    const limit = this.#limitOf(use, event)
    if (limit !== undefined && limit !== use.limit) faults.push(['budget_limit_mismatch', 'limit'])
    return faults
  }

  /** The limit of the policy that the decision names, where it is at hand. */
  #limitOf({ source, unit }: BudgetUse, { policies }: Decision): Amount | undefined {
    for (const digest of policies) {
      const policy = this.#options.policies?.get(digest)
      const gate = policy?.gates.find(
        ({ gate_id, gate_type }) => gate_type === 'budget.v1' && source === `policy:${policy.policy_id}/${gate_id}`,
      )
      if (gate !== undefined) return readOrUndefined(() => readBudgetConfig(gate.config))?.limits.get(unit)
    }
    return undefined
  }
}

function sourceOf({ inputs }: RecordedBudgetStep): string {
  const { source } = inputs
  return typeof source === 'string' ? source : 'a budget'
}

function compareAmount(
  name: 'used_before' | 'reserved_before',
  inputs: JsonObject,
  computed: Amount,
  scale: number,
): readonly (readonly [BudgetFailureReason, string])[] {
  return inputs[name] === writeAmount(computed, scale) ? [] : [['budget_used_mismatch', name]]
}

/** The first recorded fact that the context or the binding of the decision does not have. */
function wrongFact(
  { measure, unit, asked, scale, per, inputs }: BudgetUse,
  { context, subject }: Decision,
): string | undefined {
  const facts: Facts = { context: context as unknown as ContextFacts, attestation: undefined }
  if (measure['kind'] === 'count' ? asked !== 1n : !isAmount(measure['path'], facts, scale, asked)) return 'asked'
  if (unit !== null && !isFact(measure['unit_path'], facts, unit)) return 'unit'
  const { requester, subject: recorded, node } = per
  if (requester !== undefined && requester !== context['requester_sovereign_id']) return 'per.requester'
  if (recorded !== undefined && canonicalJson(recorded) !== canonicalJson(subject)) return 'per.subject'
  const { attributes } = context
  const request = isJsonObject(attributes) ? attributes['chancery_request'] : undefined
  if (node !== undefined && (!isJsonObject(request) || node !== request['node_public_key'])) return 'per.node'
  return (unit === null) === (measure['unit_path'] === undefined) && inputs['measure'] === measure ? undefined : 'unit'
}

/** Facts of an own attestation are not in the store: what the authority recorded about them is taken as it is. */
function isOfAttestation(path: JsonValue | undefined): boolean {
  return typeof path === 'string' && path.startsWith('attestation.')
}

function isAmount(path: JsonValue | undefined, facts: Facts, scale: number, asked: Amount): boolean {
  const read = recordedPath(path)
  return isOfAttestation(path) || (read !== undefined && amountAt(read, scale, facts) === asked)
}

function isFact(path: JsonValue | undefined, facts: Facts, unit: string): boolean {
  const read = recordedPath(path)
  return isOfAttestation(path) || (read !== undefined && findFact(read, facts).value === unit)
}
