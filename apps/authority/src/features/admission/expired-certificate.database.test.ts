import { randomUUID } from 'node:crypto'
import { HOUR, hours, instantOf, readJoinCertificate, writeInstant, writeSortable } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { accepted, detailsOf, enroll, eventsOf, newNodeCaller, refused, startTestAuthority } from '@chancery/testkit'
import type { TestResponse } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { Rejoining, expectReason } from './rejoining.suite.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const again = Rejoining.inThisFile()

describe('a node whose certificate expired', () => {
  it('joins again by its key and last certificate, with its roles, and renews as before', async () => {
    const rule_id = await again.newRule({ max_validity_hours: 6 })
    again.clock.advance(11 * 3600)
    const refusal = refused(
      await again.node.post('/renew', { cert_id: again.last.cert_id }),
      403,
      'certificate_expired',
    )
    expect(refusal['details']).toMatchObject({ rejoin_rule: expect.stringMatching(/^again-/) as string })
    const answer = await again.rejoin(rule_id, { ...again.last })
    const next = readJoinCertificate(accepted(answer, 201))
    expect(next).toMatchObject({
      node_public_key: again.node.key,
      roles: ['role:client'],
      expires_at: writeInstant(again.clock.now() + hours(6)),
    })
    const [event] = await eventsOf(again.na, answer)
    expect(event).toMatchObject({ event_type: 'certificate_issued' })
    expect(detailsOf(event)).toMatchObject({ rule_id, evidence_subject: again.last.cert_id, cert_id: next.cert_id })
    accepted(await again.node.heartbeat(next.cert_id), 200)
    // The hours of its invite, without evidence.
    const renewed = await again.node.post('/renew', { cert_id: next.cert_id, validity_hours: 48 })
    expect(readJoinCertificate(accepted(renewed, 201)).expires_at).toBe(writeInstant(again.clock.now() + hours(30)))
    const listed = (
      accepted(await again.na.as('standard')('GET', '/admin/admission-rules?limit=500'))['rules'] as JsonObject[]
    ).find((each) => each['rule_id'] === rule_id)
    expect(listed).toMatchObject({ joins: 1, warnings: [] })
    expect(String(listed?.['admits'])).toContain('expired less than 72 h ago')
  })

  it('is not admitted before its end, nor from the end of the grace on', async () => {
    const rule_id = await again.newRule({ grace_hours: 2 })
    again.clock.advance(10 * 3600 - 1)
    expectReason(await again.rejoin(rule_id, { ...again.last }), 'certificate_not_expired')
    again.clock.advance(1)
    accepted(await again.rejoin(rule_id, { ...again.last }), 201)
    again.clock.advance(2 * 3600 - 1)
    accepted(await again.rejoin(rule_id, { ...again.last }), 201)
    again.clock.advance(1)
    expectReason(await again.rejoin(rule_id, { ...again.last }), 'expired')
  })

  it('needs a rule: without one the refusal of its renewal names none', async () => {
    const lone = await startTestAuthority({ clock: again.clock, settings: { NA_CLOCK_CHECK: 'off' } })
    const own = await newNodeCaller(lone.url, 'lone', again.clock)
    const { cert_id } = await enroll(lone, own, { max_validity_hours: 1 }, { validity_hours: 1 })
    again.clock.advance(3601)
    expect(refused(await own.post('/renew', { cert_id }), 403, 'certificate_expired')['details'] ?? {}).toEqual({})
    await lone.stop()
  })

  it('learns the rule also when a renewal that it did not receive ended its certificate', async () => {
    await again.newRule()
    accepted(await again.node.post('/renew', { cert_id: again.last.cert_id }), 201)
    again.clock.advance(3600)
    const early = refused(
      await again.node.post('/renew', { cert_id: again.last.cert_id }),
      403,
      'certificate_superseded',
    )
    expect(early['details'] ?? {}).toEqual({})
    again.clock.advance(10 * 3600)
    const late = refused(
      await again.node.post('/renew', { cert_id: again.last.cert_id }),
      403,
      'certificate_superseded',
    )
    expect(late['details']).toMatchObject({ rejoin_rule: expect.stringMatching(/^again-/) as string })
  })

  it('is refused when this or another certificate of its key was revoked, also after the end', async () => {
    const rule_id = await again.newRule()
    again.clock.advance(11 * 3600)
    accepted(await again.revoke(again.last.cert_id, 'cessation_of_operation'), 200)
    refused(await again.rejoin(rule_id, { ...again.last }), 403, 'node_key_revoked')
    const sibling = await newNodeCaller(again.na.url, 'again', again.clock)
    const [one, two] = [
      await enroll(again.na, sibling, { max_validity_hours: 1 }),
      await enroll(again.na, sibling, { max_validity_hours: 5 }),
    ]
    accepted(await again.revoke(two.cert_id, 'key_compromise'), 200)
    again.clock.advance(6 * 3600)
    refused(await again.rejoin(rule_id, { ...one }, sibling), 403, 'node_key_compromised')
  })

  it('is refused with the certificate of another key, of another network, or one that was changed', async () => {
    const rule_id = await again.newRule()
    const thief = await newNodeCaller(again.na.url, 'thief', again.clock)
    const other = await startTestAuthority({
      clock: again.clock,
      network: 'OTHER-NET',
      settings: { NA_CLOCK_CHECK: 'off' },
    })
    const abroad = await newNodeCaller(other.url, 'again', again.clock)
    const foreign = await enroll(other, abroad, { max_validity_hours: 1 }, { validity_hours: 1 })
    again.clock.advance(11 * 3600)
    expectReason(await again.rejoin(rule_id, { ...again.last }, thief), 'audience_mismatch')
    expectReason(await again.rejoin(rule_id, { ...foreign }), 'issuer_mismatch')
    expectReason(
      await again.rejoin(rule_id, { ...foreign, network_name: again.last.network_name }),
      'signature_invalid',
    )
    expectReason(await again.rejoin(rule_id, { ...again.last, roles: ['role:service'] }), 'signature_invalid')
    expectReason(await again.rejoin(rule_id, { ...again.last, extra: 1 }), 'malformed')
    expectReason(await again.rejoin(rule_id, 'no certificate'), 'malformed')
    await other.stop()
  })

  it('is refused with roles that the rule does not name, and by a removed rule', async () => {
    const [narrow, gone] = [await again.newRule({ roles: ['role:service'] }), await again.newRule()]
    again.clock.advance(11 * 3600)
    expectReason(await again.rejoin(narrow, { ...again.last }), 'claims_mismatch')
    accepted(await again.na.as('privileged')('POST', `/admin/admission-rules/${gone}/remove`, {}), 200)
    expectReason(await again.rejoin(gone, { ...again.last }), 'rule_unavailable')
  })

  it('is refused when the database lacks its certificate, as after a restore', async () => {
    const rule_id = await again.newRule()
    again.clock.advance(11 * 3600)
    const db = rowsOf(again.na.core.database)
    await db.deleteFrom('node_liveness').where('cert_id', '=', again.last.cert_id).execute()
    await db.deleteFrom('issued_certs').where('cert_id', '=', again.last.cert_id).execute()
    expectReason(await again.rejoin(rule_id, { ...again.last }), 'certificate_unknown')
  })

  it('is refused when it ended before the upgrade: whether evidence admitted it is not known', async () => {
    const rule_id = await again.newRule()
    again.clock.advance(11 * 3600)
    await again.setUpgrade(writeSortable(again.clock.now()))
    expectReason(await again.rejoin(rule_id, { ...again.last }), 'certificate_unknown')
    await again.setUpgrade(writeSortable(0n))
  })

  it('is refused when evidence admitted it: its platform is asked again', async () => {
    const rule_id = await again.newRule()
    const { cert_id } = again.last
    const row = { cert_id, rule_id: 'platform', expires_at: again.last.expires_at }
    await rowsOf(again.na.core.database).insertInto('admitted_certs').values(row).execute()
    again.clock.advance(11 * 3600)
    expectReason(await again.rejoin(rule_id, { ...again.last }), 'other_rule')
    expect(refused(await again.node.post('/renew', { cert_id }), 403, 'certificate_expired')['details'] ?? {}).toEqual(
      {},
    )
  })

  it('uses a request once, a certificate five times, and a rule as often as it says', async () => {
    const [rule_id, once] = [await again.newRule(), await again.newRule({ max_joins: 1 })]
    again.clock.advance(11 * 3600)
    const proof = { nonce: randomUUID(), timestamp: writeInstant(again.clock.now()) }
    const members = { evidence: { rule_id, token: JSON.stringify(again.last) }, ...proof }
    accepted(await again.node.post('/join', members), 201)
    refused(await again.node.post('/join', members), 401, 'node_auth_failed')
    for (let use = 1; use < 5; use += 1) accepted(await again.rejoin(rule_id, { ...again.last }), 201)
    expectReason(await again.rejoin(rule_id, { ...again.last }), 'evidence_used')
    const second = await newNodeCaller(again.na.url, 'again', again.clock)
    const certificate = await enroll(again.na, second, { max_validity_hours: 1 }, { validity_hours: 1 })
    const third = await newNodeCaller(again.na.url, 'again', again.clock)
    const another = await enroll(again.na, third, { max_validity_hours: 1 }, { validity_hours: 1 })
    again.clock.advance(3601)
    accepted(await again.rejoin(once, { ...certificate }, second), 201)
    expectReason(await again.rejoin(once, { ...another }, third), 'joins_exhausted')
  })

  it('gets 429 when refused evidence comes without end', async () => {
    const few = await startTestAuthority({
      clock: again.clock,
      settings: { NA_CLOCK_CHECK: 'off', NA_RATE_LIMIT_JOIN_FAILURES_PER_MINUTE: '3' },
    })
    const own = await newNodeCaller(few.url, 'flood', again.clock)
    const answers: number[] = []
    for (let attempt = 0; attempt < 5; attempt += 1)
      answers.push((await again.rejoin('no-rule', 'no certificate', own)).status)
    expect(answers).toEqual([403, 403, 403, 429, 429])
    await few.stop()
  })
})

describe('a rule for expired certificates', () => {
  it('has a grace, no identity claims and no keys of others', async () => {
    const wrong: [JsonObject, string][] = [
      [{ grace_hours: 0 }, 'grace_hours'],
      [{ grace_hours: 721 }, 'grace_hours'],
      [{ required_claims: { sub: ['a'] } }, 'required_claims'],
      [{ issuer: 'https://issuer.invalid' }, 'issuer'],
      [{ keys: { keys: [{ kty: 'OKP' }] } }, 'keys'],
      [{ audience: 'plain' }, 'audience'],
    ]
    for (const [members, field] of wrong)
      expect(refused(await again.addRule(members), 400, 'invalid_admission_rule')['details']).toMatchObject({ field })
    const { grace_hours: _left, ...without } = again.terms()
    refused(await again.na.as('privileged')('POST', '/admin/admission-rules', without), 400, 'invalid_admission_rule')
  })

  it('does not change the form of the other kinds', async () => {
    const oidc = {
      rule_id: 'oidc',
      kind: 'oidc',
      issuer: 'https://issuer.invalid',
      jwks_url: 'https://issuer.invalid/k',
    }
    const body = { ...oidc, required_claims: { sub: ['a'] } }
    refused(
      await again.na.as('privileged')('POST', '/admin/admission-rules', { ...body, grace_hours: 1 }),
      400,
      'invalid_admission_rule',
    )
    const { rule } = accepted(await again.na.as('privileged')('POST', '/admin/admission-rules', body), 201) as {
      rule: JsonObject
    }
    expect(Object.hasOwn(rule, 'grace_hours')).toBe(false)
  })

  it('is tested without a join', async () => {
    const rule_id = await again.newRule()
    again.clock.advance(11 * 3600)
    const test = (token: string): Promise<TestResponse> =>
      again.na.as('standard')('POST', `/admin/admission-rules/${rule_id}/test`, { token })
    expect(accepted(await test(JSON.stringify(again.last)))).toMatchObject({
      admitted: true,
      evidence_subject: again.last.cert_id,
    })
    again.clock.set(instantOf(again.last.expires_at) + 72n * HOUR)
    expect(accepted(await test(JSON.stringify(again.last)))).toMatchObject({ admitted: false, reason: 'expired' })
  })
})
