import { evidenceLog } from '@chancery/contract'
import { HASH_BYTES, type TileName, fromUtf8, tilePath } from '@chancery/protocol'
import { bytes, text } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'
import { ResponseError } from '../errors.ts'
import type { Incoming } from '../http/transport.ts'

/**
 * The public log of the evidence store (protocol/trust-operations 6.13). Verify `log_identity` of `describe` with
 * `trustLog` before you use the keys. `witnesses`: as operator.
 */
export interface EvidenceLogApi extends RouteApi<typeof evidenceLog> {
  /** Returns the signed note unchanged. Store it, and open it with `openCheckpoint`. */
  checkpoint(options?: CallOptions): Promise<string>
  /** Returns the last checkpoint that witnesses cosigned. It may be older than the last one. */
  cosigned(options?: CallOptions): Promise<string>
  /** Returns the hashes of one tile; pass it to `nodesFromTiles` for proofs. */
  tile(name: TileName, options?: CallOptions): Promise<Uint8Array>
  /** As operator: returns the canonical envelopes of a tile of level 0. The digest of each is its leaf. */
  entries(name: Omit<TileName, 'level'>, options?: CallOptions): Promise<readonly string[]>
  /** As operator: returns a COSE receipt of a decision; verify it with `verifyReceipt`. */
  receipt(decision_id: string, options?: CallOptions): Promise<Uint8Array>
}

export function evidenceLogApi(connection: Connection): EvidenceLogApi {
  const { call } = connection
  return {
    ...routeApi(evidenceLog, connection),
    checkpoint: (options) => call({ route: evidenceLog.checkpoint, read: text, options }),
    cosigned: (options) => call({ route: evidenceLog.cosigned, read: text, options }),
    tile: (name, options) =>
      call({
        route: evidenceLog.tile,
        params: { tile: tilePath(name) },
        read: ({ body, status, requestId }) => {
          if (body.length === name.width * HASH_BYTES) return body
          throw new ResponseError({ status, requestId, problem: 'a tile has another length than its name' })
        },
        options,
      }),
    entries: (name, options) =>
      call({
        route: evidenceLog.entries,
        params: { tile: tilePath({ level: 0, ...name }).slice('0/'.length) },
        read: readBundle,
        options,
      }),
    receipt: (decision_id, options) =>
      call({ route: evidenceLog.receipt, params: { decision_id }, read: bytes, options }),
  }
}

/** Each envelope is preceded by its length in two bytes (C2SP tlog-tiles). */
function readBundle({ body, status, requestId }: Incoming): readonly string[] {
  const entries: string[] = []
  for (let at = 0; at < body.length;) {
    const end = at + 2 + ((body[at] ?? 0) << 8) + (body[at + 1] ?? 0)
    const entry = end > body.length ? undefined : fromUtf8(body.subarray(at + 2, end))
    if (entry === undefined) throw new ResponseError({ status, requestId, problem: 'an entry bundle is cut off' })
    entries.push(entry)
    at = end
  }
  return entries
}
