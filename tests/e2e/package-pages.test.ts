import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { COMPILE_CACHE } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PUBLISHED, exampleFile, readPackagePages } from './package-pages.ts'

/** The examples with the sources of the tree. packed.nightly.test.ts compiles and runs them with the tarballs. */
const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..', '..')
const PAGES = await readPackagePages()
const WITH_PROGRAM = PAGES.filter(({ program }) => program !== undefined)

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chancery-pages-'))
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  for (const page of WITH_PROGRAM) await writeFile(join(folder, exampleFile(page)), page.program?.source ?? '')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

it('every published package has a page with its name and one example', () => {
  expect(PAGES.map(({ name }) => name.replace('@chancery/', '')).sort()).toEqual(PUBLISHED)
  for (const { name, text, program, commands } of PAGES) {
    expect(text.startsWith(`# ${name}\n`), name).toBe(true)
    expect(text, name).toContain('## First example')
    expect(program ?? commands, name).toBeDefined()
  }
})

it('every example prints what its page says', async () => {
  const env = { ...process.env, ...COMPILE_CACHE, NODE_OPTIONS: '', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }
  const files = WITH_PROGRAM.map(exampleFile)
  // One process: most of the time of an example is the loading of an authority.
  await writeFile(join(folder, 'all.js'), RUN_ALL)
  const program = ['--conditions=development', 'all.js', ...files]
  const { stdout } = await run(process.execPath, program, { cwd: folder, env, timeout: 50_000 })
  const expected = WITH_PROGRAM.map((page) => [exampleFile(page), page.program?.output])
  expect(JSON.parse(stdout)).toEqual(Object.fromEntries(expected))
})

const RUN_ALL = `
import { format } from 'node:util'
const outputs = {}
for (const file of process.argv.slice(2)) {
  outputs[file] = ''
  console.log = (...values) => (outputs[file] += format(...values) + '\\n')
  await import('./' + file)
}
process.stdout.write(JSON.stringify(outputs), () => process.exit(0))
`
