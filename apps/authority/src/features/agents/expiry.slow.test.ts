import { draftAgentDescriptor, signAgentDelete, signList, writeInstant } from '@chancery/protocol'
import type { Instant, JsonObject, Signer } from '@chancery/protocol'
import { ManualClock, accepted, seedCertificates, refused, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { purgeAgents } from './index.ts'

const START = new ManualClock().now()
const clock = new ManualClock()
let na: TestAuthority
const nodes: Signer[] = []
const JSON_BODY = { 'content-type': 'application/json' }
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  for (let index = 0; index < 4; index += 1) {
    const name = `expiry-${index}`
    const signer = await testSigner((await testSigner('node', name)).publicKey, name)
    const facts = { count: 1, node_public_key: signer.publicKey, validityHours: 8000 }
    await seedCertificates(na.parts, { ...facts, issuedAt: START - 3_600_000_000n })
    nodes.push(signer)
  }
})
afterAll(() => na.stop())

/** Registers agents with random lifetimes while the clock moves forwards and backwards, with purges in between. */
const step = fc.oneof(
  fc.record({
    kind: fc.constant('announce' as const),
    node: fc.nat(3),
    ahead: fc.integer({ min: -900_000_000, max: 300_000_000 }),
    lifetime: fc.oneof(fc.integer({ min: 1, max: 1_200_000_000 }), fc.constantFrom(1, 600_000_000, 86_400_000_000)),
  }),
  fc.record({ kind: fc.constant('set' as const), by: fc.integer({ min: -700_000_000, max: 1_300_000_000 }) }),
  // The exact moment at which something ends, and moments near it.
  fc.record({ kind: fc.constant('edge' as const), node: fc.nat(3), by: fc.integer({ min: -1, max: 1 }) }),
  fc.constant({ kind: 'purge' as const }),
)

const TAGS = ['expiring', 'expiring:too']
/** The last accepted descriptor of each key. */
const stored = new Map<string, { readonly expires: Instant }>()

async function announce(signer: Signer, at: Instant, expires: Instant): Promise<void> {
  const draft = draftAgentDescriptor({
    agent_id: 'short-lived',
    node_public_key: signer.publicKey,
    network_name: 'TEST-NET',
    capabilities: TAGS,
    endpoint: { host: '198.51.100.7', port: 7448 },
    registered_at: writeInstant(at),
    expires_at: writeInstant(expires),
  })
  const answer = await na.request('POST', '/agents', { body: await signList(draft, signer) })
  if (answer.status === 200) stored.set(signer.publicKey, { expires })
  else refused(answer, 400, 'descriptor_expired')
}

async function checkAnswers(): Promise<void> {
  const now = clock.now()
  const alive = [...stored].filter(([, { expires }]) => expires > now).map(([key]) => key)
  for (const target of ['/agents?capability=expiring', '/agents?capability=expiring%3Atoo&limit=2']) {
    const answer = accepted(await na.request('GET', target))
    const shown = (answer['agents'] as JsonObject[]).map((agent) => String(agent['node_public_key']))
    // An expired agent is never returned. After the clock was set back, an agent may be missing because a purge removed
    // it.
    for (const key of shown) expect(alive).toContain(key)
    if (answer['total'] !== undefined) expect(Number(answer['total'])).toBeLessThanOrEqual(alive.length)
  }
  for (const { publicKey } of nodes) {
    const answer = await na.request('GET', `/agents/${encodeURIComponent(publicKey)}`)
    if (answer.status === 200) expect(alive).toContain(publicKey)
    else refused(answer, 404, 'agent_not_registered')
  }
  expect(Number(accepted(await na.request('GET', '/agents'))['count'])).toBeLessThanOrEqual(alive.length)
}

describe('an expired agent', () => {
  it('is in no response, whatever the clock does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        for (const each of steps) {
          const now = clock.now()
          if (each.kind === 'purge') await purgeAgents(na.parts, AbortSignal.timeout(10_000))
          else if (each.kind === 'set') clock.set(now + BigInt(each.by) < START ? START : now + BigInt(each.by))
          else {
            const signer = nodes[each.node]
            if (signer === undefined) continue
            if (each.kind === 'announce') {
              const at = now + BigInt(each.ahead)
              await announce(signer, at, at + BigInt(each.lifetime))
            } else clock.set((stored.get(signer.publicKey)?.expires ?? now) + BigInt(each.by))
          }
          await checkAnswers()
        }
      }),
      { numRuns: 60 },
    )
  }, 60_000)

  it('is returned until the moment it ends, and not in that moment', async () => {
    const [signer] = nodes
    if (signer === undefined) throw new Error('no nodes')
    clock.set(clock.now() + 90_000_000_000n)
    const expires = clock.now() + 1_000_000n
    await announce(signer, clock.now(), expires)
    const isShown = async (): Promise<boolean> => {
      const answer = accepted(await na.request('GET', '/agents?capability=expiring'))
      return (answer['agents'] as JsonObject[]).some((agent) => agent['node_public_key'] === signer.publicKey)
    }
    clock.set(expires - 1n)
    expect(await isShown()).toBe(true)
    clock.set(expires)
    expect(await isShown()).toBe(false)
  })

  it('stays removed when a clock was ahead temporarily', async () => {
    const [, , signer] = nodes
    if (signer === undefined) throw new Error('no nodes')
    // The clock has been stable for long, so the jump that follows is the only one.
    na.core.purgeClock.daily.now()
    clock.advance(90_000)
    expect(na.core.purgeClock.daily.now()).toBe(clock.now())
    const right = clock.now()
    await announce(signer, right, right + 86_400_000_000n)
    const { descriptor_json } = await na.core.database.read
      .selectFrom('agent_registrations')
      .select('descriptor_json')
      .where('node_public_key', '=', signer.publicKey)
      .executeTakeFirstOrThrow()
    const target = `/agents/${encodeURIComponent(signer.publicKey)}`
    accepted(await na.request('DELETE', target, { body: await signAgentDelete(writeInstant(right), signer) }))
    clock.set(right + 864_000_000_000n)
    await purgeAgents(na.parts, AbortSignal.timeout(10_000))
    clock.set(right + 1_000_000n)
    const again = await na.request('POST', '/agents', { rawBody: descriptor_json, headers: JSON_BODY })
    refused(again, 400, 'descriptor_expired')
  })

  it('cannot be replaced by an older descriptor that is still valid, before or after a purge', async () => {
    const [, signer] = nodes
    if (signer === undefined) throw new Error('no nodes')
    clock.set(clock.now() + 90_000_000_000n)
    const long = draftAgentDescriptor({
      agent_id: 'long-lived',
      node_public_key: signer.publicKey,
      network_name: 'TEST-NET',
      capabilities: TAGS,
      endpoint: { host: '198.51.100.7', port: 7448 },
      registered_at: writeInstant(clock.now()),
      expires_at: writeInstant(clock.now() + 86_400_000_000n),
    })
    const body = await signList(long, signer)
    accepted(await na.request('POST', '/agents', { body }))
    clock.advance(10)
    await announce(signer, clock.now(), clock.now() + 60_000_000n)
    clock.advance(60)
    for (const hours of [0, 1, 12, 10.9]) {
      clock.advance(hours * 3600)
      refused(await na.request('POST', '/agents', { body }), 400, 'descriptor_expired')
      await purgeAgents(na.parts, AbortSignal.timeout(10_000))
      refused(await na.request('POST', '/agents', { body }), 400, 'descriptor_expired')
    }
  })
})
