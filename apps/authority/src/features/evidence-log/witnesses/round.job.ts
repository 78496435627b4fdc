import { type JsonObject, type NoteSignature, cosignedAt, readNote, writeNote, writeSortable } from '@chancery/protocol'
import { type Lease, LeaseLostError, checkLease, withLease } from '../../../database/locks/leases.ts'
import type { Transaction } from '../../../database/database.ts'
import type { LogWitness } from '../../../settings/log-settings.ts'
import { compareWithProofs } from '../continuity.ts'
import type { EvidenceLogParts } from '../identity.ts'
import { type LogState, findLog } from '../queries.ts'
import { TileWriter } from '../tile-writer.ts'
import { type Asked, askWitness } from './ask.ts'
import { findCosigned, listWitnesses, removeOthers, storeCosigned, storeWitness } from './queries.ts'
import type { CosignedRow, WitnessRow } from './queries.ts'

/** Three calls of ten seconds to each witness, all of them at the same time, and the storing. */
const LEASE_SECONDS = 90
/** A witness is asked again after this time, although the log did not grow: the database may have been rolled back. */
const ASK_AGAIN_MS = 3_600_000

/** Asks the witnesses of the log. One instance at a time. */
export class WitnessRounds {
  readonly #parts: EvidenceLogParts
  /** When this process last got an answer of a witness. After a start each is asked, whatever the rows say. */
  readonly #answeredMs = new Map<string, number>()

  constructor(parts: EvidenceLogParts) {
    this.#parts = parts
  }

  async run(signal: AbortSignal): Promise<void> {
    const { settings, database } = this.#parts
    if (!settings.evidenceStore) return
    const { state, rows, due } = await this.#findDue()
    const names = new Set(settings.logWitnesses.map(({ name }) => name))
    const isPending = ((await findCosigned(database.read))?.pending_since ?? null) !== null
    const hasOthers = [...rows.values()].some(({ name, alarm }) => !names.has(name) && alarm === null)
    if (state === undefined || (due.length === 0 && !isPending && !hasOthers)) return
    try {
      await withLease(this.#parts, 'evidence-log-witnesses', LEASE_SECONDS, (lease) => this.#round(lease, signal))
    } catch (error) {
      // Another instance asks now, and nothing of this round was stored.
      if (!(error instanceof LeaseLostError)) throw error
    }
  }

  async #findDue(): Promise<{
    readonly state: LogState | undefined
    readonly rows: ReadonlyMap<string, WitnessRow>
    readonly due: readonly LogWitness[]
  }> {
    const { database, settings } = this.#parts
    const rows = new Map((await listWitnesses(database.read)).map((row) => [row.name, row]))
    const state = await findLog(database.read)
    const due =
      state === undefined || state.size === 0
        ? []
        : settings.logWitnesses.filter((each) => this.#isDue(each, rows, state))
    return { state, rows, due }
  }

  async #round(lease: Lease, signal: AbortSignal): Promise<void> {
    const parts = this.#parts
    // Read again under the lease: another instance may have asked meanwhile.
    const { state, rows, due } = await this.#findDue()
    if (state === undefined) return
    const answers = new Map<LogWitness, Asked>()
    await Promise.all(
      due.map(async (witness) => {
        const row = rows.get(witness.name)
        const knownSize = row?.verifier_key === witness.verifierKey ? row.known_size : 0
        answers.set(witness, await askWitness(parts, { witness, state, knownSize }, signal))
      }),
    )
    if (signal.aborted) return
    const said = await parts.database.write(async (tx) => {
      await checkLease(tx, lease)
      return this.#store(tx, state, answers)
    })
    for (const [witness, { kind }] of answers)
      if (kind !== 'failed') this.#answeredMs.set(witness.name, parts.clock.monotonicMs())
    for (const { text, isAlarm, fields } of said)
      if (isAlarm) parts.log.error(text, { alarm: true, ...fields })
      else parts.log.info(text, fields)
  }

  #isDue({ name, verifierKey }: LogWitness, rows: ReadonlyMap<string, WitnessRow>, { size }: LogState): boolean {
    const row = rows.get(name)
    const answered = this.#answeredMs.get(name)
    if (row === undefined || row.verifier_key !== verifierKey || answered === undefined) return true
    const isAsked = row.known_size === size && row.failure === null && row.alarm === null
    return !isAsked || this.#parts.clock.monotonicMs() - answered > ASK_AGAIN_MS
  }

  /** Stores the answers with their audit events. Returns the log lines, for after the commit. */
  async #store(tx: Transaction, asked: LogState, answers: ReadonlyMap<LogWitness, Asked>): Promise<readonly Said[]> {
    const parts = this.#parts
    const now = writeSortable(parts.clock.now())
    // Read again: another instance may have extended the log after it was read here.
    const current = (await findLog(tx.query)) ?? asked
    const rows = new Map((await listWitnesses(tx.query)).map((row) => [row.name, row]))
    const said: Said[] = []
    const lines: NoteSignature[] = []
    for (const [witness, answer] of answers) {
      const before = rows.get(witness.name)
      const row = await this.#keepProof(tx, toRow(witness, answer, { before, asked, current, now }), before, current)
      if (answer.kind === 'cosigned') lines.push(answer.line)
      const change = changeOf(before, row)
      if (change !== undefined) {
        const details: JsonObject = {
          witness: witness.name,
          kind: row.alarm ?? before?.alarm ?? '',
          witness_size: row.alarm_size ?? row.known_size,
          tree_size: current.size,
          proven: row.proof_note !== null,
        }
        await parts.audit.record(tx, { type: change.event, details })
        said.push({ ...change, fields: details })
      }
      await storeWitness(tx, row)
    }
    await removeOthers(
      tx,
      parts.settings.logWitnesses.map(({ name }) => name),
    )
    await storeCosigned(tx, await this.#cosigned(tx, asked, lines, now))
    return said
  }

  /**
   * A stored checkpoint that contradicts the log stays with its alarm, whatever the witness answers now: it may have
   * lost its state, or have a new key.
   */
  async #keepProof(
    tx: Transaction,
    row: WitnessRow,
    before: WitnessRow | undefined,
    current: LogState,
  ): Promise<WitnessRow> {
    const note = before?.proof_note ?? null
    if (before === undefined || note === null || row.proof_note === note) return row
    const tiles = new TileWriter(tx.query, current.size)
    const proofs = [{ name: row.name, note }]
    const fault = await compareWithProofs(proofs, current, this.#parts, (name) => tiles.read(name))
    if (fault === undefined) return row
    const { alarm, alarm_at, alarm_size } = before
    return { ...row, alarm, alarm_at, alarm_size, proof_note: note }
  }

  /** The cosigned checkpoint: a newer one replaces it when it has the quorum, or no fewer cosignatures. */
  async #cosigned(
    tx: Transaction,
    asked: LogState,
    lines: readonly NoteSignature[],
    now: string,
  ): Promise<Omit<CosignedRow, 'id'>> {
    const { logQuorum, logWitnesses } = this.#parts.settings
    const found = (await findCosigned(tx.query)) ?? NONE
    // Witnesses and their keys may have changed since.
    const earlier = await linesOf(found.note, logWitnesses)
    const stored = { ...found, cosigners: earlier.length }
    const merged = mergeLines(asked.note, { note: stored.note, lines: earlier }, lines)
    const isBetter = merged.count >= Math.min(logQuorum, stored.cosigners) || asked.size === stored.tree_size
    const isReplaced = lines.length > 0 && isBetter && asked.size >= stored.tree_size
    const kept = isReplaced
      ? { tree_size: asked.size, note: merged.note, cosigners: merged.count, cosigned_at: now }
      : stored
    const isWitnessed = kept.cosigners >= logQuorum && kept.tree_size >= asked.size
    const { tree_size, note, cosigners, cosigned_at } = kept
    const pending_since = logQuorum === 0 || isWitnessed ? null : (stored.pending_since ?? now)
    return { tree_size, note, cosigners, cosigned_at, pending_since }
  }
}

const NONE: Omit<CosignedRow, 'id'> = {
  tree_size: 0,
  note: null,
  cosigners: 0,
  cosigned_at: null,
  pending_since: null,
}

interface Said {
  readonly text: string
  readonly isAlarm: boolean
  readonly fields: JsonObject
}

interface Facts {
  readonly before: WitnessRow | undefined
  readonly asked: LogState
  readonly current: LogState
  readonly now: string
}

function toRow({ name, verifierKey }: LogWitness, answer: Asked, { before, asked, current, now }: Facts): WitnessRow {
  const kept = before?.verifier_key === verifierKey ? before : undefined
  const row = {
    name,
    verifier_key: verifierKey,
    known_size: kept?.known_size ?? 0,
    cosigned_at: kept?.cosigned_at ?? null,
    tried_at: now,
    failure: null,
    alarm: before?.alarm ?? null,
    alarm_at: before?.alarm_at ?? null,
    alarm_size: before?.alarm_size ?? null,
    proof_note: before?.proof_note ?? null,
  }
  if (answer.kind === 'cosigned') return { ...row, ...NO_ALARM, known_size: asked.size, cosigned_at: now }
  if (answer.kind === 'failed') return { ...row, failure: answer.failure, known_size: answer.size ?? row.known_size }
  // Another instance extended the log meanwhile and asked the witness first.
  if (answer.alarm === 'rolled_back' && answer.size <= current.size)
    return { ...row, failure: 'size_changes', known_size: answer.size }
  return {
    ...row,
    known_size: Math.min(answer.size, asked.size),
    alarm: answer.alarm,
    alarm_at: before?.alarm === answer.alarm ? before.alarm_at : now,
    alarm_size: answer.size,
    proof_note: answer.proof ?? row.proof_note,
  }
}

const NO_ALARM = { alarm: null, alarm_at: null, alarm_size: null, proof_note: null } as const

interface Change {
  readonly event: 'evidence_log_witness_alarm' | 'evidence_log_witness_alarm_ended'
  readonly text: string
  readonly isAlarm: boolean
}

function changeOf(before: WitnessRow | undefined, { alarm }: WitnessRow): Change | undefined {
  if (alarm === (before?.alarm ?? null)) return undefined
  if (alarm === null)
    return {
      event: 'evidence_log_witness_alarm_ended',
      text: 'the witness cosigned the evidence log again',
      isAlarm: false,
    }
  const text =
    alarm === 'rolled_back'
      ? 'evidence log rolled back: a witness has more entries'
      : 'evidence log forked: a witness has other entries'
  return { event: 'evidence_log_witness_alarm', text, isAlarm: true }
}

/** The note with its lines of the log, then one line for each witness. Stored lines for the same text stay. */
function mergeLines(
  note: string,
  stored: { readonly note: string | null; readonly lines: readonly NoteSignature[] },
  lines: readonly NoteSignature[],
): { readonly note: string; readonly count: number } {
  const [own, before] = [readNote(note), readNote(stored.note ?? '')]
  if (own === undefined) return { note, count: 0 }
  const renewed = new Set(lines.map(({ name }) => name))
  const earlier = before?.text === own.text ? stored.lines : []
  const kept = earlier.filter(({ name }) => !renewed.has(name))
  const signatures = [...own.signatures, ...kept, ...lines]
  return { note: writeNote({ text: own.text, signatures }), count: kept.length + lines.length }
}

/** The cosignatures in a note of witnesses in the settings, under their present keys: one line of each. */
async function linesOf(note: string | null, witnesses: readonly LogWitness[]): Promise<readonly NoteSignature[]> {
  const read = readNote(note ?? '')
  const found: NoteSignature[] = []
  for (const { name, publicKey } of witnesses) {
    for (const line of read?.signatures ?? []) {
      if (line.name !== name || read === undefined) continue
      if ((await cosignedAt({ ...read, signatures: [line] }, name, publicKey)) === undefined) continue
      found.push(line)
      break
    }
  }
  return found
}
