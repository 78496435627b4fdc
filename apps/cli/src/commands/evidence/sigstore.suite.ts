import { type KeyObject, createPublicKey } from 'node:crypto'
import { createRequire } from 'node:module'
import { dsseKeyId, fromBase64 } from '@chancery/protocol'

/** The parts of the makers' verifier that are used here. */
interface SigstoreVerify {
  readonly Verifier: new (
    trust: object,
    options: object,
  ) => { readonly verify: (entity: object) => { readonly key: KeyObject } }
  readonly toSignedEntity: (bundle: object) => object
}
const require = createRequire(import.meta.url)
const { Verifier, toSignedEntity } = require('@sigstore/verify') as SigstoreVerify
const { bundleFromJSON } = require('@sigstore/bundle') as { readonly bundleFromJSON: (value: unknown) => object }

/** Ed25519 as other programs take it. */
function toKey(publicKey: string): KeyObject {
  const prefix = Buffer.from('302a300506032b6570032100', 'hex')
  return createPublicKey({
    key: Buffer.concat([prefix, fromBase64(publicKey) ?? new Uint8Array()]),
    format: 'der',
    type: 'spki',
  })
}

/** Verifies with Sigstore, or throws: the given key of the authority is trusted under its id, no log and no timestamp is needed. */
export function verifyWithSigstore(text: string, publicKey: string): void {
  const none = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] }
  const trust = {
    ...none,
    publicKey: (hint: string) => {
      if (hint !== dsseKeyId(publicKey)) throw new Error(`no key ${hint}`)
      return { publicKey: toKey(publicKey), validFor: () => true }
    },
  }
  const thresholds = { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 }
  new Verifier(trust, thresholds).verify(toSignedEntity(bundleFromJSON(JSON.parse(text))))
}
