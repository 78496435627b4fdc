import { type JsonValue, PROOF_AUDIENCE, isJsonObject, isTrustDomain } from '@chancery/protocol'
import {
  type Check,
  Form,
  type Problems,
  integerIn,
  knownText,
  pathOf,
  textMatching,
  textUpTo,
  textsOf,
  truth,
} from './form.ts'
import type { CheckPolicy, CheckQuestion, CheckRoute, NetworkPolicy, PatternSegment } from './policy.ts'

/** Characters of a path that have one reading: letters, digits, and marks that no server treats as special. */
const PLAIN = /^[A-Za-z0-9._~!$&'()*+,=:@-]+$/
const PARAMETER = /^\{([a-z][a-z0-9_]{0,63})(\*?)\}$/

/**
 * Reads a path pattern: fixed segments, `{name}` for one segment, and `{name*}` for the rest of the path as the last
 * one. A trailing slash is a last empty segment. Returns undefined for everything that has two readings.
 */
export function readPattern(text: string): readonly PatternSegment[] | undefined {
  if (!text.startsWith('/')) return undefined
  const parts = text.slice(1).split('/')
  const segments: PatternSegment[] = []
  const names = new Set<string>()
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1
    const [, name, star] = PARAMETER.exec(part) ?? []
    if (name !== undefined) {
      if (names.has(name) || (star === '*' && !isLast)) return undefined
      names.add(name)
      segments.push({ kind: star === '*' ? 'rest' : 'parameter', name })
    } else if (isPlainSegment(part) || (part === '' && isLast)) segments.push({ kind: 'text', text: part })
    else return undefined
  }
  return segments
}

function isPlainSegment(text: string): boolean {
  return PLAIN.test(text) && text !== '.' && text !== '..'
}

const MEMBERS = [
  'audience',
  'networks',
  'wimse',
  'require_signed_authorization',
  'proxy_reports_body',
  'proxy_cert_sha256',
  'requests_per_minute',
  'decisions_per_minute',
  'routes',
]
const ROUTE_MEMBERS = ['method', 'path', 'network', 'capability', 'resource', 'body', 'bind_body']
const MAX_PER_MINUTE = 1_000_000
const DEFAULT_PER_MINUTE = 600
const MAX_ROUTES = 10_000

type Networks = ReadonlyMap<string, NetworkPolicy>

const digest = textMatching(/^[0-9a-f]{64}$/, 'must be 64 lowercase hex digits')
const method = textMatching(/^(?:\*|[A-Z][A-Z-]{0,31})$/, 'must be a method in capital letters, or *')
const audience = textMatching(PROOF_AUDIENCE, 'must be 1 to 256 characters of visible ASCII')

/** Reads what the HTTP check accepts: from whom, and which routes need which capability. */
export function readCheck(
  value: JsonValue,
  path: string,
  problems: Problems,
  networks: Networks,
): CheckPolicy | undefined {
  const form = new Form(value, path, problems, MEMBERS)
  const known = knownText(new Set(networks.keys()), 'is not a configured network')
  const name = form.required('audience', audience)
  const accepted = form.withDefault('networks', textsOf(known, 256), [...networks.keys()])
  const perMinute = integerIn(1, MAX_PER_MINUTE)
  const rest = {
    wimse: form.withDefault('wimse', trustDomains(known), new Map<string, string>()),
    requireSignedAuthorization: form.withDefault('require_signed_authorization', truth, false),
    proxyReportsBody: form.withDefault('proxy_reports_body', truth, false),
    proxyCertificates: form.withDefault('proxy_cert_sha256', textsOf(digest, 64), []),
    requestsPerMinute: form.withDefault('requests_per_minute', perMinute, DEFAULT_PER_MINUTE),
    decisionsPerMinute: form.withDefault('decisions_per_minute', perMinute, DEFAULT_PER_MINUTE),
  }
  const deciding = [...networks.values()].filter(({ decisions }) => decisions !== undefined).map((each) => each.name)
  const routes = form.required('routes', (each, at) => readRoutes(each, at, problems, deciding))
  if (name === undefined || routes === undefined) return undefined
  return { ...rest, audience: name, networks: accepted, routes }
}

/** Reads trust domains by network. */
function trustDomains(known: Check<string>): Check<ReadonlyMap<string, string>> {
  return (value, path, problems) => {
    if (!isJsonObject(value)) {
      problems.add(path, 'must be an object of trust domains by network')
      return undefined
    }
    const domains = new Map<string, string>()
    for (const [network, domain] of Object.entries(value)) {
      const at = pathOf(path, network)
      if (known(network, at, problems) === undefined) continue
      if (typeof domain === 'string' && isTrustDomain(domain)) domains.set(network, domain)
      else problems.add(at, 'must be a host name in lower case')
    }
    return domains
  }
}

function readRoutes(
  value: JsonValue,
  path: string,
  problems: Problems,
  deciding: readonly string[],
): readonly CheckRoute[] | undefined {
  if (!Array.isArray(value) || value.length > MAX_ROUTES) {
    problems.add(path, `must be an array of at most ${MAX_ROUTES} routes`)
    return undefined
  }
  const seen = new Set<string>()
  return (value as readonly JsonValue[]).flatMap((each, index) => {
    const at = `${path}[${index}]`
    const route = readRoute(each, at, problems, deciding)
    if (route === undefined) return []
    // Spellings that a service may treat as equal must not be two routes.
    const name = `${route.method} ${route.segments.map(nameless).join('/').toLowerCase()}`
    if (seen.has(name)) problems.add(at, 'is the same as an earlier route')
    seen.add(name)
    return [route]
  })
}

function nameless(segment: PatternSegment): string {
  return segment.kind === 'text' ? segment.text : `{${segment.kind}}`
}

function readRoute(
  value: JsonValue,
  path: string,
  problems: Problems,
  deciding: readonly string[],
): CheckRoute | undefined {
  const form = new Form(value, path, problems, ROUTE_MEMBERS)
  const verb = form.required('method', method)
  const written = form.required('path', textUpTo(1024))
  const segments = written === undefined ? undefined : readPattern(written)
  if (written !== undefined && segments === undefined)
    form.problem('path', 'must be a path such as /printers/{printer}/jobs, with {rest*} as its last segment only')
  const body = form.withDefault('body', textMatching(/^upstream$/, 'must be upstream'), 'here')
  const asks = readQuestion(form, segments ?? [], deciding)
  const bindsBody = form.withDefault('bind_body', truth, false)
  if (bindsBody && asks === undefined) form.problem('bind_body', 'needs a capability')
  if (verb === undefined || written === undefined || segments === undefined) return undefined
  return { method: verb, path: written, segments, asks, body: body === 'upstream' ? 'upstream' : 'here', bindsBody }
}

function readQuestion(
  form: Form,
  segments: readonly PatternSegment[],
  deciding: readonly string[],
): CheckQuestion | undefined {
  const capability = form.optional('capability', textUpTo(256))
  const named = form.optional('network', textUpTo(256))
  const resource = form.optional('resource', (each, at, problems) => readResource(each, at, problems, segments))
  if (capability === undefined) {
    for (const name of ['network', 'resource']) if (form.has(name)) form.problem(name, 'needs a capability')
    return undefined
  }
  const network = named ?? (deciding.length === 1 ? deciding[0] : undefined)
  if (network !== undefined && deciding.includes(network)) return { network, capability, resource }
  form.problem(named === undefined ? 'capability' : 'network', 'needs one network with decisions')
  return undefined
}

function readResource(
  value: JsonValue,
  path: string,
  problems: Problems,
  segments: readonly PatternSegment[],
): CheckQuestion['resource'] {
  const form = new Form(value, path, problems, ['type', 'id'])
  const type = form.required('type', textUpTo(128))
  const id = form.required('id', textUpTo(256))
  if (type === undefined || id === undefined) return undefined
  const names = new Set(segments.flatMap((each) => (each.kind === 'text' ? [] : [each.name])))
  const used = [...id.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name)
  if (used.some((name) => !names.has(name))) form.problem('id', 'names a parameter that the path does not have')
  if (/[{}]/.test(id.replaceAll(/\{[^{}]*\}/g, ''))) form.problem('id', 'has a brace without its pair')
  return { type, id }
}
