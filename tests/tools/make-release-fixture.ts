import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { commands } from '@chancery/authority'
import { createTestDatabase, createTestNetwork, startTemporaryPostgres } from '@chancery/testkit'
import { prepareDatabase } from '../../apps/authority/src/database/migrate.ts'
import { startUsedAuthority } from '../../apps/authority/src/recovery/used-authority.suite.ts'

/**
 * Writes tests/fixtures/releases/RELEASE: a backup of an authority that has one of everything, as this release leaves it,
 * and a new database of PostgreSQL as text. Run once when a release is made; later ones migrate both in their tests. Its
 * keys are those of the tests.
 *
 * node --conditions=development tests/tools/make-release-fixture.ts 0.3.0
 */
const [release] = process.argv.slice(2)
if (release === undefined || !/^\d+\.\d+\.\d+$/.test(release)) throw new Error('give the number of the release: 0.3.0')
const to = join(import.meta.dirname, '..', 'fixtures', 'releases', release)

const database = await createTestDatabase('sqlite')
const network = await createTestNetwork('TEST-NET')
const folder = await mkdtemp(join(tmpdir(), 'chancery-fixture-'))
const na = await startUsedAuthority({ database })
try {
  const envFile = join(folder, 'authority.env')
  const settings = { ...network.settings, ...database.settings }
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
  await writeFile(envFile, lines.join(''))
  const made = join(folder, 'backup')
  const outcome = await commands.backup({ flags: {}, envFile, to: made, onProgress: () => undefined })
  if (!outcome.ok) throw new Error(outcome.message)
  await cp(made, to, { recursive: true, errorOnExist: true, force: false })
  await writeFile(join(to, 'postgres.sql'), await dumpPostgres())
  process.stdout.write(`${to}: schema version ${outcome.manifest.schema_version}\n`)
} finally {
  await na.stop()
  await database.drop()
  await network.remove()
  await rm(folder, { recursive: true })
}

/** The statements of a new database, without those of one version of the server. */
async function dumpPostgres(): Promise<string> {
  const server = await startTemporaryPostgres()
  try {
    await prepareDatabase({ kind: 'postgres', url: server.url }, () => 0n)
    const { stdout } = await promisify(execFile)('pg_dump', ['--no-owner', '--inserts', server.url])
    const lines = stdout.split('\n').filter((line) => !/^(--|\\|SET |SELECT pg_catalog.set_config|$)/.test(line))
    return `${lines.join('\n')}\n`
  } finally {
    await server.remove()
  }
}
