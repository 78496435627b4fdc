import { useEffect, useState } from 'preact/hooks'

const NARROW = '(max-width: 40rem)'

/** Returns true for a window as narrow as a phone, for layouts that a style sheet cannot change. */
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
