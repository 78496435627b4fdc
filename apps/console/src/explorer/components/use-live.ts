import { useEffect, useState } from 'preact/hooks'
import { explain } from '../../authority.ts'

const EVERY_MS = 30_000
const SOON_MS = 3000

export interface Live<Value> {
  /** The last one that could be read. */
  readonly value: Value | undefined
  /** Why the latest attempt failed. */
  readonly problem: string | undefined
  /** When the latest attempt ended. */
  readonly atMs: number
}

/**
 * Keeps something as new as the gateway while somebody looks; a hidden page asks nothing. What the gateway itself calls
 * old is asked for again soon.
 */
export function useLive<Value>(
  load: () => Promise<Value>,
  isOld: (value: Value) => boolean = () => false,
): Live<Value> {
  const [live, setLive] = useState<Live<Value>>({ value: undefined, problem: undefined, atMs: Date.now() })
  useEffect(() => {
    let isOpen = true
    let timer: ReturnType<typeof setTimeout> | undefined
    const refresh = async (): Promise<void> => {
      clearTimeout(timer)
      let waitMs = EVERY_MS
      try {
        const value = await load()
        if (isOld(value)) waitMs = SOON_MS
        if (isOpen) setLive({ value, problem: undefined, atMs: Date.now() })
      } catch (error) {
        if (isOpen) setLive((held) => ({ value: held.value, problem: explain(error), atMs: Date.now() }))
      }
      if (isOpen && !document.hidden) timer = setTimeout(() => void refresh(), waitMs)
    }
    const onVisibility = (): void => {
      clearTimeout(timer)
      if (!document.hidden) void refresh()
    }
    document.addEventListener('visibilitychange', onVisibility)
    void refresh()
    return () => {
      isOpen = false
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onVisibility)
    }
  }, [])
  return live
}
