import { evidenceLog, CONTENT_TYPES, Refusal } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import { bindRead } from '../../auth/replica-routes.ts'
import { receipt } from './receipt.ts'
import { tile } from './tile.ts'
import { witnesses } from './witnesses.ts'
import type { Feature } from '../../core.ts'
import type { Transaction } from '../../database/database.ts'
import { LogWriter } from './log-writer.ts'
import { type EvidenceLogParts, findIdentity, signersOf } from './identity.ts'
import { signCheckpointAgain, statedOrigin } from './continuity.ts'
import { countAlarms, findCosigned } from './witnesses/queries.ts'
import { WitnessRounds } from './witnesses/round.job.ts'
import { type Call, HttpResponse } from '@chancery/service-kit'
import { findLog, readBundle } from './queries.ts'
import {
  type JsonObject,
  writeLogKey,
  TILE_WIDTH,
  asJson,
  canonicalJson,
  readEventLine,
  readIndexPath,
} from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'

/**
 * GET /admin/evidence-log/entries/{tile}
 * Returns the envelopes of one tile, each after its length in two bytes. The digest of an envelope is its leaf.
 */
export async function entries(call: OperatorCall, parts: EvidenceLogParts): Promise<HttpResponse> {
  const name = readIndexPath(call.params['tile'] ?? '')
  if (name === undefined) throw new Refusal('not_found')
  const lines = await readBundle(parts.database.read, name.tile * TILE_WIDTH + 1, name.width)
  if (lines.length === 0) throw new Refusal('not_found')
  return new HttpResponse(Buffer.concat(lines.flatMap(toBundleEntry)), CONTENT_TYPES.tile)
}

function toBundleEntry(line: string): [Buffer, Buffer] {
  const event = readEventLine(line)
  if (event === undefined) throw new Error('cannot read a stored line')
  const text = Buffer.from(canonicalJson(asJson(event.entry)))
  const length = Buffer.alloc(2)
  length.writeUInt16BE(text.length)
  return [length, text]
}

/**
 * GET /evidence-log
 * Returns the name and the keys of the log, the signed record of both, and its witnesses.
 */
export async function describe(_call: Call, parts: EvidenceLogParts): Promise<JsonObject> {
  const state = await findLog(parts.database.read)
  const identity = await findIdentity(parts.database.read)
  if (state === undefined || identity === undefined) throw new Refusal('not_found')
  const { logQuorum, logWitnesses } = parts.settings
  const name = statedOrigin(state.note)
  return {
    origin: name,
    tree_size: state.size,
    verifier_keys: signersOf(parts).map(({ publicKey }) => writeLogKey({ name, publicKey })),
    log_identity: identity as unknown as JsonObject,
    witnesses: logWitnesses.map(({ verifierKey }) => verifierKey),
    quorum: logQuorum,
  }
}

/**
 * GET /evidence-log/cosigned-checkpoint
 * Returns the last checkpoint that witnesses cosigned. It may be older than the last one.
 */
export async function cosigned(_call: Call, parts: EvidenceLogParts): Promise<HttpResponse> {
  const note = (await findCosigned(parts.database.read))?.note ?? undefined
  if (note === undefined) throw new Refusal('not_found')
  return new HttpResponse(note, CONTENT_TYPES.note)
}

/**
 * GET /evidence-log/checkpoint
 * Returns the signed checkpoint. A saved copy can later prove that entries were rewritten.
 */
export async function checkpoint(_call: Call, parts: EvidenceLogParts): Promise<HttpResponse> {
  const state = await findLog(parts.database.read)
  // Only in the first seconds of a store: the first checkpoint covers nothing.
  if (state === undefined) throw new Refusal('not_found')
  return new HttpResponse(state.note, CONTENT_TYPES.note)
}

export { findLogFault } from './continuity.ts'
export { countAlarms as countWitnessAlarms, findCosigned }

export interface EvidenceLog extends Feature {
  /** Appends all entries of the chain that the log lacks. */
  append(): Promise<void>
  signCheckpointAgain(tx: Transaction): Promise<void>
  /** Asks the witnesses of the log that are due. */
  askWitnesses(): Promise<void>
}

export function openEvidenceLog(parts: EvidenceLogParts): EvidenceLog {
  const writer = new LogWriter()
  const rounds = new WitnessRounds(parts)
  const append = async (): Promise<void> => {
    if (parts.settings.evidenceStore) await writer.grow(parts)
  }
  parts.evidence.subscribe({
    onAppended: (added) => {
      // Entries appended by this process need not be read again before they enter the log.
      writer.appended.add(added)
      writer.schedule(parts)
    },
    beforeRemoval: append,
  })
  return {
    routes: [
      bind(evidenceLog.describe, (call) => describe(call, parts)),
      bind(evidenceLog.checkpoint, (call) => checkpoint(call, parts)),
      bind(evidenceLog.cosigned, (call) => cosigned(call, parts)),
      bindRead(evidenceLog.tile, parts, (call, database) => tile(call, { ...parts, database })),
      bind(evidenceLog.entries, (call) => entries(call, parts)),
      bind(evidenceLog.receipt, (call) => receipt(call, parts)),
      bind(evidenceLog.witnesses, (call) => witnesses(call, parts)),
    ],
    // For entries that were appended while the log could not be extended.
    jobs: [
      { name: 'evidence-log', everySeconds: 60, run: append },
      ...(parts.settings.logWitnesses.length === 0
        ? []
        : [
            {
              name: 'evidence-log-witnesses',
              everySeconds: 10,
              run: (signal: AbortSignal) => rounds.run(signal),
            },
          ]),
    ],
    append,
    signCheckpointAgain: (tx) => signCheckpointAgain(tx, parts),
    askWitnesses: () => rounds.run(new AbortController().signal),
    close: () => writer.close(),
  }
}
