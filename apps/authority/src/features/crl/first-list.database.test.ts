import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { HOUR, type RevocationList, instantOf, writePrivateKeyFile } from '@chancery/protocol'
import {
  FIRST_KEY,
  ManualClock,
  accepted,
  createMigratedDatabase,
  enroll,
  entryOf,
  fetchCrl,
  nodeCaller,
  refused,
  runTestStep,
  signSuccession,
  startTestAuthority,
  testSeed,
  testSigner,
} from '@chancery/testkit'
import type { Succeeded, TestAuthority, TestDatabase } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { renewFirstList } from './first-list.ts'

const NEXT = { keyId: 'na-2', seed: 'na-2' }
const { publicKey } = await testSigner(NEXT.keyId, NEXT.seed)
let clock: ManualClock
let folder: string
let database: TestDatabase
let na: TestAuthority
let next: Required<Succeeded>
beforeEach(async () => {
  clock = new ManualClock()
  folder = await mkdtemp(join(tmpdir(), 'chancery-first-list-'))
  database = await createMigratedDatabase()
  na = await startTestAuthority({ clock, database })
  await na.request('GET', '/crl')
  next = await signSuccession(folder, { genesis: na.genesis, key: FIRST_KEY }, NEXT, clock.now())
})
afterEach(async () => {
  await na.stop()
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

const announce = async (): Promise<void> => {
  await runTestStep('announce', next, { database, clock })
  na.core.newestBlock.clear()
}
const giveKey = async (): Promise<void> => {
  const { keySource } = na.settings
  if (keySource.provider !== 'file') throw new Error('no file')
  const text = writePrivateKeyFile(testSeed(NEXT.seed))
  await writeFile(join(dirname(keySource.path), 'na-2.key'), text, { mode: 0o600 })
}
const joined = async (): Promise<string> => {
  const node = nodeCaller(na.url, await testSigner('node', 'first list'), () => clock.now())
  return (await enroll(na, node)).cert_id
}
const runRefresh = async (): Promise<void> => {
  const job = na.features.crl.jobs.find(({ name }) => name === 'crl-refresh')
  await job?.run(new AbortController().signal)
}

it('is signed as soon as a started instance stores the first list of the network', async () => {
  const empty = await createMigratedDatabase()
  // The job that stores the first list begins after a random time, here as late as it may.
  const random = vi.spyOn(Math, 'random').mockReturnValue(0.999)
  const started = await startTestAuthority({ clock, database: empty })
  try {
    let isAnnounced = false
    const announced = runTestStep('announce', next, { database: empty, clock }).then(() => (isAnnounced = true))
    // Longer than it takes to look for the list.
    await pause(800)
    expect(isAnnounced).toBe(false)
    await started.request('GET', '/crl')
    expect(await announced).toBe(true)
    started.core.newestBlock.clear()
    const { sequence } = await fetchCrl(started.url, publicKey, '/crl/keys/na-2')
    expect(sequence).toBe(0)
  } finally {
    random.mockRestore()
    await started.stop()
    await empty.drop()
  }
})

describe('GET /crl/keys/{key_id} of an announced key', () => {
  it('200: is signed again until the switch, and names what was revoked since', async () => {
    await giveKey()
    const cert_id = await joined()
    refused(await na.request('GET', '/crl/keys/na-2'), 404, 'key_list_not_found')
    await announce()
    const pinned = await fetchCrl(na.url, publicKey, '/crl/keys/na-2')
    clock.advance(61 * 60)
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id }))
    await runRefresh()
    const renewed = await fetchCrl(na.url, publicKey, '/crl/keys/na-2')
    expect(renewed.sequence).toBeGreaterThan(pinned.sequence)
    expect(entryOf(renewed, cert_id)?.issuer).toBe('na-2')
    // For as long as the key is announced.
    for (let day = 0; day < 30; day += 1) {
      for (const hours of [13, 11]) {
        clock.advance(hours * 3600)
        await runRefresh()
        await runRefresh()
      }
      const list = await fetchCrl(na.url, publicKey, '/crl/keys/na-2')
      expect(instantOf(list.next_update) - clock.now()).toBeGreaterThan(Number(9n * HOUR))
    }
  }, 30_000)

  it('is signed again by one of two instances: a sequence never has two lists', async () => {
    await giveKey()
    await announce()
    clock.advance(61 * 60)
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id: await joined() }))
    let other: RevocationList | undefined
    // The other one reads the same row, and stores its list first.
    const findKey: typeof na.core.findKey = async (...words) => {
      clock.advance(1)
      await renewFirstList(na.parts)
      other = await fetchCrl(na.url, publicKey, '/crl/keys/na-2')
      return na.core.findKey(...words)
    }
    await renewFirstList({ ...na.parts, findKey })
    const served = await fetchCrl(na.url, publicKey, '/crl/keys/na-2')
    expect([served.sequence, served.crl_id]).toEqual([other?.sequence, other?.crl_id])
    expect(served.sequence).toBeGreaterThan(0)
  })

  it('200 until its end where the key is not reachable, then 404', async () => {
    await announce()
    expect((await fetchCrl(na.url, publicKey, '/crl/keys/na-2')).issuer).toBe('na-2')
    clock.advance(23 * 3600)
    await runRefresh()
    expect((await fetchCrl(na.url, publicKey, '/crl/keys/na-2')).issuer).toBe('na-2')
    clock.advance(2 * 3600)
    refused(await na.request('GET', '/crl/keys/na-2'), 404, 'key_list_not_found')
  })
})
