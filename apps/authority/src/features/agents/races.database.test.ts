import { draftAgentDescriptor, signAgentDelete, signList, writeInstant } from '@chancery/protocol'
import type { Instant, JsonObject, Signer } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { accepted, currentBackend, seedCertificates, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const RACERS = 50

/** Two instances on PostgreSQL; SQLite has one writer and one instance. */
let a: TestAuthority
let b: TestAuthority
beforeAll(async () => {
  a = await startTestAuthority()
  b = currentBackend() === 'postgres' ? await startTestAuthority({ database: a.database }) : a
})
afterAll(async () => {
  if (b !== a) await b.stop()
  await a.stop()
})

let counter = 0

async function newNode(): Promise<{ signer: Signer; cert_id: string }> {
  const name = `races-${(counter += 1)}`
  const signer = await testSigner((await testSigner('node', name)).publicKey, name)
  const [certificate] = await seedCertificates(a.parts, {
    count: 1,
    node_public_key: signer.publicKey,
    issuedAt: systemClock.now() - 1_000_000n,
  })
  return { signer, cert_id: certificate?.cert_id ?? '' }
}

async function describeAgent(signer: Signer, at: Instant, agent_id: string, tags: readonly string[]) {
  const draft = draftAgentDescriptor({
    agent_id,
    node_public_key: signer.publicKey,
    network_name: 'TEST-NET',
    capabilities: tags,
    endpoint: { host: '198.51.100.7', port: 7448 },
    registered_at: writeInstant(at),
    expires_at: writeInstant(at + 600_000_000n),
  })
  return signList(draft, signer)
}

async function shown(na: TestAuthority, tag: string): Promise<string[]> {
  const answer = accepted(await na.request('GET', `/agents?capability=${tag}`))
  return (answer['agents'] as JsonObject[]).map((agent) => String(agent['agent_id']))
}

/** Checks that counters, postings and listed rows agree. */
async function checkBooks(na: TestAuthority): Promise<void> {
  const db = na.core.database.read
  const postings = await db.selectFrom('agent_capabilities').selectAll().execute()
  const rows = await db.selectFrom('agent_registrations').selectAll().where('listed', '=', 1).execute()
  const expected = rows.flatMap((row) =>
    (JSON.parse(row.capabilities_json) as string[]).map((tag) => `${tag} ${row.node_public_key}`),
  )
  expect(postings.map((each) => `${each.capability} ${each.node_public_key}`).sort()).toEqual(expected.sort())
  const counts = new Map<string, number>()
  for (const { capability } of postings) counts.set(capability, (counts.get(capability) ?? 0) + 1)
  const counters = await db.selectFrom('agent_capability_counts').selectAll().where('agents', '!=', 0).execute()
  expect(new Map(counters.map((row) => [row.capability, Number(row.agents)]))).toEqual(counts)
}

describe('concurrent requests for one key', () => {
  it.each([1, 2, 3, 4])(
    'round %i: the final state is possible in some order',
    async (round) => {
      const { signer } = await newNode()
      const [base, tag] = [systemClock.now(), `race-${counter}`]
      // Registrations and deletes use few distinct times, so that many have the same one.
      const acts = await Promise.all(
        Array.from({ length: RACERS }, async (_, index) => {
          const moment = (index * 7 * round) % 10
          const at = base + BigInt(moment * 1000)
          const na = index % 2 === 0 ? a : b
          if (index % 3 === 2) {
            const body = await signAgentDelete(writeInstant(at), signer)
            const target = `/agents/${encodeURIComponent(signer.publicKey)}`
            return {
              kind: 'delete' as const,
              at,
              run: (): Promise<TestResponse> => na.request('DELETE', target, { body }),
            }
          }
          const body = await describeAgent(signer, at, `agent-${index}`, [tag, `${tag}-${moment}`])
          return {
            kind: 'register' as const,
            at,
            run: () => na.request('POST', '/agents', { body }),
            id: `agent-${index}`,
          }
        }),
      )
      const answers = await Promise.all(acts.map(async (act) => ({ act, answer: await act.run() })))
      for (const { act, answer } of answers) {
        const allowed = act.kind === 'register' ? [200, 400] : [200, 401, 404]
        expect(allowed, answer.text).toContain(answer.status)
      }
      const done = answers.filter(({ answer }) => answer.status === 200).map(({ act }) => act)
      const times = (kind: 'register' | 'delete'): Instant[] =>
        done.filter((act) => act.kind === kind).map((act) => act.at)
      const [registered, deleted] = [times('register'), times('delete')]
      const newest = registered.reduce((most, at) => (at > most ? at : most), 0n)
      const lastDelete = deleted.reduce((most, at) => (at > most ? at : most), 0n)
      // A delete needs signed_at at or after the registration. A registration must be later than every delete. So the
      // later of the two decides, and at the same time the delete.
      const names = await shown(b, tag)
      expect(await shown(a, tag)).toEqual(names)
      if (newest > lastDelete) {
        expect(names).toHaveLength(1)
        const winners = done.filter((act) => act.kind === 'register' && act.at === newest)
        expect(winners.map((act) => ('id' in act ? act.id : ''))).toContain(names[0])
      } else expect(names).toEqual([])
      // There is a delete between two first registrations.
      const ofKey = async (type: string): Promise<number> =>
        (await a.auditEvents(type)).filter(
          (event) => (event['details'] as JsonObject)['node_public_key'] === signer.publicKey,
        ).length
      const [firsts, ends] = [await ofKey('agent_registered'), await ofKey('agent_deregistered')]
      expect(ends).toBe(deleted.length)
      expect(firsts - ends).toBe(names.length)
      await checkBooks(a)
    },
    60_000,
  )

  it('many keys with the same tags at once: counters equal the postings', async () => {
    const nodes = await Promise.all(Array.from({ length: RACERS }, () => newNode()))
    for (let round = 0; round < 3; round += 1) {
      const base = systemClock.now()
      const answers = await Promise.all(
        nodes.map(async ({ signer }, index) => {
          const na = (index + round) % 2 === 0 ? a : b
          // The order differs each time. Locking the counters in this order would cause a deadlock.
          const tags = ['shared-a', 'shared-b', 'shared-c', `own-${(index + round) % 5}`]
          const body = await describeAgent(signer, base, 'x', index % 2 === 0 ? tags : tags.toReversed())
          if (index % 5 !== round) return na.request('POST', '/agents', { body })
          const gone = await signAgentDelete(writeInstant(base), signer)
          return na.request('DELETE', `/agents/${encodeURIComponent(signer.publicKey)}`, { body: gone })
        }),
      )
      for (const answer of answers) expect([200, 400, 404], answer.text).toContain(answer.status)
      await checkBooks(a)
    }
  }, 60_000)
})

describe('revoking the certificate', () => {
  it.each(['cessation_of_operation', 'key_compromise'])(
    '%s on one instance removes the agent from the next response of the other',
    async (reason) => {
      const tag = `revoked-${counter}`
      for (let round = 0; round < 3; round += 1) {
        const { signer, cert_id } = await newNode()
        const body = await describeAgent(signer, systemClock.now(), `agent-${round}`, [tag])
        accepted(await b.request('POST', '/agents', { body }))
        expect(await shown(b, tag)).toEqual([`agent-${round}`])
        accepted(await a.as('privileged')('POST', '/admin/revoke', { cert_id, reason }))
        expect(await shown(b, tag)).toEqual([])
        expect((await b.request('GET', `/agents/${encodeURIComponent(signer.publicKey)}`)).status).toBe(404)
        expect((await b.request('POST', '/agents', { body })).status).toBe(403)
      }
      await checkBooks(b)
    },
  )

  it('while the node registers: the agent never stays', async () => {
    const tag = `revoked-${counter}-racing`
    for (let round = 0; round < 5; round += 1) {
      const { signer, cert_id } = await newNode()
      const base = systemClock.now()
      const bodies = await Promise.all(
        Array.from({ length: 20 }, (_, index) => describeAgent(signer, base + BigInt(index), 'x', [tag])),
      )
      const [answer, ...announced] = await Promise.all([
        a.as('privileged')('POST', '/admin/revoke', { cert_id, reason: 'cessation_of_operation' }),
        ...bodies.map((body, index) => (index % 2 === 0 ? a : b).request('POST', '/agents', { body })),
      ])
      accepted(answer)
      for (const each of announced) expect([200, 400, 403], each.text).toContain(each.status)
      expect(await shown(b, tag)).toEqual([])
    }
    await checkBooks(a)
  }, 60_000)
})
