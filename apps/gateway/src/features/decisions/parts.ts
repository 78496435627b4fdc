import type { Core } from '../../core.ts'
import type { ClientCall } from '../../edge/call.ts'
import type { ClientPolicy } from '../../policy/policy.ts'
import type { StoredVerdicts } from '../../trust/stored-verdicts.ts'
import type { DecisionCache } from './decision-cache.ts'

/** Lists what the handlers of this feature use. */
export interface DecisionParts extends Pick<Core, 'authorities' | 'clock' | 'ids' | 'metrics' | 'quota'> {
  readonly cache: DecisionCache
  readonly verdicts: StoredVerdicts
}

/** The request for which a decision is asked: of a client, or of a proxy that asks the HTTP check. */
export interface AskingCall extends Pick<
  ClientCall,
  'requestId' | 'traceParent' | 'trust' | 'context' | 'remainingMs' | 'checkDeadline'
> {
  readonly client: Pick<ClientPolicy, 'id' | 'networks'>
  /** Whom limits of the authority count. Default: the client. */
  readonly caller?: string
  /** Called before the authority is asked, and not when an earlier decision is used. */
  beforeAsking?(): Promise<void>
}
