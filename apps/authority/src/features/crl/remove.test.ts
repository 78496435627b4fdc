import { hours } from '@chancery/protocol'
import { ManualClock, accepted, seedCertificates, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { digestOf, findRollback, readHeads } from '../../rollback/positions.ts'
import { inspectStore } from '../evidence/verify-store.ts'
import { inspectDatabase } from '../../recovery/inspect.ts'
import { removeOldLists } from './remove.job.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

describe('removeOldLists', () => {
  const clock = new ManualClock()
  let na: TestAuthority
  let counter = 0
  beforeEach(async () => {
    na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
    accepted(await na.request('GET', '/crl'))
  })
  afterEach(() => na.stop())

  async function revokeOne(): Promise<void> {
    counter += 1
    const { publicKey } = await testSigner('node', `removal-${counter}`)
    const [seeded] = await seedCertificates(na.parts, { count: 1, node_public_key: publicKey, validityHours: 1000 })
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id: seeded?.cert_id ?? '' }))
  }
  const remove = (): Promise<void> => removeOldLists(na.parts, new AbortController().signal)
  const stored = async (): Promise<number[]> => {
    const rows = await na.core.database.read.selectFrom('crl_versions').select('sequence').orderBy('sequence').execute()
    return rows.map(({ sequence }) => sequence)
  }
  const textOf = async (sequence: number): Promise<string> => {
    const query = na.core.database.read.selectFrom('crl_versions').select('crl_json').where('sequence', '=', sequence)
    return (await query.executeTakeFirstOrThrow()).crl_json
  }
  const problems = async (): Promise<readonly string[]> => {
    const authority = {
      publicKeys: [na.genesis.network_authority.public_key],
      sovereign: na.genesis.network_name,
    }
    return (await inspectDatabase(na.core.database.read, authority, inspectStore)).problems
  }

  it('removes a version a day after its end, not before, and keeps its sequence and digest', async () => {
    await revokeOne()
    const text = await textOf(0)
    clock.set(clock.now() + hours(24))
    await revokeOne()
    await revokeOne()
    await na.core.rollback.writeMark()
    clock.set(clock.now() + hours(24))
    await remove()
    expect(await stored()).toEqual([0, 1, 2, 3])
    clock.set(clock.now() + 1n)
    await remove()
    expect(await stored()).toEqual([2, 3])
    const db = na.core.database.read
    const [first] = await db.selectFrom('removed_crl_versions').selectAll().orderBy('sequence').execute()
    expect(first).toMatchObject({ sequence: 0, digest: digestOf(text) })
    // The others are served, continued and inspected as before.
    expect(await problems()).toEqual([])
    await revokeOne()
    expect(await stored()).toEqual([2, 3, 4])
    expect(await problems()).toEqual([])
  })

  it('keeps the newest version, whatever its age', async () => {
    await na.core.rollback.writeMark()
    clock.set(clock.now() + hours(1000))
    await remove()
    expect(await stored()).toEqual([0])
  })

  it('keeps the version that the high-water mark names', async () => {
    await revokeOne()
    await na.core.rollback.writeMark()
    if (na.core.rollback.mark === undefined) return
    expect(na.core.rollback.mark.crl?.sequence).toBe(1)
    for (let count = 0; count < 2; count += 1) await revokeOne()
    clock.set(clock.now() + hours(49))
    await remove()
    expect(await stored()).toEqual([1, 3])
    expect(await problems()).toEqual([])
  })

  it('still detects a fork: a mark that names another text for a removed sequence', async () => {
    const heads = await readHeads(na.core.database.read)
    const mark = { mark_version: 1, network_name: 'TEST-NET', written_at: '2100-01-01T00:00:00Z', ...heads } as const
    const text = await textOf(0)
    await revokeOne()
    await na.core.rollback.writeMark()
    clock.set(clock.now() + hours(49))
    await remove()
    expect(await stored()).toEqual([1])
    const db = na.core.database.read
    expect(await findRollback(db, await readHeads(db), mark)).toEqual([])
    const forged = { ...mark, crl: { sequence: 0, digest: digestOf(`${text} `) } }
    expect(await findRollback(db, await readHeads(db), forged)).toEqual(['crl'])
  })

  it('keeps sequence and digest for 400 days, never with a gap between stored versions', async () => {
    for (let count = 0; count < 3; count += 1) await revokeOne()
    await na.core.rollback.writeMark()
    clock.set(clock.now() + hours(49))
    await remove()
    const digests = async (): Promise<number[]> => {
      const rows = await na.core.database.read.selectFrom('removed_crl_versions').select('sequence').execute()
      return rows.map(({ sequence }) => sequence).sort((a, b) => a - b)
    }
    expect(await digests()).toEqual([0, 1, 2])
    const purgeClock = { nonces: clock, daily: clock } as unknown as typeof na.core.purgeClock
    const parts = { ...na.parts, purgeClock }
    const removeWithAcceptedClock = (): Promise<void> => removeOldLists(parts, new AbortController().signal)
    clock.set(clock.now() + hours(24 * 400))
    await removeWithAcceptedClock()
    expect(await digests()).toEqual([0, 1, 2])
    clock.set(clock.now() + 1n)
    // Nothing is removed by a clock that is not accepted yet.
    await remove()
    expect(await digests()).toEqual([0, 1, 2])
    // A stored version before others, which the mark names, ends the part that may be removed.
    const db = rowsOf(na.core.database)
    const version = await db.selectFrom('crl_versions').selectAll().executeTakeFirstOrThrow()
    const ends = '9999-01-01T00:00:00.000000Z'
    await db
      .insertInto('crl_versions')
      .values({ ...version, sequence: 1, next_update: ends })
      .execute()
    await db.deleteFrom('removed_crl_versions').where('sequence', '=', 1).execute()
    await removeWithAcceptedClock()
    expect(await digests()).toEqual([2])
    await db.deleteFrom('crl_versions').where('sequence', '=', 1).execute()
    await removeWithAcceptedClock()
    expect(await digests()).toEqual([])
    expect(await problems()).toEqual([])
  })

  it('still detects a gap', async () => {
    for (let count = 0; count < 3; count += 1) await revokeOne()
    await na.core.rollback.writeMark()
    clock.set(clock.now() + hours(49))
    await remove()
    expect(await problems()).toEqual([])
    await rowsOf(na.core.database).deleteFrom('removed_crl_versions').where('sequence', '=', 1).execute()
    expect(await problems()).toEqual(['crl 2: follows 0'])
  })
})
