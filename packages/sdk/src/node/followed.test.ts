import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { genesisDigest, signList, writeInstant, writeJson } from '@chancery/protocol'
import type { GenesisBlock, KeyHistory } from '@chancery/protocol'
import {
  FIRST_KEY,
  ManualClock,
  createInvite,
  createMigratedDatabase,
  signSuccession,
  startTestAuthority,
  runTestStep,
  testSigner,
} from '@chancery/testkit'
import type { Succeeded, TestAuthority, TestDatabase } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Client } from '../client.ts'
import { FollowedKeys, MemoryNodeStore } from './followed.ts'
import { type StartedNode, startNode } from '../testing/started-node.suite.ts'

const SECOND_KEY = { keyId: 'na-2', seed: 'na-2' }
let clock: ManualClock
let folder: string
let database: TestDatabase
let na: TestAuthority
let next: Required<Succeeded>

const start = (settings: Readonly<Record<string, string>> = {}): Promise<TestAuthority> =>
  startTestAuthority({ clock, database, settings: { NA_HEARTBEAT_SECONDS: '60', ...settings } })

beforeEach(async () => {
  clock = new ManualClock('2026-03-01T00:00:00Z')
  folder = await mkdtemp(join(tmpdir(), 'chancery-followed-'))
  database = await createMigratedDatabase('sqlite')
  na = await start()
  next = await signSuccession(folder, { genesis: na.genesis, key: FIRST_KEY }, SECOND_KEY, clock.now())
})
afterEach(async () => {
  await na.stop()
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

/** Of the same block and a minute later: the root ends the time of the former key earlier. */
async function newerHistory(): Promise<KeyHistory> {
  clock.advance(60)
  const issued_at = writeInstant(clock.now())
  const former_keys = next.history.former_keys.map((key) => ({ ...key, valid_to: issued_at }))
  return signList({ ...next.history, issued_at, former_keys, signatures: [] }, await testSigner('rs-test', 'root'))
}

/** A node whose clock moves while it waits, and that can be paused. */
async function run(
  store: MemoryNodeStore,
  genesis: GenesisBlock = na.genesis,
): Promise<{
  readonly node: StartedNode
  readonly until: (isDone: () => boolean) => Promise<void>
}> {
  let isPaused = true
  const node = await startNode({
    url: na.url,
    genesis,
    store,
    invite: () => createInvite(na, { max_validity_hours: 168 }),
    clock: () => clock.now(),
    random: () => 0.5,
    followRevocations: true,
    sleep: async (ms, signal) => {
      while (isPaused && signal?.aborted !== true) await new Promise((resolve) => setImmediate(resolve))
      clock.advance(ms / 1000)
    },
  })
  const until = async (isDone: () => boolean): Promise<void> => {
    isPaused = false
    const end = performance.now() + 15_000
    while (performance.now() < end && !isDone()) await new Promise((resolve) => setTimeout(resolve, 1))
    isPaused = true
    expect(isDone()).toBe(true)
  }
  return { node, until }
}

describe('a node over a key succession', () => {
  it('takes up the announced block, goes on under both keys, and renews to the new one', async () => {
    const store = new MemoryNodeStore()
    const { node, until } = await run(store)
    const old = node.certificate
    const failures: string[] = []
    node.on('failed', ({ action, error }) => failures.push(`${action}: ${error.message}`))
    await until(() => node.crl !== undefined)
    await runTestStep('announce', next, { database, clock })
    na.core.newestBlock.clear()
    await until(() => node.keys.history !== undefined)
    expect(node.keys.genesis).toEqual(next.genesis)
    expect(node.certificate.cert_id).toBe(old.cert_id)
    let beats = 0
    node.on('heartbeat', () => (beats += 1))
    // The next one reports to the authority.
    await until(() => beats >= 2)
    expect(await runTestStep('status', next, { database, clock })).toContain('1 of 1 nodes have the new block')

    const { port } = new URL(na.url)
    await na.stop()
    await runTestStep('switch', next, { database, clock })
    na = await start({ ...next.settings, PORT: port })
    await until(() => node.certificate.issued_by === 'na-2')
    expect(node.crl?.issuer).toBe('na-2')
    await node.stop()
    expect(failures.filter((text) => !text.startsWith('heartbeat'))).toEqual([])

    // After a restart it needs neither invite nor announcement.
    const again = await run(store)
    expect(again.node.certificate.issued_by).toBe('na-2')
    expect(genesisDigest(again.node.keys.genesis)).toBe(genesisDigest(next.genesis))
    await again.node.stop()
  })

  it('follows after the switch without an announcement, and uses the new key once the old one is removed', async () => {
    const store = new MemoryNodeStore()
    const { node, until } = await run(store)
    await until(() => node.crl !== undefined)
    const { port } = new URL(na.url)
    await na.stop()
    await runTestStep('switch', next, { database, clock, isForced: true })
    await runTestStep('retire', next, { database, clock, isForced: true })
    const { NA_FORMER_PRIVATE_KEY_FILE: _key, ...without } = next.settings
    na = await start({ ...without, PORT: port })
    await until(() => node.certificate.issued_by === 'na-2')
    expect(await node.client.enrollment.nodes()).toEqual({ count: 1 })
    await node.stop()
  })

  it('takes up a newer history of the same block at its start and once a day', async () => {
    const { port } = new URL(na.url)
    const store = new MemoryNodeStore()
    const pinned = na.genesis
    const { node, until } = await run(store)
    await until(() => node.crl !== undefined)
    const serve = async (history: KeyHistory): Promise<void> => {
      await writeFile(next.settings['NA_KEY_HISTORY_FILE'] ?? '', writeJson(history))
      na = await start({ ...next.settings, PORT: port, NA_HEARTBEAT_SECONDS: '900' })
    }
    await na.stop()
    await runTestStep('announce', next, { database, clock })
    await runTestStep('switch', next, { database, clock, isForced: true })
    await serve(next.history)
    await until(() => node.keys.history?.issued_at === next.history.issued_at)
    const second = await newerHistory()
    await na.stop()
    await serve(second)
    await until(() => node.keys.history?.issued_at === second.issued_at)
    await node.stop()
    const third = await newerHistory()
    await na.stop()
    await serve(third)
    const again = await run(store, pinned)
    let beats = 0
    again.node.on('heartbeat', () => (beats += 1))
    await again.until(() => again.node.keys.history?.issued_at === third.issued_at)
    expect(beats).toBeLessThanOrEqual(1)
    await again.node.stop()
  }, 60_000)

  it('does not take a block that only the authority key signed', async () => {
    const store = new MemoryNodeStore()
    const { node, until } = await run(store)
    await until(() => node.crl !== undefined)
    const thief = await signSuccession(
      folder,
      { genesis: na.genesis, key: FIRST_KEY },
      { keyId: 'x', seed: 'x' },
      clock.now(),
    )
    const { signatures: _real, ...block } = thief.genesis
    const authority = await testSigner('na-test', 'na')
    const forged = await signList({ ...block, signatures: [] }, authority)
    await na.core.database.write(({ query }) =>
      query
        .insertInto('key_succession')
        .values({
          id: 1,
          key_id: 'x',
          genesis_digest: 'f'.repeat(64),
          genesis_json: writeJson(forged),
          history_json: writeJson(thief.history),
          first_list_json: null,
          phase: 'announced',
          announced_at: '2026-03-01T00:00:00.000000Z',
          switched_at: null,
        })
        .execute(),
    )
    na.core.newestBlock.clear()
    const reasons: string[] = []
    node.on('keys_refused', ({ reason }) => reasons.push(reason))
    await until(() => reasons.length > 0)
    await node.stop()
    expect(reasons).toEqual(['invalid_signature'])
    expect(node.keys).toEqual({ genesis: na.genesis })
    expect(await store.read('keys')).toBeUndefined()
  })
})

describe('FollowedKeys', () => {
  const offering = (signed: Required<Succeeded>): Client =>
    ({
      sovereign: {
        keySuccession: () =>
          Promise.resolve({
            phase: 'announced',
            current_public_key: na.genesis.network_authority.public_key,
            genesis: signed.genesis,
            key_history: signed.history,
            first_list: null,
          }),
      },
    }) as unknown as Client

  it('goes through successions and one that is undone, also over restarts, and never back', async () => {
    const store = new MemoryNodeStore()
    const first = { genesis: na.genesis, key: FIRST_KEY }
    let followed = await FollowedKeys.open(na.genesis, store)
    const steps = [next]
    clock.advance(60)
    steps.push(await signSuccession(folder, next, FIRST_KEY, clock.now()))
    clock.advance(60)
    const third = await signSuccession(folder, steps[1] ?? first, { keyId: 'na-3', seed: 'na-3' }, clock.now())
    for (const each of [...steps, third]) {
      expect(await followed.follow(offering(each))).toBe('changed')
      expect(await followed.follow(offering(each))).toBe('unchanged')
      followed = await FollowedKeys.open(na.genesis, store)
      expect(followed.keys).toEqual({ genesis: each.genesis, history: each.history })
    }
    for (const each of steps) expect(await followed.follow(offering(each))).toBe('rollback')
    expect(followed.keys.genesis).toEqual(third.genesis)
  })

  it('uses a newer history for the same block, and not an older one after it', async () => {
    const store = new MemoryNodeStore()
    const followed = await FollowedKeys.open(na.genesis, store)
    expect(await followed.follow(offering(next))).toBe('changed')
    const newer = { ...next, history: await newerHistory() }
    expect(await followed.follow(offering(newer))).toBe('changed')
    expect(followed.at(newer.history.issued_at)).toEqual([next.genesis.network_authority.public_key])
    expect(await followed.follow(offering(newer))).toBe('unchanged')
    expect((await FollowedKeys.open(na.genesis, store)).keys.history).toEqual(newer.history)
    expect(await followed.follow(offering(next))).toBe('rollback')
  })

  it('begins with the pin again when the stored keys are not of its root', async () => {
    const store = new MemoryNodeStore()
    await store.write(
      'keys',
      writeJson({ genesis: { ...next.genesis, network_version: 'v9' }, key_history: next.history }),
    )
    expect((await FollowedKeys.open(na.genesis, store)).keys).toEqual({ genesis: na.genesis })
  })
})
