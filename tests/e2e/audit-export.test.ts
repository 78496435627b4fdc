import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { COMPILE_CACHE, type TestAuthority, accepted, publishFirst, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { rowsOf } from '../../apps/authority/src/testing/rows.suite.ts'

const MAIN = fileURLToPath(new URL('../../apps/cli/src/main.ts', import.meta.url))
const execute = promisify(execFile)

let na: TestAuthority
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chancery-audit-'))
  na = await startTestAuthority({ backend: 'sqlite' })
  await publishFirst(na)
  for (const id of ['a', 'b', 'c'])
    accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: `exported-${id}` }), 201)
})
afterAll(async () => {
  await na.stop()
  await rm(folder, { recursive: true, force: true })
})

/** Runs the command itself while the authority serves. */
async function run(...words: readonly string[]): Promise<{ stdout: string; stderr: string; code: number }> {
  const env = { ...COMPILE_CACHE, PATH: process.env['PATH'], ...na.database.settings }
  try {
    return { ...(await execute(process.execPath, ['--conditions=development', MAIN, ...words], { env })), code: 0 }
  } catch (error) {
    const { stdout, stderr, code } = error as { stdout: string; stderr: string; code: number }
    return { stdout, stderr, code }
  }
}

const idsIn = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { event_id: string }).event_id)

it('authority audit goes on behind its cursor, into a file of the owner only, and misses nothing', async () => {
  const first = await run('authority', 'audit', '--limit', '2')
  expect(idsIn(first.stdout)).toHaveLength(2)
  const cursor = /^next: --after (\S+)$/m.exec(first.stderr)?.[1] ?? ''
  const file = join(folder, 'rest.jsonl')
  expect((await run('authority', 'audit', '--after', cursor, '--out', file)).code).toBe(0)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const all = (await na.auditEvents()).map((event) => String(event['event_id']))
  expect([...idsIn(first.stdout), ...idsIn(await readFile(file, 'utf8'))].sort()).toEqual([...all].sort())

  const wrong = await run('authority', 'audit', '--after', cursor.replace(/^\d+/, '9'))
  expect(wrong).toMatchObject({ code: 1, stdout: '' })
  expect(wrong.stderr).toContain('was restored')
}, 60_000)

it('authority audit --name goes on where the last export of that name ended, and needs a file', async () => {
  const archived: string[] = []
  const archive = async (file: string): Promise<string[]> => {
    const path = join(folder, file)
    expect(await run('authority', 'audit', '--name', 'archive', '--out', path)).toMatchObject({ code: 0 })
    return idsIn(await readFile(path, 'utf8'))
  }
  archived.push(...(await archive('first.jsonl')))
  expect(archived.length).toBeGreaterThan(0)
  accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'exported-later' }), 201)
  const second = await archive('second.jsonl')
  expect(second.length).toBeGreaterThan(0)
  archived.push(...second)
  expect(new Set(archived).size).toBe(archived.length)
  const stored = await na.core.database.read.selectFrom('audit_forwards').select('event_id').execute()
  expect(stored).toEqual([{ event_id: archived.at(-1) }])
  expect((await run('authority', 'audit', '--name', 'archive')).stderr).toContain('--name: needs --out')
  const both = await run('authority', 'audit', '--name', 'archive', '--out', join(folder, 'x'), '--after', '1:a')
  expect(both).toMatchObject({ code: 1, stderr: expect.stringContaining('not together with --after') })
}, 60_000)

it('authority audit --remove and audit export --remove delete a reader that no longer runs', async () => {
  const db = rowsOf(na.core.database)
  const readers = async (): Promise<string[]> =>
    (await db.selectFrom('audit_forwards').select('name').orderBy('name').execute()).map(({ name }) => name)
  await db.deleteFrom('audit_forwards').execute()
  const position = { sequence: 1, event_id: 'x', updated_at: '2026-01-01T00:00:00.000000Z' }
  for (const name of ['stopped', 'running', 'export:stopped'])
    await db
      .insertInto('audit_forwards')
      .values({ name, ...position })
      .execute()
  // No broker is named, and none is needed.
  expect(await run('authority', 'audit', '--name', 'stopped', '--remove')).toMatchObject({
    code: 0,
    stderr: 'removed: forwarder stopped\n',
  })
  expect(await readers()).toEqual(['export:stopped', 'running'])
  const again = await run('authority', 'audit', '--name', 'stopped', '--remove')
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('stored are: running') })
  expect(await run('authority', 'audit', '--name', 'stopped', '--remove')).toMatchObject({ code: 0, stdout: '' })
  expect(await readers()).toEqual(['running'])
  expect(await run('authority', 'audit', '--remove')).toMatchObject({ code: 2 })
  expect(await run('authority', 'audit', '--remove', '--after', '0')).toMatchObject({ code: 2 })
  expect(await readers()).toEqual(['running'])
}, 60_000)

it('authority audit refuses a wrong place with the name of the option, and never shows the URL', async () => {
  const file = join(folder, 'nats.url')
  await writeFile(file, 'https://user:hunter2@nats.example\n')
  const forward = (...words: readonly string[]) => run('authority', 'audit', '--once', ...words)
  expect(await forward()).toMatchObject({ code: 2, stderr: expect.stringContaining('Give --to or --to-file.') })
  expect(await forward('--to', 'nats://a', '--to-file', file)).toMatchObject({ code: 2 })
  for (const [words, problem] of [
    [['--to', 'nats://user:hunter2@nats.example'], '--to: has a user or password; put the URL into a file'],
    [['--to', 'https://user:hunter2@nats.example'], '--to: must be nats://… or tls://…'],
    [['--to-file', file], '--to-file: must be nats://… or tls://…'],
    [['--to-file', join(folder, 'none')], '--to-file: cannot be read'],
    [['--to', 'nats://127.0.0.1:1', '--stream', 'a b'], '--stream: must be 1 to 64 characters'],
    [['--to', 'nats://127.0.0.1:1', '--subject', 'a.*'], '--subject: must be words'],
  ] as const) {
    const refused = await forward(...words)
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(problem) })
    expect(refused.stderr).not.toContain('hunter2')
  }
}, 60_000)
