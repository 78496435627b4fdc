import { createHash } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** An OCI layout that buildah wrote: `index.json` names one index, which names a manifest for each platform. */

export interface Descriptor {
  readonly digest: string
  readonly size: number
  readonly platform?: { readonly os: string; readonly architecture: string }
}

export interface Index {
  readonly manifests: readonly [Descriptor, ...Descriptor[]]
}

export interface Manifest {
  readonly config: Descriptor
  readonly layers: readonly Descriptor[]
}

export interface ImageSizes {
  /** Of the index of all platforms. A deployment names it. */
  readonly digest: string
  /** What a machine of each platform downloads. */
  readonly sizes: ReadonlyMap<string, number>
}

/** The bytes of a blob, with its digest and size. */
export function readBlob(folder: string, { digest, size }: Descriptor): Uint8Array {
  const bytes = readFileSync(blobFile(folder, digest))
  if (bytes.length !== size || digestOf(bytes) !== digest) throw new Error(`${digest} has other bytes`)
  return bytes
}

export function readIndex(folder: string, one: Descriptor): Index {
  return readJsonBlob(folder, one) as Index
}

export function readManifest(folder: string, one: Descriptor): Manifest {
  return readJsonBlob(folder, one) as Manifest
}

export function readJsonBlob(folder: string, one: Descriptor): unknown {
  return JSON.parse(Buffer.from(readBlob(folder, one)).toString('utf8'))
}

export function readLayout(folder: string): Index {
  return JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8')) as Index
}

/** The OCI format has no health check, and buildah leaves it out. Docker still reads it from the configuration. */
export function addHealthcheck(folder: string, healthcheck: object): void {
  const replace = (one: Descriptor, value: object): Descriptor => {
    const bytes = Buffer.from(JSON.stringify(value))
    rmSync(blobFile(folder, one.digest))
    writeFileSync(blobFile(folder, digestOf(bytes)), bytes)
    return { ...one, digest: digestOf(bytes), size: bytes.length }
  }
  const changeConfig = (one: Descriptor): Descriptor => {
    const image = readJsonBlob(folder, one) as { readonly config: object }
    return replace(one, { ...image, config: { ...image.config, Healthcheck: healthcheck } })
  }
  const changeManifest = (one: Descriptor): Descriptor => {
    const manifest = readManifest(folder, one)
    return replace(one, { ...manifest, config: changeConfig(manifest.config) })
  }
  const changeIndex = (one: Descriptor): Descriptor => {
    const index = readIndex(folder, one)
    return replace(one, { ...index, manifests: index.manifests.map(changeManifest) })
  }
  const layout = readLayout(folder)
  const changed = { ...layout, manifests: layout.manifests.map(changeIndex) }
  writeFileSync(join(folder, 'index.json'), JSON.stringify(changed))
}

export function measureLayout(folder: string): ImageSizes {
  const [top] = readLayout(folder).manifests
  const sizes = readIndex(folder, top).manifests.map((one) => {
    const { config, layers } = readManifest(folder, one)
    const bytes = [one, config, ...layers].reduce((sum, { size }) => sum + size, 0)
    return [one.platform?.architecture ?? '', bytes] as const
  })
  return { digest: top.digest, sizes: new Map(sizes) }
}

export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

function blobFile(folder: string, digest: string): string {
  return join(folder, 'blobs', digest.replace(':', '/'))
}
