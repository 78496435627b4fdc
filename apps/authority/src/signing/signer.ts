import type { Signer } from '@chancery/protocol'

/** The authority's own key. Providers differ only in where the private key is. None of them returns it. */
export interface AuthoritySigner extends Signer {
  readonly provider: 'file' | 'env' | 'pkcs11' | 'vault' | 'gcp-kms'
}
