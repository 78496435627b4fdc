import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import inspector from 'node:inspector'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog } from '@chancery/service-kit'
import { ManualClock, createTestDatabase, startTestAuthority, startTemporaryPostgres } from '@chancery/testkit'
import type { TestAuthority, TestDatabase, TemporaryPostgres } from '@chancery/testkit'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { OperatorKeysCheck } from '../auth/operator-keys-check.ts'
import { checkProcess } from './checks.ts'

const onPostgres = process.env['CHANCERY_TEST_DATABASE'] === 'postgres'
const settings = { NA_HA_MODE: 'on', RATE_LIMIT_STORE: 'database' }

let lines = ''
const log = createLog({ level: 'info', format: 'json', destination: { write: (line) => (lines += line) } })
beforeEach(() => {
  lines = ''
})

/** Reliability 12: what a database must guarantee before several instances use it. */
describe.runIf(onPostgres)('a start in HA mode', () => {
  let server: TemporaryPostgres
  beforeAll(async () => {
    server = await startTemporaryPostgres()
  })
  afterAll(() => server.remove())
  const database = (): TestDatabase => ({ settings: { DATABASE_URL: server.url }, drop: async () => undefined })
  const start = (more: Readonly<Record<string, string>> = {}): Promise<TestAuthority> =>
    startTestAuthority({ settings: { ...settings, ...more }, database: database(), log })
  const onServer = async (...statements: string[]): Promise<void> => {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.end()
  }

  it('warns of missing checksums and of a missing synchronous standby, and counts the standbys', async () => {
    const na = await start()
    expect(lines).toContain('no data checksums')
    expect(lines).toContain('no synchronous standby')
    expect((await na.request('GET', '/metrics')).text).toMatch(/^chancery_sync_standbys 0$/m)
    await na.stop()
  })

  it('is refused without a synchronous standby where one is required', async () => {
    await expect(start({ NA_REQUIRE_SYNC_STANDBY: 'on' })).rejects.toThrow(/^NA_REQUIRE_SYNC_STANDBY: /)
  })

  it.each(['off', 'local', 'remote_write'])(
    'is refused with synchronous_commit=%s, however it was set',
    async (value) => {
      await onServer(`alter role postgres set synchronous_commit = '${value}'`)
      await expect(start()).rejects.toThrow(
        `DATABASE_URL: synchronous_commit is ${value} on the server, NA_HA_MODE=on needs on`,
      )
      await onServer('alter role postgres reset synchronous_commit')
    },
  )

  it.each(['fsync', 'full_page_writes'])('is refused with %s off', async (name) => {
    await server.stop()
    await server.start({ [name]: 'off' })
    await expect(start()).rejects.toThrow(`DATABASE_URL: ${name} is off on the server`)
    await server.stop()
    await server.start()
  })

  it('accepts remote_apply, and requires nothing outside HA mode', async () => {
    await onServer("alter role postgres set synchronous_commit = 'remote_apply'")
    await (await start()).stop()
    await onServer("alter role postgres set synchronous_commit = 'off'")
    await (await start({ NA_HA_MODE: 'off' })).stop()
    await onServer('alter role postgres reset synchronous_commit')
  })
})

describe.runIf(!onPostgres)('a process in HA mode', () => {
  const refuse = { inContainer: false, log }

  it('is refused while a debugger could read its memory', async () => {
    inspector.open(0, '127.0.0.1')
    await expect(checkProcess({ inContainer: true, log })).rejects.toThrow(/^NODE_OPTIONS: the inspector is on/)
    inspector.close()
    await checkProcess(refuse, '/nowhere')
  })

  it('is refused while a crash would write its memory to a disk', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-limits-'))
    const file = join(folder, 'limits')
    const head = 'Limit                     Soft Limit           Hard Limit           Units     \n'
    for (const [soft, refused] of [
      ['0', false],
      ['unlimited', true],
      ['1024', true],
    ] as const) {
      await writeFile(file, `${head}Max core file size        ${soft}                unlimited            bytes     \n`)
      const check = checkProcess(refuse, file)
      if (refused) await expect(check).rejects.toThrow(/^NA_HA_MODE: on needs core dumps off/)
      else await check
      lines = ''
      await checkProcess({ inContainer: true, log }, file)
      expect(lines.includes('core dumps are on')).toBe(refused)
    }
    await rm(folder, { recursive: true })
  })
})

describe('operator settings of two instances', () => {
  let database: TestDatabase
  afterEach(() => database.drop())

  it('alarm when they differ for ten minutes, not during a rolling change', async () => {
    database = await createTestDatabase()
    const clock = new ManualClock()
    const one = { clock, log, database, operators: { a: 'privileged', b: 'standard' } } as const
    const first = await startTestAuthority(one)
    // The same two, in the other order.
    const same = await startTestAuthority({ ...one, operators: { b: 'standard', a: 'privileged' } })
    const values: number[] = []
    const watches = [first, same].map((na) => ({
      na,
      watch: new OperatorKeysCheck({ set: (value) => values.push(value) }),
    }))
    const round = async (): Promise<void> => {
      for (const { na, watch } of watches) await watch.run(na.parts)
    }
    await round()
    clock.advance(700)
    await round()
    expect(new Set(values)).toEqual(new Set([0]))
    const other = await startTestAuthority({ ...one, operators: { a: 'privileged', b: 'privileged' } })
    watches.push({ na: other, watch: new OperatorKeysCheck({ set: (value) => values.push(value) }) })
    await round()
    for (let minute = 0; minute < 9; minute += 1) {
      clock.advance(60)
      await round()
    }
    expect(values.slice(-3)).toEqual([1, 1, 2])
    expect(lines).not.toContain('"alarm":true')
    clock.advance(60)
    await round()
    clock.advance(1)
    await round()
    expect(lines).toContain('operator keys or tiers differ between instances')
    // It stops, and three minutes later no instance differs any more.
    watches.pop()
    await other.stop()
    clock.advance(181)
    await round()
    expect(values.slice(-2)).toEqual([0, 0])
    await same.stop()
    await first.stop()
  })
})
