import {
  budgetKey,
  budgetStatusForm,
  draftBudgetStatus,
  perValue,
  treatySource,
  writeInstant,
  writeSortable,
} from '@chancery/protocol'
import type { Budget, BudgetView, CheckedPolicy, Facts, Instant, JsonObject, TreatyBudget } from '@chancery/protocol'
import { type Call, type HttpResponse, jsonText, readRecordTexts } from '@chancery/service-kit'
import { authenticateNode, refuseNode } from '../../auth/node.ts'
import { consumeNonce } from '../../auth/nonces.ts'
import { readCounterRows } from '../../budgets/counter-rows.ts'
import { type DescribedCounter, describeCounter, usedOf } from '../../budgets/view.ts'
import type { BoundaryState } from './context.ts'
import { type Admitted, admit, count, signingPartner } from './request.ts'
import { onAttestation } from './basis.ts'
import { readStatusRequest } from './requests.ts'
import { readContext } from './context.ts'

const ACTION = 'budget-status'

/**
 * POST /budgets/status
 * Gives a member what is left of its budgets, signed. Its proof is checked as that of a decision; nothing is decided.
 */
export async function budgetStatus(call: Call, parts: BoundaryState): Promise<HttpResponse> {
  const isForPartners = parts.settings.nodeDecisions === 'partners'
  const body = readRecordTexts(call.body, { records: { 'presented.attestation': 'invalid_attestation' } })
  const asked = readStatusRequest(body, parts.network.name, isForPartners)
  const proof = await authenticateNode(call, parts, ACTION)
  const { node_public_key } = asked
  await count(parts, 'approval', node_public_key)
  const admitted = await admit(parts, asked, (name, key) => count(parts, name, key))
  parts.signing.requireAllowed()
  if (!(await consumeNonce(parts.nonces, `node:${node_public_key}`, proof.nonce, proof.signedAt)))
    return refuseNode(call, parts, ACTION, 'nonce_replay', proof.nonce, signingPartner(admitted.basis))
  const now = parts.clock.now()
  const facts = factsOf(parts, admitted, node_public_key, now)
  const counters = [
    ...treatyCounters(admitted, facts),
    ...policyCounters(await parts.boundaryPolicies.active.read(), facts),
  ]
  const draft = draftBudgetStatus({
    sovereign_id: parts.network.name,
    asked_for: askedFor(parts, admitted),
    as_of: writeInstant(now),
    budgets: await readViews(parts, counters, now),
    issued_by: parts.signing.keyId,
  })
  const { text } = await parts.signing.signFormText(budgetStatusForm, draft)
  return jsonText(text)
}

function askedFor(parts: BoundaryState, { basis }: Admitted): readonly [string, string] {
  if (basis.kind === 'attestation') return [parts.network.name, basis.attestation?.subject_id ?? '']
  return [basis.attestation.issuer_sovereign_id, basis.attestation.subject_id]
}

/** The facts that a decision for this caller would have, as far as they name a counter. */
function factsOf(parts: BoundaryState, { basis }: Admitted, node_public_key: string, now: Instant): Facts {
  const resolved = onAttestation(parts, basis, readContext(undefined), ACTION, {
    chancery_request: { node_public_key },
  })
  const attestation = basis.kind === 'attestation' ? basis.attestation : undefined
  return { context: resolved.contextAt(now), attestation }
}

interface ShownCounter {
  readonly counter: DescribedCounter
  /** Shown without use, too. */
  readonly isPromised: boolean
}

/** One counter for each unit; none when the facts do not name one. */
function countersOf(budget: Budget, source: string, facts: Facts, isPromised: boolean): readonly ShownCounter[] {
  const values = budget.per.map((name) => [name, perValue(name, facts)] as const)
  if (values.some(([, value]) => value === undefined)) return []
  const per = Object.fromEntries(values) as JsonObject
  const { measure, window, scale, counts } = budget
  return [...budget.limits].map(([unit, limit]) => {
    const budget_key = budgetKey({ measure, per, source, unit, window })
    return { counter: { budget_key, source, measure, per, unit, window, scale, limit, counts }, isPromised }
  })
}

/** Those of the treaty under which the member is accepted: the partner reads them in it. */
function treatyCounters({ basis }: Admitted, facts: Facts): readonly ShownCounter[] {
  if (basis.kind !== 'presented') return []
  const { issuer_sovereign_id: partner } = basis.attestation
  const budgets: readonly TreatyBudget[] = basis.treaty?.budgets ?? []
  return budgets.flatMap((budget) => countersOf(budget, treatySource(partner, budget.budget_id), facts, true))
}

/** Visible budgets of policies that only this caller uses, once it used them: others would show what others do. */
function policyCounters(policies: readonly CheckedPolicy[], facts: Facts): readonly ShownCounter[] {
  return policies.flatMap(({ policy_id, ready }) =>
    (ready?.gates ?? []).flatMap(({ spec, budget }) =>
      budget?.visible === true && budget.per.length > 0
        ? countersOf(budget, `policy:${policy_id}/${spec.gate_id}`, facts, false)
        : [],
    ),
  )
}

async function readViews(
  { database }: BoundaryState,
  counters: readonly ShownCounter[],
  now: Instant,
): Promise<readonly BudgetView[]> {
  const keys = counters.map(({ counter }) => counter.budget_key)
  const rows = await readCounterRows(database, keys, writeSortable(now))
  const known = new Set(rows.budgets.map(({ budget_key }) => budget_key))
  return counters
    .filter(({ counter, isPromised }) => isPromised || known.has(counter.budget_key))
    .map(({ counter }) => describeCounter(counter, usedOf(counter, rows, now), now))
}
