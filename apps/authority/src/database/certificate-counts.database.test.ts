import { accepted, enroll, nodeCaller, seedCertificates, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findMiscount, foldCertificateCounts, readCertificateCounts } from './certificate-counts.ts'
import { rowsOf } from '../testing/rows.suite.ts'

const signal = new AbortController().signal
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(() => na.stop())

const counts = () => readCertificateCounts(na.core.database.read)

describe('counters of certificates', () => {
  it('follow joins, renewals, revocations and rows that are removed by hand', async () => {
    const member = nodeCaller(na.url, await testSigner('node', 'counted'), () => na.core.clock.now())
    const { cert_id } = await enroll(na, member)
    expect(await counts()).toEqual({ issued: 1, revoked: 0, tracked: 1 })
    accepted(await member.renew(cert_id), 201)
    const gone = await enroll(
      na,
      nodeCaller(na.url, await testSigner('node', 'gone'), () => na.core.clock.now()),
    )
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id: gone.cert_id }))
    expect(await counts()).toEqual({ issued: 3, revoked: 1, tracked: 2 })
    expect(await findMiscount(na.core.database.read)).toBeUndefined()
    await rowsOf(na.core.database).deleteFrom('issued_certs').where('cert_id', '=', gone.cert_id).execute()
    expect(await counts()).toEqual({ issued: 2, revoked: 0, tracked: 2 })
  })

  it('are true to every reader while rows come in and are added up', async () => {
    const { database } = na.core
    const before = (await counts()).issued
    const { publicKey } = await testSigner('node', 'crowd')
    const add = async (): Promise<void> => {
      for (let count = 0; count < 10; count += 1)
        await seedCertificates(na.parts, { count: 2, node_public_key: publicKey })
    }
    const adding = Promise.all([add(), add(), add()])
    let isDone = false
    const done = adding.then(() => (isDone = true))
    let last = before
    while (!isDone) {
      // Two instances add up at the same time.
      await Promise.all([foldCertificateCounts(database, signal), foldCertificateCounts(database, signal)])
      const { issued } = await counts()
      expect(issued).toBeGreaterThanOrEqual(last)
      last = issued
    }
    await done
    await foldCertificateCounts(database, signal)
    expect((await counts()).issued).toBe(before + 60)
    expect(await findMiscount(database.read)).toBeUndefined()
    expect(await database.read.selectFrom('issued_counts').select('id').execute()).toEqual([{ id: '' }])
  })

  it('do not count what was rolled back', async () => {
    const before = await counts()
    await expect(
      na.core.database.write(async (tx) => {
        await sql`update issued_certs set status = 'revoked'`.execute(tx.query)
        throw new Error('given up')
      }),
    ).rejects.toThrow('given up')
    expect(await counts()).toEqual(before)
  })

  it('detect rows that they do not count', async () => {
    const db = rowsOf(na.core.database)
    await db
      .updateTable('issued_counts')
      .set({ issued: sql<number>`issued + 1` })
      .where('id', '=', '')
      .execute()
    expect(await findMiscount(db)).toMatch(/^\d+ stored, \d+ of them revoked; the counters say \d+ and \d+$/)
    await db
      .updateTable('issued_counts')
      .set({ issued: sql<number>`issued - 1` })
      .where('id', '=', '')
      .execute()
    expect(await findMiscount(db)).toBeUndefined()
  })
})
