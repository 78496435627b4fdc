import type { Signer } from '@chancery/sdk'
import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { type PastedHeaders, readPastedHeaders } from '../requests/pasted-headers.ts'
import { KeyPanel } from './key-panel.tsx'

/** Selects how a request is signed. Pasted headers belong to the request that was shown when they were pasted. */
export type SigningMethod =
  | { readonly kind: 'key' }
  | { readonly kind: 'pasted'; readonly headers?: PastedHeaders; readonly covers?: string; readonly isSpent?: true }

interface Props {
  readonly method: SigningMethod
  readonly setMethod: (method: SigningMethod) => void
  readonly covered: string
  readonly signer: Signer | undefined
  readonly keyNote: string | undefined
  readonly setSigner: (signer: Signer | undefined) => void
}

export function SignatureChoice({ method, setMethod, covered, signer, keyNote, setSigner }: Props): JSX.Element {
  const choice = (kind: SigningMethod['kind'], label: string): JSX.Element => (
    <label class="sure">
      <input type="radio" name="method" checked={method.kind === kind} onChange={() => setMethod({ kind })} /> {label}
    </label>
  )
  return (
    <fieldset class="signature">
      <legend>Operator signature</legend>
      <div class="actions">
        {choice('key', 'Sign in this page')}
        {choice('pasted', 'Paste signed headers')}
      </div>
      {method.kind === 'key' ? (
        <KeyPanel signer={signer} note={keyNote} setSigner={setSigner} />
      ) : (
        <Paste method={method} setMethod={setMethod} covered={covered} />
      )}
    </fieldset>
  )
}

function Paste(props: {
  readonly method: SigningMethod & { readonly kind: 'pasted' }
  readonly setMethod: (method: SigningMethod) => void
  readonly covered: string
}): JSX.Element {
  const { method, setMethod, covered } = props
  const [text, setText] = useState('')
  const choose = (pasted: string): void => {
    setText(pasted)
    const headers = readPastedHeaders(pasted)
    setMethod(headers === undefined ? { kind: 'pasted' } : { kind: 'pasted', headers, covers: covered })
  }
  return (
    <>
      <p class="field">
        <label for="pasted">The four X-Admin headers, as returned by the library</label>
        <textarea
          class="input"
          id="pasted"
          rows={4}
          spellcheck={false}
          value={text}
          onInput={(event) => choose(event.currentTarget.value)}
        />
      </p>
      {method.isSpent ? (
        <p class="quiet" data-spent>
          Sent. Their nonce is used up: another request needs another signature.
        </p>
      ) : method.headers === undefined ? (
        <p class="quiet">Key id, timestamp, nonce and signature, each once.</p>
      ) : method.covers === covered ? (
        <p class="quiet">Complete. The headers are valid only for the request as shown.</p>
      ) : (
        <p class="banner watch" data-outdated>
          The request changed after the headers were pasted. Sign the request again and paste the new headers.
        </p>
      )}
    </>
  )
}
