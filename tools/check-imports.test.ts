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
  [`${AUTHORITY}/index.ts`]: "import './main.ts'",
  [`${AUTHORITY}/main.ts`]: "import './app.ts'",
  [`${AUTHORITY}/app.ts`]: "import './features.ts'\nimport './jobs.ts'\nimport '@chancery/service-kit'",
  [`${AUTHORITY}/features.ts`]: "import './features/health/routes.ts'",
  [`${AUTHORITY}/jobs.ts`]: "import './features/crl/current.ts'",
  [`${AUTHORITY}/office.ts`]:
    "import type { Book } from './auth/book.ts'\nexport interface Office { readonly book: Book }",
  [`${AUTHORITY}/reading.ts`]: "import '@chancery/contract'",
  [`${AUTHORITY}/auth/book.ts`]: "import type { Office } from '../office.ts'\nexport type Book = () => Office",
  [`${AUTHORITY}/features/material.ts`]: "import '../auth/book.ts'",
  [`${AUTHORITY}/features/crl/index.ts`]: "export { current } from './current.ts'",
  [`${AUTHORITY}/features/crl/current.ts`]:
    "import '../../reading.ts'\nimport '../material.ts'\nexport const current = 1",
  [`${AUTHORITY}/features/health/routes.ts`]: "import '../crl/index.ts'",
  [`${AUTHORITY}/features/policy/routes.ts`]: "import '../../auth/book.ts'",
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
  ['below-features-authority', `${AUTHORITY}/auth/book.ts`, "import '../features/crl/index.ts'\nexport type Book = 1"],
  ['below-features-authority', `${AUTHORITY}/store/open.ts`, "import type { M } from '../features/material.ts'"],
  ['layers-authority', `${AUTHORITY}/features/policy/routes.ts`, "import '../../app.ts'"],
  ['layers-authority', `${AUTHORITY}/signing/seal.ts`, "import '../jobs.ts'"],
  ['app-below-main-authority', `${AUTHORITY}/app.ts`, "import './main.ts'"],
  ['helpers-below-features-authority', `${AUTHORITY}/reading.ts`, "import './features/crl/index.ts'"],
  ['helpers-below-features-authority', `${AUTHORITY}/features/material.ts`, "import './crl/index.ts'"],
  ['office-is-types-authority', `${AUTHORITY}/features/policy/routes.ts`, "import '../../office.ts'"],
  ['office-imports-types-authority', `${AUTHORITY}/office.ts`, "import './auth/book.ts'"],
  ['feature-arrows-authority', `${AUTHORITY}/features/policy/routes.ts`, "import '../crl/index.ts'"],
  ['feature-arrows-authority-health', `${AUTHORITY}/features/health/routes.ts`, "import '../agents/index.ts'"],
  ['feature-door', `${AUTHORITY}/features/health/routes.ts`, "import '../crl/current.ts'"],
  ['domain-word', 'packages/service-kit/src/index.ts', 'export const certificateCount = 1'],
  ['domain-word', 'packages/service-kit/src/index.ts', "export const message = 'The OPERATOR // key'"],
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

describe('import rules', () => {
  it('hold in this repository', async () => {
    expect(await checkImports()).toEqual([])
    // Every file of the repository is read.
  }, 120_000)

  it('find nothing in a tree that keeps them', async () => {
    expect(await checkImports(writeTree(CLEAN))).toEqual([])
  })

  it.for(BROKEN)('%s notices %s: %s', async ([rule, file, text]) => {
    const findings = await checkImports(writeTree({ ...CLEAN, [file]: text }))
    expect(findings.map((finding) => finding.rule)).toEqual([rule])
    expect(findings[0]?.file).toContain(file)
  })

  it('refuse arrows that lead back to where they began', () => {
    expect(checkCircles({ a: ['b'], b: ['c'], c: [] })).toEqual([])
    expect(checkCircles({ a: ['b'], b: ['c'], c: ['a'] }).map((finding) => finding.rule)).toContain('feature-circle')
  })
})
