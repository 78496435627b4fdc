import { readFile, writeFile } from 'node:fs/promises'
import { draftGenesisBlock, readGenesisBlock, readJson, readKeyHistory, signList, writeJson } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { ManualClock, accepted, testSigner } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SuccessionSetup } from '../../testing/succession.suite.ts'

const SECOND_KEY = { keyId: 'na-2', seed: 'na-2' }
let clock: ManualClock
let setup: SuccessionSetup
beforeEach(async () => {
  clock = new ManualClock('2030-01-02T03:00:00Z')
  setup = await SuccessionSetup.open(clock, { NA_CLOCK_CHECK: 'off' })
})
afterEach(() => setup.close())

const follow = (more = ''): ReturnType<SuccessionSetup['run']> =>
  setup.run(`genesis fetch --genesis genesis.json --url ${setup.url} --json ${more}`)
const file = async (name: string): Promise<JsonObject> =>
  readJson(await readFile(setup.setup.path(name), 'utf8')) as JsonObject
const publicKey = async (seed: string): Promise<string> => (await testSigner('key', seed)).publicKey

describe('genesis fetch', () => {
  it('finds nothing before a succession, then takes up the announced block, then the key that signs', async () => {
    expect((await follow()).json()).toMatchObject({ outcome: 'unchanged', key_history: null })
    const next = await setup.announce(SECOND_KEY)
    const announced = await follow('--out newest.json --history-out history.json')
    expect([announced.code, announced.json()['outcome']]).toEqual([0, 'changed'])
    expect(announced.json()['signing_key']).toBe(await publicKey('na'))
    expect(readGenesisBlock(await file('newest.json'))).toEqual(next.genesis)
    expect(readKeyHistory(await file('history.json'))).toEqual(next.history)
    expect(await file('keys.json')).toMatchObject({ genesis: next.genesis, key_history: next.history })
    await setup.switchTo(next)
    const switched = (await follow()).json()
    expect([switched['outcome'], switched['signing_key']]).toEqual(['changed', await publicKey('na-2')])
    expect((await follow()).json()['outcome']).toBe('unchanged')
  })

  it('refuses a block of another root and writes nothing', async () => {
    await setup.announce(SECOND_KEY)
    const [root, authority] = [await testSigner('rs', 'another root'), await testSigner('na', 'na')]
    const { network_name, network_authority } = setup.genesis
    const draft = draftGenesisBlock({
      network_name,
      root_public_key: root.publicKey,
      network_authority: { ...network_authority, public_key: authority.publicKey },
    })
    await writeFile(setup.setup.path('genesis.json'), writeJson(await signList(draft, root)))
    const ran = await follow()
    expect([ran.code, ran.errorJson()]).toMatchObject([1, { error: { code: 'another_network' } }])
    await expect(readFile(setup.setup.path('keys.json'))).rejects.toThrow('ENOENT')
  })
})

describe('commands of an operator over a key succession', () => {
  const lines = {
    policy: 'policy show network',
    feed: 'partner export-feed',
    license: 'policy show license',
  }
  const failing = async (): Promise<readonly string[]> => {
    const found: string[] = []
    for (const [name, line] of Object.entries(lines)) {
      const { code, stderr } = await setup.asOperator(line)
      if (code !== 0) found.push(`${name}: ${stderr}`)
    }
    return found
  }

  it('verify what either key signed once the block was followed, and name the command before', async () => {
    const license = {
      licensee_sovereign_id: 'PARTNER-NET',
      allowed_source_ids: ['src-1'],
      allowed_access_types: ['read'],
      max_volume_bytes_per_session: 1000,
      prohibited_classification_tags: [],
      valid_from: '2030-01-01T00:00:00Z',
      valid_until: '2031-01-01T00:00:00Z',
    }
    accepted(await setup.na.as('privileged')('POST', '/admin/data-usage/policy', license), 201)
    const request = {
      subject_sovereign_id: 'PARTNER-NET',
      subject_public_keys: [await publicKey('partner')],
      scope: { allowed_roles: ['role:client'] },
    }
    const treaty = accepted(await setup.na.as('privileged')('POST', '/admin/recognition-treaties', request), 201)
    const inspect = `treaty show ${String(treaty['treaty_id'])}`
    expect(await failing()).toEqual([])
    const next = await setup.announce(SECOND_KEY)
    expect(await failing()).toEqual([])
    await setup.switchTo(next)
    expect((await setup.asOperator('policy show network')).stderr).toContain('chancery genesis fetch')
    expect((await follow()).code).toBe(0)
    expect(await failing()).toEqual([])
    // Issued by the former key, and not signed again.
    const inspected = await setup.asOperator(inspect)
    expect([inspected.code, inspected.stderr]).toEqual([0, ''])
    // The request names the new key as audience, so it is accepted after the former key is removed.
    expect((await setup.asOperator('invite create')).code).toBe(0)
  })
})

describe('watch over a key succession', () => {
  it('goes on from announcement to retirement with one state and the first genesis block', async () => {
    const stop = new AbortController()
    let next: Awaited<ReturnType<SuccessionSetup['announce']>>
    const steps = [
      async () => void (next = await setup.announce(SECOND_KEY)),
      () => setup.switchTo(next),
      () => setup.retire(),
    ]
    const sleep = async (): Promise<void> => {
      clock.advance(60)
      const step = steps.shift()
      if (step === undefined) stop.abort()
      else await step()
    }
    const line = `authority watch --url ${setup.url} --genesis genesis.json --state watch.json --every 60s --json`
    const ran = await setup.run(line, { sleep, stop: stop.signal })
    expect(ran.events().map((event) => [event['event'], event['crl'], event['feed']])).toEqual(
      Array.from({ length: 4 }, () => ['good', expect.anything(), expect.anything()]),
    )
    expect(ran.code).toBe(0)
    const sequences = ran.events().map((event) => Number((event['crl'] as JsonObject)['sequence']))
    expect(sequences[2]).toBe((sequences[1] ?? 0) + 1)
    // A later run starts with the state that was stored under the former key.
    const again = await setup.run(`authority watch --url ${setup.url} --genesis genesis.json --state watch.json --json`)
    expect([again.code, again.json()['ok']]).toEqual([0, true])
  })

  it('does not accept a list of the next key that the root did not name', async () => {
    await setup.switchTo(await setup.announce(SECOND_KEY))
    // The same first key under another root: what the real root signed later does not count for it.
    const [root, authority] = [await testSigner('rs', 'another root'), await testSigner('na', 'na')]
    const other = draftGenesisBlock({
      network_name: setup.genesis.network_name,
      root_public_key: root.publicKey,
      network_authority: { ...setup.genesis.network_authority, public_key: authority.publicKey },
    })
    await writeFile(setup.setup.path('genesis.json'), writeJson(await signList(other, root)))
    const ran = await setup.run(`authority watch --url ${setup.url} --genesis genesis.json --json`)
    expect([ran.code, (ran.json()['crl'] as JsonObject)['problems']]).toEqual([1, ['unauthentic']])
  })
})
