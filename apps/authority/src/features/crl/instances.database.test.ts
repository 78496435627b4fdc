import {
  ManualClock,
  accepted,
  createInvite,
  createTestDatabase,
  enroll,
  entryOf,
  fetchCrl,
  nodeCaller,
  refused,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { TestAuthority, TestDatabase } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock()
let database: TestDatabase
let [a, b]: TestAuthority[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  const options = { clock, database, settings: { NA_CLOCK_CHECK: 'off' } }
  a = await startTestAuthority(options)
  b = await startTestAuthority(options)
})
afterAll(async () => {
  await Promise.all([a?.stop(), b?.stop()])
  await database.drop()
})

function both(): [TestAuthority, TestAuthority] {
  if (a === undefined || b === undefined) throw new Error('not started')
  return [a, b]
}

let counter = 0
async function nodeAt(authority: TestAuthority, name?: string) {
  const seed = name ?? `instances-${(counter += 1)}`
  return nodeCaller(authority.url, await testSigner('node', seed), () => clock.now())
}

describe('two instances on one database', () => {
  it('a certificate revoked on one is refused by the other at the next heartbeat', async () => {
    const [first, second] = both()
    for (let round = 0; round < 20; round += 1) {
      const node = await nodeAt(second)
      const { cert_id } = await enroll(second, node)
      accepted(await node.heartbeat(cert_id))
      accepted(await first.as('privileged')('POST', '/admin/revoke', { cert_id }))
      refused(await node.heartbeat(cert_id), 403, 'certificate_revoked')
      refused(await node.renew(cert_id), 403, 'certificate_revoked')
      expect(entryOf(await fetchCrl(second.url, second.genesis.network_authority.public_key), cert_id)).toBeDefined()
    }
  })

  it('a key compromised on one cannot join at the other', async () => {
    const [first, second] = both()
    const node = await nodeAt(second)
    const { cert_id } = await enroll(second, node)
    accepted(await first.as('privileged')('POST', '/admin/revoke', { cert_id, reason: 'key_compromise' }))
    refused(await node.join(await createInvite(second)), 403, 'node_key_compromised')
  })

  it('an invite made on one is spent once over both', async () => {
    const [first, second] = both()
    for (let round = 0; round < 10; round += 1) {
      const token = await createInvite(first)
      const nodes = await Promise.all([nodeAt(first), nodeAt(second), nodeAt(first), nodeAt(second)])
      const answers = await Promise.all(nodes.map((node) => node.join(token)))
      expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1)
      for (const answer of answers) if (answer.status !== 201) refused(answer, 403, 'invalid_invite_token')
    }
  })

  it('a signed call is accepted once over both', async () => {
    const [first, second] = both()
    const node = await nodeAt(first)
    const { cert_id } = await enroll(first, node)
    for (const route of ['/heartbeat', '/renew']) {
      const body = await node.prove({ cert_id })
      const calls = [first, second, first, second].map((authority) => authority.request('POST', route, { body }))
      const answers = await Promise.all(calls)
      expect(answers.filter((answer) => answer.status < 300)).toHaveLength(1)
      for (const answer of answers) if (answer.status >= 300) refused(answer, 401, 'node_auth_failed')
    }
  })

  it('revocations on both publish lists without a gap', async () => {
    const [first, second] = both()
    const node = await nodeAt(first)
    const ids: string[] = []
    for (let index = 0; index < 20; index += 1) ids.push((await enroll(first, node)).cert_id)
    const answers = await Promise.all(
      ids.map((cert_id, index) =>
        (index % 2 === 0 ? first : second).as('privileged')('POST', '/admin/revoke', { cert_id }),
      ),
    )
    for (const answer of answers) accepted(answer)
    const [left, right] = await Promise.all(
      both().map((authority) => fetchCrl(authority.url, authority.genesis.network_authority.public_key)),
    )
    expect(left).toEqual(right)
    for (const cert_id of ids) expect(left === undefined ? undefined : entryOf(left, cert_id)).toBeDefined()
    const rows = await first.core.database.read
      .selectFrom('crl_versions')
      .select('sequence')
      .orderBy('sequence')
      .execute()
    expect(rows.map((row) => row.sequence)).toEqual(rows.map((_, index) => (rows[0]?.sequence ?? 0) + index))
  })
})
