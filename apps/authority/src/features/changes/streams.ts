import { setTimeout as pause } from 'node:timers/promises'
import { Refusal, STREAM_LIMITS } from '@chancery/contract'
import { type JsonObject, writeJson } from '@chancery/protocol'
import { SharedRead, type StreamWriter } from '@chancery/service-kit'
import type { OperatorKey } from '../../auth/operator-keys.ts'
import type { Versions } from '../../database/locks/versions.ts'
import { READ_SOURCES, type TopicVersions, changedSince, joinVersions, toVersions } from './topics.ts'
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

interface OpenStream {
  readonly operator: OperatorKey
  readonly writer: StreamWriter
  readonly openedMs: number
  /** The joint version that the caller has. */
  version: string
  writtenMs: number
}

interface CurrentState {
  readonly domains: Versions
  readonly topics: TopicVersions
}

/**
 * The open event streams of this process, and the one read for all of them. While no stream is open, nothing is read,
 * so consoles cost nothing when none is shown.
 */
export class ChangeStreams {
  readonly #parts: ChangesParts
  readonly #open = new Set<OpenStream>()
  readonly #reads: SharedRead<CurrentState>
  #loop: Promise<void> | undefined
  #stopping = new AbortController()

  constructor(parts: ChangesParts) {
    this.#parts = parts
    this.#reads = new SharedRead(() => readState(parts))
  }

  async read(): Promise<TopicVersions> {
    return (await this.#reads.read()).topics
  }

  /** Refuses a stream beyond the limits of its key or of the process. */
  check(operator: OperatorKey): void {
    if (!this.#parts.isServing()) throw new Refusal('service_unavailable', { reason: 'stopping' })
    if (this.#isKeyFull(operator)) throw new Refusal('rate_limit_exceeded', { reason: 'too_many_streams' })
    if (this.#isFull) throw new Refusal('service_unavailable', { reason: 'overloaded' })
  }

  /** Sends the first event and all later ones. Returns what ends it. */
  open(operator: OperatorKey, writer: StreamWriter, versions: TopicVersions, since: string | undefined): () => void {
    // Requests that were checked together may be too many together. These streams end without an event.
    if (this.#isFull || this.#isKeyFull(operator)) {
      writer.end()
      return () => undefined
    }
    const nowMs = this.#parts.clock.monotonicMs()
    const stream = { operator, writer, openedMs: nowMs, version: joinVersions(versions), writtenMs: nowMs }
    writer.write(toEvent(versions, since ?? stream.version))
    this.#open.add(stream)
    this.#loop ??= this.#run()
    return () => {
      this.#open.delete(stream)
      // The last one stops the loop at once, not after its pause.
      if (this.#open.size === 0) this.#stopping.abort()
    }
  }

  async close(): Promise<void> {
    for (const { writer } of this.#open) writer.end()
    this.#open.clear()
    this.#stopping.abort()
    await this.#loop
  }

  get #isFull(): boolean {
    return this.#open.size >= STREAM_LIMITS.inAll
  }

  #isKeyFull({ key_id }: OperatorKey): boolean {
    let own = 0
    for (const { operator } of this.#open) if (operator.key_id === key_id) own += 1
    return own >= STREAM_LIMITS.perKey
  }

  async #run(): Promise<void> {
    const everyMs = STREAM_LIMITS.readEverySeconds * 1000
    while (this.#open.size > 0) {
      this.#stopping = new AbortController()
      await pause(everyMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined)
      if (this.#open.size > 0) await this.#readOnce()
    }
    this.#loop = undefined
  }

  async #readOnce(): Promise<void> {
    const { rollback, log } = this.#parts
    try {
      await this.#parts.operatorsFile?.refresh()
      const state = await this.#reads.read()
      if (rollback.isHalted()) return this.#endAll()
      for (const stream of this.#open) await this.#update(stream, state)
    } catch (error) {
      // Callers see the failure in their next request.
      log.warn('event streams ended: versions not read', { error })
      this.#endAll()
    }
  }

  async #update(stream: OpenStream, { domains, topics }: CurrentState): Promise<void> {
    const { clock, operators, revokedOperatorKeys } = this.#parts
    const { operator, writer } = stream
    const nowMs = clock.monotonicMs()
    const isRemoved = operators.get(operator.key_id)?.publicKey !== operator.publicKey
    const isOver = nowMs - stream.openedMs >= STREAM_LIMITS.lifeSeconds * 1000
    if (isOver || isRemoved || (await revokedOperatorKeys.has(this.#parts, operator, domains))) {
      this.#open.delete(stream)
      writer.end()
      return
    }
    const version = joinVersions(topics)
    const isSilent = nowMs - stream.writtenMs >= STREAM_LIMITS.heartbeatSeconds * 1000
    if (version === stream.version && !isSilent) return
    writer.write(version === stream.version ? ':\n\n' : toEvent(topics, stream.version))
    stream.version = version
    stream.writtenMs = nowMs
  }

  #endAll(): void {
    for (const { writer } of this.#open) writer.end()
    this.#open.clear()
  }
}

async function readState(parts: ChangesParts): Promise<CurrentState> {
  const [domains, rows] = await Promise.all([parts.versions.read(), parts.database.run(READ_SOURCES, undefined)])
  return { domains, topics: toVersions(rows, domains) }
}

/** What both forms of the response contain. */
export function toChanges(versions: TopicVersions, since: string): JsonObject {
  return { version: joinVersions(versions), changed: [...changedSince(versions, since)], versions: { ...versions } }
}

/** The id of the event is the joint version, which a caller gives as `since` to continue. */
function toEvent(versions: TopicVersions, since: string): string {
  return `id: ${joinVersions(versions)}\nevent: changes\ndata: ${writeJson(toChanges(versions, since))}\n\n`
}
