import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type TarFile, writeTar } from './tar.ts'
import type { Platform } from './platforms.ts'

/**
 * Images of several platforms as one archive (OCI image layout 1.0), without an engine. The same files give the same
 * bytes. `index.json` has one entry: the index whose digest a deployment names.
 */

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'
const INDEX = 'application/vnd.oci.image.index.v1+json'
const CONFIG = 'application/vnd.oci.image.config.v1+json'
const LAYER = 'application/vnd.oci.image.layer.v1.tar+gzip'
const compress = promisify(gzip)

export interface Blob {
  readonly digest: string
  readonly bytes: Uint8Array
}

export interface Layer extends Blob {
  readonly diffId: string
  readonly createdBy: string
}

export interface PlatformImage {
  readonly platform: Pick<Platform, 'architecture' | 'variant'>
  readonly layers: readonly Layer[]
}

export interface ImageFacts {
  readonly seconds: number
  readonly labels: Readonly<Record<string, string>>
  /** What an engine runs: user, entry point, environment. */
  readonly config: object
}

export interface Archive {
  readonly bytes: Uint8Array
  /** Digest of the index of all platforms. */
  readonly digest: string
  /** What a machine of each platform downloads. */
  readonly sizes: ReadonlyMap<string, number>
}

export async function makeLayer(files: readonly TarFile[], createdBy: string, seconds: number): Promise<Layer> {
  const tar = writeTar(withFolders(files), seconds)
  const bytes = await compress(tar, { level: 9 })
  // The number of the operating system in the header of gzip: unknown.
  bytes[9] = 255
  return { digest: digestOf(bytes), bytes, diffId: digestOf(tar), createdBy }
}

/** Every folder above a file, so that an unpacker does not choose its mode. */
function withFolders(files: readonly TarFile[]): readonly TarFile[] {
  const known = new Set(files.map(({ path }) => path))
  const folders = new Set<string>()
  for (const { path } of files)
    for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) folders.add(path.slice(0, at))
  const missing = [...folders].filter((path) => !known.has(path))
  return [...files, ...missing.map((path) => ({ path, bytes: new Uint8Array(), isFolder: true as const }))]
}

export function writeArchive(images: readonly PlatformImage[], facts: ImageFacts, name: string): Archive {
  const blobs = new Map<string, Blob>()
  const add = (blob: Blob): Blob => {
    blobs.set(blob.digest, blob)
    return blob
  }
  const sizes = new Map<string, number>()
  const manifests = images.map(({ platform, layers }) => {
    const config = add(jsonBlob(configOf(platform, layers, facts)))
    for (const layer of layers) add(layer)
    const entries = [describe(CONFIG, config), ...layers.map((layer) => describe(LAYER, layer))]
    const [first, ...rest] = entries
    const annotations = facts.labels
    const manifest = add(jsonBlob({ schemaVersion: 2, mediaType: MANIFEST, config: first, layers: rest, annotations }))
    sizes.set(
      platform.architecture,
      entries.reduce((sum, { size }) => sum + size, manifest.bytes.length),
    )
    return { ...describe(MANIFEST, manifest), platform: { os: 'linux', ...platform } }
  })
  const index = add(jsonBlob({ schemaVersion: 2, mediaType: INDEX, manifests, annotations: facts.labels }))
  const named = { ...describe(INDEX, index), annotations: { 'org.opencontainers.image.ref.name': name } }
  const files: readonly TarFile[] = [
    { path: 'oci-layout', bytes: Buffer.from('{"imageLayoutVersion":"1.0.0"}') },
    { path: 'index.json', bytes: jsonBlob({ schemaVersion: 2, mediaType: INDEX, manifests: [named] }).bytes },
    ...[...blobs.values()].map(({ digest, bytes }) => ({ path: `blobs/${digest.replace(':', '/')}`, bytes })),
  ]
  return { bytes: writeTar(files, facts.seconds), digest: index.digest, sizes }
}

function configOf(platform: PlatformImage['platform'], layers: readonly Layer[], facts: ImageFacts): object {
  const created = new Date(facts.seconds * 1000).toISOString().replace('.000Z', 'Z')
  return {
    created,
    os: 'linux',
    ...platform,
    config: { ...facts.config, Labels: facts.labels },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ createdBy }) => ({ created, created_by: createdBy })),
  }
}

function describe(mediaType: string, { digest, bytes }: Blob): { mediaType: string; digest: string; size: number } {
  return { mediaType, digest, size: bytes.length }
}

function jsonBlob(value: object): Blob {
  const bytes = Buffer.from(JSON.stringify(value))
  return { digest: digestOf(bytes), bytes }
}

export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}
