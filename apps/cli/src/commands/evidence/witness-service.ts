import {
  cosignNote,
  judgeCheckpoint,
  readAddCheckpoint,
  readCheckpointText,
  readNote,
  sha256Hex,
  toUtf8,
  writeNote,
} from '@chancery/protocol'
import type { NoteKey, Signer, WitnessVerdict } from '@chancery/protocol'
import type { StoredHead, WitnessStore } from './witness-store.ts'

export interface WitnessAnswer {
  readonly status: number
  readonly type: string
  readonly body: string
}

/** What a witness reports: `cosigned` for a larger log, `forked` for a proven second history, `refused` otherwise. */
export interface WitnessEvent {
  readonly event: 'cosigned' | 'forked' | 'refused'
  readonly origin: string
  readonly size: number
  /** What the witness has of this log. */
  readonly known_size: number
}

export interface WitnessParts {
  readonly store: WitnessStore
  readonly signer: Signer
  /** Keys that it trusts, by the name of the log. Other logs are refused. */
  readonly logs: readonly NoteKey[]
  readonly unixSeconds: () => number
  readonly report: (event: WitnessEvent) => void
  /** For tests: called after the checkpoint is stored and before it is cosigned. */
  readonly afterStore?: () => void
}

const TEXT = 'text/plain; charset=utf-8'
/** Another request may store a checkpoint between the check and the store; then the request is checked again. */
const MAX_ATTEMPTS = 5

/** A witness of logs (C2SP tlog-witness): it cosigns a checkpoint only if it continues the last one it cosigned. */
export class WitnessService {
  readonly #parts: WitnessParts
  readonly #keys: ReadonlyMap<string, readonly string[]>
  readonly #origins: ReadonlyMap<string, string>

  constructor(parts: WitnessParts) {
    this.#parts = parts
    const keys = new Map<string, string[]>()
    for (const { name, publicKey } of parts.logs) keys.set(name, [...(keys.get(name) ?? []), publicKey])
    this.#keys = keys
    this.#origins = new Map([...keys.keys()].map((origin) => [sha256Hex(toUtf8(origin)), origin]))
  }

  /** POST /add-checkpoint */
  async addCheckpoint(body: string): Promise<WitnessAnswer> {
    const { store } = this.#parts
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const seen: { head?: StoredHead | undefined } = {}
      const verdict = await judgeCheckpoint(body, (origin) => {
        const keys = this.#keys.get(origin)
        if (keys === undefined) return undefined
        seen.head = store.last(origin)
        return { keys, last: seen.head }
      })
      const before = seen.head
      if (verdict.kind !== 'cosign') return this.#refuse(verdict, body, before)
      const { checkpoint, note } = verdict
      // The same tree again: what is stored stays.
      const isStored = before?.size === checkpoint.size
      if (!isStored && !store.advance(before, { ...checkpoint, note: writeNote(note) })) continue
      this.#parts.afterStore?.()
      return this.#cosign(verdict, before?.size ?? 0)
    }
    return { status: 503, type: TEXT, body: 'Other requests for this log are faster. Try again.\n' }
  }

  /** GET /<SHA-256 of the origin>/checkpoint: the last checkpoint that was cosigned, as the log signed it. */
  checkpoint(digest: string): WitnessAnswer {
    const origin = this.#origins.get(digest)
    const head = origin === undefined ? undefined : this.#parts.store.last(origin)
    if (head === undefined) return { status: 404, type: TEXT, body: 'There is no checkpoint of this log.\n' }
    return { status: 200, type: TEXT, body: head.note }
  }

  async #cosign(
    { checkpoint, note }: Extract<WitnessVerdict, { kind: 'cosign' }>,
    known_size: number,
  ): Promise<WitnessAnswer> {
    const { signer, unixSeconds, report } = this.#parts
    const { text, signatures } = await cosignNote({ ...note, signatures: [] }, signer, unixSeconds())
    const { origin, size } = checkpoint
    if (size > known_size) report({ event: 'cosigned', origin, size, known_size })
    return { status: 200, type: TEXT, body: writeNote({ text, signatures }).slice(text.length + 1) }
  }

  #refuse(
    verdict: Exclude<WitnessVerdict, { kind: 'cosign' }>,
    body: string,
    before: StoredHead | undefined,
  ): WitnessAnswer {
    if (verdict.kind === 'unknown_origin') return { status: 404, type: TEXT, body: 'This log is not known here.\n' }
    if (verdict.kind === 'untrusted')
      return { status: 403, type: TEXT, body: 'No trusted key signed the checkpoint.\n' }
    if (verdict.kind === 'malformed') return { status: 400, type: TEXT, body: 'The request is malformed.\n' }
    this.#reportRefused(verdict, body, before)
    if (verdict.kind !== 'conflict')
      return { status: 422, type: TEXT, body: 'The proof does not lead from the known checkpoint to this one.\n' }
    return { status: 409, type: 'text/x.tlog.size', body: `${verdict.size}\n` }
  }

  /** The signature is verified here. The same size with another root proves a fork; both notes are stored. */
  #reportRefused(verdict: WitnessVerdict, body: string, before: StoredHead | undefined): void {
    const { store, unixSeconds, report } = this.#parts
    const note = readNote(readAddCheckpoint(body)?.checkpoint ?? '')
    const checkpoint = note === undefined ? undefined : readCheckpointText(note.text)
    if (note === undefined || checkpoint === undefined) return
    const { origin, size } = checkpoint
    const known_size = before?.size ?? 0
    const isFork = verdict.kind === 'conflict' && verdict.isFork
    if (isFork) {
      const isFirst = store.addContradiction({ ...checkpoint, note: writeNote(note) }, unixSeconds())
      if (isFirst) report({ event: 'forked', origin, size, known_size })
    } else if (verdict.kind === 'wrong_proof' || size < known_size)
      report({ event: 'refused', origin, size, known_size })
  }
}
