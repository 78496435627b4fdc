import { DAY, executionEvidenceForm, signForm, writeInstant } from '@chancery/protocol'
import type { BoundaryDecision, Instant, JsonObject } from '@chancery/protocol'
import type { Client } from '@chancery/sdk/authority'
import { demoSigner, spendingPolicy } from './demo-nodes.ts'

export const CAPABILITY = 'pay.invoice'
const EXECUTOR = 'HARBOUR-TREASURY'
const EXECUTOR_KEY = 'treasury-key-1'
const AMOUNTS = [120, 480, 990, 1500, 75, 4000]
const POLICY_DAYS = 360n

/** Creates a policy in two versions, allowed and denied decisions, and the executions of the allowed ones. */
export async function decide(operator: Client, now: Instant): Promise<void> {
  const [from, until] = [writeInstant(now - DAY), writeInstant(now + POLICY_DAYS * DAY)]
  for (const max of [500, 1000]) {
    // Plain JSON; the authority checks it.
    const policy = await operator.boundaryPolicies.publish(spendingPolicy(from, until, max) as JsonObject)
    await operator.boundaryPolicies.activate(policy.policy_id, { version: policy.version })
  }
  const executor = await demoSigner(EXECUTOR_KEY)
  await operator.evidence.registerKey({
    key_id: executor.keyId,
    public_key: executor.publicKey,
    executor_sovereign_id: EXECUTOR,
  })
  for (const [i, amount] of AMOUNTS.entries()) {
    const { attestation_id } = await operator.attestations.issue({
      subject_id: `captain-${i + 1}`,
      roles: ['role:client'],
      validity_hours: 720,
      claims: { capabilities: [CAPABILITY] },
    })
    const { decision } = await operator.boundary.evaluate({
      attestation_id,
      requested_capability: CAPABILITY,
      context: { request_parameters: { amount } },
    })
    if (decision.authorized) await pay(operator, decision, String(i + 1))
    if (i === AMOUNTS.length - 1) await operator.attestations.revoke(attestation_id, { reason: 'member_left' })
    // The last entries are not anchored, as in most stores.
    if (i === AMOUNTS.length - 3) await operator.evidence.anchor()
  }
}

/** Submits the evidence of a payment. Each invoice is a separate resource, paid once. */
export async function pay(operator: Client, decision: BoundaryDecision, invoice: string): Promise<void> {
  const record = {
    evidence_id: `payment-${invoice}`,
    sequence_no: 1,
    decision_id: decision.decision_id,
    context_id: decision.context_id,
    agreement_id: decision.agreement_id,
    executor_sovereign_id: EXECUTOR,
    executed_capability: CAPABILITY,
    execution_parameters: { invoice: `2026-${invoice.padStart(4, '0')}` },
    executed_at: decision.decision_made_at,
    outcome: 'success' as const,
    outcome_detail: null,
    prev_evidence_digest: null,
    resource_id: `invoice/${invoice}`,
    resource_action: 'create' as const,
    resource_sequence: 1,
    signature: null,
  }
  const evidence = await signForm(executionEvidenceForm, record, await demoSigner(EXECUTOR_KEY))
  await operator.evidence.execution({ evidence })
}

/** Attests the members that ask for decisions themselves, so that their nodes need no operator key. */
export async function attestAskers(operator: Client, askers: readonly string[]): Promise<readonly string[]> {
  const ids: string[] = []
  for (const name of askers) {
    const { publicKey } = await demoSigner(name)
    const { attestation_id } = await operator.attestations.issue({
      subject_id: name,
      subject_public_key: publicKey,
      roles: ['role:client'],
      validity_hours: 720,
      claims: { capabilities: [CAPABILITY] },
    })
    ids.push(attestation_id)
  }
  return ids
}

const ASKED_AMOUNTS = [240, 85, 910, 2600, 320]

/** Returns the amount of the n-th question. One in five is over the limit of the policy and is denied. */
export function askedAmount(turn: number): number {
  return (ASKED_AMOUNTS[turn % ASKED_AMOUNTS.length] ?? 100) + (turn % 7)
}
