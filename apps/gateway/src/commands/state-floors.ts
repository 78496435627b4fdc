import type { DatabaseSync } from 'node:sqlite'
import { type JsonObject, sha256Hex } from '@chancery/protocol'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { KEYS_ROW, readCheckpoints } from '../state/checkpoints.ts'
import { readStateValues } from '../state/state-values.ts'
import { type ToolResult, done, readState, stateFileOf } from './state-command.ts'

/** Minimum list sequences, to be saved outside the gateway (protocol/gateway 18.5). */
export interface Floor {
  readonly network: string
  readonly issuer: string
  readonly sequence: number
  readonly issued_at: string
  readonly body_sha256: string
  readonly suspect: boolean
}

export function floorsOf(db: DatabaseSync): readonly Floor[] {
  const lists = readCheckpoints(db).filter(({ issuer }) => issuer !== KEYS_ROW)
  return lists.map(({ network, issuer, sequence, issued_at, body, suspect }) => {
    return { network, issuer, sequence, issued_at, body_sha256: sha256Hex(body), suspect }
  })
}

/** `state floors`: prints the minimum list sequences. */
export async function floors(settings: GatewaySettings): Promise<ToolResult> {
  const data = readState(stateFileOf(settings), settings, (db): JsonObject => {
    const { head_sequence, head_hash } = readStateValues(db)
    return { floors: floorsOf(db).map((floor) => ({ ...floor })), audit: { sequence: head_sequence, hash: head_hash } }
  })
  return done(data, JSON.stringify(data, undefined, 2))
}
