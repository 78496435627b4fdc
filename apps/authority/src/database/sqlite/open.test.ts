import { currentBackend, createTestDatabase } from '@chancery/testkit'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { DatabaseUnavailableError } from '../errors.ts'
import { describeDatabase, locationOf } from '../database.suite.ts'
import { openDatabase, translateDatabaseError } from '../open.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

if (currentBackend() === 'sqlite') describeDatabase('sqlite')

describe.runIf(currentBackend() === 'sqlite')('SQLite', () => {
  it('runs in WAL mode with full synchronisation and foreign keys', async () => {
    const testDatabase = await createTestDatabase('sqlite')
    const database = openDatabase(locationOf(testDatabase))
    const pragma = async (name: string): Promise<unknown> => {
      const { rows } = await sql.raw<Record<string, unknown>>(`pragma ${name}`).execute(rowsOf(database))
      return Object.values(rows[0] ?? {})[0]
    }
    expect([await pragma('journal_mode'), await pragma('synchronous'), await pragma('foreign_keys')]).toEqual([
      'wal',
      2,
      1,
    ])
    await database.close()
    await testDatabase.drop()
  })

  it('shows its path as its place', async () => {
    const testDatabase = await createTestDatabase('sqlite')
    const database = openDatabase(locationOf(testDatabase))
    expect(database.location).toBe(testDatabase.settings['DB_PATH'])
    await database.close()
    await testDatabase.drop()
  })
})

describe('failures of SQLite', () => {
  const failure = (errcode: number): Error => Object.assign(new Error('sqlite'), { code: 'ERR_SQLITE_ERROR', errcode })

  it.each([
    ['busy', 5],
    ['busy, extended', 5 | (2 << 8)],
    ['read-only', 8],
    ['disk I/O', 10],
    ['corrupt', 11],
    ['disk full', 13],
    ['cannot open', 14],
    ['not a database', 26],
  ])('%s mean that the store cannot answer', (_what, code) => {
    const translated = translateDatabaseError(failure(code))
    expect(translated).toBeInstanceOf(DatabaseUnavailableError)
    expect(translated?.message).not.toContain('sqlite:')
  })

  it.each([
    ['a broken constraint', failure(19)],
    ['a type error', new TypeError('bug')],
    ['a text', 'bug'],
    ['nothing', undefined],
  ])('%s is a bug and stays one', (_what, error) => {
    expect(translateDatabaseError(error)).toBeUndefined()
  })
})
