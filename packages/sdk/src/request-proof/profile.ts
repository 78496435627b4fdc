import type { SignedFields, Signer } from '@chancery/protocol'
import type { RequestToSign } from './target.ts'
import type { IncomingRequest, ProofPolicy, ProofVerdict } from './verify.ts'

/** A form of request proof. Its code is in the entry that makes it, so other programs do not load it. */
export interface ProofProfile {
  readonly name: string
}

/** A request of which any field can be read. */
export type AnyFieldRequest = Omit<IncomingRequest, 'field'> & { readonly field: (name: string) => readonly string[] }

/** What a profile does for a caller. */
export interface SigningProfile extends ProofProfile {
  sign(
    request: RequestToSign & { readonly fields?: SignedFields },
    identity: { readonly signer: Signer; readonly wit: string },
  ): Promise<Readonly<Record<string, string>>>
}

/** What a profile does for a service. */
export interface VerifyingProfile extends ProofProfile {
  /** Whether a request with these fields has a proof of this profile. */
  isUsed(field: AnyFieldRequest['field']): boolean
  verify(request: AnyFieldRequest, policy: ProofPolicy): Promise<ProofVerdict>
}
