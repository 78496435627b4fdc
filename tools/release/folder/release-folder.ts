import { readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type JsonObject, type Signer, canonicalJson, readJson, writePublicKeyFile } from '@chancery/protocol'
import { digestRegular } from '../../../apps/cli/src/commands/release/check-release.ts'
import {
  CHECKSUMS_FILE,
  KEY_FILE,
  LOCK_FILE,
  PROVENANCE_FILE,
  PROVENANCE_PREDICATE,
  RELEASE_FILE,
  artifactsOf,
  readProvenance,
  signStatement,
  writeChecksums,
  writeReleaseStatement,
  writeStatement,
} from '../../../apps/cli/src/commands/release/release-files.ts'
import type { FileDigest } from '../../../apps/cli/src/commands/release/release-files.ts'

/**
 * The folder of a release in two steps. The build writes checksums and an unsigned provenance, also on a machine without
 * the key. Signing happens where the key is, and signs only files with those checksums.
 */

/** The provenance before it is signed. */
export const UNSIGNED_PROVENANCE = 'provenance.json'

export interface BuildFacts {
  readonly version: string
  readonly commit: string
  /** Time of the commit. */
  readonly seconds: number
  readonly hasImage: boolean
}

type Env = Readonly<Record<string, string | undefined>>

/** Adds checksums and provenance to a folder with artifacts. */
export async function finishBuild(folder: string, facts: BuildFacts, env: Env = process.env): Promise<void> {
  const artifacts = artifactsOf(await digestFolder(folder))
  await writeFile(join(folder, CHECKSUMS_FILE), writeChecksums(artifacts))
  await writeFile(join(folder, UNSIGNED_PROVENANCE), `${describeBuild(artifacts, facts, env)}\n`)
}

/** An in-toto statement of SLSA v1. Without times: two builds of one commit on one builder give the same text. */
export function describeBuild(artifacts: readonly FileDigest[], facts: BuildFacts, env: Env): string {
  const { version, commit, seconds, hasImage } = facts
  const lock = artifacts.find(({ name }) => name === LOCK_FILE)?.sha256
  if (lock === undefined) throw new Error(`the release has no ${LOCK_FILE}`)
  const source: JsonObject = { name: 'source', digest: { gitCommit: commit } }
  const host = hostOf(env)
  return writeStatement(artifacts, PROVENANCE_PREDICATE, {
    buildDefinition: {
      buildType: 'urn:chancery:release-build:v1',
      externalParameters: { version, image: hasImage },
      internalParameters: { node: process.version, source_date_epoch: seconds },
      resolvedDependencies: [
        host === undefined ? source : { ...source, uri: host.source },
        { name: LOCK_FILE, digest: { sha256: lock } },
      ],
    },
    runDetails:
      host === undefined
        ? { builder: { id: 'urn:chancery:builder:local' } }
        : { builder: { id: host.builder }, metadata: { invocationId: host.run } },
  })
}

interface Host {
  readonly source: string
  readonly builder: string
  readonly run: string
}

/** The public host names the workflow and the run. Elsewhere nothing of the machine is written. */
function hostOf(env: Env): Host | undefined {
  if (env['GITHUB_ACTIONS'] !== 'true') return undefined
  const read = (name: string): string => {
    const value = env[name]
    if (value === undefined || value === '') throw new Error(`${name} is not set`)
    return value
  }
  const [server, repository] = [read('GITHUB_SERVER_URL'), read('GITHUB_REPOSITORY')]
  return {
    source: `git+${server}/${repository}@${read('GITHUB_REF')}`,
    builder: `${server}/${read('GITHUB_WORKFLOW_REF')}`,
    run: `${server}/${repository}/actions/runs/${read('GITHUB_RUN_ID')}/attempts/${read('GITHUB_RUN_ATTEMPT')}`,
  }
}

/** What a release must be. It comes from the machine of the key, not from the folder. */
export interface ExpectedRelease {
  readonly version: string
  readonly commit: string
  /** SHA256SUMS of another build of the commit. */
  readonly sums: string
}

/** Signs a built folder. Throws when a file differs from its checksum. A folder that another machine built needs `expected`. */
export async function signFolder(folder: string, signer: Signer, expected?: ExpectedRelease): Promise<void> {
  await Promise.all([RELEASE_FILE, PROVENANCE_FILE, KEY_FILE].map((name) => rm(join(folder, name), { force: true })))
  const provenance = await readUnsigned(folder)
  const artifacts = artifactsOf(await digestFolder(folder)).filter(({ name }) => name !== UNSIGNED_PROVENANCE)
  const sums = await readFile(join(folder, CHECKSUMS_FILE), 'utf8')
  if (sums !== writeChecksums(artifacts))
    throw new Error(`a file of ${folder} differs from ${CHECKSUMS_FILE}: build again`)
  const stated = readProvenance(provenance)
  if (stated === undefined || writeChecksums(stated.files) !== sums)
    throw new Error(`${UNSIGNED_PROVENANCE} is about other files: build again`)
  if (expected !== undefined) compareBuilds(expected, { ...stated, sums })
  if (typeof stated.version !== 'string') throw new Error(`${UNSIGNED_PROVENANCE} names no version: build again`)
  await writeFile(join(folder, PROVENANCE_FILE), await signStatement(provenance, signer))
  await writeFile(join(folder, KEY_FILE), writePublicKeyFile(signer.publicKey, undefined))
  await rm(join(folder, UNSIGNED_PROVENANCE))
  const files = await digestFolder(folder)
  const statement = writeReleaseStatement({ version: stated.version, files })
  await writeFile(join(folder, RELEASE_FILE), await signStatement(statement, signer))
}

/** The host that built the folder also wrote its checksums: they do not prove that the files are of the commit. */
function compareBuilds(expected: ExpectedRelease, found: Readonly<Record<keyof ExpectedRelease, unknown>>): void {
  if (found.version !== expected.version)
    throw new Error(`the folder has version ${String(found.version)} instead of ${expected.version}`)
  if (found.commit !== expected.commit)
    throw new Error(`the folder is of commit ${String(found.commit)} instead of ${expected.commit}`)
  if (found.sums !== expected.sums)
    throw new Error(`${CHECKSUMS_FILE} of the folder differs from that of the other build`)
}

/** Only the canonical text is signed: it is what a reader of the statement computes. */
async function readUnsigned(folder: string): Promise<string> {
  const text = await readFile(join(folder, UNSIGNED_PROVENANCE), 'utf8').catch((error: unknown) => {
    throw new Error(`${folder} has no ${UNSIGNED_PROVENANCE}: build it with npm run release -- --build`, {
      cause: error,
    })
  })
  return canonicalJson(readJson(text))
}

/** Every file of a folder, sorted by name. */
async function digestFolder(folder: string): Promise<readonly FileDigest[]> {
  const files: FileDigest[] = []
  for (const name of (await readdir(folder)).sort()) {
    const path = join(folder, name)
    const found = await digestRegular(path)
    if (typeof found === 'string') throw new Error(`${path} is ${found}`)
    files.push({ name, sha256: found.sha256 })
  }
  return files
}
