import { readFile, writeFile } from 'node:fs/promises'
import {
  DAY,
  HOUR,
  canonicalBytes,
  draftCrl,
  draftGenesisBlock,
  draftRevocationFeed,
  sha256Hex,
  signList,
  writeInstant,
  writeJson,
} from '@chancery/protocol'
import type { Crl, Instant, JsonObject, JsonValue, RevocationFeed } from '@chancery/protocol'
import { testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type FakeAuthority, startFakeAuthority } from '../../testing/fake-authority.suite.ts'
import { type CommandRun, NOW, TestContext } from '../../testing/run-command.suite.ts'

/** What the authority publishes is ours to choose: a real one would not publish most of this. */
let published: { crl: JsonValue; feed: JsonValue }
let server: FakeAuthority
let setup: TestContext

const signerOf = (seed = 'na') => testSigner('na-test', seed)
const entry = (certificate_id: string) => ({
  certificate_id,
  revoked_at: writeInstant(NOW - DAY),
  reason: 'key_compromise' as const,
  issuer: 'na-test',
})

async function list(
  sequence: number,
  over: { at?: Instant; seed?: string; ids?: string[]; id?: string } = {},
): Promise<Crl> {
  const { at = NOW - HOUR, seed, ids = ['cert-1'], id = `crl-${sequence}` } = over
  const facts = { crl_id: id, sequence, issuer: 'na-test', now: at, entries: ids.map(entry) }
  return signList(draftCrl(facts), await signerOf(seed))
}

async function feedOf(sequence: number, ids: readonly string[], issuer = 'TEST-NET'): Promise<RevocationFeed> {
  const facts = {
    feed_id: `feed-${sequence}`,
    issuer_sovereign_id: issuer,
    sequence,
    issued_at: writeInstant(NOW - HOUR),
    issued_by: 'na-test',
  }
  return signList(draftRevocationFeed({ ...facts, reasons: new Map(ids.map((id) => [id, 'ended'])) }), await signerOf())
}

beforeAll(async () => {
  setup = await TestContext.make()
  const [root, na] = [await testSigner('rs-test', 'root'), await signerOf()]
  const window = { valid_from: writeInstant(NOW - DAY), valid_to: writeInstant(NOW + 90n * DAY) }
  const draft = draftGenesisBlock({
    network_name: 'TEST-NET',
    root_public_key: root.publicKey,
    network_authority: { public_key: na.publicKey, ...window },
  })
  await writeFile(setup.path('genesis.json'), writeJson(await signList(draft, root)))
  server = await startFakeAuthority({ audience: na.publicKey, operator: na.publicKey }, ({ route }) => ({
    json: route.endsWith('/crl') ? published.crl : published.feed,
  }))
})
afterAll(async () => {
  await server.close()
  await setup.remove()
})

let states = 0
let state = ''
beforeEach(async () => {
  published = { crl: await list(5), feed: await feedOf(3, ['att-1', 'att-2']) }
  state = `state-${(states += 1)}.json`
})

const watch = (flags = '', now = NOW): Promise<CommandRun> =>
  setup.run(`authority watch --url ${server.url} --genesis genesis.json --state ${state} --json ${flags}`, {
    now: () => now,
  })

describe('watch', () => {
  it('ends with 0 and says what it saw', async () => {
    const ran = await watch('--canary cert-1')
    expect(ran.code).toBe(0)
    expect(ran.json()).toEqual({
      ok: true,
      looked_at: '2030-01-02T03:00:00Z',
      crl: { problems: [], sequence: 5, age_seconds: 3600, expires_in_seconds: 23 * 3600 },
      feed: { problems: [], sequence: 3, age_seconds: 3600 },
    })
  })

  it('reports no problem while sequences rise or stay', async () => {
    expect((await watch()).code).toBe(0)
    expect((await watch()).code).toBe(0)
    published = { crl: await list(6, { ids: ['cert-2'] }), feed: await feedOf(4, ['att-1', 'att-2', 'att-3']) }
    expect((await watch()).code).toBe(0)
  })

  it('says nothing of a list that was only signed again: the same revocations in the same order', async () => {
    await watch()
    published = { ...published, crl: await list(5, { id: 'crl-5-again', at: NOW }) }
    expect((await watch()).json()['crl']).toMatchObject({ problems: [] })
  })

  it('continues from the state of an earlier release, which stored a digest of the signed bytes', async () => {
    await watch()
    const { authority } = JSON.parse(await readFile(setup.path(state), 'utf8')) as JsonObject
    const { signatures: _, ...signed } = published.crl as JsonObject
    const digest = sha256Hex(canonicalBytes(signed))
    const earlier = async (): Promise<void> =>
      writeFile(setup.path(state), JSON.stringify({ authority, crl: { sequence: 5, digest } }))
    await earlier()
    expect((await watch()).json()['crl']).toMatchObject({ problems: [] })
    for (const [made, problem] of [
      [await list(4), 'rollback'],
      [await list(5, { ids: ['cert-2'] }), 'equivocation'],
    ] as const) {
      await earlier()
      published = { ...published, crl: made }
      expect((await watch()).json()['crl']).toMatchObject({ problems: [problem] })
    }
  })

  it('ends with 1 and names what is wrong with the list', async () => {
    const wrong: [string, () => Promise<JsonValue>, Instant?][] = [
      ['unauthentic', () => list(6, { seed: 'another key' })],
      ['rollback', () => list(4)],
      ['equivocation', () => list(5, { ids: ['cert-1', 'cert-2'] })],
      ['equivocation', () => list(5, { ids: ['cert-1', 'cert-2'], at: NOW - 2n * HOUR })],
      ['rollback', () => list(6, { at: NOW - 2n * HOUR })],
      ['future', () => list(6, { at: NOW + HOUR })],
      ['old', () => list(6), NOW + 13n * HOUR],
      ['ended', () => list(6), NOW + 23n * HOUR],
      ['canary_missing', () => list(6, { ids: [] })],
      ['malformed', () => Promise.resolve({ sequence: 6 })],
    ]
    for (const [problem, make, now] of wrong) {
      state = `state-${(states += 1)}.json`
      published = { ...published, crl: await list(5) }
      expect((await watch()).code, problem).toBe(0)
      published = { ...published, crl: await make() }
      const ran = await watch('--canary cert-1', now)
      expect([ran.code, ran.json()['crl']], problem).toEqual([1, expect.objectContaining({ problems: [problem] })])
      expect(ran.json()['feed'], problem).toMatchObject({ problems: [] })
    }
  })

  it('says in words how far ahead a list is dated', async () => {
    published = { ...published, crl: await list(6, { at: NOW + HOUR }) }
    const ran = await setup.run(`authority watch --url ${server.url} --genesis genesis.json`, { now: () => NOW })
    expect(ran.stdout).toMatch(/list {2}6, dated 3600 s ahead of this clock: future\n/)
    expect(ran.stdout).toMatch(/feed {2}3, signed 3600 s ago/)
  })

  it('ends with 1 and names what is wrong with the feed', async () => {
    const wrong: [string, () => Promise<JsonValue>][] = [
      ['unauthentic', () => feedOf(4, ['att-1', 'att-2'], 'OTHER-NET')],
      ['rollback', () => feedOf(2, ['att-1', 'att-2'])],
      ['equivocation', () => feedOf(3, ['att-1', 'att-9'])],
      ['shrunk', () => feedOf(4, ['att-1'])],
    ]
    expect((await watch()).code).toBe(0)
    for (const [problem, make] of wrong) {
      published = { ...published, feed: await make() }
      const ran = await watch()
      expect([ran.code, ran.json()['feed']], problem).toEqual([1, expect.objectContaining({ problems: [problem] })])
    }
  })

  it('does not store a list that it refused', async () => {
    await watch()
    published = { ...published, crl: await list(4) }
    expect((await watch()).json()['crl']).toMatchObject({ problems: ['rollback'] })
    expect((await watch()).json()['crl']).toMatchObject({ problems: ['rollback'] })
  })

  it.each([
    ['of another authority', () => ({ authority: 'another' })],
    ['whose list was lost', (saved: JsonObject) => ({ ...saved, crl: null })],
    ['whose list has no number', (saved: JsonObject) => ({ ...saved, crl: { sequence: '7', digest: 'd' } })],
    ['whose feed was not counted', (saved: JsonObject) => ({ ...saved, feed: { sequence: 7, digest: 'd' } })],
  ])('refuses to start again over a state it does not understand: one %s', async (_what, damage) => {
    await watch()
    const saved = JSON.parse(await readFile(setup.path(state), 'utf8')) as JsonObject
    await writeFile(setup.path(state), JSON.stringify(damage(saved)))
    const ran = await watch()
    expect([ran.code, ran.errorJson()]).toEqual([
      1,
      expect.objectContaining({ error: expect.objectContaining({ code: 'invalid_state' }) }),
    ])
  })

  it('needs a pin', async () => {
    expect((await setup.run(`authority watch --url ${server.url} --json`, { now: () => NOW })).code).toBe(2)
  })

  it('reports an authority that cannot be reached', async () => {
    const ran = await setup.run(`authority watch --url http://127.0.0.1:1 --genesis genesis.json --json`, {
      now: () => NOW,
      sleep: () => undefined,
    })
    expect([ran.code, ran.json()['crl']]).toEqual([1, { problems: ['unreachable'] }])
  })

  it('writes Prometheus text with every problem as a series', async () => {
    await watch()
    published = { ...published, crl: await list(4) }
    await watch('--metrics-file out.prom')
    const text = await readFile(setup.path('out.prom'), 'utf8')
    expect(text).toContain('chancery_watch_problem{document="crl",problem="rollback"} 1\n')
    expect(text).toContain('chancery_watch_problem{document="feed",problem="rollback"} 0\n')
    expect(text).toContain('chancery_watch_sequence{document="crl"} 4\n')
    expect(text).toContain('chancery_watch_last_look_timestamp_seconds 1893553200\n')
  })

  it('stays with --every, one line for each look, and ends as the last look did', async () => {
    const stop = new AbortController()
    let waits = 0
    const sleep = async (ms: number): Promise<void> => {
      expect(ms).toBe(60_000)
      waits += 1
      if (waits === 1) published = { ...published, crl: await list(4) }
      else stop.abort()
    }
    const line = `authority watch --url ${server.url} --genesis genesis.json --state ${state} --every 60s --json`
    const ran = await setup.run(line, { now: () => NOW, sleep, stop: stop.signal })
    expect(ran.events().map((event) => event['event'])).toEqual(['good', 'wrong'])
    expect(ran.code).toBe(1)
  })
})
