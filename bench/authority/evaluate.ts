import { randomBytes, randomUUID } from 'node:crypto'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { withClient } from '../lib/databases.ts'
import { measureAgainstLimit, type NodeWork } from '../lib/node-bench.ts'
import { type BenchOperator, operatorOf } from '../lib/operator.ts'
import { type BatchStatement, evaluateRows } from '../lib/raw-inserts.ts'
import { signAll } from '../lib/requests.ts'
import { openAuthority } from '../lib/servers.ts'
import { nodeDecisions } from './node-decisions.ts'

const BAR = 0.5
const EVIDENCE_BAR = 0.45
const POLICIES = 20
const GATES = 5
const PATH = '/admin/boundary/evaluate'

/**
 * Two authority processes on one database, every response after its durable audit event; then with the evidence store
 * on, every response after its two entries.
 */
export const evaluate: Bench = {
  name: 'evaluate',
  says: `POST ${PATH} with ${POLICIES} active policies of ${GATES} gates against the limit formula (${BAR}), and with the evidence store on (${EVIDENCE_BAR})`,
  run,
  cases: { nodes: nodeDecisions },
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const off = await openOffice(options, {})
  // All policies apply: a hundred gates in a decision of 60 kB. One applies: the usual case.
  const all = await measureAgainstLimit(off.work('pay.send', evaluateRows()), options)
  const one = await measureAgainstLimit(off.work('single.send', evaluateRows()), options)
  const on = await openOffice(options, { EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' })
  await on.query('create table bare_entries (like evidence_entries including defaults including indexes)')
  const stored = await measureAgainstLimit(on.work('single.send', storedRows()), options)
  const evidence = { bar: EVIDENCE_BAR, ...stored }
  return { bar: BAR, policies: POLICIES, gates: GATES, ...one, all_apply: all, with_evidence: evidence }
}

/** Two processes with the policies in force and a member for the decisions. */
async function openOffice(options: BenchOptions, settings: Readonly<Record<string, string>>) {
  const { network, database, server, processes } = await openAuthority(options, { processes: 2, settings })
  const operator = await operatorOf(network, server.port)
  for (let index = 0; index < POLICIES; index += 1) await putInForce(operator, index)
  const claims = { capabilities: ['pay.send', 'single.send'] }
  const member = { subject_id: 'vendor', roles: ['role:client'], claims }
  const { attestation_id = null } = await operator.post('/admin/attestations', member)
  const work = (requested_capability: string, statement: BatchStatement): NodeWork => {
    const context = { request_parameters: { amount: 5, currency: 'EUR', approved: true, scopes: ['a'] } }
    return {
      path: PATH,
      bodies: (count) => signAll(PATH, count, { attestation_id, requested_capability, context }, network),
      database,
      processes,
      statement,
      batch: 50,
      // Operator, attestation and the two signatures, which are verified before the response.
      verifications: 4,
      signatures: 2,
      perSecond: 3000,
      isSigned: true,
    }
  }
  const query = (text: string): Promise<unknown> => withClient(database.url, (client) => client.query(text))
  return { work, query }
}

/** Publishes and activates policy number `index`, with five gates. */
export async function putInForce(operator: BenchOperator, index: number): Promise<void> {
  const policy_id = `policy-${index}`
  const capabilities = index === 0 ? ['pay.*', 'single.*'] : ['pay.*']
  const path = (name: string): string => `request_parameters.${name}`
  const gates = [
    { gate_id: 'amount', gate_type: 'max_value.v1', config: { path: path('amount'), max: 1000 } },
    { gate_id: 'floor', gate_type: 'min_value.v1', config: { path: path('amount'), min: 1 } },
    { gate_id: 'currency', gate_type: 'allowlist.v1', config: { path: path('currency'), values: ['EUR', 'CHF'] } },
    { gate_id: 'approved', gate_type: 'boolean_required.v1', config: { path: path('approved') } },
    { gate_id: 'scopes', gate_type: 'scope_membership.v1', config: { path: path('scopes'), allowed: ['a', 'b'] } },
  ].map((gate, order) => ({ ...gate, order }))
  const window = { valid_from: '2020-01-01T00:00:00Z', valid_until: '2090-01-01T00:00:00Z' }
  await operator.post('/admin/boundary-policies', { policy_id, ...window, gates, selector: { capabilities } })
  await operator.post(`/admin/boundary-policies/${policy_id}/activate`, { version: 1 })
}

/**
 * Nonce claim, audit event and the entries of decision and justification, in a table of the same columns and indexes.
 */
function storedRows(): BatchStatement {
  let sequence = 0
  return (rows) => {
    const ids = Array.from({ length: rows }, () => randomUUID())
    return {
      name: 'bare-stored-evaluate',
      text:
        'with i as (select * from unnest($1::text[], $2::bytea[], $4::bigint[]) as t(id, claim, s)), ' +
        'n as (insert into nonces (claim, expires_at) select claim, $3 from i), ' +
        'e as (insert into bare_entries (store_sequence, entry_kind, recorded_at, entry_digest, decision_id, vendor_id, attestation_id, capability, outcome, line) ' +
        "select s + k, case k when 0 then 'decision' else 'justification' end, $3, repeat('d', 64), id, 'vendor', 'attestation', 'single.send', 'authorized', repeat('x', 3000) from i, generate_series(0, 1) k) " +
        "insert into audit_events (event_id, event_type, event_json, created_at) select id || k, 'decision_stored', repeat('x', 500), $3 from i, generate_series(0, 1) k",
      values: [ids, ids.map(() => randomBytes(16)), '2099-01-01T00:00:00.000000Z', ids.map(() => (sequence += 2))],
    }
  }
}
