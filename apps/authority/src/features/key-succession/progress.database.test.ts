import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DAY, type JoinCertificate, genesisDigest, writeInstant, writeSortable } from '@chancery/protocol'
import {
  FIRST_KEY,
  ManualClock,
  accepted,
  createMigratedDatabase,
  enroll,
  nodeCaller,
  signSuccession,
  startTestAuthority,
  runTestStep,
  testSigner,
} from '@chancery/testkit'
import type { Succeeded, TestAuthority, TestDatabase } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { jobsOf } from '../../features.ts'
import { jobsOfWorker } from '../../startup/worker-jobs.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

let clock: ManualClock
let folder: string
let database: TestDatabase
let na: TestAuthority
let next: Required<Succeeded>
beforeEach(async () => {
  clock = new ManualClock()
  folder = await mkdtemp(join(tmpdir(), 'chancery-progress-'))
  database = await createMigratedDatabase()
  na = await startTestAuthority({ clock, database })
  await na.request('GET', '/crl')
  const key = { keyId: 'na-2', seed: 'na-2' }
  next = await signSuccession(folder, { genesis: na.genesis, key: FIRST_KEY }, key, clock.now())
})
afterEach(async () => {
  await na.stop()
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

/** Three nodes. The first ones report the new block. */
async function beat(holding: number): Promise<void> {
  for (const [index, name] of ['a', 'b', 'c'].entries()) {
    const node = nodeCaller(na.url, await testSigner('node', `progress ${name}`), () => clock.now())
    const certificate: JoinCertificate = await enroll(na, node)
    const digest = genesisDigest(index < holding ? next.genesis : na.genesis)
    accepted(await node.heartbeat(certificate.cert_id, { genesis_digest: digest }))
  }
}

const metric = async (name: string): Promise<string | undefined> =>
  new RegExp(`^chancery_key_succession_${name} (\\S+)$`, 'm').exec((await na.request('GET', '/metrics')).text)?.[1]
const status = (): Promise<readonly string[]> => runTestStep('status', next, { database, clock })
const shown = async (): Promise<string> => (await na.request('GET', '/dashboard')).text

/** An authority reads the figures every ten seconds. One that just started has none. */
async function restart(settings: Readonly<Record<string, string>> = {}): Promise<void> {
  await na.stop()
  na = await startTestAuthority({ clock, database, settings })
}

describe('progress of a key succession', () => {
  it('is the same in command, metrics, dashboard and page while the key is announced', async () => {
    await runTestStep('announce', next, { database, clock })
    await beat(2)
    clock.advance(90)
    const switchBy = writeInstant(clock.now() - 90_000_000n + 30n * DAY)
    const step = `Wait until all nodes have the new block. Switch before ${switchBy} with chancery authority rotate-key.`
    expect(await status()).toEqual([
      'phase announced, key na-2',
      expect.stringMatching(/^announced /),
      `switch before ${switchBy}`,
      '2 of 3 nodes have the new block',
      `next: ${step}`,
    ])
    expect([await metric('nodes'), await metric('nodes_with_new_block')]).toEqual(['3', '2'])
    expect(await metric('age_seconds{phase="announced"}')).toBe('90')
    expect(await metric('switch_within_seconds{phase="announced"}')).toBe(String(30 * 86_400 - 90))
    const view = accepted(await na.request('GET', '/dashboard.json'))
    expect(view['key_succession']).toEqual({
      phase: 'announced',
      key_id: 'na-2',
      announced_at: expect.any(String),
      switched_at: null,
      switch_by: switchBy,
      nodes: 3,
      nodes_with_new_block: 2,
      former_key_id: null,
      next_step: step,
    })
    expect(view['warnings']).toContain('A key succession is announced: 2 of 3 nodes have the new block.')
    const page = await shown()
    expect(page).toContain('<strong>2 of 3 nodes have the new block</strong>')
    expect(page).toContain('<progress max="3" value="2"')
    expect(page).toContain(`Next: ${step}`)
  })

  it('is in the metrics of every worker of a large network', async () => {
    await runTestStep('announce', next, { database, clock })
    const nodes = 10_001
    const last_heartbeat = writeSortable(clock.now())
    for (let from = 0; from < nodes; from += 2000) {
      const rows = Array.from({ length: Math.min(2000, nodes - from) }, (_, index) => ({
        cert_id: `cert-${from + index}`,
        node_public_key: `key-${from + index}`,
        last_heartbeat,
        heartbeat_status: 'ok',
        remote_addr: '192.0.2.1',
      }))
      await rowsOf(na.core.database).insertInto('node_liveness').values(rows).execute()
    }
    // Later than a count of this process.
    clock.advance(60)
    const jobs = jobsOfWorker(jobsOf(na.features, na.core), { worker: 2 })
    for (const job of jobs.filter(({ name }) => name === 'succession-progress'))
      await job.run(new AbortController().signal)
    expect([await metric('nodes'), await metric('nodes_with_new_block')]).toEqual([String(nodes), '0'])
  })

  it('continues after the switch and ends with the retirement', async () => {
    await runTestStep('announce', next, { database, clock })
    await beat(3)
    await na.stop()
    await runTestStep('switch', next, { database, clock })
    clock.advance(30)
    na = await startTestAuthority({ clock, database, settings: next.settings })
    expect(await status()).toContain(
      'next: Wait until nodes have certificates of the new key, then run --step retire for na-test.',
    )
    expect([await metric('nodes_with_new_block'), await metric('age_seconds{phase="switched"}')]).toEqual(['3', '30'])
    expect((await na.request('GET', '/metrics')).text).not.toMatch(/^chancery_key_succession_switch/m)
    expect(await shown()).toContain('<strong>3 of 3 nodes have the new block</strong>')
    await runTestStep('retire', next, { database, clock, isForced: true })
    await restart(next.settings)
    expect(await shown()).not.toContain('Key succession')
    expect(accepted(await na.request('GET', '/dashboard.json'))).not.toHaveProperty('key_succession')
    expect([await metric('nodes'), await metric('age_seconds{phase="switched"}')]).toEqual(['0', undefined])
  })

  it('ends with --step retire also when the list of the former key has expired, and once', async () => {
    await runTestStep('announce', next, { database, clock })
    await na.stop()
    await runTestStep('switch', next, { database, clock, isForced: true })
    clock.advance(2 * 3600)
    na = await startTestAuthority({ clock, database, settings: next.settings })
    expect(await status()).toContain(
      'next: No certificate of the former key is left: take it out of the settings and run --step retire.',
    )
    const done = await runTestStep('retire', next, { database, clock })
    expect(done).toEqual(['the former key is retired: take it out of the settings and destroy it'])
    expect((await status())[0]).toBe('phase retired, key na-2')
    expect(await runTestStep('retire', next, { database, clock })).toEqual(done)
    expect(await na.auditEvents('authority_key_retired')).toHaveLength(1)
  })

  it('ends with --step retire when an announced succession was undone before the switch', async () => {
    await runTestStep('announce', next, { database, clock })
    clock.advance(60)
    const undo = await signSuccession(folder, next, FIRST_KEY, clock.now())
    const said = await runTestStep('announce', undo, { database, clock })
    expect(said.at(-1)).toContain('start all instances with these settings')
    await restart(undo.settings)
    expect(await runTestStep('retire', undo, { database, clock })).toEqual([
      'the former key is retired: take it out of the settings and destroy it',
    ])
    expect(accepted(await na.request('GET', '/key-succession'))).toMatchObject({ phase: 'settled' })
  })
})
