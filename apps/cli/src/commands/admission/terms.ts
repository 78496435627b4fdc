import { GITHUB_ISSUER, KUBERNETES_CLAIMS, asJson, joinAudience } from '@chancery/protocol'
import type { AdmissionAlgorithm, AdmissionPlatform, JsonObject } from '@chancery/protocol'
import type { AdmissionRequest } from '@chancery/sdk/authority'
import { wholeNumber } from '../../arguments/numbers.ts'
import { timeSpan, timeSpanOrDefault } from '../../arguments/time-span.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { usageError } from '../../errors/failure.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import { type Result, fields } from '../../output/screen.ts'

type Claims = Readonly<Record<string, readonly string[]>>

/** What a preset fixes. */
interface Preset {
  readonly kind: AdmissionRequest['kind']
  readonly platform: AdmissionPlatform | null
  readonly issuer: string | null
  readonly trust_domain: string | null
  readonly keysUrl: string | undefined
  readonly claims: Claims
}

/** The rule that the options of `invite rule add` describe. */
function readTerms(rule_id: string, options: Options, keys: JsonObject | undefined): AdmissionRequest {
  if (options.isSet('expired-certificates')) return expiredTerms(rule_id, options)
  if (options.isSet('grace')) throw usageError('--grace is for --expired-certificates.')
  const preset = choosePreset(options)
  const keysUrl = keys === undefined ? (options.text('keys-url') ?? preset.keysUrl) : undefined
  if (keys === undefined && keysUrl === undefined)
    throw usageError('--keys-url or --keys-file must be given.', 'Keys come from the rule, never from a token.')
  const { kind, platform, issuer, trust_domain } = preset
  const algorithms = options.list('algorithm') as readonly AdmissionAlgorithm[]
  return {
    rule_id,
    kind,
    platform,
    issuer,
    trust_domain,
    ...(kind === 'oidc' ? { jwks_url: keysUrl ?? null } : { bundle_url: keysUrl ?? null }),
    keys: keys ?? null,
    audience: options.isSet('plain-audience') ? 'plain' : 'bound',
    required_claims: { ...preset.claims, ...readClaims(options.list('claim')) },
    ...(algorithms.length === 0 ? {} : { algorithms }),
    ...boundsOf(options),
  }
}

/** What a rule of each kind grants, and when. */
function boundsOf(options: Options): Partial<AdmissionRequest> {
  const roles = options.list('role')
  const max_joins = wholeNumber(options, 'max-joins', 1, 1_000_000)
  return {
    ...(roles.length === 0 ? {} : { roles }),
    max_validity_hours: timeSpanOrDefault(options, 'valid-for', { unit: 'h', min: 1, max: 24 }),
    ...(max_joins === undefined ? {} : { max_joins }),
    valid_from: options.text('valid-from') ?? null,
    expires_at: options.text('expires') ?? null,
  }
}

/** The certificate names the node, so no option of a platform has a meaning. */
function expiredTerms(rule_id: string, options: Options): AdmissionRequest {
  const others = [...SOURCES, 'claim', 'keys-url', 'keys-file', 'plain-audience', 'algorithm', 'spiffe-id'] as const
  const given = others.find((name) => options.isSet(name) || options.list(name).length > 0)
  if (given !== undefined) throw usageError(`--${given} cannot be combined with --expired-certificates.`)
  const grace_hours = timeSpan(options, 'grace', { unit: 'h', min: 1, max: 720 })
  if (grace_hours === undefined) throw usageError('--grace must be given with --expired-certificates.')
  return { rule_id, kind: 'expired_certificate', grace_hours, required_claims: {}, ...boundsOf(options) }
}

const SOURCES = ['github', 'gitlab', 'kubernetes', 'issuer', 'trust-domain'] as const

function choosePreset(options: Options): Preset {
  const given = SOURCES.filter((name) => options.isSet(name))
  const [name] = given
  if (name === undefined || given.length > 1)
    throw usageError(`Give one of ${SOURCES.map((source) => `--${source}`).join(', ')} or --expired-certificates.`)
  return PRESETS[name](options, options.text(name) ?? '')
}

const PRESETS: Readonly<Record<(typeof SOURCES)[number], (options: Options, value: string) => Preset>> = {
  github: (options, repository) => {
    if (options.text('repository-id') === undefined)
      throw usageError(
        '--repository-id must be given: names of repositories can be taken over, their numbers cannot.',
        `The number: gh api repos/${repository} --jq .id`,
      )
    return {
      ...oidc('github', GITHUB_ISSUER, `${GITHUB_ISSUER}/.well-known/jwks`),
      claims: claimsOf(options, {
        'repository-id': 'repository_id',
        'owner-id': 'repository_owner_id',
        environment: 'environment',
        ref: 'ref',
      }),
    }
  },
  gitlab: (options, url) => {
    const issuer = url.replace(/\/$/, '')
    const claims = claimsOf(options, { 'project-id': 'project_id', environment: 'environment', ref: 'ref' })
    const isProtected = options.isSet('protected') ? { ref_protected: ['true'] } : {}
    return { ...oidc('gitlab', issuer, `${issuer}/oauth/discovery/keys`), claims: { ...claims, ...isProtected } }
  },
  kubernetes: (options, issuer) => ({
    ...oidc('kubernetes', issuer, `${issuer.replace(/\/$/, '')}/openid/v1/jwks`),
    claims: claimsOf(options, {
      namespace: KUBERNETES_CLAIMS.namespace,
      'service-account': KUBERNETES_CLAIMS.account,
      'service-account-uid': KUBERNETES_CLAIMS.accountUid,
    }),
  }),
  issuer: (_options, issuer) => ({ ...oidc(null, issuer, undefined), claims: {} }),
  'trust-domain': (options, trust_domain) => ({
    kind: options.textOrDefault('svid') === 'x509' ? 'spiffe_x509' : 'spiffe_jwt',
    platform: null,
    issuer: null,
    trust_domain,
    keysUrl: undefined,
    claims: options.list('spiffe-id').length === 0 ? {} : { sub: options.list('spiffe-id') },
  }),
}

function oidc(platform: AdmissionPlatform | null, issuer: string, keysUrl: string | undefined): Omit<Preset, 'claims'> {
  return { kind: 'oidc', platform, issuer, trust_domain: null, keysUrl }
}

/** The claims of the options that were given. */
function claimsOf(options: Options, names: Readonly<Record<string, string>>): Claims {
  return Object.fromEntries(
    Object.entries(names).flatMap(([option, claim]) => {
      const value = options.text(option)
      return value === undefined ? [] : [[claim, [value]]]
    }),
  )
}

/** A claim that is given twice may have either value. */
function readClaims(texts: readonly string[]): Claims {
  const claims = new Map<string, string[]>()
  for (const text of texts) {
    const at = text.indexOf('=')
    if (at < 1) throw usageError('--claim has the form name=value.')
    const [name, value] = [text.slice(0, at), text.slice(at + 1)]
    claims.set(name, [...(claims.get(name) ?? []), value])
  }
  return Object.fromEntries(claims)
}

/** Runs `invite rule add`. */
export async function runAdmissionAdd(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const file = options.text('keys-file')
  const keys = file === undefined ? undefined : await loadJsonObject(context.cwd, file)
  const request = readTerms(args.required('rule_id'), options, keys)
  const connection = await connectAsOperator(context, options)
  const { rule, admits, warnings } = await connection.ask((client) => client.admission.add(request))
  const audience = connection.authorityKey === undefined ? undefined : joinAudience(connection.authorityKey)
  const shown = rule.audience === 'plain' ? audience : audience && `${audience}:<node>, which join asks for by itself`
  const rows = fields(
    [['rule', rule.rule_id], ['admits', admits], ...(shown === undefined ? [] : [['audience', shown] as const])],
    context.style,
  )
  const notes = warnings.map((warning) => `\n  Note: ${warning}.`).join('')
  const data = asJson({ rule, admits, warnings, ...(audience === undefined ? {} : { audience }) })
  return { data, ids: [rule.rule_id], text: `${context.style.good('Added')} and signed.\n${rows}${notes}` }
}
