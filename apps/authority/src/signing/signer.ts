import type { Signer } from '@chancery/protocol'

/** The authority's own key. Providers differ only in where the private key is. None of them returns it. */
export interface AuthoritySigner extends Signer {
  readonly provider: 'file' | 'env' | 'pkcs11' | 'vault' | 'gcp-kms'
  /** Gives back what is held to sign, for a key that is not used. */
  close?(): void
  /** Signs the first bytes of a buffer in a thread. The buffer is moved there and back; the given one is empty then. */
  signMoved?(
    bytes: Uint8Array<ArrayBuffer>,
    length: number,
  ): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly sig: Uint8Array }>
}
