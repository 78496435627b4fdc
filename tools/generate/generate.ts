import { globSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { chartSchema } from '../release/helm/chart-schema.ts'
import { CONFORMANCE_FILES } from './conformance-cases.ts'
import { COMMAND_PAGES, commandsPage } from './command-pages.ts'
import { SCHEMA_FILES, recordsPage } from './record-pages.ts'
import { auditEventsPage, errorsPage, routesPage, settingsPage } from './reference-pages.ts'
import { clientLibraryPage } from './sdk-reference.ts'
import { surfaceSnapshot } from './surface.ts'

/** `npm run generate`: writes docs/reference from the contract, the readers of records and the declarations of the library, the names of settings in the schema of the chart, and the conformance cases. With --check it only compares. */

const ROOT = join(import.meta.dirname, '..', '..')
const FOLDER = join(ROOT, 'docs', 'reference')
const PAGES: Readonly<Record<string, () => string>> = {
  'routes.md': routesPage,
  'errors.md': errorsPage,
  'settings.md': settingsPage,
  'audit-events.md': auditEventsPage,
  'commands.md': commandsPage,
  ...COMMAND_PAGES,
  'client-library.md': clientLibraryPage,
  'records.md': recordsPage,
  ...SCHEMA_FILES,
  '../../deploy/helm/chancery/values.schema.json': chartSchema,
  '../../packages/contract/src/surface.snapshot.json': surfaceSnapshot,
  ...Object.fromEntries(
    Object.entries(CONFORMANCE_FILES).map(([name, text]) => [`../../packages/vectors/cases/${name}`, text]),
  ),
}

async function main(isCheck: boolean): Promise<number> {
  const stale: string[] = []
  for (const [name, page] of Object.entries(PAGES)) {
    const file = join(FOLDER, name)
    const text = page()
    if ((await readOrEmpty(file)) === text) continue
    stale.push(relative(ROOT, file))
    if (isCheck) continue
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  for (const name of globSync('commands/*.md', { cwd: FOLDER }).filter((each) => !Object.hasOwn(PAGES, each))) {
    // The page of a group that no longer exists.
    stale.push(relative(ROOT, join(FOLDER, name)))
    if (!isCheck) await rm(join(FOLDER, name))
  }
  for (const name of stale) console.log(`${isCheck ? 'stale' : 'written'}: ${name}`)
  if (isCheck && stale.length > 0) console.log('Write them with: npm run generate')
  return isCheck && stale.length > 0 ? 1 : 0
}

async function readOrEmpty(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}

process.exitCode = await main(process.argv.includes('--check'))
