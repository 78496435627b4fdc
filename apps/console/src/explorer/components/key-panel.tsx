import type { Signer } from '@chancery/sdk'
import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../../authority.ts'
import { Badge } from '../../components/badge.tsx'
import { openKey } from '../../session-keys.ts'

interface Props {
  readonly signer: Signer | undefined
  /** Why an earlier key is gone. */
  readonly note: string | undefined
  readonly setSigner: (signer: Signer | undefined) => void
}

/** Reads the operator key into the page as a non-extractable key, and removes it on demand. */
export function KeyPanel({ signer, note, setSigner }: Props): JSX.Element {
  if (signer === undefined) return <KeyForm note={note} setSigner={setSigner} />
  return (
    <div>
      <p>
        <Badge tone="good" word="key in this page" /> <strong>{signer.keyId}</strong>{' '}
        <code class="id">{signer.publicKey}</code>
      </p>
      <button type="button" class="btn" onClick={() => setSigner(undefined)}>
        Remove the key
      </button>
    </div>
  )
}

function KeyForm({ note, setSigner }: Pick<Props, 'note' | 'setSigner'>): JSX.Element {
  const [problem, setProblem] = useState('')
  const submit = async (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): Promise<void> => {
    event.preventDefault()
    const form = event.currentTarget
    const valueOf = (id: string): string => form.querySelector<HTMLInputElement>(`#${id}`)?.value.trim() ?? ''
    const file = form.querySelector<HTMLInputElement>('#key-file')?.files?.[0]
    try {
      const [keyId, typed] = [valueOf('key-id'), valueOf('seed')]
      const text = typed === '' ? ((await file?.text()) ?? '') : typed
      if (text === '') throw new Error('Give the seed or a private key file.')
      const signer = await openKey(text, keyId)
      form.reset()
      setSigner(signer)
    } catch (error) {
      setProblem(explain(error))
    }
  }
  if (!globalThis.isSecureContext)
    return (
      <p role="alert">
        Over plain HTTP the browser gives this page no cryptography. Open the gateway over TLS, or paste headers that
        were signed elsewhere.
      </p>
    )
  return (
    <form class="key-form" onSubmit={(event) => void submit(event)}>
      {note === undefined ? null : <p role="status">{note}</p>}
      <p class="field">
        <label for="key-id">Key id</label>
        <input class="input" id="key-id" autocomplete="off" spellcheck={false} />
        <span class="quiet">May be empty for a key file that names it.</span>
      </p>
      <p class="field">
        <label for="seed">Seed, base64</label>
        <input class="input" id="seed" type="password" autocomplete="off" spellcheck={false} />
      </p>
      <p class="field">
        <label for="key-file">or private key file</label>
        <input id="key-file" type="file" />
      </p>
      <button class="btn">Use this key here</button>
      {problem === '' ? null : <p role="alert">{problem}</p>}
    </form>
  )
}
