import type { ChangeTopic } from '@chancery/contract'
import type { Changes } from '@chancery/sdk/authority'
import { CallError, at, openStream, read } from './client.ts'
import { EventReader } from './event-stream.ts'
import { type Store, createStore } from './store.ts'

/** The authority sends something at least every 15 seconds. */
const SILENCE_MS = 40_000
/** A proxy that collects events shows none in this time. */
const FIRST_EVENT_MS = 5_000
/** Without a stream. Each of these reads is signed and counted. */
const POLL_MS = 5_000
const RETRY_MS = 15_000
const RETURN_MS = 1_000
const MAX_RETRY_MS = 240_000

/** True while changes are reported, by the stream or by polling. Otherwise lists are read again by time. */
export const isFollowing: Store<boolean> = createStore(false)
let heard = 0
/** When the authority last stated what changed. */
export const heardAt = (): number => heard

interface Listener {
  readonly topics: readonly ChangeTopic[]
  readonly onChange: () => void
}

const listeners = new Set<Listener>()
const url = at`/admin/changes`
let version: string | undefined
let running: AbortController | undefined

/** Calls `onChange` after each change of one of the topics, while the page is visible. */
export function onChanges(topics: readonly ChangeTopic[], onChange: () => void): () => void {
  const listener = { topics, onChange }
  if (listeners.size === 0) document.addEventListener('visibilitychange', update)
  listeners.add(listener)
  update()
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) document.removeEventListener('visibilitychange', update)
    // A move between pages removes listeners and adds others: that does not need another stream.
    queueMicrotask(update)
  }
}

/** Follows changes while a page listens and the page is visible. */
function update(): void {
  const isWanted = listeners.size > 0 && !document.hidden
  if (isWanted === (running !== undefined)) return
  running?.abort()
  running = undefined
  if (listeners.size === 0) version = undefined
  isFollowing.set(false)
  if (!isWanted) return
  running = new AbortController()
  void follow(running.signal)
}

/** Reads streams one after the other, and polls for a time after each that failed. */
async function follow(signal: AbortSignal): Promise<void> {
  let retryMs = RETRY_MS
  while (!signal.aborted) {
    if (await readStream(signal)) {
      retryMs = RETRY_MS
      // Consoles whose authority stopped do not return all at once.
      await pause(Math.random() * RETURN_MS, signal)
    } else {
      await pollFor(retryMs, signal)
      retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)
    }
  }
}

/** Returns true when the stream worked until it ended. */
async function readStream(signal: AbortSignal): Promise<boolean> {
  const silence = new AbortController()
  let timer = setTimeout(() => silence.abort(), FIRST_EVENT_MS)
  let hasWorked = false
  try {
    const body = await openStream(url, { since: version }, AbortSignal.any([signal, silence.signal]))
    const events = new EventReader()
    for await (const text of textsOf(body)) {
      for (const data of events.push(text)) if (data !== '') report(JSON.parse(data) as Changes)
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), SILENCE_MS)
      heard = Date.now()
      hasWorked = true
      if (!signal.aborted) isFollowing.set(true)
    }
    return hasWorked
  } catch {
    // A page whose stream was cut opens the next one at once. One that never had one polls.
    return hasWorked && !silence.signal.aborted
  } finally {
    clearTimeout(timer)
    silence.abort()
  }
}

async function* textsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  for (let piece = await reader.read(); !piece.done; piece = await reader.read())
    yield decoder.decode(piece.value, { stream: true })
}

async function pollFor(milliseconds: number, signal: AbortSignal): Promise<void> {
  const until = Date.now() + milliseconds
  while (!signal.aborted && Date.now() < until) {
    let waitMs = POLL_MS
    try {
      report(await read<Changes>(url, { since: version }, signal))
      heard = Date.now()
      if (!signal.aborted) isFollowing.set(true)
    } catch (error) {
      if (!signal.aborted) isFollowing.set(false)
      // An authority of an earlier release has no such route.
      if (error instanceof CallError)
        waitMs = error.status === 404 ? milliseconds : Math.max(waitMs, (error.retryAfterSeconds ?? 0) * 1000)
    }
    await pause(waitMs, signal)
  }
}

function report(changes: Changes): void {
  version = changes.version
  const changed = new Set(changes.changed)
  for (const { topics, onChange } of listeners) if (topics.some((topic) => changed.has(topic))) onChange()
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
}
