import { type JsonValue, isJsonObject, member } from '../canonical/utf8.ts'
import { ADMISSION_ALGORITHMS, checkRuleTerms } from '../admission/check-rule.ts'
import type { AdmissionAlgorithm, AdmissionTerms, RequiredClaims } from '../admission/check-rule.ts'
import { FormError, type Read, described } from '../reading/schema.ts'
import { arrayOf, closed, integer, nullable, oneOf, readRecord, required, withDefault } from '../reading/shape.ts'
import { grantedRole } from '../reading/roles.ts'
import { freeForm, identifier, keyId, matching, plainText, signatures, timestamp } from '../reading/text.ts'
import type { Signature } from '../signing/keys.ts'

/** Which platform identities may join, signed by the authority (protocol/admission 2). */
export type AdmissionRule = AdmissionTerms & {
  readonly network_name: string
  readonly created_by: string
  readonly issued_at: string
  readonly issued_by: string
  readonly signatures: readonly Signature[]
}

/** A rule that admits machines has short certificates: a renewal needs fresh evidence. */
const MAX_ADMISSION_HOURS = 24
const DEFAULT_HOURS = 2
const MAX_CLAIMS = 16
const MAX_KEYS_BYTES = 65_536
/** 30 days: which certificates came from evidence is stored a little longer. */
export const MAX_GRACE_HOURS = 720

const claimText = plainText(1024)
const claimTexts = arrayOf(claimText, { min: 1, max: MAX_CLAIMS, distinct: true })

const requiredClaims: Read<RequiredClaims> = described(
  (value, field) => {
    if (!isJsonObject(value)) throw new FormError(field, 'an object is needed')
    const entries = Object.entries(value)
    if (entries.length === 0 || entries.length > MAX_CLAIMS) throw new FormError(field, `1 to ${MAX_CLAIMS} claims`)
    return Object.fromEntries(
      entries.map(([name, texts]) => [plainText(256)(name, field), claimTexts(texts, `${field}.${name}`)]),
    )
  },
  (of) => ({ type: 'object', minProperties: 1, maxProperties: MAX_CLAIMS, additionalProperties: of(claimTexts) }),
)

const noClaims: Read<RequiredClaims> = described(
  (value, field) => {
    if (!isJsonObject(value) || Object.keys(value).length > 0) throw new FormError(field, 'must be empty')
    return {}
  },
  () => ({ type: 'object', maxProperties: 0 }),
)

const role: Read<string> = described(grantedRoleText, () => ({
  type: 'string',
  pattern: '^role:[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$',
}))

function grantedRoleText(value: JsonValue, field: string): string {
  return grantedRole(value, field)
}

export const admissionRuleId: Read<string> = /* @__PURE__ */ matching(
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
  '1 to 64 characters of A-Z a-z 0-9 . _ -, and a letter or digit first',
)
/** The host has no userinfo: the address is in lists, log lines and audit events. */
const address = /* @__PURE__ */ matching(
  /^(?=.{9,512}$)https:\/\/[A-Za-z0-9._:[\]-]+(?:[/?#][!-~]*)?$/,
  'an https address of at most 512 characters, without user name and password',
)

const terms = {
  rule_id: required(admissionRuleId),
  kind: required(oneOf('oidc', 'spiffe_jwt', 'spiffe_x509')),
  platform: withDefault(nullable(oneOf('github', 'gitlab', 'kubernetes')), null),
  issuer: withDefault(nullable(address), null),
  trust_domain: withDefault(nullable(matching(/^[a-z0-9._-]{1,255}$/, 'a SPIFFE trust domain')), null),
  jwks_url: withDefault(nullable(address), null),
  bundle_url: withDefault(nullable(address), null),
  keys: withDefault(nullable(freeForm(MAX_KEYS_BYTES)), null),
  audience: withDefault<'bound' | 'plain'>(oneOf('bound', 'plain'), 'bound'),
  algorithms: withDefault<readonly AdmissionAlgorithm[]>(
    arrayOf(oneOf(...ADMISSION_ALGORITHMS), { min: 1, max: ADMISSION_ALGORITHMS.length, distinct: true }),
    ['RS256', 'ES256'],
  ),
  required_claims: required(requiredClaims),
  roles: withDefault(arrayOf(role, { min: 1, max: 16, distinct: true }), ['role:client']),
  max_validity_hours: withDefault(integer(1, MAX_ADMISSION_HOURS), DEFAULT_HOURS),
  valid_from: withDefault(nullable(timestamp), null),
  expires_at: withDefault(nullable(timestamp), null),
  max_joins: withDefault(nullable(integer(1, 1_000_000)), null),
}

/** A separate form: a new member in the other kinds would change the signed bytes of stored rules. */
const expiredTerms = {
  ...terms,
  kind: required(oneOf('expired_certificate')),
  required_claims: withDefault(noClaims, {}),
  grace_hours: required(integer(1, MAX_GRACE_HOURS)),
}

const origin = {
  network_name: required(identifier),
  created_by: required(keyId),
  issued_at: required(timestamp),
  issued_by: required(identifier),
  signatures: withDefault(signatures, []),
}

const termsShape: Read<AdmissionTerms> = byKind(closed(terms), closed(expiredTerms))

export const admissionRuleShape: Read<AdmissionRule> = byKind(
  closed({ ...terms, ...origin }),
  closed({ ...expiredTerms, ...origin }),
)

function byKind<Evidence, Expired>(ofEvidence: Read<Evidence>, ofExpired: Read<Expired>): Read<Evidence | Expired> {
  return described(
    (value, field) => {
      const isExpired = isJsonObject(value) && member(value, 'kind') === 'expired_certificate'
      return isExpired ? ofExpired(value, field) : ofEvidence(value, field)
    },
    (of) => ({ oneOf: [of(ofEvidence), of(ofExpired)] }),
  )
}

/** The members an operator submits, with their defaults. */
export const readAdmissionTerms: Read<AdmissionTerms> = /* @__PURE__ */ described(
  (value, field) => {
    const read = termsShape(value, field)
    checkRuleTerms(read)
    return read
  },
  (of) => of(termsShape),
)

/** The names of these members, of all kinds. */
export const ADMISSION_TERMS: readonly string[] = /* @__PURE__ */ Object.keys(expiredTerms)

export function readAdmissionRule(value: JsonValue): AdmissionRule {
  const rule = readRecord(admissionRuleShape, value)
  checkRuleTerms(rule)
  return rule
}

export function draftAdmissionRule(
  chosen: AdmissionTerms,
  facts: Pick<AdmissionRule, 'network_name' | 'created_by' | 'issued_at' | 'issued_by'>,
): AdmissionRule {
  return { ...chosen, ...facts, signatures: [] }
}
