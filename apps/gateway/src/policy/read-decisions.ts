import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import {
  isJsonObject,
  readJoinCertificate,
  readJson,
  readOrUndefined,
  readPrivateKeyFile,
  readSeed,
  toBase64,
} from '@chancery/protocol'
import type { JoinCertificate, JsonValue, Signer } from '@chancery/protocol'
import type { ReadNamedFile } from './files.ts'
import { type Check, Form, type Problems, pathOf, textUpTo } from './form.ts'
import type { DecisionPolicy } from './policy.ts'

const MEMBERS = ['key_file', 'certificate_file', 'subjects', 'capability_prefixes']
const MAX_SUBJECTS = 100_000
const MAX_PREFIXES = 256
const NONE: ReadonlyMap<string, string> = new Map()

interface NetworkFiles {
  readonly name: string
  readonly problems: Problems
  readonly readFile: ReadNamedFile
}

/** Reads how decisions of a network are asked for: as a relay with a certificate, or with an operator key. */
export function readDecisions(value: JsonValue, path: string, files: NetworkFiles): DecisionPolicy | undefined {
  const form = new Form(value, path, files.problems, MEMBERS)
  const key = form.required('key_file', (file) => readSigner(file, files.readFile))
  if (form.has('key_file') && key === undefined)
    form.problem('key_file', 'must name a private key file that only its owner may read')
  const certificate = form.optional('certificate_file', (file) => readCertificate(file, files.readFile))
  if (form.has('certificate_file') && certificate === undefined)
    form.problem('certificate_file', 'must name a readable join certificate that others may not write')
  const subjects = form.withDefault('subjects', textsByName(MAX_SUBJECTS), NONE)
  const capabilityPrefixes = form.withDefault('capability_prefixes', textsByName(MAX_PREFIXES), NONE)
  if (key === undefined) return undefined
  if (certificate === undefined && key.keyId === '')
    form.problem('key_file', 'must contain the key id of an operator, or name a certificate_file')
  if (certificate !== undefined && certificate.node_public_key !== key.publicKey)
    form.problem('certificate_file', 'belongs to another key')
  if (certificate !== undefined && certificate.network_name !== files.name)
    form.problem('certificate_file', 'belongs to another network')
  return { signer: key, certificate, subjects, capabilityPrefixes }
}

/** The DER form of an Ed25519 private key, before its 32 bytes. */
const KEY_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const KEY_BYTES = 32

function readSigner(file: JsonValue, readFile: ReadNamedFile): Signer | undefined {
  const text = typeof file === 'string' ? readFile(file, 'secret') : undefined
  const read = text === undefined ? undefined : readPrivateKeyFile(text)
  const seed = read === undefined ? undefined : readSeed(read.value)
  if (read === undefined || seed === undefined) return undefined
  const key = createPrivateKey({ key: Buffer.concat([KEY_PREFIX, seed]), format: 'der', type: 'pkcs8' })
  seed.fill(0)
  const exported = createPublicKey(key).export({ format: 'der', type: 'spki' })
  return {
    keyId: read.keyId ?? '',
    publicKey: toBase64(exported.subarray(-KEY_BYTES)),
    sign: async (message) => sign(null, message, key),
  }
}

function readCertificate(file: JsonValue, readFile: ReadNamedFile): JoinCertificate | undefined {
  const text = typeof file === 'string' ? readFile(file, 'record') : undefined
  if (text === undefined) return undefined
  return readOrUndefined(() => readJoinCertificate(readJson(text)))
}

function textsByName(max: number): Check<ReadonlyMap<string, string>> {
  return (value, path, problems) => {
    const entries = isJsonObject(value) ? Object.entries(value) : undefined
    if (entries === undefined || entries.length > max) {
      problems.add(path, `must be an object of at most ${max} texts`)
      return undefined
    }
    const check = textUpTo(128)
    return new Map(entries.map(([name, each]) => [name, check(each, pathOf(path, name), problems) ?? '']))
  }
}
