// oxlint-disable max-lines -- every status of one route
import { JsonFloat, type JsonObject, type Signer, seconds, signList, writeInstant } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  refused,
  startTestAuthority,
  testSigner,
  verifiesWithNodeCrypto,
} from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const UUID4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const DEFAULTS = {
  min_client_version: '0.1.0',
  allowed_ports: [443, 8443],
  allowed_services: [],
  routing: { preferred_transports: ['quic', 'wireguard'], max_hops: 6 },
}

describe('POST /admin/policy', () => {
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority()
  })
  afterAll(() => na.stop())
  const publish = (body: JsonObject, as = 'privileged'): Promise<TestResponse> =>
    na.as(as)('POST', '/admin/policy', body)
  /** Signed by a configured operator, the authority, the root, or an unknown key. */
  const signerOf = (name: string): Promise<Signer> =>
    name === 'na' || name === 'root' ? testSigner('some-id', name) : testSigner(`op-${name}`)
  const active = async (): Promise<JsonObject> => accepted(await na.request('GET', '/policy'))
  const countVersions = async (): Promise<number> =>
    (await na.core.database.read.selectFrom('policy_versions').selectAll().execute()).length

  describe('201', () => {
    it('signs, activates and audits in one transaction', async () => {
      const before = (await active())['policy_id']
      const answer = await na.as('privileged')(
        'POST',
        '/admin/policy',
        { policy_id: 'p-1' },
        { headers: { 'X-Request-ID': 'publish-1' } },
      )
      const policy = accepted(answer, 201)
      expect(await active()).toEqual(policy)
      const events = await na.auditEvents('policy_published')
      const details = events
        .map((event) => event['details'] as JsonObject)
        .filter((each) => each['policy_id'] === 'p-1')
      expect(details).toEqual([
        {
          policy_id: 'p-1',
          previous_policy_id: before,
          key_id: 'op-privileged',
          remote_addr: '127.0.0.1',
          request_id: 'publish-1',
        },
      ])
    })

    it('returns the manifest with every member, signed by the authority', async () => {
      const chosen = {
        policy_id: 'p-full',
        min_client_version: '1.2.3-rc.1+x',
        allowed_ports: [1, 65_535],
        allowed_services: ['service-1', 'service-2'],
        routing: { preferred_transports: ['quic'], max_hops: 64 },
      }
      const answer = await publish(chosen)
      const policy = accepted(answer, 201)
      expect(policy).toEqual({
        ...chosen,
        issued_at: expect.any(String),
        issued_by: 'na-test',
        signatures: [{ key_id: 'na-test', sig: expect.any(String) }],
      })
      expect(policy['issued_at']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?Z$/)
      expect(verifiesWithNodeCrypto(answer.text, na.genesis.network_authority.public_key)).toBe(true)
    })

    it('fills in every default, also the id', async () => {
      const { policy_id, ...policy } = accepted(await publish({ allowed_services: [] }), 201)
      expect(policy).toMatchObject(DEFAULTS)
      expect(String(policy_id).slice(0, 7)).toBe('policy-')
      expect(String(policy_id).slice(7)).toMatch(UUID4)
      expect(accepted(await publish({ routing: { max_hops: 3 } }), 201)['routing']).toEqual({
        ...DEFAULTS.routing,
        max_hops: 3,
      })
      expect(accepted(await publish({ routing: {} }), 201)['routing']).toEqual(DEFAULTS.routing)
    })

    it.each(['privileged', 'na', 'root'])(
      'accepts a manifest signed by %s, and signs it with its own time and name',
      async (name) => {
        const signer = await signerOf(name)
        const draft = { policy_id: `p-by-${name}`, issued_at: '2001-01-01T00:00:00Z', issued_by: 'someone' }
        const answer = await publish(await signList({ ...draft, signatures: [] }, signer))
        expect(accepted(answer, 201)).toMatchObject({ policy_id: draft.policy_id, issued_by: 'na-test' })
        expect(verifiesWithNodeCrypto(answer.text, na.genesis.network_authority.public_key)).toBe(true)
      },
    )

    it('accepts the active manifest as it was served', async () => {
      accepted(await publish({ policy_id: 'p-served' }), 201)
      expect(accepted(await publish(await active()))['policy_id']).toBe('p-served')
    })

    it('ignores the issuer in the request, and signs itself', async () => {
      const foreign = {
        policy_id: 'p-foreign',
        issued_at: '2001-01-01T00:00:00Z',
        issued_by: 'someone',
        signatures: [],
      }
      const answer = await publish(foreign)
      const policy = accepted(answer, 201)
      expect(policy['issued_by']).toBe('na-test')
      expect(policy['issued_at']).not.toBe('2001-01-01T00:00:00Z')
      expect(verifiesWithNodeCrypto(answer.text, na.genesis.network_authority.public_key)).toBe(true)
    })

    it('accepts every member at its limit', async () => {
      const edges = [
        { policy_id: 'A.z_0:-'.padEnd(128, 'x') },
        { min_client_version: '1'.repeat(32) },
        { allowed_ports: Array<number>(256).fill(443) },
        { allowed_ports: [] },
        { allowed_services: Array<string>(256).fill('s'.repeat(128)) },
        { routing: { max_hops: 1 } },
        { routing: { preferred_transports: [] } },
      ]
      for (const body of edges) accepted(await publish(body), 201)
    })

    it('serves all parallel publishers, without gaps, with one active version', async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => publish({ policy_id: `p-race-${i}` })))
      for (const answer of answers) accepted(answer, 201)
      const rows = await na.core.database.read.selectFrom('policy_versions').selectAll().orderBy('position').execute()
      expect(rows.map((row) => Number(row.position))).toEqual(rows.map((_, i) => i + 1))
      expect(rows.filter((row) => row.active === 1)).toHaveLength(1)
      expect(rows.find((row) => row.active === 1)?.policy_id).toBe((await active())['policy_id'])
    })
  })

  describe('200', () => {
    it('activates a stored version with the same content, unchanged', async () => {
      const body = { policy_id: 'p-again', allowed_ports: [8080] }
      const first = await publish(body)
      accepted(first, 201)
      accepted(await publish({ policy_id: 'p-between' }), 201)
      const versions = await countVersions()
      const again = await publish(body)
      accepted(again, 200)
      expect(again.text).toBe(first.text)
      expect((await na.request('GET', '/policy')).text).toBe(first.text)
      expect(await countVersions()).toBe(versions)
    })

    it('compares content: explicit defaults, other member order and other signers do not matter', async () => {
      accepted(await publish({ policy_id: 'p-meaning' }), 201)
      const written = {
        routing: { max_hops: 6, preferred_transports: ['quic', 'wireguard'] },
        allowed_services: [],
        policy_id: 'p-meaning',
        issued_by: 'me',
      }
      accepted(await publish(written), 200)
    })

    it('changes and audits nothing when the version is already active', async () => {
      accepted(await publish({ policy_id: 'p-active' }), 201)
      const before = (await na.auditEvents('policy_published')).length
      accepted(await publish({ policy_id: 'p-active' }), 200)
      expect(await na.auditEvents('policy_published')).toHaveLength(before)
    })
  })

  describe('400, signatures', () => {
    const draft = { policy_id: 'p-forged', issued_at: '2030-01-01T00:00:00Z', issued_by: 'na-test', signatures: [] }
    const WRONG = { field: 'signatures', reason: 'invalid_signature' }

    it('refuses a signature of an unknown key, of another operator, over another text, and one valid among invalid ones', async () => {
      const [unknownSigner, other, own] = [
        await signerOf('stranger'),
        await signerOf('standard'),
        await signerOf('privileged'),
      ]
      const good = await signList(draft, own)
      const bad = await signList(draft, unknownSigner)
      const before = await countVersions()
      const bodies: JsonObject[] = [
        bad,
        await signList(draft, other),
        { ...good, allowed_ports: [1] },
        { ...draft, signatures: [...good.signatures, ...bad.signatures] },
        { ...draft, signatures: [{ key_id: 'na-test', sig: 'y' }] },
        { ...draft, signatures: ['x'] },
        { ...draft, signatures: 'x' },
        { ...draft, signatures: Array.from({ length: 9 }, () => good.signatures[0] ?? {}) },
      ]
      for (const body of bodies) expect(refused(await publish(body), 400, 'invalid_policy')['details']).toEqual(WRONG)
      expect(await countVersions()).toBe(before)
    })

    it.each(['issued_at', 'issued_by'] as const)('refuses a signed manifest without %s', async (name) => {
      const { [name]: _left, ...rest } = draft
      const body = await signList(rest, await signerOf('privileged'))
      expect(refused(await publish(body), 400, 'invalid_policy')['details']).toEqual(WRONG)
    })
  })

  describe('400', () => {
    it('a body that says nothing of a policy, and the one in force stays', async () => {
      const before = await countVersions()
      const none = await na.as('privileged')('POST', '/admin/policy')
      for (const answer of [
        none,
        await publish({}),
        await publish({ issued_at: '2030-01-01T00:00:00Z', signatures: [] }),
      ])
        expect(refused(answer, 400, 'invalid_policy')['details']).toEqual({ reason: 'empty' })
      expect(await countVersions()).toEqual(before)
    })

    it.each<[string, JsonObject, string]>([
      ['policy_id empty', { policy_id: '' }, 'policy_id'],
      ['policy_id with a blank', { policy_id: 'a b' }, 'policy_id'],
      ['policy_id with a slash', { policy_id: 'a/b' }, 'policy_id'],
      ['policy_id of 129 characters', { policy_id: 'p'.repeat(129) }, 'policy_id'],
      ['policy_id a number', { policy_id: 1 }, 'policy_id'],
      ['policy_id null', { policy_id: null }, 'policy_id'],
      ['min_client_version empty', { min_client_version: '' }, 'min_client_version'],
      ['min_client_version with a blank', { min_client_version: '1 0' }, 'min_client_version'],
      ['min_client_version of 33 characters', { min_client_version: '1'.repeat(33) }, 'min_client_version'],
      ['min_client_version null', { min_client_version: null }, 'min_client_version'],
      ['port 0', { allowed_ports: [0] }, 'allowed_ports'],
      ['port 65536', { allowed_ports: [65_536] }, 'allowed_ports'],
      ['a negative port', { allowed_ports: [-1] }, 'allowed_ports'],
      ['a port as text', { allowed_ports: ['443'] }, 'allowed_ports'],
      ['a port as true', { allowed_ports: [true] }, 'allowed_ports'],
      ['port 443.0', { allowed_ports: [new JsonFloat(443)] }, 'allowed_ports'],
      ['257 ports', { allowed_ports: Array<number>(257).fill(443) }, 'allowed_ports'],
      ['ports that are not a list', { allowed_ports: 443 }, 'allowed_ports'],
      ['ports null', { allowed_ports: null }, 'allowed_ports'],
      ['an empty service', { allowed_services: [''] }, 'allowed_services'],
      ['a service of 129 characters', { allowed_services: ['s'.repeat(129)] }, 'allowed_services'],
      ['257 services', { allowed_services: Array<string>(257).fill('s') }, 'allowed_services'],
      ['services null', { allowed_services: null }, 'allowed_services'],
      ['max_hops 0', { routing: { max_hops: 0 } }, 'routing'],
      ['max_hops 65', { routing: { max_hops: 65 } }, 'routing'],
      ['max_hops null', { routing: { max_hops: null } }, 'routing'],
      ['an unknown member of routing', { routing: { max_hops: 1, x: 1 } }, 'routing'],
      ['transports that are not strings', { routing: { preferred_transports: [1] } }, 'routing'],
      ['routing a list', { routing: [] }, 'routing'],
      ['routing null', { routing: null }, 'routing'],
    ])('%s is invalid_policy naming the field, and nothing is stored', async (_what, body, field) => {
      const before = await countVersions()
      const { details } = refused(await publish(body), 400, 'invalid_policy') as { details: { field: string } }
      expect(details.field.startsWith(field) || details.field.includes('max_hops'), details.field).toBe(true)
      expect(await countVersions()).toBe(before)
    })

    it('an unknown member is unexpected_field, named', async () => {
      const error = refused(await publish({ allowed_port: [1], policy: {} }), 400, 'unexpected_field')
      expect(error['details']).toEqual({ fields: ['allowed_port', 'policy'] })
    })
  })

  describe('401 and 403', () => {
    it('is for privileged operators', async () => {
      refused(await na.request('POST', '/admin/policy', { body: {} }), 401, 'admin_auth_failed')
      refused(await publish({}, 'standard'), 403, 'insufficient_operator_tier')
    })
  })

  describe('409', () => {
    it('refuses other content with a stored id and keeps the stored one', async () => {
      accepted(await publish({ policy_id: 'p-2', allowed_ports: [1] }), 201)
      refused(await publish({ policy_id: 'p-2', allowed_ports: [2] }), 409, 'conflict')
      expect(await active()).toMatchObject({ policy_id: 'p-2', allowed_ports: [1] })
    })

    it('accepts one of several parallel publishers of one id with different content', async () => {
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, i) => publish({ policy_id: 'p-fork', allowed_ports: [i + 1] })),
      )
      expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409, 409, 409, 409, 409])
    })
  })

  describe('503', () => {
    it('signs nothing new after the validity period of the genesis block; the stored policy is still served', async () => {
      const clock = new ManualClock()
      const late = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
      const stored = await late.as('privileged')('POST', '/admin/policy', { policy_id: 'p-last' })
      accepted(stored, 201)
      clock.advance(90 * 86_400)
      refused(await late.as('privileged')('POST', '/admin/policy', { policy_id: 'p-late' }), 503, 'service_unavailable')
      expect((await late.request('GET', '/policy')).text).toBe(stored.text)
      await late.stop()
    })
  })

  describe('with clock changes', () => {
    it('never dates a version before its predecessor, even when the clock was set back', async () => {
      const clock = new ManualClock('2026-03-01T12:00:00Z')
      const own = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
      const first = accepted(await own.as('privileged')('POST', '/admin/policy', { policy_id: 'a' }), 201)
      expect(first['issued_at']).toBe('2026-03-01T12:00:00Z')
      clock.set(clock.now() - seconds(250))
      const second = accepted(await own.as('privileged')('POST', '/admin/policy', { policy_id: 'b' }), 201)
      expect(second['issued_at']).toBe('2026-03-01T12:00:00Z')
      clock.set('2026-03-01T13:00:00.5Z')
      const third = accepted(await own.as('privileged')('POST', '/admin/policy', { policy_id: 'c' }), 201)
      expect(third['issued_at']).toBe('2026-03-01T13:00:00.500000Z')
      expect(writeInstant(clock.now())).toBe(third['issued_at'])
      await own.stop()
    })
  })

  // Any text of 1 to 128 characters is a network name (protocol/core 1.5 and 4); the default policy is named after it.
  describe('on a network with an unusual name', () => {
    it.each(['Zoë Net', 'n'.repeat(128), 'a/b'])(
      '«%s» publishes after the default policy was made',
      async (network) => {
        const own = await startTestAuthority({ network })
        try {
          accepted(await own.request('GET', '/policy'))
          accepted(await own.as('privileged')('POST', '/admin/policy', { policy_id: 'p-next' }), 201)
          expect(accepted(await own.request('GET', '/policy'))['policy_id']).toBe('p-next')
        } finally {
          await own.stop()
        }
      },
    )
  })

  it('never uses a key of another authority as its own', async () => {
    const other = await testSigner('na-test', 'other-na')
    const answer = await publish({ policy_id: 'p-own' })
    expect(verifiesWithNodeCrypto(answer.text, other.publicKey)).toBe(false)
  })
})
