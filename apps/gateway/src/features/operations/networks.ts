import { writeInstant } from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'
import { json } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import type { Office } from '../../office.ts'
import type { IssuerPolicy, NetworkPolicy } from '../../policy/policy.ts'
import { isUsable, standingKey } from '../../trust/snapshot.ts'
import type { IssuerStanding, TrustSnapshot } from '../../trust/snapshot.ts'

/**
 * GET /v1/networks
 * The caller's own networks and what they are judged by. Never digests, addresses or other clients.
 */
export function networks({ client, trust }: ClientCall, office: Office): Answer {
  if (trust === undefined) return json({ mode: 'development', networks: [] })
  const now = office.clock.now()
  const own = client.networks.flatMap((name) => trust.policy.networks.get(name) ?? [])
  return json({
    policy_revision: trust.data.revision,
    client_id: client.id,
    service_groups: client.serviceGroups,
    authority_admin: client.authorityAdmin,
    credential_expires_at: client.expiresAt === undefined ? null : writeInstant(client.expiresAt),
    networks: own.map((network) => describe(network, trust, office, now)),
  })
}

function describe(network: NetworkPolicy, trust: TrustSnapshot, { record }: Office, now: Instant): JsonObject {
  const { name, primary } = network
  const standing = standingOf(trust, primary)
  const additional = network.additional.map((issuer) => standingOf(trust, issuer))
  const all = [standing, ...additional]
  return {
    name,
    ready: all.every((each) => isUsable(each, now)),
    services_configured: network.authorityUrl !== undefined,
    anchors: network.anchorTexts,
    required_roles: network.requiredRoles,
    revocation: {
      issuer: primary.issuer,
      sequence: standing.mark.sequence,
      issued_at: writeInstant(standing.mark.issuedAt),
      next_update: writeInstant(standing.mark.nextUpdate),
      revoked_count: standing.index.listed,
    },
    additional_issuers: additional.map((each) => ({
      issuer: each.policy.issuer,
      sequence: each.mark.sequence,
      next_update: writeInstant(each.mark.nextUpdate),
      ready: isUsable(each, now),
      revoked_count: each.index.listed,
      suspect: each.isSuspect,
    })),
    suspect: all.some((each) => each.isSuspect),
    last_refresh: record.last(name, primary.issuer) ?? null,
    authority_public_key: network.anchorTexts[primary.issuer] ?? null,
    admin_signature_version: network.adminSignatureVersion,
  }
}

function standingOf(trust: TrustSnapshot, { network, issuer }: IssuerPolicy): IssuerStanding {
  const standing = trust.standings.get(standingKey(network, issuer))
  if (standing === undefined) throw new Error('every issuer of a policy has a list in force')
  return standing
}
