import { type TestDatabase, currentBackend } from '@chancery/testkit'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LockTimeoutError, DatabaseUnavailableError, UnknownOutcomeError } from '../errors.ts'
import type { Database, Query } from '../database.ts'
import { describeDatabase, locationOf } from '../database.suite.ts'
import { lockMigrations } from '../locks/migration.ts'
import { openDatabase, translateDatabaseError } from '../open.ts'
import { openPostgres } from './open.ts'
import { type OpenedPostgres, closeSoon, openTestPostgres } from './postgres.suite.ts'
import { rowsOf } from '../../testing/rows.suite.ts'
import { readVersions } from '../locks/versions.ts'
import type { Domain } from '../locks/domains.ts'

if (currentBackend() === 'postgres') describeDatabase('postgres')

describe.runIf(currentBackend() === 'postgres')('PostgreSQL', () => {
  let opened: OpenedPostgres
  let testDatabase: TestDatabase
  let database: Database
  let outside: pg.Client
  beforeAll(async () => {
    opened = await openTestPostgres()
    ;({ testDatabase, database, outside } = opened)
  })
  afterAll(() => opened.close())
  const policyVersion = (): Promise<number | undefined> => opened.policyVersion()

  /** Ends the connection a transaction runs on, from outside, and waits until it is gone. */
  async function cutConnection(tx: Query): Promise<void> {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx)
    await outside.query('select pg_terminate_backend($1, 2000)', [rows[0]?.pid])
    await new Promise((resolve) => setTimeout(resolve, 10))
  }

  it('limits every statement, but not in a migration and where a write asks for none', async () => {
    const limits = async (tx: Query): Promise<string[]> => {
      const { rows } = await sql<{ name: string; setting: string }>`
        select name, setting from pg_settings where name in ('statement_timeout', 'lock_timeout') order by name`.execute(
        tx,
      )
      return rows.map(({ name, setting }) => `${name} ${setting}`)
    }
    const within = await database.write(async (tx) => {
      await lockMigrations(database, tx)
      return limits(tx.query)
    })
    // A change of a table in use still times out, because all other users would wait for it.
    expect(within).toEqual(['lock_timeout 2000', 'statement_timeout 0'])
    const unlimited = await database.write((tx) => limits(tx.query), { unlimited: true })
    expect(unlimited).toEqual(['lock_timeout 5000', 'statement_timeout 0'])
    expect(await database.write((tx) => limits(tx.query))).toEqual(['lock_timeout 5000', 'statement_timeout 10000'])
  })

  it('refuses no request that waits behind a migration for a table that is held', async () => {
    await outside.query('begin')
    await outside.query('select count(*) from moments')
    try {
      const { promise: started, resolve: isStarted } = Promise.withResolvers<void>()
      const migration = database.write(async (tx) => {
        await lockMigrations(database, tx)
        isStarted()
        await sql`alter table moments add column next_note text`.execute(tx.query)
      })
      const ending = migration.then(
        () => 'migrated',
        (error: unknown) => String(error),
      )
      await started
      // In the queue before the migration or behind it; one after another, so that some come in every part of the wait.
      for (let count = 0; count < 20; count += 1) {
        await database.read.selectFrom('moments').select('name').execute()
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      expect(await ending).toMatch(/lock timeout/)
    } finally {
      await outside.query('rollback')
    }
  })

  it('reports that nothing was stored when the connection dies before COMMIT arrives', async () => {
    const before = await policyVersion()
    const cut = database.write(async (tx) => {
      await tx.raiseVersion('policy')
      await cutConnection(tx.query)
    })
    // The server never saw COMMIT, and says so when it is asked.
    await expect(cut).rejects.toThrow(DatabaseUnavailableError)
    expect(await policyVersion()).toBe(before)
  })

  it('says DatabaseUnavailableError, not UnknownOutcomeError, when the connection dies before COMMIT was sent', async () => {
    const before = await policyVersion()
    const cut = database.write(async (tx) => {
      await tx.raiseVersion('policy')
      await cutConnection(tx.query)
      await tx.raiseVersion('policy')
    })
    const error = await cut.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).not.toBeInstanceOf(UnknownOutcomeError)
    expect(translateDatabaseError(error)).toBeInstanceOf(DatabaseUnavailableError)
    expect(await policyVersion()).toBe(before)
  })

  it('survives a connection that dies between two statements of a transaction', async () => {
    // No caller awaits the connection at that moment: its error must not become an uncaught exception of the process.
    const { promise, resolve } = Promise.withResolvers<void>()
    const work = database.write(async (tx) => {
      await cutConnection(tx.query)
      await promise
      await tx.raiseVersion('policy')
    })
    setTimeout(resolve, 50)
    await expect(work).rejects.toThrow()
    expect(await policyVersion()).toBeDefined()
  })

  it.each([
    ['during COMMIT', false],
    ['inside the transaction', true],
  ])('gets every connection back that died %s', async (_when, oneMore) => {
    const own = openDatabase(locationOf(testDatabase))
    const cut = (): Promise<void> =>
      own.write(async (tx) => {
        await cutConnection(tx.query)
        if (oneMore) await tx.raiseVersion('crl')
      })
    // As many as the pool has: if each occupied its slot, no other caller would get one.
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, cut))
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toEqual([])
    await expect(readVersions(own)).resolves.toBeDefined()
    await expect(own.checkWritable()).resolves.toBeUndefined()
    await expect(closeSoon(own)).resolves.toBe('closed')
  })

  it('gives up a lock that is not had in time as LockTimeoutError', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const { promise: locked, resolve: isLocked } = Promise.withResolvers<void>()
    const holder = database.write(async (tx) => {
      await tx.lock('policy')
      isLocked()
      await held
    })
    await locked
    const waiter = database.write(async (tx) => {
      await sql`set local lock_timeout = '100ms'`.execute(tx.query)
      await tx.lock('policy')
    })
    const error = await waiter.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(translateDatabaseError(error)).toBeInstanceOf(LockTimeoutError)
    release()
    await holder
    const { rows } = await sql<{ lock_timeout: string }>`show lock_timeout`.execute(rowsOf(database))
    expect(rows[0]?.lock_timeout).toBe('5s')
  })

  it('runs a deadlocked transaction again from its start', async () => {
    let runs = 0
    const { promise: bothHold, resolve: go } = Promise.withResolvers<void>()
    let holding = 0
    const cross = (first: 'crl' | 'policy', second: 'crl' | 'policy'): Promise<void> =>
      database.write(async (tx) => {
        runs += 1
        await tx.raiseVersion(first)
        holding += 1
        if (holding === 2) go()
        await bothHold
        await tx.raiseVersion(second)
      })
    const before = (await readVersions(database)).versions
    await Promise.all([cross('crl', 'policy'), cross('policy', 'crl')])
    const after = (await readVersions(database)).versions
    expect(runs).toBe(3)
    expect([
      Number(after.get('crl')) - Number(before.get('crl')),
      Number(after.get('policy')) - Number(before.get('policy')),
    ]).toEqual([2, 2])
  })

  it('does not lock a head that does not exist', async () => {
    await expect(database.write((tx) => tx.lock('nothing' as Domain))).rejects.toThrow()
  })

  it('refuses an integer it could not give back exactly', async () => {
    await sql`update heads set version = 9007199254740993 where name = 'crl'`.execute(rowsOf(database))
    await expect(readVersions(database)).rejects.toThrow(RangeError)
    await sql`update heads set version = 1 where name = 'crl'`.execute(rowsOf(database))
  })
})

describe('the place of a PostgreSQL store', () => {
  it.each([
    ['postgresql://user:secret@db.example:6432/authority', 'postgresql://user@db.example:6432/authority'],
    [
      'postgresql://user:secret@db.example/authority?password=secret&sslmode=require',
      'postgresql://user@db.example/authority',
    ],
    ['postgres://db.example/authority#secret', 'postgres://db.example/authority'],
    ['postgresql://user:p%40secret@[2001:db8::1]:5432/authority', 'postgresql://user@[2001:db8::1]:5432/authority'],
    ['postgresql:///authority?host=/run/pg&user=u&password=secret', 'postgresql:///authority'],
  ])('never shows a password or the query: %s', async (url, place) => {
    const database = openPostgres(url)
    expect(database.location).toBe(place)
    expect(database.location).not.toContain('secret')
    await database.close()
  })
})

describe('failures of PostgreSQL', () => {
  const state = (code: string): Error =>
    Object.assign(new pg.DatabaseError('server text with host db.example', 0, 'error'), { code })
  const network = (code: string): Error => Object.assign(new Error(`connect ${code} 10.0.0.1:5432`), { code })

  it.each([
    ['connection failure', state('08006')],
    ['too many connections', state('53300')],
    ['disk full', state('53100')],
    ['statement time-out', state('57014')],
    ['administrator shutdown', state('57P01')],
    ['cannot connect now', state('57P03')],
    ['I/O error', state('58030')],
    ['a standby', state('25006')],
    ['a session that was idle inside a transaction', state('25P03')],
    ['no such database', state('3D000')],
    ['a role without a right', state('42501')],
    ['a deadlock after all tries', state('40P01')],
    ['refused', network('ECONNREFUSED')],
    ['reset', network('ECONNRESET')],
    ['timed out', network('ETIMEDOUT')],
    ['no pool place in time', new Error('timeout exceeded when trying to connect')],
    ['terminated', new Error('Connection terminated unexpectedly')],
    ['terminated by us', new Error('Connection terminated due to connection timeout')],
    ['broken before', new Error('Client has encountered a connection error and is not queryable')],
  ])('%s mean that the store cannot answer', (_what, error) => {
    const translated = translateDatabaseError(error)
    expect(translated).toBeInstanceOf(DatabaseUnavailableError)
    expect(translated?.message).not.toMatch(/db\.example|10\.0\.0\.1/)
  })

  it('a lock timeout is distinguished', () => {
    expect(translateDatabaseError(state('55P03'))).toBeInstanceOf(LockTimeoutError)
  })

  it.each([
    ['a unique violation', state('23505')],
    ['a syntax error', state('42601')],
    ['a programming error', new TypeError('bug')],
  ])('%s is a bug and stays one', (_what, error) => {
    expect(translateDatabaseError(error)).toBeUndefined()
  })
})
