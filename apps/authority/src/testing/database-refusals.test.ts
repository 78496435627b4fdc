import type { JsonObject } from '@chancery/protocol'
import { createLog } from '@chancery/service-kit'
import { type TestAuthority, type TestResponse, accepted, refused, startTestAuthority } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { publishAndEdit } from '../features/health/edited-policy.suite.ts'
import { rowsOf } from './rows.suite.ts'

/**
 * The caller learns only a code. The cause is in the log, so that an edited row can be distinguished from a bad
 * request.
 */
describe('a refusal that the database causes', () => {
  let na: TestAuthority
  let lines: JsonObject[]
  beforeEach(async () => {
    lines = []
    const destination = { write: (line: string) => void lines.push(JSON.parse(line) as JsonObject) }
    const log = createLog({ level: 'warn', format: 'json', destination })
    na = await startTestAuthority({ log, settings: { EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' } })
  })
  afterEach(() => na.stop())
  const post = (target: string, body: JsonObject): Promise<TestResponse> => na.as('privileged')('POST', target, body)
  const logged = (event: string): JsonObject | undefined => lines.find((line) => line['event'] === event)
  const attest = async (): Promise<string> => {
    const body = { subject_id: 'vendor-1', roles: ['role:client'], claims: { capabilities: ['ledger.read'] } }
    return String(accepted(await post('/admin/attestations', body), 201)['attestation_id'])
  }
  const evaluate = (attestation_id: string): Promise<TestResponse> =>
    post('/admin/boundary/evaluate', { attestation_id, requested_capability: 'ledger.read' })

  it('is logged for a network policy whose row was edited', async () => {
    for (const policy_id of ['one', 'two']) accepted(await post('/admin/policy', { policy_id }), 201)
    await sql`update policy_versions set policy_json = replace(policy_json, '443', '444') where policy_id = 'one'`.execute(
      rowsOf(na.core.database),
    )
    refused(await post('/admin/policy/rollback', { policy_id: 'one' }), 409, 'conflict')
    expect(logged('a stored network policy does not verify')).toMatchObject({ policy_id: 'one', alarm: true })
  })

  it('is logged for an attestation whose row was edited', async () => {
    const attestation_id = await attest()
    await sql`update membership_attestations set attestation_json = replace(attestation_json, 'vendor-1', 'vendor-2')`.execute(
      rowsOf(na.core.database),
    )
    const { decision } = accepted(await evaluate(attestation_id), 201) as { decision: JsonObject }
    expect(decision['authorized']).toBe(false)
    expect(logged('a stored attestation does not verify')).toMatchObject({ attestation_id, alarm: true })
  })

  it('is logged for decisions that an edited boundary policy denies', async () => {
    const attestation_id = await attest()
    await publishAndEdit(na)
    const { decision } = accepted(await evaluate(attestation_id), 201) as { decision: JsonObject }
    expect(decision['authorized']).toBe(false)
    expect(logged('a decision was denied by the state of the policies')).toMatchObject({
      resolution_failure: 'policy_store_integrity_failed',
    })
  })

  it('is logged with its cause when evidence cannot be stored', async () => {
    const attestation_id = await attest()
    await sql`alter table evidence_entries rename to away`.execute(rowsOf(na.core.database))
    refused(await evaluate(attestation_id), 503, 'evidence_store_unavailable')
    const line = logged('infrastructure failed')
    expect(line).toMatchObject({ level: 'warn', route: 'POST /admin/boundary/evaluate' })
    // The class of the database error, not that of the resulting refusal.
    expect(line?.['error']).toMatch(/^(?!Refusal$)\w+$/)
  })
})
