import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { NOT_RUN } from '../../check/run-command.ts'
import { sourceDate } from '../source-date.ts'
import { packContents } from '../tar.ts'
import { stageApp, stageNative } from './app-files.ts'
import { type ImageSizes, addHealthcheck, measureLayout } from './layout.ts'
import { DATA, PLATFORMS } from './platforms.ts'
import { stageRuntime } from './runtime-files.ts'

/**
 * `npm run image`: the image for all platforms as one OCI archive, by buildah and `deploy/image/Dockerfile`. Needs
 * `npm run build` first, dpkg-deb, GNU tar, and access to the registry of npm and a mirror of Debian.
 */

const ROOT = join(import.meta.dirname, '../../..')
const DOCKERFILE = join(ROOT, 'deploy/image/Dockerfile')
/** The largest download of one platform that we accept. */
export const MAX_MEGABYTES = 60

/** For engines that read it; Kubernetes has its own probes. Times are in nanoseconds. */
export const HEALTHCHECK = {
  Test: ['CMD', '/usr/bin/node', '/app/probe.mjs'],
  Interval: 10_000_000_000,
  Timeout: 3_000_000_000,
  StartPeriod: 20_000_000_000,
  Retries: 3,
}

/** The programs that the image needs and this machine lacks. */
export function missingPrograms(): readonly string[] {
  return ['buildah', 'dpkg-deb'].filter((program) => spawnSync(program, ['--version']).status !== 0)
}

/** Writes the archive. The same commit gives the same bytes. */
export async function buildImage(output: string, seconds: number = sourceDate()): Promise<ImageSizes> {
  const work = await mkdtemp(join(tmpdir(), 'chancery-image-'))
  try {
    const context = join(work, 'context')
    await stageContext(context, work)
    const layout = runBuildah(work, context, seconds)
    addHealthcheck(layout, HEALTHCHECK)
    mkdirSync(dirname(output), { recursive: true })
    packContents(layout, output, seconds)
    return measureLayout(layout)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** The folders that the Dockerfile copies. Their modes depend on executable bits only, not on the umask. */
async function stageContext(context: string, work: string): Promise<void> {
  await stageApp(join(context, 'app'))
  for (const platform of PLATFORMS) {
    const { architecture } = platform
    await stageRuntime(platform, join(work, architecture), join(context, `runtime-${architecture}`))
    await stageNative(platform, join(context, `libsodium-${architecture}`))
  }
  for (const name of ['marks-a', 'marks-b', 'state'])
    mkdirSync(join(context, 'data', DATA.replace('var/lib/', ''), name), { recursive: true })
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', context])
  for (const { architecture } of PLATFORMS) chmodSync(join(context, `runtime-${architecture}`, 'tmp'), 0o1777)
}

/** Gives the folder with the OCI layout. buildah stores everything below `work`. */
function runBuildah(work: string, context: string, seconds: number): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string }
  const name = `chancery:${version}`
  const layout = join(work, 'layout')
  const store = ['--root', join(work, 'store'), '--runroot', join(work, 'run'), '--storage-driver', 'vfs']
  const buildah = (...words: readonly string[]): void => {
    execFileSync('buildah', [...store, ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
  }
  const facts = Object.entries(labelsOf(version, seconds)).map(([label, text]) => `${label}=${text}`)
  // Without its own version and path, which would be those of the machine.
  const fixed = ['--format=oci', '--layers', `--timestamp=${seconds}`, '--identity-label=false', '--unsetenv=PATH']
  const labels = facts.flatMap((fact) => ['--label', fact, '--annotation', fact])
  for (const { architecture, variant } of PLATFORMS) {
    const platform = ['linux', architecture, variant].filter((part) => part !== undefined).join('/')
    buildah('build', ...fixed, ...labels, '--file', DOCKERFILE, '--manifest', name, '--platform', platform, context)
  }
  buildah('manifest', 'push', '--all', name, `oci:${layout}:${name}`)
  return layout
}

function labelsOf(version: string, seconds: number): Readonly<Record<string, string>> {
  const revision = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim()
  return {
    'org.opencontainers.image.created': new Date(seconds * 1000).toISOString().replace('.000Z', 'Z'),
    'org.opencontainers.image.licenses': 'Apache-2.0',
    'org.opencontainers.image.revision': revision,
    'org.opencontainers.image.title': 'chancery',
    'org.opencontainers.image.version': version,
  }
}

async function main(): Promise<number> {
  const output = process.argv[2] ?? join(ROOT, 'dist/chancery-image.tar')
  const missing = missingPrograms()
  if (missing.length > 0) {
    // The trial must not run an older one.
    if (existsSync(output)) await rm(output)
    console.log(`this machine lacks ${missing.join(' and ')}: apt-get install buildah dpkg`)
    return NOT_RUN
  }
  const { digest, sizes } = await buildImage(output)
  console.log(`${output}  ${digest}`)
  for (const [architecture, bytes] of sizes) {
    const megabytes = bytes / 1e6
    console.log(`linux/${architecture}  ${megabytes.toFixed(1)} MB compressed`)
    if (megabytes > MAX_MEGABYTES) throw new Error(`more than ${MAX_MEGABYTES} MB`)
  }
  return 0
}

if (import.meta.main) process.exitCode = await main()
