import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import type { RunningGateway } from '../app.ts'
import { expectedLines, reloader } from './start.ts'

it('reports damage found while reading as an error of the state file, not as a bug', () => {
  const folder = mkdtempSync(join(tmpdir(), 'chancery-main-'))
  const file = join(folder, 'state')
  writeFileSync(file, 'no database at all'.repeat(100))
  const db = new DatabaseSync(file)
  try {
    db.prepare('select * from ledger').all()
    expect.unreachable()
  } catch (error) {
    expect(expectedLines(error)).toEqual([expect.stringContaining('GATEWAY_STATE_FILE: cannot be read')])
  } finally {
    db.close()
    rmSync(folder, { recursive: true })
  }
})

it('a reload requested during the start runs after it, and reloads never overlap', async () => {
  const started = Promise.withResolvers<RunningGateway>()
  const ask = reloader(started.promise)
  const seen: string[] = []
  ask()
  ask()
  await new Promise((done) => setImmediate(done))
  expect(seen).toEqual([])
  const ended = Promise.withResolvers<undefined>()
  const reload = async (): Promise<void> => {
    seen.push('begins')
    await new Promise((done) => setImmediate(done))
    seen.push('ends')
    if (seen.length === 4) ended.resolve(undefined)
  }
  started.resolve({ reload } as unknown as RunningGateway)
  await ended.promise
  expect(seen).toEqual(['begins', 'ends', 'begins', 'ends'])
})
