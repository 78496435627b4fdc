import { accepted, createInvite, enroll, nodeCaller, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Acks } from '../campaigns/lib/rows.ts'
import { checkEnrollment } from '../campaigns/enrollment/checks.ts'
import { type Rows, openRows } from '../campaigns/lib/rows.ts'

/** A campaign that finds nothing proves something only if its checks find what is wrong. */
describe('the checks of the enrollment campaigns', () => {
  let na: TestAuthority
  let rows: Rows
  const acks = new Acks()
  const ids: Record<'plain' | 'old' | 'renewed' | 'revoked' | 'burnt' | 'taken', string> = {
    plain: '',
    old: '',
    renewed: '',
    revoked: '',
    burnt: '',
    taken: '',
  }

  beforeAll(async () => {
    na = await startTestAuthority({ backend: 'sqlite' })
    const newNode = async (name: string) =>
      nodeCaller(na.url, await testSigner('node', name), () => na.core.clock.now())
    const [node, burnt] = [await newNode('checks'), await newNode('checks-burnt')]
    const plain = await enroll(na, node)
    ids.plain = plain.cert_id
    ids.old = (await enroll(na, node)).cert_id
    const renewed = await node.renew(ids.old)
    ids.renewed = String(accepted(renewed, 201)['cert_id'])
    acks.certificates.set(ids.renewed, renewed.text)
    ids.revoked = (await enroll(na, node)).cert_id
    ids.burnt = (await enroll(na, burnt)).cert_id
    ids.taken = (await enroll(na, burnt)).cert_id
    const invite = await createInvite(na)
    acks.invites.add(invite)
    accepted(await na.request('GET', '/crl'))
    for (const [cert_id, reason] of [
      [ids.revoked, 'unspecified'],
      [ids.burnt, 'key_compromise'],
    ] as const) {
      const answer = accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id, reason }))
      acks.revoked(cert_id, reason)
      acks.lastSequence = Number(answer['crl_sequence'])
    }
    rows = await openRows(na.database)
  })
  afterAll(async () => {
    await rows.close()
    await na.stop()
  })

  const check = async (): Promise<string[]> => [
    ...(await checkEnrollment(rows, { authorityKey: na.genesis.network_authority.public_key })),
    ...(await acks.check(rows)),
  ]

  it('find nothing wrong where nothing is', async () => {
    expect(await check()).toEqual([])
  })

  const eventOf = (type: string, id: keyof typeof ids): string =>
    `delete from audit_events where event_type = '${type}' and event_json like '%' || '${ids[id]}' || '%'`
  it.each<[string, () => string]>([
    ['an issue without its event', () => eventOf('certificate_issued', 'plain')],
    ['a renewal without its event', () => eventOf('certificate_renewed', 'renewed')],
    ['a revocation without its event', () => eventOf('certificate_revoked', 'revoked')],
    ['a list without its event', () => "delete from audit_events where event_type = 'crl_published'"],
    ['an invite without its event', () => "delete from audit_events where event_type = 'invite_created'"],
    ['an event without its certificate', () => `delete from issued_certs where cert_id = '${ids.plain}'`],
    ['a lost certificate', () => `delete from issued_certs where cert_id = '${ids.renewed}'`],
    [
      'an edited certificate',
      () => `update issued_certs set cert_json = replace(cert_json, 'client', 'anchor') where cert_id = '${ids.plain}'`,
    ],
    ['lost liveness', () => `delete from node_liveness where cert_id = '${ids.plain}'`],
    ['a used invite that is free again', () => 'update invite_tokens set used_at = null, used_by_key = null'],
    [
      'a free invite that is used',
      () => "update invite_tokens set used_at = 'x', used_by_key = 'y' where used_at is null",
    ],
    ['a lost invite', () => 'delete from invite_tokens where used_at is null'],
    ['a predecessor without an end', () => 'update issued_certs set revoke_after = null'],
    ['an end without a successor', () => `update issued_certs set revoke_after = 'x' where cert_id = '${ids.plain}'`],
    [
      'a revocation undone',
      () =>
        `update issued_certs set status = 'issued', revoked_at = null, revocation_reason = null where cert_id = '${ids.revoked}'`,
    ],
    ['a revocation by half', () => `update issued_certs set status = 'revoked' where cert_id = '${ids.plain}'`],
    [
      'a certificate in use whose key is revoked',
      () =>
        `update issued_certs set status = 'issued', revoked_at = null, revocation_reason = null where cert_id = '${ids.taken}'`,
    ],
    [
      'a lowered reason',
      () => `update issued_certs set revocation_reason = 'unspecified' where cert_id = '${ids.burnt}'`,
    ],
    ['a gap', () => 'delete from crl_versions where sequence = 1'],
    ['a lost last list', () => 'delete from crl_versions where sequence = (select max(sequence) from crl_versions)'],
    ['an edited list', () => `update crl_versions set crl_json = replace(crl_json, 'unspecified', 'superseded')`],
    ['a list under another number', () => 'update crl_versions set sequence = sequence + 10 where sequence = 2'],
    ['a lost entry', () => 'delete from crl_entries where position = 1'],
    ['a version that did not change', () => "update heads set version = version - 1 where name = 'crl'"],
  ])('find %s', async (_, statement) => {
    await rows.query('begin immediate')
    try {
      await rows.query(statement())
      expect(await check()).not.toEqual([])
    } finally {
      await rows.query('rollback')
    }
  })
})
