import type { JSX } from 'preact'
import { Icon } from '../parts/icon.tsx'
import { Copy } from '../parts/id.tsx'
import type { Payload } from './payload.ts'
import { spellOut } from './spell-out.ts'

/** The canonical text of each request, on several lines for reading. The copy button gives the exact bytes. */
export function SignedText(props: { readonly payloads: readonly Payload[]; readonly isOpen: boolean }): JSX.Element {
  return (
    <details open={props.isOpen} data-signed={props.payloads.length}>
      <summary>
        <Icon name="right" />
        Exactly what is signed
        <small>{props.payloads.length === 2 ? '2 requests · ' : ''}9 members · Ed25519</small>
      </summary>
      {props.payloads.map((payload) => (
        <div class="codebox" key={payload.nonce}>
          <Copy text={payload.text} what="the signed text" />
          <pre class="code" tabIndex={0} aria-label="What is signed">
            {spellOut(payload.text)}
          </pre>
        </div>
      ))}
    </details>
  )
}
