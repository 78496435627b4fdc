import { hours, readJoinCertificate, writeInstant, writeSortable } from '@chancery/protocol'
import type { JoinCertificate, JsonObject } from '@chancery/protocol'
import { ManualClock, accepted, enroll, newNodeCaller, refused, startTestAuthority } from '@chancery/testkit'
import type { NodeCaller, TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { presented } from '../../database/migrations/0052-presented.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock()
const LIMITS = { NA_RATE_LIMIT_JOIN_PER_MINUTE: '10000', NA_RATE_LIMIT_JOIN_FAILURES_PER_MINUTE: '10000' }
let na: TestAuthority
let node: NodeCaller
let last: JoinCertificate
let count = 0

beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off', ...LIMITS } })
  await setUpgrade(writeSortable(clock.now()))
})
afterAll(() => na.stop())

/** Test databases are made by the clock of the system, which is ahead of this one. */
const setUpgrade = (applied_at: string) =>
  rowsOf(na.core.database)
    .updateTable('schema_version')
    .set({ applied_at })
    .where('version', '=', presented.version)
    .execute()

const terms = (members: JsonObject = {}): JsonObject => {
  count += 1
  const roles = ['role:client', 'role:service']
  return { rule_id: `again-${count}`, kind: 'expired_certificate', grace_hours: 72, roles, ...members }
}
const addRule = (members: JsonObject = {}): Promise<TestResponse> =>
  na.as('privileged')('POST', '/admin/admission-rules', terms(members))
async function newRule(members: JsonObject = {}): Promise<string> {
  return String((accepted(await addRule(members), 201)['rule'] as JsonObject)['rule_id'])
}
const rejoin = (rule_id: string, certificate: JsonObject | string, from = node): Promise<TestResponse> =>
  from.post('/join', {
    evidence: { rule_id, token: typeof certificate === 'string' ? certificate : JSON.stringify(certificate) },
    validity_hours: 48,
  })
const revoke = (cert_id: string, reason: string): Promise<TestResponse> =>
  na.as('privileged')('POST', '/admin/revoke', { cert_id, reason })

function expectReason(answer: TestResponse, reason: string): void {
  expect(refused(answer, 403, 'evidence_refused')['details']).toEqual({ reason })
}

beforeEach(async () => {
  node = await newNodeCaller(na.url, 'again', clock)
  last = await enroll(na, node, { roles: ['role:client'], max_validity_hours: 30 }, { validity_hours: 10 })
})

describe('an expired certificate that does not say what its node may do now', () => {
  it('does not admit a key whose last certificate an operator revoked as superseded', async () => {
    const rule_id = await newRule()
    const renewed = readJoinCertificate(accepted(await node.post('/renew', { cert_id: last.cert_id }), 201))
    clock.advance(2 * 3600)
    accepted(await revoke(renewed.cert_id, 'superseded'), 200)
    clock.advance(40 * 3600)
    refused(await rejoin(rule_id, { ...renewed }), 403, 'node_key_revoked')
    refused(await rejoin(rule_id, { ...last }), 403, 'node_key_revoked')
  })

  it('gives the roles of the newest certificate, whichever is presented', async () => {
    const own = await newNodeCaller(na.url, 'again', clock)
    const wide = await enroll(na, own, { roles: ['role:service'], max_validity_hours: 2 }, { validity_hours: 2 })
    clock.advance(60)
    accepted(await revoke(wide.cert_id, 'superseded'), 200)
    await enroll(na, own, { roles: ['role:client'], max_validity_hours: 3 }, { validity_hours: 3 })
    clock.advance(4 * 3600)
    const next = readJoinCertificate(
      accepted(await rejoin(await newRule({ max_validity_hours: 24 }), { ...wide }, own), 201),
    )
    expect([next.roles, next.expires_at]).toEqual([['role:client'], writeInstant(clock.now() + hours(3))])
    const narrow = await newRule({ roles: ['role:service'] })
    expectReason(await rejoin(narrow, { ...wide }, own), 'claims_mismatch')
  })

  it('does not count with another text than the one that was issued, as a stolen former key could sign it', async () => {
    const rule_id = await newRule()
    clock.advance(11 * 3600)
    const { signatures: _signatures, ...rest } = last
    const forged = await na.core.signing.sign({ ...rest, roles: ['role:service'] })
    expectReason(await rejoin(rule_id, { ...forged }), 'certificate_unknown')
    accepted(await rejoin(rule_id, { ...last }), 201)
  })

  it('does not count when it ended before a recovery: its revocation may be lost, and no list has it any more', async () => {
    const rule_id = await newRule()
    clock.advance(11 * 3600)
    const recovered_at = writeSortable(clock.now())
    const recovery = { position: 1, recovered_at, replay_floor: writeSortable(0n), known_until: null }
    await rowsOf(na.core.database).insertInto('recoveries').values(recovery).execute()
    expectReason(await rejoin(rule_id, { ...last }), 'certificate_unknown')
    expect(
      refused(await node.post('/renew', { cert_id: last.cert_id }), 403, 'certificate_expired')['details'] ?? {},
    ).toEqual({})
    await rowsOf(na.core.database).deleteFrom('recoveries').execute()
  })
})
