import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  HOUR,
  asJson,
  listDeltaText,
  readCrl,
  readJson,
  signList,
  toUtf8,
  writeInstant,
  writeJson,
} from '@chancery/protocol'
import type { Crl, JoinCertificate, KeyHistory } from '@chancery/protocol'
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
import type { NodeCaller, Succeeded, TestAuthority, TestDatabase } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createAuthorityClient } from '../authority/client.ts'
import { UsageError, UnreachableError } from '../errors.ts'
import { FollowedParty, type FollowedPartyOptions } from './followed-party.ts'
import { FileNodeStore } from '../nodejs/file-node-store.ts'
import { scannedList } from './scanned-list.ts'
import { MemoryNodeStore } from '../node/followed.ts'

let clock: ManualClock
let folder: string
let database: TestDatabase
let na: TestAuthority
let node: NodeCaller
let certificate: JoinCertificate
let next: Required<Succeeded>

beforeEach(async () => {
  clock = new ManualClock('2026-03-01T00:00:00Z')
  folder = await mkdtemp(join(tmpdir(), 'chancery-party-'))
  database = await createMigratedDatabase('sqlite')
  na = await startTestAuthority({ clock, database })
  node = nodeCaller(na.url, await testSigner('node', 'caller'), () => clock.now())
  certificate = await enroll(na, node)
  await na.request('GET', '/crl')
  next = await signSuccession(
    folder,
    { genesis: na.genesis, key: FIRST_KEY },
    { keyId: 'na-2', seed: 'na-2' },
    clock.now(),
  )
})
afterEach(async () => {
  await na.stop()
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

const open = (more: Partial<FollowedPartyOptions> = {}): Promise<FollowedParty> =>
  FollowedParty.open({
    client: createAuthorityClient({ url: na.url, retry: false }),
    genesis: na.genesis,
    clock: () => clock.now(),
    ...more,
  })

/** Stops the authority, hands the database over and starts it with the key of these settings on the same port. */
async function restart(signed: Required<Succeeded>, without: readonly string[] = []): Promise<void> {
  const { port } = new URL(na.url)
  // In full: the next one has the same address, and an open connection would still go to this one.
  await na.authority.stopAccepting()
  await na.stop()
  await runTestStep('switch', signed, { database, clock, isForced: true }).catch((error: unknown) => {
    if (!String(error).includes('already belongs')) throw error
  })
  const settings = Object.fromEntries(Object.entries(signed.settings).filter(([name]) => !without.includes(name)))
  na = await startTestAuthority({ clock, database, settings: { ...settings, PORT: port } })
}

async function announce(signed: Required<Succeeded>): Promise<void> {
  await runTestStep('announce', signed, { database, clock })
  na.core.newestBlock.clear()
}

const reasonsOf = async (party: FollowedParty, presented: JoinCertificate): Promise<readonly string[]> =>
  (await party.evaluate(presented)).decision?.reasons ?? []

describe('FollowedParty', () => {
  it('follows a succession from the announcement to the retired key without a pinned key id', async () => {
    const party = await open({ required_roles: ['role:client'] })
    expect(await reasonsOf(party, certificate)).toEqual([])
    expect(await party.refresh()).toEqual({ keys: 'unchanged', lists: { 'na-test': 'current' } })

    await announce(next)
    expect(await party.refresh()).toEqual({ keys: 'changed', lists: { 'na-test': 'current', 'na-2': 'current' } })
    expect(party.keys).toEqual({ genesis: next.genesis, history: next.history })

    await restart(next)
    const renewed = accepted(await node.renew(certificate.cert_id), 201) as unknown as JoinCertificate
    expect(renewed.issued_by).toBe('na-2')
    // The announced list is current: the first certificate of the new key needs no request.
    expect(await reasonsOf(party, renewed)).toEqual([])
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id: certificate.cert_id, only_this: true }))
    expect((await party.refresh()).lists).toEqual({ 'na-test': 'current', 'na-2': 'current' })
    expect((await party.evaluate(certificate)).decision?.findings).toMatchObject([{ code: 'revoked' }])
    expect(await reasonsOf(party, renewed)).toEqual([])

    await runTestStep('retire', next, { database, clock, isForced: true })
    expect((await party.refresh()).lists).toEqual({ 'na-test': 'none', 'na-2': 'current' })
  })

  it('follows an undone succession back, and on to the key after it', async () => {
    const party = await open()
    const refresh = async (): Promise<string> => (await party.refresh()).keys
    await announce(next)
    expect(await refresh()).toBe('changed')
    await restart(next)
    clock.advance(60)
    const back = await signSuccession(folder, next, FIRST_KEY, clock.now())
    await announce(back)
    expect(await refresh()).toBe('changed')
    await restart(back)
    await refresh()
    expect(await reasonsOf(party, certificate)).toEqual([])
    await runTestStep('retire', back, { database, clock, isForced: true })
    clock.advance(60)
    const third = await signSuccession(folder, back, { keyId: 'na-3', seed: 'na-3' }, clock.now())
    await announce(third)
    await restart(third)
    await refresh()
    // It was issued before the first switch, by a key that is a former one for the second time.
    expect(await reasonsOf(party, certificate)).toEqual([])
    const renewed = accepted(await node.renew(certificate.cert_id), 201) as unknown as JoinCertificate
    expect([renewed.issued_by, ...(await reasonsOf(party, renewed))]).toEqual(['na-3'])
  })

  it('begins after the switch with the block from before it, or with the newest block and its history', async () => {
    const { genesis } = na
    await announce(next)
    await restart(next)
    const renewed = accepted(await node.renew(certificate.cert_id), 201) as unknown as JoinCertificate
    for (const pins of [{ genesis }, { genesis: next.genesis, keyHistory: next.history }]) {
      const party = await open(pins)
      expect([await reasonsOf(party, certificate), await reasonsOf(party, renewed)]).toEqual([[], []])
    }
    await expect(open({ genesis, keyHistory: { ...next.history, issued_at: '2026-01-01T00:00:00Z' } })).rejects.toThrow(
      UsageError,
    )
  })

  it('refuses a certificate of a former key that is dated after its time', async () => {
    await announce(next)
    await restart(next)
    const { signatures: _signed, former_keys, ...rest } = next.history
    const short = former_keys.map((key) => ({ ...key, valid_to: writeInstant(clock.now() + HOUR) }))
    const draft = { ...rest, issued_at: writeInstant(clock.now() + 1n), former_keys: short, signatures: [] }
    const keyHistory = (await signList(draft, await testSigner('rs-test', 'root'))) as KeyHistory
    const party = await open({ genesis: next.genesis, keyHistory })
    clock.advance(2 * 3600)
    await party.refresh()
    const dated = async (cert_id: string, issued_at: bigint): Promise<JoinCertificate> => {
      const dates = { issued_at: writeInstant(issued_at), expires_at: writeInstant(clock.now() + HOUR) }
      const changed = { ...certificate, cert_id, ...dates, signatures: [] }
      return signList(changed, await testSigner('na-test', 'na'))
    }
    const { decision } = await party.evaluate(await dated('late', clock.now()))
    expect(decision?.findings).toMatchObject([{ code: 'unknown_issuer', key_id: 'na-test' }])
    expect(await reasonsOf(party, await dated('in time', clock.now() - 2n * HOUR))).toEqual([])
  })

  it('begins with stored lists and followed keys while the authority is unreachable', async () => {
    const store = new MemoryNodeStore()
    const client = createAuthorityClient({ url: na.url, retry: false })
    const lists = [await client.crl.current()]
    await announce(next)
    await open({ store })
    const { genesis } = na
    await na.stop()
    const party = await open({ store, genesis, lists })
    expect(await reasonsOf(party, certificate)).toEqual([])
    expect(party.keys.genesis).toEqual(next.genesis)
    await expect(open({ store, genesis })).rejects.toThrow(UnreachableError)
    na = await startTestAuthority({ clock, database })
  })

  describe('with a store, started again', () => {
    const store = (): MemoryNodeStore => new MemoryNodeStore()
    /** Serves this list in the place of the authority. */
    const serving = (list: string): Pick<FollowedPartyOptions, 'client'> => ({
      client: createAuthorityClient({
        url: na.url,
        retry: false,
        fetch: async (url, init) => (new URL(url).pathname.startsWith('/crl') ? new Response(list) : fetch(url, init)),
      }),
    })

    it('takes no older list than before, from the authority or from the program', async () => {
      const kept = store()
      const old = (await na.request('GET', '/crl')).text
      accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id: certificate.cert_id }))
      const first = await open({ store: kept })
      expect((await first.evaluate(certificate)).decision?.findings).toMatchObject([{ code: 'revoked' }])
      await expect(open({ store: kept, ...serving(old) })).rejects.toThrow('an older list than the last accepted one')
      const lists = [readCrl(readJson(old))]
      await expect(open({ store: kept, lists, ...serving(old) })).rejects.toThrow('an older list')
      const again = await open({ store: kept, lists })
      expect(again.sequenceOf('na-test')).toBe(first.sequenceOf('na-test'))
      expect((await again.evaluate(certificate)).trusted).toBe(false)
    })

    it('keeps its memory in a folder that it makes', async () => {
      const kept = new FileNodeStore(join(folder, 'party'))
      await open({ store: kept })
      const sequence = (await open({ store: kept })).sequenceOf('na-test')
      expect(JSON.parse((await kept.read('positions')) ?? '')).toMatchObject({ 'na-test': { sequence } })
    })

    it('takes no other list under the number of the accepted one', async () => {
      const kept = store()
      await open({ store: kept })
      const position = JSON.parse((await kept.read('positions')) ?? '') as Record<string, { entries_digest: string }>
      await kept.write('positions', JSON.stringify({ 'na-test': { ...position['na-test'], entries_digest: 'other' } }))
      await expect(open({ store: kept })).rejects.toThrow('no list that one of its keys signed')
    })

    it('takes no list at all when its memory is damaged', async () => {
      for (const damaged of ['', '[]', '{"na-test":{}}', '{"na-test":{"sequence":"1","entries_digest":""}}']) {
        const kept = store()
        await kept.write('positions', damaged)
        await expect(open({ store: kept })).rejects.toThrow('the stored positions of lists are damaged')
      }
    })
  })

  it('reports two lists under one number, also when one of them is a delta', async () => {
    const listOf = async (ids: readonly number[]): Promise<Crl> => {
      const revoked_at = writeInstant(clock.now())
      const entries = ids.map((id) => ({
        certificate_id: `c${id}`,
        issuer: 'na-test',
        reason: 'unspecified',
        revoked_at,
      }))
      const times = { issued_at: writeInstant(clock.now()), next_update: writeInstant(clock.now() + HOUR) }
      const draft = { crl_id: `crl-${ids[0]}`, sequence: 9, issuer: 'na-test', ...times, revoked_certificates: entries }
      return readCrl(asJson(await na.core.signing.sign(draft)))
    }
    const ids = Array.from({ length: 1000 }, (_, id) => id)
    const [held, second] = [await listOf(ids), await listOf(ids.slice(1))]
    const change = { removed: [{ at: 0, count: 1 }], added: [] }
    const real = createAuthorityClient({ url: na.url, retry: false })
    const crl = {
      ...real.crl,
      scanned: async () => scannedList({ body: toUtf8(writeJson(held)) } as Parameters<typeof scannedList>[0]),
      delta: async () => toUtf8(listDeltaText(9, second, change)),
    }
    const party = await open({ client: { ...real, crl } })
    expect((await party.refresh()).lists).toEqual({ 'na-test': 'equivocation' })
    expect(party.sequenceOf('na-test')).toBe(9)
  })

  it('changes nothing for a block that the root did not sign', async () => {
    const party = await open()
    const thief = { ...next, genesis: { ...next.genesis, network_version: 'v9' } }
    await announce(next)
    await na.core.database.write(({ query }) =>
      query
        .updateTable('key_succession')
        .set({ genesis_json: JSON.stringify(thief.genesis) })
        .execute(),
    )
    na.core.newestBlock.clear()
    expect((await party.refresh()).keys).toBe('invalid_signature')
    expect(party.keys).toEqual({ genesis: na.genesis })
    expect(party.sequenceOf('na-2')).toBeUndefined()
  })
})
