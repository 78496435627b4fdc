import {
  STATEMENT_PAYLOAD_TYPE,
  STATEMENT_TYPE,
  canonicalJson,
  dsseBytes,
  dsseKeyId,
  fromBase64,
  fromUtf8,
  isJsonObject,
  readJson,
  readOrUndefined,
  toBase64,
  toUtf8,
  verifySignature,
  writeJson,
} from '@chancery/protocol'
import type { JsonObject, JsonValue, Signer } from '@chancery/protocol'

/**
 * The files of a release that are about the others. One signed statement lists every other file of the folder with its
 * digest, so a file is either covered by the signature or refused. `tools/release` writes them, this command reads them.
 */

export const RELEASE_FILE = 'release.dsse.json'
export const CHECKSUMS_FILE = 'SHA256SUMS'
export const PROVENANCE_FILE = 'provenance.dsse.json'
export const KEY_FILE = 'release.pub'
export const LOCK_FILE = 'package-lock.json'
/** Provenance that the public host signed. A release of another machine has none. */
export const SIGSTORE_FILE = 'chancery.sigstore.json'
/** Signature of the checksums by cosign, with the identity of the public host. */
export const COSIGN_FILE = 'SHA256SUMS.sigstore.json'

export const RELEASE_PREDICATE = 'https://in-toto.io/attestation/release/v0.1'
export const PROVENANCE_PREDICATE = 'https://slsa.dev/provenance/v1'

const ABOUT_OTHERS: readonly string[] = [
  RELEASE_FILE,
  CHECKSUMS_FILE,
  PROVENANCE_FILE,
  KEY_FILE,
  SIGSTORE_FILE,
  COSIGN_FILE,
]
/** No separator, no dot or dash at the start: a name is never a path or an option of a program. */
const FILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
const DIGEST = /^[0-9a-f]{64}$/
const VERSION = /^\d{1,5}\.\d{1,5}\.\d{1,5}$/
const MOST_FILES = 1000

/** A file by its name and its SHA-256 in hex. */
export interface FileDigest {
  readonly name: string
  readonly sha256: string
}

export interface Release {
  readonly version: string
  /** Every file of the folder except the statement itself. */
  readonly files: readonly FileDigest[]
}

/** The files that people install or read: everything but the files about other files. */
export function artifactsOf(files: readonly FileDigest[]): readonly FileDigest[] {
  return files.filter(({ name }) => !ABOUT_OTHERS.includes(name))
}

/** The list that `sha256sum --check` reads. */
export function writeChecksums(files: readonly FileDigest[]): string {
  return sorted(files)
    .map(({ name, sha256 }) => `${sha256}  ${name}\n`)
    .join('')
}

/** The text that is signed. Only one text is the statement of a release, so a reader compares texts. */
export function writeReleaseStatement({ version, files }: Release): string {
  return writeStatement(files, RELEASE_PREDICATE, { purl: purlOf(version) })
}

export function writeStatement(files: readonly FileDigest[], predicateType: string, predicate: JsonObject): string {
  const subject = sorted(files).map(({ name, sha256 }) => ({ name, digest: { sha256 } }))
  return canonicalJson({ _type: STATEMENT_TYPE, subject, predicateType, predicate })
}

/** Undefined unless the text is exactly what {@link writeReleaseStatement} writes. */
export function readReleaseStatement(text: string): Release | undefined {
  const statement = parse(text)
  const files = readSubject(statement?.['subject'])
  const purl = member(statement?.['predicate'], 'purl')
  const version = typeof purl === 'string' ? purl.slice(purlOf('').length) : ''
  if (files === undefined || !VERSION.test(version)) return undefined
  const release = { version, files }
  return writeReleaseStatement(release) === text ? release : undefined
}

export interface Provenance {
  readonly files: readonly FileDigest[]
  readonly version: JsonValue | undefined
  /** The commit that was built. */
  readonly commit: string | undefined
  /** SHA-256 of the lock file that the build used. */
  readonly lockDigest: JsonValue | undefined
}

/** Undefined when the text is no SLSA provenance. */
export function readProvenance(text: string): Provenance | undefined {
  const statement = parse(text)
  const files = readSubject(statement?.['subject'])
  const isProvenance = statement?.['_type'] === STATEMENT_TYPE && statement['predicateType'] === PROVENANCE_PREDICATE
  const build = member(statement?.['predicate'], 'buildDefinition')
  if (files === undefined || !isProvenance || build === undefined) return undefined
  const dependencies = member(build, 'resolvedDependencies')
  const digestOf = (name: string, algorithm: string): JsonValue | undefined => {
    const found = Array.isArray(dependencies) ? dependencies.find((each) => member(each, 'name') === name) : undefined
    return member(member(found, 'digest'), algorithm)
  }
  const commit = digestOf('source', 'gitCommit')
  return {
    files,
    version: member(member(build, 'externalParameters'), 'version'),
    commit: typeof commit === 'string' && /^[0-9a-f]{40}$/.test(commit) ? commit : undefined,
    lockDigest: digestOf(LOCK_FILE, 'sha256'),
  }
}

/** Signs a statement as a DSSE envelope, one line of JSON. */
export async function signStatement(statement: string, signer: Signer): Promise<string> {
  const payload = toUtf8(statement)
  const sig = toBase64(await signer.sign(dsseBytes(STATEMENT_PAYLOAD_TYPE, payload)))
  return writeEnvelope({ payload: toBase64(payload), keyid: dsseKeyId(signer.publicKey), sig })
}

interface Envelope {
  readonly payload: string
  readonly keyid: string
  readonly sig: string
}

function writeEnvelope({ payload, keyid, sig }: Envelope): string {
  return `${writeJson({ payload, payloadType: STATEMENT_PAYLOAD_TYPE, signatures: [{ keyid, sig }] })}\n`
}

/** The signed statement. Undefined unless the key signed it and the file has no other byte than the envelope. */
export async function openStatement(text: string, publicKey: string): Promise<string | undefined> {
  const value = parse(text)
  const [payload, signatures] = [value?.['payload'], value?.['signatures']]
  const first = Array.isArray(signatures) ? signatures[0] : undefined
  const [keyid, sig] = [member(first, 'keyid'), member(first, 'sig')]
  if (typeof payload !== 'string' || typeof keyid !== 'string' || typeof sig !== 'string') return undefined
  if (writeEnvelope({ payload, keyid, sig }) !== text || keyid !== dsseKeyId(publicKey)) return undefined
  const bytes = fromBase64(payload)
  if (bytes === undefined) return undefined
  const isSigned = await verifySignature(publicKey, dsseBytes(STATEMENT_PAYLOAD_TYPE, bytes), sig)
  return isSigned ? fromUtf8(bytes) : undefined
}

/** Undefined unless it is a sorted list of names with one SHA-256 each. */
function readSubject(value: JsonValue | undefined): readonly FileDigest[] | undefined {
  if (!Array.isArray(value) || value.length > MOST_FILES) return undefined
  const files: FileDigest[] = []
  for (const each of value as readonly JsonValue[]) {
    const [name, sha256] = [member(each, 'name'), member(member(each, 'digest'), 'sha256')]
    if (typeof name !== 'string' || typeof sha256 !== 'string') return undefined
    if (!FILE_NAME.test(name) || !DIGEST.test(sha256) || name === RELEASE_FILE) return undefined
    const last = files.at(-1)
    if (last !== undefined && last.name >= name) return undefined
    files.push({ name, sha256 })
  }
  return files
}

function sorted(files: readonly FileDigest[]): readonly FileDigest[] {
  return files.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function purlOf(version: string): string {
  return `pkg:generic/chancery@${version}`
}

function member(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function parse(text: string): JsonObject | undefined {
  const value = readOrUndefined(() => readJson(text))
  return isJsonObject(value) ? value : undefined
}
