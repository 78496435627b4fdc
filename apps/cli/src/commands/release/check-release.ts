import { createHash } from 'node:crypto'
import { type FileHandle, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readPublicKeyFile, visible } from '@chancery/protocol'
import { firstDifference, packagesOfCycloneDx, packagesOfLock, packagesOfSpdx } from './lock-packages.ts'
import {
  CHECKSUMS_FILE,
  KEY_FILE,
  LOCK_FILE,
  PROVENANCE_FILE,
  RELEASE_FILE,
  artifactsOf,
  openStatement,
  readProvenance,
  readReleaseStatement,
  writeChecksums,
} from './release-files.ts'
import type { FileDigest, Release } from './release-files.ts'
import type { ReadStream } from 'node:fs'
import { type Unopened, withRegularFile } from '../../files/regular-file.ts'

/** Reads files of a release. No link is followed, and a file that grows does not keep the reader. */

/** The problem of a file that is not read. */
export type Unread = Unopened | 'too large'

/** Not for files that may be larger than memory. */
export async function readRegular(path: string, maxBytes: number): Promise<Buffer | Unread> {
  return withRegularFile(path, 'refuse', async (handle, size) => {
    if (size > maxBytes) return 'too large'
    const chunks: Uint8Array[] = []
    for await (const chunk of chunksOf(handle, size)) chunks.push(chunk as Uint8Array)
    return Buffer.concat(chunks)
  })
}

/** SHA-256 in hex. */
export async function digestRegular(path: string): Promise<{ readonly sha256: string } | Unopened> {
  return withRegularFile(path, 'refuse', async (handle, size) => {
    const hash = createHash('sha256')
    for await (const chunk of chunksOf(handle, size)) hash.update(chunk as Uint8Array)
    return { sha256: hash.digest('hex') }
  })
}

/** One byte more than the file had: a file that grows has another digest. */
function chunksOf(handle: FileHandle, size: number): ReadStream {
  return handle.createReadStream({ autoClose: false, end: size })
}

export type ReleaseCheckName = 'signature' | 'files' | 'checksums' | 'provenance' | 'contents'

export interface ReleaseCheck {
  readonly name: ReleaseCheckName
  /** Unchecked when an earlier check failed: nothing of an unsigned folder is read. */
  readonly status: 'passed' | 'failed' | 'unchecked'
  /** What was found, or each problem. */
  readonly details: readonly string[]
}

export interface ReleaseReport {
  readonly version: string | undefined
  readonly commit: string | undefined
  readonly files: number
  readonly checks: readonly ReleaseCheck[]
}

/** Files that are read as a whole are smaller. */
const MAX_TEXT_BYTES = 33_554_432

/** Checks a folder against the statement in it. The signature is verified before any other file is read. */
export async function checkRelease(folder: string, statement: string, publicKey: string): Promise<ReleaseReport> {
  const signed = await openStatement(statement, publicKey)
  const release = signed === undefined ? undefined : readReleaseStatement(signed)
  if (release === undefined) {
    const problem =
      signed === undefined
        ? `${RELEASE_FILE} is not signed by this key, or was changed`
        : `${RELEASE_FILE} is signed, but is not the list of a release`
    return report(undefined, undefined, [failed('signature', [problem])])
  }
  const { version, files } = release
  const signature = passed('signature', `${RELEASE_FILE} lists ${files.length} files and is signed by this key`)
  const found = await readFolder(folder, release)
  if (found.problems.length > 0) return report(release, undefined, [signature, failed('files', found.problems)])
  const { texts } = found
  const provenance = await checkProvenance(texts, release, publicKey)
  return report(release, provenance.commit, [
    signature,
    passed('files', `all ${files.length} files have the signed SHA-256, and there are no others`),
    checkSums(texts, release, publicKey),
    provenance.check,
    checkContents(texts, version),
  ])
}

interface FolderContent {
  readonly problems: readonly string[]
  /** The files that later checks read, as they were when their digest was computed. */
  readonly texts: ReadonlyMap<string, string>
}

async function readFolder(folder: string, { version, files }: Release): Promise<FolderContent> {
  const entries = await readdir(folder, { withFileTypes: true })
  const listed = new Set([...files.map(({ name }) => name), RELEASE_FILE])
  const problems = entries.flatMap((entry) => {
    const name = visible(entry.name)
    if (!listed.has(entry.name)) return [`${name} is not part of the release`]
    return entry.isFile() ? [] : [`${name} is not a regular file`]
  })
  const present = new Map(entries.map((entry) => [entry.name, entry.isFile()]))
  const read = new Set([CHECKSUMS_FILE, PROVENANCE_FILE, KEY_FILE, LOCK_FILE, ...Object.values(listsOf(version))])
  const texts = new Map<string, string>()
  for (const name of read) if (!listed.has(name)) problems.push(`the signed list lacks ${name}`)
  for (const { name, sha256 } of files) {
    if (!present.has(name)) problems.push(`${name} is missing`)
    if (present.get(name) !== true) continue
    const path = join(folder, name)
    const found = read.has(name) ? await readRegular(path, MAX_TEXT_BYTES) : await digestRegular(path)
    if (typeof found === 'string') problems.push(`${name} is ${found}`)
    else if ((Buffer.isBuffer(found) ? digest(found) : found.sha256) !== sha256) problems.push(`${name} was changed`)
    else if (Buffer.isBuffer(found)) texts.set(name, found.toString('utf8'))
  }
  return { problems, texts }
}

function checkSums(texts: ReadonlyMap<string, string>, { files }: Release, publicKey: string): ReleaseCheck {
  const problems: string[] = []
  if (texts.get(CHECKSUMS_FILE) !== writeChecksums(artifactsOf(files)))
    problems.push(`${CHECKSUMS_FILE} differs from the signed list`)
  if (readPublicKeyFile(texts.get(KEY_FILE) ?? '')?.value !== publicKey)
    problems.push(`${KEY_FILE} is not the key that signed`)
  return problems.length > 0
    ? failed('checksums', problems)
    : passed('checksums', `${CHECKSUMS_FILE} has the signed digests of ${artifactsOf(files).length} artifacts`)
}

async function checkProvenance(
  texts: ReadonlyMap<string, string>,
  { version, files }: Release,
  publicKey: string,
): Promise<{ readonly check: ReleaseCheck; readonly commit: string | undefined }> {
  const signed = await openStatement(texts.get(PROVENANCE_FILE) ?? '', publicKey)
  const stated = signed === undefined ? undefined : readProvenance(signed)
  if (stated === undefined) {
    const reason = signed === undefined ? 'is not signed by this key' : 'is not a provenance of SLSA v1'
    return { check: failed('provenance', [`${PROVENANCE_FILE} ${reason}`]), commit: undefined }
  }
  const artifacts = artifactsOf(files)
  const problems: string[] = []
  if (writeChecksums(stated.files) !== writeChecksums(artifacts))
    problems.push(`${PROVENANCE_FILE} is about other files than the release`)
  if (stated.version !== version) problems.push(`${PROVENANCE_FILE} is about another version`)
  if (stated.commit === undefined) problems.push(`${PROVENANCE_FILE} names no commit`)
  if (stated.lockDigest !== digestOf(artifacts, LOCK_FILE))
    problems.push(`${PROVENANCE_FILE} names another lock file than the release has`)
  return {
    commit: stated.commit,
    check:
      problems.length > 0
        ? failed('provenance', problems)
        : passed('provenance', `the same files, built from commit ${stated.commit ?? ''}`),
  }
}

function checkContents(texts: ReadonlyMap<string, string>, version: string): ReleaseCheck {
  const expected = packagesOfLock(texts.get(LOCK_FILE) ?? '')
  const { cycloneDx, spdx } = listsOf(version)
  const lists = [
    { name: cycloneDx, found: packagesOfCycloneDx(texts.get(cycloneDx) ?? '') },
    { name: spdx, found: packagesOfSpdx(texts.get(spdx) ?? '') },
  ]
  const problems = lists.flatMap(({ name, found }) => {
    const difference = firstDifference(expected, found)
    return difference === undefined ? [] : [`${name} and ${LOCK_FILE} differ: ${visible(difference)}`]
  })
  if (expected.length === 0) problems.push(`${LOCK_FILE} lists no packages`)
  return problems.length > 0
    ? failed('contents', problems)
    : passed('contents', `both lists name the ${expected.length} packages of ${LOCK_FILE}`)
}

/** The two lists of what a release contains. */
export function listsOf(version: string): { readonly cycloneDx: string; readonly spdx: string } {
  return { cycloneDx: `chancery-${version}.cdx.json`, spdx: `chancery-${version}.spdx.json` }
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function digestOf(files: readonly FileDigest[], name: string): string | undefined {
  return files.find((file) => file.name === name)?.sha256
}

function passed(name: ReleaseCheckName, detail: string): ReleaseCheck {
  return { name, status: 'passed', details: [detail] }
}

function failed(name: ReleaseCheckName, details: readonly string[]): ReleaseCheck {
  return { name, status: 'failed', details }
}

const ORDER: readonly ReleaseCheckName[] = ['signature', 'files', 'checksums', 'provenance', 'contents']

function report(
  release: Release | undefined,
  commit: string | undefined,
  done: readonly ReleaseCheck[],
): ReleaseReport {
  const checks = ORDER.map(
    (name) => done.find((check) => check.name === name) ?? ({ name, status: 'unchecked', details: [] } as const),
  )
  return { version: release?.version, commit, files: release?.files.length ?? 0, checks }
}
