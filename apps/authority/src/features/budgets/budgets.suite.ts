import { randomUUID } from 'node:crypto'
import {
  BudgetRecomputation,
  type BoundaryDecision,
  type JsonObject,
  type JsonValue,
  readBudgetEvent,
  readEventLine,
} from '@chancery/protocol'
import { ManualClock, type TestAuthority, type TestResponse, accepted, startTestAuthority } from '@chancery/testkit'
import { openTestStore } from '../evidence/evidence.suite.ts'

export const COUNT: JsonObject = { measure: { kind: 'count' }, limit: 2, window: { kind: 'calendar', unit: 'year' } }
export const SUM: JsonObject = {
  measure: { kind: 'sum', path: 'request_parameters.amount', scale: 2 },
  limit: '10.00',
  window: { kind: 'calendar', unit: 'year' },
}

export const SETTINGS = {
  EVIDENCE_STORE: 'on',
  NA_ANCHOR_INTERVAL_SECONDS: '0',
  NA_CLOCK_CHECK: 'off',
  NA_GENESIS_WINDOW: 'warn',
  NA_NODE_DECISIONS: 'partners',
  NA_FOREIGN_FEED_MAX_AGE_SECONDS: '0',
}

/** The trace entry of the only budget of a decision. */
export interface Step {
  readonly result: boolean
  readonly inputs: JsonObject
}

export interface Answer {
  readonly decision: BoundaryDecision
  readonly step: Step
}

export function toAnswer(body: JsonObject): Answer {
  const { trace } = body['justification_proof'] as unknown as { trace: { entries: ({ gate_type: string } & Step)[] } }
  const step = trace.entries.find(({ gate_type }) => gate_type === 'budget.v1' || gate_type === 'TreatyBudgetGate')
  if (step === undefined) throw new Error('the decision has no budget')
  return { decision: body['decision'] as unknown as BoundaryDecision, step }
}

/** A capability that one policy limits, and an own attestation for it. */
export async function limited(
  na: TestAuthority,
  config: JsonObject,
  more: JsonObject = {},
  others: readonly JsonObject[] = [],
) {
  const name = `cap-${randomUUID().slice(0, 8)}.use`
  const policy_id = `p-${randomUUID().slice(0, 8)}`
  const publish = async (next: JsonObject): Promise<JsonValue> => {
    const gates = [{ gate_id: 'g', gate_type: 'budget.v1', order: 10, config: next, ...more }, ...others]
    const window = { valid_from: '2020-01-01T00:00:00Z', valid_until: '2080-01-01T00:00:00Z' }
    const intent = { policy_id, ...window, selector: { capabilities: [name] }, gates }
    return accepted(await na.as('privileged')('POST', '/admin/boundary-policies', intent), 201)['version'] ?? null
  }
  const activate = (version: JsonValue): Promise<TestResponse> =>
    na.as('privileged')('POST', `/admin/boundary-policies/${policy_id}/activate`, { version })
  accepted(await activate(await publish(config)))
  const attest = async (subject_id: string): Promise<string> => {
    const body = { subject_id, roles: ['role:client'], claims: { capabilities: [name] }, validity_hours: 7000 }
    return String(accepted(await na.as('privileged')('POST', '/admin/attestations', body), 201)['attestation_id'])
  }
  const attestation_id = await attest('agent-7')
  const send = (request_parameters: JsonObject = {}, of = attestation_id): Promise<TestResponse> =>
    na.as('standard')('POST', '/admin/boundary/evaluate', {
      attestation_id: of,
      requested_capability: name,
      context: { request_parameters },
    })
  const decide = async (parameters?: JsonObject, of?: string): Promise<Answer> =>
    toAnswer(accepted(await send(parameters, of), 201))
  return { policy_id, capability: name, source: `policy:${policy_id}/g`, publish, activate, attest, send, decide }
}

/** An authority with its store on, and what its tests ask. */
export async function openLimited(
  settings: Record<string, string> = {},
  clock = new ManualClock('2026-03-05T12:00:00Z'),
) {
  const na = await startTestAuthority({ clock, settings: { ...SETTINGS, ...settings } })
  const get = (path: string): Promise<TestResponse> => na.as('standard')('GET', path)
  const rows = async (source: string): Promise<JsonObject[]> =>
    accepted(await get(`/admin/budgets?source=${encodeURIComponent(source)}`))['budgets'] as unknown as JsonObject[]
  return {
    na,
    clock,
    get,
    rows,
    verify: async () => accepted(await na.as('standard')('POST', '/admin/budgets/verify', {})),
    findings: async (check: string) =>
      (accepted(await get('/admin/findings'))['findings'] as unknown as JsonObject[]).filter(
        (finding) => finding['check'] === check,
      ),
    events: async (type: string) =>
      accepted(await get(`/admin/audit?event=${type}`))['events'] as unknown as JsonObject[],
    recompute: async () => recompute((await get('/admin/evidence/export')).text.split('\n').filter(Boolean)),
  }
}

/** What does not follow from exported lines, and how many steps there are. */
export function recompute(lines: readonly string[]): { readonly steps: number; readonly findings: readonly string[] } {
  const run = new BudgetRecomputation()
  const findings = lines.flatMap((line) => {
    const event = readEventLine(line)
    const read = event === undefined ? undefined : readBudgetEvent(event.entry.entry_kind, event.payload)
    return event === undefined || read === undefined ? [] : run.add(event.entry.store_sequence, read)
  })
  return { steps: run.steps, findings: findings.map(({ reason }) => reason) }
}

/** An authority whose executors report. */
export async function openExecuting() {
  const store = await openTestStore({ settings: SETTINGS })
  return {
    ...store,
    limited: (config: JsonObject) => limited(store.na, config),
    report: async ({ decision }: Answer, capability: string, outcome: 'success' | 'failure') => {
      const executed_at = decision.decision_made_at
      const evidence = await store.evidence(decision, { outcome, executed_capability: capability, executed_at })
      return accepted(await store.submit(evidence), 201)
    },
  }
}
