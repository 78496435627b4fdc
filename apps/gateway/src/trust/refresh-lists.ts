import { DELTA_FROM_BYTES, type Instant, type ListHead, MAX_DELTA_BYTES, SECOND } from '@chancery/protocol'
import { OutboundError, callForBlocks, sleep, toError } from '@chancery/service-kit'
import type { Clock, Log } from '@chancery/service-kit'
import type { BlocksResponse } from '@chancery/service-kit'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { StateUnavailableError } from '../state/durable-state.ts'
import type { ListOutcome } from './check-list.ts'
import { DeltaMisses, deltaUrl, headOf, isMiss, recordUnread } from './unread-list.ts'
import type { RefreshOutcome, RefreshResults } from './unread-list.ts'
import type { ListWorker } from './list-worker.ts'
import { type IssuerState, issuerKey } from './snapshot.ts'
import type { TrustState } from './trust-state.ts'

export interface RefreshParts {
  readonly trust: TrustState
  readonly listWorker: ListWorker
  readonly refreshResults: RefreshResults
  readonly clock: Clock
  readonly log: Log
  readonly settings: Pick<GatewaySettings, 'maxListBytes'>
  /** Called with every refused list, for the audit. */
  readonly onRefused: (issuerState: IssuerState, outcome: RefreshOutcome) => void
  readonly random?: () => number
  /** Follows the keys of a network before its primary list is fetched. Returns whether the issuers changed. */
  readonly followKeys?: (network: string, signal: AbortSignal) => Promise<boolean>
}

const FETCH_MS = 10_000
const FETCHES_AT_ONCE = 2
const JITTER = 0.1
/** Within two intervals of the expiry, attempts are this many times more frequent. */
const HURRY = 4
const LEAST_PAUSE_MS = 100

/**
 * Runs the refresh loops of protocol/gateway 9.5: one loop per issuer with a URL, so that a slow issuer delays no
 * other. After a failure the last verified list stays in force until it expires.
 */
export class ListRefresher {
  readonly #parts: RefreshParts
  readonly #stop = new AbortController()
  readonly #loops = new Map<string, Promise<void>>()
  readonly #misses = new DeltaMisses()
  #free = FETCHES_AT_ONCE
  readonly #queue: (() => void)[] = []

  constructor(parts: RefreshParts) {
    this.#parts = parts
  }

  /** Starts a loop for every issuer that has none. Loops of removed issuers end by themselves. */
  startLoops(): void {
    for (const [key, issuerState] of this.#parts.trust.current.issuers) {
      if (issuerState.policy.listUrl === undefined || this.#loops.has(key)) continue
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
      const issuerState = this.#parts.trust.current.issuers.get(key)
      if (signal.aborted || issuerState?.policy.listUrl === undefined) return
      await this.#turn()
      if (signal.aborted) return
      try {
        await this.#follow(issuerState)
        const current = this.#parts.trust.current.issuers.get(key)
        if (current !== undefined && !signal.aborted) await this.#attempt(current)
      } finally {
        this.#leave()
      }
      await sleep(this.#pauseMs(key), signal)
    }
  }

  /** A failure is logged: lists are still fetched. */
  async #follow({ policy }: IssuerState): Promise<void> {
    const { trust, followKeys, log } = this.#parts
    const { network, issuer } = policy
    if (followKeys === undefined || trust.current.policy.networks.get(network)?.primary.issuer !== issuer) return
    try {
      if (await followKeys(network, this.#stop.signal)) this.startLoops()
    } catch (thrown) {
      log.error('keys of a network not followed', { network, error: toError(thrown) })
    }
  }

  async #attempt(issuerState: IssuerState): Promise<void> {
    const { network, issuer } = issuerState.policy
    const { refreshResults, clock, log, onRefused, settings } = this.#parts
    const { outcome, head } = await this.#refresh(issuerState)
    if (this.#stop.signal.aborted) return
    refreshResults.add(network, issuer, outcome, clock.now())
    const fields = { network, issuer, outcome }
    if (outcome === 'installed' || outcome === 'unchanged') {
      log.debug('revocation list refreshed', fields)
      // An unchanged list is not newer. An earlier proof of a newer list stays valid, and its time limit continues.
      if (outcome === 'unchanged') await recordUnread(this.#parts, issuerState, head, outcome)
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
    await recordUnread(this.#parts, issuerState, head, outcome)
    onRefused(issuerState, outcome)
  }

  async #refresh(issuerState: IssuerState): Promise<RefreshResult> {
    const { log } = this.#parts
    let head: Promise<ListHead | undefined> | undefined
    try {
      const changed = await this.#refreshByDelta(issuerState)
      if (changed !== undefined) return changed
      const { status, headers, blocks } = await this.#fetch(issuerState, issuerState.policy.listUrl)
      head = headOf(issuerState, { status, headers })
      // Any response other than 200 is ignored. Redirects are not followed.
      if (status !== 200) return { outcome: 'unreachable', head: undefined }
      return { outcome: await this.#judge(issuerState, blocks), head: await head }
    } catch (thrown) {
      if (thrown instanceof StateUnavailableError) return { outcome: 'state', head: await head }
      if (!(thrown instanceof OutboundError)) {
        log.error('refresh failed', { error: toError(thrown) })
        return { outcome: 'unreachable', head: await head }
      }
      const isLarge = thrown.kind === 'too_large' && thrown.response?.status === 200
      return { outcome: isLarge ? 'too_large' : 'unreachable', head: await headOf(issuerState, thrown.response) }
    }
  }

  /**
   * Reads the change since the current list. Undefined when the full list must be read: there is no delta, or anything is
   * wrong with it. Then the full list decides, and a wrong delta changes nothing.
   */
  async #refreshByDelta(issuerState: IssuerState): Promise<RefreshResult | undefined> {
    const { policy, body, position } = issuerState
    const key = issuerKey(policy.network, policy.issuer)
    const url = body.length < DELTA_FROM_BYTES ? undefined : deltaUrl(policy.listUrl, position)
    if (url === undefined || this.#misses.skip(key)) return undefined
    const response = await this.#fetch(issuerState, url, MAX_DELTA_BYTES).catch((error: unknown) => {
      if (error instanceof OutboundError) return error
      throw error
    })
    if (response instanceof OutboundError) {
      if (isMiss(response)) this.#misses.add(key)
      return undefined
    }
    const head = headOf(issuerState, response)
    if (response.status === 200) {
      const result = await this.#check(issuerState, response.blocks, true)
      const isNew = result.outcome === 'installed'
      if (isNew || result.outcome === 'unchanged') {
        this.#misses.clear(key)
        const outcome = isNew && (await this.#parts.trust.install(issuerState, result)) ? 'installed' : 'unchanged'
        return { outcome, head: await head }
      }
      // Both lists are signed: the full list, which may be the current one, must not hide it.
      if (await this.#markEquivocation(issuerState, result)) return { outcome: 'equivocation', head: await head }
    }
    if (isMiss(response)) this.#misses.add(key)
    return undefined
  }

  #check(issuerState: IssuerState, bytes: Uint8Array[], isDelta: boolean): Promise<ListOutcome> {
    const { listWorker, clock, settings } = this.#parts
    const { issuer, anchors, freshness } = issuerState.policy
    const current = { position: issuerState.position, index: issuerState.index }
    const task = { bytes, issuer, anchors, floor: issuerState.floor, freshness, now: clock.now(), current }
    const delta = isDelta ? { delta: { base: issuerState.body, maxBytes: settings.maxListBytes } } : {}
    return listWorker.check({ ...task, ...delta, demand: 'fresh' })
  }

  async #judge(issuerState: IssuerState, bytes: Uint8Array[]): Promise<RefreshOutcome> {
    const { trust } = this.#parts
    const result = await this.#check(issuerState, bytes, false)
    if (result.outcome === 'installed') return (await trust.install(issuerState, result)) ? 'installed' : 'unchanged'
    await this.#markEquivocation(issuerState, result)
    return result.outcome
  }

  /** Returns whether the authority signed two lists under one sequence. */
  async #markEquivocation(issuerState: IssuerState, { outcome, body }: ListOutcome): Promise<boolean> {
    if (outcome !== 'equivocation' || body === undefined) return false
    await this.#parts.trust.markSuspect(issuerState, body)
    return true
  }

  async #fetch(
    { policy }: IssuerState,
    url: URL | undefined,
    maxBytes: number = this.#parts.settings.maxListBytes,
  ): Promise<BlocksResponse> {
    const { allowHttp, extraRoot } = policy
    if (url === undefined) throw new OutboundError('unreachable')
    return callForBlocks({
      url,
      headers: { accept: 'application/json' },
      takesGzip: true,
      timeoutMs: FETCH_MS,
      maxBytes,
      allowPrivate: allowHttp,
      signal: this.#stop.signal,
      ...(extraRoot === undefined ? {} : { extraRoots: [extraRoot] }),
    })
  }

  #pauseMs(key: string): number {
    const { clock, random = Math.random } = this.#parts
    const issuerState = this.#parts.trust.current.issuers.get(key)
    const interval = (issuerState?.policy.refreshSeconds ?? 60) * 1000
    const left = issuerState === undefined ? 0 : toMs(issuerState.position.nextUpdate - clock.now())
    const pause = (left < 2 * interval ? interval / HURRY : interval) * (1 + JITTER * (2 * random() - 1))
    const unread = issuerState?.unread
    if (issuerState === undefined || unread === undefined || issuerState.floor >= unread.sequence) return pause
    // Fetches again at the time limit: if the list still cannot be read, the issuer is refused.
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

interface RefreshResult {
  readonly outcome: RefreshOutcome
  /** The signed head of the offered list. */
  readonly head: ListHead | undefined
}

function toMs(duration: Instant): number {
  return Number(duration / (SECOND / 1000n))
}
