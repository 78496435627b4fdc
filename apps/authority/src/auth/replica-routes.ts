import { agents, audit, boundary, crl, enrollment, evidence, evidenceLog, policy, roster } from '@chancery/contract'
import type { Route } from '@chancery/contract'
import type { Binding, Call, HandlerResult, MaybePromise } from '@chancery/service-kit'
import type { Database } from '../database/database.ts'
import type { Reads } from '../database/replica/reads.ts'
import { type CallFor, bind } from './access.ts'

/**
 * Routes that a replica may answer (docs/operate/read-replicas.md): searches, histories, and material that never changes
 * at its address. No other route may: an answer that grants or refuses, says what is current, or gives the position that
 * the next record must continue from, comes from the primary.
 */
export const REPLICA_ROUTES = [
  agents.search,
  agents.find,
  agents.list,
  agents.capabilities,
  crl.version,
  evidenceLog.tile,
  evidence.search,
  evidence.counts,
  evidence.rejected,
  audit.list,
  roster.list,
  roster.events,
  enrollment.certificates,
  enrollment.inviteList,
  policy.history,
] as const

export type ReplicaRoute = (typeof REPLICA_ROUTES)[number]

/** A binding whose handler got the database to read. */
export interface ReadBinding extends Binding {
  readonly isReplicaRead: true
}

/** Binds a handler that only reads, and gets the database to read from. */
export function bindRead<R extends ReplicaRoute>(
  route: R,
  { reads }: { readonly reads: Pick<Reads, 'run'> },
  handle: (call: CallFor<R['access']>, database: Database) => Promise<HandlerResult>,
): ReadBinding {
  const bound = bind<Route>(route, (call) => reads.run((database) => handle(call as CallFor<R['access']>, database)))
  return { ...bound, isReplicaRead: true }
}

/** Decisions are many. Searches show them later, at most by the bound. */
const UNNOTED: ReadonlySet<string> = new Set(Object.values(boundary).map((route) => route.id))
const NOTED: ReadonlySet<string> = new Set([agents.register.id, agents.remove.id])

type Noted = Pick<Reads, 'noteChange'>

/** Who changed something here sees it here with the next request: the replica waits until it has the change. */
export function noteChanges(
  bindings: readonly Binding[],
  reads: { readonly reads: Noted; readonly agentReads: Noted },
): readonly Binding[] {
  return bindings.map((binding) => {
    const changed = changedReads(binding.route, reads)
    return changed.length === 0 ? binding : { ...binding, handle: noting(binding, changed) }
  })
}

/** A node may register every two seconds. That must not send the searches of operators to the primary. */
function changedReads(
  { id, method, access }: Route,
  { reads, agentReads }: { readonly reads: Noted; readonly agentReads: Noted },
): readonly Noted[] {
  if (method === 'GET' || UNNOTED.has(id)) return []
  if (access === 'operator:standard' || access === 'operator:privileged') return [reads, agentReads]
  return NOTED.has(id) ? [agentReads] : []
}

function noting({ handle }: Binding, changed: readonly Noted[]): (call: Call) => MaybePromise<HandlerResult> {
  return async (call) => {
    try {
      return await handle(call)
    } finally {
      for (const reads of changed) reads.noteChange()
    }
  }
}
