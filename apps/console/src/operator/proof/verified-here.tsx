import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { State } from '../parts/state.tsx'

/** Runs a check when `of` changes, which names what is checked. A check that cannot run is a reason too. */
export function useCheck<Value>(of: string, check: () => Promise<Value>): Value | Error | undefined {
  const [result, setResult] = useState<Value | Error>()
  useEffect(() => {
    let isCurrent = true
    setResult(undefined)
    const set = (value: Value | Error): void => {
      if (isCurrent) setResult(() => value)
    }
    check().then(set, (error: unknown) => set(error instanceof Error ? error : new Error(String(error))))
    return () => {
      isCurrent = false
    }
  }, [of])
  return result
}

/** The result of a check in this browser: verified, or why not. */
export function VerifiedHere({ finding }: { readonly finding: string | Error | undefined }): JSX.Element | null {
  if (finding === undefined) return null
  if (finding === '') return <State shape="tick" tone="good" word="verified in this browser" />
  return finding instanceof Error ? (
    <State shape="dash" tone="ended" word={`not verified here: ${finding.message}`} />
  ) : (
    <State shape="square" tone="bad" word={finding} />
  )
}
