import { type Instant, type JsonObject, writeInstant } from '@chancery/protocol'
import { type HttpResponse, json } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import type { OperationsParts } from './parts.ts'
import type { IssuerPolicy, NetworkPolicy } from '../../policy/policy.ts'
import { type IssuerState, type TrustSnapshot, isUsable, issuerKey } from '../../trust/snapshot.ts'

/**
 * GET /v1/networks Returns the networks of the caller and their current lists. Never digests, addresses or other
 * clients.
 */
export function networks({ client, trust }: ClientCall, parts: OperationsParts): HttpResponse {
  if (trust === undefined) return json({ mode: 'development', networks: [] })
  const now = parts.clock.now()
  const own = client.networks.flatMap((name) => trust.policy.networks.get(name) ?? [])
  return json({
    policy_revision: trust.data.revision,
    client_id: client.id,
    service_groups: client.serviceGroups,
    authority_admin: client.authorityAdmin,
    credential_expires_at: client.expiresAt === undefined ? null : writeInstant(client.expiresAt),
    networks: own.map((network) => describe(network, trust, parts, now)),
  })
}

function describe(
  network: NetworkPolicy,
  trust: TrustSnapshot,
  { refreshResults }: OperationsParts,
  now: Instant,
): JsonObject {
  const { name, primary } = network
  const issuerState = issuerStateOf(trust, primary)
  const additional = network.additional.map((issuer) => issuerStateOf(trust, issuer))
  const all = [issuerState, ...additional]
  return {
    name,
    ready: isUsable(issuerState, now),
    services_configured: network.authorityUrl !== undefined,
    anchors: network.anchorTexts,
    required_roles: network.requiredRoles,
    revocation: {
      issuer: primary.issuer,
      sequence: issuerState.position.sequence,
      issued_at: writeInstant(issuerState.position.issuedAt),
      next_update: writeInstant(issuerState.position.nextUpdate),
      revoked_count: issuerState.index.listed,
    },
    additional_issuers: additional.map((each) => ({
      issuer: each.policy.issuer,
      sequence: each.position.sequence,
      next_update: writeInstant(each.position.nextUpdate),
      ready: isUsable(each, now),
      revoked_count: each.index.listed,
      suspect: each.isSuspect,
    })),
    suspect: all.some((each) => each.isSuspect),
    last_refresh: refreshResults.last(name, primary.issuer) ?? null,
    authority_public_key: network.anchorTexts[primary.issuer] ?? null,
    admin_signature_version: network.adminSignatureVersion,
  }
}

function issuerStateOf(trust: TrustSnapshot, { network, issuer }: IssuerPolicy): IssuerState {
  const issuerState = trust.issuers.get(issuerKey(network, issuer))
  if (issuerState === undefined) throw new Error('every issuer of a policy has a current list')
  return issuerState
}
