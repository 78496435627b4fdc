import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type Signer, readPrivateKeyFile, seedSigner, toBase64 } from '@chancery/protocol'
import { openPkcs11Signer } from '../../../apps/authority/src/signing/key-providers.ts'

/** Where the key of a release is: in a file of `chancery keygen`, or in a PKCS#11 token, which it cannot leave. */
export interface KeyOptions {
  readonly key?: string | undefined
  readonly 'pkcs11-module'?: string | undefined
  readonly 'pkcs11-token'?: string | undefined
  readonly 'pkcs11-key'?: string | undefined
  readonly 'pkcs11-pin-file'?: string | undefined
}

/** Undefined when no key is given. */
export async function openSigningKey(options: KeyOptions): Promise<Signer | undefined> {
  const { key, 'pkcs11-module': modulePath, 'pkcs11-token': tokenLabel, 'pkcs11-key': keyLabel } = options
  const pinFile = options['pkcs11-pin-file']
  const token = [modulePath, tokenLabel, keyLabel, pinFile]
  if (token.every((each) => each === undefined)) return key === undefined ? undefined : readKeyFile(key)
  if (key !== undefined) throw new Error('give --key or a PKCS#11 token, not both')
  if (modulePath === undefined || tokenLabel === undefined || keyLabel === undefined || pinFile === undefined)
    throw new Error('a token needs --pkcs11-module, --pkcs11-token, --pkcs11-key and --pkcs11-pin-file')
  const pin = (await readFile(pinFile, 'utf8')).replace(/\r?\n$/, '')
  return openPkcs11Signer({ modulePath, tokenLabel, keyLabel, pin }, 'release', 1)
}

async function readKeyFile(file: string): Promise<Signer> {
  const key = readPrivateKeyFile(await readFile(file, 'utf8'))
  if (key === undefined) throw new Error(`${file} is not a private key file: chancery keygen operator --out release`)
  return seedSigner('release', key.value)
}

/** A key for a dry run. It is in memory only. */
export function throwAwayKey(): Promise<Signer> {
  return seedSigner('release', toBase64(randomBytes(32)))
}
