import { type Signer, canonicalBytes, fromBase64, seedSigner, toBase64 } from '@chancery/protocol'

/**
 * Stores the operator key of this machine under a passkey. The passkey does not sign for the authority: the secret that
 * it derives (WebAuthn PRF) decrypts the seed. Without the authenticator and its owner the record opens nothing.
 */
export interface PasskeyRecord {
  readonly version: 1
  readonly key_id: string
  readonly public_key: string
  readonly network: string
  readonly authority_key: string
  readonly credential_id: string
  readonly prf_input: string
  readonly salt: string
  readonly nonce: string
  readonly created: string
  readonly ciphertext: string
}

type Bytes = Uint8Array<ArrayBuffer>
const random = (length: number): Bytes => crypto.getRandomValues(new Uint8Array(length))
const bytesOf = (text: string): Bytes => new Uint8Array(fromBase64(text) ?? [])
const INFO = 'chancery console key 1'

export interface KeyToStore {
  readonly keyId: string
  readonly seed: string
  readonly publicKey: string
  readonly network: string
  readonly authorityKey: string
}

export class PasskeyError extends Error {}

/** Makes a passkey and stores the encrypted seed. Throws PasskeyError when the authenticator has no PRF. */
export async function storeWithPasskey(key: KeyToStore): Promise<void> {
  const prfInput = random(32)
  const created = (await navigator.credentials.create({
    publicKey: {
      rp: { id: location.hostname, name: key.network },
      user: { id: random(16), name: key.keyId, displayName: `${key.keyId} · ${key.network}` },
      challenge: random(32),
      pubKeyCredParams: [
        { type: 'public-key', alg: -7 },
        { type: 'public-key', alg: -257 },
      ],
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
      extensions: { prf: { eval: { first: prfInput } } },
    },
  })) as PublicKeyCredential | null
  if (created?.getClientExtensionResults().prf?.enabled !== true)
    throw new PasskeyError('This authenticator cannot derive a secret, so it cannot store the key. Use the key file.')
  const credentialId = toBase64(new Uint8Array(created.rawId))
  const secret = await readSecret(credentialId, prfInput)
  const open = {
    version: 1,
    key_id: key.keyId,
    public_key: key.publicKey,
    network: key.network,
    authority_key: key.authorityKey,
    credential_id: credentialId,
    prf_input: toBase64(prfInput),
    salt: toBase64(random(32)),
    nonce: toBase64(random(12)),
    created: new Date().toISOString(),
  } as const
  const seed = bytesOf(key.seed)
  const sealed = await crypto.subtle.encrypt(cipherOf(open), await deriveKey(secret, open), seed)
  seed.fill(0)
  await withRecords('readwrite', (records) => records.put({ ...open, ciphertext: toBase64(new Uint8Array(sealed)) }))
}

/** Opens the stored key. The unlock card compared the network with the pinned one before. */
export async function openWithPasskey(record: PasskeyRecord): Promise<Signer> {
  const { ciphertext, ...open } = record
  const secret = await readSecret(record.credential_id, bytesOf(record.prf_input))
  const seed = new Uint8Array(
    await crypto.subtle.decrypt(cipherOf(open), await deriveKey(secret, open), bytesOf(ciphertext)),
  )
  try {
    const signer = await seedSigner(record.key_id, toBase64(seed))
    if (signer.publicKey !== record.public_key) throw new PasskeyError('The stored key is damaged. Use the key file.')
    return signer
  } finally {
    seed.fill(0)
  }
}

type OpenMembers = Omit<PasskeyRecord, 'ciphertext'>

/** Every other member is authenticated with the seed, so that none can be exchanged. */
function cipherOf(open: OpenMembers): AesGcmParams {
  return { name: 'AES-GCM', iv: bytesOf(open.nonce), additionalData: new Uint8Array(canonicalBytes({ ...open })) }
}

async function deriveKey(secret: ArrayBuffer, open: OpenMembers): Promise<CryptoKey> {
  const source = await crypto.subtle.importKey('raw', secret, 'HKDF', false, ['deriveKey'])
  const info = new TextEncoder().encode(`${INFO}\n${location.origin}\n${open.key_id}`)
  const parameters = { name: 'HKDF', hash: 'SHA-256', salt: bytesOf(open.salt), info }
  return crypto.subtle.deriveKey(parameters, source, { name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt'])
}

async function readSecret(credentialId: string, prfInput: Bytes): Promise<ArrayBuffer> {
  const asserted = (await navigator.credentials.get({
    publicKey: {
      challenge: random(32),
      rpId: location.hostname,
      allowCredentials: [{ type: 'public-key', id: bytesOf(credentialId) }],
      userVerification: 'required',
      extensions: { prf: { eval: { first: prfInput } } },
    },
  })) as PublicKeyCredential | null
  const first = asserted?.getClientExtensionResults().prf?.results?.first
  if (first === undefined) throw new PasskeyError('The authenticator gave no secret. Use the key file.')
  return first instanceof ArrayBuffer ? first : new Uint8Array(first.buffer).slice().buffer
}

const DATABASE = 'chancery-console'
const RECORDS = 'passkeys'

/** Returns the stored record, without making a database where there is none. */
export async function findPasskey(network: string): Promise<PasskeyRecord | undefined> {
  const databases = await indexedDB.databases()
  if (!databases.some(({ name }) => name === DATABASE)) return undefined
  const all = (await withRecords('readonly', (records) => records.getAll())) as readonly PasskeyRecord[]
  return all.find((record) => record.network === network)
}

export async function removePasskey(record: PasskeyRecord): Promise<void> {
  await withRecords('readwrite', (records) => records.delete(record.key_id))
}

function withRecords(mode: IDBTransactionMode, run: (records: IDBObjectStore) => IDBRequest): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(DATABASE, 1)
    opening.addEventListener('upgradeneeded', () => opening.result.createObjectStore(RECORDS, { keyPath: 'key_id' }))
    opening.addEventListener('error', () => reject(new Error('This browser cannot store the key.')))
    opening.addEventListener('success', () => {
      const database = opening.result
      const request = run(database.transaction(RECORDS, mode).objectStore(RECORDS))
      request.addEventListener('success', () => {
        database.close()
        resolve(request.result)
      })
      request.addEventListener('error', () => {
        database.close()
        reject(new Error('This browser cannot store the key.'))
      })
    })
  })
}
