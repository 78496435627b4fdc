import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { digestOf } from './oci.ts'

/** Reads an OCI archive as an engine does: every blob by its digest and size, the layers in their order. */

export interface EngineConfig {
  readonly User: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Healthcheck: { readonly Test: readonly string[] }
}

interface Descriptor {
  readonly digest: string
  readonly size: number
  readonly platform?: { readonly os: string; readonly architecture: string }
}

interface ImageJson {
  readonly config: EngineConfig
  readonly architecture: string
  readonly rootfs: { readonly diff_ids: readonly string[] }
}

/** Unpacks the image of one platform below `root`, which is empty. Owners are stored only when this runs as root. */
export function unpackImage(archive: string, architecture: string, root: string): EngineConfig {
  const work = mkdtempSync(join(tmpdir(), 'chancery-oci-'))
  try {
    execFileSync('tar', ['-xf', archive, '-C', work])
    const read = ({ digest, size }: Descriptor): Uint8Array => {
      const bytes = readFileSync(join(work, 'blobs', digest.replace(':', '/')))
      if (bytes.length !== size || digestOf(bytes) !== digest) throw new Error(`${digest} has other bytes`)
      return bytes
    }
    const readJson = (one: Descriptor): unknown => JSON.parse(Buffer.from(read(one)).toString('utf8'))
    const layout = JSON.parse(readFileSync(join(work, 'index.json'), 'utf8')) as { manifests: [Descriptor] }
    const { manifests } = readJson(layout.manifests[0]) as { readonly manifests: readonly Descriptor[] }
    const chosen = manifests.find(({ platform }) => platform?.os === 'linux' && platform.architecture === architecture)
    if (chosen === undefined) throw new Error(`the archive has no linux/${architecture}`)
    const manifest = readJson(chosen) as { readonly config: Descriptor; readonly layers: readonly Descriptor[] }
    const image = readJson(manifest.config) as ImageJson
    if (image.architecture !== architecture) throw new Error(`the image is for ${image.architecture}`)
    mkdirSync(root, { recursive: true })
    for (const [at, layer] of manifest.layers.entries()) {
      const tar = gunzipSync(read(layer))
      if (digestOf(tar) !== image.rootfs.diff_ids[at]) throw new Error(`layer ${at} is another one`)
      execFileSync('tar', ['-xpf', '-', '-C', root, '--numeric-owner'], { input: tar })
    }
    return image.config
  } finally {
    rmSync(work, { recursive: true })
  }
}
