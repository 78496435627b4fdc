import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commands } from '@chancery/authority'
import { createTestDatabase, createTestNetwork } from '@chancery/testkit'
import { startUsedAuthority } from '../../apps/authority/src/recovery/used-authority.suite.ts'

/**
 * Writes tests/fixtures/releases/RELEASE: a backup of an authority that has one of everything, as this release leaves it.
 * Run once when a release is made; later ones migrate it in their tests. Its keys are those of the tests.
 *
 * node --conditions=development tests/tools/make-release-fixture.ts 0.1.0
 */
const [release] = process.argv.slice(2)
if (release === undefined || !/^\d+\.\d+\.\d+$/.test(release)) throw new Error('give the number of the release: 0.1.0')
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
  process.stdout.write(`${to}: schema version ${outcome.manifest.schema_version}\n`)
} finally {
  await na.stop()
  await database.drop()
  await network.remove()
  await rm(folder, { recursive: true })
}
