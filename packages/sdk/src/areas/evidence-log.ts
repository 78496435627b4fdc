import { evidenceLog } from '@chancery/contract'
import { HASH_BYTES, tilePath } from '@chancery/protocol'
import type { TileName } from '@chancery/protocol'
import { text } from '../answer.ts'
import type { CallOptions, Connection } from '../call.ts'
import { AnswerError } from '../errors.ts'

/** The public log beside the evidence store (protocol/trust-operations 6.13). */
export interface EvidenceLogArea {
  /** The signed note as it is: keep it, and open it with `openCheckpoint`. */
  checkpoint(options?: CallOptions): Promise<string>
  /** Hashes of one tile; pass it to `nodesFromTiles` for proofs. */
  tile(name: TileName, options?: CallOptions): Promise<Uint8Array>
}

export function evidenceLogArea({ call }: Connection): EvidenceLogArea {
  return {
    checkpoint: (options) => call({ route: evidenceLog.checkpoint, read: text, options }),
    tile: (name, options) =>
      call({
        route: evidenceLog.tile,
        params: { tile: tilePath(name) },
        read: ({ body, status, requestId }) => {
          if (body.length === name.width * HASH_BYTES) return body
          throw new AnswerError({ status, requestId, problem: 'a tile has another length than its name' })
        },
        options,
      }),
  }
}
