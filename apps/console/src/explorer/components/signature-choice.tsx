import type { Signer } from '@chancery/sdk'
import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { readPastedHeaders } from '../requests/pasted-headers.ts'
import type { PastedHeaders } from '../requests/pasted-headers.ts'
import { KeyPanel } from './key-panel.tsx'

/** How the signature comes about. Pasted headers belong to the request that stood there when they were pasted. */
export type Means =
  | { readonly kind: 'key' }
  | { readonly kind: 'pasted'; readonly headers?: PastedHeaders; readonly covers?: string; readonly isSpent?: true }

interface Props {
  readonly means: Means
  readonly setMeans: (means: Means) => void
  readonly covered: string
  readonly signer: Signer | undefined
  readonly keyNote: string | undefined
  readonly setSigner: (signer: Signer | undefined) => void
}

export function SignatureChoice({ means, setMeans, covered, signer, keyNote, setSigner }: Props): JSX.Element {
  const choice = (kind: Means['kind'], label: string): JSX.Element => (
    <label class="sure">
      <input type="radio" name="means" checked={means.kind === kind} onChange={() => setMeans({ kind })} /> {label}
    </label>
  )
  return (
    <fieldset class="signature">
      <legend>Operator signature</legend>
      <div class="actions">
        {choice('key', 'Sign in this page')}
        {choice('pasted', 'Paste signed headers')}
      </div>
      {means.kind === 'key' ? (
        <KeyPanel signer={signer} note={keyNote} setSigner={setSigner} />
      ) : (
        <Paste means={means} setMeans={setMeans} covered={covered} />
      )}
    </fieldset>
  )
}

function Paste(props: {
  readonly means: Means & { readonly kind: 'pasted' }
  readonly setMeans: (means: Means) => void
  readonly covered: string
}): JSX.Element {
  const { means, setMeans, covered } = props
  const [text, setText] = useState('')
  const take = (pasted: string): void => {
    setText(pasted)
    const headers = readPastedHeaders(pasted)
    setMeans(headers === undefined ? { kind: 'pasted' } : { kind: 'pasted', headers, covers: covered })
  }
  return (
    <>
      <p class="entry">
        <label for="pasted">The four X-Admin headers, as the library gives them</label>
        <textarea
          id="pasted"
          rows={4}
          spellcheck={false}
          value={text}
          onInput={(event) => take(event.currentTarget.value)}
        />
      </p>
      {means.isSpent ? (
        <p class="quiet" data-spent>
          Sent. Their nonce is used up: another request needs another signature.
        </p>
      ) : means.headers === undefined ? (
        <p class="quiet">Key id, timestamp, nonce and signature, each once.</p>
      ) : means.covers === covered ? (
        <p class="quiet">Complete. They fit the request as it stands now: changing it makes them worthless.</p>
      ) : (
        <p class="warning" data-outdated>
          The request changed after the headers were pasted, so they no longer fit. Sign again and paste anew.
        </p>
      )}
    </>
  )
}
