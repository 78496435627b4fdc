import { FormError, isJsonObject, readRevocationList, readTrustedPublicKey, seconds } from '@chancery/protocol'
import type { Freshness, JsonValue, RevocationList } from '@chancery/protocol'
import { Form, type Problems, integerIn, pathOf, truth } from './form.ts'
import type { IssuerPolicy } from './policy.ts'
import { checkUrl } from './urls.ts'

/** Members that a primary issuer (inside its network) and an additional one share. */
export const ISSUER_MEMBERS = [
  'anchors',
  'crl',
  'minimum_crl_sequence',
  'crl_url',
  'allow_http',
  'freshness',
  'refresh_seconds',
] as const

const MAX_ANCHORS = 32
const DEFAULT_AGE_SECONDS = 604_800
const DEFAULT_SKEW_SECONDS = 30
const DEFAULT_REFRESH_SECONDS = 60

/** Reads an issuer. Returns undefined when a required member is missing, and adds its problem. */
export function readIssuer(form: Form, network: string, extraRoot: string | undefined): IssuerPolicy | undefined {
  const anchors = form.required('anchors', checkAnchors)
  const bootstrap = form.required('crl', checkList)
  const floor = form.required('minimum_crl_sequence', integerIn(0, Number.MAX_SAFE_INTEGER))
  const allowHttp = form.withDefault('allow_http', truth, false)
  const listUrl = form.optional('crl_url', (value, path, problems) =>
    checkUrl(value, path, problems, { allowHttp, origin: false }),
  )
  const freshness = form.optional('freshness', checkFreshness) ?? toFreshness(DEFAULT_AGE_SECONDS, DEFAULT_SKEW_SECONDS)
  const refreshSeconds = form.withDefault('refresh_seconds', integerIn(10, 3600), DEFAULT_REFRESH_SECONDS)
  if (anchors === undefined || bootstrap === undefined || floor === undefined) return undefined
  const { issuer } = bootstrap
  if (!anchors.has(issuer)) {
    form.problem('crl', 'its issuer is not an anchor')
    return undefined
  }
  return {
    network,
    issuer,
    path: form.path,
    anchors,
    bootstrap,
    floor,
    listUrl,
    allowHttp,
    freshness,
    refreshSeconds,
    extraRoot,
  }
}

function checkAnchors(value: JsonValue, path: string, problems: Problems): ReadonlyMap<string, Uint8Array> | undefined {
  const entries = isJsonObject(value) ? Object.entries(value) : []
  if (entries.length === 0 || entries.length > MAX_ANCHORS) {
    problems.add(path, `must be an object of 1 to ${MAX_ANCHORS} keys by key id`)
    return undefined
  }
  const anchors = new Map<string, Uint8Array>()
  for (const [id, text] of entries) {
    const key = typeof text === 'string' ? readTrustedPublicKey(text) : undefined
    if (id === '') problems.add(path, 'contains an empty key id')
    else if (key === undefined) problems.add(pathOf(path, id), 'must be a strong Ed25519 public key in base64')
    else anchors.set(id, key)
  }
  return anchors
}

function checkList(value: JsonValue, path: string, problems: Problems): RevocationList | undefined {
  try {
    return readRevocationList(value)
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    problems.add(error.field === '' ? path : `${path}.${error.field}`, error.problem)
    return undefined
  }
}

function checkFreshness(value: JsonValue, path: string, problems: Problems): Freshness {
  const form = new Form(value, path, problems, ['max_age_seconds', 'clock_skew_seconds'])
  return toFreshness(
    form.withDefault('max_age_seconds', integerIn(60, 31_536_000), DEFAULT_AGE_SECONDS),
    form.withDefault('clock_skew_seconds', integerIn(0, 300), DEFAULT_SKEW_SECONDS),
  )
}

function toFreshness(maxAgeSeconds: number, clockSkewSeconds: number): Freshness {
  return { maxAge: seconds(maxAgeSeconds), clockSkew: seconds(clockSkewSeconds) }
}
