import { crl } from '@chancery/contract'
import { readCrl } from '@chancery/protocol'
import type { Crl } from '@chancery/protocol'
import { json } from '../answer.ts'
import type { CallOptions, Connection } from '../call.ts'

export interface CrlArea {
  /** The active list as served; a verifier checks signature, next_update and sequence (checkCrlAdvance) itself. */
  current(options?: CallOptions): Promise<Crl>
}

export function crlArea({ call }: Connection): CrlArea {
  return {
    current: (options) => call({ route: crl.current, read: json(readCrl), options }),
  }
}
