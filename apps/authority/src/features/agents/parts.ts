import type { Core } from '../../core.ts'

export interface AgentsParts extends Pick<
  Core,
  | 'activeWindow'
  | 'audit'
  | 'clock'
  | 'clockCheck'
  | 'database'
  | 'ids'
  | 'network'
  | 'purgeClock'
  | 'agentReads'
  | 'rollback'
> {}
