import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { type TestAuthority, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const PROGRAM = join(import.meta.dirname, 'fault-writes.suite.ts')

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(() => na.stop())

interface Ended {
  readonly status: unknown
  readonly signal: unknown
  readonly stdout: string
}

/** Not spawnSync: it would stop the authority of this process, which may hold the write lock of SQLite. */
function change(way: 'write' | 'run', fault: Readonly<Record<string, string>>): Promise<Ended> {
  const location = na.database.settings['DB_PATH'] ?? na.database.settings['DATABASE_URL'] ?? ''
  const args = ['--conditions=development', PROGRAM, na.core.database.engine, location, way]
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env: { ...process.env, ...fault } }, (error, stdout) =>
      resolve({ status: error === null ? 0 : error.code, signal: error?.signal ?? null, stdout }),
    )
  })
}

async function storedNonces(): Promise<readonly string[]> {
  const rows = await na.core.database.read.selectFrom('nonces').select('claim').execute()
  return rows.map(({ claim }) => Buffer.from(claim).toString('utf8'))
}

describe('the fault point after a commit', () => {
  it.each(['write', 'run'] as const)('is passed by %s, and not by a read', async (way) => {
    const killed = await change(way, { CHANCERY_FAULT_POINT: 'committed' })
    expect(killed).toMatchObject({ signal: 'SIGKILL', stdout: 'before the write\n' })
    expect(await storedNonces()).toContain(way)
  })

  it('does nothing when another point is wanted', async () => {
    expect(await change('run', { CHANCERY_FAULT_POINT: 'join-read' })).toMatchObject({
      status: 0,
      stdout: 'before the write\nafter the write\n',
    })
  })
})
