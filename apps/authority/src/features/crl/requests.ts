import { Refusal, crl } from '@chancery/contract'
import {
  FormError,
  REVOCATION_REASONS,
  isPlainText,
  readJoinCertificate,
  readPublicKey,
  shape,
} from '@chancery/protocol'
import type { JoinCertificate, JsonObject, JsonValue, RevocationReason } from '@chancery/protocol'
import { readDryRun, readMember, refuseUnknownMembers, shorten } from '../../requests/read-fields.ts'

export interface RevokeRequest {
  readonly cert_ids: readonly string[]
  readonly form: 'cert_id' | 'cert_ids'
  /** Certificates given by their own text. Their signature is not checked yet. */
  readonly certificates: readonly JoinCertificate[]
  /** The key of the one certificate, in case the database lacks it. */
  readonly node_public_key: string | undefined
  readonly reason: RevocationReason
  /** Keeps the other unexpired certificates of the same keys, which end with it otherwise, for the same reason. */
  readonly onlyThis: boolean
  /** The response has `other_certificates`, also when there are none. */
  readonly countsOthers: boolean
  readonly isDryRun: boolean
}

const MAX_IDS = 1000
/** Each costs a signature check. */
const MAX_TEXTS = 100

/** One certificate, or up to a thousand in one version of the list (protocol/core 9.3). */
export function readRevokeRequest(body: JsonObject): RevokeRequest {
  refuseUnknownMembers(body, crl.revoke.body.names)
  const certificates = readCertificates(body)
  const form = body['cert_ids'] === undefined && certificates.length === 0 ? 'cert_id' : 'cert_ids'
  const cert_ids =
    certificates.length > 0
      ? certificates.map(({ cert_id }) => cert_id)
      : form === 'cert_id'
        ? [body['cert_id']]
        : readIds(body)
  const ids = cert_ids.map((id) => {
    if (typeof id !== 'string' || id === '') throw new Refusal('missing_cert_id')
    return id
  })
  const reason = readReason(body['reason'])
  const node_public_key = readNodeKey(body)
  const scope = readScope(body, reason)
  // Ids of another form were never issued, so they are refused without a lookup.
  const unknown = ids.filter((id) => !isPlainText(id, 128))
  if (unknown.length > 0)
    throw new Refusal(
      'certificate_not_found',
      form === 'cert_ids' ? { cert_ids: unknown.slice(0, 64).map(shorten) } : {},
    )
  const isDryRun = readDryRun(body)
  return { cert_ids: ids, form, certificates, node_public_key, reason, ...scope, isDryRun }
}

/**
 * A certificate ends with all others of its key, unless the request says otherwise. `all_of_key` is from a release where
 * it did not: false means what `only_this` means. Two members that contradict each other are refused.
 */
function readScope(body: JsonObject, reason: RevocationReason): Pick<RevokeRequest, 'onlyThis' | 'countsOthers'> {
  const flag = (name: string): boolean | undefined =>
    readMember<boolean | undefined>(body[name], undefined, shape.boolean, 'invalid_input')
  const [allOfKey, onlyThis] = [flag('all_of_key'), flag('only_this')]
  if (onlyThis !== undefined && (onlyThis === allOfKey || (onlyThis && reason === 'key_compromise')))
    throw new Refusal('invalid_input', { field: 'only_this' })
  return { onlyThis: onlyThis ?? allOfKey === false, countsOthers: allOfKey === true }
}

/** In place of ids. An empty array when ids are given. */
function readCertificates(body: JsonObject): readonly JoinCertificate[] {
  const given = body['certificates']
  if (given === undefined) return []
  const isAlone = ['cert_id', 'cert_ids', 'node_public_key'].every((name) => body[name] === undefined)
  const isList = Array.isArray(given) && given.length >= 1 && given.length <= MAX_TEXTS
  if (!isList || !isAlone) throw new Refusal('missing_cert_id')
  const certificates = given.map(readCertificate)
  if (new Set(certificates.map(({ cert_id }) => cert_id)).size < certificates.length)
    throw new Refusal('missing_cert_id')
  return certificates
}

function readCertificate(value: JsonValue): JoinCertificate {
  try {
    return readJoinCertificate(value)
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    throw new Refusal('invalid_input', { field: 'certificates' }, { cause: error })
  }
}

/** Only with one id: with several it would be unclear which certificate has the key. */
function readNodeKey(body: JsonObject): string | undefined {
  const given = body['node_public_key']
  if (given === undefined) return undefined
  if (body['cert_ids'] !== undefined) throw new Refusal('missing_cert_id')
  if (typeof given !== 'string' || readPublicKey(given) === undefined) throw new Refusal('invalid_public_key')
  return given
}

function readIds(body: JsonObject): readonly JsonValue[] {
  const given = body['cert_ids']
  // Both forms at once are ambiguous. A repeated id is a mistake in the list.
  const isList =
    Array.isArray(given) && given.length >= 1 && given.length <= MAX_IDS && new Set(given).size === given.length
  if (!isList || body['cert_id'] !== undefined) throw new Refusal('missing_cert_id')
  return given as readonly JsonValue[]
}

function readReason(value: JsonValue | undefined): RevocationReason {
  if (value === undefined) return 'unspecified'
  const reason = REVOCATION_REASONS.find((each) => each === value)
  if (reason === undefined) throw new Refusal('invalid_revocation_reason')
  return reason
}
