import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { draftGenesisBlock, toUtf8, writeJson } from '@chancery/protocol'
import { Channel, createLog, requireValues, systemClock, systemIds } from '@chancery/service-kit'
import type { ChannelPort, SupervisedWorker } from '@chancery/service-kit'
import { testClient, testIssuer, testList, testNetwork, testPolicy, testSigner } from '@chancery/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Problems } from '../policy/form.ts'
import { type LoadedFiles, loadFiles } from '../policy/load-files.ts'
import { issuersOfNetwork } from '../policy/policy.ts'
import { type GatewaySettings, readGatewaySettings } from '../settings/gateway-settings.ts'
import { loadLists } from '../trust/load-lists.ts'
import { type OpenedTrust, openTrust } from '../trust/open-trust.ts'
import { type IssuerState, issuerKey } from '../trust/snapshot.ts'
import { FollowedTrust } from './followed-trust.ts'
import { WorkerFollowers } from './trust-messages.ts'
import { LeaseHolder } from './lease-holder.ts'

const by = await testIssuer('agency')
let folder: string
let settings: GatewaySettings
let loaded: LoadedFiles
let followers: WorkerFollowers
let opened: OpenedTrust

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chancery-followed-'))
  const file = join(folder, 'policy.json')
  const list = await testList(by, systemClock.now(), { sequence: 1 })
  await writeFile(file, writeJson(testPolicy({ agency: testNetwork(by, list) }, [testClient('a', ['agency'])])), {
    mode: 0o600,
  })
  settings = requireValues(readGatewaySettings({ flags: {}, env: { GATEWAY_POLICY_FILE: file } }))
  const result = loadFiles(settings, systemClock.now())
  if (result.loaded === undefined) throw new Error(JSON.stringify(result.problems))
  loaded = result.loaded
  followers = new WorkerFollowers(() => loaded, 3000)
  const log = createLog({ level: 'error', format: 'json' })
  opened = await openTrust(settings, loaded.configuration.policy, {
    clock: systemClock,
    ids: systemIds,
    log,
    followers,
  })
})
afterEach(async () => {
  await opened.listWorker.close()
  await rm(folder, { recursive: true })
})

interface TestWorker {
  readonly trust: FollowedTrust
  readonly lease: LeaseHolder
  isKilled: boolean
  /** Lets calls of the supervisor through. */
  isOpen: boolean
  readonly received: string[]
}

/** A worker in this process, with messages copied as between processes. */
async function addWorker(): Promise<TestWorker> {
  const listeners: [((message: unknown) => void)[], ((message: unknown) => void)[]] = [[], []]
  const ended = Promise.withResolvers<void>()
  const port = (own: 0 | 1): ChannelPort => ({
    send: (message) => {
      const copy = structuredClone(message) as { operation?: string }[]
      if (own === 0 && !worker.isOpen) return
      if (own === 0) worker.received.push(...copy.flatMap(({ operation }) => operation ?? []))
      for (const listener of listeners[(1 - own) as 0 | 1]) listener(copy)
    },
    onMessage: (listener) => void listeners[own].push(listener),
    onEnd: (listener) => void ended.promise.then(listener),
  })
  const [outer, inner] = [new Channel(port(0)), new Channel(port(1))]
  const worker: Omit<TestWorker, 'trust' | 'lease'> = { isKilled: false, isOpen: true, received: [] }
  const supervised: SupervisedWorker = {
    worker: 1,
    channel: outer,
    isServing: true,
    ended: ended.promise,
    kill: () => {
      worker.isKilled = true
      ended.resolve()
    },
  }
  const message = await opened.trust.between((current) => followers.add(supervised, current))
  const lease = new LeaseHolder({ sentNs: process.hrtime.bigint(), state: undefined }, inner)
  const trust = new FollowedTrust(settings, structuredClone(message), inner, lease)
  // No supervisor renews it here.
  Object.defineProperty(lease, 'isValid', { value: () => true, configurable: true })
  return Object.assign(worker, { trust, lease })
}

async function install(sequence: number): Promise<void> {
  const [before] = opened.trust.current.issuers.values() as Iterable<IssuerState> as [IssuerState]
  const entries = [{ certificate_id: `cert-${sequence}` }]
  const bytes = new TextEncoder().encode(writeJson(await testList(by, systemClock.now(), { sequence, entries })))
  const { issuer, anchors, floor, freshness } = before.policy
  const current = { position: before.position, index: before.index }
  const task = { bytes, issuer, anchors, floor, freshness, now: systemClock.now(), current, demand: 'signed' as const }
  const outcome = await opened.listWorker.check(task)
  if (outcome.outcome !== 'installed') throw new Error(outcome.outcome)
  await opened.trust.install(before, outcome)
}

const sequenceOf = ({ current }: Pick<FollowedTrust, 'current'>): number | undefined =>
  [...current.issuers.values()][0]?.position.sequence
const isRevoked = ({ current }: Pick<FollowedTrust, 'current'>, id: string): boolean =>
  current.networks.get('agency')?.issuers.get('na-main')?.revocations.find(id) !== undefined

it('no worker uses a list before every worker holds its requests, and the supervisor is last', async () => {
  const [one, two] = [await addWorker(), await addWorker()]
  two.isOpen = false
  const installed = install(2)
  await expect.poll(() => one.received).toContain('loadTrust')
  // The other one has not loaded it.
  expect([sequenceOf(one.trust), one.trust.settled(), one.received.includes('holdRequests')]).toEqual([
    1,
    undefined,
    false,
  ])
  expect(sequenceOf(opened.trust)).toBe(1)
  await expect.poll(() => two.isKilled, { timeout: 15_000 }).toBe(true)
  await installed
  expect([sequenceOf(one.trust), sequenceOf(opened.trust), one.trust.settled()]).toEqual([2, 2, undefined])
  expect(one.received).toEqual(['loadTrust', 'holdRequests', 'useTrust'])
}, 30_000)

it('follows lists with their revocations, and a worker that starts later has the newest', async () => {
  const one = await addWorker()
  await install(2)
  expect(isRevoked(one.trust, 'cert-2')).toBe(true)
  const two = await addWorker()
  expect([sequenceOf(two.trust), isRevoked(two.trust, 'cert-2')]).toEqual([2, true])
  await install(3)
  // Left out by the third list, and still in force.
  for (const { trust } of [one, two])
    expect([sequenceOf(trust), isRevoked(trust, 'cert-2'), isRevoked(trust, 'cert-3')]).toEqual([3, true, true])
})

it('follows the keys of a network with their lists, and a worker that starts later has them', async () => {
  const one = await addWorker()
  const second = await testIssuer('agency', 'na-2')
  const root = await testSigner('rs', 'root')
  const [first] = opened.trust.current.policy.networks.values()
  if (first === undefined) throw new Error('no network')
  const names = { network_name: 'agency', root_public_key: root.publicKey }
  const window = { valid_from: '2026-01-01T00:00:00Z', valid_to: '2036-01-01T00:00:00Z' }
  const former = { key_id: 'na-main', public_key: by.signer.publicKey, ...window }
  const keys = {
    genesis: draftGenesisBlock({ ...names, network_authority: { public_key: second.signer.publicKey, ...window } }),
    history: { ...names, issued_at: window.valid_from, former_keys: [former], signatures: [] },
  }
  const issuers = { 'na-2': second.signer.publicKey, 'na-main': by.signer.publicKey }
  const offered = new Map([['na-2', toUtf8(writeJson(await testList(second, systemClock.now())))]])
  await opened.trust.follow(first, { keys, signing: 'na-2', issuers }, (network) =>
    loadLists(
      issuersOfNetwork(network),
      async ({ issuer }) => opened.trust.current.issuers.get(issuerKey('agency', issuer)),
      { listWorker: opened.listWorker, now: systemClock.now(), problems: new Problems(), offered },
    ),
  )
  const two = await addWorker()
  for (const { trust } of [one, two]) {
    const network = trust.current.policy.networks.get('agency')
    expect([network?.primary.issuer, network?.anchorTexts]).toEqual(['na-2', { 'na-2': second.signer.publicKey }])
    expect([...(trust.current.networks.get('agency')?.issuers.keys() ?? [])]).toEqual(['na-2', 'na-main'])
  }
  expect([one.isKilled, two.isKilled]).toEqual([false, false])
})

it('gives no answer without a recent message of the supervisor', async () => {
  const { trust, lease } = await addWorker()
  expect([trust.settled(), trust.hasLease]).toEqual([undefined, true])
  Object.defineProperty(lease, 'isValid', { value: () => false })
  expect(trust.hasLease).toBe(false)
  await expect(trust.settled()).rejects.toMatchObject({ error: 'not_ready' })
})
