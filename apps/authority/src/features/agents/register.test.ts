// oxlint-disable max-lines -- every status of one route, with a table of wrong descriptors
import {
  DAY,
  SECOND,
  canonicalJson,
  draftAgentDescriptor,
  seconds,
  signAgentDelete,
  signList,
  writeInstant,
} from '@chancery/protocol'
import type { Instant, JsonObject, JsonValue, Signer } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  seedCertificates,
  refused,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

let counter = 0

/** A node key whose label is the key itself. */
async function newKey(): Promise<Signer> {
  const name = `register-${(counter += 1)}`
  return testSigner((await testSigner('node', name)).publicKey, name)
}

async function newNode(): Promise<Signer> {
  const signer = await newKey()
  await seedCertificates(na.parts, { count: 1, node_public_key: signer.publicKey })
  return signer
}

interface Facts {
  readonly agent_id?: string
  readonly network_name?: string
  readonly capabilities?: readonly string[]
  readonly metadata?: JsonObject
  readonly at?: Instant
  readonly lifetime?: Instant
}

async function describeAgent(signer: Signer, facts: Facts = {}): Promise<Record<string, JsonValue>> {
  const { at = clock.now(), lifetime = seconds(600), ...rest } = facts
  const draft = draftAgentDescriptor({
    agent_id: 'llm-1',
    node_public_key: signer.publicKey,
    network_name: 'TEST-NET',
    capabilities: ['llm:chat', 'kb:security'],
    endpoint: { host: '198.51.100.7', port: 7448, scheme: 'wss' },
    registered_at: writeInstant(at),
    expires_at: writeInstant(at + lifetime),
    ...rest,
  })
  return { ...(await signList(draft, signer)) }
}

const post = (body: JsonObject): Promise<TestResponse> => na.request('POST', '/agents', { body })
const register = async (signer: Signer, facts: Facts = {}): Promise<TestResponse> =>
  post(await describeAgent(signer, facts))
const path = (signer: Signer): string => `/agents/${encodeURIComponent(signer.publicKey)}`

async function revoke(signer: Signer, reason: string): Promise<void> {
  const { cert_id } = await na.core.database.read
    .selectFrom('issued_certs')
    .select('cert_id')
    .where('node_public_key', '=', signer.publicKey)
    .executeTakeFirstOrThrow()
  accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id, reason, all_of_key: false }))
}

describe('POST /agents', () => {
  describe('200', () => {
    it('registers and serves the descriptor as it was received', async () => {
      const signer = await newNode()
      const { scheme: _, ...endpoint } = { host: '198.51.100.7', port: 7448, scheme: 'ws' }
      const draft = draftAgentDescriptor({
        agent_id: 'a "quoted" é',
        node_public_key: signer.publicKey,
        network_name: 'TEST-NET',
        capabilities: ['z', 'a', 'z'],
        endpoint,
        registered_at: writeInstant(clock.now()),
        expires_at: writeInstant(clock.now() + seconds(600)),
      })
      const signed: Record<string, JsonValue> = { ...(await signList(draft, signer)) }
      // A member that is absent because of its default stays absent in the response.
      delete signed['metadata']
      const answer = await post({ ...signed, endpoint })
      expect(accepted(answer)).toEqual({ status: 'registered', expires_at: signed['expires_at'] })
      expect(accepted(await na.request('GET', path(signer)))).toEqual({ ...signed, endpoint })
    })

    it('audits the first registration and not a refresh', async () => {
      const signer = await newNode()
      const first = await register(signer)
      const [event, ...more] = await eventsOf(na, first)
      expect(more).toEqual([])
      expect(event).toMatchObject({ event_type: 'agent_registered' })
      expect(detailsOf(event)).toEqual({
        agent_id: 'llm-1',
        node_public_key: signer.publicKey,
        remote_addr: '127.0.0.1',
        request_id: first.headers['x-request-id'],
      })
      clock.advance(300)
      for (const facts of [{}, { agent_id: 'other' }, { capabilities: ['another'] }]) {
        const refresh = await register(signer, facts)
        accepted(refresh)
        expect(await eventsOf(na, refresh)).toEqual([])
      }
    })

    it('replaces name, endpoint and tags of the key: one registration per key', async () => {
      const [signer, tag] = [await newNode(), `t-${counter}`]
      accepted(await register(signer, { capabilities: [`${tag}-a`, `${tag}-b`] }))
      clock.advance(1)
      accepted(await register(signer, { agent_id: 'renamed', capabilities: [`${tag}-b`, `${tag}-c`] }))
      const counts = await Promise.all(
        ['a', 'b', 'c'].map(async (each) => {
          const found = accepted(await na.request('GET', `/agents?capability=${tag}-${each}`))
          return found['count']
        }),
      )
      expect(counts).toEqual([0, 1, 1])
      expect(accepted(await na.request('GET', path(signer)))).toMatchObject({ agent_id: 'renamed' })
    })

    it.each([
      ['none', []],
      ['64', Array.from({ length: 64 }, (_, index) => `tag-${index}`)],
      ['of 128 characters', ['x'.repeat(128), '😀'.repeat(128)]],
      ['that resemble patterns', ['%', '_', '*', "'", '\\']],
    ])('accepts capabilities: %s', async (_, capabilities) => {
      const signer = await newNode()
      accepted(await register(signer, { capabilities }))
      for (const tag of capabilities.slice(0, 5)) {
        const found = accepted(await na.request('GET', `/agents?capability=${encodeURIComponent(tag)}`))
        expect(found['count'], tag).toBe(1)
      }
    })

    it('ignores further signatures if one signature of the node key verifies', async () => {
      const [signer, other] = [await newNode(), await newKey()]
      const descriptor = await describeAgent(signer)
      const wrong = { key_id: other.publicKey, sig: Buffer.alloc(64, 1).toString('base64') }
      accepted(await post({ ...descriptor, signatures: [wrong, ...(descriptor['signatures'] as JsonObject[])] }))
    })

    it('accepts a key whose earlier certificate was superseded', async () => {
      const signer = await newNode()
      await seedCertificates(na.parts, { count: 1, node_public_key: signer.publicKey })
      await revoke(signer, 'superseded')
      accepted(await register(signer))
    })
  })

  describe('limits of time', () => {
    it.each([
      ['300 s ahead', seconds(300), seconds(600), true],
      ['300.000001 s ahead', seconds(300) + 1n, seconds(600), false],
      ['in its last moment', -seconds(600), seconds(600), true],
      ['a moment after its end', -seconds(600) - 1n, seconds(600), false],
      ['a day long', 0n, DAY, true],
    ])('%s', async (_, offset, lifetime, isGood) => {
      const answer = await register(await newNode(), { at: clock.now() + offset, lifetime })
      if (isGood) accepted(answer)
      else refused(answer, 400, 'descriptor_expired')
    })

    it('accepts the descriptor in its last moment and returns it in no response', async () => {
      const signer = await newNode()
      accepted(await register(signer, { at: clock.now() - SECOND, lifetime: SECOND, capabilities: ['last-moment'] }))
      refused(await na.request('GET', path(signer)), 404, 'agent_not_registered')
      expect(accepted(await na.request('GET', '/agents?capability=last-moment'))['count']).toBe(0)
    })

    it('refuses an older descriptor than the stored one, and accepts one of the same time', async () => {
      const signer = await newNode()
      const old = await describeAgent(signer, { agent_id: 'old' })
      accepted(await post(old))
      clock.advance(10)
      const fresh = await describeAgent(signer, { agent_id: 'fresh' })
      accepted(await post(fresh))
      refused(await post(old), 400, 'descriptor_expired')
      accepted(await post(fresh))
      expect(accepted(await na.request('GET', path(signer)))).toMatchObject({ agent_id: 'fresh' })
    })

    it('refuses a descriptor signed before a delete, and accepts one signed after it', async () => {
      const signer = await newNode()
      const old = await describeAgent(signer)
      accepted(await post(old))
      clock.advance(5)
      const atDelete = await describeAgent(signer)
      const body = await signAgentDelete(writeInstant(clock.now()), signer)
      accepted(await na.request('DELETE', path(signer), { body }))
      refused(await post(old), 400, 'descriptor_expired')
      refused(await post(atDelete), 400, 'descriptor_expired')
      const later = await register(signer, { at: clock.now() + 1n })
      accepted(later)
      // This is a second first registration, because the first one was removed.
      expect((await eventsOf(na, later)).map((event) => event['event_type'])).toEqual(['agent_registered'])
    })
  })

  describe('400 invalid_agent_descriptor', () => {
    it.each<[string, (body: Record<string, JsonValue>) => void, string]>([
      ['no agent_id', (body) => delete body['agent_id'], 'agent_id'],
      ['a long agent_id', (body) => void (body['agent_id'] = 'x'.repeat(129)), 'agent_id'],
      ['an invalid key', (body) => void (body['node_public_key'] = 'AAAA'), 'node_public_key'],
      [
        '65 tags',
        (body) => void (body['capabilities'] = Array.from({ length: 65 }, (_, i) => `t${i}`)),
        'capabilities',
      ],
      ['an empty tag', (body) => void (body['capabilities'] = ['']), 'capabilities'],
      ['a long tag', (body) => void (body['capabilities'] = ['x'.repeat(129)]), 'capabilities'],
      ['a comma in a tag', (body) => void (body['capabilities'] = ['a,b']), 'capabilities'],
      ['white space in a tag', (body) => void (body['capabilities'] = ['a\u2003b']), 'capabilities'],
      ['a control character in a tag', (body) => void (body['capabilities'] = ['a\u0085b']), 'capabilities'],
      ['no endpoint', (body) => delete body['endpoint'], 'endpoint'],
      ['port 0', (body) => void (body['endpoint'] = { host: 'h', port: 0, scheme: 'ws' }), 'endpoint'],
      ['a scheme in capitals', (body) => void (body['endpoint'] = { host: 'h', port: 1, scheme: 'WS' }), 'endpoint'],
      [
        'an unknown member of the endpoint',
        (body) => void (body['endpoint'] = { host: 'h', port: 1, path: '/' }),
        'endpoint',
      ],
      ['large metadata', (body) => void (body['metadata'] = { a: 'x'.repeat(4089) }), 'metadata'],
      ['an unknown member', (body) => void (body['more'] = 1), 'more'],
      ['an invalid time', (body) => void (body['registered_at'] = 'now'), 'registered_at'],
      ['an end before the start', (body) => void (body['expires_at'] = body['registered_at'] ?? ''), ''],
      [
        'a lifetime that is too long',
        (body) => void (body['expires_at'] = writeInstant(clock.now() + DAY + 1n)),
        'expires_at',
      ],
    ])('%s', async (_, damage, field) => {
      const body = await describeAgent(await newNode())
      damage(body)
      // Check 3 comes before check 4.
      for (const signatures of [body['signatures'] ?? [], []]) {
        const error = refused(await post({ ...body, signatures }), 400, 'invalid_agent_descriptor')
        expect((error['details'] as JsonObject)['field']).toContain(field)
      }
    })

    it('limits the whole descriptor to 16,384 canonical bytes', async () => {
      const signer = await newNode()
      const sized = async (size: number): Promise<JsonObject> => {
        // Each é is six canonical characters.
        const tags = Array.from({ length: 64 }, (_, index) => `${index}-${'x'.repeat(100)}`)
        const facts = (pad: number, rest: number): Facts => ({
          capabilities: [...tags.slice(0, 53), ...tags.slice(53).map((tag) => tag.replaceAll('x', 'é'))],
          metadata: { pad: 'x'.repeat(pad) },
          agent_id: 'x'.repeat(rest),
        })
        const left = size - canonicalJson(await describeAgent(signer, facts(0, 1))).length
        expect(left).toBeLessThan(4196)
        return describeAgent(signer, facts(Math.min(left, 4080), 1 + Math.max(0, left - 4080)))
      }
      const most = await sized(16_384)
      expect(canonicalJson(most)).toHaveLength(16_384)
      accepted(await post(most))
      refused(await post(await sized(16_385)), 400, 'invalid_agent_descriptor')
    })
  })

  it.each([
    ['{"agent_id":', 'invalid_json'],
    ['', 'invalid_json'],
    ['[]', 'invalid_json_object'],
    ['null', 'invalid_json_object'],
  ])('the body %j: 400 %s', async (rawBody, code) => {
    refused(await na.request('POST', '/agents', { rawBody }), 400, code)
  })
})

/** Checks 3 to 10 of protocol/core 13.2 in their order, each as a defect. When two fail, the earlier one decides. */
interface Draft {
  readonly signer: Signer
  facts: Facts
  edit: (body: Record<string, JsonValue>) => void
}

interface Defect {
  readonly name: string
  readonly status: number
  readonly code: string
  /** Defects of the same part cannot be combined. */
  readonly part: string
  apply(draft: Draft): Promise<void> | void
}

const DEFECTS: readonly Defect[] = [
  {
    name: 'a schema violation',
    status: 400,
    code: 'invalid_agent_descriptor',
    part: 'schema',
    apply: (draft) => {
      const { edit } = draft
      draft.edit = (body) => {
        edit(body)
        body['unknown'] = true
      }
    },
  },
  {
    name: 'no signatures',
    status: 401,
    code: 'descriptor_signature_required',
    part: 'signature',
    apply: (draft) => {
      const { edit } = draft
      draft.edit = (body) => {
        edit(body)
        body['signatures'] = []
      }
    },
  },
  {
    name: 'a signature over other bytes',
    status: 401,
    code: 'invalid_signature',
    part: 'signature',
    apply: (draft) => {
      const { edit } = draft
      draft.edit = (body) => {
        edit(body)
        body['agent_id'] = 'somebody-else'
      }
    },
  },
  {
    name: 'another network',
    status: 400,
    code: 'descriptor_network_mismatch',
    part: 'network',
    apply: (draft) => void (draft.facts = { ...draft.facts, network_name: 'OTHER-NET' }),
  },
  {
    name: 'expired',
    status: 400,
    code: 'descriptor_expired',
    part: 'time',
    apply: (draft) => void (draft.facts = { ...draft.facts, at: clock.now() - seconds(601) }),
  },
  {
    name: 'no valid certificate',
    status: 403,
    code: 'node_has_no_active_certificate',
    part: 'certificate',
    apply: async ({ signer }) => {
      await rowsOf(na.core.database)
        .updateTable('issued_certs')
        .set({ expires_at: '2020-01-01T00:00:00.000000Z' })
        .where('node_public_key', '=', signer.publicKey)
        .execute()
    },
  },
  {
    name: 'a revoked key',
    status: 403,
    code: 'node_key_revoked',
    part: 'key',
    apply: ({ signer }) => revoke(signer, 'cessation_of_operation'),
  },
  {
    name: 'older than the stored descriptor',
    status: 400,
    code: 'descriptor_expired',
    part: 'time',
    apply: async (draft) => {
      accepted(await register(draft.signer, { at: clock.now() }))
      draft.facts = { ...draft.facts, at: clock.now() - SECOND }
    },
  },
]

async function sendWith(defects: readonly Defect[]): Promise<TestResponse> {
  const signer = await newNode()
  // A second certificate: a key with a revoked certificate may still have a valid one.
  await seedCertificates(na.parts, { count: 1, node_public_key: signer.publicKey })
  const draft: Draft = { signer, facts: {}, edit: () => undefined }
  // The last check first, so that preparing a later defect does not depend on an earlier one.
  for (const defect of defects.toReversed()) await defect.apply(draft)
  const body = await describeAgent(signer, draft.facts)
  draft.edit(body)
  return post(body)
}

describe('POST /agents, order of checks', () => {
  it.each(DEFECTS)('$name: $status $code', async (defect) => {
    const error = refused(await sendWith([defect]), defect.status, defect.code)
    if (defect.part === 'network') expect(error['details']).toEqual({ expected: 'TEST-NET' })
  })

  const pairs = DEFECTS.flatMap((first, index) =>
    DEFECTS.slice(index + 1)
      .filter((second) => second.part !== first.part)
      .map((second) => ({ first, second })),
  )
  it.each(pairs)('$first.name before $second.name', async ({ first, second }) => {
    refused(await sendWith([first, second]), first.status, first.code)
  })

  it('refuses a compromised key even if the list is empty', async () => {
    const signer = await newNode()
    await revoke(signer, 'key_compromise')
    await seedCertificates(na.parts, { count: 1, node_public_key: signer.publicKey })
    await rowsOf(na.core.database).deleteFrom('crl_entries').execute()
    refused(await register(signer), 403, 'node_key_revoked')
  })

  it('a refused descriptor changes nothing', async () => {
    const signer = await newKey()
    const answer = await register(signer, { capabilities: [`refused-${counter}`] })
    refused(answer, 403, 'node_has_no_active_certificate')
    expect(await eventsOf(na, answer)).toEqual([])
    const db = na.core.database.read
    const key = signer.publicKey
    for (const table of ['agent_registrations', 'agent_capabilities'] as const)
      expect(await db.selectFrom(table).selectAll().where('node_public_key', '=', key).execute()).toEqual([])
  })
})

describe('POST and DELETE /agents, 429', () => {
  it('counts both together, before it reads a body', async () => {
    const limited = await startTestAuthority({ settings: { NA_RATE_LIMIT_DISCOVER_PER_MINUTE: '3' } })
    try {
      const target = path(await newKey())
      refused(await limited.request('POST', '/agents', { rawBody: '{' }), 400, 'invalid_json')
      refused(await limited.request('DELETE', target, { body: {} }), 401, 'delete_signature_required')
      refused(await limited.request('POST', '/agents', { body: {} }), 400, 'invalid_agent_descriptor')
      for (const [method, where] of [
        ['POST', '/agents'],
        ['DELETE', target],
      ] as const) {
        const answer = await limited.request(method, where, { rawBody: '{' })
        refused(answer, 429, 'rate_limit_exceeded')
        expect(answer.headers['retry-after']).toBe('60')
      }
      accepted(await limited.request('GET', '/agents'))
      refused(await limited.request('POST', '/agents', { rawBody: '{', from: '127.7.0.9' }), 400, 'invalid_json')
    } finally {
      await limited.stop()
    }
  })
})
