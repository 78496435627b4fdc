import { sovereign } from '@chancery/contract'
import { agentsApi } from '../api/agents.ts'
import { approvalsApi } from '../api/approvals.ts'
import { boundaryApi } from '../api/boundary.ts'
import { crlApi } from '../api/crl.ts'
import { enrollmentApi } from '../api/enrollment.ts'
import { policyApi } from '../api/policy.ts'
import type { Client } from '../client.ts'
import { type ClientOptions, openConnection } from '../http/connection.ts'
import { routeApi } from '../http/route-api.ts'

/** What a node calls for itself. */
export type NodeAreas = Pick<
  Client,
  'agents' | 'approvals' | 'boundary' | 'crl' | 'enrollment' | 'policy' | 'sovereign'
>

/** A client of these areas alone, for {@link Node.joinWith}. */
export function nodeAreas(options: ClientOptions): NodeAreas {
  const connection = openConnection(options)
  return {
    agents: agentsApi(connection),
    approvals: approvalsApi(connection),
    boundary: boundaryApi(connection),
    crl: crlApi(connection),
    enrollment: enrollmentApi(connection),
    policy: policyApi(connection),
    sovereign: routeApi(sovereign, connection),
  }
}
