import type { AgentFacts } from '../api/agent-calls.ts'
import type { EmitEvent } from './events.ts'

/** What a run of the node decides. */
export interface NodeSettings {
  emit: EmitEvent
  status: string | (() => string)
  followsCrl: boolean
  agent: AgentFacts | undefined
}
