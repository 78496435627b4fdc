import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  COMPILE_CACHE,
  EndedAtStartError,
  accepted,
  createTestDatabase,
  createTestNetwork,
  startAuthorityProcess,
} from '@chancery/testkit'
import type { TestDatabase, TestNetwork } from '@chancery/testkit'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRows } from '../campaigns/lib/rows.ts'

const MAIN = join(import.meta.dirname, '..', '..', 'apps', 'cli', 'src', 'main.ts')
const EVENTS = 4000

interface Ran {
  readonly code: number | string
  readonly out: string
  readonly err: string
}

/** `chancery authority migrate`, as an operator runs it. */
describe('a copy that is killed', () => {
  let network: TestNetwork
  let source: TestDatabase
  let target: TestDatabase
  let envFile: string
  const path = (): string => source.settings['DB_PATH'] ?? ''

  const launch = (...more: string[]): { child: ChildProcess; ended: Promise<Ran> } => {
    const args = ['authority', 'migrate', '--from', path(), '--home', envFile, '--json', ...more]
    const child = spawn(process.execPath, ['--conditions=development', MAIN, ...args], { env: COMPILE_CACHE })
    const [out, err]: [Buffer[], Buffer[]] = [[], []]
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
    const ended = once(child, 'exit').then(([code, signal]) => ({
      code: (code as number | null) ?? (signal as string),
      out: Buffer.concat(out).toString(),
      err: Buffer.concat(err).toString(),
    }))
    return { child, ended }
  }
  const copy = (...more: string[]): Promise<Ran> => launch(...more).ended

  beforeAll(async () => {
    network = await createTestNetwork('COPY-NET')
    source = await createTestDatabase('sqlite')
    target = await createTestDatabase('postgres')
    const na = await startAuthorityProcess({ network, settings: source.settings })
    accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'one' }), 201)
    await na.stop()
    envFile = join(path(), '..', 'target.env')
    const settings = { ...network.settings, ...target.settings }
    await writeFile(
      envFile,
      Object.entries(settings)
        .map(([name, value]) => `${name}=${value}`)
        .join('\n'),
    )
    const rows = await openRows(source)
    await rows.insert(
      'audit_events',
      Array.from({ length: EVENTS }, (_, index) => {
        const event_id = `planted-${String(index).padStart(6, '0')}`
        const event_type = 'invite_created'
        const event_json = JSON.stringify({ event_id, event_type, details: {}, created_at: '2026-01-01T00:00:00Z' })
        return { event_id, event_type, event_json, created_at: '2026-01-01T00:00:00.000000Z' }
      }),
    )
    await rows.close()
  }, 180_000)
  afterAll(async () => {
    await source.drop()
    await target.drop()
    await network.remove()
  })

  it('is seen to be half, starts no authority, and is made whole only when the operator says so', async () => {
    const { child, ended } = launch()
    const count = await killInTheMiddle(child, target.settings['DATABASE_URL'] ?? '')
    expect((await ended).code).toBe('SIGKILL')
    expect(count).toBeGreaterThan(0)

    const start = startAuthorityProcess({ network, settings: target.settings })
    await expect(start).rejects.toThrow(EndedAtStartError)
    await expect(start).rejects.toThrow(/a copy into this database was not finished/)
    const again = await copy()
    expect(again.code).toBe(1)
    expect(JSON.parse(again.err)).toMatchObject({ error: { code: 'copy_unfinished' } })

    const restarted = await copy('--restart')
    expect(restarted).toMatchObject({ code: 0 })
    const report = JSON.parse(restarted.out) as { verified: boolean; tables: Record<string, number>; rows: number }
    expect(report.verified).toBe(true)
    expect(report.tables['audit_events']).toBeGreaterThan(EVENTS)
    const na = await startAuthorityProcess({ network, settings: target.settings })
    expect(accepted(await na.request('GET', '/policy'))['policy_id']).toBe('one')
    await na.stop()
  }, 180_000)
})

/** Waits for the first rows to arrive, then kill -9. Gives how many had arrived. */
async function killInTheMiddle(child: ChildProcess, url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const count = async (): Promise<number> => {
      const { rows } = await client.query<{ n: string }>('select count(*) as n from audit_events')
      return Number(rows[0]?.n)
    }
    while (!((await count().catch(() => 0)) > 0) && child.exitCode === null) await pause(5)
    child.kill('SIGKILL')
    await once(child, 'exit').catch(() => undefined)
    return await count()
  } finally {
    await client.end()
  }
}
