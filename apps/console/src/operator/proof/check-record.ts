import {
  BOUNDARY_POLICY_FORM,
  READ_LIMITS,
  fromBase64,
  isAuthenticList,
  isJsonObject,
  readJoinCertificate,
  readJson,
  readOrUndefined,
  readReceived,
  readRevocationList,
  receivedDigest,
  signersOf,
  verifyJoinCertificate,
  verifyReceived,
  windowOf,
} from '@chancery/protocol'
import type { AuthorityKeys, JsonObject, JsonValue } from '@chancery/protocol'
import { readPublicBytes } from '../client.ts'
import { isOlder, readGenesis, readKeys } from './gather.ts'

/** Why a record does not verify; empty when it does. An error states why it was not checked. */
export type Finding = string | Error

/** What a page shows of a certificate. The signed record must state the same. */
export interface ShownCertificate {
  readonly cert_id: string
  readonly node_public_key: string
  readonly issued_at: string
  readonly expires_at: string
  readonly roles: readonly string[]
}

/** Verifies a certificate under the pinned genesis block: signature, network, and that the page shows its values. */
export async function checkCertificate(value: JsonValue, shown: ShownCertificate): Promise<Finding> {
  if (isJsonObject(value) && Object.keys(value).length === 0)
    return new Error('The authority does not have the text of the certificate.')
  const certificate = readOrUndefined(() => readJoinCertificate(value))
  const window = certificate === undefined ? undefined : windowOf(certificate)
  if (certificate === undefined || window === undefined) return 'The certificate cannot be read.'
  const { keys, missing } = await readKeys(await readGenesis(), [certificate])
  const against = {
    network_name: keys.genesis.network_name,
    authorityKey: signersOf(keys, certificate),
    // The page shows separately whether it has expired.
    now: window.issuedAt,
  }
  const verdict = await verifyJoinCertificate(certificate, against)
  if (!verdict.ok)
    return notChecked(certificate, keys, missing) ?? `The certificate does not verify (${verdict.reason}).`
  const isShown =
    certificate.cert_id === shown.cert_id &&
    certificate.node_public_key === shown.node_public_key &&
    Date.parse(certificate.issued_at) === Date.parse(shown.issued_at) &&
    Date.parse(certificate.expires_at) === Date.parse(shown.expires_at) &&
    JSON.stringify(certificate.roles.toSorted()) === JSON.stringify(shown.roles.toSorted())
  return isShown ? '' : 'The signed certificate has other values than this page.'
}

/** Whether the published revocation list has a certificate. */
export interface ListedResult {
  readonly sequence: number
  readonly isListed: boolean
  /** When the next list is due. */
  readonly nextUpdate: string
}

/** A list has one object of five values for each certificate. */
const LIST_LIMITS = { ...READ_LIMITS, maxValues: 1_000_000 }

/** Reads the published list, verifies it with the key of the pinned genesis block, and looks for a certificate. */
export async function checkListed(certId: string): Promise<ListedResult | Error> {
  const { network_authority } = await readGenesis()
  const text = new TextDecoder().decode(await readPublicBytes('/crl'))
  const list = readOrUndefined(() => readRevocationList(readJson(text, LIST_LIMITS)))
  if (list === undefined) return new Error('The published list cannot be read.')
  const key = fromBase64(network_authority.public_key) ?? new Uint8Array()
  if (!(await isAuthenticList(list, new Map([[list.issuer, key]]))))
    return new Error('The published list does not verify.')
  const { sequence, next_update: nextUpdate, revoked_certificates: revoked } = list
  return { sequence, nextUpdate, isListed: revoked.some(({ certificate_id }) => certificate_id === certId) }
}

/**
 * Verifies every version of a policy in the text that the page shows: digest and signature. Returns the findings by
 * version. The version of a signed policy is unique, so none of two rows with one version counts as verified.
 */
export async function checkPolicyVersions(policyId: string, text: string): Promise<ReadonlyMap<number, Finding>> {
  const genesis = await readGenesis()
  const page = readJson(text)
  const rows = isJsonObject(page) && Array.isArray(page['versions']) ? page['versions'].filter(isJsonObject) : []
  const read = await readKeys(
    genesis,
    rows.flatMap(({ policy }) => (isJsonObject(policy) ? [policy] : [])),
  )
  const findings = new Map<number, Finding>()
  for (const row of rows) {
    const version = Number(row['version'])
    findings.set(
      version,
      findings.has(version) ? 'The version is listed more than once.' : await checkVersion(row, policyId, read),
    )
  }
  return findings
}

async function checkVersion(
  row: JsonObject,
  policyId: string,
  { keys, missing }: Awaited<ReturnType<typeof readKeys>>,
): Promise<Finding> {
  const policy = readOrUndefined(() => readReceived(BOUNDARY_POLICY_FORM, row['policy'] ?? null))
  if (policy === undefined) return 'The stored policy cannot be read.'
  const found = receivedDigest(policy)
  if (found !== row['policy_digest']) return `The digest computed here is ${found}.`
  const { policy_id, version } = policy.record
  if (policy_id !== policyId || version !== row['version']) return `The signed policy is ${policy_id} ${version}.`
  const { description, valid_until } = policy.record
  const shownEnd = row['valid_until']
  if (
    description !== row['description'] ||
    typeof shownEnd !== 'string' ||
    Date.parse(valid_until) !== Date.parse(shownEnd)
  )
    return 'The signed policy has another description or end than this page.'
  const verdict = await verifyReceived(policy, signersOf(keys, policy.record))
  if (verdict.ok) return ''
  return notChecked(policy.record, keys, missing) ?? `The signature does not verify (${verdict.reason}).`
}

/** A record of a former key cannot be checked when the former keys cannot be read. */
function notChecked(record: object, { genesis }: AuthorityKeys, missing: string | undefined): Error | undefined {
  return missing === undefined || !isOlder(genesis, record)
    ? undefined
    : new Error(`The former keys of the authority cannot be read. ${missing}`)
}
