import { writeSortable } from '@chancery/protocol'
import { ManualClock, createMigratedDatabase, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority, TestDatabase } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refreshIfDue } from '../../features/crl/serve-list.ts'
import type { LeaseParts } from './leases.ts'
import { LeaseLostError, checkLease, withLease } from './leases.ts'
import type { Lease } from './leases.ts'
import { EntriesCache } from '../../features/crl/entries-cache.ts'
import { ListBuilder } from '../../features/crl/list-builder.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock()
let database: TestDatabase
let instances: TestAuthority[] = []
beforeAll(async () => {
  database = await createMigratedDatabase()
  const options = { clock, database, settings: { NA_CLOCK_CHECK: 'off' } }
  instances = [await startTestAuthority(options), await startTestAuthority(options)]
})
afterAll(async () => {
  await Promise.all(instances.map((instance) => instance.stop()))
  await database.drop()
})

function openedParts(): [TestAuthority['parts'], TestAuthority['parts']] {
  const [a, b] = instances.map((instance) => instance.parts)
  if (a === undefined || b === undefined) throw new Error('not started')
  return [a, b]
}

/** A write under a lease: a separate row, of a window so late that no job removes it meanwhile. */
const write = (parts: LeaseParts, lease: Lease, bucket: string): Promise<void> =>
  parts.database.write(async (tx) => {
    await tx.query.insertInto('rate_limit_windows').values({ bucket, window_start: 9_000_000_000, hits: 0 }).execute()
    await checkLease(tx, lease)
  })
const isWritten = async (parts: LeaseParts, bucket: string): Promise<boolean> => {
  const rows = await parts.database.read
    .selectFrom('rate_limit_windows')
    .selectAll()
    .where('bucket', '=', bucket)
    .execute()
  return rows.length > 0
}

describe('withLease', () => {
  it('runs on one instance at a time', async () => {
    const [a, b] = openedParts()
    const ran: string[] = []
    await withLease(a, 'one', 60, async () => {
      ran.push('a')
      await withLease(b, 'one', 60, async () => {
        ran.push('b')
      })
      await withLease(a, 'one', 60, async () => {
        ran.push('a again')
      })
    })
    expect(ran).toEqual(['a'])
  })

  it('is free again after the work, also when the work failed', async () => {
    const [a, b] = openedParts()
    await expect(withLease(a, 'free', 60, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
    const tokens: number[] = []
    for (const parts of [b, a]) await withLease(parts, 'free', 60, async ({ token }) => void tokens.push(token))
    // The first holder had 1: a token is never given twice.
    expect(tokens).toEqual([2, 3])
  })

  it.each([
    ['let go', async (parts: LeaseParts) => withLease(parts, 'ahead-let go', 60, async () => undefined)],
    [
      'never let go',
      async (parts: LeaseParts) => {
        const values = { name: 'ahead-never let go', holder: 'gone', token: 1 }
        const [acquired_at, expires_at] = [writeSortable(clock.now()), writeSortable(clock.now() + 60_000_000n)]
        await rowsOf(parts.database)
          .insertInto('job_leases')
          .values({ ...values, acquired_at, expires_at })
          .execute()
      },
    ],
  ])('is free after a clock was set back, %s while it was ahead', async (name, take) => {
    const [a, b] = openedParts()
    const right = clock.now()
    clock.set(right + 86_400_000_000n)
    await take(a)
    clock.set(right)
    const tokens: number[] = []
    await withLease(b, `ahead-${name}`, 60, async ({ token }) => void tokens.push(token))
    expect(tokens).toEqual([2])
  })

  it('keeps names apart', async () => {
    const [a, b] = openedParts()
    let isRun = false
    await withLease(a, 'name-1', 60, () =>
      withLease(b, 'name-2', 60, async () => {
        isRun = true
      }),
    )
    expect(isRun).toBe(true)
  })

  it('gives the lease to exactly one of many who ask at once', async () => {
    const [a, b] = openedParts()
    let running = 0
    let most = 0
    const work = async (): Promise<void> => {
      running += 1
      most = Math.max(most, running)
      await new Promise((resolve) => setTimeout(resolve, 20))
      running -= 1
    }
    await Promise.all(Array.from({ length: 20 }, (_, index) => withLease(index % 2 === 0 ? a : b, 'many', 60, work)))
    expect(most).toBe(1)
  })
})

describe('a holder that was paused', () => {
  it('writes while it holds, and fails with LeaseLostError once another has taken over', async () => {
    const [a, b] = openedParts()
    await withLease(a, 'paused', 60, async (lease) => {
      await write(a, lease, 'paused-in-time')
      clock.advance(60)
      await withLease(b, 'paused', 60, async (other) => {
        expect(other.token).toBe(lease.token + 1)
        await expect(write(a, lease, 'paused-late')).rejects.toThrow(LeaseLostError)
        await write(b, other, 'paused-other')
      })
      // The other is done and gone: the token is still not ours.
      await expect(write(a, lease, 'paused-later')).rejects.toThrow(LeaseLostError)
    })
    expect(await isWritten(a, 'paused-in-time')).toBe(true)
    expect(await isWritten(a, 'paused-other')).toBe(true)
    expect(await isWritten(a, 'paused-late')).toBe(false)
    expect(await isWritten(a, 'paused-later')).toBe(false)
  })

  it('does not end the lease of its successor when it finally lets go', async () => {
    const [a, b] = openedParts()
    let finish = (): void => undefined
    const paused = withLease(a, 'let-go', 60, () => new Promise<void>((resolve) => (finish = resolve)))
    await expect
      .poll(
        async () =>
          (await a.database.read.selectFrom('job_leases').selectAll().where('name', '=', 'let-go').execute()).length,
      )
      .toBe(1)
    clock.advance(60)
    await withLease(b, 'let-go', 60, async (lease) => {
      finish()
      await paused
      let isTaken = false
      await withLease(a, 'let-go', 60, async () => {
        isTaken = true
      })
      expect(isTaken).toBe(false)
      await write(b, lease, 'let-go')
    })
    expect(await isWritten(b, 'let-go')).toBe(true)
  })

  it('keeps its lease until another process takes it: only a takeover fences', async () => {
    const [a] = openedParts()
    await withLease(a, 'slow', 60, async (lease) => {
      clock.advance(600)
      await write(a, lease, 'slow')
    })
    expect(await isWritten(a, 'slow')).toBe(true)
  })

  it('publishes no list under a lost lease', async () => {
    const [opened] = openedParts()
    const a = { ...opened, entries: new EntriesCache(), builder: new ListBuilder() }
    await refreshIfDue(a, {})
    clock.advance(13 * 3600)
    const lost = { name: 'no-such-lease', token: 1 }
    await expect(refreshIfDue(a, { job: 'late' }, lost)).rejects.toThrow(LeaseLostError)
    // The job of either instance may publish meanwhile, under its own lease; the late one has not.
    const events = await a.database.read.selectFrom('audit_events').select('event_json').execute()
    expect(events.filter((event) => event.event_json.includes('"job":"late"'))).toEqual([])
  })
})
