import { FormError, isJsonObject, hours, readFormerKey, readTrustedPublicKey, seconds } from '@chancery/protocol'
import type { FormerKey, JsonValue } from '@chancery/protocol'
import type { ReadNamedFile } from './files.ts'
import { Form, type Problems, integerIn, pathOf, textUpTo, textsOf, truth } from './form.ts'
import type { IssuerPolicy, NetworkPolicy } from './policy.ts'
import { readDecisions } from './read-decisions.ts'
import { ISSUER_MEMBERS, readIssuer } from './read-issuer.ts'
import { authorityAddress, checkUrl } from './urls.ts'

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
