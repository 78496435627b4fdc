import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type Finding, blankComments } from './check-imports.ts'

/**
 * `node tools/check/check-test-files.ts`: `check` runs only `*.database.test.ts` on PostgreSQL. So code that differs per
 * engine needs such a test in its folder, and a test that runs on PostgreSQL only must have that name.
 */

const ROOT = join(import.meta.dirname, '..', '..')
const SOURCES = 'apps/authority/src'

/** Code with a branch or a statement per engine. */
const ENGINE_SPECIFIC =
  /\b(?:backend|engine|kind)\b[^\n]*[!=]== '(?:postgres|sqlite)'|^\s*(?:postgres|sqlite):|\bcachePlan\(|\bforUpdate\(|\bpg_\w+\(/m
/** A test that is skipped on SQLite. */
const POSTGRES_ONLY = /\brunIf\((?!!)[^\n]*postgres|\bskipIf\([^\n]*'sqlite'/i
/** Files that name an engine and send it nothing. */
const EXEMPT: Readonly<Record<string, string>> = {
  'settings/database-settings.ts': 'reads DATABASE_URL',
  'features/dashboard/view.ts': 'prints the name of the engine',
}

/** Returns engine-specific files without a test on both engines, and tests that `check` would never run. */
export function checkTestFiles(root: string = ROOT): Finding[] {
  const files = globSync('**/*.ts', { cwd: join(root, SOURCES) }).sort()
  const tested = new Set(files.filter((file) => file.endsWith('.database.test.ts')).map((file) => dirname(file)))
  return files.flatMap((file) => {
    const text = blankComments(readFileSync(join(root, SOURCES, file), 'utf8'))
    const finding = file.endsWith('.test.ts') ? checkTest(file, text) : checkSource(file, text, tested)
    return finding === undefined ? [] : [{ ...finding, file: `${SOURCES}/${file}` }]
  })
}

/** Returns files that disable a lint rule, such as the limit of 300 lines, without a reason. */
export function checkDisabledRules(root: string = ROOT): Finding[] {
  const files = globSync('{apps,bench,packages,tests,tools}/**/*.{ts,tsx}', {
    cwd: root,
    exclude: (file) => /(?:^|\/)(?:node_modules|dist)(?:\/|$)/.test(file),
  })
  const message = 'disables a lint rule without a reason. Add it: -- reason'
  return files
    .sort()
    .filter((file) => /\/[/*] oxlint-disable(?!.* -- \S)/.test(readFileSync(join(root, file), 'utf8')))
    .map((file) => ({ rule: 'lint-reason', file, message }))
}

function checkTest(file: string, text: string): Finding | undefined {
  if (file.endsWith('.database.test.ts') || !POSTGRES_ONLY.test(text)) return undefined
  const name = basename(file).replace('.test.ts', '.database.test.ts')
  return { rule: 'database-test-name', file, message: `has tests that run on PostgreSQL only. Rename it to ${name}.` }
}

function checkSource(file: string, text: string, tested: ReadonlySet<string>): Finding | undefined {
  const isExempt = file.endsWith('.suite.ts') || EXEMPT[file] !== undefined
  if (isExempt || !ENGINE_SPECIFIC.test(text) || foldersBeside(file).some((folder) => tested.has(folder)))
    return undefined
  const message = 'has code per database engine, but its folder has no *.database.test.ts'
  return { rule: 'database-test', file, message }
}

/** Folders whose tests are elsewhere: copies are tested by a restore, host commands with what they run. */
const TESTED_IN: Readonly<Record<string, string>> = { 'database/copy': 'recovery', commands: 'recovery' }

/** Returns the folders where the tests of a file may be. Those of `queries/` may be in the folder of the feature. */
function foldersBeside(file: string): readonly string[] {
  const folder = dirname(file)
  const feature = basename(folder) === 'queries' ? [dirname(folder)] : []
  return [folder, ...feature, TESTED_IN[folder] ?? folder]
}

if (import.meta.main) {
  const findings = [...checkTestFiles(), ...checkDisabledRules()]
  for (const { file, message, rule } of findings) console.log(`${file}: ${message} [${rule}]`)
  process.exitCode = findings.length === 0 ? 0 : 1
}
