import { createHash } from 'node:crypto'
import { ALL_ROUTES } from '@chancery/contract'
import type { JsonValue } from '@chancery/protocol'
import { Form, type Problems, instant, integerIn, knownText, textMatching, textUpTo, textsOf, truth } from './form.ts'
import type { ClientPolicy } from './policy.ts'

const CLIENT_MEMBERS = [
  'id',
  'token_sha256',
  'next_token_sha256',
  'networks',
  'requests_per_minute',
  'certificates_per_minute',
  'decisions',
  'decisions_per_minute',
  'proof_audiences',
  'metrics',
  'service_groups',
  'authority_admin',
  'operations',
  'introspection',
  'not_before',
  'expires_at',
  'client_cert_sha256',
  'demo',
  'demo_token',
] as const

const MAX_PER_MINUTE = 1_000_000
const DEFAULT_DECISIONS_PER_MINUTE = 600
const MAX_AUDIENCES = 64
const MAX_AUDIENCE = 2048
const MAX_DEMO_PER_MINUTE = 120
/** Groups that a demonstration credential, which is public, may use (protocol/gateway 13.4). */
const DEMO_GROUPS: ReadonlySet<string> = new Set([
  'agreement',
  'attestations',
  'boundary',
  'boundary_policy',
  'consensus',
  'data_usage',
  'disclosure',
  'evidence',
  'network',
  'treaties',
])

const digest = textMatching(/^[0-9a-f]{64}$/, 'must be 64 lowercase hex digits')
const OPERATIONS = new Map(
  ALL_ROUTES.flatMap((route) => (route.gateway === undefined ? [] : [[route.gateway.operation, route.gateway.group]])),
)
const GROUPS = new Set(OPERATIONS.values())

const group = knownText(GROUPS, 'is not a known group')
const operation = knownText(new Set(OPERATIONS.keys()), 'is not a known operation')

/** Names that the policy configures. */
export interface KnownNames {
  readonly networks: ReadonlySet<string>
  readonly resources: ReadonlySet<string>
}

/** Reads one client of the policy (protocol/gateway 3.6). */
export function readClient(
  value: JsonValue,
  path: string,
  problems: Problems,
  { networks, resources }: KnownNames,
): ClientPolicy | undefined {
  const form = new Form(value, path, problems, CLIENT_MEMBERS)
  const id = form.required('id', textMatching(/^[A-Za-z0-9._:-]{1,128}$/, 'must be 1 to 128 of A-Z a-z 0-9 . _ : -'))
  const own = form.optional('token_sha256', digest)
  const next = form.optional('next_token_sha256', digest)
  const metrics = form.withDefault('metrics', truth, false)
  const scope = form.required('networks', textsOf(knownText(networks, 'is not a configured network'), 256))
  if (scope?.length === 0 && !metrics) form.problem('networks', 'may be empty only for a metrics client')
  const requestsPerMinute = form.required('requests_per_minute', integerIn(1, MAX_PER_MINUTE))
  const client = {
    tokenDigests: [own, next].filter((each) => each !== undefined),
    metrics,
    certificatesPerMinute: form.optional('certificates_per_minute', integerIn(1, MAX_PER_MINUTE)),
    decisions: form.withDefault('decisions', truth, false),
    decisionsPerMinute: form.withDefault(
      'decisions_per_minute',
      integerIn(1, MAX_PER_MINUTE),
      DEFAULT_DECISIONS_PER_MINUTE,
    ),
    proofAudiences: form.withDefault('proof_audiences', textsOf(textUpTo(MAX_AUDIENCE), MAX_AUDIENCES), []),
    serviceGroups: form.withDefault('service_groups', textsOf(group, GROUPS.size), []),
    authorityAdmin: form.withDefault('authority_admin', truth, false),
    operations: form.optional('operations', textsOf(operation, OPERATIONS.size)),
    introspection: form.withDefault(
      'introspection',
      textsOf(knownText(resources, 'is not a resource of oauth'), resources.size),
      [],
    ),
    notBefore: form.optional('not_before', instant),
    expiresAt: form.optional('expires_at', instant),
    clientCertificates: form.optional('client_cert_sha256', textsOf(digest, 64)),
  }
  if (id === undefined || scope === undefined || requestsPerMinute === undefined) return undefined
  const isDemo = form.withDefault('demo', truth, false)
  const read = { ...client, id, networks: scope, requestsPerMinute, isDemo }
  checkDemo(form, read)
  return read
}

function checkDemo(form: Form, client: ClientPolicy): void {
  const token = form.optional('demo_token', textUpTo(1024))
  if (!client.isDemo) {
    if (token !== undefined) form.problem('demo_token', 'is allowed with demo: true only')
    return
  }
  if (client.authorityAdmin) form.problem('authority_admin', 'a demonstration client may not have it')
  if (client.decisions) form.problem('decisions', 'a demonstration client may not have it')
  if (client.metrics) form.problem('metrics', 'a demonstration client may not have it')
  if (client.requestsPerMinute > MAX_DEMO_PER_MINUTE) {
    form.problem('requests_per_minute', `a demonstration client has at most ${MAX_DEMO_PER_MINUTE}`)
  }
  const isOwn = token !== undefined && token.length >= 32 && client.tokenDigests.includes(sha256(token))
  if (!isOwn) form.problem('demo_token', 'must be the token of this client, of at least 32 characters')
  if (client.serviceGroups.some((each) => !DEMO_GROUPS.has(each))) {
    form.problem('service_groups', 'a demonstration client may not have one of these groups')
  }
}

function sha256(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
