import { type Crl, type JsonObject, writeInstant } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  enroll,
  entryOf,
  fetchCrl,
  newNodeCaller,
  refused,
  startTestAuthority,
} from '@chancery/testkit'
import type { NodeCaller, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const clock = new ManualClock()
let na: TestAuthority
beforeEach(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterEach(() => na.stop())

const newNode = (): Promise<NodeCaller> => newNodeCaller(na.url, 'compromise', clock)
const newCertificate = async (): Promise<string> => (await enroll(na, await newNode())).cert_id

const revoke = (body: JsonObject): Promise<TestResponse> => na.as('privileged')('POST', '/admin/revoke', body)
const list = (): Promise<Crl> => fetchCrl(na.url, na.genesis.network_authority.public_key)
const row = (cert_id: string) =>
  na.core.database.read.selectFrom('issued_certs').selectAll().where('cert_id', '=', cert_id).executeTakeFirstOrThrow()
const revocationsOf = async (cert_id: string): Promise<JsonObject[]> =>
  (await na.auditEvents('certificate_revoked')).map(detailsOf).filter((details) => details['cert_id'] === cert_id)

describe('POST /admin/revoke for key_compromise', () => {
  it('revokes every other certificate of the key, in one version, each with its event', async () => {
    const [node, other] = [await newNode(), await newNode()]
    const expired = await enroll(na, node, { max_validity_hours: 1 })
    const revoked = await enroll(na, node)
    accepted(await revoke({ cert_id: revoked.cert_id, reason: 'superseded', only_this: true }))
    clock.advance(3600)
    const [first, second, bystander] = [await enroll(na, node), await enroll(na, node), await enroll(na, other)]
    const renewed = String(accepted(await node.renew(second.cert_id), 201)['cert_id'])
    const before = await list()

    const answer = await revoke({ cert_id: first.cert_id, reason: 'key_compromise' })
    const crl = await list()
    expect(accepted(answer)).toEqual({
      crl_sequence: before.sequence + 1,
      revoked_count: before.revoked_certificates.length + 3,
      also_revoked: { count: 2, sample: [second.cert_id, renewed].sort() },
    })
    for (const cert_id of [first.cert_id, second.cert_id, renewed]) {
      expect(entryOf(crl, cert_id)).toMatchObject({ reason: 'key_compromise', revoked_at: writeInstant(clock.now()) })
      expect(await row(cert_id)).toMatchObject({ status: 'revoked', revocation_reason: 'key_compromise' })
      const details = { reason: 'key_compromise', crl_sequence: crl.sequence, key_id: 'op-privileged' }
      expect(await revocationsOf(cert_id)).toMatchObject([details])
    }
    // Certificates that could not be used keep their state.
    expect(await row(expired.cert_id)).toMatchObject({ status: 'issued' })
    expect(await row(revoked.cert_id)).toMatchObject({ revocation_reason: 'superseded' })
    expect(await row(bystander.cert_id)).toMatchObject({ status: 'issued' })
    accepted(await other.heartbeat(bystander.cert_id))
  })

  it('bars the key: it can neither join nor send heartbeats nor renew again', async () => {
    const node = await newNode()
    const { cert_id } = await enroll(na, node)
    accepted(await revoke({ cert_id, reason: 'key_compromise' }))
    refused(await node.heartbeat(cert_id), 403, 'certificate_revoked')
    refused(await node.renew(cert_id), 403, 'certificate_revoked')
    const invite = accepted(await na.as('standard')('POST', '/admin/invite'), 201)
    refused(await node.join(String(invite['token_id'])), 403, 'node_key_compromised')
  })

  it('raised later, gets a new version, keeps position and time, and revokes the others now', async () => {
    const node = await newNode()
    const [first, other] = [await enroll(na, node), await enroll(na, node)]
    accepted(await revoke({ cert_id: first.cert_id, reason: 'unspecified', only_this: true }))
    const revokedAt = writeInstant(clock.now())
    accepted(await revoke({ cert_id: await newCertificate() }))
    const before = await list()
    clock.advance(100)

    const answer = await revoke({ cert_id: first.cert_id, reason: 'key_compromise' })
    const crl = await list()
    expect(accepted(answer)).toEqual({
      crl_sequence: before.sequence + 1,
      revoked_count: before.revoked_certificates.length + 1,
      also_revoked: { count: 1, sample: [other.cert_id] },
    })
    const raised = before.revoked_certificates.map((entry) =>
      entry.certificate_id === first.cert_id ? { ...entry, reason: 'key_compromise' } : entry,
    )
    expect(entryOf(crl, first.cert_id)).toMatchObject({ reason: 'key_compromise', revoked_at: revokedAt })
    expect(crl.revoked_certificates.slice(0, raised.length)).toEqual(raised)
    expect(crl.revoked_certificates.slice(raised.length)).toMatchObject([
      { certificate_id: other.cert_id, reason: 'key_compromise', revoked_at: writeInstant(clock.now()) },
    ])
    expect((await revocationsOf(first.cert_id)).map((details) => details['reason'])).toEqual([
      'unspecified',
      'key_compromise',
    ])
    refused(await node.heartbeat(other.cert_id), 403, 'certificate_revoked')
  })

  it('is never lowered', async () => {
    const cert_id = await newCertificate()
    const first = accepted(await revoke({ cert_id, reason: 'key_compromise' }))
    expect(accepted(await revoke({ cert_id, reason: 'unspecified' }))).toEqual(first)
    expect(accepted(await revoke({ cert_id, reason: 'key_compromise' }))).toEqual(first)
    expect(entryOf(await list(), cert_id)?.reason).toBe('key_compromise')
  })

  it('is not lost when it shares a version with a lower reason for the same certificate', async () => {
    const node = await newNode()
    const { cert_id } = await enroll(na, node)
    const request = {
      cert_ids: [cert_id],
      form: 'cert_id',
      missing: [],
      attempt: undefined,
      onlyThis: true,
      cause: {},
    } as const
    const before = await list()
    // Sent in one loop turn, so that both are in one batch.
    const outcomes = await Promise.all([
      na.features.crl.revoke({ ...request, reason: 'unspecified' }),
      na.features.crl.revoke({ ...request, reason: 'key_compromise' }),
      na.features.crl.revoke({ ...request, reason: 'superseded' }),
    ])
    expect(new Set(outcomes.map((outcome) => outcome.text)).size).toBe(1)
    const crl = await list()
    expect(crl.sequence).toBe(before.sequence + 1)
    expect(entryOf(crl, cert_id)?.reason).toBe('key_compromise')
    expect(await row(cert_id)).toMatchObject({ revocation_reason: 'key_compromise' })
    const invite = accepted(await na.as('standard')('POST', '/admin/invite'), 201)
    refused(await node.join(String(invite['token_id'])), 403, 'node_key_compromised')
  })
})
