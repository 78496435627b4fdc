import type { Core } from '../../core.ts'
import type { Enrollment } from '../enrollment/index.ts'

export interface OperatorKeysParts extends Pick<Core, 'audit' | 'clock' | 'operators' | 'database'> {
  readonly enrollment: Enrollment
}
