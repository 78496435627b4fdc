import { type GenesisBlock, type Signer, readPrivateKeyFile, seedSigner } from '@chancery/protocol'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { CallError, at, read } from './client.ts'
import { type WhoAmI, acceptSession, lock, openSession } from './key.ts'
import type { PasskeyRecord } from './passkey.ts'
import { Icon } from './parts/icon.tsx'
import { showToast } from './parts/toast.tsx'
import { storePin, toPin } from './pin.ts'
import { nextStep } from './words/errors.ts'

interface KeyFormProps {
  readonly genesis: GenesisBlock
  readonly onProblem: (text: string) => void
}

/** The ways to open a key: the passkey of this browser, or the key file. */
export function KeyForm(props: KeyFormProps): JSX.Element {
  const [stored, setStored] = useState<PasskeyRecord>()
  const [hasPasskeys, setHasPasskeys] = useState(false)
  useEffect(() => {
    void findStored(props.genesis.network_name).then(setStored)
    void canUsePasskeys().then(setHasPasskeys)
  }, [])
  return (
    <>
      {stored === undefined ? null : <StoredKey {...props} record={stored} onRemove={() => setStored(undefined)} />}
      <FileForm {...props} hasPasskeys={hasPasskeys && stored === undefined} />
    </>
  )
}

/** An address of numbers cannot have passkeys, and a machine may have no authenticator. */
async function canUsePasskeys(): Promise<boolean> {
  if (typeof PublicKeyCredential === 'undefined' || /^[0-9.]+$|:/.test(location.hostname)) return false
  return PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable()
}

async function findStored(network: string): Promise<PasskeyRecord | undefined> {
  if (typeof PublicKeyCredential === 'undefined' || typeof indexedDB === 'undefined') return undefined
  return (await import('./passkey.ts')).findPasskey(network)
}

function StoredKey(
  props: KeyFormProps & { readonly record: PasskeyRecord; readonly onRemove: () => void },
): JSX.Element {
  const { record } = props
  const open = async (): Promise<void> => {
    props.onProblem('')
    try {
      const { openWithPasskey } = await import('./passkey.ts')
      await signIn(await openWithPasskey(record), props.genesis)
    } catch (error) {
      lock('')
      props.onProblem(explain(error))
    }
  }
  const remove = async (): Promise<void> => {
    await (await import('./passkey.ts')).removePasskey(record)
    props.onRemove()
  }
  return (
    <>
      <button type="button" class="btn primary tall" data-passkey="open" onClick={() => void open()}>
        <Icon name="key" />
        Use your passkey for {record.key_id}
      </button>
      <button type="button" class="btn ghost tiny" onClick={() => void remove()}>
        Remove the stored key from this browser
      </button>
      <div class="or">or</div>
    </>
  )
}

function FileForm(props: KeyFormProps & { readonly hasPasskeys: boolean }): JSX.Element {
  const [keyId, setKeyId] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [isOver, setOver] = useState(false)
  const [isRemembered, setRemembered] = useState(false)
  const open = async (file: File | undefined, field?: HTMLInputElement): Promise<void> => {
    if (file === undefined || isBusy) return
    setBusy(true)
    props.onProblem('')
    try {
      await openFile(await file.text(), { keyId, genesis: props.genesis, isRemembered })
    } catch (error) {
      lock('')
      props.onProblem(explain(error))
      setBusy(false)
    } finally {
      if (field !== undefined) field.value = ''
    }
  }
  return (
    <>
      <label
        class={`dropzone${isOver ? ' over' : ''}`}
        onDragOver={(event) => {
          event.preventDefault()
          setOver(true)
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault()
          setOver(false)
          void open(event.dataTransfer?.files[0])
        }}
      >
        <Icon name="file" />
        <span>
          <b>{isBusy ? 'Checking the key…' : 'Drop your key file here'}</b>, or <u>choose it</u>
        </span>
        <input
          id="key-file"
          type="file"
          aria-label="Private key file"
          onChange={({ currentTarget }) => void open(currentTarget.files?.[0], currentTarget)}
        />
        <span class="small">The file stays on this machine. It is read once and not stored.</span>
      </label>
      {props.hasPasskeys ? <StoreBox isOn={isRemembered} onChange={setRemembered} /> : null}
      <KeyIdField keyId={keyId} onInput={setKeyId} />
    </>
  )
}

function StoreBox(props: { readonly isOn: boolean; readonly onChange: (isOn: boolean) => void }): JSX.Element {
  return (
    <label>
      <input
        type="checkbox"
        class="check"
        data-passkey="store"
        checked={props.isOn}
        onChange={({ currentTarget }) => props.onChange(currentTarget.checked)}
      />{' '}
      Store this key under a passkey of this machine
    </label>
  )
}

function KeyIdField(props: { readonly keyId: string; readonly onInput: (text: string) => void }): JSX.Element {
  return (
    <details>
      <summary>
        <Icon name="right" />
        The file does not name its key
      </summary>
      <div class="field gap">
        <label for="key-id">Key id</label>
        <input
          class="input"
          id="key-id"
          value={props.keyId}
          autocomplete="off"
          placeholder="ops-1"
          onInput={({ currentTarget }) => props.onInput(currentTarget.value)}
        />
      </div>
    </details>
  )
}

interface OpenFile {
  readonly keyId: string
  readonly genesis: GenesisBlock
  readonly isRemembered: boolean
}

async function openFile(text: string, { keyId, genesis, isRemembered }: OpenFile): Promise<void> {
  const file = readPrivateKeyFile(text)
  if (file === undefined) throw new Error('This is not a private key file. Choose the file of an operator key.')
  const id = keyId.trim() || file.keyId
  if (id === undefined)
    throw new Error('The key file has no key id. Enter the id of this key below, and choose it again.')
  const signer = await seedSigner(id, file.value)
  await signIn(signer, genesis)
  if (!isRemembered) return
  const { publicKey } = signer
  const network = genesis.network_name
  const authorityKey = genesis.network_authority.public_key
  const { storeWithPasskey } = await import('./passkey.ts')
  try {
    await storeWithPasskey({ keyId: id, seed: file.value, publicKey, network, authorityKey })
    showToast({ text: 'The key is stored under your passkey.' })
  } catch (error) {
    // The key is open; only the next unlock needs the file again.
    showToast({ text: explain(error) })
  }
}

/** Opens the session, and closes it again when the authority does not accept the key. */
async function signIn(signer: Signer, genesis: GenesisBlock): Promise<WhoAmI | undefined> {
  openSession(signer, genesis.network_authority.public_key)
  // An unknown key is refused here and not at the first action.
  const who = await askWho()
  storePin(toPin(genesis))
  acceptSession(who)
  return who
}

/** An older authority has no such route; a small read then shows that it accepts the key. */
async function askWho(): Promise<WhoAmI | undefined> {
  try {
    return await read<WhoAmI>(at`/admin/whoami`)
  } catch (error) {
    if (!(error instanceof CallError) || error.status !== 404) throw error
    await read(at`/admin/certificates`, { limit: 1 })
    return undefined
  }
}

export function explain(error: unknown): string {
  if (error instanceof CallError) return `${error.message} ${nextStep(error.code, error.status)}`
  return error instanceof Error ? error.message : String(error)
}
