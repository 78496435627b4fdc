import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { SCHEMA_FILES, recordsPage } from './record-pages.ts'
import { auditEventsPage, commandsPage, errorsPage, routesPage, settingsPage } from './reference-pages.ts'
import { clientLibraryPage } from './sdk-reference.ts'

/** `npm run generate`: writes docs/reference from the contract, the readers of records and the declarations of the library. With --check it only compares. */

const FOLDER = join(import.meta.dirname, '..', 'docs', 'reference')
const PAGES: Readonly<Record<string, () => string>> = {
  'routes.md': routesPage,
  'errors.md': errorsPage,
  'settings.md': settingsPage,
  'audit-events.md': auditEventsPage,
  'commands.md': commandsPage,
  'client-library.md': clientLibraryPage,
  'records.md': recordsPage,
  ...SCHEMA_FILES,
}

async function main(isCheck: boolean): Promise<number> {
  const stale: string[] = []
  for (const [name, page] of Object.entries(PAGES)) {
    const file = join(FOLDER, name)
    const text = page()
    if ((await readOrEmpty(file)) === text) continue
    stale.push(`docs/reference/${name}`)
    if (isCheck) continue
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
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
