import type { PKCS11 } from 'pkcs11js'
import type pkcs11js from 'pkcs11js'
import { installCommand } from '@chancery/service-kit'
import { KeyMissingError, KeyUnavailableError, PinRefusedError } from './vault-signer.ts'

/** Numbers of PKCS#11 3.0 that the binding does not name: Ed25519 came with that version. */
const CKK_EC_EDWARDS = 0x40
const CKM_EDDSA = 0x1057
/** State of a session for reading that is logged in. The binding does not name it. */
const CKS_RO_USER_FUNCTIONS = 1

/** The library and its constants, as the optional package `pkcs11js` binds them. */
export interface Cryptoki {
  readonly names: typeof pkcs11js
  readonly module: PKCS11
  /** PINs that a token has refused. They are not tried again: another attempt may lock the token. */
  readonly refusedPins: Set<string>
  /** Signatures that are being made. */
  active: number
  restartedMs: number
}

export interface TokenOptions {
  /** Path of the vendor's library. */
  readonly modulePath: string
  readonly tokenLabel: string
  readonly keyLabel: string
  readonly pin: string
}

/** One for each library, because it has one state for the whole process. */
const loaded = new Map<string, Cryptoki>()

/** Loads the vendor's library. It stays loaded until the process ends, because other code may be using it. */
export async function loadCryptoki(modulePath: string): Promise<Cryptoki> {
  const names = await importBinding()
  const known = loaded.get(modulePath)
  if (known !== undefined) return known
  const module = new names.PKCS11()
  try {
    module.load(modulePath)
  } catch (error) {
    throw new KeyUnavailableError(`NA_KEY_URI: ${modulePath} cannot be loaded`, { cause: error })
  }
  const cryptoki: Cryptoki = { names, module, refusedPins: new Set(), active: 0, restartedMs: -Infinity }
  initialize(cryptoki)
  loaded.set(modulePath, cryptoki)
  return cryptoki
}

function initialize({ module, names }: Cryptoki): void {
  try {
    // Signatures run on threads. A library without locking may crash the process.
    module.C_Initialize({ flags: names.CKF_OS_LOCKING_OK })
  } catch (error) {
    if (!isRefusal(error, names.CKR_CRYPTOKI_ALREADY_INITIALIZED))
      throw new KeyUnavailableError('NA_KEY_URI: the library does not start', { cause: error })
  }
}

const RESTART_MS = 5000

/**
 * Starts the library again. Many libraries look for tokens only when they start, and so do not find one that came back.
 * All sessions end, so this waits until no signature is being made, and is not repeated for each caller.
 */
export function restartCryptoki(cryptoki: Cryptoki): boolean {
  const now = performance.now()
  if (cryptoki.active > 0 || now - cryptoki.restartedMs < RESTART_MS) return false
  cryptoki.restartedMs = now
  try {
    cryptoki.module.C_Finalize()
  } catch (error) {
    if (!isRefusal(error, cryptoki.names.CKR_CRYPTOKI_NOT_INITIALIZED))
      throw new KeyUnavailableError('NA_KEY_URI: the library does not stop', { cause: error })
  }
  initialize(cryptoki)
  return true
}

async function importBinding(): Promise<typeof pkcs11js> {
  try {
    return (await import('pkcs11js')).default
  } catch (error) {
    throw new KeyUnavailableError(
      `NA_KEY_PROVIDER: pkcs11 needs the package pkcs11js, which is built when it is installed: ${installCommand('pkcs11')} --ignore-scripts=false. In a clone: npm run build:pkcs11`,
      { cause: error },
    )
  }
}

/** One logged-in session. A session runs one operation at a time, so one caller uses it alone. */
export class TokenSession {
  readonly #cryptoki: Cryptoki
  readonly #handle: Buffer
  readonly #key: Buffer

  constructor(cryptoki: Cryptoki, place: TokenOptions) {
    this.#cryptoki = cryptoki
    const { module, names } = cryptoki
    const slot = findSlot(cryptoki, place)
    this.#handle = module.C_OpenSession(slot, names.CKF_SERIAL_SESSION)
    try {
      this.#logIn(slot, place)
      this.#key = this.#findOne(names.CKO_PRIVATE_KEY, place.keyLabel)
    } catch (error) {
      // A token has a limited number of sessions, and keys are looked for again and again.
      this.close()
      throw error
    }
  }

  async sign(message: Uint8Array): Promise<Uint8Array> {
    const { module } = this.#cryptoki
    this.#cryptoki.active += 1
    try {
      module.C_SignInit(this.#handle, { mechanism: CKM_EDDSA }, this.#key)
      return await module.C_SignAsync(this.#handle, Buffer.from(message), Buffer.alloc(64))
    } finally {
      this.#cryptoki.active -= 1
    }
  }

  /**
   * The 32 bytes of the public key next to the private key. Tokens write the point raw, or wrapped as an octet or bit
   * string.
   */
  readPublicKey(keyLabel: string): Uint8Array | undefined {
    const { names } = this.#cryptoki
    const point = this.#attribute(this.#findOne(names.CKO_PUBLIC_KEY, keyLabel), names.CKA_EC_POINT)
    const wrapping = point.subarray(0, point.length - 32).toString('hex')
    return ['', '0420', '032100'].includes(wrapping) ? new Uint8Array(point.subarray(-32)) : undefined
  }

  /** Returns why this key must not be used. A token protects only a key that cannot leave it. */
  findWeakness(): string | undefined {
    const { names } = this.#cryptoki
    const isSet = (type: number): boolean => this.#attribute(this.#key, type).some((byte) => byte !== 0)
    if (this.#attribute(this.#key, names.CKA_KEY_TYPE).readUInt8(0) !== CKK_EC_EDWARDS) return 'is not an Ed25519 key'
    if (!isSet(names.CKA_SENSITIVE)) return 'is not marked sensitive: it can be read'
    if (isSet(names.CKA_EXTRACTABLE)) return 'is marked extractable: it can be taken out of the token'
    if (!isSet(names.CKA_SIGN)) return 'may not sign'
    return undefined
  }

  /** Best effort: the session of a removed token has already ended. */
  close(): void {
    try {
      this.#cryptoki.module.C_CloseSession(this.#handle)
    } catch {
      // Nothing is left to close.
    }
  }

  /** The login belongs to the whole process, not to the session. */
  #logIn(slot: Buffer, { tokenLabel, pin }: TokenOptions): void {
    const { module, names, refusedPins } = this.#cryptoki
    const attempt = `${tokenLabel} ${pin}`
    if (refusedPins.has(attempt))
      throw new PinRefusedError(
        'NA_KEY_TOKEN_FILE: the token refused this PIN before: correct or unlock it, and restart',
      )
    const isLoggedIn = module.C_GetSessionInfo(this.#handle).state === CKS_RO_USER_FUNCTIONS
    const isLastAttempt = (module.C_GetTokenInfo(slot).flags & names.CKF_USER_PIN_FINAL_TRY) !== 0
    // Workers and instances on one token each try a PIN once. The last attempt is left to a person.
    if (isLastAttempt && !isLoggedIn)
      throw new PinRefusedError(
        'NA_KEY_TOKEN_FILE: the token allows one more attempt: correct the PIN, log in once with a tool of the vendor, and restart',
      )
    try {
      module.C_Login(this.#handle, names.CKU_USER, pin)
    } catch (error) {
      if (isRefusal(error, names.CKR_USER_ALREADY_LOGGED_IN)) return
      if (!PIN_REFUSALS.some((name) => isRefusal(error, names[name])))
        throw new KeyUnavailableError('NA_KEY_URI: the token does not take the login', { cause: error })
      refusedPins.add(attempt)
      const isLocked = isRefusal(error, names.CKR_PIN_LOCKED)
      throw new PinRefusedError(
        isLocked
          ? 'NA_KEY_TOKEN_FILE: the PIN of the token is locked'
          : 'NA_KEY_TOKEN_FILE: the token refuses the login',
        { cause: error },
      )
    }
  }

  #findOne(objectClass: number, label: string): Buffer {
    const { module, names } = this.#cryptoki
    module.C_FindObjectsInit(this.#handle, [
      { type: names.CKA_CLASS, value: objectClass },
      { type: names.CKA_LABEL, value: label },
    ])
    const found = module.C_FindObjects(this.#handle, 2)
    module.C_FindObjectsFinal(this.#handle)
    const kind = objectClass === names.CKO_PRIVATE_KEY ? 'private' : 'public'
    const [one, second] = found
    if (one === undefined)
      throw new KeyMissingError(`NA_KEY_URI: the token holds no ${kind} key with the label ${label}`)
    if (second !== undefined)
      throw new KeyMissingError(`NA_KEY_URI: the token holds several ${kind} keys with the label ${label}`)
    return one
  }

  #attribute(object: Buffer, type: number): Buffer {
    const value = this.#cryptoki.module.C_GetAttributeValue(this.#handle, object, [{ type }])[0]?.value
    return Buffer.isBuffer(value) ? value : Buffer.alloc(0)
  }
}

/** Answers to a login after which another attempt may lock the token. */
const PIN_REFUSALS = ['CKR_PIN_INCORRECT', 'CKR_PIN_LOCKED', 'CKR_PIN_EXPIRED', 'CKR_PIN_INVALID'] as const

function findSlot({ module }: Cryptoki, { tokenLabel }: TokenOptions): Buffer {
  const unread: unknown[] = []
  const slots = module.C_GetSlotList(true).filter((slot) => {
    try {
      // Labels are padded with blanks to 32 characters.
      return module.C_GetTokenInfo(slot).label.trim() === tokenLabel
    } catch (error) {
      // The slot of another token, which was removed. If it is ours, no slot is found, and this is the cause.
      unread.push(error)
      return false
    }
  })
  const [slot, second] = slots
  if (slot === undefined)
    throw new KeyUnavailableError(`NA_KEY_URI: no token with the label ${tokenLabel}`, { cause: unread[0] })
  if (second !== undefined) throw new KeyUnavailableError(`NA_KEY_URI: several tokens with the label ${tokenLabel}`)
  return slot
}

function isRefusal(error: unknown, code: number): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
