import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packAll } from '../../tools/release/pack.ts'
import { programIn, tryAuthority, tryCommands } from '../../tools/release/try-install.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')

/** As a user without this repository: an empty folder, the tarballs, npm. */
describe.runIf(existsSync(join(ROOT, 'apps/cli/dist/main.js')))('packed', () => {
  let folder = ''
  let env: Record<string, string> = {}
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-packed-'))
    // The same Node.js that runs this, and no variable of the workspace.
    env = { PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`, HOME: process.env['HOME'] ?? folder }
    for (const name of ['NODE_EXTRA_CA_CERTS', 'npm_config_cache', 'npm_config_registry'])
      if (process.env[name] !== undefined) env[name] = process.env[name]
    const tarballs = await packAll(join(folder, 'tarballs'))
    await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
    const options = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
    await run('npm', ['install', ...options, ...tarballs], { cwd: folder, env })
  }, 240_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('holds what runs and nothing else', async () => {
    const scope = join(folder, 'node_modules/@chancery')
    expect((await readdir(scope)).sort()).toEqual([
      'authority',
      'cli',
      'contract',
      'gateway',
      'protocol',
      'sdk',
      'service-kit',
      'telemetry',
    ])
    const files = await readdir(scope, { recursive: true })
    expect(files.filter((name) => /[.](test|suite)[.]|[.]map$|\/src\/|\/faults[.]js$/.test(name))).toEqual([])
    for (const name of await readdir(scope)) {
      const about = JSON.parse(await readFile(join(scope, name, 'package.json'), 'utf8')) as Record<string, unknown>
      expect(about, name).toMatchObject({ license: 'Apache-2.0', engines: { node: expect.any(String) } })
      expect(JSON.stringify([about['exports'], about['imports']]), name).not.toMatch(/development|src/)
      expect(existsSync(join(scope, name, 'LICENSE')), name).toBe(true)
    }
  })

  it('runs: npx, init, an authority to ready with its console, and the check of a gateway', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string }
    const { stdout } = await run('npx', ['--no-install', 'chancery', '--version'], { cwd: folder, env })
    expect(stdout.trim()).toBe(version)
    const said: string[] = []
    const program = join(folder, 'node_modules/.bin/chancery')
    const installed = programIn(folder, program, env, (line) => said.push(line))
    await tryCommands(installed, version)
    await tryAuthority(installed)
    expect(said).toHaveLength(6)
  }, 120_000)

  it('has a library whose types a strict project accepts, and that refuses a wrong use', async () => {
    const project = join(folder, 'project')
    await cp(join(ROOT, 'examples'), project, { recursive: true })
    for (const name of ['@types', 'undici-types'])
      await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
    await writeFile(
      join(project, 'wrong.ts'),
      `import { createClient } from '@chancery/sdk'\nexport const client: number = createClient({ url: 'http://127.0.0.1' })\n`,
    )
    const files = (await readdir(project)).filter((name) => name.endsWith('.ts'))
    const options = ['--ignoreConfig', '--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024']
    const types = ['--types', 'node', '--lib', 'es2024,dom,esnext.typedarrays', '--allowImportingTsExtensions']
    const ended = await run(join(ROOT, 'node_modules/.bin/tsc'), [...options, ...types, ...files], {
      cwd: project,
    }).catch((error: { stdout: string }) => error)
    const problems = ended.stdout.split('\n').filter((line) => line.includes('error TS'))
    expect(problems).toEqual([expect.stringMatching(/^wrong\.ts\(2,14\): error TS2322/)])
  }, 60_000)
})
