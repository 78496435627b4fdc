import { JsonError, type JsonValue, isJsonObject, readJsonBytes, toUtf8 } from '@chancery/protocol'
import type { ReadNamedFile } from './tls-files.ts'
import { Form, type Problems, textUpTo } from './form.ts'
import { type ClientPolicy, MAX_QUESTIONS, type NetworkPolicy, type Policy } from './policy.ts'
import { readCheck } from './read-check.ts'
import { type KnownNames, readClient } from './read-client.ts'
import { readNetwork } from './read-network.ts'
import { readOauth } from './read-oauth.ts'
import { checkUrl, isLoopbackUrl } from './urls.ts'

const MAX_NETWORKS = 256
const MAX_CLIENTS = 4096
const MAX_NAME_BYTES = 256

/** Limited by the size of the file alone. It may have lists of a hundred thousand revocations. */
const ANY_COUNT = { maxDepth: 64, maxValues: Number.MAX_SAFE_INTEGER, maxNames: Number.MAX_SAFE_INTEGER }

export interface ReadPolicy {
  readonly policy: Policy | undefined
  readonly warnings: readonly string[]
}

/**
 * Reads the policy file and collects its problems (protocol/gateway 3.3). Checks the form only: signatures are verified
 * later.
 */
export function readPolicy(bytes: Uint8Array, problems: Problems, readFile: ReadNamedFile): ReadPolicy {
  const value = parse(bytes, problems)
  if (value === undefined) return { policy: undefined, warnings: [] }
  const form = new Form(value, '', problems, [
    'revision',
    'networks',
    'home_network',
    'clients',
    'decision_point_url',
    'check',
    'oauth',
  ])
  const revision = form.required('revision', textUpTo(128))
  const networks = form.required('networks', (each) => readNetworks(each, problems, readFile))
  const pointUrl = form.optional('decision_point_url', (each, at) =>
    checkUrl(each, at, problems, { allowHttp: isLoopbackUrl(each), origin: true }),
  )
  const names = new Set(networkNames(value))
  const home = form.optional('home_network', (each, at) => {
    if (typeof each === 'string' && names.has(each)) return each
    problems.add(at, 'must be the name of a network of this policy')
    return undefined
  })
  const resources = new Set(resourceNames(value))
  const clients = form.required('clients', (each) => readClients(each, problems, { networks: names, resources }))
  const check = form.optional('check', (each, at) => readCheck(each, at, problems, networks ?? new Map()))
  const files = { problems, networks: networks ?? new Map<string, NetworkPolicy>(), readFile }
  const oauth = form.optional('oauth', (each, at) => readOauth(each, at, files))
  if (problems.list.length > 0 || revision === undefined || networks === undefined || clients === undefined) {
    return { policy: undefined, warnings: [] }
  }
  const homeNetwork = home ?? [...names][0] ?? ''
  const rest = { decisionPointUrl: pointUrl?.origin, check, oauth }
  const policy = { revision, networks, homeNetwork, clients, ...rest }
  return { policy, warnings: clients.flatMap(warningsOf) }
}

/** Parses a configuration file with the strict reader. */
export function parse(bytes: Uint8Array, problems: Problems): JsonValue | undefined {
  try {
    return readJsonBytes(bytes, ANY_COUNT)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    problems.add('', `is not valid JSON: ${error.message}`)
    return undefined
  }
}

function networkNames(value: JsonValue): readonly string[] {
  const networks = isJsonObject(value) ? value['networks'] : undefined
  return isJsonObject(networks) ? Object.keys(networks) : []
}

function resourceNames(value: JsonValue): readonly string[] {
  const oauth = isJsonObject(value) ? value['oauth'] : undefined
  const resources = isJsonObject(oauth) ? oauth['resources'] : undefined
  return isJsonObject(resources) ? Object.keys(resources) : []
}

function readNetworks(
  value: JsonValue,
  problems: Problems,
  readFile: ReadNamedFile,
): ReadonlyMap<string, NetworkPolicy> | undefined {
  const entries = isJsonObject(value) ? Object.entries(value) : []
  if (entries.length === 0 || entries.length > MAX_NETWORKS) {
    problems.add('networks', `must be an object of 1 to ${MAX_NETWORKS} networks by name`)
    return undefined
  }
  const networks = new Map<string, NetworkPolicy>()
  for (const [name, each] of entries) {
    if (name === '' || toUtf8(name).length > MAX_NAME_BYTES) problems.add('networks', 'a name has 1 to 256 bytes')
    const network = readNetwork(name, each, problems, readFile)
    if (network !== undefined) networks.set(name, network)
  }
  return networks
}

function readClients(value: JsonValue, problems: Problems, names: KnownNames): readonly ClientPolicy[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_CLIENTS) {
    problems.add('clients', `must be an array of 1 to ${MAX_CLIENTS} clients`)
    return undefined
  }
  const ids = new Set<string>()
  const digests = new Set<string>()
  return (value as readonly JsonValue[]).flatMap((each, index) => {
    const path = `clients[${index}]`
    const client = readClient(each, path, problems, names)
    if (client === undefined) return []
    if (ids.has(client.id)) problems.add(`${path}.id`, 'is the id of another client')
    ids.add(client.id)
    checkDigests(each, path, digests, problems)
    return [client]
  })
}

/** Refuses a digest that is used twice: the two credentials could not be distinguished. */
function checkDigests(value: JsonValue, path: string, seen: Set<string>, problems: Problems): void {
  for (const name of ['token_sha256', 'next_token_sha256']) {
    const digest = isJsonObject(value) ? value[name] : undefined
    if (typeof digest !== 'string') continue
    if (seen.has(digest)) problems.add(`${path}.${name}`, 'is the digest of another credential')
    seen.add(digest)
  }
}

function warningsOf(client: ClientPolicy): string[] {
  return [
    ...(client.authorityAdmin && client.serviceGroups.length === 0 ? ['has authority_admin without groups'] : []),
    ...(client.requestsPerMinute > 10_000 ? ['has a quota above 10000'] : []),
    ...(client.decisions && client.decisionsPerMinute < MAX_QUESTIONS
      ? [`may ask ${client.decisionsPerMinute} of ${MAX_QUESTIONS} questions in a batch (decisions_per_minute)`]
      : []),
    ...(client.expiresAt === undefined ? ['never expires'] : []),
  ].map((remark) => `client ${client.id} ${remark}`)
}
