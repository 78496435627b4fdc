import { type JsonObject, readJson } from '@chancery/protocol'
import {
  accepted,
  foreignAttestation,
  foreignFeed,
  foreignSovereign,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

/** A change made on one instance applies on every instance from the next request on (reliability 1.5 and 13). */
describe.runIf(process.env['CHANCERY_TEST_DATABASE'] === 'postgres')('two instances on one database', () => {
  const settings = { NA_HA_MODE: 'on' }
  const partner = foreignSovereign('PARTNER-NET')
  let a: TestAuthority
  let b: TestAuthority
  beforeEach(async () => {
    a = await startTestAuthority({ settings })
    b = await startTestAuthority({ settings, database: a.database })
    // Both have cached the graph.
    for (const na of [a, b]) accepted(await na.request('GET', '/recognition-graph'))
  })
  afterEach(async () => {
    await b.stop()
    await a.stop()
  })
  const post = async (na: TestAuthority, path: string, body: JsonObject, status = 200): Promise<JsonObject> =>
    accepted(await na.as('privileged')('POST', path, body), status)
  const issue = (na: TestAuthority): Promise<JsonObject> =>
    post(
      na,
      '/admin/recognition-treaties',
      {
        subject_sovereign_id: 'PARTNER-NET',
        subject_public_keys: [partner.publicKey],
        scope: { allowed_roles: ['role:client'] },
      },
      201,
    )

  it('a treaty issued or revoked on one is in every view of the other at its next request', async () => {
    for (let round = 0; round < 3; round += 1) {
      const [here, there] = round % 2 === 0 ? [a, b] : [b, a]
      const treaty = await issue(here)
      const path = '/connectome/trust-path?from=TEST-NET&to=PARTNER-NET'
      expect(accepted(await there.request('GET', path))['trusted']).toBe(true)
      expect((await there.request('GET', '/recognition-graph')).text).toBe(
        (await here.request('GET', '/recognition-graph')).text,
      )
      expect(
        accepted(await there.request('POST', '/recognition-treaties/verify', { body: { treaty } }))['reason'],
      ).toBe('accepted')
      await post(there, `/admin/recognition-treaties/${String(treaty['treaty_id'])}/revoke`, {})
      expect(accepted(await here.request('GET', path))).toMatchObject({
        trusted: false,
        reason: 'direct_treaty_revoked',
      })
      expect(accepted(await here.request('POST', '/recognition-treaties/verify', { body: { treaty } }))['reason']).toBe(
        'locally_revoked',
      )
      expect((await there.request('GET', '/atlas.json')).text).toBe((await here.request('GET', '/atlas.json')).text)
    }
  })

  it('a feed imported on one revokes on the other, and its sequence is used on both', async () => {
    await issue(a)
    const feed = readJson(wireText(foreignFeed(partner, 1, ['gone']))) as JsonObject
    await post(a, '/admin/sovereign-revocation-feeds/import', { feed })
    expect(
      (accepted(await b.request('GET', '/connectome.json'))['summary'] as JsonObject)['imported_revocation_count'],
    ).toBe(1)
    expect((await b.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', { feed })).status).toBe(409)
  })

  it('an attestation revoked on one is in the feed that the other serves', async () => {
    const { attestation_id } = await post(a, '/admin/attestations', { subject_id: 'x', roles: ['role:client'] }, 201)
    for (const na of [a, b]) expect(accepted(await na.request('GET', '/sovereign-revocation-feed'))['sequence']).toBe(0)
    await post(a, `/admin/attestations/${String(attestation_id)}/revoke`, {})
    expect(accepted(await b.request('GET', '/sovereign-revocation-feed'))).toMatchObject({
      sequence: 1,
      revoked_attestation_ids: [attestation_id],
    })
    expect((await b.request('GET', '/sovereign-revocation-feed')).text).toBe(
      (await a.request('GET', '/sovereign-revocation-feed')).text,
    )
  })

  it('parallel imports on both accept each sequence once', async () => {
    await issue(a)
    const feeds = Array.from(
      { length: 6 },
      (_, i) => readJson(wireText(foreignFeed(partner, 1 + (i % 2), [`a-${i}`]))) as JsonObject,
    )
    const answers = await Promise.all(
      feeds.map((feed, i) =>
        (i % 2 === 0 ? a : b).as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', { feed }),
      ),
    )
    const served = answers.filter((answer) => answer.status === 200).length
    expect(served).toBeGreaterThanOrEqual(1)
    expect(served).toBeLessThanOrEqual(2)
    for (const answer of answers) expect([200, 409]).toContain(answer.status)
  })

  it('a recognition policy published on one applies on the other from the next request', async () => {
    const attestation = readJson(wireText(foreignAttestation(partner, a.core.clock.now())))
    const reason = async (na: TestAuthority): Promise<unknown> =>
      accepted(await na.request('POST', '/attestations/verify', { body: { attestation } }))['reason']
    const publish = (na: TestAuthority, allowed_roles: string[]): Promise<JsonObject> => {
      const entry = { sovereign_id: 'PARTNER-NET', public_keys: [partner.publicKey], allowed_roles }
      const recognition_policy = { local_sovereign_id: 'TEST-NET', recognized_issuers: [entry] }
      return post(na, '/admin/recognition-policy', { recognition_policy })
    }
    for (let round = 0; round < 3; round += 1) {
      await publish(round % 2 === 0 ? a : b, ['role:client'])
      expect([await reason(a), await reason(b)]).toEqual(['accepted', 'accepted'])
      await publish(round % 2 === 0 ? b : a, [])
      expect([await reason(a), await reason(b)]).toEqual(['role_not_allowed', 'role_not_allowed'])
    }
    expect((await b.request('GET', '/recognition-policy')).text).toBe(
      (await a.request('GET', '/recognition-policy')).text,
    )
  })
})
