import type { Core } from '../../core.ts'
import type { DecisionParts } from '../decisions/index.ts'
import type { ReadCertificates } from './read-certificates.ts'

/** Lists what the checks use. */
export interface CheckParts
  extends DecisionParts, Pick<Core, 'settings' | 'trust' | 'state' | 'audit' | 'refusals' | 'log' | 'isServing'> {
  readonly certificates: ReadCertificates
}
