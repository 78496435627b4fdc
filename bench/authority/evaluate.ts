import { randomBytes, randomUUID } from 'node:crypto'
import { seedSigner, signOperatorRequest, writeInstant, writeJson } from '@chancery/protocol'
import type { JsonObject, Signer } from '@chancery/protocol'
import pg from 'pg'
import type { BatchStatement } from '../lib/raw-inserts.ts'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { HOST } from '../lib/conditions.ts'
import { createPostgres } from '../lib/databases.ts'
import { type BenchNetwork, createNetwork } from '../lib/network.ts'
import { type NodeWork, measureAgainstLimit } from '../lib/node-bench.ts'
import { startAuthority } from '../lib/servers.ts'

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
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const network = await createNetwork(options.directory)
  const off = await openOffice(network, options, {})
  // All policies apply: a hundred gates in a decision of 60 kB. One applies: the usual case.
  const all = await measureAgainstLimit(off.work('pay.send', evaluateRows()), options)
  const one = await measureAgainstLimit(off.work('single.send', evaluateRows()), options)
  const on = await openOffice(network, options, { EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' })
  await on.query('create table bare_entries (like evidence_entries including defaults including indexes)')
  const stored = await measureAgainstLimit(on.work('single.send', storedRows()), options)
  const evidence = { bar: EVIDENCE_BAR, ...stored }
  return { bar: BAR, policies: POLICIES, gates: GATES, ...one, all_apply: all, with_evidence: evidence }
}

/** Two processes with the policies in force and a member for the decisions. */
async function openOffice(
  network: BenchNetwork,
  { cleanup, profileDirectory }: BenchOptions,
  settings: Readonly<Record<string, string>>,
) {
  const database = await createPostgres(cleanup)
  const processes = [
    await startAuthority({ network, database, profileDirectory, settings }, cleanup),
    await startAuthority({ network, database, profileDirectory, settings }, cleanup),
  ]
  const signer = await seedSigner(network.operator.keyId, network.operator.seed)
  const send = (path: string, body: JsonObject): Promise<JsonObject> =>
    post(processes[0]?.port ?? 0, path, body, network, signer)
  for (let index = 0; index < POLICIES; index += 1) await putInForce(send, index)
  const claims = { capabilities: ['pay.send', 'single.send'] }
  const member = { subject_id: 'vendor', roles: ['role:client'], claims }
  const { attestation_id = null } = await send('/admin/attestations', member)
  const work = (requested_capability: string, statement: BatchStatement): NodeWork => {
    const context = { request_parameters: { amount: 5, currency: 'EUR', approved: true, scopes: ['a'] } }
    return {
      path: PATH,
      bodies: (count) => signAll(count, { attestation_id, requested_capability, context }, network, signer),
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
  const query = async (text: string): Promise<void> => {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query(text)
    await client.end()
  }
  return { work, query }
}

/** Publishes and activates policy number `index`, with five gates. */
export async function putInForce(
  send: (path: string, body: JsonObject) => Promise<JsonObject>,
  index: number,
): Promise<void> {
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
  await send('/admin/boundary-policies', { policy_id, ...window, gates, selector: { capabilities } })
  await send(`/admin/boundary-policies/${policy_id}/activate`, { version: 1 })
}

/** New calls of this route, each with its own headers. */
export async function signAll(
  count: number,
  body: JsonObject,
  network: BenchNetwork,
  signer: Signer,
): Promise<readonly string[]> {
  const text = writeJson(body)
  const lines: string[] = []
  for (let index = 0; index < count; index += 1)
    lines.push(JSON.stringify({ headers: await headers(PATH, body, network, signer), body: text }))
  return lines
}

function headers(path: string, body: JsonObject, { audience }: BenchNetwork, signer: Signer) {
  const timestamp = writeInstant(BigInt(Date.now()) * 1000n)
  return signOperatorRequest(
    { method: 'POST', path, query: {}, audience, body, timestamp, nonce: randomUUID() },
    signer,
  )
}

/** Sends one signed call; any failure ends the benchmark. */
export async function post(
  port: number,
  path: string,
  body: JsonObject,
  network: BenchNetwork,
  signer: Signer,
): Promise<JsonObject> {
  const answer = await fetch(`http://${HOST}:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(await headers(path, body, network, signer)) },
    body: writeJson(body),
  })
  if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as JsonObject
}

/** Nonce claim and audit event of an evaluation. */
export function evaluateRows(): BatchStatement {
  return (rows) => {
    const ids = Array.from({ length: rows }, () => randomUUID())
    return {
      name: 'bare-evaluate',
      text:
        'with i as (select * from unnest($1::text[], $2::bytea[]) as t(id, claim)), ' +
        'n as (insert into nonces (claim, expires_at) select claim, $3 from i) ' +
        "insert into audit_events (event_id, event_type, event_json, created_at) select id, 'boundary_attestation_decision_made', repeat('x', 900), $3 from i",
      values: [ids, ids.map(() => randomBytes(16)), '2099-01-01T00:00:00.000000Z'],
    }
  }
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
