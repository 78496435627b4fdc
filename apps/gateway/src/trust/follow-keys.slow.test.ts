import { mkdtemp, rm } from 'node:fs/promises'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  DAY,
  HOUR,
  asJson,
  draftGenesisBlock,
  evaluateCertificate,
  signList,
  toUtf8,
  writeInstant,
  writeJson,
} from '@chancery/protocol'
import type { FormerKey, JsonObject, RevocationList } from '@chancery/protocol'
import { silentLog, systemIds } from '@chancery/service-kit'
import {
  ManualClock,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
  testSigner,
} from '@chancery/testkit'
import type { TestIssuer } from '@chancery/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createMetrics } from '../metrics.ts'
import { Problems } from '../policy/form.ts'
import { filePolicyOf, keysOf } from '../policy/policy.ts'
import { readPolicy } from '../policy/read-policy.ts'
import { readGatewaySettings } from '../settings/gateway-settings.ts'
import { createStateFile } from '../state/state-file.ts'
import { KeyFollower } from './follow-keys.ts'
import { continueFollowing } from './followed-keys.ts'
import { type OpenedTrust, openTrust } from './open-trust.ts'
import { isNetworkUsable } from './snapshot.ts'

const keys = { first: await testIssuer('agency', 'na-1'), second: await testIssuer('agency', 'na-2') }
const third = await testIssuer('agency', 'na-3')
const root = await testSigner('rs', 'root')
let clock: ManualClock
let home: string
let server: Server
let url: string
/** What the authority serves. */
let served: Map<string, object>
let opened: OpenedTrust | undefined
let refused: JsonObject[]

beforeEach(async () => {
  clock = new ManualClock()
  home = await mkdtemp(join(tmpdir(), 'chancery-follow-'))
  served = new Map()
  refused = []
  server = createServer((request, response) => {
    const document = served.get(request.url ?? '')
    response
      .writeHead(document === undefined ? 404 : 200)
      .end(document === undefined ? '{}' : writeJson(asJson(document)))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  createStateFile(join(home, 'state'), () => undefined)
  await serve(keys.first, [])
})
afterEach(async () => {
  await close()
  server.close()
  await rm(home, { recursive: true, force: true })
})

const list = (by: TestIssuer, sequence = 9): Promise<RevocationList> => testList(by, clock.now(), { sequence })
const at = (days: bigint): string => writeInstant(clock.now() + days * DAY)
const former = (by: TestIssuer, until = 30n): FormerKey => ({
  key_id: by.keyId,
  public_key: by.signer.publicKey,
  valid_from: '2020-01-01T00:00:00Z',
  valid_to: at(until),
})

/** Block and history as the root signs them, unless another one does. */
async function signed(current: TestIssuer, earlier: readonly FormerKey[], by = root): Promise<JsonObject> {
  const window = { valid_from: at(0n), valid_to: at(90n) }
  const names = { network_name: 'agency', root_public_key: by.publicKey }
  const network_authority = { public_key: current.signer.publicKey, ...window }
  const history = { ...names, issued_at: writeInstant(clock.now()), former_keys: [...earlier], signatures: [] }
  return {
    genesis: (await signList(draftGenesisBlock({ ...names, network_authority }), by)) as unknown as JsonObject,
    key_history: (await signList(history, by)) as unknown as JsonObject,
  }
}

/** Serves a authority after a succession: the list of the current key, and those of former ones. */
async function serve(current: TestIssuer, earlier: readonly TestIssuer[]): Promise<void> {
  served.clear()
  for (const path of ['/crl', `/crl/keys/${current.keyId}`]) served.set(path, await list(current))
  for (const by of earlier) served.set(`/crl/keys/${by.keyId}`, await list(by))
}

async function offer(current: TestIssuer, signing: TestIssuer, documents: JsonObject, first?: object): Promise<void> {
  const phase = current === signing ? 'settled' : 'announced'
  const hint = { phase, current_public_key: signing.signer.publicKey, first_list: first ?? null }
  served.set('/key-succession', { ...documents, ...hint })
}

async function open(over: JsonObject = {}, by = keys.first): Promise<KeyFollower> {
  await close()
  const more = { crl_url: `${url}/crl`, allow_http: true, root_public_key: root.publicKey, ...over }
  const text = testPolicy({ agency: testNetwork(by, await list(by, 1), more) }, [testClient('c', ['agency'])])
  const problems = new Problems()
  const { policy } = readPolicy(toUtf8(writeJson(text)), problems, () => undefined)
  const { values } = readGatewaySettings({
    flags: {},
    env: { GATEWAY_POLICY_FILE: 'p', GATEWAY_STATE_FILE: join(home, 'state') },
  })
  if (policy === undefined || values === undefined) throw new Error(JSON.stringify(problems.list))
  const tools = { clock, ids: systemIds, log: silentLog }
  const now = await openTrust(values, policy, tools)
  opened = now
  const { followed } = createMetrics('0.0.0')
  const parts = { ...now, ...tools, settings: values, followed, onRefused: (facts: JsonObject) => refused.push(facts) }
  return new KeyFollower(parts)
}

async function close(): Promise<void> {
  await opened?.listWorker.close()
  await opened?.state?.close()
  opened = undefined
}

const follow = (follower: KeyFollower): Promise<boolean> => follower.follow('agency', new AbortController().signal)
const network = () => {
  const found = opened?.trust.current.policy.networks.get('agency')
  if (found === undefined) throw new Error('no network')
  return found
}
/** Ids of the primary issuer and of the others. */
const issuers = (): readonly string[] => [network().primary.issuer, ...network().additional.map(({ issuer }) => issuer)]
const isReady = (): boolean => opened !== undefined && isNetworkUsable(opened.trust.current, network(), clock.now())
async function causes(by: TestIssuer, issuedAgo = HOUR): Promise<unknown> {
  const certificate = await testCertificate(by, clock.now(), { issued_at: writeInstant(clock.now() - issuedAgo) })
  const { findings } = await evaluateCertificate(certificate, opened?.trust.current.networks.get('agency'), clock.now())
  return findings.flatMap((finding): readonly string[] => ('causes' in finding ? finding.causes : [finding.code]))
}

it('follows an announcement, the switch and the retirement, also after a restart', async () => {
  let follower = await open()
  expect([await follow(follower), issuers()]).toEqual([false, ['na-1']])

  await offer(keys.second, keys.first, await signed(keys.second, [former(keys.first)]), await list(keys.second))
  expect([await follow(follower), issuers(), await follow(follower)]).toEqual([true, ['na-1', 'na-2'], false])
  expect([await causes(keys.first), await causes(keys.second)]).toEqual([[], []])
  expect(keysOf(network(), clock.now()).get('na-2')).toBe(keys.second.signer.publicKey)

  // The list of an announced key ends: the key is left out, and the gateway stays ready.
  clock.advance(25 * 3600)
  for (const path of ['/crl', '/crl/keys/na-1']) served.set(path, await list(keys.first, 10))
  follower = await open({ crl: (await list(keys.first, 10)) as unknown as JsonObject })
  expect([issuers(), isReady()]).toEqual([['na-1', 'na-2'], true])
  expect([await follow(follower), issuers(), isReady()]).toEqual([true, ['na-1'], true])

  clock.advance(60)
  await serve(keys.second, [keys.first])
  await offer(keys.second, keys.second, await signed(keys.second, [former(keys.first)]))
  expect([await follow(follower), issuers(), isReady()]).toEqual([true, ['na-2', 'na-1'], true])
  expect(network().anchorTexts).toEqual({ 'na-2': keys.second.signer.publicKey })
  expect(network().primary.listUrl?.pathname).toBe('/crl/keys/na-2')
  follower = await open()
  expect([issuers(), await follow(follower)]).toEqual([['na-2', 'na-1'], false])

  served.delete('/crl/keys/na-1')
  clock.advance(25 * 3600)
  served.set('/crl/keys/na-2', await list(keys.second, 12))
  expect([await follow(follower), issuers()]).toEqual([true, ['na-2']])
  expect(await causes(keys.first)).toEqual(['unknown_issuer'])
})

it('refuses what the pinned root does not lead to, and never goes back', async () => {
  const follower = await open()
  const stranger = await testSigner('rs', 'stranger')
  const wrong: readonly (readonly [string, JsonObject])[] = [
    ['other_root', await signed(keys.second, [former(keys.first)], stranger)],
    ['key_not_in_history', await signed(keys.second, [])],
    ['malformed', { genesis: {} }],
  ]
  for (const [reason, documents] of wrong) {
    await offer(keys.second, keys.second, documents)
    expect([await follow(follower), await follow(follower), issuers()]).toEqual([false, false, ['na-1']])
    expect(refused.splice(0)).toEqual([{ network: 'agency', reason }])
  }
  const good = await signed(keys.second, [former(keys.first)])
  await offer(keys.second, keys.second, good)
  served.set('/key-succession', { ...served.get('/key-succession'), current_public_key: third.signer.publicKey })
  expect([await follow(follower), refused.splice(0)]).toEqual([
    false,
    [{ network: 'agency', reason: 'unknown_signing_key' }],
  ])
  // The key is right, but the list is not signed by it.
  await offer(keys.second, keys.second, good)
  served.set('/crl', await list(third))
  expect([await follow(follower), issuers()]).toEqual([false, ['na-1']])
  // The list names the id of a former key.
  served.set('/crl', await list({ ...keys.second, keyId: 'na-1', signer: await testSigner('na-1', 'agency/na-2') }))
  expect([await follow(follower), refused.splice(0)]).toEqual([
    false,
    [{ network: 'agency', reason: 'repeated_key_id' }],
  ])

  await serve(keys.second, [keys.first])
  await offer(keys.second, keys.second, good)
  expect([await follow(follower), issuers()]).toEqual([true, ['na-2', 'na-1']])
  clock.advance(60)
  await offer(keys.first, keys.first, await signed(keys.first, []))
  const again = await open()
  expect([await follow(again), issuers()]).toEqual([false, ['na-2', 'na-1']])
  expect(refused.splice(0)).toEqual([{ network: 'agency', reason: 'key_not_in_history' }])
})

it('follows a succession that was missed, and refuses certificates of a former key from outside of its time', async () => {
  await serve(keys.second, [keys.first])
  const ended = { ...former(keys.first), valid_to: writeInstant(clock.now() - 2n * HOUR) }
  await offer(keys.second, keys.second, await signed(keys.second, [ended]))
  expect([await follow(await open()), issuers()]).toEqual([true, ['na-2', 'na-1']])
  expect([await causes(keys.first), await causes(keys.first, 3n * HOUR)]).toEqual([['unknown_issuer'], []])
})

it('goes on from the file when the state names a key that the root did not sign for', async () => {
  await serve(keys.second, [keys.first])
  await offer(keys.second, keys.second, await signed(keys.second, [former(keys.first)]))
  expect(await follow(await open())).toBe(true)
  const policy = opened?.trust.current.policy
  const followed = policy?.followed?.keys.get('agency')
  if (policy === undefined || followed === undefined) throw new Error('nothing was followed')
  const stored = (issuers: Readonly<Record<string, string>>, signing = 'na-2') =>
    new Map([['agency', { ...followed, signing, issuers }]])
  const leftOut: string[] = []
  const read = async (given: ReturnType<typeof stored>): Promise<string | undefined> =>
    (await continueFollowing(filePolicyOf(policy), given, (_network, reason) => leftOut.push(reason))).networks.get(
      'agency',
    )?.primary.issuer
  expect(await read(stored(followed.issuers))).toBe('na-2')
  expect(await read(stored({ ...followed.issuers, 'na-9': third.signer.publicKey }))).toBe('na-1')
  expect(await read(stored({ 'na-2': third.signer.publicKey }))).toBe('na-1')
  expect(await read(stored(followed.issuers, 'na-9'))).toBe('na-1')
  expect(leftOut).toEqual(['unknown_key', 'unknown_key', 'unknown_key'])
})

it('goes on from the file without a root key, with another root, or with a key that was not followed', async () => {
  await serve(keys.second, [keys.first])
  await offer(keys.second, keys.second, await signed(keys.second, [former(keys.first)]))
  expect(await follow(await open())).toBe(true)
  const stranger = await testSigner('rs', 'stranger')
  await open({ root_public_key: stranger.publicKey })
  expect(issuers()).toEqual(['na-1'])
  await open({}, third)
  expect(issuers()).toEqual(['na-3'])
  await open()
  expect(issuers()).toEqual(['na-2', 'na-1'])
})
