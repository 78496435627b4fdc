import {
  checkWit,
  fromBase64Url,
  hours,
  readInstant,
  readJsonBytes,
  readWit,
  seconds,
  writeInstant,
} from '@chancery/protocol'
import type { JoinCertificate, JsonObject } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  enroll,
  eventsOf,
  newNodeCaller,
  refused,
  startTestAuthority,
} from '@chancery/testkit'
import type { NodeCaller, TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock()
const TRUST_DOMAIN = 'agency.example.org'
let na: TestAuthority
let off: TestAuthority
beforeAll(async () => {
  const settings = { NA_CLOCK_CHECK: 'off', NA_PUBLIC_URL: 'https://na.example.org' }
  na = await startTestAuthority({ clock, settings: { ...settings, NA_WIMSE_TRUST_DOMAIN: TRUST_DOMAIN } })
  off = await startTestAuthority({ clock, settings })
})
afterAll(async () => {
  await na.stop()
  await off.stop()
})

const newNode = (authority = na): Promise<NodeCaller> => newNodeCaller(authority.url, 'wit', clock)

function ask(node: NodeCaller, cert_id: string, members: JsonObject = {}): Promise<TestResponse> {
  const audience = na.genesis.network_authority.public_key
  return node.post('/wit', { cert_id, audience, action: 'wit', ...members })
}

async function joined(
  invite: JsonObject = { max_validity_hours: 72 },
  hoursValid = 72,
): Promise<[NodeCaller, JoinCertificate]> {
  const node = await newNode()
  return [node, await enroll(na, node, invite, { validity_hours: hoursValid })]
}

const keys = (): readonly string[] => [na.genesis.network_authority.public_key]

describe('POST /wit', () => {
  describe('201', () => {
    it('returns a token about the certificate, signed by the authority, for an hour', async () => {
      const [node, certificate] = await joined()
      const { wit, expires_at } = accepted(await ask(node, certificate.cert_id), 201) as {
        wit: string
        expires_at: string
      }
      const [head = '', payload = ''] = wit.split('.')
      const json = (text: string): unknown => readJsonBytes(fromBase64Url(text) ?? new Uint8Array())
      const now = Number(clock.now() / seconds(1))
      expect(json(head)).toEqual({ alg: 'EdDSA', kid: 'na-test', typ: 'wit+jwt' })
      expect(json(payload)).toMatchObject({
        iss: 'https://na.example.org',
        sub: `wimse://${TRUST_DOMAIN}/${certificate.cert_id}`,
        iat: now,
        exp: now + 3600,
        jti: certificate.cert_id,
        cnf: {
          jwk: { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', x: Buffer.from(node.key, 'base64').toString('base64url') },
        },
      })
      expect(expires_at).toBe(writeInstant(seconds(now + 3600)))
      const read = readWit(wit)
      expect(read?.certificate).toEqual(certificate)
      expect(read && (await checkWit(read, { trustDomain: TRUST_DOMAIN, keys: keys() }, clock.now()))).toBeUndefined()
    })

    it('ends with the certificate, and with the grace time of a renewed one', async () => {
      const [node, certificate] = await joined({ max_validity_hours: 1 }, 1)
      clock.advance(1800)
      const end = (answer: TestResponse): bigint => readInstant(String(accepted(answer, 201)['expires_at'])) ?? 0n
      expect(end(await ask(node, certificate.cert_id))).toBeLessThanOrEqual(readInstant(certificate.expires_at) ?? 0n)
      const [other, old] = await joined()
      await other.renew(old.cert_id)
      expect(end(await ask(other, old.cert_id))).toBeLessThan(clock.now() + hours(1))
    })

    it('writes an audit event without the token', async () => {
      const [node, { cert_id }] = await joined()
      const answer = await ask(node, cert_id)
      const { wit, expires_at } = accepted(answer, 201)
      const events = await eventsOf(na, answer)
      expect(events).toMatchObject([{ event_type: 'wit_issued' }])
      expect(detailsOf(events[0])).toMatchObject({ cert_id, node_public_key: node.key, expires_at })
      expect(JSON.stringify(events)).not.toContain(String(wit))
    })
  })

  describe('401', () => {
    it('refuses a replayed proof, and one for another action or authority', async () => {
      const [node, { cert_id }] = await joined()
      const nonce = 'nonce-of-a-token-request'
      accepted(await ask(node, cert_id, { nonce }), 201)
      refused(await ask(node, cert_id, { nonce }), 401, 'node_auth_failed')
      refused(await ask(node, cert_id, { action: 'renew' }), 401, 'node_auth_failed')
      refused(await ask(node, cert_id, { audience: node.key }), 401, 'node_auth_failed')
      refused(await node.post('/wit', { cert_id }), 401, 'node_auth_failed')
    })
  })

  describe('403, 404, 400', () => {
    it('refuses a revoked certificate, and says so in the audit', async () => {
      const [node, { cert_id }] = await joined()
      accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id, reason: 'unspecified' }))
      const answer = await ask(node, cert_id)
      refused(answer, 403, 'certificate_revoked')
      const [event] = await eventsOf(na, answer)
      expect(event).toMatchObject({ event_type: 'wit_rejected' })
      expect(detailsOf(event)).toMatchObject({ cert_id, reason: 'certificate_revoked' })
    })

    it('refuses the certificate of another key, an unknown one, an ended one and a request without one', async () => {
      const [node, own] = await joined({ max_validity_hours: 1 }, 1)
      const [, other] = await joined()
      refused(await ask(node, other.cert_id), 403, 'certificate_key_mismatch')
      refused(await ask(node, '00000000-0000-4000-8000-000000000000'), 403, 'certificate_not_found')
      refused(await ask(node, ''), 400, 'missing_certificate_identity')
      clock.advance(7200)
      refused(await ask(node, own.cert_id), 403, 'certificate_expired')
    })

    it('is off without a trust domain', async () => {
      const node = await newNode(off)
      refused(await node.post('/wit', { cert_id: 'x' }), 404, 'wimse_disabled')
    })
  })
})
