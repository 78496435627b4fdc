import type { ChangeTopic } from '@chancery/contract'
import { useEffect, useRef, useState } from 'preact/hooks'
import { heardAt, isFollowing } from '../changes.ts'
import type { CallError } from '../client.ts'
import { createStore } from '../store.ts'
import { type Cause, Poll } from './polling.ts'

/** For summaries of everything: they are costly for the authority, and every change may be in them. */
export const SUMMARY_GAP_MS = 10_000
const STALE_MS = 45_000
/** Before this time an empty page is calmer than one that flashes. */
const SLOW_MS = 200

export interface LiveValue<Value> {
  readonly value: Value | undefined
  /** Why the last read failed; the value before it stays. */
  readonly problem: CallError | undefined
  /** When the value was read, or the authority stated that nothing changed. */
  readonly readAt: number | undefined
  readonly isStale: boolean
  /** True when the first answer takes longer than 200 ms. */
  readonly isSlow: boolean
  /** When it is read again, after a failure. */
  readonly nextAt: number | undefined
  /** Whether the user asked for the last read. */
  readonly cause: Cause
  reload(): void
}

/** Set by the key R and by actions that changed something: every shown value is read again. */
export const reloads = createStore(0)
export const reloadAll = (): void => reloads.set(reloads.get() + 1)

interface Held<Value> {
  readonly value?: Value | undefined
  readonly problem?: CallError | undefined
  readonly readAt?: number
  readonly nextAt?: number
  readonly cause?: Cause
}

export interface LiveOptions {
  /** Milliseconds between two reads that follow changes. */
  readonly gapMs?: number
  /** True when the value changes with time, too, or by commands on the host. */
  readonly isTimed?: boolean
  /** True when the value is read again for its user only. */
  readonly isOnce?: boolean
}

/**
 * Reads a value, and reads it again after a change of its topics, or every 15 seconds without topics or without reports
 * of changes. Stops while the page is hidden. `key` names what is read: another key begins again.
 */
export function useLive<Value>(
  key: string,
  load: (signal: AbortSignal) => Promise<Value>,
  topics: readonly ChangeTopic[] = [],
  { gapMs, isTimed, isOnce }: LiveOptions = {},
): LiveValue<Value> {
  const [held, setHeld] = useState<Held<Value>>({})
  const [isSlow, setSlow] = useState(false)
  const [, renderAgain] = useState(0)
  const run = useRef<() => void>(() => undefined)
  useEffect(() => {
    const abort = new AbortController()
    setHeld({})
    setSlow(false)
    const slow = setTimeout(() => setSlow(true), SLOW_MS)
    const polling = new Poll({
      load: () => load(abort.signal),
      onValue: (value, cause) => {
        clearTimeout(slow)
        setHeld({ value, readAt: Date.now(), cause })
      },
      onProblem: (problem, nextAt) => {
        clearTimeout(slow)
        setHeld((before) => ({ ...before, problem, nextAt }))
      },
      topics,
      gapMs,
      isTimed,
      isOnce,
    })
    run.current = () => polling.now()
    const endReloads = reloads.subscribe(run.current)
    const ager = setInterval(() => renderAgain((count) => count + 1), STALE_MS / 3)
    return () => {
      abort.abort()
      clearTimeout(slow)
      clearInterval(ager)
      endReloads()
      polling.end()
    }
  }, [key])
  const readAt = topics.length === 0 ? held.readAt : freshAt(held)
  return {
    value: held.value,
    problem: held.problem,
    readAt,
    nextAt: held.nextAt,
    cause: held.cause ?? 'user',
    isSlow: isSlow && held.readAt === undefined && held.problem === undefined,
    isStale: readAt !== undefined && Date.now() - readAt > STALE_MS,
    reload: () => run.current(),
  }
}

/** A value without a reported change is as new as the last report. */
function freshAt({ readAt, problem }: Held<unknown>): number | undefined {
  if (readAt === undefined || problem !== undefined || !isFollowing.get()) return readAt
  return Math.max(readAt, heardAt())
}
