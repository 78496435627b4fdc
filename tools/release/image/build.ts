import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { sourceDate } from '../source-date.ts'
import { appFiles, nativeFiles } from './app-files.ts'
import { type Archive, type PlatformImage, makeLayer, writeArchive } from './oci.ts'
import { DATA, PLATFORMS, USER } from './platforms.ts'
import { runtimeFiles } from './runtime-files.ts'

/**
 * `npm run image`: the image for all platforms as one OCI archive. Needs `npm run build` first, dpkg-deb, tar, and access
 * to the registry of npm and a mirror of Debian. It needs no engine, no root and no machine of the other platform, because
 * nothing of the image is run.
 */

const ROOT = join(import.meta.dirname, '../../..')
/** The largest download of one platform that we accept. */
export const MAX_MEGABYTES = 60

/** What an engine runs. The health check is for engines that read it; Kubernetes has its own probes. */
export const IMAGE_CONFIG = {
  // A number, so that Kubernetes can check that the user is not root.
  User: `${USER}:${USER}`,
  ExposedPorts: { '8443/tcp': {} },
  Env: ['NODE_ENV=production', 'NODE_OPTIONS=--disable-proto=throw'],
  Entrypoint: ['/usr/bin/node', '--', '/app/apps/cli/bin/chancery.mjs'],
  Cmd: ['--help'],
  WorkingDir: `/${DATA}`,
  StopSignal: 'SIGTERM',
  Healthcheck: {
    Test: ['CMD', '/usr/bin/node', '/app/probe.mjs'],
    Interval: 10_000_000_000,
    Timeout: 3_000_000_000,
    StartPeriod: 20_000_000_000,
    Retries: 3,
  },
}

/** Writes the archive. The same commit gives the same bytes. */
export async function buildImage(output: string, seconds: number = sourceDate()): Promise<Archive> {
  const work = await mkdtemp(join(tmpdir(), 'chancery-image-'))
  try {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string }
    const app = await makeLayer(await appFiles(join(work, 'stage')), 'chancery', seconds)
    const images: PlatformImage[] = []
    for (const platform of PLATFORMS) {
      const { architecture, variant, node } = platform
      const runtime = await runtimeFiles(platform, join(work, architecture))
      const layers = [
        await makeLayer(runtime, `${node}, libraries of Debian`, seconds),
        app,
        await makeLayer(await nativeFiles(platform), 'libsodium', seconds),
      ]
      images.push({ platform: { architecture, ...(variant === undefined ? {} : { variant }) }, layers })
    }
    const facts = { seconds, labels: labelsOf(version, seconds), config: IMAGE_CONFIG }
    const archive = writeArchive(images, facts, `chancery:${version}`)
    await mkdir(dirname(output), { recursive: true })
    await writeFile(output, archive.bytes)
    return archive
  } finally {
    await rm(work, { recursive: true })
  }
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

if (import.meta.main) {
  const output = process.argv[2] ?? join(ROOT, 'dist/chancery-image.tar')
  const { digest, sizes } = await buildImage(output)
  console.log(`${output}  ${digest}`)
  for (const [architecture, bytes] of sizes) {
    const megabytes = bytes / 1e6
    console.log(`linux/${architecture}  ${megabytes.toFixed(1)} MB compressed`)
    if (megabytes > MAX_MEGABYTES) throw new Error(`more than ${MAX_MEGABYTES} MB`)
  }
}
