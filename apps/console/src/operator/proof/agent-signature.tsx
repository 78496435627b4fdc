import { type AgentDescriptor, verifyAgentDescriptor } from '@chancery/protocol'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { State } from '../parts/state.tsx'

/** The signature is checked in this browser, with the key of the node. */
export function AgentSignature({ agent }: { readonly agent: AgentDescriptor }): JSX.Element | null {
  const [isValid, setValid] = useState<boolean>()
  const [{ sig } = { sig: '' }] = agent.signatures
  useEffect(() => {
    void verifyAgentDescriptor(agent).then(setValid, () => setValid(false))
  }, [sig])
  if (isValid === undefined) return null
  return isValid ? (
    <State shape="tick" tone="good" word="Verified here" />
  ) : (
    <State shape="square" tone="bad" word="Signature is not valid" />
  )
}
