import { evidenceLog } from '@chancery/contract'
import { HASH_BYTES, fromUtf8, logIdentityForm, readReceived, shape, tilePath } from '@chancery/protocol'
import type { JsonValue, LogIdentity, TileName } from '@chancery/protocol'
import { bytes, json, text } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { ResponseError } from '../errors.ts'
import type { Incoming } from '../http/transport.ts'

/** The public log of the evidence store (protocol/trust-operations 6.13). */
export interface EvidenceLogApi {
  /** Returns name, keys and witnesses of the log. Verify `log_identity` with `trustLog` before you use the keys. */
  describe(options?: CallOptions): Promise<LogDescription>
  /** Returns the signed note unchanged. Store it, and open it with `openCheckpoint`. */
  checkpoint(options?: CallOptions): Promise<string>
  /** Returns the last checkpoint that witnesses cosigned. It may be older than the last one. */
  cosignedCheckpoint(options?: CallOptions): Promise<string>
  /** Returns the hashes of one tile; pass it to `nodesFromTiles` for proofs. */
  tile(name: TileName, options?: CallOptions): Promise<Uint8Array>
  /** As operator: returns the canonical envelopes of a tile of level 0. The digest of each is its leaf. */
  entries(name: Omit<TileName, 'level'>, options?: CallOptions): Promise<readonly string[]>
  /** As operator: returns a COSE receipt of a decision; verify it with `verifyReceipt`. */
  receipt(decision_id: string, options?: CallOptions): Promise<Uint8Array>
  /** As operator: returns what each witness said last. */
  witnesses(options?: CallOptions): Promise<LogWitnesses>
}

export interface LogDescription {
  readonly origin: string
  readonly tree_size: number
  /** Keys that sign the log, as verifier keys (C2SP signed-note). */
  readonly verifier_keys: readonly string[]
  readonly log_identity: LogIdentity
  /** Verifier keys of the witnesses that are asked. */
  readonly witnesses: readonly string[]
  readonly quorum: number
}

export interface LogWitnesses {
  readonly tree_size: number
  readonly quorum: number
  readonly cosigned_size: number
  readonly cosigners: number
  /** Since when a checkpoint lacks the quorum; null when none does. */
  readonly pending_since: string | null
  readonly witnesses: readonly LogWitnessState[]
}

export interface LogWitnessState {
  readonly name: string
  /** Null for a witness that is no longer asked, but has an alarm. */
  readonly url: string | null
  readonly known_size: number
  readonly cosigned_at: string | null
  readonly tried_at: string | null
  readonly failure: string | null
  readonly alarm: 'rolled_back' | 'forked' | null
  readonly alarm_at: string | null
  readonly alarm_size: number | null
  /** The witness holds a checkpoint with the signature of the authority that contradicts the log. */
  readonly proven: boolean
}

const { arrayOf, boolean, integer, nullable, oneOf, required, string } = shape
const count = integer(0, Number.MAX_SAFE_INTEGER)
const texts = arrayOf(string, { max: 64 })
const readDescription = shape.open({
  origin: required(string),
  tree_size: required(count),
  verifier_keys: required(texts),
  log_identity: required((value: JsonValue): LogIdentity => readReceived(logIdentityForm, value).record),
  witnesses: required(texts),
  quorum: required(count),
})
const readWitnesses = shape.open({
  tree_size: required(count),
  quorum: required(count),
  cosigned_size: required(count),
  cosigners: required(count),
  pending_since: required(nullable(string)),
  witnesses: required(
    arrayOf(
      shape.open({
        name: required(string),
        url: required(nullable(string)),
        known_size: required(count),
        cosigned_at: required(nullable(string)),
        tried_at: required(nullable(string)),
        failure: required(nullable(string)),
        alarm: required(nullable(oneOf('rolled_back', 'forked'))),
        alarm_at: required(nullable(string)),
        alarm_size: required(nullable(count)),
        proven: required(boolean),
      }),
      { max: 1000 },
    ),
  ),
})

export function evidenceLogApi({ call }: Connection): EvidenceLogApi {
  return {
    describe: (options) =>
      call({ route: evidenceLog.describe, read: json((value) => readDescription(value, '')), options }),
    checkpoint: (options) => call({ route: evidenceLog.checkpoint, read: text, options }),
    cosignedCheckpoint: (options) => call({ route: evidenceLog.cosigned, read: text, options }),
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
    witnesses: (options) =>
      call({ route: evidenceLog.witnesses, read: json((value) => readWitnesses(value, '')), options }),
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
