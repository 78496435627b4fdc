// oxlint-disable max-lines -- one succession, from its announcement to the retired key
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  DAY,
  genesisDigest,
  logOrigin,
  openCheckpoint,
  readCrl,
  readGenesisBlock,
  readJson,
  readKeyHistory,
  readPolicyManifest,
  readRevocationFeed,
  signList,
  verifyList,
  verifySuccession,
  writeInstant,
  writeJson,
} from '@chancery/protocol'
import type { JoinCertificate, JsonObject, JsonValue } from '@chancery/protocol'
import { requireValues, silentLog } from '@chancery/service-kit'
import {
  FIRST_KEY,
  ManualClock,
  accepted,
  createMigratedDatabase,
  enroll,
  fetchCrl,
  nodeCaller,
  refused,
  signSuccession,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { NodeCaller, Succeeded, TestAuthority, TestDatabase } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeFeatures, openFeatures } from '../../features.ts'
import type { KeySuccession } from './index.ts'
import { openCore } from '../../startup/open-core.ts'
import { readAuthoritySettings } from '../../settings/authority-settings.ts'
import { supersedeUsed } from '../enrollment/supersede-used.job.ts'
import { keySuccession } from '../sovereign/metadata.ts'
import { describeSuccession } from './progress.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock()
const SECOND_KEY = { keyId: 'na-2', seed: 'na-2' }
const [first, second] = [await testSigner('na-test', 'na'), await testSigner('na-2', 'na-2')]
let folder: string
let database: TestDatabase
let na: TestAuthority
let node: NodeCaller
let certificate: JoinCertificate
/** Of a second node: two renewals, of which one response was lost. */
let lost: JoinCertificate
let received: JoinCertificate
let begun: Succeeded
let next: Required<Succeeded>

const start = (settings: Readonly<Record<string, string>> = {}): Promise<TestAuthority> =>
  startTestAuthority({ clock, database, settings: { EVIDENCE_STORE: 'on', ...settings } })

/** One step with the settings of the next key, as the command runs it. */
async function step<Result>(
  work: (succession: KeySuccession) => Promise<Result>,
  of: Required<Succeeded> = next,
): Promise<Result> {
  const values = { ...database.settings, NA_CLOCK_CHECK: 'off', ...of.settings }
  const text = Object.entries(values).map(([name, value]) => `${name}=${value}`)
  const settings = requireValues(
    readAuthoritySettings({ flags: {}, env: {}, envFile: { path: 'test', text: text.join('\n') } }),
  )
  const opened = await openCore(settings, { log: silentLog, clock, isSucceeding: true })
  const features = openFeatures(opened.core, settings)
  try {
    return await work(features.keySuccession)
  } finally {
    await closeFeatures(features)
    await opened.close()
  }
}

async function renewed(of: typeof node, from: JoinCertificate): Promise<JoinCertificate> {
  return accepted(await of.renew(from.cert_id), 201) as unknown as JoinCertificate
}

async function read(path: string): Promise<JsonValue> {
  return readJson((await na.request('GET', path)).text)
}

async function surfaces(): Promise<JsonValue | undefined> {
  return accepted(await na.request('GET', '/sovereign.json'))['supported_surfaces']
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chancery-succession-'))
  database = await createMigratedDatabase()
  na = await start()
  begun = { genesis: na.genesis, key: FIRST_KEY }
  node = nodeCaller(na.url, await testSigner('node', 'follower'), () => clock.now())
  certificate = await enroll(na, node)
  for (const path of ['/crl', '/policy', '/sovereign-revocation-feed']) await na.request('GET', path)
  await na.features.evidenceLog.append()
  next = await signSuccession(folder, begun, SECOND_KEY, clock.now())
})
afterAll(async () => {
  await na.stop()
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

describe('a key succession in steps', () => {
  it('is not visible before it is announced', async () => {
    refused(await na.request('GET', '/key-succession'), 404, 'key_history_not_found')
    expect(await surfaces()).not.toHaveProperty('key_succession')
    const answer = accepted(await node.heartbeat(certificate.cert_id, { genesis_digest: genesisDigest(na.genesis) }))
    expect(Object.keys(answer)).not.toContain('genesis_digest')
    await expect(step((succession) => succession.switchKey({ isForced: false }))).rejects.toThrow('was not announced')
  })

  it('is announced while the former key signs, and followers need only the root key', async () => {
    const { digest, needsSwitch } = await step((succession) => succession.announceKey())
    expect([digest, needsSwitch]).toEqual([genesisDigest(next.genesis), true])
    clock.advance(3)
    na.core.newestBlock.clear()
    const logged = accepted(await na.request('GET', '/key-succession'))
    expect(await surfaces()).toHaveProperty('key_succession', `${na.url}/key-succession`)
    expect([logged['phase'], logged['current_public_key']]).toEqual(['announced', first.publicKey])
    const offered = {
      genesis: readGenesisBlock(logged['genesis'] ?? null),
      history: readKeyHistory(logged['key_history'] ?? null),
    }
    expect(await verifySuccession({ genesis: na.genesis }, offered)).toEqual({ ok: true })
    const list = readCrl(logged['first_list'] ?? null)
    expect([list.issuer, await verifyList(list, [second.publicKey])]).toEqual(['na-2', true])
    expect(accepted(await na.request('GET', '/genesis'))).toEqual(na.genesis)
    expect(await na.auditEvents('authority_key_announced')).toHaveLength(1)
    // Serialised once for all callers: the first list in it may have megabytes.
    const current = await na.core.newestBlock.read()
    na.core.newestBlock.clear()
    expect(await na.core.newestBlock.read()).toBe(current)
    const asked = {} as Parameters<typeof keySuccession>[0]
    expect(await keySuccession(asked, na.parts)).toBe(await keySuccession(asked, na.parts))
    clock.advance(1)
    await step((succession) => succession.announceKey())
    na.core.newestBlock.clear()
    const renewed = readCrl(accepted(await na.request('GET', '/key-succession'))['first_list'] ?? null)
    expect(renewed.crl_id).not.toBe(list.crl_id)
  })

  it('counts the nodes that have the new block, and does not switch before all of them do', async () => {
    const quiet = accepted(await node.heartbeat(certificate.cert_id))
    expect(Object.keys(quiet)).not.toContain('genesis_digest')
    expect(await describeSuccession(na.parts)).toMatchObject({ phase: 'announced', nodes: 1, nodes_with_new_block: 0 })
    await expect(step((succession) => succession.switchKey({ isForced: false }))).rejects.toThrow('0 of 1 nodes')
    const digest = genesisDigest(next.genesis)
    const beat = accepted(await node.heartbeat(certificate.cert_id, { genesis_digest: digest }))
    expect(beat['genesis_digest']).toBe(digest)
    expect(await describeSuccession(na.parts)).toMatchObject({ key_id: 'na-2', nodes: 1, nodes_with_new_block: 1 })
    // A count is cached for ten seconds.
    clock.advance(11)
    expect((await na.request('GET', '/metrics')).text).toContain('chancery_key_succession_nodes_with_new_block 1\n')
    expect(accepted(await na.request('GET', '/dashboard.json'))['key_succession']).toMatchObject({ phase: 'announced' })
  })

  it('signs everything published again at the switch', async () => {
    const before = readRevocationFeed(await read('/sovereign-revocation-feed'))
    await na.stop()
    const done = await step((succession) => succession.switchKey({ isForced: false }))
    expect(done?.formerKeyId).toBe('na-test')
    // Repeated by an operator who did not see its end.
    expect(await step((succession) => succession.switchKey({ isForced: false }))).toBeUndefined()
    na = await start(next.settings)
    const keys = [second.publicKey]
    expect(await verifyList(readCrl(await read('/crl')), keys)).toBe(true)
    const policy = readPolicyManifest(await read('/policy'))
    expect([policy.issued_by, await verifyList(policy, keys)]).toEqual(['na-2', true])
    const feed = readRevocationFeed(await read('/sovereign-revocation-feed'))
    expect([feed.sequence, await verifyList(feed, keys)]).toEqual([before.sequence + 1, true])
    const note = (await na.request('GET', '/evidence-log/checkpoint')).text
    expect(await openCheckpoint(note, logOrigin(na.genesis.network_name), second.publicKey)).toBeDefined()
    expect(accepted(await na.request('GET', '/key-succession'))).toMatchObject({
      phase: 'settled',
      current_public_key: second.publicKey,
    })
    expect(await surfaces()).not.toHaveProperty('key_succession')
  })

  it('signs a version of the former key again when it is restored', async () => {
    const was = { policy_id: 'of-the-former-key', allowed_ports: [443] }
    const post = (path: string, body: JsonObject): ReturnType<TestAuthority['request']> =>
      na.as('privileged')('POST', path, body)
    const by = async (): Promise<readonly [string, string]> => {
      const policy = readPolicyManifest(await read('/policy'))
      expect(await verifyList(policy, [second.publicKey])).toBe(true)
      return [policy.policy_id, policy.issued_by]
    }
    const other = async (policy_id: string): Promise<unknown> =>
      accepted(await post('/admin/policy', { policy_id, allowed_ports: [1] }), 201)
    const put = async (): Promise<unknown> =>
      rowsOf(na.core.database)
        .updateTable('policy_versions')
        .set({ policy_json: ofFormer })
        .where('policy_id', '=', was.policy_id)
        .execute()
    accepted(await post('/admin/policy', was), 201)
    const stored = readPolicyManifest(await read('/policy'))
    const draft = {
      ...stored,
      issued_at: writeInstant(clock.now() - 60_000_000n),
      issued_by: 'na-test',
      signatures: [],
    }
    const ofFormer = writeJson(await signList(draft, first))
    await other('after-1')
    await put()
    accepted(await post('/admin/policy/rollback', { policy_id: was.policy_id }))
    expect(await by()).toEqual([was.policy_id, 'na-2'])
    await other('after-2')
    await put()
    accepted(await post('/admin/policy', was))
    expect(await by()).toEqual([was.policy_id, 'na-2'])
  })

  it('ends a predecessor only when its successor of the new key is first used', async () => {
    node = nodeCaller(na.url, await testSigner('node', 'follower'), () => clock.now())
    const renew = (): Promise<JoinCertificate> => renewed(node, certificate)
    const earlier = await renew()
    clock.advance(2)
    const used = await renew()
    clock.advance(2)
    const later = await renew()
    expect(used.issued_by).toBe('na-2')
    await supersedeUsed(na.parts)
    clock.advance(3600)
    await supersedeUsed(na.parts)
    // The node used no response and continues with its certificate.
    accepted(await node.heartbeat(certificate.cert_id))
    // It may not be able to verify a successor yet, so these stay.
    await supersedeUsed(na.parts)
    accepted(await node.heartbeat(used.cert_id))
    // Later all certificates of the former key have ended, so no certificate is read.
    const future = { now: () => clock.now() + 400n * DAY, monotonicMs: () => clock.monotonicMs() }
    const write = (): Promise<never> => Promise.reject(new Error('certificates are read'))
    await supersedeUsed({ ...na.parts, clock: future, database: { ...na.core.database, write } })
    await supersedeUsed(na.parts)
    accepted(await node.heartbeat(certificate.cert_id))
    clock.advance(901)
    // The job that lists superseded certificates may have run already.
    expect(await node.heartbeat(certificate.cert_id)).toMatchObject({
      status: 403,
      json: { error: { code: expect.stringMatching(/^certificate_(?:superseded|revoked)$/) } },
    })
    accepted(await node.heartbeat(used.cert_id))
    // The two other responses were lost: their certificates, which no heartbeat used, have ended, too.
    for (const lost of [earlier, later])
      expect(await node.heartbeat(lost.cert_id)).toMatchObject({
        status: 403,
        json: { error: { code: expect.stringMatching(/^certificate_(?:superseded|revoked)$/) } },
      })
  })

  it('is undone by the root: the former key again, and no sequence decreases', async () => {
    const other = nodeCaller(na.url, await testSigner('node', 'other'), () => clock.now())
    const joined = await enroll(na, other)
    lost = await renewed(other, joined)
    clock.advance(1)
    received = await renewed(other, joined)
    clock.advance(1)
    accepted(await other.heartbeat(received.cert_id))
    const back = await signSuccession(folder, next, FIRST_KEY, clock.now())
    await step((succession) => succession.announceKey(), back)
    const [list, feed] = [
      await fetchCrl(na.url, second.publicKey),
      readRevocationFeed(await read('/sovereign-revocation-feed')),
    ]
    await na.stop()
    await step((succession) => succession.switchKey({ isForced: true }), back)
    na = await start(back.settings)
    const now = await fetchCrl(na.url, first.publicKey)
    expect(now.sequence).toBe(list.sequence + 1)
    const after = readRevocationFeed(await read('/sovereign-revocation-feed'))
    expect([after.sequence, await verifyList(after, [first.publicKey])]).toEqual([feed.sequence + 1, true])
    expect((await fetchCrl(na.url, second.publicKey, '/crl/keys/na-2')).sequence).toBe(now.sequence)
    accepted(await na.request('GET', '/readyz'))
    next = back
  })

  it('ends a certificate whose response was lost before the switch, when the node is further and not silent', async () => {
    const end = async (): Promise<string | null | undefined> => {
      const rows = rowsOf(na.core.database).selectFrom('issued_certs').select('revoke_after')
      return (await rows.where('cert_id', '=', lost.cert_id).executeTakeFirst())?.revoke_after
    }
    const other = nodeCaller(na.url, await testSigner('node', 'other'), () => clock.now())
    const now = await renewed(other, received)
    clock.advance(1)
    accepted(await other.heartbeat(now.cert_id))
    clock.advance(3600)
    await supersedeUsed(na.parts)
    // A silent node may come back with any of them.
    expect(await end()).toBeNull()
    accepted(await other.heartbeat(now.cert_id))
    await supersedeUsed(na.parts)
    expect(await end()).not.toBeNull()
    // The one in use stays.
    clock.advance(901)
    accepted(await other.heartbeat(now.cert_id))
  })

  const isEnded = async ({ cert_id }: JoinCertificate): Promise<boolean> => {
    const rows = rowsOf(na.core.database).selectFrom('issued_certs').select('revoke_after')
    return (await rows.where('cert_id', '=', cert_id).executeTakeFirstOrThrow()).revoke_after !== null
  }

  it('ends a certificate that the node used and left for another one of two renewals at once', async () => {
    const other = nodeCaller(na.url, await testSigner('node', 'twice'), () => clock.now())
    const joined = await enroll(na, other)
    const byCommand = await renewed(other, joined)
    const byNode = await renewed(other, joined)
    clock.advance(1)
    accepted(await other.heartbeat(byNode.cert_id))
    clock.advance(1)
    accepted(await other.heartbeat(byCommand.cert_id))
    clock.advance(1000)
    accepted(await other.heartbeat(byCommand.cert_id))
    await supersedeUsed(na.parts)
    // Too early: another process of the node may use it.
    expect(await isEnded(byNode)).toBe(false)
    clock.advance(1000)
    accepted(await other.heartbeat(byCommand.cert_id))
    await supersedeUsed(na.parts)
    expect([await isEnded(byNode), await isEnded(byCommand)]).toEqual([true, false])
  })

  it('ends a lost certificate whose predecessor the node left', async () => {
    const other = nodeCaller(na.url, await testSigner('node', 'left'), () => clock.now())
    const joined = await enroll(na, other)
    const byCommand = await renewed(other, joined)
    const byNode = await renewed(other, joined)
    const unstored = await renewed(other, byNode)
    clock.advance(3600)
    accepted(await other.heartbeat(byCommand.cert_id))
    await supersedeUsed(na.parts)
    expect([await isEnded(unstored), await isEnded(byCommand)]).toEqual([true, false])
  })

  it('leaves a certificate of another invite alone, although the node uses only one', async () => {
    const signer = await testSigner('node', 'two-lines')
    const other = nodeCaller(na.url, signer, () => clock.now())
    const spare = await enroll(na, other)
    const used = await enroll(na, other)
    clock.advance(3600)
    accepted(await other.heartbeat(used.cert_id))
    await supersedeUsed(na.parts)
    accepted(await other.heartbeat(spare.cert_id))
  })

  it('retires a key when no certificate of it is in use, or when forced', async () => {
    const wait = step((succession) => succession.retireKey({ isForced: false }))
    await expect(wait).rejects.toThrow('certificates of na-2 are in use')
    expect(await step((succession) => succession.retireKey({ isForced: true }))).toBe('na-2')
    expect(await step((succession) => succession.retireKey({ isForced: false }))).toBeUndefined()
    refused(await na.request('GET', '/crl/keys/na-2'), 404, 'key_list_not_found')
    const { NA_FORMER_PRIVATE_KEY_FILE: _key, ...without } = next.settings
    await na.stop()
    na = await start(without)
    expect(await describeSuccession(na.parts)).toMatchObject({ phase: 'retired', former_key_id: null })
    expect(await na.auditEvents('authority_key_retired')).toHaveLength(1)
  })
})
