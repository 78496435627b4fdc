import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { checkCircles, checkImports } from './check-imports.ts'

const UNITS = {
  packages: ['protocol', 'contract', 'service-kit', 'sdk', 'testkit', 'newcomer'],
  apps: ['authority', 'gateway', 'cli', 'console'],
}
const AUTHORITY = 'apps/authority/src'

/** A small tree that keeps every rule and uses every exception. */
const CLEAN: Readonly<Record<string, string>> = {
  'packages/contract/src/index.ts': "import '@chancery/protocol'",
  'packages/contract/src/index.test.ts': "import 'node:fs'\nimport '@chancery/testkit'",
  'packages/service-kit/src/index.ts':
    "// The operator's certificate.\nimport 'node:http'\nimport '@chancery/contract'",
  'packages/sdk/src/index.ts': "import '@chancery/protocol'\nimport '@chancery/contract'",
  'packages/testkit/src/index.ts': "import '@chancery/authority'\nimport '@chancery/sdk'",
  [`${AUTHORITY}/index.ts`]: "import './commands/start.ts'",
  [`${AUTHORITY}/commands/start.ts`]: "import '../app.ts'",
  [`${AUTHORITY}/app.ts`]: "import './features.ts'\nimport './startup/core-jobs.ts'\nimport '@chancery/service-kit'",
  [`${AUTHORITY}/features.ts`]: "import './features/health/routes.ts'",
  [`${AUTHORITY}/startup/core-jobs.ts`]: "import '../requests/read-fields.ts'",
  [`${AUTHORITY}/requests/read-fields.ts`]: "import '@chancery/contract'\nimport '../auth/nonces.ts'",
  [`${AUTHORITY}/auth/nonces.ts`]: "import '../signing/sign-record.ts'",
  [`${AUTHORITY}/signing/sign-record.ts`]: "import '../database/open.ts'",
  [`${AUTHORITY}/database/open.ts`]: '',
  [`${AUTHORITY}/features/crl/index.ts`]: "export { current } from './current.ts'",
  [`${AUTHORITY}/features/crl/current.ts`]: "import '../../requests/read-fields.ts'\nexport const current = 1",
  [`${AUTHORITY}/features/health/routes.ts`]: "import '../crl/index.ts'",
  [`${AUTHORITY}/features/policy/routes.ts`]: "import '../../auth/nonces.ts'\n// Any engine, also for audit_events.",
  [`${AUTHORITY}/features/policy/queries.ts`]: 'export const isPostgres = (db) => db.engine',
  [`${AUTHORITY}/features/agents/queries/search.ts`]: 'export const isPostgres = (db) => db.engine',
  [`${AUTHORITY}/features/agents/search.test.ts`]: "export const text = 'engine audit_events'",
  [`${AUTHORITY}/features/dashboard/view.ts`]: 'export const print = ({ engine }) => engine',
  [`${AUTHORITY}/audit/insert.ts`]: "export const text = 'audit_events'",
  [`${AUTHORITY}/recovery/inspect.ts`]: "export const text = 'audit_events audit_events_removed'",
  [`${AUTHORITY}/database/tables.ts`]: 'export interface Tables { audit_events: string }',
  [`${AUTHORITY}/database/migrations/0048-baseline.ts`]: "export const text = 'audit_events'",
  'apps/cli/src/index.ts': "import '@chancery/sdk'\nexport const load = () => import('@chancery/authority')",
  'tests/e2e/whole.ts': "import '@chancery/authority'\nimport '@chancery/testkit'",
}

/** One broken rule per line: the file, what it says instead, and the rule that must notice. */
const BROKEN: readonly (readonly [rule: string, file: string, text: string])[] = [
  ['arrows-protocol', 'packages/protocol/src/index.ts', "import '@chancery/contract'"],
  ['arrows-contract', 'packages/contract/src/index.ts', "import '@chancery/service-kit'"],
  ['arrows-service-kit', 'packages/service-kit/src/index.ts', "import '@chancery/sdk'"],
  ['arrows-sdk', 'packages/sdk/src/index.ts', "import '@chancery/service-kit'"],
  ['arrows-authority', `${AUTHORITY}/app.ts`, "import '@chancery/sdk'"],
  ['arrows-cli', 'apps/cli/src/index.ts', "import '@chancery/service-kit'"],
  ['apps-alone-gateway', 'apps/gateway/src/index.ts', "import '@chancery/authority'"],
  ['apps-alone-console', 'apps/console/src/index.ts', "export const load = () => import('@chancery/authority')"],
  ['dynamic-only-cli', 'apps/cli/src/index.ts', "import '@chancery/authority'"],
  ['package-door', 'packages/contract/src/index.ts', "import '../../protocol/src/inner.ts'"],
  ['listed', 'packages/newcomer/src/index.ts', "import '@chancery/protocol'"],
  ['tests-only', `${AUTHORITY}/app.ts`, "import '@chancery/testkit'"],
  ['tests-only', `${AUTHORITY}/app.ts`, "import '../../../tests/e2e/whole.ts'"],
  ['tests-only', 'packages/contract/src/extra.ts', "import './index.test.ts'"],
  ['pure', 'packages/protocol/src/index.ts', "import 'node:crypto'"],
  ['pure', 'packages/contract/src/index.ts', "import { readFileSync } from 'fs'\nexport const x = readFileSync"],
  ['no-dependencies', 'packages/sdk/src/index.ts', "import 'outside'"],
  ['found', `${AUTHORITY}/app.ts`, "import './nowhere.ts'"],
  ['layers-authority-auth', `${AUTHORITY}/auth/nonces.ts`, "import '../features/crl/index.ts'"],
  ['layers-authority-database', `${AUTHORITY}/database/open.ts`, "import type { N } from '../auth/nonces.ts'"],
  ['layers-authority-features', `${AUTHORITY}/features/policy/routes.ts`, "import '../../app.ts'"],
  ['layers-authority-signing', `${AUTHORITY}/signing/sign-record.ts`, "import '../requests/read-fields.ts'"],
  ['layers-authority-app', `${AUTHORITY}/app.ts`, "import './commands/start.ts'"],
  ['layers-authority-limits', `${AUTHORITY}/requests/read-fields.ts`, "import '../features/crl/index.ts'"],
  ['feature-arrows-authority', `${AUTHORITY}/features/policy/routes.ts`, "import '../crl/index.ts'"],
  ['feature-arrows-authority-health', `${AUTHORITY}/features/health/routes.ts`, "import '../agents/index.ts'"],
  ['feature-door', `${AUTHORITY}/features/health/routes.ts`, "import '../crl/current.ts'"],
  ['startup-door', `${AUTHORITY}/features/policy/routes.ts`, "import '../../startup/core-jobs.ts'"],
  ['startup-door', `${AUTHORITY}/features/policy/routes.ts`, "import type { J } from '../../startup/core-jobs.ts'"],
  ['startup-door', `${AUTHORITY}/features.ts`, "import './startup/core-jobs.ts'"],
  ['startup-features', `${AUTHORITY}/startup/core-jobs.ts`, "import '../features/crl/current.ts'"],
  ['startup-features', `${AUTHORITY}/startup/core-jobs.ts`, "import type { C } from '../features/crl/index.ts'"],
  ['circle', `${AUTHORITY}/features/crl/current.ts`, "import { current } from './index.ts'\nexport const x = current"],
  ['circle', `${AUTHORITY}/features/crl/current.ts`, "import type { C } from './index.ts'\nexport const current = 1"],
  ['domain-word', 'packages/service-kit/src/index.ts', 'export const certificateCount = 1'],
  ['domain-word', 'packages/service-kit/src/index.ts', "export const message = 'The OPERATOR // key'"],
  ['engine', `${AUTHORITY}/features/policy/routes.ts`, "export const x = (db) => db.engine === 'postgres'"],
  ['engine', `${AUTHORITY}/features/policy/my-queries.ts`, "export type Own = Pick<Database, 'engine' | 'read'>"],
  ['audit-table', `${AUTHORITY}/features/policy/queries.ts`, "export const x = (db) => db.selectFrom('audit_events')"],
  ['audit-table', `${AUTHORITY}/commands/start.ts`, 'export const x = sql`select 1 from audit_events`'],
  ['audit-table', `${AUTHORITY}/database/open.ts`, "export const x = 'insert into audit_events'"],
]

const roots: string[] = []

function writeTree(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'chancery-imports-'))
  roots.push(root)
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), `${text}\nexport {}\n`)
  }
  mkdirSync(join(root, 'node_modules/@chancery'), { recursive: true })
  for (const [kind, names] of Object.entries(UNITS)) {
    for (const name of names) {
      write(`${kind}/${name}/src/index.ts`, '')
      const manifest = { name: `@chancery/${name}`, type: 'module', exports: { development: './src/index.ts' } }
      writeFileSync(join(root, kind, name, 'package.json'), JSON.stringify(manifest))
      symlinkSync(join('../..', kind, name), join(root, 'node_modules/@chancery', name))
    }
  }
  write('node_modules/outside/index.js', '')
  write('packages/protocol/src/inner.ts', '')
  write(`${AUTHORITY}/features/agents/index.ts`, '')
  for (const [file, text] of Object.entries(files)) write(file, text)
  return root
}

afterAll(() => {
  for (const root of roots) rmSync(root, { recursive: true })
})

// The step `imports` checks this repository.
describe('import rules', () => {
  it('find nothing in a tree that keeps them', async () => {
    expect(await checkImports(writeTree(CLEAN))).toEqual([])
  })

  it.for(BROKEN)('%s finds %s: %s', async ([rule, file, text]) => {
    const findings = await checkImports(writeTree({ ...CLEAN, [file]: text }))
    // An import upwards may close a circle besides.
    const found = findings.filter((finding) => finding.rule === rule || finding.rule !== 'circle')
    expect(found.map((finding) => finding.rule)).toEqual([rule])
    expect(found[0]?.file).toContain(file)
  })

  it('refuse arrows that lead back to where they began', () => {
    expect(checkCircles({ a: ['b'], b: ['c'], c: [] })).toEqual([])
    expect(checkCircles({ a: ['b'], b: ['c'], c: ['a'] }).map((finding) => finding.rule)).toContain('feature-circle')
  })
})
