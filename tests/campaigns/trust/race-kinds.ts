import {
  draftAgentDescriptor,
  isJsonObject,
  readJson,
  signAgentDelete,
  signList,
  writeInstant,
} from '@chancery/protocol'
import type { BoundaryDecision, JsonObject, Signer } from '@chancery/protocol'
import {
  EXECUTED_CAPABILITY,
  foreignFeed,
  foreignSovereign,
  operatorCaller,
  signExecution,
  testSigner,
  wireText,
} from '@chancery/testkit'
import type { TestResponse } from '@chancery/testkit'
import type { Race } from '../enrollment/race-kinds.ts'
import type { RaceRunner } from '../lib/race-runner.ts'
import { newSigner, seedCertificates, text } from '../lib/rows.ts'

const CAPABILITY = EXECUTED_CAPABILITY
const DAY_MS = 86_400_000
const RETENTION_TRIES = 100
/** Replaced by a newer one, older than the stored one, or nothing to delete. */
const AGENT_ANSWERS = ['200', '400 descriptor_expired', '401 signed_at_outside_window', '404 agent_not_registered']

const times = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

function operate(
  runner: RaceRunner,
  index: number,
  target: string,
  body: JsonObject,
  headers = {},
): Promise<TestResponse> {
  const timestamp = writeInstant(runner.now())
  return runner.at(index).as('privileged')('POST', target, body, { timestamp, headers })
}

function member(answer: TestResponse, name: string): string {
  return text(isJsonObject(answer.json) ? answer.json : undefined, name)
}

/** Exactly one response is the winning one. */
function oneWinner(runner: RaceRunner, race: string, kinds: readonly string[], winning: string, stored: number): void {
  const winners = kinds.filter((kind) => kind === winning).length
  if (winners !== 1 || stored !== 1) runner.notes.violation(`${race}: ${winners} winners, ${stored} stored`)
}

/** Each of the last two keys revokes the other: one remains. */
export const lastTwoKeys: Race = async (runner) => {
  const ids = ['race-a', 'race-b'] as const
  // Every other key is revoked directly in the database; afterwards all are restored.
  await setRevoked(runner, ['op-privileged', 'op-standard'])
  const answers = await Promise.all(
    times(runner.callers).map(async (index) => {
      const [own, other] = index % 2 === 0 ? ids : [ids[1], ids[0]]
      const { url } = runner.at(index >> 1)
      const call = operatorCaller(url, await testSigner(own), runner.network.authority.publicKey, () => runner.now())
      return call('POST', `/admin/operator-keys/${other}/revoke`, {})
    }),
  )
  // The winner may call again and gets the response that it was done already.
  const allowed = ['200', '401 admin_auth_failed', '409 last_active_operator_key']
  for (const answer of answers) runner.notes.countResponse('last two keys', answer, allowed)
  const first = answers.filter((answer) => answer.text.includes('"already_revoked":false')).length
  const stored = await runner.rows.query("select key_id from revoked_operator_keys where key_id like 'race-%'")
  if (first !== 1 || stored.length !== 1)
    runner.notes.violation(`last two keys: ${first} winners, ${stored.length} revoked`)
  await setRevoked(runner, [])
}

async function setRevoked(runner: RaceRunner, ids: readonly string[]): Promise<void> {
  await runner.rows.query('delete from revoked_operator_keys')
  const row = { revoked_at: 'x', reason: 'race', revoked_by: 'race' }
  if (ids.length > 0)
    await runner.rows.insert(
      'revoked_operator_keys',
      ids.map((key_id) => ({ key_id, ...row })),
    )
  await runner.rows.query("update heads set version = version + 1 where name = 'operator-keys'")
}

/** One sequence, many contents: one is accepted. */
export const sameFeedSequence: Race = async (runner) => {
  const issuer = foreignSovereign(`ISSUER-${runner.random.next()}`)
  const treaty = { subject_sovereign_id: issuer.sovereign_id, subject_public_keys: [issuer.publicKey] }
  runner.notes.countResponse('treaty', await operate(runner, 0, '/admin/recognition-treaties', treaty), ['201'])
  const answers = await Promise.all(
    times(runner.callers).map((index) => {
      const feed = readJson(wireText(foreignFeed(issuer, 1, [`a-${index}`]))) as JsonObject
      return operate(runner, index, '/admin/sovereign-revocation-feeds/import', { feed })
    }),
  )
  const kinds = answers.map((answer) =>
    runner.notes.countResponse('same feed sequence', answer, ['200', '409 stale_sequence']),
  )
  const where = `where issuer_sovereign_id = '${issuer.sovereign_id}'`
  const feeds = await runner.rows.query(`select feed_id from sovereign_revocation_feeds ${where}`)
  const ids = await runner.rows.query(`select attestation_id from imported_sovereign_revocations ${where}`)
  oneWinner(runner, 'same feed sequence', kinds, '200', feeds.length)
  if (ids.length !== 1) runner.notes.violation(`same feed sequence: ${ids.length} withdrawals`)
}

/** Setup of the evidence races: a member, an executor key, and decisions. */
async function decide(runner: RaceRunner, index: number): Promise<TestResponse> {
  const claims = { capabilities: [CAPABILITY] }
  const body = { subject_id: `vendor-${runner.random.next()}`, roles: ['role:client'], claims }
  const attestation_id = member(await operate(runner, index, '/admin/attestations', body), 'attestation_id')
  return operate(runner, index, '/admin/boundary/evaluate', { attestation_id, requested_capability: CAPABILITY })
}

function decisionOf(answer: TestResponse): BoundaryDecision {
  return (answer.json as JsonObject)['decision'] as unknown as BoundaryDecision
}

/** Many records for one position in the chain of a decision: one is stored. */
export const sameEvidencePosition: Race = async (runner) => {
  const executor = await testSigner('race-executor')
  const key = { key_id: executor.keyId, public_key: executor.publicKey, executor_sovereign_id: 'rotator' }
  await operate(runner, 0, '/admin/evidence/executor-keys', key)
  const decided = await decide(runner, 0)
  runner.notes.countResponse('decision', decided, ['201'])
  const decision = decisionOf(decided)
  const answers = await Promise.all(
    times(runner.callers).map(async (index) => {
      const execution_parameters = { attempt: String(index) }
      const evidence = await signExecution(decision, executor, { execution_parameters })
      return runner.at(index).request('POST', '/evidence/execution', { body: { evidence } as unknown as JsonObject })
    }),
  )
  const kinds = answers.map((answer) =>
    runner.notes.countResponse('same position', answer, ['201', '409 evidence_conflict']),
  )
  const stored = await runner.rows.query(
    `select evidence_id from evidence_entries where entry_kind = 'execution' and decision_id = '${decision.decision_id}'`,
  )
  oneWinner(runner, 'same position', kinds, '201', stored.length)
}

/** Decisions at once: all are stored, without a gap in the sequence. */
export const evidenceAppends: Race = async (runner) => {
  const count = async (): Promise<number> =>
    Number((await runner.rows.query('select last_sequence as n from evidence_head'))[0]?.['n'])
  const before = await count()
  const answers = await Promise.all(times(runner.callers).map((index) => decide(runner, index)))
  for (const answer of answers) runner.notes.countResponse('appends', answer, ['201'])
  const after = await count()
  // Each decision with its justification.
  if (after - before !== 2 * runner.callers) runner.notes.violation(`appends: ${after - before} for ${runner.callers}`)
  const report = await runner.at(0).as('privileged')('GET', '/admin/evidence/verify', undefined, {
    timestamp: writeInstant(runner.now()),
  })
  if (!report.text.includes('"verified":true')) runner.notes.violation(`appends: ${report.text.slice(0, 200)}`)
}

/** One idempotency key for one request, sent many times: done once, and all responses are equal. */
export const sameIdempotencyKey: Race = async (runner) => {
  const headers = { 'Idempotency-Key': `race-${runner.random.next()}-${runner.random.next()}` }
  const subject_id = `once-${runner.random.next()}-${runner.random.next()}`
  const answers = await Promise.all(
    times(runner.callers).map((index) =>
      operate(runner, index, '/admin/attestations', { subject_id, roles: ['role:client'] }, headers),
    ),
  )
  for (const answer of answers) runner.notes.countResponse('same idempotency key', answer, ['201', '409 conflict'])
  const texts = new Set(answers.filter(({ status }) => status === 201).map((answer) => answer.text))
  const stored = await runner.rows.query(
    `select attestation_id from membership_attestations where subject_id = '${subject_id}'`,
  )
  if (texts.size !== 1 || stored.length !== 1)
    runner.notes.violation(`same idempotency key: ${texts.size} answers, ${stored.length} records`)
}

/** An agent is registered and deleted at once: every instance shows the result of one possible order. */
export const sameAgent: Race = async (runner) => {
  const signer = await newSigner(runner.random)
  const [certificate] = await seedCertificates(runner.rows, runner.network, runner.random, [signer.publicKey])
  if (certificate !== undefined) runner.seeded.add(certificate.cert_id)
  const owner: Signer = { ...signer, keyId: signer.publicKey }
  const answers = await Promise.all(
    times(runner.callers).map(async (index) => {
      const at = runner.now() + BigInt(index) * 1000n
      if (index % 3 === 2) {
        const body = await signAgentDelete(writeInstant(at), owner)
        const target = `/agents/${encodeURIComponent(signer.publicKey)}`
        return runner.at(index).request('DELETE', target, { body })
      }
      const descriptor = draftAgentDescriptor({
        agent_id: `agent-${index}`,
        node_public_key: signer.publicKey,
        network_name: runner.network.name,
        capabilities: [CAPABILITY],
        endpoint: { host: '198.51.100.7', port: 7448 },
        registered_at: writeInstant(at),
        expires_at: writeInstant(at + 600_000_000n),
      })
      return runner.at(index).request('POST', '/agents', { body: await signList(descriptor, owner) })
    }),
  )
  for (const answer of answers) runner.notes.countResponse('same agent', answer, AGENT_ANSWERS)
  const shown = await Promise.all(
    runner.processes.map((process) => process.request('GET', `/agents/${encodeURIComponent(signer.publicKey)}`)),
  )
  if (new Set(shown.map((answer) => `${answer.status} ${answer.text}`.replace(/"request_id":"[^"]*"/, ''))).size !== 1)
    runner.notes.violation(`same agent: instances show different agents`)
  const key = `node_public_key = '${signer.publicKey}'`
  const listed = await runner.rows.query(`select agent_id from agent_registrations where ${key} and listed = 1`)
  const postings = await runner.rows.query(`select capability from agent_capabilities where ${key}`)
  if (postings.length !== listed.length)
    runner.notes.violation(`same agent: ${listed.length} listed, ${postings.length} found`)
}

/** Many callers request retention of old entries: one run removes them, once. This race moves the clock by days. */
export const retention: Race = async (runner) => {
  for (let count = 0; count < 2; count += 1)
    runner.notes.countResponse('old decision', await decide(runner, count), ['201'])
  await runner.advance(2 * DAY_MS)
  const removed: number[] = []
  // The last run may still remove rows under the same lease. Then all callers get a retry response.
  for (let attempt = 0; removed.length === 0 && attempt < RETENTION_TRIES; attempt += 1) {
    const answers = await Promise.all(
      times(runner.callers).map((index) =>
        operate(runner, index, '/admin/evidence/retention/apply', { older_than_days: 1 }),
      ),
    )
    for (const answer of answers) {
      runner.notes.countResponse('retention', answer, ['200', '409 retention_in_progress'])
      const count = answer.status === 200 ? Number((answer.json as JsonObject)['removed_count']) : 0
      if (count > 0) removed.push(count)
    }
  }
  if (removed.length !== 1) runner.notes.violation(`retention: ${removed.length} runs removed something`)
}
