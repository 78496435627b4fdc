import { partners } from '@chancery/contract'
import { type EvidenceApi, evidenceApi as overEvidence } from '../api/evidence.ts'
import { type PolicyApi, policyApi as overPolicy } from '../api/policy.ts'
import type { PartnersApi } from '../client.ts'
import { type ClientOptions, openConnection } from '../http/connection.ts'
import { routeApi } from '../http/route-api.ts'

/** Single groups of a client, for bundles that need no other. */

export function evidenceApi(options: ClientOptions): EvidenceApi {
  return overEvidence(openConnection(options))
}

export function policyApi(options: ClientOptions): PolicyApi {
  return overPolicy(openConnection(options))
}

export function partnersApi(options: ClientOptions): PartnersApi {
  return routeApi(partners, openConnection(options))
}
