import {
  PROOF_AUDIENCE,
  allAuthorityKeys,
  contentDigest,
  isWimseRequest,
  readWit,
  seconds,
  toBase64,
  toUtf8,
  verifyWimseRequest,
  wimseBase,
  wimseComponents,
  writeWimseParameters,
} from '@chancery/protocol'
import type { Instant, JoinCertificate, ProofHeaders, SignedFields, Signer, WimseNetwork } from '@chancery/protocol'
import { UsageError } from '../errors.ts'
import { timeOf } from '../trust/signing-time.ts'
import { type NetworkIdentity, readIdentity } from '../trust/identity.ts'
import type { AnyFieldRequest, ProofProfile, SigningProfile, VerifyingProfile } from './profile.ts'
import { type RequestToSign, targetOf } from './target.ts'
import type { ProofPolicy, ProofVerdict } from './verify.ts'

/** Who calls in the profile of WIMSE: the node key, and the token that the authority issued for it. */
export interface WimseIdentity {
  readonly signer: Signer
  readonly wit: string
}

export interface WimseRequest extends RequestToSign {
  /** The other fields of the request, in lower case: content type, authorization and transaction token are signed. */
  readonly fields?: SignedFields
}

const LIFETIME_SECONDS = 60

/** The fields that prove a request by WIMSE (docs/protocol/wimse.md). New ones are needed for every request. Beta. */
export async function signWimseRequest(
  request: WimseRequest,
  { signer, wit }: WimseIdentity,
): Promise<Readonly<Record<string, string>>> {
  if (readWit(wit)?.certificate.node_public_key !== signer.publicKey)
    throw new UsageError('the token is of another key')
  if (!PROOF_AUDIENCE.test(request.audience) || /["\\]/.test(request.audience))
    throw new UsageError('the audience is one word of visible ASCII without quotes')
  const body = typeof request.body === 'string' ? toUtf8(request.body) : (request.body ?? new Uint8Array())
  const made = {
    ...(body.length === 0 ? {} : { 'content-digest': contentDigest(body) }),
    'workload-identity-token': wit,
  }
  const fields = { ...request.fields, ...made }
  const components = wimseComponents(fields)
  const created = Number(timeOf(request.now) / seconds(1))
  const parameters = writeWimseParameters(components, {
    created,
    expires: created + LIFETIME_SECONDS,
    nonce: crypto.randomUUID(),
    audience: request.audience,
  })
  const about = { method: request.method.toUpperCase(), target: targetOf(request.url) }
  const signature = toBase64(await signer.sign(wimseBase(about, fields, components, parameters)))
  return { ...made, 'signature-input': `wimse=${parameters}`, signature: `wimse=:${signature}:` }
}

/** A network whose tokens are accepted. */
export interface AcceptedWimse {
  readonly trustDomain: string
  /** Public keys of its authority now, such as `() => allKeys(party.keys)`. Tokens live an hour at most. */
  readonly keys: () => readonly string[]
}

export interface WimseProofPolicy extends ProofPolicy {
  /** By network name. */
  readonly networks: Readonly<Record<string, AcceptedWimse>>
}

/** Checks a request of the profile of WIMSE, in the order of docs/protocol/wimse.md. Never throws on what arrived. */
export async function verifyWimse(request: AnyFieldRequest, policy: WimseProofPolicy): Promise<ProofVerdict> {
  const now = timeOf(policy.at)
  const network = (name: string): WimseNetwork | undefined =>
    Object.hasOwn(policy.networks, name) ? policy.networks[name] : undefined
  const found = await verifyWimseRequest(request, { audience: policy.audience, network, now })
  if (typeof found === 'string') return { valid: false, reason: found }
  const { certificate, nonce, signature, created, contentDigest: signed } = found
  const verdict = await policy.evaluate(certificate, now)
  if (!verdict.trusted) return { valid: false, reason: 'certificate_untrusted', verdict }
  const used = await claim(policy, certificate, nonce, seconds(created + LIFETIME_SECONDS), now)
  if (used !== undefined) return { valid: false, reason: used }
  const body = typeof request.body === 'function' ? await request.body() : request.body
  if (body === undefined) return { valid: false, reason: 'body_too_large' }
  // A body needs a digest. A signed digest must match, also of nothing.
  const isSame = signed === undefined ? body.length === 0 : signed === contentDigest(body)
  if (!isSame) return { valid: false, reason: 'digest_mismatch' }
  const { node_public_key: publicKey, network_name, roles } = certificate
  const { method, target, field } = request
  const headers: ProofHeaders = {
    'chancery-certificate': '',
    'chancery-audience': policy.audience,
    'content-digest': signed ?? '',
    'signature-input': field('signature-input').join(),
    signature: field('signature').join(),
  }
  const proof = { method, target, headers, verified: { nonce, signature } }
  const caller = { publicKey, network: network_name, roles, certificate, attestation: undefined, proof }
  return { valid: true, caller, unproven: [] }
}

async function claim(
  { nonces }: WimseProofPolicy,
  { node_public_key: key }: JoinCertificate,
  nonce: string,
  until: Instant,
  now: Instant,
): Promise<'proof_replayed' | 'nonces_unavailable' | undefined> {
  try {
    return (await nonces.claim(`${key} ${nonce}`, until, now)) ? undefined : 'proof_replayed'
  } catch {
    return 'nonces_unavailable'
  }
}

/** A network whose tokens are accepted: its identity, and the trust domain of its tokens. */
export type WimseNetworkIdentity = NetworkIdentity & { readonly trustDomain: string }

/**
 * The profile of WIMSE (docs/protocol/wimse.md), for `fetchWith({ profile })` and, with the networks whose tokens are
 * accepted, for `createAuthorizer({ profiles })`. Beta.
 */
export function wimse({ networks = [] }: { readonly networks?: readonly WimseNetworkIdentity[] } = {}): ProofProfile {
  const accepted = Object.fromEntries(
    networks.map(({ trustDomain, ...identity }) => {
      const keys = readIdentity(identity)
      return [keys.genesis.network_name, { trustDomain, keys: () => allAuthorityKeys(keys) }] as const
    }),
  )
  const profile: SigningProfile & VerifyingProfile = {
    name: 'wimse',
    sign: signWimseRequest,
    isUsed: (field) => isWimseRequest(field) && field('chancery-certificate').length === 0,
    verify: (request, policy) => verifyWimse(request, { ...policy, networks: accepted }),
  }
  return profile
}
