import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const MIGRATIONS = join(import.meta.dirname, 'migrations')
const RELEASES = join(import.meta.dirname, '../../../../tests/fixtures/releases')

/** The schema of the last release, whose instances run while this one is rolled out. */
async function readLastRelease(): Promise<{ readonly version: string; readonly schema: number }> {
  const [version = ''] = (await readdir(RELEASES)).sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
  const { schema_version: schema } = JSON.parse(await readFile(join(RELEASES, version, 'manifest.json'), 'utf8')) as {
    readonly schema_version: number
  }
  return { version, schema }
}

it('every migration since the last release says whether its instances go on serving, as the changelog does', async () => {
  const { version, schema } = await readLastRelease()
  const names = (await readdir(MIGRATIONS)).filter(
    (name) => Number(name.slice(0, 4)) > schema && !name.includes('.test.'),
  )
  const served: boolean[] = []
  for (const name of names) {
    const from = /^ {2}servesFrom: (\d+),$/m.exec(await readFile(join(MIGRATIONS, name), 'utf8'))?.[1]
    // Its own number where they do not.
    expect(from, `${name}: servesFrom is missing; ${schema} lets instances of ${version} go on serving`).toBeDefined()
    served.push(Number(from) <= schema)
  }
  const changelog = await readFile(join(import.meta.dirname, '../../../../CHANGELOG.md'), 'utf8')
  const unreleased = changelog.split('\n## ')[1] ?? ''
  const go = `Running instances of ${version} go on serving during this upgrade`
  const stop = `Running instances of ${version} are taken out of rotation by this upgrade`
  expect(unreleased).toContain(served.every(Boolean) ? go : stop)
})
