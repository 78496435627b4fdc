import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packAll } from '../../tools/release/pack.ts'
import { PUBLISHED, exampleFile, readPackagePages } from './package-pages.ts'
import { programIn, tryAuthority, tryCommands } from '../../tools/release/try-install.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')

/** Web servers of the documented middlewares, with their types. */
const SERVERS = ['@types/express@5', 'fastify@5', 'hono@4', '@types/node@26']
/** Each declares its own `fetch`. */
const RUNTIME_TYPES = ['node', 'bun', '@cloudflare/workers-types']
const NO_TRACES = { OTEL_SDK_DISABLED: 'true' }
/** No collector listens there. */
const NO_SERVER = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }

/** As docs/client-library.md shows it, without a cast. */
const TYPED_CALLERS = `
import type { Express } from 'express'
import type { FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import { createAuthorizer, readJson, type CertificateTrust, type NetworkNode } from '@chancery/sdk'
import * as onExpress from '@chancery/sdk/express'
import * as onFastify from '@chancery/sdk/fastify'
import * as onHono from '@chancery/sdk/hono'

export async function serve(app: Express, fastify: FastifyInstance, node: NetworkNode, trust: CertificateTrust) {
  const authorizer = createAuthorizer({ audience: 'https://print.example.org', trust, decisions: node })
  app.use(onExpress.authenticate(authorizer))
  const requirement = { capability: 'invoice.pay', parameters: () => ({ amount: 1 }) }
  app.get('/', onExpress.authorize(authorizer, requirement), (request, response) => {
    response.send([onExpress.callerOf(request).publicKey, onExpress.answerOf(request).decision.decision_id])
  })
  await fastify.register(onFastify.authenticate, { authorizer })
  const preHandler = onFastify.authorize(authorizer, 'ledger.read')
  fastify.get('/', { preHandler }, (request) => onFastify.callerOf(request).roles)
  const hono = new Hono()
    .get('/who', onHono.authenticate(authorizer), (c) => c.text(c.get('caller').publicKey))
    .get('/pay', onHono.authorize(authorizer, 'invoice.pay'), (c) => c.text(c.get('answer').decision.decision_id))
  const signing: typeof fetch = node.fetch
  return [hono, signing, readJson('100.0')]
}
`

interface LockedPackage {
  readonly dependencies?: Readonly<Record<string, string>>
}

/** The folders of a package and of everything it needs. No version is there twice, so all are at the top. */
function runtimePackages(name: string, packages: Readonly<Record<string, LockedPackage>>): readonly string[] {
  const found = new Set([name])
  for (const each of found)
    for (const needed of Object.keys(packages[`node_modules/${each}`]?.dependencies ?? {})) found.add(needed)
  return [...found].map((each) => `node_modules/${each}`)
}

async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  const sizes = await Promise.all(files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Every entry point that a package exports, such as `@chancery/sdk/verify`. */
async function readEntries(scope: string): Promise<readonly string[]> {
  const entries: string[] = []
  for (const name of PUBLISHED) {
    const about = JSON.parse(await readFile(join(scope, name, 'package.json'), 'utf8')) as {
      readonly exports: Readonly<Record<string, unknown>>
    }
    // A pattern names data files, not one entry point.
    for (const path of Object.keys(about.exports).filter((each) => !each.includes('*')))
      entries.push(`@chancery/${name}${path.slice(1)}`)
  }
  return entries
}

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
    await run('npm', ['install', ...options, ...tarballs, ...SERVERS, '@types/bun@1', '@cloudflare/workers-types@4'], {
      cwd: folder,
      env,
    })
  }, 240_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('holds what runs and nothing else', async () => {
    const scope = join(folder, 'node_modules/@chancery')
    expect((await readdir(scope)).toSorted()).toEqual(PUBLISHED)
    const files = await readdir(scope, { recursive: true })
    expect(files.filter((name) => /[.](test|suite)[.]|[.]map$|\/src\/|\/faults[.]js$/.test(name))).toEqual([])
    for (const name of await readdir(scope)) {
      const about = JSON.parse(await readFile(join(scope, name, 'package.json'), 'utf8')) as Record<string, unknown>
      expect(about, name).toMatchObject({ license: 'Apache-2.0', engines: { node: expect.any(String) } })
      expect(JSON.stringify([about['exports'], about['imports']]), name).not.toMatch(/development|src/)
      expect(existsSync(join(scope, name, 'LICENSE')), name).toBe(true)
      // The page of the test cases shows a program in another language.
      const heading = name === 'vectors' ? '## Your program' : '## First example'
      expect(await readFile(join(scope, name, 'README.md'), 'utf8'), name).toContain(heading)
    }
  })

  it('declares the servers whose types it extends as optional', async () => {
    const text = await readFile(join(folder, 'node_modules/@chancery/sdk/package.json'), 'utf8')
    expect(JSON.parse(text)).toMatchObject({
      peerDependencies: { fastify: '>=5', hono: '>=4' },
      peerDependenciesMeta: { fastify: { optional: true }, hono: { optional: true } },
    })
  })

  it('installs no optional package, and says how to install one that is needed', async () => {
    for (const name of ['@grpc/grpc-js', '@nats-io/jetstream', '@cedar-policy/cedar-wasm', 'pkcs11js', 'sodium-native'])
      expect(existsSync(join(folder, 'node_modules', name)), name).toBe(false)
    const settings = ['GATEWAY_CHECK_GRPC_ADDR=127.0.0.1:9', 'GATEWAY_POLICY_FILE=none.json', 'GATEWAY_STATE_FILE=none']
    await writeFile(join(folder, 'grpc.env'), settings.join('\n'))
    const args = ['gateway', 'start', '--env-file', 'grpc.env', '--check-config']
    const ended = await run(join(folder, 'node_modules/.bin/chancery'), args, { cwd: folder, env }).catch(
      (error: { stdout: string; stderr: string }) => error,
    )
    expect(ended.stdout + ended.stderr).toContain('npm install @grpc/grpc-js@1.14.7')
  })

  it('stays below the limits of its size', async () => {
    const text = await readFile(join(folder, 'package-lock.json'), 'utf8')
    const { packages } = JSON.parse(text) as { packages: Record<string, LockedPackage> }
    const reached = runtimePackages('@chancery/cli', packages)
    expect(reached.length).toBeLessThanOrEqual(60)
    const sizes = await Promise.all(reached.map((place) => folderBytes(join(folder, place))))
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(25_000_000)
  })

  it('has exports that can all be imported', async () => {
    const entries = await readEntries(join(folder, 'node_modules/@chancery'))
    const imports = entries.map((entry) => `await import('${entry}')`)
    expect(entries).toEqual(await readEntries(join(ROOT, 'node_modules/@chancery')))
    await writeFile(join(folder, 'entries.js'), `${imports.join('\n')}\nconsole.log('imported')\n`)
    const { stdout } = await run(process.execPath, ['entries.js'], { cwd: folder, env: { ...env, ...NO_TRACES } })
    expect(stdout).toBe('imported\n')
  })

  it.each([
    ['node16', 'node16'],
    ['esnext', 'bundler'],
  ])('compiles the examples of all pages, every export and typed callers with --module %s and %s', async (...way) => {
    const project = join(folder, `pages-${way[1]}`)
    await mkdir(project)
    await writeFile(join(project, 'callers.ts'), TYPED_CALLERS)
    const entries = await readEntries(join(folder, 'node_modules/@chancery'))
    const everything = entries.map((entry, index) => `export * as entry${index} from '${entry}'`)
    await writeFile(join(project, 'entries.ts'), everything.join('\n'))
    for (const page of await readPackagePages())
      if (page.program !== undefined) await writeFile(join(project, exampleFile(page)), page.program.source)
    await writeFile(join(project, 'package.json'), '{"type":"module"}')
    const files = (await readdir(project)).filter((name) => name.endsWith('.ts'))
    const options = ['--ignoreConfig', '--noEmit', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck']
    const modules = ['--module', way[0], '--moduleResolution', way[1], '--target', 'es2024', '--types', 'node']
    const tsc = join(ROOT, 'node_modules/.bin/tsc')
    const ended = await run(tsc, [...options, ...modules, ...files], { cwd: project }).catch(
      (error: { stdout: string }) => error,
    )
    expect(ended.stdout).toBe('')
  })

  it.each(RUNTIME_TYPES)('has a fetch that is a typeof fetch with the types of %s', async (types) => {
    const source = `import type { NetworkNode } from '@chancery/sdk'
export const own = (node: NetworkNode): typeof fetch => node.fetchWith({ audience: 'https://print.example.org' })`
    await writeFile(join(folder, 'fetch-as.ts'), source)
    const options = ['--ignoreConfig', '--noEmit', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck']
    const modules = ['--module', 'nodenext', '--target', 'es2024', '--lib', 'es2024', '--types', types]
    const ended = await run(join(ROOT, 'node_modules/.bin/tsc'), [...options, ...modules, 'fetch-as.ts'], {
      cwd: folder,
    }).catch((error: { stdout: string }) => error)
    expect(ended.stdout).toBe('')
  })

  it('has pages whose examples print what the page says', async () => {
    for (const page of await readPackagePages()) {
      if (page.commands !== undefined) await run('sh', ['-ec', page.commands], { cwd: folder, env })
      if (page.program === undefined) continue
      await writeFile(join(folder, exampleFile(page)), page.program.source)
      const { stdout } = await run(process.execPath, [exampleFile(page)], {
        cwd: folder,
        env: { ...env, ...NO_SERVER },
      })
      expect(stdout, page.name).toBe(page.program.output)
    }
  }, 120_000)

  it('runs: npx, init, an authority to ready with its console, and the check of a gateway', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string }
    const { stdout } = await run('npx', ['--no-install', 'chancery', '--version'], { cwd: folder, env })
    expect(stdout.trim()).toBe(version)
    const said: string[] = []
    const program = join(folder, 'node_modules/.bin/chancery')
    const installed = programIn(folder, program, env, (line) => said.push(line))
    await tryCommands(installed, version)
    await tryAuthority(installed)
    expect(said).toHaveLength(7)
  }, 120_000)

  it('has a library whose types a strict project accepts, and that refuses a wrong use', async () => {
    const project = join(folder, 'project')
    await cp(join(ROOT, 'examples'), project, { recursive: true })
    await writeFile(
      join(project, 'wrong.ts'),
      `import { createAuthorityClient } from '@chancery/sdk'\nexport const client: number = createAuthorityClient({ url: 'http://127.0.0.1' })\n`,
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
