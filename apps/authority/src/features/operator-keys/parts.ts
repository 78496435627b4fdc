import type { Core } from '../../core.ts'
import type { Enrollment } from '../enrollment/index.ts'

export interface OperatorKeysParts extends Pick<Core, 'audit' | 'clock' | 'database' | 'operators'> {
  readonly enrollment: Enrollment
}
