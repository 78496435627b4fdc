import { useEffect, useState } from 'preact/hooks'

const NARROW = '(max-width: 40rem)'

/** Whether the window is as small as a telephone; where a style sheet alone cannot do it. */
export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches)
  useEffect(() => {
    const query = matchMedia(NARROW)
    const follow = (): void => setNarrow(query.matches)
    query.addEventListener('change', follow)
    return () => query.removeEventListener('change', follow)
  }, [])
  return isNarrow
}
