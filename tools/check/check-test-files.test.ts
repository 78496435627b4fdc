import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { checkDisabledRules, checkTestFiles } from './check-test-files.ts'

let root = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'chancery-test-files-'))
})
afterEach(() => rmSync(root, { recursive: true }))

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    const path = join(root, 'apps/authority/src', name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
}

it.each([
  "if (database.engine === 'postgres') return",
  "return engine.kind === 'sqlite' ? a : b",
  'const TEXTS = {\n  postgres: `select 1`,\n}',
  "const LOCK = cachePlan('lock', 'select 1')",
  'await query.forUpdate().execute()',
  'await sql`select pg_advisory_xact_lock(1)`.execute(tx)',
])('refuses engine-specific code without a database test in its folder: %s', (code) => {
  write({ 'features/agents/queries/agents.ts': code, 'features/agents/search.test.ts': '' })
  expect(checkTestFiles(root)).toEqual([
    expect.objectContaining({ rule: 'database-test', file: 'apps/authority/src/features/agents/queries/agents.ts' }),
  ])
})

it.each(['features/agents/races.database.test.ts', 'features/agents/queries/agents.database.test.ts'])(
  'accepts engine-specific code with %s',
  (test) => {
    write({ 'features/agents/queries/agents.ts': "if (database.engine === 'postgres') return", [test]: '' })
    expect(checkTestFiles(root)).toEqual([])
  },
)

it('accepts a comment about an engine, and code for both engines', () => {
  write({ 'clock/dates.ts': "// database.engine === 'postgres'\nconst query = db.selectFrom('nonces')" })
  expect(checkTestFiles(root)).toEqual([])
})

it.each([
  "it.runIf(currentBackend() === 'postgres')('x', y)",
  "it.runIf(onPostgres).each([1])('x', y)",
  "describe.skipIf(currentBackend() === 'sqlite')('x', y)",
])('refuses a test for PostgreSQL only under another name: %s', (code) => {
  write({ 'clock/clock.test.ts': code })
  expect(checkTestFiles(root)).toEqual([expect.objectContaining({ rule: 'database-test-name' })])
  expect(checkTestFiles(root)[0]?.message).toContain('clock.database.test.ts')
})

it('accepts a test that is skipped on PostgreSQL', () => {
  write({ 'clock/clock.test.ts': "it.runIf(!onPostgres)('x', y)\nit.runIf(currentBackend() === 'sqlite')('x', y)" })
  expect(checkTestFiles(root)).toEqual([])
})

it('refuses a disabled lint rule without a reason', () => {
  const rule = 'oxlint-disable'
  write({
    'a.ts': `// ${rule} max-lines -- one table\n// ${rule}-next-line no-empty -- the platform asks for it\n`,
    'b.ts': `// ${rule} max-lines\n`,
    'c.ts': `/* ${rule} */\n`,
  })
  expect(checkDisabledRules(root).map(({ file }) => file)).toEqual([
    'apps/authority/src/b.ts',
    'apps/authority/src/c.ts',
  ])
})
