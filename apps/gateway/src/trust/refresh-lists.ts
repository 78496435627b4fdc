import { SECOND } from '@chancery/protocol'
import type { Instant, ListHead } from '@chancery/protocol'
import { sleep, toError } from '@chancery/service-kit'
import type { Clock, Log } from '@chancery/service-kit'
import { OutboundFailure, callForBlocks } from '../outbound/call-url.ts'
import type { BlocksAnswer } from '../outbound/call-url.ts'
import type { GatewaySettings } from '../settings.ts'
import { StateUnavailable } from '../state/durable-state.ts'
import type { ListDesk } from './list-desk.ts'
import type { RefreshOutcome, RefreshRecord } from './refresh-outcome.ts'
import type { IssuerStanding } from './snapshot.ts'
import type { TrustBook } from './trust-book.ts'
import { headOf, noteUnread } from './unread-list.ts'

export interface RefreshParts {
  readonly book: TrustBook
  readonly desk: ListDesk
  readonly record: RefreshRecord
  readonly clock: Clock
  readonly log: Log
  readonly settings: Pick<GatewaySettings, 'maxListBytes' | 'unreadListSeconds'>
  /** Called with every refused list; for the audit. */
  readonly onRefused: (standing: IssuerStanding, outcome: RefreshOutcome) => void
  readonly random?: () => number
}

const FETCH_MS = 10_000
const FETCHES_AT_ONCE = 2
const JITTER = 0.1
/** Within two intervals of the end the tries come this many times closer. */
const HURRY = 4
const LEAST_PAUSE_MS = 100

/**
 * The refresh loop of protocol/gateway 9.5: one loop per issuer with an address, each on its own, so that a slow issuer
 * delays no other. Any failure keeps the last verified list, which stops granting trust when it ends.
 */
export class ListRefresher {
  readonly #parts: RefreshParts
  readonly #stop = new AbortController()
  readonly #loops = new Map<string, Promise<void>>()
  #free = FETCHES_AT_ONCE
  readonly #queue: (() => void)[] = []

  constructor(parts: RefreshParts) {
    this.#parts = parts
  }

  /** Starts a loop for every issuer that has none yet; loops of issuers that are gone end by themselves. */
  follow(): void {
    for (const [key, standing] of this.#parts.book.current.standings) {
      if (standing.policy.listUrl === undefined || this.#loops.has(key)) continue
      const loop = this.#loop(key).finally(() => this.#loops.delete(key))
      this.#loops.set(key, loop)
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    for (const wake of this.#queue.splice(0)) wake()
    await Promise.all(this.#loops.values())
  }

  async #loop(key: string): Promise<void> {
    const { signal } = this.#stop
    for (;;) {
      const standing = this.#parts.book.current.standings.get(key)
      if (signal.aborted || standing?.policy.listUrl === undefined) return
      await this.#turn()
      if (signal.aborted) return
      try {
        await this.#attempt(standing)
      } finally {
        this.#leave()
      }
      await sleep(this.#pauseMs(key), signal)
    }
  }

  async #attempt(standing: IssuerStanding): Promise<void> {
    const { network, issuer } = standing.policy
    const { record, clock, log, onRefused, settings } = this.#parts
    const { outcome, head } = await this.#refresh(standing)
    if (this.#stop.signal.aborted) return
    record.note(network, issuer, outcome, clock.now())
    const fields = { network, issuer, outcome }
    if (outcome === 'installed' || outcome === 'unchanged') {
      log.debug('revocation list refreshed', fields)
      // The held list once more is no newer one: what was proven stays proven, and its time runs.
      if (outcome === 'unchanged') await noteUnread(this.#parts, standing, head, outcome)
      return
    }
    if (outcome === 'equivocation')
      log.error('the authority signed two lists under one sequence', { alarm: true, ...fields })
    else if (outcome === 'too_large')
      log.error('the revocation list is larger than GATEWAY_MAX_LIST_BYTES: raise it', {
        alarm: true,
        ...fields,
        max_bytes: settings.maxListBytes,
      })
    else log.warn('revocation list not refreshed', fields)
    await noteUnread(this.#parts, standing, head, outcome)
    onRefused(standing, outcome)
  }

  async #refresh(standing: IssuerStanding): Promise<Refreshed> {
    const { log } = this.#parts
    let head: Promise<ListHead | undefined> | undefined
    try {
      const { status, headers, blocks } = await this.#fetch(standing)
      head = headOf(standing, { status, headers })
      // Every answer but a plain 200 is none; nothing of it is followed or kept.
      if (status !== 200) return { outcome: 'unreachable', head: undefined }
      return { outcome: await this.#judge(standing, blocks), head: await head }
    } catch (thrown) {
      if (thrown instanceof StateUnavailable) return { outcome: 'state', head: await head }
      if (!(thrown instanceof OutboundFailure)) {
        log.error('refresh failed', { error: toError(thrown) })
        return { outcome: 'unreachable', head: await head }
      }
      const isLarge = thrown.kind === 'too_large' && thrown.answer?.status === 200
      return { outcome: isLarge ? 'too_large' : 'unreachable', head: await headOf(standing, thrown.answer) }
    }
  }

  async #judge(standing: IssuerStanding, bytes: Uint8Array[]): Promise<RefreshOutcome> {
    const { book, desk, clock } = this.#parts
    const { issuer, anchors, freshness } = standing.policy
    const held = { mark: standing.mark, index: standing.index }
    const task = { bytes, issuer, anchors, floor: standing.floor, freshness, now: clock.now(), held }
    const judged = await desk.judge({ ...task, demand: 'fresh' })
    if (judged.outcome === 'installed') return (await book.install(standing, judged)) ? 'installed' : 'unchanged'
    if (judged.outcome === 'equivocation' && judged.body !== undefined) await book.accuse(standing, judged.body)
    return judged.outcome
  }

  async #fetch({ policy }: IssuerStanding): Promise<BlocksAnswer> {
    const { listUrl, allowHttp, extraRoot } = policy
    if (listUrl === undefined) throw new OutboundFailure('unreachable')
    return callForBlocks({
      url: listUrl,
      headers: { accept: 'application/json' },
      takesGzip: true,
      timeoutMs: FETCH_MS,
      maxBytes: this.#parts.settings.maxListBytes,
      allowPrivate: allowHttp,
      signal: this.#stop.signal,
      ...(extraRoot === undefined ? {} : { extraRoots: [extraRoot] }),
    })
  }

  #pauseMs(key: string): number {
    const { clock, random = Math.random } = this.#parts
    const standing = this.#parts.book.current.standings.get(key)
    const interval = (standing?.policy.refreshSeconds ?? 60) * 1000
    const left = standing === undefined ? 0 : toMs(standing.mark.nextUpdate - clock.now())
    const pause = (left < 2 * interval ? interval / HURRY : interval) * (1 + JITTER * (2 * random() - 1))
    const unread = standing?.unread
    if (standing === undefined || unread === undefined || standing.floor >= unread.sequence) return pause
    // Asked once more when its time is over: whoever cannot read it then refuses.
    return Math.min(pause, Math.max(LEAST_PAUSE_MS, toMs(unread.refusedFrom - clock.now())))
  }

  async #turn(): Promise<void> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#queue.push(resolve))
  }

  #leave(): void {
    const next = this.#queue.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}

interface Refreshed {
  readonly outcome: RefreshOutcome
  /** What the authority signed of the list it offered. */
  readonly head: ListHead | undefined
}

function toMs(duration: Instant): number {
  return Number(duration / (SECOND / 1000n))
}
