// oxlint-disable max-lines -- one table of wrong certificates for four routes
import { JsonFloat, seconds, writeSortable } from '@chancery/protocol'
import type { JoinCertificate, JsonObject, JsonValue, Signer } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  enroll,
  eventsOf,
  newNodeCaller,
  refused,
  seedCertificates,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { NodeCaller, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

type Route = '/heartbeat' | '/renew'
const ROUTES: readonly Route[] = ['/heartbeat', '/renew']

/** A call that succeeds unless a defect changes the call or the certificate. */
interface Draft {
  readonly route: Route
  readonly node: NodeCaller
  readonly certificate: JoinCertificate
  members: Record<string, JsonValue>
  signer: Signer | undefined
}

interface Defect {
  readonly name: string
  readonly status: number
  readonly code: string
  /** The event that it causes, if any. */
  readonly event?: 'node_auth_failed' | 'rejected'
  readonly reason?: string
  /** Two defects of the same part cannot be combined. */
  readonly part: string
  readonly only?: Route
  apply(draft: Draft): Promise<void> | void
}

const newNode = (): Promise<NodeCaller> => newNodeCaller(na.url, 'checks', clock)

const change = async (draft: Draft, columns: object): Promise<void> => {
  const db = rowsOf(na.core.database)
  await db.updateTable('issued_certs').set(columns).where('cert_id', '=', draft.certificate.cert_id).execute()
}

/** The checks of protocol/core 7 in the order of its table, each as the defect it finds. */
const DEFECTS: readonly Defect[] = [
  {
    name: 'a member of a sister route',
    status: 400,
    code: 'unexpected_field',
    part: 'sister',
    apply: ({ members }) => {
      members['invite_token'] = 'x'
    },
  },
  {
    name: 'no certificate id',
    status: 400,
    code: 'missing_certificate_identity',
    part: 'identity',
    apply: ({ members }) => {
      members['cert_id'] = ''
    },
  },
  {
    name: 'an empty status',
    status: 400,
    code: 'invalid_input',
    part: 'own member',
    only: '/heartbeat',
    apply: ({ members }) => {
      members['status'] = ''
    },
  },
  {
    name: 'an invalid validity',
    status: 400,
    code: 'invalid_validity_hours',
    part: 'own member',
    only: '/renew',
    apply: ({ members }) => {
      members['validity_hours'] = 0
    },
  },
  {
    name: 'a bad proof',
    status: 401,
    code: 'node_auth_failed',
    event: 'node_auth_failed',
    reason: 'invalid_signature',
    part: 'proof',
    apply: async (draft) => {
      draft.signer = await testSigner('node', 'an unknown key')
    },
  },
  {
    name: 'an unknown certificate',
    status: 403,
    code: 'certificate_not_found',
    part: 'identity',
    apply: ({ members }) => {
      members['cert_id'] = '00000000-0000-4000-8000-000000000000'
    },
  },
  {
    name: "another key's certificate",
    status: 403,
    code: 'certificate_key_mismatch',
    part: 'owner',
    apply: async (draft) => {
      await change(draft, { node_public_key: (await newNode()).key })
    },
  },
  {
    name: 'a revoked certificate',
    status: 403,
    code: 'certificate_revoked',
    event: 'rejected',
    part: 'status',
    apply: (draft) => change(draft, { status: 'revoked', revocation_reason: 'unspecified' }),
  },
  {
    name: 'a compromised key',
    status: 403,
    code: 'node_key_compromised',
    event: 'rejected',
    part: 'compromise',
    apply: async ({ node }) => {
      // Another certificate of the key, because revoking it over HTTP would revoke this one, too.
      const [other] = await seedCertificates(na.parts, { count: 1, node_public_key: node.key })
      const gone = { status: 'revoked', revocation_reason: 'key_compromise' }
      const db = rowsOf(na.core.database)
      await db
        .updateTable('issued_certs')
        .set(gone)
        .where('cert_id', '=', other?.cert_id ?? '')
        .execute()
    },
  },
  {
    name: 'a superseded certificate',
    status: 403,
    code: 'certificate_superseded',
    event: 'rejected',
    part: 'superseded',
    apply: (draft) => change(draft, { revoke_after: writeSortable(clock.now()) }),
  },
  {
    name: 'a certificate of tomorrow',
    status: 403,
    code: 'certificate_not_yet_valid',
    event: 'rejected',
    part: 'start',
    apply: (draft) => change(draft, { issued_at: writeSortable(clock.now() + 1n) }),
  },
  {
    name: 'an expired certificate',
    status: 403,
    code: 'certificate_expired',
    event: 'rejected',
    part: 'end',
    apply: (draft) => change(draft, { expires_at: writeSortable(clock.now()) }),
  },
  {
    name: 'other roles',
    status: 403,
    code: 'renewal_role_change_forbidden',
    event: 'rejected',
    part: 'roles',
    only: '/renew',
    apply: ({ members }) => {
      members['roles'] = ['role:operator']
    },
  },
  {
    name: 'a spent nonce',
    status: 401,
    code: 'node_auth_failed',
    event: 'node_auth_failed',
    reason: 'nonce_replay',
    part: 'nonce',
    apply: async ({ node, certificate, members }) => {
      accepted(await node.heartbeat(certificate.cert_id, { nonce: 'spent' }))
      members['nonce'] = 'spent'
    },
  },
]

async function attempt(route: Route, defects: readonly Defect[]): Promise<{ answer: TestResponse; draft: Draft }> {
  const node = await newNode()
  const certificate = await enroll(na, node)
  const draft: Draft = { route, node, certificate, members: {}, signer: undefined }
  // The last check first, so that the nonce is spent while the certificate still works.
  for (const defect of defects.toReversed()) await defect.apply(draft)
  const options = draft.signer === undefined ? {} : { signer: draft.signer }
  const answer = await node.post(route, { cert_id: certificate.cert_id, ...draft.members }, options)
  return { answer, draft }
}

async function expectEvent(route: Route, { answer, draft }: Awaited<ReturnType<typeof attempt>>, defect: Defect) {
  const events = await eventsOf(na, answer)
  if (defect.event === undefined) return expect(events).toEqual([])
  const rejection = route === '/heartbeat' ? 'heartbeat_rejected' : 'renewal_rejected'
  const type = defect.event === 'rejected' ? rejection : defect.event
  expect(events.map((event) => event['event_type'])).toEqual([type])
  const own =
    defect.event === 'rejected'
      ? { cert_id: draft.certificate.cert_id, reason: defect.code }
      : { scope: route.slice(1), reason: defect.reason, ...(defect.part === 'nonce' ? { nonce: 'spent' } : {}) }
  return expect(detailsOf(events[0])).toEqual({
    ...own,
    remote_addr: '127.0.0.1',
    request_id: answer.headers['x-request-id'],
  })
}

describe.each(ROUTES)('POST %s', (route) => {
  const defects = DEFECTS.filter((defect) => defect.only === undefined || defect.only === route)
  const rows = defects.map((defect): [string, number, string, Defect] => [
    defect.name,
    defect.status,
    defect.code,
    defect,
  ])
  const pairs = defects.flatMap((first, index) =>
    defects
      .slice(index + 1)
      .filter((second) => second.part !== first.part)
      .map((second): [string, string, Defect, Defect] => [first.name, second.name, first, second]),
  )

  it.each(rows)('refuses %s with %d %s and audits it as the table says', async (_, status, code, defect) => {
    const attempted = await attempt(route, [defect])
    refused(attempted.answer, status, code)
    await expectEvent(route, attempted, defect)
  })

  it.each(pairs)('reports %s before %s', async (_first, _second, first, second) => {
    const attempted = await attempt(route, [first, second])
    refused(attempted.answer, first.status, first.code)
    await expectEvent(route, attempted, first)
  })

  it('changes nothing when it refuses', async () => {
    const db = na.core.database.read
    const readAll = async (): Promise<unknown> => [
      await db.selectFrom('issued_certs').select(['cert_id', 'revoke_after', 'status']).orderBy('cert_id').execute(),
      await db.selectFrom('node_liveness').selectAll().orderBy('cert_id').execute(),
    ]
    const node = await newNode()
    const { cert_id } = await enroll(na, node)
    const before = await readAll()
    clock.set(clock.now() - 1n)
    refused(await node.post(route, { cert_id }), 403, 'certificate_not_yet_valid')
    clock.set(clock.now() + 1n)
    expect(await readAll()).toEqual(before)
  })

  it('spends no nonce when it refuses: the same signed call succeeds after the certificate is valid', async () => {
    const node = await newNode()
    const { cert_id } = await enroll(na, node)
    clock.set(clock.now() - 1n)
    const body = await node.prove({ cert_id })
    refused(await na.request('POST', route, { body }), 403, 'certificate_not_yet_valid')
    clock.set(clock.now() + 1n)
    accepted(await na.request('POST', route, { body }), route === '/renew' ? 201 : 200)
    refused(await na.request('POST', route, { body }), 401, 'node_auth_failed')
  })

  it('ends at the instant of expiry and not before', async () => {
    const node = await newNode()
    const { cert_id } = await enroll(na, node, { max_validity_hours: 1 })
    clock.set(clock.now() + seconds(3600) - 1n)
    accepted(await node.heartbeat(cert_id))
    clock.set(clock.now() + 1n)
    refused(await node.post(route, { cert_id }), 403, 'certificate_expired')
  })

  it('refuses a certificate that was revoked with its compromised key, as revoked', async () => {
    const node = await newNode()
    const [first, second] = [await enroll(na, node), await enroll(na, node)]
    const request = { cert_id: first.cert_id, reason: 'key_compromise' }
    accepted(await na.as('privileged')('POST', '/admin/revoke', request))
    refused(await node.post(route, { cert_id: second.cert_id }), 403, 'certificate_revoked')
  })

  it('refuses an expired certificate of a compromised key as compromised', async () => {
    const node = await newNode()
    const old = await enroll(na, node, { max_validity_hours: 1 })
    clock.advance(3600)
    const { cert_id } = await enroll(na, node)
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id, reason: 'key_compromise' }))
    refused(await node.post(route, { cert_id: old.cert_id }), 403, 'node_key_compromised')
  })

  it.each(['nul\u0000', 'line\nbreak', 'a'.repeat(129), 'a'.repeat(60_000), '\u{10ffff}'])(
    'answers the unknown certificate %j as any unknown one, without an event',
    async (strange) => {
      const [node, unknownSigner] = [await newNode(), await newNode()]
      const { cert_id } = await enroll(na, node)
      const [odd, ...others] = await Promise.all([
        unknownSigner.post(route, { cert_id: strange }),
        ...Array.from({ length: 10 }, () => node.heartbeat(cert_id)),
      ])
      refused(odd, 403, 'certificate_not_found')
      for (const answer of others) accepted(answer)
    },
  )

  describe('400', () => {
    it.each<[string, JsonObject]>([
      ['a certificate id that is not a string', { cert_id: 7 }],
      ['a certificate id that is null', { cert_id: null }],
      ['an empty key', { node_public_key: '' }],
      ['a key that is not a string', { node_public_key: 7 }],
    ])('refuses %s', async (_, members) => {
      const node = await newNode()
      const { cert_id } = await enroll(na, node)
      refused(await node.post(route, { cert_id, ...members }), 400, 'missing_certificate_identity')
    })

    it('refuses an empty body, and one that is not an object', async () => {
      refused(await na.request('POST', route), 400, 'missing_certificate_identity')
      refused(await na.request('POST', route, { rawBody: '7' }), 400, 'invalid_json_object')
      refused(await na.request('POST', route, { rawBody: '{"a":1,"a":1}' }), 400, 'invalid_json')
    })

    const sisters = route === '/heartbeat' ? ['invite_token', 'validity_hours', 'roles'] : ['invite_token', 'status']
    it.each(sisters)('refuses the member %s of a sister route by name', async (name) => {
      const node = await newNode()
      const { cert_id } = await enroll(na, node)
      const error = refused(await node.post(route, { cert_id, [name]: null }), 400, 'unexpected_field')
      expect(error['details']).toEqual({ fields: [name] })
    })

    const wrong: JsonValue[] =
      route === '/heartbeat'
        ? ['', 'a'.repeat(65), 'line\nbreak', 'del\u007f', 7, null, []]
        : [0, -1, '168', true, null, new JsonFloat(168), []]
    it.each(wrong.map((value) => [JSON.stringify(value), value] as const))('refuses %s', async (_, value) => {
      const node = await newNode()
      const { cert_id } = await enroll(na, node)
      const [name, code] =
        route === '/heartbeat' ? ['status', 'invalid_input'] : ['validity_hours', 'invalid_validity_hours']
      refused(await node.post(route, { cert_id, [name ?? '']: value }), 400, code ?? '')
    })
  })

  describe('401', () => {
    it('refuses a proof that names another action or authority', async () => {
      const node = await newNode()
      const { cert_id } = await enroll(na, node)
      refused(await node.post(route, { cert_id, action: 'join' }), 401, 'node_auth_failed')
      refused(await node.post(route, { cert_id, audience: 'someone' }), 401, 'node_auth_failed')
      const audience = na.genesis.network_authority.public_key
      const named = { cert_id, audience, action: route.slice(1) }
      accepted(await node.post(route, named), route === '/renew' ? 201 : 200)
    })

    it('shares nonces with its sister route, and not with joins', async () => {
      const node = await newNode()
      const { cert_id } = await enroll(na, node, {}, { nonce: 'n-1' })
      accepted(await node.post(route, { cert_id, nonce: 'n-1' }), route === '/renew' ? 201 : 200)
      const sister = route === '/renew' ? '/heartbeat' : '/renew'
      refused(await node.post(sister, { cert_id, nonce: 'n-1' }), 401, 'node_auth_failed')
    })
  })
})
