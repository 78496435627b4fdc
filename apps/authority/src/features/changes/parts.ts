import type { Core } from '../../core.ts'

export type ChangesParts = Pick<
  Core,
  | 'clock'
  | 'database'
  | 'isServing'
  | 'log'
  | 'operators'
  | 'operatorsFile'
  | 'revokedOperatorKeys'
  | 'rollback'
  | 'versions'
>
