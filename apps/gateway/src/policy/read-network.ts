import {
  FormError,
  hours,
  isJsonObject,
  readFormerKey,
  readJoinCertificate,
  readJson,
  readOrUndefined,
  readPrivateKeyFile,
  readSeed,
  readTrustedPublicKey,
  seconds,
  toBase64,
} from '@chancery/protocol'
import type { FormerKey, JoinCertificate, JsonValue, Signer } from '@chancery/protocol'
import type { ReadNamedFile } from './tls-files.ts'
import { type Check, Form, type Problems, integerIn, pathOf, textUpTo, textsOf, truth } from './form.ts'
import type { DecisionPolicy, IssuerPolicy, NetworkPolicy } from './policy.ts'
import { ISSUER_MEMBERS, readIssuer } from './read-issuer.ts'
import { authorityAddress, checkUrl } from './urls.ts'
import { createPrivateKey, createPublicKey, sign } from 'node:crypto'

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
function readDecisions(value: JsonValue, path: string, files: NetworkFiles): DecisionPolicy | undefined {
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

const NETWORK_MEMBERS = [
  ...ISSUER_MEMBERS,
  'authority_url',
  'required_roles',
  'public_mesh',
  'additional_issuers',
  'former_keys',
  'root_public_key',
  'max_certificate_lifetime_hours',
  'certificate_skew_seconds',
  'admin_signature_version',
  'forward_traceparent',
  'name_callers',
  'tls_ca_file',
  'decisions',
] as const

const MAX_ADDITIONAL = 8
const MAX_FORMER = 64
const DEFAULT_SKEW_SECONDS = 300
const MAX_LIFETIME_HOURS = 876_000

export function readNetwork(
  name: string,
  value: JsonValue,
  problems: Problems,
  readFile: ReadNamedFile,
): NetworkPolicy | undefined {
  const path = pathOf('networks', name)
  const form = new Form(value, path, problems, NETWORK_MEMBERS)
  const extraRoot = form.optional('tls_ca_file', (file, at) => {
    const text = typeof file === 'string' ? readFile(file) : undefined
    if (text === undefined) problems.add(at, 'must name a readable PEM file')
    return text
  })
  const primary = readIssuer(form, name, extraRoot)
  const allowHttp = form.withDefault('allow_http', (each) => (typeof each === 'boolean' ? each : undefined), false)
  const rest = {
    authorityUrl: form.optional('authority_url', (each, at) =>
      checkUrl(each, at, problems, { allowHttp, origin: true }),
    ),
    requiredRoles: form.withDefault('required_roles', textsOf(textUpTo(128), 64), []),
    publicMesh: form.withDefault('public_mesh', truth, false),
    certificateSkew: seconds(form.withDefault('certificate_skew_seconds', integerIn(0, 300), DEFAULT_SKEW_SECONDS)),
    adminSignatureVersion: form.withDefault('admin_signature_version', integerIn(1, 2), 2),
    forwardTraceparent: form.withDefault('forward_traceparent', truth, false),
    nameCallers: form.withDefault('name_callers', truth, false),
  }
  const lifetime = form.optional('max_certificate_lifetime_hours', integerIn(1, MAX_LIFETIME_HOURS))
  const additional =
    form.optional('additional_issuers', (each, at) =>
      readAdditional(each, at, { name, problems, primary, extraRoot }),
    ) ?? []
  const formerKeys = form.optional('former_keys', readFormerKeys) ?? []
  const rootKey = form.optional('root_public_key', (each, at) => {
    if (typeof each === 'string' && readTrustedPublicKey(each) !== undefined) return each
    problems.add(at, 'must be a strong Ed25519 public key in base64')
    return undefined
  })
  if (rootKey !== undefined && primary !== undefined && authorityAddress(primary.listUrl) === undefined)
    form.problem('root_public_key', 'needs a crl_url that ends with /crl or /crl/keys/ID')
  const decisions = form.optional('decisions', (each, at) => readDecisions(each, at, { name, problems, readFile }))
  if (decisions !== undefined && rest.authorityUrl === undefined) form.problem('decisions', 'needs an authority_url')
  if (rest.nameCallers && !form.has('decisions')) form.problem('name_callers', 'needs decisions, whose key signs')
  if (primary === undefined) return undefined
  return {
    ...rest,
    decisions,
    name,
    primary,
    additional,
    formerKeys,
    rootKey,
    anchorTexts: anchorTextsOf(value),
    maxLifetime: lifetime === undefined ? undefined : hours(lifetime),
  }
}

interface NetworkContext {
  readonly name: string
  readonly problems: Problems
  readonly primary: IssuerPolicy | undefined
  readonly extraRoot: string | undefined
}

/** Reads additional issuers (protocol/gateway 3.5): none nested, none twice. Roles and origin belong to the network. */
function readAdditional(value: JsonValue, path: string, context: NetworkContext): readonly IssuerPolicy[] {
  const { name, problems, primary, extraRoot } = context
  if (!isJsonObject(value)) {
    problems.add(path, 'must be an object of issuers by their key id')
    return []
  }
  const entries = Object.entries(value)
  if (entries.length > MAX_ADDITIONAL) problems.add(path, `contains more than ${MAX_ADDITIONAL} issuers`)
  return entries.flatMap(([id, each]) => {
    const at = pathOf(path, id)
    const issuer = readIssuer(new Form(each, at, problems, ISSUER_MEMBERS), name, extraRoot)
    if (issuer === undefined) return []
    if (issuer.issuer !== id) problems.add(at, 'differs from the issuer of its list')
    if (id === primary?.issuer) problems.add(at, 'is the primary issuer already')
    return [issuer]
  })
}

/** Reads former keys in the form of a key history (protocol/core 4). */
function readFormerKeys(value: JsonValue, path: string, problems: Problems): readonly FormerKey[] {
  if (!Array.isArray(value) || value.length > MAX_FORMER) {
    problems.add(path, `must be an array of at most ${MAX_FORMER} keys`)
    return []
  }
  return (value as readonly JsonValue[]).flatMap((each, index) => {
    try {
      return [readFormerKey(each)]
    } catch (error) {
      if (!(error instanceof FormError)) throw error
      problems.add(pathOf(`${path}[${index}]`, error.field), error.problem)
      return []
    }
  })
}

function anchorTextsOf(value: JsonValue): Readonly<Record<string, string>> {
  const anchors = isJsonObject(value) && isJsonObject(value['anchors']) ? value['anchors'] : {}
  return Object.fromEntries(
    Object.entries(anchors).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
