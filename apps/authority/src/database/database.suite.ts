// oxlint-disable max-lines -- one list of requirements that both engines meet
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { systemClock } from '@chancery/service-kit'
import { accepted, createTestDatabase, startTestAuthority, testSigner } from '@chancery/testkit'
import type { Backend, TestDatabase } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { claimDatabase } from '../startup/check-keys.ts'
import type { Database } from './database.ts'
import { type NonceClaim, claimNonces } from '../auth/nonces.ts'
import { countHits } from '../limits/shared-limiter.ts'
import {
  EXPECTED_SCHEMA_VERSION,
  MigrationFailedError,
  NewerSchemaError,
  migrate,
  readSchemaVersion,
} from './migrate.ts'
import { type DatabaseLocation, openDatabase } from './open.ts'
import { rowsOf } from '../testing/rows.suite.ts'
import { readVersions, versionReader } from './locks/versions.ts'

export function locationOf({ settings }: TestDatabase): DatabaseLocation {
  const url = settings['DATABASE_URL']
  return url === undefined ? { kind: 'sqlite', path: settings['DB_PATH'] ?? '' } : { kind: 'postgres', url }
}

const now = (): bigint => systemClock.now()
const claim = (): NonceClaim => ({ claim: randomBytes(16), expires_at: '2030-01-01T00:00:00.000000Z' })

/** What every engine must do alike; run by sqlite/open.test.ts and postgres/open.database.test.ts. */
export function describeDatabase(backend: Backend): void {
  describe(`the store on ${backend}`, () => {
    // Making a database costs more than most tests: they share one and look at differences.
    let testDatabase: TestDatabase
    let database: Database
    beforeAll(async () => {
      testDatabase = await createTestDatabase(backend)
      database = openDatabase(locationOf(testDatabase))
      await migrate(database, now)
    })
    afterAll(async () => {
      await database.close()
      await testDatabase.drop()
    })
    const policyVersion = async (): Promise<number> => (await readVersions(database)).versions.get('policy') ?? -1

    describe('migrations', () => {
      it('leave the schema this release expects, each version applied once', async () => {
        expect(await readSchemaVersion(rowsOf(database))).toBe(EXPECTED_SCHEMA_VERSION)
        const rows = await database.read.selectFrom('schema_version').select('version').orderBy('version').execute()
        expect(rows.map((row) => Number(row.version))).toEqual(
          Array.from({ length: EXPECTED_SCHEMA_VERSION - 47 }, (_, i) => i + 48),
        )
      })

      it('change nothing when they run again', async () => {
        await bumpOnce(database)
        const [before, stamp] = [
          await database.read.selectFrom('schema_version').selectAll().execute(),
          await policyVersion(),
        ]
        await migrate(database, now)
        expect(await database.read.selectFrom('schema_version').selectAll().execute()).toEqual(before)
        expect(await policyVersion()).toBe(stamp)
      })

      it('refuse a database of a newer release, and touch nothing', async () => {
        const applied_at = '2030-01-01T00:00:00.000000Z'
        await rowsOf(database).insertInto('schema_version').values({ version: 999, applied_at }).execute()
        await expect(migrate(database, now)).rejects.toThrow(NewerSchemaError)
        await expect(startTestAuthority({ database: testDatabase })).rejects.toThrow(/999/)
        expect(await readSchemaVersion(rowsOf(database))).toBe(999)
        await rowsOf(database).deleteFrom('schema_version').where('version', '=', 999).execute()
      })

      it('that fail are undone and named, and go on from there when the cause is gone', async () => {
        const fresh = await createTestDatabase(backend)
        const half = openDatabase(locationOf(fresh))
        await migrate(half, now, { upTo: 48 })
        // What the migration after the next one makes is there already.
        await sql`alter table data_license_policies add column in_force_for text`.execute(rowsOf(half))
        const failed = migrate(half, now)
        await expect(failed).rejects.toThrow(MigrationFailedError)
        await expect(failed).rejects.toThrow(/schema version 50 failed and was undone.*still at version 49/)
        await expect(startTestAuthority({ database: fresh })).rejects.toThrow(MigrationFailedError)
        expect(await readSchemaVersion(rowsOf(half))).toBe(49)
        await sql`alter table data_license_policies drop column in_force_for`.execute(rowsOf(half))
        await migrate(half, now)
        expect(await readSchemaVersion(rowsOf(half))).toBe(EXPECTED_SCHEMA_VERSION)
        await half.close()
        await fresh.drop()
      })

      it('run by two processes at once are applied once', async () => {
        const fresh = await createTestDatabase(backend)
        const helpers = await Promise.all([startHelper(fresh), startHelper(fresh)])
        const answers = await Promise.all(helpers.map((helper) => helper.ask({ do: 'migrate' })))
        expect(answers).toEqual([{ ok: true }, { ok: true }])
        await Promise.all(helpers.map((helper) => helper.stop()))
        const check = openDatabase(locationOf(fresh))
        expect(await readSchemaVersion(rowsOf(check))).toBe(EXPECTED_SCHEMA_VERSION)
        expect(await check.read.selectFrom('heads').select('name').where('name', '=', 'crl').execute()).toHaveLength(1)
        await check.close()
        await fresh.drop()
        // Two processes are started, on a machine that may be busy.
      }, 60_000)
    })

    describe('identity', () => {
      it('refuses an authority of another network or key on the same database', async () => {
        const first = await startTestAuthority({ backend, network: 'ONE-NET' })
        const taken = first.database
        await expect(startTestAuthority({ database: taken, network: 'OTHER-NET' })).rejects.toThrow(/ONE-NET/)
        const { publicKey: current } = await testSigner('na-test', 'other-na')
        const stranger = {
          current,
          former: [],
          all: [current],
          audiences: [current],
          historyText: undefined,
          formerSigner: undefined,
        }
        await expect(claimDatabase(first.core.database, first.genesis, stranger, now())).rejects.toThrow(/database/i)
        const second = await startTestAuthority({ database: taken, network: 'ONE-NET' })
        accepted(await second.request('GET', '/readyz'))
        await second.stop()
        await first.stop()
      })
    })

    describe('transact', () => {
      it('keeps everything or nothing', async () => {
        const before = await policyVersion()
        const failed = database.write(async (tx) => {
          await tx.raiseVersion('policy')
          await tx.query.insertInto('rate_limit_windows').values({ bucket: 'lost', window_start: 1, hits: 1 }).execute()
          throw new Error('changed my mind')
        })
        await expect(failed).rejects.toThrow('changed my mind')
        expect(await policyVersion()).toBe(before)
        const lost = database.read.selectFrom('rate_limit_windows').selectAll().where('bucket', '=', 'lost')
        expect(await lost.execute()).toEqual([])
        expect(await database.write(async (tx) => (await tx.raiseVersion('policy'), 'result'))).toBe('result')
        expect(await policyVersion()).toBe(before + 1)
      })

      it('undoes what came before a broken statement', async () => {
        const before = await policyVersion()
        const failed = database.write(async (tx) => {
          await tx.raiseVersion('policy')
          await tx.query.insertInto('heads').values({ name: 'crl', version: 7 }).execute()
        })
        await expect(failed).rejects.toThrow()
        expect(await policyVersion()).toBe(before)
      })

      it('serves 100 failing and 100 good ones without losing a connection', async () => {
        const before = await policyVersion()
        const run = (i: number): Promise<void> =>
          database.write(async (tx) => {
            await tx.raiseVersion('policy')
            if (i % 2 === 0) throw new Error('no')
          })
        // More at once than there are connections, but none waits for one longer than it may.
        for (let wave = 0; wave < 5; wave += 1) {
          const outcomes = await Promise.allSettled(Array.from({ length: 40 }, (_, i) => run(i)))
          expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(20)
        }
        expect(await policyVersion()).toBe(before + 100)
      })

      it('lets holders of one head through one at a time', async () => {
        const before = await policyVersion()
        let inside = 0
        let most = 0
        await Promise.all(
          Array.from({ length: 12 }, () =>
            database.write(async (tx) => {
              await tx.lock('policy')
              inside += 1
              most = Math.max(most, inside)
              const { version } = await tx.query
                .selectFrom('heads')
                .select('version')
                .where('name', '=', 'policy')
                .executeTakeFirstOrThrow()
              await new Promise((resolve) => setTimeout(resolve, 3))
              // Read, then written: only the lock keeps this from losing counts.
              await tx.query
                .updateTable('heads')
                .set({ version: Number(version) + 1 })
                .where('name', '=', 'policy')
                .execute()
              inside -= 1
            }),
          ),
        )
        expect(most).toBe(1)
        expect(await policyVersion()).toBe(before + 12)
      })
    })

    describe('stamps', () => {
      it('are never older than the question', async () => {
        const versions = versionReader(database, (each) => each)
        const before = await policyVersion()
        for (let i = 1; i <= 20; i += 1) {
          const others = Array.from({ length: 5 }, () => versions.read())
          await bumpOnce(database)
          expect((await versions.read()).versions.get('policy')).toBe(before + i)
          await Promise.all(others)
        }
      })
    })

    describe('claimNonces', () => {
      it('lets one of 50 parallel copies win', async () => {
        const one = claim()
        const won = await Promise.all(Array.from({ length: 50 }, () => claimNonces(database, [one])))
        expect(won.flat().filter(Boolean)).toHaveLength(1)
      })

      it('lets the first of equal claims in one batch win, and answers in the order of the rows', async () => {
        const [a, b, c] = [claim(), claim(), claim()]
        expect(await claimNonces(database, [b, a, b, c, a, b])).toEqual([true, true, false, true, false, false])
        expect(await claimNonces(database, [c, claim(), a])).toEqual([false, true, false])
        expect(await claimNonces(database, [])).toEqual([])
      })

      it('gives each of 200 claims to one of two processes', async () => {
        const helper = await startHelper(testDatabase)
        const claims = Array.from({ length: 200 }, claim)
        const [mine, theirs] = await Promise.all([
          Promise.all(claims.map((one) => claimNonces(database, [one]))),
          helper.ask({ do: 'claim', claims: claims.map((one) => Buffer.from(one.claim).toString('hex')) }),
        ])
        const { won } = theirs as { won: boolean[] }
        for (const [i, rows] of mine.entries()) expect([rows[0], won[i]].filter(Boolean), `claim ${i}`).toHaveLength(1)
        await helper.stop()
      })

      it('is stored over a restart', async () => {
        const one = claim()
        expect(await claimNonces(database, [one])).toEqual([true])
        await database.close()
        database = openDatabase(locationOf(testDatabase))
        expect(await claimNonces(database, [one])).toEqual([false])
        expect(await claimNonces(database, [claim()])).toEqual([true])
      })
    })

    describe('countHits', () => {
      it('adds up per bucket and window, in the order of the rows', async () => {
        const row = (bucket: string, windowStart: number, hits: number) => ({ bucket, windowStart, hits })
        expect(await countHits(database, [row('b', 60, 1), row('a', 60, 2), row('a', 120, 5)])).toEqual([1, 2, 5])
        expect(await countHits(database, [row('a', 60, 3), row('b', 60, 1)])).toEqual([5, 2])
        expect(await countHits(database, [row('a', 120, 1)])).toEqual([6])
      })

      it('loses no hit of 60 parallel callers and gives every caller another total', async () => {
        const totals = await Promise.all(
          Array.from({ length: 60 }, () => countHits(database, [{ bucket: 'x', windowStart: 60, hits: 1 }])),
        )
        expect(totals.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, i) => i + 1))
      })
    })

    describe('checkWritable', () => {
      it('commits one row, however many ask', async () => {
        const read = () => database.read.selectFrom('moments').selectAll().execute()
        await Promise.all(Array.from({ length: 30 }, () => database.checkWritable()))
        const [row, ...others] = await read()
        expect([row?.name, others]).toEqual(['write-probe', []])
        for (let i = 0; i < 30; i += 1) await database.checkWritable()
        expect(await read()).toEqual([row])
      })

      it('throws when the row cannot be written, and works again afterwards', async () => {
        const fresh = openDatabase(locationOf(testDatabase))
        await sql`alter table moments rename to away`.execute(rowsOf(database))
        for (let i = 0; i < 30; i += 1) await expect(fresh.checkWritable()).rejects.toThrow()
        await sql`alter table away rename to moments`.execute(rowsOf(database))
        await vi.waitFor(() => fresh.checkWritable(), { timeout: 10_000, interval: 200 })
        await fresh.close()
      })
    })

    describe('numbers', () => {
      it('come back as numbers from wide columns', async () => {
        await rowsOf(database)
          .updateTable('heads')
          .set({ version: Number.MAX_SAFE_INTEGER })
          .where('name', '=', 'crl')
          .execute()
        const versions = await readVersions(database)
        expect(versions.versions.get('crl')).toBe(Number.MAX_SAFE_INTEGER)
        await rowsOf(database).updateTable('heads').set({ version: 0 }).where('name', '=', 'crl').execute()
      })
    })
  })
}

async function bumpOnce(database: Database): Promise<void> {
  await database.write((tx) => tx.raiseVersion('policy'))
}

interface Helper {
  ask(question: object): Promise<unknown>
  stop(): Promise<void>
}

/**
 * A second process with a separate database object: two of them on one SQLite file cannot wait for each other in one
 * process.
 */
async function startHelper(testDatabase: TestDatabase): Promise<Helper> {
  const child = fork(new URL('database-helper.suite.ts', import.meta.url), [JSON.stringify(locationOf(testDatabase))], {
    execArgv: ['--conditions=development'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  await once(child, 'message')
  return {
    async ask(question) {
      const answered = once(child, 'message')
      child.send(question)
      return (await answered)[0] as unknown
    },
    async stop() {
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}
