import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { type TestAuthority, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const PROGRAM = join(import.meta.dirname, 'fault-writes.suite.ts')

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(() => na.stop())

function change(way: 'write' | 'run', fault: Readonly<Record<string, string>>) {
  const location = na.database.settings['DB_PATH'] ?? na.database.settings['DATABASE_URL'] ?? ''
  const args = ['--conditions=development', PROGRAM, na.core.database.engine, location, way]
  return spawnSync(process.execPath, args, { env: { ...process.env, ...fault }, encoding: 'utf8' })
}

async function storedNonces(): Promise<readonly string[]> {
  const rows = await na.core.database.read.selectFrom('nonces').select('claim').execute()
  return rows.map(({ claim }) => Buffer.from(claim).toString('utf8'))
}

describe('the fault point after a commit', () => {
  it.each(['write', 'run'] as const)('is passed by %s, and not by a read', async (way) => {
    const killed = change(way, { CHANCERY_FAULT_POINT: 'committed' })
    expect(killed).toMatchObject({ signal: 'SIGKILL', stdout: 'before the write\n' })
    expect(await storedNonces()).toContain(way)
  })

  it('does nothing when another point is wanted', () => {
    expect(change('run', { CHANCERY_FAULT_POINT: 'join-read' })).toMatchObject({
      status: 0,
      stdout: 'before the write\nafter the write\n',
    })
  })
})
