import type { GenesisBlock } from '@chancery/protocol'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { at, readPublic } from './client.ts'
import { Whose, networkFact } from './frame.tsx'
import { idleLimitMinutes, lockReason } from './key.ts'
import { type Pin, type PinResult, comparePin, keyFingerprint, storePin } from './pin.ts'
import { useStore } from './store.ts'
import { KeyForm, explain } from './unlock-key.tsx'
import { isSignedByRoot, isSuccessor } from './verify-genesis.ts'

/** Shown at every address while no key is open. Unlocking continues at the same address. */
export function Unlock({ title }: { readonly title: string }): JSX.Element {
  const [genesis, setGenesis] = useState<GenesisBlock>()
  const [pin, setPin] = useState<PinResult>()
  const [problem, setProblem] = useState('')
  const reason = useStore(lockReason)
  useEffect(() => {
    document.title = `Unlock · ${networkFact('network')}`
    loadGenesis().then(
      ([block, result]) => {
        setGenesis(block)
        setPin(result)
      },
      (error: unknown) => setProblem(explain(error)),
    )
  }, [])
  const fingerprint = keyFingerprint(genesis?.network_authority.public_key ?? networkFact('authority-key'))
  return (
    <main class="alone" id="content" tabIndex={-1}>
      <Whose fingerprint={fingerprint} />
      <section class="panel">
        <div class="body">
          {pin?.kind === 'changed' ? (
            <OtherNetwork before={pin.before} now={pin.now} accept={() => setPin({ kind: 'first', pin: pin.now })} />
          ) : (
            <>
              <div>
                <h1>Unlock your key</h1>
                {reason === '' ? null : <p role="status">{reason}</p>}
                <p class="quiet">
                  You continue at <b class="nowrap">{title}</b>.
                </p>
              </div>
              {problem === '' ? null : (
                <p role="alert" class="banner bad">
                  {problem}
                </p>
              )}
              {genesis === undefined ? null : <KeyForm genesis={genesis} onProblem={setProblem} />}
              {pin?.kind === 'first' ? <FirstTime fingerprint={pin.pin.fingerprint} /> : null}
              <hr class="rule" />
              <p class="quiet small">
                The key signs each request in this window. No script can read it back, and it is not sent. It is removed
                when you lock, close the window, or make no input for {idleLimitMinutes()} minutes.
              </p>
            </>
          )}
        </div>
      </section>
      <PublicPages />
    </main>
  )
}

function PublicPages(): JSX.Element {
  return (
    <p class="quiet small">
      <a class="linked" href="/">
        Public overview
      </a>{' '}
      ·{' '}
      <a class="linked" href="/api-reference">
        API
      </a>{' '}
      ·{' '}
      <a class="linked" href="/cli-reference">
        Commands
      </a>
    </p>
  )
}

async function loadGenesis(): Promise<readonly [GenesisBlock, PinResult]> {
  // Over plain HTTP from another machine the browser offers no cryptography.
  if (!isSecureContext) throw new Error('This page needs HTTPS. Over plain HTTP the browser offers no cryptography.')
  const genesis = await readPublic<GenesisBlock>(at`/genesis`)
  if (!(await isSignedByRoot(genesis)))
    throw new Error('The genesis block is not signed by its root key. Nothing is signed for this authority.')
  const result = await comparePin(genesis, isSuccessor)
  if (result.kind === 'succeeded') storePin(result.pin)
  return [genesis, result]
}

function FirstTime({ fingerprint }: { readonly fingerprint: string }): JSX.Element {
  return (
    <div class="field" data-pin="first">
      <span class="label">First unlock in this browser</span>
      <code class="mono small">{fingerprint}</code>
      <span class="hint">
        Compare this fingerprint of the genesis block with the one you received another way. It is stored in this
        browser, and a change stops the console.
      </span>
    </div>
  )
}

/** The pinned network has another genesis block that its root did not sign: everything stops. */
function OtherNetwork(props: { readonly before: Pin; readonly now: Pin; readonly accept: () => void }): JSX.Element {
  const [typed, setTyped] = useState('')
  return (
    <div role="alert" data-pin="changed">
      <h1>Another network answers here</h1>
      <p>
        The genesis block differs from the one this browser stored, and the stored root key did not sign the change. Do
        not continue before you found out why.
      </p>
      <div class="field gap">
        <span class="label">Stored: {props.before.network}</span>
        <code class="mono small">{props.before.fingerprint}</code>
        <span class="label">Now: {props.now.network}</span>
        <code class="mono small">{props.now.fingerprint}</code>
        <label for="new-fingerprint">To accept it, enter the new fingerprint that you received another way</label>
        <input
          class="input mono"
          id="new-fingerprint"
          autocomplete="off"
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value.trim())}
        />
        <button
          type="button"
          class="btn danger"
          disabled={typed !== props.now.fingerprint}
          onClick={() => {
            storePin(props.now)
            props.accept()
          }}
        >
          Accept the new network
        </button>
      </div>
    </div>
  )
}
