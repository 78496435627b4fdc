import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type GenesisBlock, genesisDigest, readGenesisBlock, readJson, writePrivateKeyFile } from '@chancery/protocol'
import { silentLog, systemClock } from '@chancery/service-kit'
import {
  FIRST_KEY,
  accepted,
  createMigratedDatabase,
  createTestNetwork,
  currentBackend,
  enroll,
  fetchCrl,
  nodeCaller,
  operatorCaller,
  signSuccession,
  startTestAuthority,
  testSeed,
  testSigner,
} from '@chancery/testkit'
import type { Succeeded, TestAuthority, TestDatabase, TestKey } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startAuthority } from '../app.ts'
import { commands } from '../index.ts'
import { diagnose } from './doctor/diagnose.ts'
import { withdraw } from '../auth/operator-keys-check.ts'
import { closeFeatures, openFeatures } from '../features.ts'
import { openCore } from '../startup/open-core.ts'
import { runRotation } from './rotate-key.ts'
import type { GatewayKeys } from './rotation-followers.ts'
import { addPartner } from '../testing/stored-partner.suite.ts'

let folder: string
let database: TestDatabase
/** Two instances share a database of PostgreSQL. */
let instances: TestAuthority[]
const K2: TestKey = { keyId: 'na-2', seed: 'na-2' }
const K3: TestKey = { keyId: 'na-3', seed: 'na-3' }

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chancery-rotate-'))
  database = await createMigratedDatabase()
  const settings = { NA_HIGH_WATER_FILES: markFile() }
  instances = [await startTestAuthority({ database, settings })]
  if (currentBackend() === 'postgres') instances.push(await startTestAuthority({ database, settings }))
  accepted(await first().request('GET', '/crl'))
})
afterEach(async () => {
  for (const each of instances) await each.stop()
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

const markFile = (): string => join(folder, 'mark')
const first = (): TestAuthority => {
  const [na] = instances
  if (na === undefined) throw new Error('no instance')
  return na
}
const give = async (na: TestAuthority, key: TestKey): Promise<void> => {
  const { keySource } = na.settings
  if (keySource.provider !== 'file') throw new Error('no file')
  await writeFile(join(dirname(keySource.path), `${key.keyId}.key`), writePrivateKeyFile(testSeed(key.seed)), {
    mode: 0o600,
  })
}
/** One run of the command, with its lines. */
async function rotate(signed?: Required<Succeeded>, answer = true, gateways: GatewayKeys[] = []): Promise<string> {
  const lines: string[] = []
  const next =
    signed === undefined
      ? {}
      : {
          next: {
            keyId: signed.key.keyId,
            genesisFile: signed.settings['GENESIS_FILE'] ?? '',
            historyFile: signed.settings['NA_KEY_HISTORY_FILE'] ?? '',
          },
        }
  const askGateways = (): Promise<readonly GatewayKeys[]> => Promise.resolve(gateways)
  await runRotation(
    first().settings,
    { ...next, askGateways },
    {
      parts: { log: silentLog },
      print: (line) => lines.push(line),
      confirm: () => Promise.resolve(answer),
    },
  )
  return lines.join('\n')
}
const sign = (present: Succeeded, key: TestKey): Promise<Required<Succeeded>> =>
  signSuccession(folder, present, key, systemClock.now())
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Load on every instance: operators sign for the key of before, as programs that have not followed yet. */
function load(): {
  stop: () => Promise<{ readonly calls: number; readonly failures: readonly string[]; readonly slowestMs: number }>
} {
  let isRunning = true
  let calls = 0
  let slowestMs = 0
  const failures: string[] = []
  const run = async (
    na: TestAuthority,
    work: (na: TestAuthority, turn: number) => Promise<{ readonly status: number; readonly text: string }>,
  ) => {
    for (let turn = 0; isRunning; turn += 1) {
      const began = performance.now()
      const answer = await work(na, turn)
      slowestMs = Math.max(slowestMs, performance.now() - began)
      calls += 1
      if (answer.status >= 400) failures.push(`${answer.status} ${answer.text.slice(0, 200)}`)
      await pause(5)
    }
  }
  const works = instances.flatMap((na, at) => [
    run(na, (each) => each.request('GET', '/crl')),
    run(na, (each, turn) => each.as('privileged')('POST', '/admin/policy', { policy_id: `p-${at}-${turn}` })),
    run(na, (each) =>
      each.as('privileged')('POST', '/admin/attestations', { subject_id: 'clerk', roles: ['role:client'] }),
    ),
  ])
  return {
    stop: async () => {
      isRunning = false
      await Promise.all(works)
      return { calls, failures, slowestMs }
    },
  }
}

/** Commands on the host of an instance, with the settings of before the switch. */
async function commandsFollow(genesis: GenesisBlock): Promise<void> {
  const [envFile, backup] = [join(folder, 'former.env'), join(folder, 'backup')]
  const keys = Object.entries(first().signers).map(([name, { publicKey }]) => [`op-${name}`, publicKey] as const)
  const former: Record<string, string> = {
    GENESIS_FILE: first().settings.genesisFile,
    NA_PRIVATE_KEY_FILE: join(dirname(first().settings.genesisFile), 'na.key'),
    NA_KEY_ID: 'na-test',
    NA_HIGH_WATER_FILES: markFile(),
    OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify(Object.fromEntries(keys)),
    OPERATOR_KEY_TIERS_JSON: JSON.stringify(Object.fromEntries(keys.map(([id]) => [id, id.slice(3)]))),
    PORT: new URL(first().url).port,
    ...database.settings,
  }
  const text = Object.entries(former).map(([name, value]) => `${name}=${value}`)
  await writeFile(envFile, text.join('\n'), { mode: 0o600 })
  await first().core.rollback.writeMark()
  const args = { flags: {}, envFile, onProgress: () => undefined }
  expect(await commands.migrateSchema(args)).toMatchObject({ ok: true })
  expect(await commands.verifyDatabase(args)).toMatchObject({ ok: true, problems: [] })
  expect(await commands.backup({ ...args, to: backup })).toMatchObject({ ok: true, marks: 1 })
  expect(readGenesisBlock(readJson(await readFile(join(backup, 'genesis.json'), 'utf8')))).toEqual(genesis)
  expect(await commands.rehearse({ ...args, from: backup, onSqlite: true })).toMatchObject({ ok: true, marks: 1 })
  expect(await commands.rehearse({ ...args, onSqlite: true })).toMatchObject({ ok: true })
  const findings = await diagnose(args)
  // Two instances of this test run without NA_HA_MODE.
  expect(findings.filter(({ status, check }) => status === 'bad' && check !== 'instances')).toEqual([])
  expect(findings).toContainEqual(expect.objectContaining({ check: 'key-settings', status: 'warn' }))
  // A block of another root key is not followed, although it names the former key.
  const name = first().genesis.network_name
  const stranger = await createTestNetwork(name, { rootSeed: 'stranger', keyId: 'na-test', seed: 'na' })
  const strange = [
    ...text.filter((line) => !/^(?:GENESIS|NA_HIGH)/.test(line)),
    `GENESIS_FILE=${stranger.settings['GENESIS_FILE']}`,
  ]
  await writeFile(envFile, strange.join('\n'))
  const refused = await commands.backup({ ...args, to: join(folder, 'strange') })
  expect(refused).toMatchObject({ ok: false, code: 'backup_unusable' })
  await stranger.remove()
}

describe('authority rotate-key', () => {
  it('switches while all instances run, without a refused call, and an instance starts again with its former settings', async () => {
    for (const na of instances) await give(na, K2)
    const [old, next] = [await testSigner('na-test', 'na'), await testSigner(K2.keyId, K2.seed)]
    const two = await sign({ genesis: first().genesis, key: FIRST_KEY }, K2)
    const [follows, lacks] = [
      { url: 'https://one.invalid', keyIds: ['na-test', 'na-2'] },
      { url: 'https://two.invalid', keyIds: ['na-test'] },
    ]
    const silent = { url: 'https://three.invalid', failure: 'it cannot be reached' }
    const waiting = await rotate(two, true, [follows, lacks, silent])
    expect(waiting).toContain(
      'gateways   1 of 3 have a key na-2; not yet: https://two.invalid; did not say: https://three.invalid (it cannot be reached)',
    )
    expect(waiting).toContain('Nothing is switched.')
    const announced = await rotate(undefined, false, [follows])
    expect(announced).toContain('gateways   1 of 1 have a key na-2')
    expect(announced).toContain(`${instances.length} of ${instances.length} have the key`)
    expect(announced).toContain('Stopped.')
    const pinned = await fetchCrl(first().url, next.publicKey, '/crl/keys/na-2')
    expect(pinned.issuer).toBe('na-2')
    const running = load()
    await pause(300)
    const switched = await rotate()
    await pause(2500)
    const { calls, failures, slowestMs } = await running.stop()
    process.stderr.write(`rotate-key: ${calls} calls, slowest ${Math.round(slowestMs)} ms\n`)
    expect([failures, switched]).toEqual([[], expect.stringContaining('na-2 has taken over from na-test')])
    for (const na of instances) {
      expect((await fetchCrl(na.url, next.publicKey)).issuer).toBe('na-2')
      expect((await fetchCrl(na.url, old.publicKey, '/crl/keys/na-test')).issuer).toBe('na-test')
      expect(genesisDigest(accepted(await na.request('GET', '/genesis')) as never)).toBe(genesisDigest(two.genesis))
      const send = operatorCaller(na.url, na.signers['privileged'] ?? next, next.publicKey, () => systemClock.now())
      const issued = accepted(
        await send('POST', '/admin/attestations', { subject_id: 'c', roles: ['role:client'] }),
        201,
      )
      expect(issued['issued_by']).toBe('na-2')
      accepted(await na.request('GET', '/readyz'))
    }
    await commandsFollow(two.genesis)
    // Without the key nothing starts. With it the former settings still do.
    await expect(startTestAuthority({ database })).rejects.toThrow('another authority key')
    const { settings } = first()
    await first().authority.close()
    instances.shift()
    const again = await startAuthority(settings, { log: silentLog })
    expect([again.core.signing.keyId, again.core.keys.formerSigner?.keyId]).toEqual(['na-2', 'na-test'])
    await again.close()
    await rm(dirname(settings.genesisFile), { recursive: true })
  }, 120_000)

  it('is refused while an instance lacks the key, and goes on when it is there', async () => {
    const two = await sign({ genesis: first().genesis, key: FIRST_KEY }, K2)
    await expect(rotate(two)).rejects.toThrow('the next key na-2 cannot be used')
    await give(first(), K2)
    const other = instances[1]
    if (other !== undefined) {
      expect(await rotate(two)).toContain('Nothing is switched.')
      await give(other, K2)
      await pause(2500)
    }
    expect(await rotate(other === undefined ? two : undefined)).toContain('has taken over')
    expect(await rotate()).toContain('na-test is retired, and these settings still name it')
    const three = await sign(two, K3)
    for (const na of instances) await give(na, K3)
    // The settings still name the first key, and the database the announced one next to the one in use.
    expect(await rotate(three, false)).toContain('Stopped.')
    expect(await rotate()).toContain('na-3 has taken over from na-2')
  }, 120_000)

  it('is followed, or stopped, by an instance that has read its key and does not listen yet', async () => {
    for (const na of instances) await give(na, K2)
    const two = await sign({ genesis: first().genesis, key: FIRST_KEY }, K2)
    expect(await rotate(two, false)).toContain('Stopped.')
    const open = async (instanceId: string) => {
      const { core, close } = await openCore({ ...first().settings, instanceId }, { log: silentLog })
      const features = openFeatures(core, first().settings)
      const end = async (): Promise<void> => {
        await closeFeatures(features)
        await close()
      }
      return { core, features, end }
    }
    const [early, late] = [await open('early'), await open('late')]
    await early.features.keySuccession.enter()
    expect(await rotate()).toMatch(/have the key: early\n[^]*Nothing is switched/)
    await withdraw(early.core)
    expect(await rotate()).toContain('na-2 has taken over')
    await late.features.keySuccession.enter()
    expect([early.core.signing.keyId, late.core.signing.keyId]).toEqual(['na-test', 'na-2'])
    for (const each of [early, late]) await each.end()
  }, 120_000)

  it('waits for nodes, and is undone before the switch by a block of the present key', async () => {
    for (const na of instances) await give(na, K2)
    const node = nodeCaller(first().url, await testSigner('node', 'slow'), () => systemClock.now())
    const { cert_id } = await enroll(first(), node)
    accepted(await node.heartbeat(cert_id, { genesis_digest: genesisDigest(first().genesis) }))
    const two = await sign({ genesis: first().genesis, key: FIRST_KEY }, K2)
    await addPartner(first(), 'BAY', (await testSigner(K2.keyId, K2.seed)).publicKey)
    await addPartner(first(), 'FJORD', (await testSigner('na-test', 'na')).publicKey)
    await addPartner(first(), 'SILENT')
    const waiting = await rotate(two)
    expect(waiting).toContain(
      '1 of 3 name the key in a treaty, as last read; must replace their treaty: FJORD; show no treaty with this network: SILENT',
    )
    expect(waiting).toContain(`0 of 1 with a heartbeat within a day: ${cert_id}`)
    expect(waiting).toContain('Nothing is switched.')
    await pause(1100)
    const back = await sign(two, FIRST_KEY)
    expect(await rotate(back)).toContain('Step 4 of 4')
    await pause(2500)
    expect(genesisDigest(accepted(await first().request('GET', '/genesis')) as never)).toBe(genesisDigest(back.genesis))
    accepted(await first().as('privileged')('POST', '/admin/policy', { policy_id: 'after-undo' }), 201)
  }, 120_000)
})
