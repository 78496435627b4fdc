import type { ComponentChildren, JSX } from 'preact'
import { CallError } from '../client.ts'
import { Blank } from '../parts/problem.tsx'

export function isStoreOff(problem: unknown): boolean {
  return problem instanceof CallError && problem.code === 'evidence_store_disabled'
}

/** What a page shows when the authority stores no evidence. `children` are the drawers that work without it. */
export function StoreOff(props: { readonly bar: JSX.Element; readonly children?: ComponentChildren }): JSX.Element {
  return (
    <>
      {props.bar}
      <Blank
        icon="evidence"
        title="The evidence store is off"
        text="It stores every decision and every execution, so that a later change is detectable. Set EVIDENCE_STORE=on and start the authority again."
      >
        <p>
          An evidence pack can be verified without it:{' '}
          <code class="mono">chancery verify FILE --genesis genesis.json</code>
        </p>
      </Blank>
      {props.children}
    </>
  )
}
