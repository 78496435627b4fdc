import type { Signer } from '@chancery/protocol'

/** The authority's own key. Providers differ only in where the private key lives; none of them gives it out. */
export interface AuthoritySigner extends Signer {
  readonly provider: 'file' | 'env' | 'pkcs11' | 'vault' | 'gcp-kms'
}
