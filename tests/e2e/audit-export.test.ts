import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { accepted, publishFirst, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

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

/** The command itself, beside a serving authority. */
async function run(...words: readonly string[]): Promise<{ stdout: string; stderr: string; code: number }> {
  const env = { PATH: process.env['PATH'], ...na.database.settings }
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

it('audit export goes on behind its cursor, into a file of the owner only, and misses nothing', async () => {
  const first = await run('audit', 'export', '--limit', '2')
  expect(idsIn(first.stdout)).toHaveLength(2)
  const cursor = /^next: --after (\S+)$/m.exec(first.stderr)?.[1] ?? ''
  const file = join(folder, 'rest.jsonl')
  expect((await run('audit', 'export', '--after', cursor, '--out', file)).code).toBe(0)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const all = (await na.auditEvents()).map((event) => String(event['event_id']))
  expect([...idsIn(first.stdout), ...idsIn(await readFile(file, 'utf8'))].sort()).toEqual([...all].sort())

  const wrong = await run('audit', 'export', '--after', cursor.replace(/^\d+/, '9'))
  expect(wrong).toMatchObject({ code: 1, stdout: '' })
  expect(wrong.stderr).toContain('was restored')
}, 60_000)
