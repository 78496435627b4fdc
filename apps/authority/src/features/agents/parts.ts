import type { Core } from '../../core.ts'

export interface AgentsParts extends Pick<
  Core,
  'audit' | 'clock' | 'clockCheck' | 'genesis' | 'ids' | 'purgeClock' | 'rollbackCheck' | 'database'
> {}
