const MINUTE_MS = 60_000
const SIGNS_OF_A_READER = ['pointerdown', 'pointermove', 'keydown', 'wheel'] as const
/** Interval of the idle check. */
const CHECK_MS = 5_000

/** Source of input events: the page, or a fake of a test. */
export interface IdleSource {
  readonly events: EventTarget
  /** Two clocks: one may be set back, the other stops while the machine sleeps. */
  readonly clocks: readonly (() => number)[]
}

const thisPage = (): IdleSource => ({ events: document, clocks: [() => Date.now(), () => performance.now()] })

/**
 * Calls `lock` once after this many minutes without input. The first input after that time also locks, because a
 * machine that slept must not wake up unlocked. Returns a function that ends the check.
 */
export function signOutWhenIdle(
  minutes: number,
  lock: () => void,
  { events, clocks }: IdleSource = thisPage(),
): () => void {
  let seen = clocks.map((clock) => clock())
  const check = (): boolean => {
    const isOver = clocks.some((clock, at) => clock() - (seen[at] ?? 0) >= minutes * MINUTE_MS)
    if (!isOver) return false
    end()
    lock()
    return true
  }
  const touch = (): void => {
    if (!check()) seen = clocks.map((clock) => clock())
  }
  const timer = setInterval(check, CHECK_MS)
  const end = (): void => {
    clearInterval(timer)
    for (const sign of SIGNS_OF_A_READER) events.removeEventListener(sign, touch, true)
    events.removeEventListener('visibilitychange', check)
  }
  for (const sign of SIGNS_OF_A_READER) events.addEventListener(sign, touch, true)
  events.addEventListener('visibilitychange', check)
  return end
}

const DEFAULT_MINUTES = 15

/** Returns the minutes that the service wrote into the page, or the default. */
export function idleMinutes(element: Element | null): number {
  const given = Number(element?.getAttribute('data-key-idle-minutes'))
  return Number.isInteger(given) && given > 0 ? given : DEFAULT_MINUTES
}

export function signedOutText(minutes: number): string {
  return `The key was removed after ${minutes === 1 ? 'a minute' : `${minutes} minutes`} without input.`
}
