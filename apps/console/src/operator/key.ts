import type { Signer } from '@chancery/protocol'
import { idleMinutes, signOutWhenIdle, signedOutText } from '../idle-key.ts'
import { type Store, createStore } from './store.ts'

/** The part of GET /admin/whoami that pages use. */
export interface WhoAmI {
  readonly tier: 'standard' | 'privileged'
  /** Null when every role may be granted. */
  readonly allowed_roles?: readonly string[] | null
  readonly silent_after_seconds?: number
}

/** What pages may read of the open key. The key itself is in one variable of this module and nowhere else. */
export interface Session {
  readonly keyId: string
  readonly publicKey: string
  /** The authority that every signature of this session is for: the key of the pinned genesis block. */
  readonly audience: string
  /** What the authority reports about the key; undefined when it does not (GET /admin/whoami). */
  readonly who: WhoAmI | undefined
  /** Aborted when the key is removed, with every running request. */
  readonly signal: AbortSignal
  /** False until the authority accepted the key; pages are shown after that. */
  readonly isAccepted: boolean
}

const HIDDEN_MS = 5 * 60_000
const LONGEST_MS = 8 * 3_600_000
const SIGNS_OF_A_READER = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'] as const

// Not stored, not in the history, not sent to a worker or another window.
let signer: Signer | undefined
let end: (() => void) | undefined
let lastInput = 0

export const session: Store<Session | undefined> = createStore<Session | undefined>(undefined)
/** Why the console is locked, for the unlock card. */
export const lockReason: Store<string> = createStore('')
/** Cleared with the key: lists, tokens and everything else that was read with it. */
const onLock = new Set<() => void>()

export function clearOnLock(clear: () => void): void {
  onLock.add(clear)
}

export function openSession(opened: Signer, audience: string): void {
  lock('')
  signer = opened
  const abort = new AbortController()
  const limits = startLimits()
  end = () => {
    limits()
    abort.abort(new DOMException('The key was removed.', 'AbortError'))
  }
  const { keyId, publicKey } = opened
  session.set({ keyId, publicKey, audience, who: undefined, signal: abort.signal, isAccepted: false })
}

/** The authority accepted the key: pages are shown from now on. */
export function acceptSession(who: WhoAmI | undefined): void {
  const open = session.get()
  if (open !== undefined) session.set({ ...open, who, isAccepted: true })
}

/** Removes the key, ends running requests and clears everything that was read with it. */
export function lock(reason: string): void {
  signer = undefined
  end?.()
  end = undefined
  lockReason.set(reason)
  for (const clear of onLock) clear()
  session.set(undefined)
}

/** Locks this window and every other window of the console. */
export function lockEverywhere(reason: string): void {
  lock(reason)
  channel?.postMessage('locked')
}

/** For signing/payload.ts only, which shows every byte before it is signed. A test checks that. */
export function openSigner(): Signer {
  if (signer === undefined) throw new Error('The console is locked.')
  return signer
}

/** Time until the key is removed without input. */
export function idleMsLeft(): number {
  return lastInput + idleLimitMinutes() * 60_000 - performance.now()
}

export function idleLimitMinutes(): number {
  return idleMinutes(document.querySelector('#operator'))
}

// Carries one word, never a key. Another window begins locked.
const channel = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('chancery-console')
channel?.addEventListener('message', ({ data }) => {
  if (data === 'locked') lock('The key was removed in another window.')
})

function startLimits(): () => void {
  const minutes = idleLimitMinutes()
  const since = Date.now()
  let hiddenAt: number | undefined
  lastInput = performance.now()
  const touch = (): void => {
    lastInput = performance.now()
  }
  const check = (): void => {
    hiddenAt = document.hidden ? (hiddenAt ?? Date.now()) : hiddenAt
    if (hiddenAt !== undefined && Date.now() - hiddenAt >= HIDDEN_MS)
      lock('The key was removed after 5 minutes in a hidden window.')
    else if (Date.now() - since >= LONGEST_MS) lock('The key was removed after 8 hours.')
    else if (!document.hidden) hiddenAt = undefined
  }
  const leave = (): void => lock('The key was removed because the page was left.')
  const stopIdle = signOutWhenIdle(minutes, () => lock(signedOutText(minutes)))
  const timer = setInterval(check, 5_000)
  for (const sign of SIGNS_OF_A_READER) document.addEventListener(sign, touch, true)
  document.addEventListener('visibilitychange', check)
  document.addEventListener('freeze', leave)
  addEventListener('pagehide', leave)
  return () => {
    stopIdle()
    clearInterval(timer)
    for (const sign of SIGNS_OF_A_READER) document.removeEventListener(sign, touch, true)
    document.removeEventListener('visibilitychange', check)
    document.removeEventListener('freeze', leave)
    removeEventListener('pagehide', leave)
  }
}
