// oxlint-disable max-lines -- every status of one route
import {
  HOUR,
  JsonFloat,
  hours,
  readJoinCertificate,
  seconds,
  sha256Hex,
  verifyJoinCertificate,
  writeInstant,
  writeSortable,
} from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  createInvite,
  detailsOf,
  enroll,
  eventsOf,
  newNodeCaller,
  nodeCaller,
  refused,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { NodeCaller, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock()
const settings = { NA_CLOCK_CHECK: 'off' }
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings })
})
afterAll(() => na.stop())

const newNode = (authority: TestAuthority = na): Promise<NodeCaller> => newNodeCaller(authority.url, 'join', clock)

const findInvite = (token: string) =>
  na.core.database.read
    .selectFrom('invite_tokens')
    .selectAll()
    .where('token_digest', '=', sha256Hex(token))
    .executeTakeFirstOrThrow()

const certificatesOf = (key: string) =>
  na.core.database.read.selectFrom('issued_certs').selectAll().where('node_public_key', '=', key).execute()

/** Checks that nothing changed: no certificate, and an unused invite. */
async function expectUntouched(node: NodeCaller, token: string): Promise<void> {
  expect(await certificatesOf(node.key)).toEqual([])
  expect(await findInvite(token)).toMatchObject({ used_at: null, used_by_key: null })
}

async function expectProofFailure(answer: TestResponse, reason: string): Promise<void> {
  expect(refused(answer, 401, 'node_auth_failed')['details']).toEqual({})
  const events = await eventsOf(na, answer)
  expect(events.map((event) => event['event_type'])).toEqual(['node_auth_failed'])
  expect(detailsOf(events[0])).toMatchObject({ scope: 'join', reason, remote_addr: '127.0.0.1' })
}

describe('POST /join', () => {
  describe('201', () => {
    it('returns a certificate that verifies, for the roles and the time of the invite', async () => {
      const node = await newNode()
      const roles = ['role:service:index', 'role:anchor']
      const token = await createInvite(na, { roles, max_validity_hours: 72 })
      const answer = await node.join(token)
      const certificate = readJoinCertificate(accepted(answer, 201))
      expect(certificate).toMatchObject({
        node_public_key: node.key,
        network_name: 'TEST-NET',
        roles,
        issued_at: writeInstant(clock.now()),
        expires_at: writeInstant(clock.now() + hours(72)),
        issued_by: 'na-test',
        signatures: [{ key_id: 'na-test' }],
      })
      const authorityKey = na.genesis.network_authority.public_key
      const against = { network_name: 'TEST-NET', authorityKey, now: clock.now() }
      expect(await verifyJoinCertificate(certificate, against)).toEqual({ ok: true })
    })

    it('stores certificate, liveness, spent invite and audit event', async () => {
      const node = await newNode()
      const token = await createInvite(na, { max_validity_hours: 72 })
      const answer = await node.join(token, { validity_hours: 24 })
      const { cert_id } = accepted(answer, 201)
      const [issued_at, expires_at] = [writeSortable(clock.now()), writeSortable(clock.now() + hours(24))]
      expect(await certificatesOf(node.key)).toEqual([
        {
          cert_id,
          node_public_key: node.key,
          cert_json: answer.text,
          roles_json: '["role:client"]',
          issued_at,
          expires_at,
          max_validity_hours: 72,
          status: 'issued',
          renewed_from: null,
          revoke_after: null,
          list_after: null,
          revoked_at: null,
          revocation_reason: null,
        },
      ])
      const db = na.core.database.read
      const live = await db.selectFrom('node_liveness').selectAll().where('cert_id', '=', String(cert_id)).execute()
      expect(live).toEqual([
        {
          cert_id,
          node_public_key: node.key,
          last_heartbeat: issued_at,
          heartbeat_status: 'joined',
          remote_addr: '127.0.0.1',
          revoke_after: null,
          silent_since: null,
          signed_at: null,
          genesis_digest: null,
        },
      ])
      expect(await findInvite(token)).toMatchObject({ used_at: issued_at, used_by_key: node.key })
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['certificate_issued'])
      expect(detailsOf(events[0])).toEqual({
        cert_id,
        node_public_key: node.key,
        invite_token_fingerprint: sha256Hex(token).slice(0, 16),
        roles: ['role:client'],
        remote_addr: '127.0.0.1',
        request_id: answer.headers['x-request-id'],
      })
    })

    it.each<[JsonObject, JsonObject, number]>([
      [{}, {}, 168],
      [{ max_validity_hours: 8760 }, {}, 168],
      [{ max_validity_hours: 24 }, {}, 24],
      [{ max_validity_hours: 24 }, { validity_hours: 25 }, 24],
      [{ max_validity_hours: 24 }, { validity_hours: 1 }, 1],
      [{ max_validity_hours: 8760 }, { validity_hours: 8760 }, 8760],
      [{ max_validity_hours: 24 }, { validity_hours: Number.MAX_SAFE_INTEGER }, 24],
    ])('grants invite %j and request %j %d hours', async (invite, members, granted) => {
      const certificate = await enroll(na, await newNode(), invite, members)
      expect(certificate.expires_at).toBe(writeInstant(clock.now() + hours(granted)))
    })

    it('ignores roles and unknown members that a node sends, if they are signed', async () => {
      const claims = { roles: ['role:operator'], note: { deep: [1, null] } }
      const certificate = await enroll(na, await newNode(), {}, claims)
      expect(certificate.roles).toEqual(['role:client'])
    })

    it('accepts a proof that names this authority and this action', async () => {
      const audience = na.genesis.network_authority.public_key
      await enroll(na, await newNode(), {}, { audience, action: 'join' })
    })

    it('accepts an invite made for this key', async () => {
      const node = await newNode()
      await enroll(na, node, { recipient_public_key: node.key })
    })

    it('accepts an invite in its last instant', async () => {
      const token = await createInvite(na, { token_expiry_hours: 1 })
      clock.advance(3600)
      accepted(await (await newNode()).join(token), 201)
    })

    it.each([-300, 300])('accepts a proof signed %d s away', async (offset) => {
      const timestamp = writeInstant(clock.now() + seconds(offset))
      await enroll(na, await newNode(), {}, { timestamp })
    })

    it('lets a key join again with another invite', async () => {
      const node = await newNode()
      const [first, second] = [await enroll(na, node), await enroll(na, node)]
      expect(first.cert_id).not.toBe(second.cert_id)
      expect(await certificatesOf(node.key)).toHaveLength(2)
    })

    it('separates nonces of different keys', async () => {
      for (const node of [await newNode(), await newNode()]) await enroll(na, node, {}, { nonce: 'same-for-both' })
    })
  })

  describe('400', () => {
    it.each<[string, (body: Record<string, JsonValue>) => void, string]>([
      ['no key', (body) => delete body['node_public_key'], 'missing_node_public_key'],
      ['an empty key', (body) => (body['node_public_key'] = ''), 'missing_node_public_key'],
      ['a key that is not a string', (body) => (body['node_public_key'] = 7), 'invalid_public_key'],
      ['a key that is not base64', (body) => (body['node_public_key'] = 'x'.repeat(44)), 'invalid_public_key'],
      ['a key of 31 bytes', (body) => (body['node_public_key'] = `${'A'.repeat(42)}==`), 'invalid_public_key'],
      ['a weak key', (body) => (body['node_public_key'] = `${'A'.repeat(43)}=`), 'invalid_public_key'],
      ...[0, -1, '168', true, null, new JsonFloat(168), [], {}].map(
        (value): [string, (body: Record<string, JsonValue>) => void, string] => [
          `validity_hours ${JSON.stringify(value)}`,
          (body) => (body['validity_hours'] = value),
          'invalid_validity_hours',
        ],
      ),
    ])('refuses %s and stores nothing', async (_, edit, code) => {
      const [node, token] = [await newNode(), await createInvite(na)]
      const answer = await node.join(token, {}, { edit })
      refused(answer, 400, code)
      await expectUntouched(node, token)
      expect(await eventsOf(na, answer)).toEqual([])
    })

    it.each<[string, () => string]>([
      ['root', () => na.genesis.root_public_key],
      ['authority', () => na.genesis.network_authority.public_key],
      ['a privileged operator', () => na.signers['privileged']?.publicKey ?? ''],
      ['a standard operator', () => na.signers['standard']?.publicKey ?? ''],
    ])('refuses the key of the %s', async (_, key) => {
      const token = await createInvite(na)
      const node = await newNode()
      refused(await node.join(token, { node_public_key: key() }), 400, 'invalid_public_key')
      await expectUntouched(node, token)
    })

    it('refuses a member of its sister routes by name', async () => {
      const answer = await (await newNode()).join(await createInvite(na), { cert_id: 'x' })
      expect(refused(answer, 400, 'unexpected_field')['details']).toEqual({ fields: ['cert_id'] })
    })

    it('refuses a body that is not an object, and treats an absent body as an empty object', async () => {
      refused(await na.request('POST', '/join', { rawBody: '[]' }), 400, 'invalid_json_object')
      refused(await na.request('POST', '/join', { rawBody: '{' }), 400, 'invalid_json')
      refused(await na.request('POST', '/join'), 400, 'missing_node_public_key')
    })
  })

  describe('401', () => {
    it.each<[string, JsonObject, (body: Record<string, JsonValue>) => void, string]>([
      ['no signature', {}, (body) => delete body['signature'], 'missing_fields'],
      ['no nonce', {}, (body) => delete body['nonce'], 'missing_fields'],
      ['no timestamp', {}, (body) => delete body['timestamp'], 'missing_fields'],
      ['a string that is not a time', { timestamp: 'yesterday' }, () => undefined, 'invalid_timestamp'],
      ['an old timestamp', { timestamp: '2020-01-01T00:00:00Z' }, () => undefined, 'stale_timestamp'],
      ['a changed member', { note: 'a' }, (body) => (body['note'] = 'b'), 'invalid_signature'],
      [
        'a longer validity than signed',
        { validity_hours: 1 },
        (body) => (body['validity_hours'] = 99),
        'invalid_signature',
      ],
      ['another authority', { audience: 'someone' }, () => undefined, 'invalid_signature'],
      ['another action', { action: 'renew' }, () => undefined, 'invalid_signature'],
    ])('refuses %s, audits the reason and spends nothing', async (_, members, edit, reason) => {
      const [node, token] = [await newNode(), await createInvite(na)]
      await expectProofFailure(await node.join(token, members, { edit }), reason)
      await expectUntouched(node, token)
      accepted(await node.join(token), 201)
    })

    it("refuses another key's signature", async () => {
      const [node, other, token] = [await newNode(), await newNode(), await createInvite(na)]
      await expectProofFailure(await node.join(token, {}, { signer: other.signer }), 'invalid_signature')
      await expectUntouched(node, token)
    })

    it('refuses a spent nonce and accepts the invite with a new one', async () => {
      const node = await newNode()
      await enroll(na, node, {}, { nonce: 'spent' })
      const token = await createInvite(na)
      const replay = await node.join(token, { nonce: 'spent' })
      await expectProofFailure(replay, 'nonce_replay')
      expect(detailsOf((await eventsOf(na, replay))[0])['nonce']).toBe('spent')
      expect(await findInvite(token)).toMatchObject({ used_at: null })
      accepted(await node.join(token), 201)
    })
  })

  describe('403', () => {
    it.each<[string, (body: Record<string, JsonValue>) => void]>([
      ['is missing', (body) => delete body['invite_token']],
      ['is empty', (body) => (body['invite_token'] = '')],
      ['is null', (body) => (body['invite_token'] = null)],
      ['is not a string', (body) => (body['invite_token'] = 7)],
      ['has 257 characters', (body) => (body['invite_token'] = 'a'.repeat(257))],
    ])('refuses when the token %s', async (_, edit) => {
      const answer = await (await newNode()).join('x', {}, { edit })
      refused(answer, 403, 'missing_invite_token')
      expect(await eventsOf(na, answer)).toEqual([])
    })

    it('gives the same response for unknown, used, expired and foreign invites', async () => {
      const [node, other] = [await newNode(), await newNode()]
      const [used, expired] = [await createInvite(na), await createInvite(na, { token_expiry_hours: 1 })]
      accepted(await other.join(used), 201)
      const foreign = await createInvite(na, { recipient_public_key: other.key, token_expiry_hours: 2 })
      clock.set(clock.now() + HOUR + 1n)
      const answers: unknown[] = []
      for (const token of ['unknown', 'a'.repeat(256), used, expired, foreign]) {
        const answer = await node.join(token)
        const { request_id: _, ...error } = refused(answer, 403, 'invalid_invite_token')
        answers.push(error)
        expect(await eventsOf(na, answer)).toEqual([])
      }
      expect(new Set(answers.map((error) => JSON.stringify(error))).size).toBe(1)
      expect(await certificatesOf(node.key)).toEqual([])
      // Its intended key can still use it.
      accepted(await other.join(foreign), 201)
    })

    it('refuses a key that was revoked as compromised, audits it and leaves the invite unused', async () => {
      const node = await newNode()
      const { cert_id } = await enroll(na, node)
      accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id, reason: 'key_compromise' }))
      const token = await createInvite(na)
      const answer = await node.join(token)
      refused(answer, 403, 'node_key_compromised')
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['join_rejected'])
      expect(detailsOf(events[0])).toEqual({
        reason: 'node_key_compromised',
        node_public_key: node.key,
        prior_cert_id: cert_id,
        remote_addr: '127.0.0.1',
        request_id: answer.headers['x-request-id'],
      })
      expect(await findInvite(token)).toMatchObject({ used_at: null })
    })

    it.each(['cessation_of_operation', 'superseded', 'unspecified'])(
      'lets a key whose certificate was revoked as %s join again',
      async (reason) => {
        const node = await newNode()
        const { cert_id } = await enroll(na, node)
        accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id, reason }))
        await enroll(na, node)
      },
    )

    it('serves exactly one of many concurrent joins with one invite', async () => {
      const nodes = await Promise.all(Array.from({ length: 20 }, () => newNode()))
      const token = await createInvite(na)
      const answers = await Promise.all(nodes.map((node) => node.join(token)))
      const winners = answers.filter((answer) => answer.status === 201)
      expect(winners).toHaveLength(1)
      for (const answer of answers) if (answer.status !== 201) refused(answer, 403, 'invalid_invite_token')
      expect((await findInvite(token)).used_by_key).toBe(winners[0] && accepted(winners[0], 201)['node_public_key'])
    })
  })

  describe('503', () => {
    it('signs nothing after the validity period of the genesis block, and does not spend the invite', async () => {
      const own = new ManualClock()
      const late = await startTestAuthority({ clock: own, settings })
      try {
        const node = nodeCaller(late.url, await testSigner('node', 'late'), () => own.now())
        const token = await createInvite(late, { token_expiry_hours: 720 })
        own.advance(90 * 86_400)
        refused(await node.join(token), 503, 'service_unavailable')
        const rows = await late.core.database.read.selectFrom('issued_certs').select('cert_id').execute()
        expect(rows).toEqual([])
      } finally {
        await late.stop()
      }
    })
  })
})
