import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { digestOf, readBlob, readIndex, readJsonBlob, readLayout, readManifest } from './layout.ts'

/** Reads an OCI archive as an engine does: every blob by its digest and size, the layers in their order. */

export interface EngineConfig {
  readonly User: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Healthcheck: { readonly Test: readonly string[] }
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
    const { manifests } = readIndex(work, readLayout(work).manifests[0])
    const chosen = manifests.find(({ platform }) => platform?.os === 'linux' && platform.architecture === architecture)
    if (chosen === undefined) throw new Error(`the archive has no linux/${architecture}`)
    const manifest = readManifest(work, chosen)
    const image = readJsonBlob(work, manifest.config) as ImageJson
    if (image.architecture !== architecture) throw new Error(`the image is for ${image.architecture}`)
    mkdirSync(root, { recursive: true })
    for (const [at, layer] of manifest.layers.entries()) {
      const tar = gunzipSync(readBlob(work, layer))
      if (digestOf(tar) !== image.rootfs.diff_ids[at]) throw new Error(`layer ${at} is another one`)
      execFileSync('tar', ['-xpf', '-', '-C', root, '--numeric-owner'], { input: tar })
    }
    return image.config
  } finally {
    rmSync(work, { recursive: true })
  }
}
