import { setTimeout as pause } from 'node:timers/promises'
import { type JsonObject, boundaryDecisionForm, isJsonObject, readReceived, verifyReceived } from '@chancery/protocol'
import { type Backend, type TestAuthority, accepted, createTestDatabase, startTestAuthority } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Rows, openRows } from '../lib/rows.ts'
import { seededRandom } from '../lib/random.ts'

const SHOWN = 10
const COLUMNS = ['policy_json', 'policy_digest', 'policy_id', 'version'] as const

/** Every byte of stored policies flipped in turn, on both engines: all denied, health says why, none activated. */
export async function run(options: CampaignOptions): Promise<CampaignResult> {
  const half = Math.ceil(options.count / 2)
  const results = [
    await flipAll({ ...options, count: half, backend: 'sqlite' }),
    await flipAll({ ...options, count: half, backend: 'postgres' }),
  ] as const
  return { cases: options.count, violations: results[0].violations + results[1].violations }
}

async function flipAll(options: CampaignOptions & { readonly backend: Backend }): Promise<CampaignResult> {
  const { count, seed, log, backend } = options
  const database = await createTestDatabase(backend)
  const na = await startTestAuthority({ database, backend })
  const rows = await openRows(database)
  try {
    const bench = await prepare(na, rows)
    const random = seededRandom(seed)
    const flips = bench.flips()
    // A small run uses some of them, a large one all.
    const chosen =
      flips.length <= count ? flips : Array.from({ length: count }, () => flips[random.below(flips.length)])
    const reasons = new Map<string, number>()
    const violations: string[] = []
    for (const flip of chosen) if (flip !== undefined) await tryFlip(bench, flip, reasons, violations)
    if (!(await bench.isAllowed())) violations.push('the restored rows do not decide')
    log([...reasons].map(([reason, times]) => `${reason}: ${times}`).join(', '))
    for (const violation of violations.slice(0, SHOWN)) log(`violation: ${violation}`)
    return { cases: chosen.length, violations: violations.length }
  } finally {
    await rows.close()
    await na.stop()
    await database.drop()
  }
}

interface Flip {
  readonly policy_id: string
  readonly column: (typeof COLUMNS)[number]
  readonly from: string
  readonly to: string
  readonly at: number
}

interface Bench {
  readonly na: TestAuthority
  readonly rows: Rows
  flips(): readonly Flip[]
  /** Returns the response to a request that all policies allow. */
  evaluate(): Promise<JsonObject>
  isAllowed(): Promise<boolean>
}

/** Two policies in force and one stored, and a request that both allow. */
async function prepare(na: TestAuthority, rows: Rows): Promise<Bench> {
  const config = { path: 'request_parameters.amount', max: 10 }
  const gates = [{ gate_id: 'limit', gate_type: 'max_value.v1', order: 0, config }]
  const window = { valid_from: '2020-01-01T00:00:00Z', valid_until: '2090-01-01T00:00:00Z' }
  const originals: Record<string, string>[] = []
  for (const policy_id of ['first', 'second', 'stored']) {
    const body = { policy_id, description: 'Gr\u00fc\u00dfe', ...window, gates, selector: { capabilities: ['pay.*'] } }
    accepted(await na.as('privileged')('POST', '/admin/boundary-policies', body), 201)
    if (policy_id !== 'stored')
      accepted(await na.as('privileged')('POST', `/admin/boundary-policies/${policy_id}/activate`, { version: 1 }))
    const [row] = await rows.query(
      `select policy_json, policy_digest, policy_id, version from boundary_policies where policy_id = '${policy_id}'`,
    )
    originals.push(Object.fromEntries(COLUMNS.map((name) => [name, String(row?.[name])])))
  }
  const claims = { capabilities: ['pay.send'] }
  const member = { subject_id: 'vendor', roles: ['role:client'], claims }
  const { attestation_id = null } = accepted(await na.as('privileged')('POST', '/admin/attestations', member), 201)
  const request = {
    attestation_id,
    requested_capability: 'pay.send',
    context: { request_parameters: { amount: 1 } },
  }
  const evaluate = async (): Promise<JsonObject> => {
    const { decision } = accepted(await na.as('standard')('POST', '/admin/boundary/evaluate', request), 201)
    const received = readReceived(boundaryDecisionForm, decision ?? null)
    const verdict = await verifyReceived(received, [na.genesis.network_authority.public_key])
    if (!verdict.ok) throw new Error(`a decision that does not verify: ${verdict.reason}`)
    return decision as JsonObject
  }
  const bench = {
    na,
    rows,
    evaluate,
    isAllowed: async () => (await evaluate())['authorized'] === true,
    flips: () => originals.flatMap((row) => COLUMNS.flatMap((column) => flipsOf(row, column))),
  }
  if (!(await bench.isAllowed())) throw new Error('the request must be allowed before anything is changed')
  return bench
}

function flipsOf(row: Record<string, string>, column: (typeof COLUMNS)[number]): Flip[] {
  const [from, policy_id] = [row[column] ?? '', row['policy_id'] ?? '']
  return Array.from(from, (character, at) => {
    const flipped = String.fromCharCode(character.charCodeAt(0) ^ 1)
    return { policy_id, column, from, to: from.slice(0, at) + flipped + from.slice(at + 1), at }
  })
}

async function tryFlip(bench: Bench, flip: Flip, reasons: Map<string, number>, violations: string[]): Promise<void> {
  const { na } = bench
  const complain = (what: string): void =>
    void violations.push(`${flip.policy_id} ${flip.column} byte ${flip.at}: ${what}`)
  const count = (reason: string): void => void reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
  await write(bench.rows, flip, flip.policy_id, flip.to)
  const id = flip.column === 'policy_id' ? flip.to : flip.policy_id
  try {
    const isInForce = flip.policy_id !== 'stored'
    const decision = await bench.evaluate()
    if (isInForce === decision['authorized']) complain(`decided ${String(decision['authorized'])}`)
    const active = accepted(await na.as('standard')('GET', '/admin/boundary-policies/active'))
    if (isInForce === active['policy_set_healthy']) complain('health does not say so')
    if (isInForce) {
      const binding = decision['policy_binding'] as JsonObject
      const [problem] = active['problems'] as JsonObject[]
      const reason = textOf(binding, 'resolution_failure')
      const reported = textOf(problem ?? {}, 'reason')
      if (reported !== reason) complain(`denied for ${reason}, health says ${reported}`)
      count(reason)
    }
    const version = flip.column === 'version' ? Number(flip.to) : 1
    const answer = await na.as('privileged')('POST', `/admin/boundary-policies/${encodeURIComponent(id)}/activate`, {
      version,
    })
    const error = isJsonObject(answer.json) && isJsonObject(answer.json['error']) ? answer.json['error'] : {}
    if (![400, 404, 409].includes(answer.status)) complain(`activation answered ${answer.status}`)
    else if (!isInForce) count(`refused ${textOf(error, 'code')}`)
  } finally {
    await write(bench.rows, flip, id, flip.from)
  }
}

function textOf(object: JsonObject, name: string): string {
  const value = object[name]
  return typeof value === 'string' ? value : ''
}

/** Writes directly to the database, so that no version changes. */
async function write(rows: Rows, { column }: Flip, policy_id: string, value: string): Promise<void> {
  const text = (word: string): string => `'${word.replaceAll("'", "''")}'`
  const set = column === 'version' ? String(Number(value)) : text(value)
  const statement = `update boundary_policies set ${column} = ${set} where policy_id = ${text(policy_id)}`
  // A write of the authority, which is in this process, cannot end while SQLite waits for it.
  for (let tries = 1; ; tries += 1) {
    try {
      return void (await rows.query(statement))
    } catch (error) {
      if (tries === 3 || !String(error).includes('locked')) throw error
      await pause(20)
    }
  }
}
